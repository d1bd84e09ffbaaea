// SPDX-License-Identifier: Apache-2.0
//! memif's control messages, in any order: no panic, no memory without a descriptor, and names that
//! terminals may show.

/// One input: messages of 128 bytes one behind the other.
pub fn run(messages: &[u8]) {
    memif::check_messages(messages);
}

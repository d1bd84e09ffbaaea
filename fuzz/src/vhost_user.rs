// SPDX-License-Identifier: Apache-2.0
//! Messages of a vhost-user front-end, in any order: no panic, no feature that isn't offered, and
//! no access outside of the memory that they describe.

/// One input: messages one behind the other, each as long as its header says.
pub fn run(messages: &[u8]) {
    vhost_user::check_messages(messages);
}

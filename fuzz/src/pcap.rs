// SPDX-License-Identifier: Apache-2.0
//! Capture files, classic and pcapng: no panic, an end, and no byte twice.

/// One input: a file.
pub fn run(file: &[u8]) {
    pcap_interface::check_file(file);
}

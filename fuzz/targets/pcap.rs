// SPDX-License-Identifier: Apache-2.0
//! [`fuzz::pcap`] for LLVM's fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|file: &[u8]| fuzz::pcap::run(file));

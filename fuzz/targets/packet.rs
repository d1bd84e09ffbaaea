// SPDX-License-Identifier: Apache-2.0
//! [`fuzz::packet`] for LLVM's fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|packet: &[u8]| fuzz::packet::run(packet));

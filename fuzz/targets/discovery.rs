// SPDX-License-Identifier: Apache-2.0
//! [`fuzz::discovery`] for LLVM's fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|message: &[u8]| fuzz::discovery::run(message));

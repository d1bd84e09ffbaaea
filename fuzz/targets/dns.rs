// SPDX-License-Identifier: Apache-2.0
//! [`fuzz::dns`] for LLVM's fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|message: &[u8]| fuzz::dns::run(message));

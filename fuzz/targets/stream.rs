// SPDX-License-Identifier: Apache-2.0
//! [`fuzz::stream`] for LLVM's fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| fuzz::stream::run(input));

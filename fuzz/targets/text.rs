// SPDX-License-Identifier: Apache-2.0
//! [`fuzz::text`] for LLVM's fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| fuzz::text::run(text));

// SPDX-License-Identifier: Apache-2.0
//! [`fuzz::measure`] for LLVM's fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| fuzz::measure::run(text));

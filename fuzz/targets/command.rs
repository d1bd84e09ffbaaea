// SPDX-License-Identifier: Apache-2.0
//! [`fuzz::command`] for LLVM's fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|line: &str| fuzz::command::run(line));

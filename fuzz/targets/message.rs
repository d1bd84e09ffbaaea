// SPDX-License-Identifier: Apache-2.0
//! [`fuzz::message`] for LLVM's fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::message::run(bytes));

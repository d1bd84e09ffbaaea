// SPDX-License-Identifier: Apache-2.0
//! [`fuzz::fpm`] for LLVM's fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::fpm::run(input));

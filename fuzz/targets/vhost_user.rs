// SPDX-License-Identifier: Apache-2.0
//! [`fuzz::vhost_user`] for LLVM's fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|messages: &[u8]| fuzz::vhost_user::run(messages));

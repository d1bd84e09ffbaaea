// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The unit tests of IP features.

suite::main!();

// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The unit tests of features beside forwarding.

suite::main!();

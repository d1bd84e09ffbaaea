// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The unit tests of layer-2 features.

suite::main!();

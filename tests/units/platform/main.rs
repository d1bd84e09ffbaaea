// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The unit tests of crates below the model.

suite::main!();

#[path = "../../../crates/graph-derive/tests/next.rs"]
mod graph_derive;
#[path = "../../../crates/msg-macros/tests/messages.rs"]
mod msg_macros;
#[path = "../../../crates/object-derive/tests/arguments.rs"]
mod object_derive;
#[path = "../../../crates/simd/tests/inlining.rs"]
mod simd_inlining;
#[path = "../../../crates/simd/tests/twins.rs"]
mod simd_twins;
#[path = "../../../crates/testkit/tests/lab.rs"]
mod testkit_lab;
#[path = "../../../crates/testkit/tests/skip.rs"]
mod testkit_skip;

// SPDX-License-Identifier: Apache-2.0
//! Trace of a message.

use graph::{Head, Trace};
use std::fmt;
use wire::describe::{Layer, describe};

/// The packet as it came in.
#[derive(Clone, Copy)]
pub struct NdTrace(pub Head);

impl Trace for NdTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", describe(self.0.bytes(), Layer::Ip6))
    }
}

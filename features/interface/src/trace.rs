// SPDX-License-Identifier: Apache-2.0
//! Traces of output nodes.

use buffer::Buffer;
use graph::Trace;
use std::fmt;
use wire::describe::{Layer, describe};

/// A packet that leaves, with its first bytes.
#[derive(Clone, Copy)]
pub struct OutputTrace {
    sw_if: u32,
    head: graph::Head,
}

impl OutputTrace {
    /// Of a packet that leaves by this interface.
    pub fn new(sw_if: u32, b: &Buffer) -> Self {
        Self { sw_if, head: graph::Head::of(b) }
    }
}

impl Trace for OutputTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sw_if_index {}\n{}", self.sw_if, describe(self.head.bytes(), Layer::Ethernet))
    }
}

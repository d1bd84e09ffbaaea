// SPDX-License-Identifier: Apache-2.0
//! Trace data shared by several nodes.

use buffer::Buffer;
use graph::Trace;
use std::fmt;
use wire::MacAddr;

/// Both addresses of a frame.
#[derive(Clone, Copy)]
pub struct Addresses([u8; 12]);

impl Addresses {
    /// Returns the addresses of a frame; zero if it is too short.
    pub fn of(b: &Buffer) -> Self {
        Self(b.bytes::<12>(0).copied().unwrap_or([0; 12]))
    }
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5] = self.0;
        let (dst, src) = (MacAddr([d0, d1, d2, d3, d4, d5]), MacAddr([s0, s1, s2, s3, s4, s5]));
        write!(f, "dst {dst} src {src}")
    }
}

/// An interface, the addresses, and the domain's index.
#[derive(Clone, Copy)]
pub struct FrameTrace {
    pub sw_if: u32,
    pub addresses: Addresses,
    pub domain: u16,
}

impl Trace for FrameTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sw_if_index {} {} bd_index {}", self.sw_if, self.addresses, self.domain)
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The longest calls of nodes: what `show runtime max` prints.

/// The longest call of a node on one thread, since runtime statistics began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LongestCall {
    /// Duration in TSC ticks.
    pub clocks: u64,
    /// Packets of that call.
    pub vectors: usize,
}

impl LongestCall {
    #[inline(always)]
    pub(crate) fn note(&mut self, clocks: u64, vectors: usize) {
        if clocks > self.clocks {
            *self = Self { clocks, vectors };
        }
    }
}

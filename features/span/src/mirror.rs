// SPDX-License-Identifier: Apache-2.0
//! Shared parts of all nodes: making copies, and trace records.

use crate::control::{Level, Span};
use buffer::{Buffer, Flags, Owned};
use driver::finish_checksum;
use graph::{Cx, Trace};
use std::fmt;

/// Destinations that a trace shows.
const SHOWN: usize = 8;

/// The interface and the destinations of copies.
#[derive(Clone, Copy, Debug)]
pub struct SpanTrace {
    from: u32,
    to: [u32; SHOWN],
    count: usize,
}

impl SpanTrace {
    pub fn new(from: u32, targets: &[u32]) -> Self {
        let mut to = [0; SHOWN];
        to.iter_mut().zip(targets).for_each(|(to, target)| *to = *target);
        Self { from, to, count: targets.len() }
    }
}

impl Trace for SpanTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 0 {
            return write!(f, "SPAN: {} not mirrored", self.from);
        }
        let mut separator = "";
        for to in self.to.iter().take(self.count) {
            write!(f, "{separator}SPAN: mirrored {} -> {to}", self.from)?;
            separator = "\n";
        }
        let more = self.count.saturating_sub(SHOWN);
        if more > 0 { write!(f, "\nSPAN: and {more} more") } else { Ok(()) }
    }
}

/// The destinations of a packet's copies. A copy has none.
#[inline(always)]
pub fn targets<'t, const TRACED: bool>(
    span: &'t Span,
    (level, is_tx): (Level, bool),
    b: &Buffer,
    cx: &Cx<'t, TRACED>,
) -> &'t [u32] {
    if b.flags.has(Flags::MIRRORED) {
        return &[];
    }
    let turn = cx.turn;
    span.targets(level, is_tx, if is_tx { b.tx_if } else { b.rx_if }, turn)
}

/// Prepares a packet of which copies are made.
#[inline(always)]
pub fn prepare(b: &mut Buffer) {
    // Copies share the segments behind the first one. A checksum that is left to the device may be
    // of bytes there, or lie there. Segmentation makes the checksums of its segments.
    if b.is_chained() && b.flags.has(Flags::CSUM_PARTIAL) && !b.flags.has(Flags::GSO) {
        finish_checksum(b);
    }
}

/// Makes a copy that isn't mirrored again. `None` if there is no buffer.
#[inline(always)]
pub fn copy<const TRACED: bool>(b: &Buffer, cx: &mut Cx<'_, TRACED>) -> Option<Owned> {
    let mut copy = b.duplicate(cx.cache())?;
    copy.flags.set(Flags::MIRRORED);
    Some(copy)
}

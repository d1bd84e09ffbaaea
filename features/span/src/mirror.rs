// SPDX-License-Identifier: Apache-2.0
//! Shared parts of all nodes: destinations, making copies, and trace records.

use buffer::{Buffer, Flags, Owned};
use driver::finish_checksum;
use graph::{Cx, Shared, SwIfIndex, Trace, World};
use std::fmt;
use sync::{Slots, Turn};

/// Destinations that a trace shows.
const SHOWN: usize = 8;

/// Where frames are copied.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// At the device: all frames on the wire.
    Device = 0,
    /// While they are switched.
    L2 = 1,
}

impl Level {
    pub const ALL: [Self; 2] = [Self::Device, Self::L2];

    /// Returns layer 2 if `is_l2`, else the device.
    pub const fn of(is_l2: bool) -> Self {
        if is_l2 { Self::L2 } else { Self::Device }
    }
}

/// Destinations of copies, by level, for received and for sent frames. An interface without
/// destinations has no slot.
pub struct Targets([[Slots<Vec<u32>>; 2]; 2]);

impl Shared for Targets {
    fn make(world: &World) -> Self {
        let slots = || Slots::new(world.qsbr.clone());
        Self([[slots(), slots()], [slots(), slots()]])
    }
}

impl Targets {
    /// The destinations of received or sent frames of an interface.
    #[inline(always)]
    pub fn get<'t>(
        &'t self,
        level: Level,
        is_tx: bool,
        sw_if: u32,
        turn: &'t Turn<'_>,
    ) -> &'t [u32] {
        let slots = &self.0[level as usize][usize::from(is_tx)];
        slots.get(sw_if, turn).map_or(&[], Vec::as_slice)
    }

    /// Sets the destinations of received or sent frames of an interface.
    pub fn set(&self, level: Level, is_tx: bool, sw_if: SwIfIndex, targets: Vec<u32>) {
        let slots = &self.0[level as usize][usize::from(is_tx)];
        match targets.is_empty() {
            true => _ = slots.clear(sw_if.0),
            false => slots.set(sw_if.0, targets),
        }
    }

    /// Ends copies of all frames of an interface.
    pub fn clear(&self, sw_if: SwIfIndex) {
        self.0.iter().flatten().for_each(|slots| _ = slots.clear(sw_if.0));
    }
}

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
    all: &'t Targets,
    (level, is_tx): (Level, bool),
    b: &Buffer,
    cx: &Cx<'t, TRACED>,
) -> &'t [u32] {
    if b.flags.contains(Flags::MIRRORED) {
        return &[];
    }
    let turn = cx.turn;
    all.get(level, is_tx, if is_tx { b.tx_if } else { b.rx_if }, turn)
}

/// Prepares a packet of which copies are made.
#[inline(always)]
pub fn prepare(b: &mut Buffer) {
    // Copies share the segments behind the first one. A checksum that is left to the device may be
    // of bytes there, or lie there. Segmentation makes the checksums of its segments.
    if b.is_chained() && b.flags.contains(Flags::CSUM_PARTIAL) && !b.flags.contains(Flags::GSO) {
        finish_checksum(b);
    }
}

/// Makes a copy that isn't mirrored again. `None` if there is no buffer.
#[inline(always)]
pub fn copy<const TRACED: bool>(b: &Buffer, cx: &mut Cx<'_, TRACED>) -> Option<Owned> {
    let mut copy = b.duplicate(cx.cache())?;
    copy.flags.insert(Flags::MIRRORED);
    Some(copy)
}

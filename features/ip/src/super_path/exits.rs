// SPDX-License-Identifier: Apache-2.0
//! Interfaces that packets may leave by straight away.

use super::{Bits, To};
use crate::family::{self, Ip};
use graph::{ArcIndex, Cx, NodeIndex, ThreadIndex, World};
use net::{IfFlags, IfLanes, Views};
use std::sync::Arc;

/// A way out that has no feature in it.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub struct Exit {
    /// [`over`]; all ones for none.
    over: u64,
    /// What has left by it and isn't counted yet: bytes in the lower half, which has room for those of a vector, packets above them.
    left: u64,
    tx: NodeIndex,
}

impl Exit {
    const NONE: Self = Self { over: u64::MAX, left: 0, tx: NodeIndex(0) };

    #[inline(always)]
    pub fn to(&self) -> To {
        To::Tx(self.tx)
    }

    /// A frame of so many bytes leaves by it.
    #[inline(always)]
    pub fn count(&mut self, bytes: u32) {
        self.left += 1 << 32 | u64::from(bytes);
    }

    /// The interface.
    fn tx_if(&self) -> usize {
        (self.over >> 48 << 16 | self.over & 0xffff) as usize
    }
}

/// An interface and its output node in one number: the upper halves of both, then the lower halves in the layout of
/// [`net::Ordinary`].
#[inline(always)]
fn over(tx_if: u32, output: NodeIndex) -> u64 {
    let high = u64::from(tx_if >> 16) << 16 | u64::from(output.0 >> 16);
    high << 32 | u64::from(output.0 & 0xffff) << 16 | u64::from(tx_if & 0xffff)
}

/// What an interface must not have for packets to leave by it straight away, and where it counts.
pub struct Outward {
    /// The arcs that have to be empty.
    arcs: [ArcIndex; 2],
    /// By interface.
    pub lanes: Arc<IfLanes>,
}

impl Outward {
    pub fn new<F: Ip>(world: &World, thread: ThreadIndex) -> Self {
        let interface_output = world.arc("interface-output").expect("the arc comes with the interfaces");
        Self {
            arcs: [family::arc::<F>(world, "{ip}-output"), interface_output],
            lanes: IfLanes::of(world, thread),
        }
    }

    /// The transmit node of an interface, if packets may go there straight away.
    #[cold]
    #[inline(never)]
    pub fn look<const TRACED: bool>(
        &self,
        tx_if: u32,
        output: NodeIndex,
        views: Views<'_>,
        cx: &Cx<'_, TRACED>,
    ) -> Option<NodeIndex> {
        let features = self.arcs.iter().fold(false, |any, arc| any | cx.has_arc(*arc, tx_if));
        let view = views.get(tx_if as usize)?;
        let alters = features || view.flags.has(IfFlags::SUB);
        (!alters && view.is_up() && view.output == output).then_some(view.tx)
    }

    fn count(&self, exit: Exit) {
        if exit.left != 0 {
            self.lanes.tx.unicast(exit.tx_if(), exit.left >> 32, exit.left & u64::from(u32::MAX));
        }
    }
}

/// Those that packets of a vector leave by: mostly few.
pub struct Exits {
    exits: [Exit; Self::N],
    /// Bit `i`: exit `i` is known.
    known: u64,
}

impl Exits {
    const N: usize = 16;

    pub fn new() -> Self {
        Self { exits: [Exit::NONE; Self::N], known: 0 }
    }

    /// How packets leave an interface by its output node; `None` if the graph has to see them.
    #[inline(always)]
    pub fn find<const TRACED: bool>(
        &mut self,
        tx_if: u32,
        output: NodeIndex,
        outward: &Outward,
        views: Views<'_>,
        cx: &Cx<'_, TRACED>,
    ) -> Option<&mut Exit> {
        let (at, over) = (tx_if as usize % Self::N, over(tx_if, output));
        if self.exits[at].over != over {
            let exit = Exit { over, tx: outward.look(tx_if, output, views, cx)?, ..Exit::NONE };
            outward.count(std::mem::replace(&mut self.exits[at], exit));
            self.known |= 1 << at;
        }
        Some(&mut self.exits[at])
    }

    /// Whether nothing is known.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.known == 0
    }

    /// The same as [`Self::find`], if that was asked for before; `None` says nothing.
    #[inline(always)]
    pub fn known(&mut self, tx_if: u32, output: NodeIndex) -> Option<&mut Exit> {
        let exit = &mut self.exits[tx_if as usize % Self::N];
        (exit.over == over(tx_if, output)).then_some(exit)
    }

    /// Counts what has left for the interfaces, and forgets them: before another vector they may change.
    #[inline(always)]
    pub fn settle(&mut self, outward: &Outward) {
        for at in Bits(self.known) {
            outward.count(std::mem::replace(&mut self.exits[at % Self::N], Exit::NONE));
        }
        self.known = 0;
    }
}

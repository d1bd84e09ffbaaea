// SPDX-License-Identifier: Apache-2.0
//! Interfaces that packets may leave by straight away.

use crate::family::{self, Ip};
use graph::{ArcIndex, Cx, NodeIndex, ThreadIndex, World};
use net::{Exit, IfFlags, IfLanes, Views};
use std::sync::Arc;

/// The interfaces that packets of a vector leave by, with their transmit nodes.
pub type Exits = net::Exits<NodeIndex>;

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

    /// How packets leave an interface by its output node; `None` if the graph has to see them.
    #[inline(always)]
    pub fn find<'e, const TRACED: bool>(
        &self,
        exits: &'e mut Exits,
        (tx_if, output): (u32, NodeIndex),
        views: Views<'_>,
        cx: &Cx<'_, TRACED>,
    ) -> Option<&'e mut Exit<NodeIndex>> {
        let look = || self.look(tx_if, output, views, cx);
        exits.find(tx_if, over(tx_if, output), &self.lanes, look)
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
}

/// The same as [`Outward::find`], if that was asked for before; `None` doesn't mean that there is no exit.
#[inline(always)]
pub fn known(exits: &mut Exits, tx_if: u32, output: NodeIndex) -> Option<&mut Exit<NodeIndex>> {
    exits.known(tx_if, over(tx_if, output))
}

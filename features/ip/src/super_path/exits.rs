// SPDX-License-Identifier: Apache-2.0
//! Interfaces that packets may leave by straight away.

use super::To;
use crate::family::{self, Ip};
use graph::{ArcIndex, Cx, NodeIndex, World};
use net::IfView;

/// A way out that has no feature in it.
#[derive(Clone, Copy)]
struct Exit {
    /// The interface and its output node; [`Exits::NONE`] for none.
    over: u64,
    tx: NodeIndex,
}

/// Those that packets of a vector leave by: mostly few.
pub struct Exits([Exit; Self::N]);

/// The arcs that have to be empty.
#[derive(Clone, Copy)]
pub struct Outward([ArcIndex; 2]);

impl Outward {
    pub fn new<F: Ip>(world: &World) -> Self {
        let interface_output = world.arc("interface-output").expect("the arc comes with the interfaces");
        Self([family::arc::<F>(world, "{ip}-output"), interface_output])
    }
}

impl Exits {
    const N: usize = 16;
    const NONE: u64 = u64::MAX;

    #[inline(always)]
    pub fn new() -> Self {
        Self([Exit { over: Self::NONE, tx: NodeIndex(0) }; Self::N])
    }

    /// Where packets go that leave an interface by its output node; `None` if the graph has to see them.
    #[inline(always)]
    pub fn find<const TRACED: bool>(
        &mut self,
        tx_if: u32,
        output: NodeIndex,
        Outward(arcs): Outward,
        views: &[IfView],
        cx: &Cx<'_, TRACED>,
    ) -> Option<To> {
        let over = u64::from(output.0) << 32 | u64::from(tx_if);
        let known = &mut self.0[tx_if as usize % Self::N];
        if known.over != over {
            *known = Exit { over, tx: look(tx_if, output, arcs, views, cx)? };
        }
        Some(To::Tx(known.tx))
    }
}

/// The transmit node of an interface, if packets may go there straight away.
#[cold]
#[inline(never)]
fn look<const TRACED: bool>(
    tx_if: u32,
    output: NodeIndex,
    arcs: [ArcIndex; 2],
    views: &[IfView],
    cx: &Cx<'_, TRACED>,
) -> Option<NodeIndex> {
    let features = arcs.iter().fold(false, |any, arc| any | cx.has_arc(*arc, tx_if));
    let view = views.get(tx_if as usize)?;
    (!features && view.is_up() && view.output == output).then_some(view.tx)
}

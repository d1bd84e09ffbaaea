// SPDX-License-Identifier: Apache-2.0
//! The same copies made by a fast path, which sends the frames past the nodes.

use crate::mirror::{Level, Targets, copy, prepare, targets};
use buffer::Buffer;
use graph::{Build, Cx, ErrorIndex, Node, NodeIndex, ThreadIndex, World};
use l2::address_mirror_copy;
use net::{EmitCopy, Interfaces, Mirror};
use std::marker::PhantomData;
use std::sync::Arc;
use sync::Turn;

/// Destinations of which the copies of a whole vector may leave together.
const FEW: usize = 4;

/// The node whose copies are made: `N`.
pub struct Copier<N> {
    of: (Level, bool),
    targets: Arc<Targets>,
    interfaces: Arc<Interfaces>,
    l2_output: Option<NodeIndex>,
    mirrored: ErrorIndex,
    no_buffer: ErrorIndex,
    /// At device level only.
    down: Option<ErrorIndex>,
    node: PhantomData<fn() -> N>,
}

/// A node of this plugin.
pub trait Place: Node {
    const OF: (Level, bool);
}

impl<N: Place> Build for Copier<N> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let of = |text| world.reason_index(N::NAME, text);
        let counter = |text| of(text).expect("a counter of this plugin");
        Self {
            of: N::OF,
            targets: world.get(),
            interfaces: world.get(),
            l2_output: world.node("l2-output"),
            mirrored: counter("SPAN incoming packets processed"),
            no_buffer: counter("no_buffer"),
            down: of("down"),
            node: PhantomData,
        }
    }
}

impl<N: Place> Copier<N> {
    /// The node that a copy for an interface goes to; `None` if that is down.
    fn next(&self, to: u32, turn: &Turn<'_>) -> Option<NodeIndex> {
        if self.of.0 == Level::L2 {
            return self.l2_output;
        }
        // One that is being deleted is down.
        let view = self.interfaces.views(turn).get(to as usize);
        view.filter(|view| view.is_up()).map(|view| view.output)
    }
}

impl<N: Place> Mirror for Copier<N> {
    fn takes(&self, sw_if: u32, turn: &Turn<'_>) -> bool {
        let (level, is_tx) = self.of;
        self.targets.get(level, is_tx, sw_if, turn).len() <= FEW
    }

    fn copy(&mut self, b: &mut Buffer, emit: EmitCopy, cx: &mut Cx<'_, false>) {
        let targets = targets(&self.targets, self.of, b, cx);
        if targets.is_empty() {
            return;
        }
        cx.count_for(self.mirrored, 1);
        prepare(b);
        for to in targets {
            let Some(node) = self.next(*to, cx.turn) else {
                self.down.iter().for_each(|down| cx.count_for(*down, 1));
                continue;
            };
            let Some(mut copy) = copy(b, cx) else {
                cx.count_for(self.no_buffer, 1);
                continue;
            };
            match self.of.0 {
                Level::Device => copy.tx_if = *to,
                Level::L2 => address_mirror_copy(&mut copy, *to),
            }
            emit(cx, node, copy);
        }
    }
}

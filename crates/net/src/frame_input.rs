// SPDX-License-Identifier: Apache-2.0
//! Reception of frames by interfaces without a receive queue: loopbacks, ends of pipes, bonds and
//! others get theirs from a node of the graph.

use crate::counters::IfLanes;
use buffer::Buffer;
use graph::{ArcIndex, Cx, NodeIndex, ThreadIndex, World};
use std::sync::Arc;

/// A node's part in it, on one thread.
pub struct FrameInput {
    lanes: Arc<IfLanes>,
    arc: ArcIndex,
    end: NodeIndex,
}

impl FrameInput {
    /// Returns the part of a node that is built for a thread.
    ///
    /// # Panics
    /// Without the plugins `interface` and `ethernet`, which the plugin of the node needs.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self {
            lanes: IfLanes::of(world, thread),
            arc: world.arc("device-input").expect("the arc comes with the interfaces"),
            end: world.node("ethernet-input").expect("the end of the arc"),
        }
    }

    /// Counts a frame for its interface `rx_if`, as a driver does, and returns its next node: the
    /// first feature of the interface, or `ethernet-input`.
    #[inline(always)]
    pub fn receive<const TRACED: bool>(&self, b: &mut Buffer, cx: &Cx<'_, TRACED>) -> NodeIndex {
        self.lanes.rx.frame(b.rx_if as usize, b);
        cx.start_arc(self.arc, b.rx_if, b).unwrap_or(self.end)
    }
}

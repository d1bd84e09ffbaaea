// SPDX-License-Identifier: Apache-2.0
//! Frames from a bridge domain to its routed interface.

use buffer::{Buffer, Flags};
use graph::{Cx, NodeIndex, ThreadIndex, World};
use net::{FrameInput, Interfaces, count_tags, retag};
use std::sync::Arc;
use sync::Turn;
use wire::MacAddr;

/// Passes frames to the BVI, as if they were received there.
pub struct ToBvi {
    interfaces: Arc<Interfaces>,
    input: FrameInput,
}

impl ToBvi {
    /// Returns the state of a thread.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self { interfaces: world.get(), input: FrameInput::new(world, thread) }
    }

    /// Returns true if the BVI accepts frames to this address: its own, and group addresses.
    #[inline(always)]
    pub fn takes(&self, destination: [u8; 6], bvi: u32, turn: &Turn<'_>) -> bool {
        let view = self.interfaces.views(turn).get(bvi as usize);
        destination[0] & 1 != 0 || view.is_some_and(|view| view.mac == MacAddr(destination))
    }

    /// Removes all VLAN tags of a frame, counts it for the BVI, and returns its next node.
    #[inline(always)]
    pub fn receive<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        bvi: u32,
        cx: &Cx<'_, TRACED>,
    ) -> NodeIndex {
        b.rx_if = bvi;
        b.flags.remove(Flags::L2_BROADCAST | Flags::L2_MULTICAST);
        let tags = count_tags(b);
        if tags > 0 {
            let retagged = retag(b, tags, &[]);
            debug_assert!(retagged, "these bytes are there");
        }
        self.input.receive(b, cx)
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Frames from a bridge domain to its routed interface.

use buffer::{Buffer, Flags};
use graph::{ThreadIndex, World};
use net::{IfLanes, Interfaces, count_tags, retag};
use std::sync::Arc;
use sync::Turn;
use wire::MacAddr;

/// Passes frames to the BVI, as if they were received there.
pub struct ToBvi {
    interfaces: Arc<Interfaces>,
    lanes: Arc<IfLanes>,
}

impl ToBvi {
    /// Returns the state of a thread.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self { interfaces: world.get(), lanes: IfLanes::of(world, thread) }
    }

    /// Returns true if the BVI accepts frames to this address: its own, and group addresses.
    #[inline(always)]
    pub fn takes(&self, destination: [u8; 6], bvi: u32, turn: &Turn<'_>) -> bool {
        let view = self.interfaces.views(turn).get(bvi as usize);
        destination[0] & 1 != 0 || view.is_some_and(|view| view.mac == MacAddr(destination))
    }

    /// Counts the frame for the BVI, and removes all its VLAN tags. `ethernet-input` is its next
    /// node.
    #[inline(always)]
    pub fn receive(&self, b: &mut Buffer, bvi: u32) {
        b.rx_if = bvi;
        b.flags.remove(Flags::L2_BROADCAST | Flags::L2_MULTICAST);
        self.lanes.rx.frame(bvi as usize, b);
        let tags = count_tags(b);
        if tags > 0 {
            let retagged = retag(b, tags, &[]);
            debug_assert!(retagged, "these bytes are there");
        }
    }
}

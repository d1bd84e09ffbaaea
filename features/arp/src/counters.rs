// SPDX-License-Identifier: Apache-2.0
//! What is counted for each interface, under VPP's names.

use graph::{ThreadIndex, World};
use stats::Lane;
use wire::{Arp, ArpOp};

/// One direction's counters on one thread, indexed by interface.
#[derive(Clone)]
pub struct ArpLanes {
    requests: Lane,
    replies: Lane,
    gratuitous: Lane,
}

impl ArpLanes {
    pub fn rx(world: &World, thread: ThreadIndex) -> Self {
        Self::new(world, thread, "rx")
    }

    pub fn tx(world: &World, thread: ThreadIndex) -> Self {
        Self::new(world, thread, "tx")
    }

    fn new(world: &World, thread: ThreadIndex, direction: &str) -> Self {
        let lane = |what: &str| world.stats.simple(&format!("/net/arp/{direction}/{what}")).lane(thread.at());
        Self { requests: lane("requests"), replies: lane("replies"), gratuitous: lane("gratuitous") }
    }

    /// Counts a packet; one that announces its sender counts as that only.
    #[inline(always)]
    pub fn count(&self, sw_if: u32, arp: &Arp) {
        self.add(sw_if, arp.op(), arp.is_gratuitous());
    }

    #[inline(always)]
    pub fn add(&self, sw_if: u32, op: ArpOp, gratuitous: bool) {
        let lane = match op {
            _ if gratuitous => &self.gratuitous,
            ArpOp::REQUEST => &self.requests,
            ArpOp::REPLY => &self.replies,
            _ => return,
        };
        lane.add(sw_if as usize, 1);
    }
}

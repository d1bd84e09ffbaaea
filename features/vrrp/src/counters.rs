// SPDX-License-Identifier: Apache-2.0
//! Counters in the stats segment, with VPP's names.

use graph::World;
use stats::{Lane, Simple};
use std::sync::Arc;

/// Counters of faults in messages, which belong to no virtual router: their only cell is the first.
pub const FAULTS: [&str; 6] = ["chksum", "version", "vrid", "ttl", "addr-list", "packet-len"];
/// The cell of a fault.
pub const CELL: usize = 0;

/// The counter of a fault in [`FAULTS`].
pub fn fault(world: &World, name: &str) -> Arc<Simple> {
    world.stats.simple(&format!("/net/vrrp/{name}-errs"))
}

/// Counters of virtual routers, by index. Only control counts.
pub struct Counters([(Arc<Simple>, Lane); 7]);

/// An event that is counted for a virtual router; its number is the counter's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// It became the master.
    Master,
    /// It sent an advertisement.
    Sent,
    /// It received one.
    Received,
    /// It sent one of priority 0.
    SentZero,
    /// It received one of priority 0.
    ReceivedZero,
    /// It received one of a router that it is preferred to.
    Preempted,
    /// It received one that doesn't matter in its state.
    Ignored,
}

impl Counters {
    /// The counters of all virtual routers.
    pub fn new(world: &World) -> Self {
        let names = [
            "master-trans",
            "adv-sent",
            "adv-rcvd",
            "prio0-sent",
            "prio0-rcvd",
            "adv-preempt",
            "adv-ignored",
        ];
        Self(names.map(|name| {
            let counter = world.stats.simple(&format!("/net/vrrp/{name}"));
            let lane = counter.control();
            (counter, lane)
        }))
    }

    /// Starts the counters of a new virtual router at zero.
    pub fn start(&self, index: u32) {
        self.0.iter().for_each(|(counter, _)| counter.start(index as usize));
    }

    /// Counts an event.
    pub fn count(&self, index: u32, event: Event) {
        if let Some((_, lane)) = self.0.get(event as usize) {
            lane.add(index as usize, 1);
        }
    }

    /// The count of an event.
    #[cfg(feature = "tests")]
    pub fn of(&self, index: u32, event: Event) -> u64 {
        self.0[event as usize].0.sum(index as usize)
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Per-interface counters of neighbour resolution, under VPP's names.

use super::Protocol;
use graph::{ThreadIndex, World};
use stats::{Lane, Space};

/// The counters of a protocol, for [`Plugin::counters`](graph::Plugin::counters): their cells
/// belong to interfaces.
pub const fn counters<P: Protocol>() -> (&'static str, Space) {
    (P::COUNTERS, Space::Interface)
}

/// One direction's counters of a protocol on one thread, indexed by interface.
#[derive(Clone)]
pub struct Lanes {
    /// Requests.
    pub requests: Lane,
    /// Replies.
    pub replies: Lane,
    /// Gratuitous announcements.
    pub gratuitous: Lane,
}

impl Lanes {
    /// Returns the counters of received messages.
    pub fn rx<P: Protocol>(world: &World, thread: ThreadIndex) -> Self {
        Self::new::<P>(world, thread, "rx")
    }

    /// Returns the counters of sent messages.
    pub fn tx<P: Protocol>(world: &World, thread: ThreadIndex) -> Self {
        Self::new::<P>(world, thread, "tx")
    }

    fn new<P: Protocol>(world: &World, thread: ThreadIndex, direction: &str) -> Self {
        let vector =
            |what: &str| world.stats.simple(&format!("{}/{direction}/{what}", P::COUNTERS));
        let lane = |what| vector(what).lane(thread.at());
        Self {
            requests: lane("requests"),
            replies: lane("replies"),
            gratuitous: lane("gratuitous"),
        }
    }
}

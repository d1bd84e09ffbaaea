// SPDX-License-Identifier: Apache-2.0
//! Counters of packets by direction, path and protocol, by interface.

use crate::packet::Packet;
use graph::{ThreadIndex, World};
use stats::{Lane, Simple};
use std::sync::Arc;
use wire::IpProtocol;

/// The protocols that are counted, and drops.
const KINDS: [&str; 5] = ["tcp", "udp", "icmp", "other", "drops"];
/// Position of the counters of packets that are dropped.
const DROPS: usize = 4;

/// The counters of all threads, under the name of a kind.
pub struct Paths {
    /// By direction, by path (fast, slow), by kind.
    all: Vec<Arc<Simple>>,
    hairpinning: Arc<Simple>,
}

impl Paths {
    /// The counters under `/NAME`.
    pub fn new(world: &World, name: &str) -> Self {
        let mut all = Vec::new();
        for direction in ["in2out", "out2in"] {
            for path in ["fastpath", "slowpath"] {
                for kind in KINDS {
                    all.push(world.stats.simple(&format!("/{name}/{direction}/{path}/{kind}")));
                }
            }
        }
        Self { all, hairpinning: world.stats.simple(&format!("/{name}/hairpinning")) }
    }

    /// The cells of a thread.
    pub fn lanes(&self, thread: ThreadIndex) -> Lanes {
        let lane = |simple: &Arc<Simple>| simple.lane(thread.at());
        Lanes { all: self.all.iter().map(lane).collect(), hairpinning: lane(&self.hairpinning) }
    }
}

/// The cells of a thread.
pub struct Lanes {
    all: Vec<Lane>,
    hairpinning: Lane,
}

impl Lanes {
    #[inline(always)]
    fn count(&self, (inward, slow): (bool, bool), kind: usize, sw_if: u32) {
        let at = (usize::from(inward) * 2 + usize::from(slow)) * KINDS.len() + kind;
        if let Some(lane) = self.all.get(at) {
            lane.add(sw_if as usize, 1);
        }
    }

    /// Counts a translated packet of an interface. The path is true for packets of the world, and
    /// true for the slow path.
    #[inline(always)]
    pub fn count_translated(&self, path: (bool, bool), p: &Packet, sw_if: u32) {
        let kind = match p.protocol {
            IpProtocol::TCP => 0,
            IpProtocol::UDP => 1,
            IpProtocol::ICMP => 2,
            _ => 3,
        };
        self.count(path, kind, sw_if);
    }

    /// Counts a dropped packet of an interface.
    #[inline(always)]
    pub fn count_drop(&self, path: (bool, bool), sw_if: u32) {
        self.count(path, DROPS, sw_if);
    }

    /// Counts a packet between two users.
    #[inline(always)]
    pub fn count_hairpin(&self, sw_if: u32) {
        self.hairpinning.add(sw_if as usize, 1);
    }
}

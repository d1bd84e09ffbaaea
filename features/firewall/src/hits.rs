// SPDX-License-Identifier: Apache-2.0
//! Counters of rules.

use crate::limits::in_rate;
use graph::World;
use stats::{Combined, CombinedLane};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Name of the counters in the stats segment: packets that each rule has decided.
pub const NAME: &str = "/firewall/rules";

/// The counters of a rule: a cell in the stats segment, and the time of the last packet.
#[derive(Debug)]
pub struct Hits {
    /// Index of the cell.
    pub cell: u32,
    /// Time of the instance's clock; 0 for never.
    last: AtomicU64,
    /// A second, and the packets that the rule accepted in it.
    rate: AtomicU64,
}

impl Hits {
    /// Notes a packet.
    #[inline(always)]
    pub fn note(&self, lane: &CombinedLane, bytes: usize, now: u64) {
        lane.add(self.cell as usize, 1, bytes as u64);
        self.last.store(now, Ordering::Relaxed);
    }

    /// Counts a packet that is accepted; false if the rule has accepted `most` in this second.
    pub fn accept(&self, most: u32, now: u64) -> bool {
        in_rate(&self.rate, (now / 1_000_000_000) as u32, most)
    }

    /// Time of the last packet, if there was one.
    pub fn last(&self) -> Option<u64> {
        Some(self.last.load(Ordering::Relaxed)).filter(|last| *last > 0)
    }
}

/// The cells of all rules.
pub struct Cells {
    counter: Arc<Combined>,
    used: Vec<Weak<Hits>>,
}

impl Cells {
    /// Without a rule.
    pub fn new(world: &World) -> Self {
        Self { counter: world.stats.combined(NAME), used: Vec::new() }
    }

    /// Counters of a new rule: a cell that no rule has, from zero.
    pub fn take(&mut self) -> Arc<Hits> {
        let free = self.used.iter().position(|hits| hits.strong_count() == 0);
        let at = free.unwrap_or(self.used.len());
        let hits =
            Arc::new(Hits { cell: at as u32, last: AtomicU64::new(0), rate: AtomicU64::new(0) });
        match self.used.get_mut(at) {
            Some(used) => {
                *used = Arc::downgrade(&hits);
                self.counter.restart(at..at + 1);
            }
            None => self.used.push(Arc::downgrade(&hits)),
        }
        self.counter.start(at);
        hits
    }

    /// Packets and bytes of a rule.
    pub fn sum(&self, hits: &Hits) -> (u64, u64) {
        self.counter.sum(hits.cell as usize)
    }
}

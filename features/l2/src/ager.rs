// SPDX-License-Identifier: Apache-2.0
//! The process that forgets old addresses and lets the table grow.

use crate::bridge::Bridge;
use graph::{Process, Sleep, Wake, World};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const SECOND: u64 = 1_000_000_000;
/// Nanoseconds from one scan for old entries to the next.
const SCAN: u64 = 60 * SECOND;
/// Nanoseconds until the table is looked at again while it grows.
const SOON: u64 = 1_000_000;

struct Ager {
    bridge: Arc<Bridge>,
    /// When the next scan is due.
    scan: u64,
}

impl Process for Ager {
    fn name(&self) -> &'static str {
        "l2fib-ager-scanner-process"
    }

    fn run(&mut self, world: &World, wake: Wake) -> Sleep {
        let now = world.clock.now();
        if wake == Wake::Start {
            self.scan = now + SCAN;
        }
        if self.bridge.is_unused() {
            return Sleep::Event;
        }
        if now >= self.scan {
            self.bridge.scan(now);
            self.bridge.last_scan.store(world.clock.now().saturating_sub(now), Ordering::Relaxed);
            self.scan = now + SCAN;
        }
        self.bridge.retire_domains();
        let bridge = &self.bridge;
        let grows = bridge.macs.maintain(|key, entry| bridge.uncount(key, entry));
        Sleep::Until(now + if grows { SOON } else { SECOND })
    }
}

/// Starts the process.
pub fn start(world: &World) {
    let bridge = world.get::<Bridge>();
    let signal = bridge.ager.clone();
    world.processes.spawn(Box::new(Ager { bridge, scan: 0 }), &signal);
}

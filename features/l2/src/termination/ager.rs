// SPDX-License-Identifier: Apache-2.0
//! `l2-arp-snoop-ager`: forgets snooped hosts that weren't seen for long. Workers don't answer for
//! such hosts meanwhile.

use crate::bridge::Bridge;
use graph::{Process, Sleep, Wake, World};
use std::sync::Arc;

/// Nanoseconds from one walk over the hosts to the next.
const SCAN: u64 = 60_000_000_000;

struct Ager {
    bridge: Arc<Bridge>,
    /// Time of the next walk.
    scan: u64,
    /// The last domain of the walk at hand.
    last: Option<u32>,
}

impl Process for Ager {
    fn name(&self) -> &'static str {
        "l2-arp-snoop-ager"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        if !self.bridge.is_snooping() {
            return Sleep::Event;
        }
        let now = world.clock.now();
        if now < self.scan {
            return Sleep::Until(self.scan);
        }
        let goes_on = cli::slice(|| {
            self.last = self.bridge.age_hosts(self.last, now);
            self.last.is_some()
        });
        if goes_on {
            return Sleep::Until(now);
        }
        self.scan = now + SCAN;
        Sleep::Until(self.scan)
    }
}

/// Starts the process.
pub fn start(world: &World) {
    let bridge = world.get::<Bridge>();
    let signal = bridge.snoop_ager.clone();
    world.processes.spawn(Box::new(Ager { bridge, scan: 0, last: None }), &signal);
}

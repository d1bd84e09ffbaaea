// SPDX-License-Identifier: Apache-2.0
//! `l2-arp-term-publisher`: tells clients of hosts that workers have seen, and lets domains learn them.

use super::Sighting;
use crate::api::L2ArpTermEvent;
use crate::bridge::Bridge;
use graph::{Process, Sleep, Wake, World};
use std::collections::HashMap;
use std::sync::Arc;

/// Nanoseconds for which the same sighting isn't told again.
const QUIET: u64 = 10_000_000_000;
/// Sightings that are remembered at most.
const REMEMBERED: usize = 1 << 14;

struct Publisher {
    bridge: Arc<Bridge>,
    /// When a sighting was told.
    told: HashMap<Sighting, u64>,
    /// The mailbox that was read last.
    mailbox: usize,
}

impl Publisher {
    /// Whether clients were told of a sighting lately. If not, they will be now.
    fn is_repeated(&mut self, sighting: Sighting, now: u64) -> bool {
        if self.told.get(&sighting).is_some_and(|told| now < told + QUIET) {
            return true;
        }
        if self.told.len() >= REMEMBERED {
            self.told.retain(|_, told| now < *told + QUIET);
        }
        if self.told.len() >= REMEMBERED {
            // Rather a sighting told twice than one not told.
            self.told.clear();
        }
        self.told.insert(sighting, now);
        false
    }
}

impl Process for Publisher {
    fn name(&self) -> &'static str {
        "l2-arp-term-publisher"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let (bridge, now) = (self.bridge.clone(), world.clock.now());
        // The client may have gone without a word.
        let wanted = world.api.wanted::<L2ArpTermEvent>();
        bridge.sightings.want(wanted);
        let goes_on = cli::slice(|| {
            let Some(report) = bridge.sightings.take(&mut self.mailbox) else { return false };
            if report.learn.is_some() {
                bridge.learn_host(report, now);
            }
            if wanted && !self.is_repeated(report.sighting, now) {
                world.api.publish(&L2ArpTermEvent::from(report.sighting));
            }
            true
        });
        if !wanted {
            self.told = HashMap::new();
        }
        if goes_on { Sleep::Until(now) } else { Sleep::Event }
    }
}

/// Starts the process.
pub fn start(world: &World) {
    let bridge = world.get::<Bridge>();
    let signal = bridge.sightings.signal.clone();
    world.processes.spawn(Box::new(Publisher { bridge, told: HashMap::new(), mailbox: 0 }), &signal);
}

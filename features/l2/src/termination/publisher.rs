// SPDX-License-Identifier: Apache-2.0
//! `l2-arp-term-publisher`: notifies clients of hosts that workers have detected, and lets domains
//! learn them.

use super::Sighting;
use crate::api::L2ArpTermEvent;
use crate::bridge::Bridge;
use graph::{Process, Sleep, Wake, World};
use std::collections::HashMap;
use std::sync::Arc;

/// Time in nanoseconds for which the same sighting isn't reported again.
const QUIET: u64 = 10_000_000_000;
/// Maximum number of remembered sightings.
const REMEMBERED: usize = 1 << 14;

struct Publisher {
    bridge: Arc<Bridge>,
    /// Time at which each sighting was reported.
    told: HashMap<Sighting, u64>,
    /// The mailbox that was read last.
    mailbox: usize,
}

impl Publisher {
    /// Returns true if a sighting was reported lately; if not, records that it is reported now.
    fn is_repeated(&mut self, sighting: Sighting, now: u64) -> bool {
        if self.told.get(&sighting).is_some_and(|told| now < told + QUIET) {
            return true;
        }
        if self.told.len() >= REMEMBERED {
            self.told.retain(|_, told| now < *told + QUIET);
        }
        if self.told.len() >= REMEMBERED {
            // Better to report a sighting twice than never.
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
        // The client may have disconnected without unsubscribing.
        let wanted = world.api.has_subscribers::<L2ArpTermEvent>();
        bridge.sightings.set_subscribed(wanted);
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
    world
        .processes
        .spawn(Box::new(Publisher { bridge, told: HashMap::new(), mailbox: 0 }), &signal);
}

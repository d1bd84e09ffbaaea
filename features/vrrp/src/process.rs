// SPDX-License-Identifier: Apache-2.0
//! `vrrp-periodic-process`: reads received advertisements, and runs the machines whose timers
//! have expired.

use crate::check;
use crate::control::Vrrp;
use crate::counters::Event;
use crate::machine::{Effect, Heard, Outcome, State};
use crate::packet::Advertisement;
use crate::table::Vr;
use graph::{Process, Sleep, SwIfIndex, Wake, World};
use net::{IfEvent, Interfaces};
use std::sync::Arc;

/// Starts the process, and follows the states and addresses of interfaces.
pub fn start(world: &World) {
    let vrrp: Arc<Vrrp> = world.get();
    world.processes.spawn(Box::new(VrrpProcess(vrrp.clone())), &vrrp.signal);
    world.get::<Interfaces>().subscribe(move |world, event| match event {
        IfEvent::Admin(sw_if, _) | IfEvent::Link(sw_if, _) | IfEvent::Address(sw_if, _) => {
            vrrp.follow(world, sw_if);
        }
        IfEvent::Ip(sw_if, ..) => vrrp.follow(world, sw_if),
        IfEvent::Mac(sw_if) => {
            vrrp.follow(world, sw_if);
            // A unicast virtual router answers by the interface's own address.
            if vrrp.has(sw_if) {
                vrrp.publish(world, sw_if);
            }
        }
        _ => {}
    });
}

struct VrrpProcess(Arc<Vrrp>);

impl Process for VrrpProcess {
    fn name(&self) -> &'static str {
        "vrrp-periodic-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world).map_or(Sleep::Event, Sleep::Until)
    }
}

impl Vrrp {
    fn has(&self, sw_if: SwIfIndex) -> bool {
        self.table().of(sw_if).next().is_some()
    }

    /// Brings the virtual routers on an interface that has changed up to date, and those that track
    /// it.
    fn follow(&self, world: &World, sw_if: SwIfIndex) {
        let concerned: Vec<_> = {
            let table = self.table();
            let is_concerned =
                |vr: &Vr| vr.config.key.sw_if == sw_if || vr.tracked.contains_key(&sw_if);
            let all = table.routers.iter().filter(|(_, vr)| is_concerned(vr));
            all.map(|(index, _)| *index).collect()
        };
        self.refresh(world, concerned);
    }

    /// Brings the machines of virtual routers up to date with interfaces.
    pub fn refresh(&self, world: &World, indices: Vec<u32>) {
        if indices.is_empty() {
            return;
        }
        for index in indices {
            let effects = {
                let mut table = self.table();
                let Some(vr) = table.routers.get_mut(&index) else { continue };
                let now = world.clock.now();
                let settings = vr.settings(world);
                if settings != vr.machine.settings() {
                    vr.machine.set_settings(now, settings);
                }
                vr.machine.set_ready(now, check::is_ready(world, vr.config.key))
            };
            self.apply(world, index, effects);
        }
        self.signal.raise();
    }

    /// Runs what is due. Returns the time of the next run.
    fn run(&self, world: &World) -> Option<u64> {
        let now = world.clock.now();
        for index in self.indices() {
            let effects = self.step(world, index, now);
            self.apply(world, index, effects);
        }
        self.table().routers.values().filter_map(|vr| vr.machine.due()).min()
    }

    /// Reads the advertisements that a virtual router received, and then runs its timer. So a
    /// master whose advertisement arrived in time isn't replaced because control reads it late.
    fn step(&self, world: &World, index: u32, now: u64) -> Vec<Effect> {
        let mut table = self.table();
        let Some(vr) = table.routers.get_mut(&index) else { return Vec::new() };
        let mut effects = Vec::new();
        vr.received.drain(|advertisement| {
            let Advertisement { priority, interval, from, .. } = advertisement;
            self.counters.count(index, Event::Received);
            if priority == 0 {
                self.counters.count(index, Event::ReceivedZero);
            }
            let own = check::source_for(world, vr.config.key, from).unwrap_or(from);
            let heard = Heard { priority, interval, from };
            let (more, outcome) = vr.machine.receive(now, &heard, own);
            effects.extend(more);
            match outcome {
                Outcome::Accepted if vr.machine.state() == State::Backup => {
                    vr.is_plain = advertisement.is_plain;
                }
                Outcome::Accepted => {}
                Outcome::Preempted => self.counters.count(index, Event::Preempted),
                Outcome::Ignored => self.counters.count(index, Event::Ignored),
            }
        });
        effects.extend(vr.machine.expire(now));
        effects
    }
}

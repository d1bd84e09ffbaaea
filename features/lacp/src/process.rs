// SPDX-License-Identifier: Apache-2.0
//! `lacp-process`: runs the machines of all members.

use crate::control::{Member, Ports};
use crate::pdu::{self, Pdu};
use crate::select;
use bond::{Bonds, Stage};
use graph::{Process, Sleep, SwIfIndex, Wake, World};
use net::{IfEvent, Interface, Interfaces, transmit};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Starts the process. It looks at members again when their interfaces or bonds change.
pub fn start(world: &Arc<World>) {
    let ports: Arc<Ports> = world.get();
    world.processes.spawn(Box::new(LacpProcess(ports.clone())), &ports.signal);
    world.get::<Interfaces>().subscribe(move |world, event| {
        if let IfEvent::Admin(..) | IfEvent::Link(..) | IfEvent::Mac(_) = event {
            // A link that fails stops carrying frames now, not when the process runs.
            ports.run(world);
            ports.signal.raise();
        }
    });
}

struct LacpProcess(Arc<Ports>);

impl Process for LacpProcess {
    fn name(&self) -> &'static str {
        "lacp-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.run(world).map_or(Sleep::Event, Sleep::Until)
    }
}

/// What has to be done for members once their table isn't locked any more.
#[derive(Default)]
struct Work {
    send: Vec<(Interface, Pdu)>,
    /// Members that carry frames now, or no longer.
    changed: Vec<(SwIfIndex, Stage)>,
}

impl Ports {
    /// Takes what was received, runs the machines, and sends. Returns when to run again.
    fn run(&self, world: &World) -> Option<u64> {
        let now = world.clock.now();
        let mut work = Work::default();
        let next = {
            let mut members = self.members();
            if members.is_empty() {
                return None;
            }
            members.iter_mut().for_each(|(sw_if, member)| prepare(world, *sw_if, member, now));
            let bonds: std::collections::BTreeSet<_> = members.values().map(|member| member.bond).collect();
            bonds.into_iter().for_each(|bond| self.step_bond(&mut members, bond, now));
            for (sw_if, member) in members.iter_mut() {
                finish(world, *sw_if, member, now, &mut work);
            }
            members.values().filter_map(|member| member.port.next()).min()
        };
        for (sw_if, stage) in work.changed {
            let name = world.get::<Interfaces>().name(sw_if);
            match stage {
                Stage::Idle => log::info!("{name}: LACP has taken it out of the bond"),
                Stage::Collecting => {}
                Stage::Distributing => log::info!("{name}: LACP has brought it into the bond"),
            }
            world.get::<Bonds>().set_stage(world, sw_if, stage);
        }
        let unsent = world.stats.simple("/net/lacp/tx/no-buffers");
        for (interface, pdu) in work.send {
            transmit(world, &interface, vec![pdu::frame(interface.mac, &pdu)], &unsent);
        }
        self.publish_gauges(world);
        next
    }

    /// Runs the machines of a bond's members. Time outs come first: they may change the selection.
    fn step_bond(&self, members: &mut BTreeMap<SwIfIndex, Member>, bond: SwIfIndex, now: u64) {
        let mut of_bond: Vec<_> = members.iter_mut().filter(|(_, member)| member.bond == bond).collect();
        of_bond.sort_by_key(|(_, member)| member.port.actor.port);
        of_bond.iter_mut().for_each(|(_, member)| member.port.step(now));
        let partner = select::reference(of_bond.iter().map(|(_, member)| &member.port));
        select::select(of_bond.iter_mut().map(|(_, member)| &mut member.port), partner);
        for (sw_if, member) in of_bond {
            member.port.step(now);
            self.listen(*sw_if, member, partner);
        }
    }
}

/// Brings a member up to date with its interface and its bond, and takes what it received.
fn prepare(world: &World, sw_if: SwIfIndex, member: &mut Member, now: u64) {
    let interfaces = world.get::<Interfaces>();
    let up = |sw_if: SwIfIndex| interfaces.get(sw_if).is_ok_and(|i| i.admin_up && i.link_up);
    let bond = interfaces.get(member.bond);
    // A bond that is down takes no frames: the partner has to know.
    member.port.set_enabled(up(sw_if) && bond.as_ref().is_ok_and(|bond| bond.admin_up), now);
    if let Ok(bond) = bond
        && bond.mac != member.port.actor.system
    {
        member.port.actor.system = bond.mac;
        member.port.notify();
    }
    let Member { received, port, debug, .. } = member;
    received.drain(|pdu| {
        if *debug {
            log::info!("{}: received {pdu:?}", interfaces.name(sw_if));
        }
        port.receive(&pdu, now);
    });
}

/// Notes what a member sends, and whether it carries frames.
fn finish(world: &World, sw_if: SwIfIndex, member: &mut Member, now: u64, work: &mut Work) {
    let stage = member.port.stage();
    if stage != member.stage {
        member.stage = stage;
        work.changed.push((sw_if, stage));
    }
    let Ok(interface) = world.get::<Interfaces>().get(sw_if) else { return };
    if let Some(pdu) = member.port.transmit(now) {
        if member.debug {
            log::info!("{}: sent {pdu:?}", interface.name);
        }
        work.send.push((interface, pdu));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `lacp-process`: runs the machines of all members.

use crate::control::{Group, Member, Ports, Table};
use crate::pdu::{self, Pdu};
use crate::select;
use bond::{Bonds, Stage};
use graph::{Process, Sleep, SwIfIndex, Wake, World};
use net::{IfEvent, Interface, Interfaces, transmit};
use std::sync::Arc;
use sync::Limit;

/// Members whose machines run in one turn of control, plus the other members of the last one's
/// bond.
const MEMBERS_A_TURN: usize = 256;

/// Starts the process. It looks at members again when their interfaces or bonds change.
pub fn start(world: &Arc<World>) {
    let ports: Arc<Ports> = world.get();
    world.processes.spawn(Box::new(LacpProcess(ports.clone())), &ports.signal);
    world.get::<Interfaces>().subscribe(move |world, event| {
        let bond = match event {
            IfEvent::Admin(sw_if, _) | IfEvent::Mac(sw_if) => ports.bond_of(sw_if).or(Some(sw_if)),
            IfEvent::Link(sw_if, _) => ports.bond_of(sw_if),
            _ => None,
        };
        if let Some(bond) = bond
            && ports.run_bond(world, bond) > 0
        {
            // A link that fails stops carrying frames now; the process learns when to run again.
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

/// Work for members that is done after their table is unlocked.
#[derive(Default)]
struct DeferredWork {
    send: Vec<(Interface, Pdu)>,
    stages: Vec<(SwIfIndex, Stage)>,
}

impl Group {
    /// When the machines have to run next: at a time of theirs, or when a data unit that waits may
    /// be read.
    fn due(&self) -> Option<u64> {
        let mail = self.members.values().filter(|member| !member.received.is_empty());
        mail.map(|member| member.bucket.next(Member::limit())).chain(self.timer).min()
    }
}

impl Ports {
    fn bond_of(&self, member: SwIfIndex) -> Option<SwIfIndex> {
        self.table().members.get(&member).map(|(bond, _)| *bond)
    }

    /// Runs the machines that are due, in order of their times. Returns when to run again.
    fn run(&self, world: &World) -> Option<u64> {
        let now = world.clock.now();
        let mut due: Vec<_> = {
            let table = self.table();
            let due = |(bond, group): (&SwIfIndex, &Group)| Some((group.due()?, *bond));
            table.groups.iter().filter_map(due).filter(|(at, _)| *at <= now).collect()
        };
        due.sort_unstable();
        let mut members = 0;
        for (_, bond) in due {
            if members >= MEMBERS_A_TURN {
                return Some(now);
            }
            members += self.run_bond(world, bond);
        }
        self.table().groups.values().filter_map(Group::due).min()
    }

    /// Reads the data units that members of a bond received, runs their machines, and sends.
    /// Returns the number of members.
    fn run_bond(&self, world: &World, bond: SwIfIndex) -> usize {
        let now = world.clock.now();
        let mut work = DeferredWork::default();
        let members = {
            let mut table = self.table();
            let Table { groups, .. } = &mut *table;
            let Some(group) = groups.get_mut(&bond) else { return 0 };
            group.members.values_mut().for_each(|member| prepare(world, bond, member, now));
            self.step(group, now);
            group.members.values_mut().for_each(|member| finish(world, member, now, &mut work));
            group.timer = group.members.values().filter_map(|member| member.port.next()).min();
            group.members.len()
        };
        for (sw_if, stage) in work.stages {
            if world.get::<Bonds>().set_stage(world, sw_if, stage) {
                let name = world.get::<Interfaces>().name(sw_if);
                match stage {
                    Stage::Idle => log::info!("{name}: LACP has taken it out of the bond"),
                    Stage::Collecting => {}
                    Stage::Distributing => log::info!("{name}: LACP has brought it into the bond"),
                }
            }
        }
        if !work.send.is_empty() {
            let unsent = world.stats.simple("/net/lacp/tx/no-buffers");
            for (interface, pdu) in work.send {
                transmit(world, &interface, vec![pdu::frame(interface.mac, &pdu)], &unsent);
            }
        }
        members
    }

    /// Runs the machines of a bond's members. Timeouts come first: they may change the selection.
    fn step(&self, group: &mut Group, now: u64) {
        group.members.values_mut().for_each(|member| member.port.step(now));
        let partner = select::reference(group.members.values().map(|member| &member.port));
        select::select(group.members.values_mut().map(|member| &mut member.port), partner);
        for member in group.members.values_mut() {
            member.port.step(now);
            self.listen(member, partner);
        }
    }
}

impl Member {
    /// Data units that are read in a second, and at once after a pause: no more slow protocol
    /// frames may be sent (IEEE 802.3 57A.3).
    fn limit() -> Limit {
        Limit::new(10, 10)
    }
}

/// Brings a member up to date with its interface and its bond, and reads the data units that it
/// received.
fn prepare(world: &World, bond: SwIfIndex, member: &mut Member, now: u64) {
    let interfaces = world.get::<Interfaces>();
    let up = interfaces.get(member.sw_if).is_ok_and(|i| i.admin_up && i.link_up);
    let bond = interfaces.get(bond);
    // A bond that is down takes no frames: the partner has to know.
    member.port.set_enabled(up && bond.as_ref().is_ok_and(|bond| bond.admin_up), now);
    if let Ok(bond) = bond
        && bond.mac != member.port.actor.system
    {
        member.port.actor.system = bond.mac;
        member.port.notify();
    }
    while !member.received.is_empty()
        && member.bucket.take(now, Member::limit())
        && let Some(pdu) = member.received.take()
    {
        if member.debug {
            log::info!("{}: received {pdu:?}", interfaces.name(member.sw_if));
        }
        member.port.receive(&pdu, now);
    }
}

/// Notes the data unit that a member sends, and how far it is in the bond.
fn finish(world: &World, member: &mut Member, now: u64, work: &mut DeferredWork) {
    work.stages.push((member.sw_if, member.port.stage()));
    member.publish_gauges();
    let Some(pdu) = member.port.transmit(now) else { return };
    let Ok(interface) = world.get::<Interfaces>().get(member.sw_if) else { return };
    if member.debug {
        log::info!("{}: sent {pdu:?}", interface.name);
    }
    work.send.push((interface, pdu));
}

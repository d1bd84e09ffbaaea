// SPDX-License-Identifier: Apache-2.0
//! Members that speak LACP: what control keeps of them, and what workers read.

use crate::machine::{Port, Rx};
use crate::pdu::{Lag, Party, Pdu, State};
use bond::{MemberInfo, Stage};
use graph::{Deleted, Shared, Signal, SwIfIndex, World};
use net::Interfaces;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Mailbox, Slots, Turn};
use wire::MacAddr;

/// Data units of one member that wait for control at most.
const WAITING: usize = 8;
/// Priorities of this system and its ports: the lowest, so that the partner decides where one has to (IEEE 802.1AX-2014 6.3.2, 6.3.4).
const SYSTEM_PRIORITY: u16 = 0xffff;
const PORT_PRIORITY: u16 = 0xff;

/// A member.
pub struct Member {
    pub bond: SwIfIndex,
    pub port: Port,
    /// Data units on their way to control. Each member has its own, so that none fills another's.
    pub received: Arc<Mailbox<Pdu>>,
    /// What happens to it is logged in detail.
    pub debug: bool,
    /// What the bond has been told of it.
    pub stage: Stage,
}

/// What workers read of a member.
#[derive(Clone, Debug)]
pub struct Listener {
    pub received: Arc<Mailbox<Pdu>>,
    /// This system.
    pub system: MacAddr,
    /// The bond's partner.
    pub partner: Option<Lag>,
}

/// What is shown of a member.
#[derive(Clone, Debug)]
pub struct Status {
    pub sw_if: SwIfIndex,
    pub bond: SwIfIndex,
    pub port: Port,
}

/// All members that speak LACP.
pub struct Ports {
    pub(crate) members: Mutex<BTreeMap<SwIfIndex, Member>>,
    listeners: Slots<Listener>,
    pub(crate) signal: Signal,
    /// Gauges of the stats segment, as last published.
    gauges: Mutex<Vec<(String, u64)>>,
}

impl Shared for Ports {
    fn make(world: &World) -> Self {
        Self {
            members: Mutex::default(),
            listeners: Slots::new(world.qsbr.clone()),
            signal: world.processes.signal(),
            gauges: Mutex::default(),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.remove(world, *sw_if);
        }
    }
}

impl Ports {
    pub(crate) fn members(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, Member>> {
        self.members.lock().expect("no panic inside")
    }

    /// What a worker needs for data units received on an interface; `None` if LACP isn't spoken there.
    #[inline(always)]
    pub fn listener<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> Option<&'t Listener> {
        self.listeners.get(sw_if, turn)
    }

    /// Tells control that a mailbox isn't empty.
    pub fn notify(&self) {
        self.signal.raise();
    }

    /// All members, by index.
    pub fn list(&self) -> Vec<Status> {
        let status = |(sw_if, member): (&SwIfIndex, &Member)| Status {
            sw_if: *sw_if,
            bond: member.bond,
            port: member.port.clone(),
        };
        self.members().iter().map(status).collect()
    }

    /// Logs what happens to a member in detail, or no longer. False if it speaks no LACP.
    pub fn set_debug(&self, sw_if: SwIfIndex, on: bool) -> bool {
        let mut members = self.members();
        let member = members.get_mut(&sw_if);
        member.map(|member| member.debug = on).is_some()
    }

    fn remove(&self, world: &World, sw_if: SwIfIndex) {
        if self.members().remove(&sw_if).is_some() {
            self.listeners.clear(sw_if.0);
            self.publish_gauges(world);
            self.signal.raise();
        }
    }

    /// Publishes to workers who the partner of a member's bond is.
    pub(crate) fn listen(&self, sw_if: SwIfIndex, member: &Member, partner: Option<Lag>) {
        let system = member.port.actor.system;
        let is_same =
            |old: Option<&Listener>| old.is_some_and(|old| (old.system, old.partner) == (system, partner));
        if !self.listeners.read(sw_if.0, is_same) {
            self.listeners.set(sw_if.0, Listener { received: member.received.clone(), system, partner });
        }
    }

    /// Publishes the states of all members in the stats segment.
    pub(crate) fn publish_gauges(&self, world: &World) {
        let all: Vec<_> = {
            let members = self.members();
            let of = |(sw_if, member): (&SwIfIndex, &Member)| {
                let port = &member.port;
                [("state", port.actor.state), ("partner-state", port.partner.state)].map(|(what, state)| {
                    (format!("{}/{}/{what}", member.bond.0, sw_if.0), u64::from(state.0))
                })
            };
            members.iter().flat_map(of).collect()
        };
        let mut last = self.gauges.lock().expect("no panic inside");
        if *last != all {
            world.stats.set_gauges("/if/lacp/", &all);
            *last = all;
        }
    }
}

/// This end of a member's link.
fn actor(world: &World, member: &MemberInfo, port: u16) -> Party {
    let system = world.get::<Interfaces>().get(member.bond).map(|bond| bond.mac).unwrap_or_default();
    let state = State::AGGREGATION
        .put(State::ACTIVITY, !member.passive)
        .put(State::SHORT_TIMEOUT, !member.long_timeout);
    Party {
        system_priority: SYSTEM_PRIORITY,
        system,
        // 16 bits on the wire; two bonds that have them in common differ in their addresses.
        key: member.bond.0 as u16,
        port_priority: PORT_PRIORITY,
        port,
        state,
    }
}

/// A member has joined a bond in mode `lacp`.
pub fn joined(world: &World, member: &MemberInfo) {
    let ports = world.get::<Ports>();
    {
        let mut members = ports.members();
        // The first number that is free in the bond.
        let taken =
            |n: &u16| members.values().any(|other| other.bond == member.bond && other.port.actor.port == *n);
        let number = (1..=u16::MAX).find(|n| !taken(n)).unwrap_or(u16::MAX);
        let new = Member {
            bond: member.bond,
            port: Port::new(actor(world, member, number)),
            received: Arc::new(Mailbox::new(WAITING, world.processes.waker().clone())),
            debug: false,
            stage: Stage::Idle,
        };
        ports.listen(member.sw_if, &new, None);
        members.insert(member.sw_if, new);
    }
    ports.publish_gauges(world);
    ports.signal.raise();
}

/// A member has left its bond.
pub fn left(world: &World, sw_if: SwIfIndex) {
    world.get::<Ports>().remove(world, sw_if);
}

impl Status {
    /// Whether something is known of the partner.
    pub fn has_partner(&self) -> bool {
        matches!(self.port.rx, Rx::Current | Rx::Expired) && !self.port.partner.system.is_zero()
    }
}

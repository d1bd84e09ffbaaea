// SPDX-License-Identifier: Apache-2.0
//! Members that run LACP: their control state, and the copy of it for workers.

use crate::machine::{Port, Rx};
use crate::pdu::{Lag, Participant, Pdu, State};
use bond::MemberInfo;
use graph::{Deleted, Shared, Signal, SwIfIndex, World};
use net::Interfaces;
use stats::Gauge;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Mailbox, Slots, TokenBucket, Turn};
use wire::MacAddr;

/// Data units of one member that wait for control at most.
pub const WAITING: usize = 8;
/// Priorities of this system and its ports: the lowest, so that the partner decides where one has
/// to (IEEE 802.1AX-2014 6.3.2, 6.3.4).
const SYSTEM_PRIORITY: u16 = 0xffff;
const PORT_PRIORITY: u16 = 0xff;

/// A member.
pub struct Member {
    pub sw_if: SwIfIndex,
    pub port: Port,
    /// Data units queued for control. Each member has its own queue, so that no member fills
    /// another's.
    pub received: Arc<Mailbox<Pdu>>,
    /// Limits the rate at which control reads them.
    pub bucket: TokenBucket,
    /// Data units sent and received are logged.
    pub debug: bool,
    /// Gauges of the states of both ends.
    pub gauges: [Gauge; 2],
}

/// A bond in mode `lacp`.
#[derive(Default)]
pub struct Group {
    /// Its members, by port number.
    pub members: BTreeMap<u16, Member>,
    /// The first time at which a machine of its members has to run; 0 for now.
    pub timer: Option<u64>,
}

/// All bonds in mode `lacp` that have members.
#[derive(Default)]
pub struct Table {
    /// By bond.
    pub groups: BTreeMap<SwIfIndex, Group>,
    /// The bond and the port number of each member.
    pub members: BTreeMap<SwIfIndex, (SwIfIndex, u16)>,
}

impl Table {
    fn member_mut(&mut self, sw_if: SwIfIndex) -> Option<&mut Member> {
        let (bond, number) = self.members.get(&sw_if)?;
        self.groups.get_mut(bond)?.members.get_mut(number)
    }

    fn remove(&mut self, sw_if: SwIfIndex) -> Option<SwIfIndex> {
        let (bond, number) = self.members.remove(&sw_if)?;
        let group = self.groups.get_mut(&bond)?;
        group.members.remove(&number);
        group.timer = Some(0);
        if group.members.is_empty() {
            self.groups.remove(&bond);
        }
        Some(bond)
    }
}

/// The part of a member that workers read.
#[derive(Clone, Debug)]
pub struct Listener {
    pub received: Arc<Mailbox<Pdu>>,
    /// This system.
    pub system: MacAddr,
    /// The bond's partner.
    pub partner: Option<Lag>,
}

/// State of a member, for commands and messages.
#[derive(Clone, Debug)]
pub struct Status {
    pub sw_if: SwIfIndex,
    pub bond: SwIfIndex,
    pub port: Port,
}

/// All members that run LACP.
pub struct Ports {
    table: Mutex<Table>,
    listeners: Slots<Listener>,
    pub(crate) signal: Signal,
}

impl Shared for Ports {
    fn make(world: &World) -> Self {
        Self {
            table: Mutex::default(),
            listeners: Slots::new(world.qsbr.clone()),
            signal: world.processes.signal(),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(sw_if) = deleted.of::<SwIfIndex>() {
            self.remove(world, *sw_if);
        }
    }
}

impl Ports {
    pub(crate) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("no panic inside")
    }

    /// The listener of an interface; `None` if LACP isn't enabled there.
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
        let table = self.table();
        let status = |(sw_if, (bond, number)): (&SwIfIndex, &(SwIfIndex, u16))| {
            let member = table.groups.get(bond)?.members.get(number)?;
            Some(Status { sw_if: *sw_if, bond: *bond, port: member.port.clone() })
        };
        table.members.iter().filter_map(status).collect()
    }

    /// Enables or disables the log of a member's data units. False if it runs no LACP.
    pub fn set_debug(&self, sw_if: SwIfIndex, on: bool) -> bool {
        self.table().member_mut(sw_if).map(|member| member.debug = on).is_some()
    }

    fn remove(&self, world: &World, sw_if: SwIfIndex) {
        let removed = self.table().remove(sw_if);
        if let Some(bond) = removed {
            self.listeners.clear(sw_if.0);
            gauge_names(bond, sw_if).iter().for_each(|name| _ = world.stats.remove_gauge(name));
            self.signal.raise();
        }
    }

    /// Publishes to workers this system and the partner of a member's bond.
    pub(crate) fn listen(&self, member: &Member, partner: Option<Lag>) {
        let (sw_if, system) = (member.sw_if.0, member.port.actor.system);
        let is_same = |old: Option<&Listener>| {
            old.is_some_and(|old| (old.system, old.partner) == (system, partner))
        };
        if !self.listeners.read(sw_if, is_same) {
            self.listeners
                .set(sw_if, Listener { received: member.received.clone(), system, partner });
        }
    }
}

/// Names of the gauges of a member's states: of this end and of the partner.
fn gauge_names(bond: SwIfIndex, member: SwIfIndex) -> [String; 2] {
    ["state", "partner-state"].map(|state| format!("/if/lacp/{}/{}/{state}", bond.0, member.0))
}

/// This end of a member's link.
fn actor(world: &World, member: &MemberInfo, port: u16) -> Participant {
    let system =
        world.get::<Interfaces>().get(member.bond).map(|bond| bond.mac).unwrap_or_default();
    let mut state = State::AGGREGATION;
    state.set(State::ACTIVITY, !member.passive);
    state.set(State::SHORT_TIMEOUT, !member.long_timeout);
    Participant {
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
        let mut table = ports.table();
        let Table { groups, members } = &mut *table;
        let group = groups.entry(member.bond).or_default();
        // The first number that is free in the bond.
        let mut taken = group.members.keys().copied();
        let Some(number) = (1..=u16::MAX).find(|number| taken.next() != Some(*number)) else {
            return log::warn!(
                "interface {}: LACP numbers no more ports of its bond",
                member.sw_if
            );
        };
        let new = Member {
            sw_if: member.sw_if,
            port: Port::new(actor(world, member, number)),
            received: Arc::new(Mailbox::new(WAITING, world.processes.waker().clone())),
            bucket: TokenBucket::default(),
            debug: false,
            gauges: gauge_names(member.bond, member.sw_if).map(|name| world.stats.gauge(&name)),
        };
        new.publish_gauges();
        ports.listen(&new, None);
        group.members.insert(number, new);
        group.timer = Some(0);
        members.insert(member.sw_if, (member.bond, number));
    }
    ports.signal.raise();
}

/// A member has left its bond.
pub fn left(world: &World, sw_if: SwIfIndex) {
    world.get::<Ports>().remove(world, sw_if);
}

impl Member {
    /// Publishes the states of both ends in the stats segment.
    pub fn publish_gauges(&self) {
        let states = [self.port.actor.state, self.port.partner.state];
        self.gauges.iter().zip(states).for_each(|(gauge, state)| gauge.set(state.bits().into()));
    }
}

impl Status {
    /// Returns true if the partner is known.
    pub fn has_partner(&self) -> bool {
        matches!(self.port.rx, Rx::Current | Rx::Expired) && !self.port.partner.system.is_zero()
    }
}

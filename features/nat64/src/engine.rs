// SPDX-License-Identifier: Apache-2.0
//! Common parts of both directions: the state of a thread's nodes, the outcome for a packet.

use crate::flows::{AllFlows, Flows};
use crate::key::End;
use crate::packet::{Fault, Packet};
use crate::session::kind;
use crate::settings::{Settings, Statics};
use crate::state::{Counters, DROPS, Lanes, Nat};
use buffer::{Buffer, Field, Flags};
use graph::{ThreadIndex, World};
use ip::{Ip, table_of};
use net::{Addresses, AdjKind, Adjacencies, Fib, Interfaces, L4, TableIndex};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use sync::Turn;
use wire::{Family, Ip4, Ip6, IpProtocol};

/// Steps from a route to the interface that packets leave by.
const STEPS: u32 = 8;

/// The place of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Packets of users to the world.
    In2Out,
    /// Packets of the world to users.
    Out2In,
    /// Packets of users to the address of another user, as packets of the world.
    Hairpin,
}

/// The reason for a packet's drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Something that has no counterpart in the other version.
    Protocol,
    /// Nothing maps it.
    NoTranslation,
    /// It can't be read or written.
    Unknown,
    /// No port or address is left.
    OutOfPorts,
    /// There are too many bindings.
    TooManyBindings,
    /// There are too many sessions.
    TooManySessions,
}

impl From<Fault> for Reason {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Malformed => Self::Unknown,
            Fault::Protocol => Self::Protocol,
        }
    }
}

/// The outcome for a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was translated; the protocol is counted.
    Translated(IpProtocol),
    /// It was translated, and goes to another user.
    Hairpin(IpProtocol),
    /// It was translated, and is too long to leave in one piece.
    TooLong(IpProtocol),
    /// It goes on as it is.
    Passed,
    /// The slow path decides.
    Slow,
    /// The sender gets an error of this type, code and last word.
    Error(u8, u8, u32),
    /// The packet is dropped, for this reason.
    Drop(Reason),
}

/// The state of a thread's nodes.
pub struct Engine {
    pub nat: Arc<Nat>,
    pub flows: Arc<AllFlows>,
    pub thread: ThreadIndex,
    fib4: Arc<Fib<Ip4>>,
    fib6: Arc<Fib<Ip6>>,
    adjacencies: Arc<Adjacencies>,
    addresses: Arc<Addresses<Ip6>>,
    interfaces: Arc<Interfaces>,
    l4: Field<L4>,
    lanes: Lanes,
}

impl Engine {
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self {
            nat: world.get(),
            flows: world.get(),
            thread,
            fib4: world.get(),
            fib6: world.get(),
            adjacencies: world.get(),
            addresses: world.get(),
            interfaces: world.get(),
            l4: world.field(),
            lanes: world.get::<Counters>().lanes(thread),
        }
    }

    /// The ports of a fragment's datagram.
    #[inline(always)]
    pub fn l4(&self, b: &Buffer) -> Option<L4> {
        b.find_field(self.l4)
    }

    /// Notes what became of a translated packet's upper layer, for those that read it there.
    #[inline(always)]
    pub fn note_l4(&self, b: &mut Buffer, change: impl FnOnce(&mut L4)) {
        if let Some(mut l4) = self.l4(b) {
            change(&mut l4);
            b.set_field(self.l4, l4);
        }
    }

    /// Index of the table that a packet came in by.
    #[inline(always)]
    pub fn table<F: Ip>(&self, b: &Buffer, turn: &Turn<'_>) -> u32 {
        table_of::<F>(b, self.interfaces.views(turn)).0
    }

    /// Index of an interface's table.
    pub fn table_of_interface<F: Ip>(&self, sw_if: u32, turn: &Turn<'_>) -> u32 {
        self.interfaces.views(turn).get(sw_if as usize).map_or(0, |view| F::table_of(&view).0)
    }

    /// True for an address of an interface.
    pub fn is_own(&self, sw_if: u32, addr: Ipv6Addr, turn: &Turn<'_>) -> bool {
        self.addresses.of(sw_if, turn).iter().any(|own| own.addr() == addr)
    }

    /// The MTU of the link that packets to an address leave by.
    #[inline(never)]
    pub fn mtu4(&self, table: u32, addr: Ipv4Addr, turn: &Turn<'_>) -> Option<u16> {
        self.mtu(&self.fib4, table, addr, turn)
    }

    /// The same for IPv6.
    #[inline(never)]
    pub fn mtu6(&self, table: u32, addr: Ipv6Addr, turn: &Turn<'_>) -> Option<u16> {
        self.mtu(&self.fib6, table, addr, turn)
    }

    fn mtu<F: Ip>(
        &self,
        fib: &Fib<F>,
        table: u32,
        addr: <F as Family>::Addr,
        turn: &Turn<'_>,
    ) -> Option<u16> {
        let mut adj = fib.adj(TableIndex(table), addr, turn);
        for step in 0..STEPS {
            let found = self.adjacencies.get(adj?, turn)?;
            adj = match found.kind {
                AdjKind::LoadBalance => self.adjacencies.select(found, 0, step, turn),
                AdjKind::Lookup => fib.adj(TableIndex(found.table), addr, turn),
                AdjKind::Receive => return None,
                kind => return kind.forwards().then_some(found.mtu),
            };
        }
        None
    }

    /// Runs a packet through the thread's bindings and sessions.
    #[inline(always)]
    pub fn work(
        &self,
        b: &mut Buffer,
        (now, turn): (u64, &Turn<'_>),
        f: impl FnOnce(&mut Work<'_, '_>, &mut Buffer) -> Outcome,
    ) -> Outcome {
        let settings = self.nat.settings(turn);
        if !settings.enabled {
            return Outcome::Passed;
        }
        let statics = self.nat.statics(turn);
        let Some(mut flows) = self.flows.of(self.thread, turn) else {
            return Outcome::Drop(Reason::Unknown);
        };
        let flows = &mut *flows;
        f(&mut Work { engine: self, flows, settings, statics, now, turn }, b)
    }

    /// Counts what became of a packet.
    #[inline(always)]
    pub fn count(&self, place: Place, b: &Buffer, outcome: Outcome) {
        let inward = place == Place::Out2In;
        match outcome {
            // A packet to another user counts once, as it comes in.
            Outcome::Translated(_) | Outcome::TooLong(_) if place == Place::Hairpin => {}
            Outcome::Translated(protocol)
            | Outcome::Hairpin(protocol)
            | Outcome::TooLong(protocol) => self.lanes.count(inward, kind(protocol), b.rx_if),
            Outcome::Drop(_) => self.lanes.count(inward, DROPS, b.rx_if),
            Outcome::Passed | Outcome::Slow | Outcome::Error(..) => {}
        }
    }

    /// Ends sessions whose time has ended. Returns true if there are more.
    pub fn tick(&self, (now, turn): (u64, &Turn<'_>)) -> bool {
        let Some(mut flows) = self.flows.of(self.thread, turn) else { return false };
        flows.expire(now, crate::flows::AT_A_TICK)
    }

    /// The thread that has the sessions of a user's packet, if it is to be translated.
    pub fn owner_of_user(&self, b: &Buffer, turn: &Turn<'_>) -> Option<u16> {
        let settings = self.nat.settings(turn);
        let p = Packet::<Ipv6Addr>::read(b.data(), self.l4(b), false).ok()?;
        let fib = self.table::<Ip6>(b, turn);
        settings.prefix_of(fib).extract(p.to)?;
        let quoted = if p.is_error() { quoted6(b, &p) } else { None };
        Some(settings.thread_of_user(quoted.map_or(p.from, |q| q.to)))
    }

    /// The thread that has the binding that a packet of the world goes to.
    pub fn owner_of_end(&self, b: &Buffer, turn: &Turn<'_>) -> Option<u16> {
        let (settings, statics) = (self.nat.settings(turn), self.nat.statics(turn));
        let p = Packet::<Ipv4Addr>::read(b.data(), self.l4(b), false).ok()?;
        let quoted = if p.is_error() { quoted4(b, &p) } else { None };
        let (end, protocol) =
            quoted.map_or((p.destination(), p.protocol), |q| (q.source(), q.protocol));
        settings.thread_of_end(statics, end, protocol)
    }
}

/// The packet that an error quotes, if it has the ports that its protocol needs.
pub fn quoted6(b: &Buffer, p: &Packet<Ipv6Addr>) -> Option<Packet<Ipv6Addr>> {
    let bytes = b.data().get(p.upper + crate::icmp::ICMP..)?;
    Packet::<Ipv6Addr>::read(bytes, None, true).ok()
}

/// The same for IPv4.
pub fn quoted4(b: &Buffer, p: &Packet<Ipv4Addr>) -> Option<Packet<Ipv4Addr>> {
    let bytes = b.data().get(p.upper + crate::icmp::ICMP..)?;
    Packet::<Ipv4Addr>::read(bytes, None, true).ok()
}

/// The work on one packet.
pub struct Work<'a, 't> {
    pub engine: &'a Engine,
    pub flows: &'a mut Flows,
    pub settings: &'a Settings,
    pub statics: &'a Statics,
    pub now: u64,
    pub turn: &'a Turn<'t>,
}

impl Work<'_, '_> {
    /// True for an address that the world sees of users.
    #[inline(always)]
    pub fn is_ours(&self, addr: Ipv4Addr) -> bool {
        self.settings.of_pool(addr).is_some() || self.statics.has(addr)
    }

    /// Has the packet looked up in a table.
    #[inline(always)]
    pub fn look_up_in(&self, b: &mut Buffer, fib: u32) {
        b.tx_if = fib;
        b.flags.insert(Flags::TABLE);
    }
}

/// The end of the world in a session's keys: a query of ICMP has no port there.
#[inline(always)]
pub fn remote(addr: Ipv4Addr, port: u16, protocol: IpProtocol) -> End {
    End::new(addr, if protocol == IpProtocol::ICMP { 0 } else { port })
}

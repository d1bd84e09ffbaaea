// SPDX-License-Identifier: Apache-2.0
//! The state of encapsulations and ports: the control thread's, and the part that workers read.

use crate::decap::Decap;
use cli::{Error, Result, retval};
use graph::{Shared, World, name_of};
use net::{Link, ObjectType, Objects, Tracked};
use stats::Combined;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};
use wire::{Family, Ip4, Ip6, IpProtocol, Ipv4Header, Ipv6Header};

/// Maximum number of encapsulations.
const MOST: u32 = 1 << 20;
/// Deleted encapsulations that one call looks at.
const LOOKS: usize = 64;

/// An encapsulation as a client configures it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Encapsulation {
    /// The source address of datagrams.
    pub source: IpAddr,
    /// Their destination, of the same protocol.
    pub destination: IpAddr,
    /// Their source port; 0 derives it from the flow of the packet inside.
    pub source_port: u16,
    /// Their destination port.
    pub destination_port: u16,
    /// Id of the table that they are routed in.
    pub table: u32,
}

/// Writes the arguments of `udp encap add`.
impl fmt::Display for Encapsulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, destination, source_port, destination_port, table } = self;
        write!(f, "{source} {destination}")?;
        match source_port {
            0 => write!(f, " {destination_port} src-port-is-entropy")?,
            port => write!(f, " {port} {destination_port}")?,
        }
        if *table != 0 { write!(f, " table-id {table}") } else { Ok(()) }
    }
}

/// The outer IP header, without its length fields.
#[derive(Clone, Copy)]
pub enum Outer {
    /// Of IPv4.
    V4(Ipv4Header),
    /// Of IPv6.
    V6(Ipv6Header),
}

/// The part of an encapsulation that workers read.
pub struct WorkerEncap {
    pub outer: Outer,
    /// 0 derives it from the flow of the packet inside.
    pub source_port: u16,
    pub destination_port: u16,
    /// The route to the destination.
    pub route: Tracked,
}

/// The protocol of the packets that the datagrams to a port carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PayloadProtocol {
    /// IPv4 packets.
    Ip4,
    /// IPv6 packets.
    Ip6,
}

impl PayloadProtocol {
    /// The word for the protocol in commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ip4 => "ip4",
            Self::Ip6 => "ip6",
        }
    }
}

struct Entry {
    encap: Encapsulation,
    route: Tracked,
}

#[derive(Default)]
struct Inner {
    encaps: BTreeMap<u32, Entry>,
    /// All numbers below this one are in use.
    first_free: u32,
    /// Encapsulations that a client has deleted and that routes still lead to.
    deleted: BTreeSet<u32>,
    /// The first number that [`Inner::next_deleted`] returns next.
    looked_at: u32,
    /// Ports whose datagrams carry packets. The key is whether the port is one of IPv6, and its
    /// number.
    ports: BTreeMap<(bool, u16), PayloadProtocol>,
}

impl Inner {
    /// Returns the least number that is free, or the one that was asked for.
    fn choose(&mut self, id: Option<u32>) -> Result<u32> {
        while self.encaps.contains_key(&self.first_free) {
            self.first_free += 1;
        }
        let id = id.unwrap_or(self.first_free);
        if id >= MOST {
            let why = format!("at most {MOST} encapsulations, numbered from 0");
            return Err(Error::limit(why).retval(retval::LIMIT_EXCEEDED));
        }
        if self.encaps.contains_key(&id) && !self.deleted.contains(&id) {
            let why = format!("there is an encapsulation {id}: delete it first");
            return Err(Error::failed(why).retval(retval::VALUE_EXIST));
        }
        Ok(id)
    }

    /// Returns some deleted encapsulations: the next ones in each call, so that a call takes the
    /// same time however many there are.
    fn next_deleted(&mut self) -> Vec<u32> {
        let behind =
            self.deleted.range(self.looked_at..).chain(self.deleted.range(..self.looked_at));
        let some: Vec<u32> = behind.take(LOOKS).copied().collect();
        self.looked_at = some.last().map_or(0, |id| id + 1);
        some
    }

    /// Removes an encapsulation and returns the route that it followed.
    fn remove(&mut self, id: u32) -> Option<Tracked> {
        self.deleted.remove(&id);
        self.first_free = self.first_free.min(id);
        self.encaps.remove(&id).map(|entry| entry.route)
    }
}

/// All encapsulations and ports.
pub struct Udp {
    inner: Mutex<Inner>,
    work: Slots<WorkerEncap>,
    /// `/net/udp-encap`: packets and bytes that were put into datagrams, by encapsulation.
    pub counters: Arc<Combined>,
}

impl Shared for Udp {
    fn make(world: &World) -> Self {
        Self {
            inner: Mutex::default(),
            work: Slots::new(world.qsbr.clone()),
            counters: world.stats.combined("/net/udp-encap"),
        }
    }
}

fn none(id: u32) -> Error {
    Error::not_found(format!("there is no encapsulation {id}")).retval(retval::NO_SUCH_ENTRY)
}

impl Udp {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// Returns the part of an encapsulation that workers read.
    #[inline(always)]
    pub fn work<'t>(&'t self, id: u32, turn: &'t Turn<'_>) -> Option<&'t WorkerEncap> {
        self.work.get(id, turn)
    }

    /// Creates an encapsulation with the number `id`, or with the least free number. If routes
    /// still lead to a deleted encapsulation with that number, they lead to the new one.
    ///
    /// # Errors
    /// Addresses of two protocols (−153) or of no host, a destination port 0 (−7); a table that
    /// isn't there (−65); a number that is taken (−81) or too high, or all numbers taken
    /// (−162).
    pub fn add(&self, world: &World, id: Option<u32>, encap: Encapsulation) -> Result<u32> {
        self.reap(world);
        if encap.source.is_multicast() || encap.source.is_unspecified() {
            let why = format!("{} is no address to send from", encap.source);
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        if encap.destination_port == 0 {
            return Err(
                Error::parse("the destination port can't be 0").retval(retval::INVALID_VALUE)
            );
        }
        if encap.source.is_ipv4() != encap.destination.is_ipv4() {
            let why = "source and destination are of two protocols";
            return Err(Error::parse(why).retval(retval::INVALID_PROTOCOL));
        }
        let id = self.inner().choose(id)?;
        let no_table =
            |e: Error| if e.is(retval::NO_SUCH_FIB) { e.retval(retval::NO_SUCH_TABLE) } else { e };
        let route = Tracked::new(world, encap.table, encap.destination).map_err(no_table)?;
        let outer = match (encap.source, encap.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Outer::V4(Ipv4Header {
                ttl: 254,
                ..Ipv4Header::new(source, destination, IpProtocol::UDP, 0)
            }),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Outer::V6(Ipv6Header {
                hop_limit: 254,
                ..Ipv6Header::new(source, destination, IpProtocol::UDP, 0)
            }),
            _ => unreachable!("the addresses are of one protocol"),
        };
        let Encapsulation { source_port, destination_port, .. } = encap;
        self.counters.start(id as usize);
        drop(world.zero_counters(vec![self.counters.vector()], Some(id as usize)));
        self.work.set(id, WorkerEncap { outer, source_port, destination_port, route });
        let old = {
            let mut inner = self.inner();
            inner.deleted.remove(&id);
            inner.encaps.insert(id, Entry { encap, route })
        };
        Objects::refresh(world, &ENCAPSULATION, id);
        if let Some(old) = old {
            old.route.release(world);
        }
        Ok(id)
    }

    /// Deletes an encapsulation. Routes that lead to it go on.
    ///
    /// # Errors
    /// One that isn't there (−6).
    pub fn delete(&self, world: &World, id: u32) -> Result<()> {
        self.reap(world);
        let mut inner = self.inner();
        if !inner.encaps.contains_key(&id) || !inner.deleted.insert(id) {
            return Err(none(id));
        }
        inner.looked_at = id;
        drop(inner);
        self.reap(world);
        Ok(())
    }

    /// Frees encapsulations that clients have deleted and that no route leads to any more: looks at
    /// some of them in each call.
    fn reap(&self, world: &World) {
        let deleted = self.inner().next_deleted();
        for id in deleted.into_iter().filter(|id| !Objects::is_used(world, &ENCAPSULATION, *id)) {
            if let Some(route) = self.inner().remove(id) {
                self.work.clear(id);
                route.release(world);
            }
        }
    }

    /// Returns an encapsulation, including a deleted one that routes still lead to.
    ///
    /// # Errors
    /// There is none (−6).
    pub fn find(&self, id: u32) -> Result<Encapsulation> {
        self.inner().encaps.get(&id).map(|entry| entry.encap).ok_or_else(|| none(id))
    }

    /// Returns the route of an encapsulation's datagrams.
    pub fn route(&self, id: u32) -> Option<Tracked> {
        self.inner().encaps.get(&id).map(|entry| entry.route)
    }

    /// Returns all encapsulations by number, without deleted ones.
    pub fn list(&self) -> Vec<(u32, Encapsulation)> {
        let inner = self.inner();
        inner
            .encaps
            .iter()
            .filter(|(id, _)| !inner.deleted.contains(id))
            .map(|(id, e)| (*id, e.encap))
            .collect()
    }

    /// Takes packets out of the datagrams to a port.
    ///
    /// # Errors
    /// A port that is taken (−164).
    pub fn add_port<F: Family>(
        &self,
        world: &World,
        port: u16,
        inside: PayloadProtocol,
    ) -> Result<()> {
        let node = match inside {
            PayloadProtocol::Ip4 => name_of::<Decap<Ip4>>(),
            PayloadProtocol::Ip6 => name_of::<Decap<Ip6>>(),
        };
        let taken = |why| Error::failed(why).retval(retval::UDP_PORT_TAKEN);
        ip::register_udp_port::<F>(world, port, node).map_err(taken)?;
        self.inner().ports.insert((F::IS_V6, port), inside);
        Ok(())
    }

    /// Stops to take packets out of the datagrams to a port.
    ///
    /// # Errors
    /// A port whose datagrams carry none (−6).
    pub fn remove_port<F: Family>(&self, world: &World, port: u16) -> Result<()> {
        let known = self.inner().ports.remove(&(F::IS_V6, port));
        known.ok_or_else(|| {
            let why = format!("datagrams of IPv{} to port {port} carry no packets", F::VERSION);
            Error::not_found(why).retval(retval::NO_SUCH_ENTRY)
        })?;
        ip::unregister_udp_port::<F>(world, port);
        Ok(())
    }

    /// Returns all ports: whether of IPv6, the number, and the protocol of the packets inside.
    pub fn ports(&self) -> Vec<(bool, u16, PayloadProtocol)> {
        self.inner().ports.iter().map(|((is_v6, port), inside)| (*is_v6, *port, *inside)).collect()
    }
}

/// The objects of paths `udp-encap N`.
pub static ENCAPSULATION: ObjectType = ObjectType {
    name: "udp-encap",
    words: "udp-encap",
    node: |world, link, id| {
        let outer_v6 = world.get::<Udp>().find(id)?.source.is_ipv6();
        if !matches!(link, Link::IP4 | Link::IP6) {
            return Err(Error::unsupported("UDP encapsulations take IP packets"));
        }
        let name = name(link == Link::IP6, outer_v6);
        world.node(name).ok_or_else(|| Error::unsupported(format!("the node {name} isn't there")))
    },
    describe: |world, id| {
        world.get::<Udp>().find(id).map_or_else(|e| e.to_string(), |encap| format!("{id} {encap}"))
    },
    over: |world, id| world.get::<Udp>().route(id),
    ..ObjectType::PLAIN
};

/// The node for packets of IPv6, or IPv4, in datagrams of IPv6, or IPv4.
pub const fn name(inner_v6: bool, outer_v6: bool) -> &'static str {
    match (inner_v6, outer_v6) {
        (false, false) => "udp4o4-encap",
        (true, false) => "udp6o4-encap",
        (false, true) => "udp4o6-encap",
        (true, true) => "udp6o6-encap",
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Encapsulations and ports: what control keeps, and what workers read of it.

use crate::decap::Decap;
use crate::encap::ENCAPSULATION;
use cli::{Error, Result, retval};
use graph::{Shared, World, name_of};
use net::{Adjacencies, Extension, Fib, Net, TableIndex, Tracked};
use stats::Combined;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};
use wire::{Family, Ip4, Ip6, IpProtocol, Ipv4Header, Ipv6Header};

/// Encapsulations at most.
const MOST: u32 = 1 << 20;

/// An encapsulation, as clients ask for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Encapsulation {
    /// The source address of datagrams.
    pub source: IpAddr,
    /// Their destination, of the same protocol.
    pub destination: IpAddr,
    /// Their source port; 0 for one that follows from the flow inside.
    pub source_port: u16,
    /// Their destination port.
    pub destination_port: u16,
    /// The table that they are routed in, by its id.
    pub table: u32,
}

/// As the words of the command that makes it.
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

/// The outer IP header, but for its lengths.
#[derive(Clone, Copy)]
pub enum Outer {
    /// Of IPv4.
    V4(Ipv4Header),
    /// Of IPv6.
    V6(Ipv6Header),
}

/// What workers know of an encapsulation.
pub struct Work {
    pub outer: Outer,
    /// 0 for one that follows from the flow inside.
    pub source_port: u16,
    pub destination_port: u16,
    /// The way to the destination, and the table that it is in.
    pub way: Tracked,
    pub table: TableIndex,
}

/// What datagrams to a port carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inside {
    /// IPv4 packets.
    Ip4,
    /// IPv6 packets.
    Ip6,
}

impl Inside {
    /// The word for it in commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ip4 => "ip4",
            Self::Ip6 => "ip6",
        }
    }
}

struct Entry {
    encap: Encapsulation,
    way: Tracked,
    /// A client has deleted it; it goes on as long as routes lead to it.
    is_deleted: bool,
}

#[derive(Default)]
struct Inner {
    encaps: BTreeMap<u32, Entry>,
    /// By whether the port is one of IPv6, and its number.
    ports: BTreeMap<(bool, u16), Inside>,
}

/// All encapsulations and ports.
pub struct Udp {
    inner: Mutex<Inner>,
    work: Slots<Work>,
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

/// The way to the destination, and the outer header. Its TTL is VPP's.
fn track<F: Net>(world: &World, encap: &Encapsulation) -> Result<(TableIndex, Tracked)> {
    let no_table = |e: Error| e.retval(retval::NO_SUCH_TABLE);
    let fib = world.get::<Fib<F>>();
    let table = fib.find_table(encap.table).map_err(no_table)?;
    let other =
        || Error::parse("source and destination are of two protocols").retval(retval::INVALID_PROTOCOL);
    let destination = F::of_ip(encap.destination).ok_or_else(other)?;
    Ok((table, fib.track(world, table, destination)?))
}

fn untrack(world: &World, way: Tracked) {
    world.get::<Fib<Ip4>>().untrack(world, way);
    world.get::<Fib<Ip6>>().untrack(world, way);
}

fn none(id: u32) -> Error {
    Error::not_found(format!("there is no encapsulation {id}")).retval(retval::NO_SUCH_ENTRY)
}

impl Udp {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// What a worker needs of an encapsulation.
    #[inline(always)]
    pub fn work<'t>(&'t self, id: u32, turn: &'t Turn<'_>) -> Option<&'t Work> {
        self.work.get(id, turn)
    }

    /// Makes an encapsulation, with the least number that is free, or this one. One that was deleted while routes lead to it is
    /// replaced: they lead to the new one.
    ///
    /// # Errors
    /// Addresses of two protocols (−153) or of no host, a destination port 0 (−7); a table that isn't there (−65); a number that is
    /// taken (−81) or too high, or no number free (−162).
    pub fn add(&self, world: &World, id: Option<u32>, encap: Encapsulation) -> Result<u32> {
        self.reap(world);
        if encap.source.is_multicast() || encap.source.is_unspecified() {
            let why = format!("{} is no address to send from", encap.source);
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        if encap.destination_port == 0 {
            return Err(Error::parse("the destination port can't be 0").retval(retval::INVALID_VALUE));
        }
        let id = {
            let inner = self.inner();
            let free = || (0..MOST).find(|id| !inner.encaps.contains_key(id));
            let id = id.or_else(free).filter(|id| *id < MOST);
            let id = id.ok_or_else(|| {
                Error::limit(format!("at most {MOST} encapsulations")).retval(retval::LIMIT_EXCEEDED)
            })?;
            if inner.encaps.get(&id).is_some_and(|entry| !entry.is_deleted) {
                let why = format!("there is an encapsulation {id}: delete it first");
                return Err(Error::failed(why).retval(retval::VALUE_EXIST));
            }
            id
        };
        let (table, way) = match encap.source {
            IpAddr::V4(_) => track::<Ip4>(world, &encap)?,
            IpAddr::V6(_) => track::<Ip6>(world, &encap)?,
        };
        let outer = match (encap.source, encap.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                Outer::V4(Ipv4Header { ttl: 254, ..Ipv4Header::new(source, destination, IpProtocol::UDP, 0) })
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => Outer::V6(Ipv6Header {
                hop_limit: 254,
                ..Ipv6Header::new(source, destination, IpProtocol::UDP, 0)
            }),
            _ => unreachable!("of one protocol: its destination is tracked"),
        };
        let Encapsulation { source_port, destination_port, .. } = encap;
        self.counters.start(id as usize);
        drop(world.zero_counters(vec![self.counters.vector()], Some(id as usize)));
        self.work.set(id, Work { outer, source_port, destination_port, way, table });
        let old = self.inner().encaps.insert(id, Entry { encap, way, is_deleted: false });
        world.get::<Adjacencies>().refresh_object(world, &ENCAPSULATION, id)?;
        world.get::<Fib<Ip4>>().refresh_object(world, Extension::UdpEncap, id);
        world.get::<Fib<Ip6>>().refresh_object(world, Extension::UdpEncap, id);
        if let Some(old) = old {
            untrack(world, old.way);
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
        let entry = inner.encaps.get_mut(&id).filter(|entry| !entry.is_deleted);
        entry.ok_or_else(|| none(id))?.is_deleted = true;
        drop(inner);
        self.reap(world);
        Ok(())
    }

    /// Lets go of what clients have deleted and no route leads to any more.
    fn reap(&self, world: &World) {
        let deleted: Vec<u32> =
            self.inner().encaps.iter().filter(|(_, e)| e.is_deleted).map(|(id, _)| *id).collect();
        let (fib4, fib6) = (world.get::<Fib<Ip4>>(), world.get::<Fib<Ip6>>());
        let is_named =
            |id| fib4.names_object(Extension::UdpEncap, id) || fib6.names_object(Extension::UdpEncap, id);
        for id in deleted.into_iter().filter(|id| !is_named(*id)) {
            let Some(entry) = self.inner().encaps.remove(&id) else { continue };
            self.work.clear(id);
            untrack(world, entry.way);
        }
    }

    /// An encapsulation that is there, also one that only routes still lead to.
    ///
    /// # Errors
    /// There is none (−6).
    pub fn find(&self, id: u32) -> Result<Encapsulation> {
        self.inner().encaps.get(&id).map(|entry| entry.encap).ok_or_else(|| none(id))
    }

    /// The way of an encapsulation's datagrams.
    pub fn way(&self, id: u32) -> Option<Tracked> {
        self.inner().encaps.get(&id).map(|entry| entry.way)
    }

    /// All encapsulations that no client has deleted, by number.
    pub fn list(&self) -> Vec<(u32, Encapsulation)> {
        let inner = self.inner();
        inner.encaps.iter().filter(|(_, e)| !e.is_deleted).map(|(id, e)| (*id, e.encap)).collect()
    }

    /// Datagrams to a port of ours carry packets from now on.
    ///
    /// # Errors
    /// A port that is taken (−164).
    pub fn add_port<F: Family>(&self, world: &World, port: u16, inside: Inside) -> Result<()> {
        let node = match inside {
            Inside::Ip4 => name_of::<Decap<Ip4>>(),
            Inside::Ip6 => name_of::<Decap<Ip6>>(),
        };
        let taken = |why| Error::failed(why).retval(retval::UDP_PORT_TAKEN);
        ip::register_udp_port::<F>(world, port, node).map_err(taken)?;
        self.inner().ports.insert((F::IS_V6, port), inside);
        Ok(())
    }

    /// They carry none any more.
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

    /// All ports: whether of IPv6, the number, and what their datagrams carry.
    pub fn ports(&self) -> Vec<(bool, u16, Inside)> {
        self.inner().ports.iter().map(|((is_v6, port), inside)| (*is_v6, *port, *inside)).collect()
    }
}

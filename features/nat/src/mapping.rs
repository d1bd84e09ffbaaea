// SPDX-License-Identifier: Apache-2.0
//! Static mappings as workers read them: found by what the world sees and by what users have.

use crate::alias::AliasTable;
use crate::key::End;
use graph::World;
use std::hash::{BuildHasher, RandomState};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use sync::{Slots, Turn};
use tables::{HashIndex, Mixer};
use wire::IpProtocol;

/// A host inside with its table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Local {
    /// The host.
    pub end: End,
    /// Index of its table.
    pub fib: u32,
    /// The thread that has its sessions.
    pub thread: u16,
}

/// The source that hosts of the world get.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Twice {
    /// Their own.
    #[default]
    No,
    /// An address of the pool for that.
    Always,
    /// The same, where the host is the one that the packet goes to.
    ToItself,
}

/// A mapping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// The end that the world sees; without port for all ports.
    pub external: End,
    /// The protocol; 0 for all.
    pub protocol: IpProtocol,
    /// The hosts: one, or those that share the load.
    pub locals: Vec<Local>,
    /// Back ends of each thread that has some: the thread, their numbers, and their weights.
    pub shares: Vec<(u16, Vec<u32>, AliasTable)>,
    /// Packets pass as they are.
    pub identity: bool,
    /// Only packets from the world make sessions.
    pub inward_only: bool,
    /// See [`Twice`].
    pub twice: Twice,
    /// The address that hosts of the world get, if it is a certain one.
    pub twice_address: Option<Ipv4Addr>,
    /// Seconds for which a client is held to its back end; 0 for none.
    pub affinity: u32,
}

impl Mapping {
    /// True if it maps all ports.
    #[inline(always)]
    pub fn is_address_only(&self) -> bool {
        self.protocol.0 == 0
    }

    /// True if it has several back ends.
    #[inline(always)]
    pub fn is_balanced(&self) -> bool {
        !self.shares.is_empty()
    }

    /// The host of a mapping with one, for a port of the world.
    #[inline(always)]
    pub fn local_of(&self, port: u16) -> Option<Local> {
        let local = self.locals.first()?;
        Some(if self.is_address_only() { local.at(port) } else { *local })
    }

    /// The end that the world sees of a user's port.
    #[inline(always)]
    pub fn external_of(&self, port: u16) -> End {
        let port = if self.is_address_only() { port } else { self.external.port };
        End::new(self.external.addr, port)
    }

    /// A back end of a thread, or else of any, by a random number.
    pub fn back_end(&self, thread: u16, random: u64) -> Option<Local> {
        let of_thread = self.shares.iter().find(|(of, ..)| *of == thread);
        let (_, numbers, weights) = of_thread.or(self.shares.first())?;
        let at = numbers.get(weights.pick(random)? as usize)?;
        self.locals.get(*at as usize).copied()
    }

    /// The thread of packets of a client.
    pub fn thread_of(&self, hash: u32) -> Option<u16> {
        if self.is_balanced() {
            return self.shares.get(hash as usize % self.shares.len()).map(|(thread, ..)| *thread);
        }
        self.locals.first().map(|local| local.thread)
    }

    /// Divides the back ends among their threads.
    pub fn share(&mut self, weights: &[u8]) {
        let mut threads: Vec<_> = self.locals.iter().map(|local| local.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let share = |thread: u16| {
            let all = self.locals.iter().enumerate();
            let numbers: Vec<_> =
                all.filter(|(_, of)| of.thread == thread).map(|(at, _)| at as u32).collect();
            let of = |at: &u32| weights.get(*at as usize).copied().unwrap_or(0).into();
            let table = AliasTable::new(&numbers.iter().map(of).collect::<Vec<_>>());
            (thread, numbers, table)
        };
        self.shares = threads.into_iter().map(share).collect();
    }
}

impl Local {
    fn at(self, port: u16) -> Self {
        Self { end: End::new(self.end.addr, port), ..self }
    }
}

/// All mappings.
pub struct Mappings {
    all: Slots<Mapping>,
    external: HashIndex,
    local: HashIndex,
    mixer: Mixer,
    n: AtomicUsize,
}

impl Mappings {
    /// No mappings, of an instance.
    pub fn new(world: &World) -> Self {
        Self {
            all: Slots::new(world.qsbr.clone()),
            external: HashIndex::new(&world.qsbr),
            local: HashIndex::new(&world.qsbr),
            mixer: Mixer::new(RandomState::new().hash_one(0)),
            n: AtomicUsize::new(0),
        }
    }

    #[inline(always)]
    fn hash(&self, end: End, protocol: IpProtocol, fib: u32) -> u32 {
        let place = u64::from(end.addr.to_bits()) << 32 | u64::from(end.port) << 16;
        self.mixer.add(place | u64::from(protocol.0)).add(fib.into()).hash() as u32
    }

    /// True if there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.n.load(Ordering::Relaxed) == 0
    }

    #[inline(always)]
    fn exact_external<'t>(
        &'t self,
        end: End,
        protocol: IpProtocol,
        turn: &'t Turn<'_>,
    ) -> Option<(u32, &'t Mapping)> {
        self.external.find(self.hash(end, protocol, 0), turn, |at| {
            let mapping = self.all.get(at, turn)?;
            (mapping.external == end && mapping.protocol == protocol).then_some((at, mapping))
        })
    }

    /// The mapping of what the world sees: by port, or else of all ports.
    #[inline(always)]
    pub fn by_external<'t>(
        &'t self,
        end: End,
        protocol: IpProtocol,
        turn: &'t Turn<'_>,
    ) -> Option<(u32, &'t Mapping)> {
        if self.is_empty() {
            return None;
        }
        self.by_port(end, protocol, turn)
            .or_else(|| self.exact_external(End::new(end.addr, 0), IpProtocol(0), turn))
    }

    /// The mapping of what the world sees, by port alone.
    #[inline(always)]
    pub fn by_port<'t>(
        &'t self,
        end: End,
        protocol: IpProtocol,
        turn: &'t Turn<'_>,
    ) -> Option<(u32, &'t Mapping)> {
        if self.is_empty() {
            return None;
        }
        self.exact_external(end, protocol, turn)
    }

    #[inline(always)]
    fn exact_local<'t>(
        &'t self,
        end: End,
        protocol: IpProtocol,
        fib: u32,
        turn: &'t Turn<'_>,
    ) -> Option<(u32, &'t Mapping)> {
        self.local.find(self.hash(end, protocol, fib), turn, |at| {
            let mapping = self.all.get(at, turn)?;
            let is_it = |local: &Local| local.end == end && local.fib == fib;
            (mapping.protocol == protocol && mapping.locals.iter().any(is_it))
                .then_some((at, mapping))
        })
    }

    /// The mapping of a user in the first of these tables that has one: by port, or else of all
    /// ports.
    #[inline(always)]
    pub fn by_local<'t>(
        &'t self,
        end: End,
        protocol: IpProtocol,
        fibs: [u32; 3],
        turn: &'t Turn<'_>,
    ) -> Option<(u32, &'t Mapping)> {
        if self.is_empty() {
            return None;
        }
        let whole = End::new(end.addr, 0);
        fibs.iter().find_map(|fib| self.exact_local(end, protocol, *fib, turn)).or_else(|| {
            fibs.iter().find_map(|fib| self.exact_local(whole, IpProtocol(0), *fib, turn))
        })
    }

    /// Control: puts a mapping at a number that has none.
    pub fn insert(&self, at: u32, mapping: Mapping) {
        let external = self.hash(mapping.external, mapping.protocol, 0);
        let locals: Vec<_> = self.hashes(&mapping);
        self.all.set(at, mapping);
        self.external.insert(external, at);
        locals.into_iter().for_each(|hash| self.local.insert(hash, at));
        self.n.fetch_add(1, Ordering::Relaxed);
    }

    /// Control: removes the mapping of a number.
    pub fn remove(&self, at: u32) {
        let mapping = self.all.read(at, |mapping| mapping.cloned());
        let Some(mapping) = mapping else { return };
        let external = self.hash(mapping.external, mapping.protocol, 0);
        self.external.remove(external, at);
        for hash in self.hashes(&mapping) {
            self.local.remove(hash, at);
        }
        self.all.clear(at);
        self.n.fetch_sub(1, Ordering::Relaxed);
    }

    /// Hashes of the hosts, where users' packets are mapped too.
    fn hashes(&self, mapping: &Mapping) -> Vec<u32> {
        let locals = mapping.locals.iter().filter(|_| !mapping.inward_only);
        locals.map(|local| self.hash(local.end, mapping.protocol, local.fib)).collect()
    }
}

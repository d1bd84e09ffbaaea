// SPDX-License-Identifier: Apache-2.0
//! Static mappings as operators configure them: the objects, and how commands read, show and save
//! them.

mod text;

pub use text::{mapping_text, mapping_value, read_host, read_identity, read_twice, write_mappings};

use crate::error;
use crate::key::End;
use crate::mapping::{Mappings, Twice};
use cli::{Result, retval};
use graph::{SwIfIndex, World};
use net::{Addresses, Interfaces};
use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;
use wire::{Ip4, IpProtocol};

/// The address that the world knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum External {
    /// This one.
    Address(Ipv4Addr),
    /// The first one of an interface.
    Interface(SwIfIndex),
}

impl External {
    /// The address, unspecified for that of an interface, and the interface.
    pub fn parts(self) -> (Ipv4Addr, Option<SwIfIndex>) {
        match self {
            Self::Address(addr) => (addr, None),
            Self::Interface(sw_if) => (Ipv4Addr::UNSPECIFIED, Some(sw_if)),
        }
    }
}

/// A host inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalHost {
    /// The host, with its port.
    pub end: End,
    /// Id of its table.
    pub vrf: u32,
    /// Its share of the load.
    pub probability: u8,
}

/// The purpose of a mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MappingKind {
    /// One host has the address, or a port of it.
    Host,
    /// Packets of the address pass as they are.
    Identity,
    /// Several hosts share the load.
    Balanced,
}

/// A mapping as it was configured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StaticMapping {
    /// Its purpose.
    pub kind: MappingKind,
    /// The address that the world knows.
    pub external: External,
    /// Its port; 0 with all ports.
    pub port: u16,
    /// The protocol; 0 with all ports.
    pub protocol: IpProtocol,
    /// The hosts. Without an address, the one of the interface.
    pub locals: Vec<LocalHost>,
    /// The source that hosts of the world get.
    pub twice: Twice,
    /// The address that they get, if it is a certain one.
    pub twice_address: Option<Ipv4Addr>,
    /// Only packets from the world make sessions.
    pub inward_only: bool,
    /// Seconds for which a client is held to its back end; 0 for none.
    pub affinity: u32,
    /// A word of the operator's.
    pub tag: String,
    /// The address of the interface, while it has one.
    pub resolved: Option<Ipv4Addr>,
}

impl StaticMapping {
    /// True if it maps all ports.
    pub fn is_address_only(&self) -> bool {
        self.protocol.0 == 0
    }

    /// The address that the world knows now.
    pub fn address(&self) -> Option<Ipv4Addr> {
        match self.external {
            External::Address(addr) => Some(addr),
            External::Interface(_) => self.resolved,
        }
    }

    /// The hosts, with the interface's address for those without one.
    pub fn hosts(&self) -> Vec<LocalHost> {
        let of = |host: &LocalHost| match self.address() {
            Some(addr) if host.end.addr.is_unspecified() => {
                LocalHost { end: End::new(addr, host.end.port), ..*host }
            }
            _ => *host,
        };
        self.locals.iter().map(of).collect()
    }

    /// Takes the present first address of the mapping's interface, if it is one by that.
    ///
    /// # Errors
    /// No such interface (−2).
    pub fn resolve(&mut self, world: &World) -> Result<()> {
        if let External::Interface(sw_if) = self.external {
            world.get::<Interfaces>().check(sw_if)?;
            let own = world.get::<Addresses<Ip4>>().own(sw_if);
            self.resolved = own.first().map(|own| own.addr());
        }
        Ok(())
    }

    /// The mapping with the present address of its interface, if it is one by that.
    fn with_address(&self) -> Option<Self> {
        let addr = self.address().filter(|_| matches!(self.external, External::Interface(_)))?;
        let external = External::Address(addr);
        Some(Self { external, locals: self.hosts(), ..self.clone() })
    }

    /// The key that it is found by: no two mappings have the same.
    pub fn external_key(&self) -> (Ipv4Addr, Option<SwIfIndex>, u16, u8) {
        let (addr, sw_if) = self.external.parts();
        (addr, sw_if, self.port, self.protocol.0)
    }
}

/// All mappings as they were configured, by number: that of [`Mappings`].
#[derive(Default)]
pub struct Statics {
    all: BTreeMap<u32, StaticMapping>,
    free: Vec<u32>,
    /// Numbers by what the world sees.
    by_external: HashMap<(Ipv4Addr, Option<SwIfIndex>, u16, u8), Vec<u32>>,
    /// Uses of what users have: host, port, protocol, table.
    by_local: HashMap<(End, u8, u32), u32>,
}

impl Statics {
    /// All, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &StaticMapping)> {
        self.all.iter().map(|(number, mapping)| (*number, mapping))
    }

    /// The numbers of all.
    pub fn numbers_of_all(&self) -> Vec<u32> {
        self.all.keys().copied().collect()
    }

    /// The mappings of a kind. One by the address of an interface is there twice: as it was
    /// configured, and with the address that the interface has now.
    pub fn shown(&self, kind: MappingKind) -> Vec<StaticMapping> {
        let all = self.all.values().filter(|mapping| mapping.kind == kind);
        all.flat_map(|mapping| [Some(mapping.clone()), mapping.with_address()]).flatten().collect()
    }

    /// A mapping.
    pub fn get(&self, number: u32) -> Option<&StaticMapping> {
        self.all.get(&number)
    }

    /// Numbers of the mappings of the same end.
    pub fn numbers(&self, mapping: &StaticMapping) -> &[u32] {
        self.by_external.get(&mapping.external_key()).map_or(&[], |numbers| numbers)
    }

    /// Adds a mapping; returns its number.
    pub fn insert(&mut self, mapping: StaticMapping) -> u32 {
        let number = self.free.pop().unwrap_or(self.all.len() as u32);
        self.by_external.entry(mapping.external_key()).or_default().push(number);
        self.count(&mapping, true);
        self.all.insert(number, mapping);
        number
    }

    /// Removes a mapping.
    pub fn remove(&mut self, number: u32) -> Option<StaticMapping> {
        let mapping = self.all.remove(&number)?;
        self.free.push(number);
        let key = mapping.external_key();
        if let Some(numbers) = self.by_external.get_mut(&key) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.by_external.remove(&key);
            }
        }
        self.count(&mapping, false);
        Some(mapping)
    }

    fn count(&mut self, mapping: &StaticMapping, add: bool) {
        for local in mapping.locals.iter().filter(|_| !mapping.inward_only) {
            let key = (local.end, mapping.protocol.0, local.vrf);
            let uses = self.by_local.entry(key).or_default();
            *uses = if add { *uses + 1 } else { uses.saturating_sub(1) };
            if *uses == 0 {
                self.by_local.remove(&key);
            }
        }
    }

    /// The numbers of the mappings with an external end.
    pub fn of_external(&self, external: End, protocol: IpProtocol) -> &[u32] {
        let key = (external.addr, None, external.port, protocol.0);
        self.by_external.get(&key).map_or(&[], |numbers| numbers)
    }

    /// True if a host has a mapping that is for its own packets too.
    fn has_local(&self, mapping: &StaticMapping) -> bool {
        let key = |of: &LocalHost| (of.end, mapping.protocol.0, of.vrf);
        mapping.locals.first().is_some_and(|of| self.by_local.contains_key(&key(of)))
    }

    /// Checks that a mapping has ends of its own; with `local`, that inside too.
    ///
    /// # Errors
    /// One of its ends has a mapping (−81).
    pub fn check_free(&self, mapping: &StaticMapping, local: bool) -> Result<()> {
        let exists = |what: &str| {
            error(retval::VALUE_EXIST, format!("the {what} end has a mapping already"))
        };
        let vrf = |of: &StaticMapping| of.locals.first().map(|local| local.vrf);
        let clashes = |number: &u32| {
            // One address may pass as it is for users of several tables.
            let identities = |there: &StaticMapping| {
                [mapping.kind, there.kind] == [MappingKind::Identity; 2]
                    && vrf(there) != vrf(mapping)
            };
            !self.get(*number).is_some_and(identities)
        };
        if self.numbers(mapping).iter().any(clashes) {
            return Err(exists("external"));
        }
        if local && self.has_local(mapping) { Err(exists("local")) } else { Ok(()) }
    }

    /// The mappings by the address of an interface that have another address than this one.
    pub fn unresolved(&self, sw_if: SwIfIndex, addr: Option<Ipv4Addr>) -> Vec<u32> {
        let mut numbers = self.of_interface(sw_if);
        numbers.retain(|number| self.get(*number).is_some_and(|of| of.resolved != addr));
        numbers
    }

    /// The mappings by the address of an interface.
    pub fn of_interface(&self, sw_if: SwIfIndex) -> Vec<u32> {
        let all = self.iter();
        let of = all.filter(|(_, mapping)| mapping.external == External::Interface(sw_if));
        of.map(|(number, _)| number).collect()
    }

    /// Notes the address that an interface has now.
    pub fn set_resolved(&mut self, number: u32, addr: Option<Ipv4Addr>) {
        if let Some(mapping) = self.all.get_mut(&number) {
            mapping.resolved = addr;
        }
    }

    /// Forgets all.
    pub fn clear(&mut self, published: &Mappings) {
        self.all.keys().for_each(|number| published.remove(*number));
        *self = Self::default();
    }
}

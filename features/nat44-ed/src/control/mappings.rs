// SPDX-License-Identifier: Apache-2.0
//! Static mappings.

use super::{Control, State, error, sessions, source};
use crate::key::End;
use crate::mapping::{Local, Mapping, Mappings, Twice};
use crate::session::SessionFlags;
use crate::settings::Settings;
use crate::state::Nat;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use nat::workers::Workers;
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

    /// The key that it is found by: no two mappings have the same.
    fn external_key(&self) -> (Ipv4Addr, Option<SwIfIndex>, u16, u8) {
        let (addr, sw_if) = self.external.parts();
        (addr, sw_if, self.port, self.protocol.0)
    }

    fn check(&self) -> Result<()> {
        let unsupported = |why| Err(error(retval::UNSUPPORTED, why));
        let twice = self.twice != Twice::No;
        if twice && (self.is_address_only() || self.kind == MappingKind::Identity) {
            return unsupported("twice-nat needs a mapping of a port");
        }
        if self.inward_only && self.kind == MappingKind::Identity {
            return unsupported("an identity mapping is for both directions");
        }
        let invalid = |why: String| Err(error(retval::INVALID_VALUE, why));
        if self.kind == MappingKind::Balanced && self.locals.len() < 2 {
            return invalid("expected two back ends at least".into());
        }
        if self.kind == MappingKind::Balanced
            && !matches!(self.protocol, IpProtocol::TCP | IpProtocol::UDP)
        {
            return invalid("expected tcp or udp for several back ends".into());
        }
        let known = [IpProtocol::TCP, IpProtocol::UDP, IpProtocol::ICMP];
        if !self.is_address_only() && !known.contains(&self.protocol) {
            let number = self.protocol.0;
            return invalid(format!("expected tcp, udp or icmp, not protocol {number}"));
        }
        Ok(())
    }
}

/// All mappings, by number: that of [`Mappings`].
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

    /// A mapping.
    pub fn get(&self, number: u32) -> Option<&StaticMapping> {
        self.all.get(&number)
    }

    fn numbers(&self, mapping: &StaticMapping) -> &[u32] {
        self.by_external.get(&mapping.external_key()).map_or(&[], |numbers| numbers)
    }

    fn insert(&mut self, mapping: StaticMapping) -> u32 {
        let number = self.free.pop().unwrap_or(self.all.len() as u32);
        self.by_external.entry(mapping.external_key()).or_default().push(number);
        self.count(&mapping, true);
        self.all.insert(number, mapping);
        number
    }

    fn remove(&mut self, number: u32) -> Option<StaticMapping> {
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

    /// Forgets all.
    pub fn clear(&mut self, published: &Mappings) {
        self.all.keys().for_each(|number| published.remove(*number));
        *self = Self::default();
    }
}

fn none(what: &str) -> Error {
    error(retval::NO_SUCH_ENTRY, format!("there is no such {what}"))
}

impl Control {
    /// Adds a mapping.
    ///
    /// # Errors
    /// The feature is disabled (−126), or the combination isn't possible (−126, −7); the external
    /// or the local end has a mapping (−81); the external address of several back ends isn't in the
    /// pool (−6); no such interface (−2).
    pub fn add_mapping(&self, world: &World, mapping: StaticMapping) -> Result<()> {
        self.enabled(world, |state| state.add_mapping(world, mapping))
    }

    /// Removes a mapping: the one with these ends. Its sessions end.
    ///
    /// # Errors
    /// The feature is disabled (−126); no such mapping (−6).
    pub fn remove_mapping(&self, world: &World, mapping: &StaticMapping) -> Result<()> {
        self.enabled(world, |state| {
            let same = |number: &&u32| {
                state.statics.get(**number).is_some_and(|there| {
                    there.kind == mapping.kind
                        && match mapping.kind {
                            MappingKind::Balanced => true,
                            MappingKind::Identity => {
                                there.locals.first().map(|l| l.vrf)
                                    == mapping.locals.first().map(|l| l.vrf)
                            }
                            MappingKind::Host => {
                                there.locals.first().map(|l| l.end)
                                    == mapping.locals.first().map(|l| l.end)
                            }
                        }
                })
            };
            let number = state.statics.numbers(mapping).iter().find(same).copied();
            state.remove_number(world, number.ok_or_else(|| none("mapping"))?);
            Ok(())
        })
    }

    /// Adds a back end to a mapping with several, or removes it.
    ///
    /// # Errors
    /// The feature is disabled (−126); no such mapping or back end (−6); it is there (−81); fewer
    /// than two would be left (−1).
    pub fn set_back_end(
        &self,
        world: &World,
        (external, protocol): (End, IpProtocol),
        host: LocalHost,
        add: bool,
    ) -> Result<()> {
        self.enabled(world, |state| {
            let key = (external.addr, None, external.port, protocol.0);
            let numbers = state.statics.by_external.get(&key);
            let number = numbers.and_then(|numbers| numbers.first()).copied();
            let number = number.ok_or_else(|| none("mapping"))?;
            let mapping = state.statics.get(number).cloned();
            let mut mapping = mapping
                .filter(|of| of.kind == MappingKind::Balanced)
                .ok_or_else(|| none("mapping with several back ends"))?;
            let same = |of: &LocalHost| (of.end, of.vrf) == (host.end, host.vrf);
            let at = mapping.locals.iter().position(same);
            match (add, at) {
                (true, Some(_)) => {
                    let why = format!("{} is a back end already", host.end);
                    return Err(error(retval::VALUE_EXIST, why));
                }
                (true, None) => {
                    state.hold_table(world, host.vrf)?;
                    mapping.locals.push(host);
                }
                (false, None) => return Err(none("back end")),
                (false, Some(_)) if mapping.locals.len() <= 2 => {
                    let why = "fewer than two back ends would be left";
                    return Err(error(retval::UNSPECIFIED, why));
                }
                (false, Some(at)) => {
                    mapping.locals.remove(at);
                    state.held.release(host.vrf);
                    let end = host.end;
                    sessions::purge(world, move |keys, session| {
                        session.flags.contains(SessionFlags::STATIC)
                            && session.mapping == number
                            && keys[0].from() == end
                    });
                }
            }
            world.get::<Nat>().mappings.remove(number);
            state.statics.remove(number);
            let number = state.statics.insert(mapping);
            state.publish_mapping(world, number);
            Ok(())
        })
    }
}

impl State {
    fn add_mapping(&mut self, world: &World, mut mapping: StaticMapping) -> Result<()> {
        mapping.check()?;
        let exists = |what: &str| {
            error(retval::VALUE_EXIST, format!("the {what} end has a mapping already"))
        };
        let vrf = mapping.locals.first().map(|local| local.vrf);
        let clashes = |number: &u32| {
            let both = mapping.kind == MappingKind::Identity
                && self.statics.get(*number).is_some_and(|of| of.kind == MappingKind::Identity);
            let there = self.statics.get(*number).and_then(|of| of.locals.first());
            // One address may pass as it is for users of several tables.
            !both || there.map(|local| local.vrf) == vrf
        };
        if self.statics.numbers(&mapping).iter().any(clashes) {
            return Err(exists("external"));
        }
        let is_host = mapping.kind == MappingKind::Host && !mapping.inward_only;
        let local = mapping.locals.first().map(|of| (of.end, mapping.protocol.0, of.vrf));
        if is_host && local.is_some_and(|local| self.statics.by_local.contains_key(&local)) {
            return Err(exists("local"));
        }
        if let (MappingKind::Balanced, External::Address(addr)) = (mapping.kind, mapping.external)
            && !mapping.inward_only
            && !self.pools[0].iter().any(|there| there.addr == addr)
        {
            return Err(error(retval::NO_SUCH_ENTRY, format!("{addr} isn't in the pool")));
        }
        if let External::Interface(sw_if) = mapping.external {
            world.get::<Interfaces>().check(sw_if)?;
            let own = world.get::<Addresses<Ip4>>().own(sw_if);
            mapping.resolved = own.first().map(|own| own.addr());
        }
        for local in &mapping.locals {
            self.hold_table(world, local.vrf)?;
        }
        let number = self.statics.insert(mapping);
        self.publish_mapping(world, number);
        Ok(())
    }

    /// Gives a mapping to the workers, if its address is known.
    fn publish_mapping(&mut self, world: &World, number: u32) {
        let Some(mapping) = self.statics.get(number).cloned() else { return };
        let Some(addr) = mapping.address() else { return };
        let nat = world.get::<Nat>();
        let fib = world.get::<net::Fib<Ip4>>();
        let workers = Settings { workers: Workers(self.threads(world)), ..Settings::default() };
        let local = |host: &LocalHost| {
            let fib = fib.find_table(host.vrf).map_or(0, |index| index.0);
            let thread = workers.thread_of_user(host.end.addr, fib);
            Local { end: host.end, fib, thread }
        };
        let hosts = mapping.hosts();
        let mut published = Mapping {
            external: End::new(addr, mapping.port),
            protocol: mapping.protocol,
            locals: hosts.iter().map(local).collect(),
            shares: Vec::new(),
            identity: mapping.kind == MappingKind::Identity,
            inward_only: mapping.inward_only,
            twice: mapping.twice,
            twice_address: mapping.twice_address,
            affinity: mapping.affinity,
        };
        if mapping.kind == MappingKind::Balanced {
            let weights: Vec<_> = hosts.iter().map(|host| host.probability).collect();
            published.share(&weights);
        }
        nat.mappings.insert(number, published);
        nat.renew();
        if mapping.kind != MappingKind::Identity {
            self.exposed.expose((world, source(world)), addr);
        }
    }

    /// Takes a mapping from the workers. Its sessions end.
    fn withdraw_mapping(&mut self, world: &World, number: u32) {
        let Some(mapping) = self.statics.get(number) else { return };
        let (addr, kind) = (mapping.address(), mapping.kind);
        let Some(addr) = addr else { return };
        let nat = world.get::<Nat>();
        nat.mappings.remove(number);
        nat.renew();
        if kind != MappingKind::Identity {
            self.exposed.conceal((world, source(world)), addr);
        }
        sessions::purge(world, move |_, session| {
            session.flags.contains(SessionFlags::STATIC) && session.mapping == number
        });
    }

    fn remove_number(&mut self, world: &World, number: u32) {
        self.withdraw_mapping(world, number);
        let Some(mapping) = self.statics.remove(number) else { return };
        mapping.locals.iter().for_each(|local| self.held.release(local.vrf));
    }

    /// Gives the mappings of an interface its present first address.
    pub(super) fn resolve(&mut self, world: &World, sw_if: SwIfIndex, addr: Option<Ipv4Addr>) {
        let of = |(number, mapping): (u32, &StaticMapping)| {
            let is_it = mapping.external == External::Interface(sw_if);
            (is_it && mapping.resolved != addr).then_some(number)
        };
        let numbers: Vec<_> = self.statics.iter().filter_map(of).collect();
        for number in numbers {
            self.withdraw_mapping(world, number);
            if let Some(mapping) = self.statics.all.get_mut(&number) {
                mapping.resolved = addr;
            }
            self.publish_mapping(world, number);
        }
    }

    /// Forgets the mappings of an interface that is being deleted.
    pub(super) fn forget_mappings_of(&mut self, world: &World, sw_if: SwIfIndex) {
        let all = self.statics.iter();
        let of = all.filter(|(_, mapping)| mapping.external == External::Interface(sw_if));
        let numbers: Vec<_> = of.map(|(number, _)| number).collect();
        numbers.into_iter().for_each(|number| self.remove_number(world, number));
    }
}

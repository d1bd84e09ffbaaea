// SPDX-License-Identifier: Apache-2.0
//! Static mappings.

use super::{Control, State, sessions, source};
use crate::state::Nat;
use cli::{Result, retval};
use graph::{SwIfIndex, World};
use nat::error;
use nat::key::{End, spread, spread_of};
use nat::mapping::{Local, Mapping, Twice};
use nat::statics::{External, LocalHost, MappingKind, StaticMapping};
use std::net::Ipv4Addr;
use wire::{Ip4, IpProtocol};

fn check(mapping: &StaticMapping) -> Result<()> {
    let known = [IpProtocol::TCP, IpProtocol::UDP, IpProtocol::ICMP];
    if !mapping.is_address_only() && !known.contains(&mapping.protocol) {
        let number = mapping.protocol.0;
        let why = format!("expected tcp, udp or icmp, not protocol {number}");
        return Err(error(retval::INVALID_VALUE, why));
    }
    Ok(())
}

impl Control {
    /// Adds a mapping. Sessions of the host's own packets that it covers end.
    ///
    /// # Errors
    /// The feature is disabled (−169); a protocol without ports (−7); the external or the local end
    /// has a mapping (−81); the external address of a port isn't in the pool (−6); no such
    /// interface (−2).
    pub fn add_mapping(&self, world: &World, mapping: StaticMapping) -> Result<()> {
        self.enabled(world, |state| state.add_mapping(world, mapping))
    }

    /// Removes a mapping: the one with these ends. Its sessions end.
    ///
    /// # Errors
    /// The feature is disabled (−169); no such mapping (−6).
    pub fn remove_mapping(&self, world: &World, mapping: &StaticMapping) -> Result<()> {
        self.enabled(world, |state| {
            let vrf = |of: &StaticMapping| of.locals.first().map(|local| local.vrf);
            let end = |of: &StaticMapping| of.locals.first().map(|local| local.end);
            let same = |there: &StaticMapping| match mapping.kind {
                MappingKind::Identity => vrf(there) == vrf(mapping),
                _ => end(there) == end(mapping) && vrf(there) == vrf(mapping),
            };
            let is_it = |number: &&u32| {
                let there = state.statics.get(**number);
                there.is_some_and(|there| there.kind == mapping.kind && same(there))
            };
            let number = state.statics.numbers(mapping).iter().find(is_it).copied();
            let number =
                number.ok_or_else(|| error(retval::NO_SUCH_ENTRY, "there is no such mapping"))?;
            state.remove_number(world, number);
            Ok(())
        })
    }
}

impl State {
    fn add_mapping(&mut self, world: &World, mut mapping: StaticMapping) -> Result<()> {
        check(&mapping)?;
        let is_identity = mapping.kind == MappingKind::Identity;
        self.statics.check_free(&mapping, !is_identity)?;
        let needs_pool = !is_identity && !mapping.is_address_only() && !self.options()?.static_only;
        if let External::Address(addr) = mapping.external
            && needs_pool
            && !self.pool.iter().any(|there| there.addr == addr)
        {
            return Err(error(retval::NO_SUCH_ENTRY, format!("{addr} isn't in the pool")));
        }
        mapping.resolve(world)?;
        for local in &mapping.locals {
            self.hold_table(world, local.vrf)?;
        }
        let number = self.statics.insert(mapping);
        self.publish_mapping(world, number);
        self.end_covered(world, number);
        Ok(())
    }

    /// Ends the sessions of a host's own packets that a new mapping covers, and the one that has
    /// its external port.
    fn end_covered(&self, world: &World, number: u32) {
        let Some(mapping) = self.statics.get(number) else { return };
        let (Some(host), Some(addr)) = (mapping.hosts().first().copied(), mapping.address()) else {
            return;
        };
        let fib = world.get::<net::Fib<Ip4>>().find_table(host.vrf).map_or(0, |index| index.0);
        let (all, protocol) = (mapping.is_address_only(), mapping.protocol);
        let outside = End::new(addr, mapping.port);
        sessions::purge(world, move |keys, session| {
            let from = keys[0].from();
            let of_port = keys[0].protocol() == protocol;
            let inside = keys[0].fib() == fib
                && from.addr == host.end.addr
                && (all || of_port && from.port == host.end.port);
            !session.is_static() && (inside || of_port && keys[1].to() == outside)
        });
    }

    /// Gives a mapping to the workers, if its address is known.
    fn publish_mapping(&mut self, world: &World, number: u32) {
        if self.put_mapping(world, number)
            && let Some(mapping) = self.statics.get(number)
            && let Some(addr) = mapping.address()
            && mapping.kind != MappingKind::Identity
        {
            self.exposed.expose((world, source(world)), addr);
        }
    }

    fn put_mapping(&self, world: &World, number: u32) -> bool {
        let Some(mapping) = self.statics.get(number) else { return false };
        let Some(addr) = mapping.address() else { return false };
        let nat = world.get::<Nat>();
        let fib = world.get::<net::Fib<Ip4>>();
        let workers = self.threads(world);
        let local = |host: &LocalHost| {
            let fib = fib.find_table(host.vrf).map_or(0, |index| index.0);
            let hash = spread_of(host.end.addr).wrapping_add(spread(fib));
            Local { end: host.end, fib, thread: workers.pick(hash) }
        };
        let published = Mapping {
            external: End::new(addr, mapping.port),
            protocol: mapping.protocol,
            locals: mapping.hosts().iter().map(local).collect(),
            shares: Vec::new(),
            identity: mapping.kind == MappingKind::Identity,
            inward_only: false,
            twice: Twice::No,
            twice_address: None,
            affinity: 0,
        };
        nat.mappings.insert(number, published);
        nat.renew();
        true
    }

    /// Gives all mappings to the workers anew, when their threads have changed.
    pub(super) fn publish_mappings(&self, world: &World) {
        let numbers: Vec<_> = self.statics.iter().map(|(number, _)| number).collect();
        for number in numbers {
            world.get::<Nat>().mappings.remove(number);
            self.put_mapping(world, number);
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
        sessions::purge(world, move |_, session| session.is_static() && session.mapping == number);
    }

    pub(super) fn remove_number(&mut self, world: &World, number: u32) {
        self.withdraw_mapping(world, number);
        let Some(mapping) = self.statics.remove(number) else { return };
        mapping.locals.iter().for_each(|local| self.held.release(local.vrf));
    }

    /// Gives the mappings of an interface its present first address.
    pub(super) fn resolve(&mut self, world: &World, sw_if: SwIfIndex, addr: Option<Ipv4Addr>) {
        for number in self.statics.unresolved(sw_if, addr) {
            self.withdraw_mapping(world, number);
            self.statics.set_resolved(number, addr);
            self.publish_mapping(world, number);
        }
    }
}

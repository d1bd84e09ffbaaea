// SPDX-License-Identifier: Apache-2.0
//! Static mappings.

use super::{Control, State, sessions, source};
use crate::key::End;
use crate::session::SessionFlags;
use crate::settings::Settings;
use crate::state::Nat;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use nat::error;
use nat::mapping::{Local, Mapping, Twice};
use nat::statics::{External, LocalHost, MappingKind, StaticMapping};
use std::net::Ipv4Addr;
use wire::{Ip4, IpProtocol};

/// Refuses combinations that aren't possible.
fn check(mapping: &StaticMapping) -> Result<()> {
    let unsupported = |why| Err(error(retval::UNSUPPORTED, why));
    let twice = mapping.twice != Twice::No;
    if twice && (mapping.is_address_only() || mapping.kind == MappingKind::Identity) {
        return unsupported("twice-nat needs a mapping of a port");
    }
    if mapping.inward_only && mapping.kind == MappingKind::Identity {
        return unsupported("an identity mapping is for both directions");
    }
    let invalid = |why: String| Err(error(retval::INVALID_VALUE, why));
    if mapping.kind == MappingKind::Balanced && mapping.locals.len() < 2 {
        return invalid("expected two back ends at least".into());
    }
    if mapping.kind == MappingKind::Balanced
        && !matches!(mapping.protocol, IpProtocol::TCP | IpProtocol::UDP)
    {
        return invalid("expected tcp or udp for several back ends".into());
    }
    let known = [IpProtocol::TCP, IpProtocol::UDP, IpProtocol::ICMP];
    if !mapping.is_address_only() && !known.contains(&mapping.protocol) {
        let number = mapping.protocol.0;
        return invalid(format!("expected tcp, udp or icmp, not protocol {number}"));
    }
    Ok(())
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
            let number = state.statics.of_external(external, protocol).first().copied();
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
        check(&mapping)?;
        let is_host = mapping.kind == MappingKind::Host && !mapping.inward_only;
        self.statics.check_free(&mapping, is_host)?;
        if let (MappingKind::Balanced, External::Address(addr)) = (mapping.kind, mapping.external)
            && !mapping.inward_only
            && !self.pools[0].iter().any(|there| there.addr == addr)
        {
            return Err(error(retval::NO_SUCH_ENTRY, format!("{addr} isn't in the pool")));
        }
        mapping.resolve(world)?;
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
        let workers = Settings { workers: self.threads(world), ..Settings::default() };
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
        for number in self.statics.unresolved(sw_if, addr) {
            self.withdraw_mapping(world, number);
            self.statics.set_resolved(number, addr);
            self.publish_mapping(world, number);
        }
    }

    /// Forgets the mappings of an interface that is being deleted.
    pub(super) fn forget_mappings_of(&mut self, world: &World, sw_if: SwIfIndex) {
        let numbers = self.statics.of_interface(sw_if);
        numbers.into_iter().for_each(|number| self.remove_number(world, number));
    }
}

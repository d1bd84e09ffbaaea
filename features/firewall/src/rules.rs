// SPDX-License-Identifier: Apache-2.0
//! The rules as packets are held against them: what workers read, one generation at a time.

use crate::hits::Hits;
use crate::model::{Action, PolicyOptions, Rule};
use crate::packet::Packet;
use crate::sets::{InSets, Set, SetIndex};
use crate::values::{Place, Ports};
use acl::lookup::RuleSet;
use acl::rule::{self, Match, Networks, Span, Upper};
use cli::Result;
use net::Net;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use sync::Turn;
use tables::Forest;
use wire::{Ip4, Ip6, IpProtocol, Prefix};

/// The zone of the router's own packets.
pub const SELF: u16 = 0;
/// Of an interface that is in no zone.
pub const NO_ZONE: u16 = u16::MAX;

/// A rule with its counters.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The rule.
    pub rule: Arc<Rule>,
    /// Its counters.
    pub hits: Arc<Hits>,
}

/// A policy: its rules by number, and what becomes of other packets.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Settings.
    pub options: PolicyOptions,
    /// Rules by number, of which the first that matches decides.
    pub rules: BTreeMap<u32, Counted>,
    /// Counters of packets that no rule matches.
    pub hits: Arc<Hits>,
}

/// Conditions that aren't compiled, since they change on their own or are rare.
#[derive(Clone, Default, Debug)]
struct Conditions {
    source: Option<u16>,
    destination: Option<u16>,
    source_ports: Option<u16>,
    destination_ports: Option<u16>,
    dscp: Option<u8>,
    length: Option<(u16, u16)>,
    input: Option<u16>,
    output: Option<u16>,
}

impl Conditions {
    fn of(rule: &Rule, sets: &BTreeMap<String, Set>) -> Self {
        // A set that isn't there has no member.
        let number = |name: &str| Some(sets.get(name).map_or(u16::MAX, |set| set.number));
        let place = |place: &Option<Place>| place.as_ref().and_then(Place::set).and_then(number);
        let ports = |ports: &Option<Ports>| ports.as_ref().and_then(Ports::set).and_then(number);
        let interfaces = |name: &Option<String>| name.as_deref().and_then(number);
        Self {
            source: place(&rule.source),
            destination: place(&rule.destination),
            source_ports: ports(&rule.source_ports),
            destination_ports: ports(&rule.destination_ports),
            dscp: rule.dscp,
            length: rule.length.map(|length| (length.0, length.1)),
            input: interfaces(&rule.input),
            output: interfaces(&rule.output),
        }
    }

    #[inline(always)]
    fn are_met<F: InSets>(
        &self,
        packet: &Packet<F::Addr>,
        interfaces: [u32; 2],
        (sets, turn): (&SetIndex, &Turn<'_>),
    ) -> bool {
        let tuple = &packet.tuple;
        let upper = tuple.upper;
        self.dscp.is_none_or(|dscp| dscp == packet.dscp)
            && self.length.is_none_or(|(least, most)| (least..=most).contains(&packet.length))
            && self.source_ports.is_none_or(|set| sets.has_port(set, upper.source))
            && self.destination_ports.is_none_or(|set| sets.has_port(set, upper.destination))
            && self.input.is_none_or(|set| sets.has_interface(set, interfaces[0]))
            && self.output.is_none_or(|set| sets.has_interface(set, interfaces[1]))
            && self.source.is_none_or(|set| sets.has_address::<F>(set, tuple.source, turn))
            && self
                .destination
                .is_none_or(|set| sets.has_address::<F>(set, tuple.destination, turn))
    }
}

/// A rule as it decides.
#[derive(Debug)]
pub struct Decision {
    /// The outcome.
    pub action: Action,
    /// The most that it accepts in a second.
    pub rate: Option<u32>,
    /// It is logged.
    pub log: bool,
    /// Number of the rule; `None` if none matches.
    pub number: Option<u32>,
    /// Counters.
    pub hits: Arc<Hits>,
}

/// The compiled rules of one IP version.
struct OfVersion<F: Net> {
    rules: RuleSet<F>,
    /// Number of the decision, by position in the compiled list.
    decisions: Vec<u32>,
}

impl<F: Net + Match> OfVersion<F> {
    fn new(all: &[(u32, &Rule)], forest: &Arc<Forest>) -> Result<Self> {
        let mut decisions = Vec::new();
        let mut rules = Vec::new();
        for (at, rule) in all {
            if rule.families()[usize::from(F::IS_V6)] {
                let compiled = compiled(rule, F::IS_V6);
                decisions.resize(decisions.len() + compiled.len(), *at);
                rules.extend(compiled);
            }
        }
        Ok(Self { rules: RuleSet::new(&rules, true, forest)?, decisions })
    }
}

/// The part of a rule that is compiled, for one IP version. A rule with ports and any protocol is
/// one for TCP and one for UDP.
fn compiled(rule: &Rule, v6: bool) -> Vec<rule::Rule> {
    let network = |place: &Option<Place>| match place {
        Some(Place::Network(address, len)) => (*address, *len),
        _ => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
    };
    let (source, destination) = (network(&rule.source), network(&rule.destination));
    let networks = if v6 {
        let of = |(address, len): (IpAddr, u8)| match address {
            IpAddr::V6(address) => Prefix::new(address, len).unwrap_or(Prefix::DEFAULT),
            IpAddr::V4(_) => Prefix::<Ipv6Addr>::DEFAULT,
        };
        Networks::Ip6(of(source), of(destination))
    } else {
        let of = |(address, len): (IpAddr, u8)| match address {
            IpAddr::V4(address) => Prefix::new(address, len).unwrap_or(Prefix::DEFAULT),
            IpAddr::V6(_) => Prefix::<Ipv4Addr>::DEFAULT,
        };
        Networks::Ip4(of(source), of(destination))
    };
    let span = |ports: &Option<Ports>| match ports {
        Some(Ports::Range(first, last)) => Span { first: *first, last: *last },
        _ => Span::ALL,
    };
    let has_ports = rule.source_ports.is_some() || rule.destination_ports.is_some();
    let protocols = match rule.protocol {
        Some(protocol) => vec![protocol.0],
        None if has_ports => vec![IpProtocol::TCP.0, IpProtocol::UDP.0],
        None => vec![0],
    };
    let (mut from, mut to) = (span(&rule.source_ports), span(&rule.destination_ports));
    if let Some(icmp) = rule.icmp {
        from = Span { first: icmp.kind.into(), last: icmp.kind.into() };
        to = icmp.code.map_or(Span::ALL, |code| Span { first: code.into(), last: code.into() });
    }
    let flags = rule.flags;
    let upper = |protocol| Upper {
        protocol,
        source: from,
        destination: to,
        flags_mask: flags.map_or(0, |flags| flags.mask),
        flags: flags.map_or(0, |flags| flags.value),
    };
    let of =
        |protocol| rule::Rule { action: rule::Action::Permit, networks, upper: upper(protocol) };
    protocols.into_iter().map(of).collect()
}

/// A policy, compiled.
pub struct Compiled {
    decisions: Vec<Decision>,
    conditions: Vec<Conditions>,
    ip4: OfVersion<Ip4>,
    ip6: OfVersion<Ip6>,
    otherwise: Decision,
    /// Connections whose begin wasn't seen are taken.
    pub loose: bool,
}

/// A protocol with compiled rules.
pub trait Ruled: InSets + Match {
    #[doc(hidden)]
    fn of(compiled: &Compiled) -> (&RuleSet<Self>, &[u32]);
}

impl Ruled for Ip4 {
    fn of(compiled: &Compiled) -> (&RuleSet<Self>, &[u32]) {
        (&compiled.ip4.rules, &compiled.ip4.decisions)
    }
}

impl Ruled for Ip6 {
    fn of(compiled: &Compiled) -> (&RuleSet<Self>, &[u32]) {
        (&compiled.ip6.rules, &compiled.ip6.decisions)
    }
}

impl Compiled {
    /// Compiles a policy.
    ///
    /// # Errors
    /// Rules that would take too much memory.
    pub fn new(
        policy: &Policy,
        sets: &BTreeMap<String, Set>,
        forest: &Arc<Forest>,
    ) -> Result<Self> {
        let rules: Vec<_> =
            (0..).zip(policy.rules.values()).map(|(at, counted)| (at, &*counted.rule)).collect();
        let decision = |(number, counted): (&u32, &Counted)| Decision {
            action: counted.rule.action,
            rate: counted.rule.rate,
            log: counted.rule.log,
            number: Some(*number),
            hits: counted.hits.clone(),
        };
        Ok(Self {
            decisions: policy.rules.iter().map(decision).collect(),
            conditions: rules.iter().map(|(_, rule)| Conditions::of(rule, sets)).collect(),
            ip4: OfVersion::new(&rules, forest)?,
            ip6: OfVersion::new(&rules, forest)?,
            otherwise: Decision {
                action: policy.options.otherwise,
                rate: None,
                log: policy.options.log,
                number: None,
                hits: policy.hits.clone(),
            },
            loose: policy.options.loose,
        })
    }

    /// The decision about a packet.
    #[inline(never)]
    pub fn decide<F: Ruled>(
        &self,
        packet: &Packet<F::Addr>,
        interfaces: [u32; 2],
        (sets, turn): (&SetIndex, &Turn<'_>),
    ) -> &Decision {
        let (rules, decisions) = F::of(self);
        let decision = |position: u32| decisions.get(position as usize).map(|at| *at as usize);
        let found = rules.first_that(&packet.tuple, turn, |position| {
            let conditions = decision(position).and_then(|at| self.conditions.get(at));
            conditions.is_some_and(|all| all.are_met::<F>(packet, interfaces, (sets, turn)))
        });
        found.and_then(decision).and_then(|at| self.decisions.get(at)).unwrap_or(&self.otherwise)
    }
}

/// The rules of a generation, as workers read them.
pub struct Generation {
    /// Another one after each change: sessions that were judged by another are judged again.
    pub number: u32,
    /// Until this time of the instance's clock, sessions that it permits no more go on: a script or
    /// a rollback may take a rule away to put another into its place.
    pub settles_at: u64,
    /// Zones of interfaces, by index.
    pub zones: Vec<u16>,
    /// Zones.
    pub width: usize,
    /// By number of the zones, the one that packets come from first.
    pub policies: Vec<Option<Arc<Compiled>>>,
    /// The sets.
    pub sets: Arc<SetIndex>,
    /// Limits of zones, by number.
    pub limits: Vec<Option<Arc<crate::zone::ZoneUse>>>,
}

impl Generation {
    /// The zone of an interface.
    #[inline(always)]
    pub fn zone(&self, sw_if: u32) -> u16 {
        self.zones.get(sw_if as usize).copied().unwrap_or(NO_ZONE)
    }

    /// The policy of packets from one zone to another.
    #[inline(always)]
    pub fn policy(&self, [from, to]: [u16; 2]) -> Option<&Compiled> {
        let at = usize::from(from) * self.width + usize::from(to);
        let is_there = usize::from(from) < self.width && usize::from(to) < self.width;
        self.policies.get(at).filter(|_| is_there)?.as_deref()
    }

    /// The limits of a zone, if it has any.
    #[inline(always)]
    pub fn limits(&self, zone: u16) -> Option<&crate::zone::ZoneUse> {
        self.limits.get(usize::from(zone))?.as_deref()
    }
}

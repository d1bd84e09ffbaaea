// SPDX-License-Identifier: Apache-2.0
//! Compiled policies against their rules one after the other.

use crate::hits::Cells;
use crate::model::{Action, PolicyOptions, Rule};
use crate::packet::{Icmp, Packet};
use crate::rules::{Compiled, Counted, Policy, Ruled};
use crate::sets::{Members, Set, SetIndex};
use crate::values::{FlagMatch, Icmp as IcmpWord, Length, Place, Ports, Protocol};
use acl::packet::{PacketUpper, Part, Tuple};
use graph::SwIfIndex;
use graph::drive::Bench;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use sync::{Qsbr, Turn};
use tables::Forest;
use testkit::Rng;
use wire::{Address, Ip4, Ip6, IpProtocol, Prefix};

/// Random rules, sets and packets that often meet.
struct Draw(Rng);

impl Draw {
    fn address4(&mut self) -> Ipv4Addr {
        Ipv4Addr::new(10, self.0.below(2) as u8, self.0.below(3) as u8, self.0.below(4) as u8)
    }

    fn address6(&mut self) -> Ipv6Addr {
        let mut part = || self.0.below(3) as u16;
        Ipv6Addr::new(0x2001, 0xdb8, part(), part(), 0, 0, 0, part())
    }

    fn network(&mut self) -> (IpAddr, u8) {
        if self.0.one_in(2) {
            let len = *self.0.pick(&[0, 8, 16, 24, 30, 32]);
            (Prefix::new(self.address4(), len).expect("a length").network().addr().into(), len)
        } else {
            let len = *self.0.pick(&[0, 32, 48, 64, 127, 128]);
            (Prefix::new(self.address6(), len).expect("a length").network().addr().into(), len)
        }
    }

    fn maybe<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.0.one_in(3) { Some(draw(self)) } else { None }
    }

    fn place(&mut self) -> Place {
        if self.0.one_in(3) {
            return Place::Set(format!("n{}", self.0.below(4)));
        }
        let (address, len) = self.network();
        Place::Network(address, len)
    }

    fn ports(&mut self) -> Ports {
        if self.0.one_in(3) {
            return Ports::Set(format!("p{}", self.0.below(3)));
        }
        let first = self.0.below(8) as u16;
        Ports::Range(first, first + self.0.below(4) as u16)
    }

    fn rule(&mut self) -> Rule {
        let mut rule = Rule {
            action: *self.0.pick(&[Action::Accept, Action::Drop, Action::Reject]),
            name: None,
            source: self.maybe(Self::place),
            destination: self.maybe(Self::place),
            protocol: None,
            source_ports: None,
            destination_ports: None,
            icmp: None,
            flags: None,
            dscp: self.maybe(|draw| draw.0.below(2) as u8),
            length: self.maybe(|draw| {
                let least = draw.0.below(100) as u16;
                Length(least, least + 50)
            }),
            input: self.maybe(|draw| format!("i{}", draw.0.below(2))),
            output: self.maybe(|draw| format!("i{}", draw.0.below(2))),
            rate: None,
            log: false,
        };
        match self.0.below(6) {
            0 => {}
            1 => rule.protocol = Some(Protocol(*self.0.pick(&[6, 17, 47, 1, 58]))),
            2 | 3 => {
                rule.protocol = self.maybe(|draw| Protocol(*draw.0.pick(&[6, 17])));
                rule.source_ports = self.maybe(Self::ports);
                rule.destination_ports = Some(self.ports());
            }
            4 => {
                rule.protocol = Some(Protocol(6));
                let mask = self.0.below(32) as u8;
                rule.flags = Some(FlagMatch { value: self.0.next() as u8 & mask, mask });
            }
            _ => {
                rule.protocol = Some(Protocol(*self.0.pick(&[1, 58])));
                let code = self.maybe(|draw| draw.0.below(3) as u8);
                rule.icmp = Some(IcmpWord { kind: self.0.below(4) as u8, code });
            }
        }
        // Rules that are refused are none.
        if rule.check().is_err() {
            rule.destination = None;
        }
        rule
    }

    fn packet<A: Address>(&mut self, source: A, destination: A) -> Packet<A> {
        let protocol = *self.0.pick(&[6, 17, 47, 1, 58]);
        let mut upper = PacketUpper { protocol, part: Part::Whole, ..PacketUpper::NONE };
        let most = if matches!(protocol, 1 | 58) { 4 } else { 11 };
        if protocol != 47 {
            (upper.source, upper.destination) =
                (self.0.below(most) as u16, self.0.below(most) as u16);
        }
        if protocol == 6 {
            upper.flags = self.0.below(32) as u8;
        }
        Packet {
            tuple: Tuple { source, destination, upper },
            id: 0,
            icmp: matches!(protocol, 1 | 58)
                .then(|| Icmp::of(IpProtocol(protocol), upper.source as u8)),
            dscp: self.0.below(2) as u8,
            length: self.0.below(150) as u16,
            upper_at: 20,
            later: false,
            more: false,
        }
    }

    fn sets(&mut self) -> BTreeMap<String, Set> {
        let mut sets = BTreeMap::new();
        let mut add = |name: String, members| {
            let number = sets.len() as u16;
            sets.insert(name, Set { number, members });
        };
        for n in 0..4 {
            let many = self.0.below(6);
            add(format!("n{n}"), Members::Networks((0..many).map(|_| self.network()).collect()));
        }
        for n in 0..3 {
            let many = self.0.below(3);
            let span = |draw: &mut Self| {
                let first = draw.0.below(9) as u16;
                (first, first + draw.0.below(3) as u16)
            };
            add(format!("p{n}"), Members::Ports((0..many).map(|_| span(self)).collect()));
        }
        for n in 0..2 {
            let many = self.0.below(4);
            let one = |draw: &mut Self| SwIfIndex(draw.0.below(4) as u32);
            add(format!("i{n}"), Members::Interfaces((0..many).map(|_| one(self)).collect()));
        }
        sets
    }
}

fn compare<F: Ruled>(
    compiled: &Compiled,
    (policy, sets): (&Policy, &BTreeMap<String, Set>),
    packet: &Packet<F::Addr>,
    interfaces: [u32; 2],
    (index, turn): (&SetIndex, &Turn<'_>),
) -> bool {
    let members = |name: &str| sets.get(name).map(|set| &set.members);
    let mut rules = policy.rules.iter();
    let wanted = rules.find(|(_, counted)| counted.rule.matches(packet, interfaces, &members));
    let wanted = wanted.map(|(number, counted)| (*number, counted.rule.action));
    let decision = compiled.decide::<F>(packet, interfaces, (index, turn));
    let found = decision.number.map(|number| (number, decision.action));
    assert_eq!(found, wanted, "{packet:?} of {:?} with {sets:?}", policy.rules);
    found.is_some()
}

#[suite::test]
fn compiled_policies_find_the_first_rule() {
    let bench = Bench::new(super::PLUGINS);
    let (domain, mut draw) = (Qsbr::new(), Draw(Rng::new(11)));
    let forest = Forest::new(domain.clone()).expect("address space");
    let mut reader = domain.register();
    let mut cells = Cells::new(&bench.world);
    let (mut hits, mut all) = (0, 0);
    for n in [0, 1, 2, 5, 20, 40, 64, 65, 200, 1000] {
        for _ in 0..if n < 100 { 30 } else { 3 } {
            let mut sets = draw.sets();
            let mut rule =
                |draw: &mut Draw| Counted { rule: Arc::new(draw.rule()), hits: cells.take() };
            let rules = (0..n).map(|at| (at * 10, rule(&mut draw))).collect();
            let options = PolicyOptions::default();
            let policy = Policy { options, rules, hits: cells.take() };
            let compiled = Compiled::new(&policy, &sets, &forest).expect("compiled");
            // Sets change twice without the policy being compiled again.
            for _ in 0..3 {
                let index = SetIndex::new(sets.values(), &forest).expect("compiled");
                let turn = reader.turn();
                for _ in 0..60 {
                    let interfaces = [draw.0.below(4) as u32, draw.0.below(4) as u32];
                    let (a, b) = (draw.address4(), draw.address4());
                    let packet = draw.packet(a, b);
                    let of = (&policy, &sets);
                    let hit = compare::<Ip4>(&compiled, of, &packet, interfaces, (&index, &turn));
                    let (a, b) = (draw.address6(), draw.address6());
                    let packet = draw.packet(a, b);
                    let hit6 = compare::<Ip6>(&compiled, of, &packet, interfaces, (&index, &turn));
                    hits += usize::from(hit) + usize::from(hit6);
                    all += 2;
                }
                sets = draw.sets();
            }
        }
    }
    assert!(hits * 4 > all, "{hits} of {all} packets matched a rule");
}

// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::packet::{PacketUpper, Part};
use crate::rule::{Action, Networks, Span, Upper};
use std::net::{Ipv4Addr, Ipv6Addr};
use sync::Qsbr;
use testkit::Rng;
use wire::{Address, Ip4, Ip6, Prefix};

/// Addresses, ports and flags that differ in few bits, so that rules meet packets.
struct Draw(Rng, Spread);

/// The number of bits in which addresses differ.
#[derive(Clone, Copy)]
enum Spread {
    /// 5: networks of many rules are equal.
    Narrow,
    /// 9: most networks are of few rules.
    Wide,
}

impl Draw {
    fn addr4(&mut self) -> Ipv4Addr {
        let mask = match self.1 {
            Spread::Narrow => 0x0003_0007,
            Spread::Wide => 0x0013_1317,
        };
        Ipv4Addr::from_bits(0x0a00_0000 | self.0.next() as u32 & mask)
    }

    fn addr6(&mut self) -> Ipv6Addr {
        let mask = match self.1 {
            Spread::Narrow => 0x3_0007,
            Spread::Wide => 0x1713_0017,
        };
        let bits = u128::from(self.0.next() & mask);
        Ipv6Addr::from_bits(0x2001_0db8 << 96 | bits | bits << 60)
    }

    fn prefix<A: Address>(&mut self, addr: A) -> Prefix<A> {
        let most = <A::Family as wire::Family>::BITS;
        let len = if self.0.one_in(3) { 0 } else { most - self.0.below(most.into()) as u8 / 2 };
        Prefix::new(addr, len).expect("short enough").network()
    }

    fn span(&mut self) -> Span {
        if self.0.one_in(2) {
            return Span::ALL;
        }
        let first = self.0.below(12) as u16 * if self.0.one_in(4) { 5461 } else { 1 };
        let last = first.saturating_add(self.0.below(6) as u16);
        Span { first, last }
    }

    fn protocol(&mut self) -> u8 {
        *self.0.pick(&[0, 1, 6, 6, 17, 17, 47, 58])
    }

    fn rule(&mut self) -> Rule {
        let networks = if self.0.one_in(2) {
            let (from, to) = (self.addr4(), self.addr4());
            Networks::Ip4(self.prefix(from), self.prefix(to))
        } else {
            let (from, to) = (self.addr6(), self.addr6());
            Networks::Ip6(self.prefix(from), self.prefix(to))
        };
        let (flags, flags_mask) = if self.0.one_in(3) {
            (self.0.next() as u8 & 3, self.0.next() as u8 & 3)
        } else {
            (0, 0)
        };
        let upper = Upper {
            protocol: self.protocol(),
            source: self.span(),
            destination: self.span(),
            flags_mask,
            flags,
        };
        Rule { action: *self.0.pick(&Action::ALL), networks, upper }
    }

    fn upper(&mut self) -> PacketUpper {
        let mut port = || self.0.below(12) as u16 * if self.0.one_in(4) { 5461 } else { 1 };
        let (source, destination) = (port(), port());
        let part = *self.0.pick(&[Part::Whole, Part::Whole, Part::LaterFragment, Part::Cut]);
        let protocol = self.protocol();
        let flags = self.0.next() as u8 & 3;
        PacketUpper { protocol, part, flags, source, destination }
    }
}

/// Compares a compiled list with its rules one by one, for packets of one protocol.
fn compare<F: Net + Match>(
    rules: &[Rule],
    fragments: bool,
    packets: &[Tuple<F::Addr>],
    forest: &Arc<Forest>,
    turn: &Turn<'_>,
) -> usize {
    let set = RuleSet::<F>::new(rules, fragments, forest).expect("compiled");
    let mut hits = 0;
    for packets in packets.chunks(BLOCK) {
        let mut found = vec![0; packets.len()];
        set.find::<simd::V1>(packets, &mut found, turn);
        for (packet, found) in packets.iter().zip(found) {
            let wanted = first_match::<F>(rules, packet, fragments);
            assert_eq!(wanted.map_or(NONE, |at| at as u32), found, "{packet:?} of {rules:?}");
            hits += usize::from(wanted.is_some());
            // The first one whose position is no multiple of three, as a user's own condition.
            let odd = |at: u32| !at.is_multiple_of(3);
            let all = (0..).zip(rules).filter(|(at, rule)| {
                odd(*at)
                    && first_match::<F>(std::slice::from_ref(*rule), packet, fragments).is_some()
            });
            let wanted = all.map(|(at, _)| at).next();
            assert_eq!(wanted, set.first_that(packet, turn, odd), "{packet:?} of {rules:?}");
        }
    }
    hits
}

/// Lists of all lengths, beyond one word of a row and beyond one table, find what the rules find
/// one by one.
#[suite::test]
fn compiled_lists_find_the_first_rule() {
    let (domain, mut draw) = (Qsbr::new(), Draw(Rng::new(7), Spread::Narrow));
    let forest = Forest::new(domain.clone()).expect("address space");
    let mut reader = domain.register();
    let mut hits = 0;
    let lengths = [0, 1, 2, 3, 5, 8, 40, 63, 64, 65, 127, 129, 500, 4096, 4097, 9000];
    let narrow = lengths.map(|n| (n, Spread::Narrow));
    let wide = [8200, 8300, 20_000].map(|n| (n, Spread::Wide));
    for (n, spread) in narrow.into_iter().chain(wide) {
        draw.1 = spread;
        for _ in 0..if n < 100 { 20 } else { 1 } {
            let rules: Vec<_> = (0..n).map(|_| draw.rule()).collect();
            let fragments = draw.0.one_in(2);
            let turn = reader.turn();
            let packets: Vec<_> = (0..130)
                .map(|_| Tuple {
                    source: draw.addr4(),
                    destination: draw.addr4(),
                    upper: draw.upper(),
                })
                .collect();
            hits += compare::<Ip4>(&rules, fragments, &packets, &forest, &turn);
            let packets: Vec<_> = (0..130)
                .map(|_| Tuple {
                    source: draw.addr6(),
                    destination: draw.addr6(),
                    upper: draw.upper(),
                })
                .collect();
            hits += compare::<Ip6>(&rules, fragments, &packets, &forest, &turn);
        }
        reader.turn();
    }
    assert!(hits > 10_000, "{hits} of the packets matched a rule");
}

/// A field that all rules share decides nothing, and a list that decides nothing is its first rule.
#[suite::test]
fn a_rule_for_everything_is_found_at_once() {
    let domain = Qsbr::new();
    let forest = Forest::new(domain.clone()).expect("address space");
    let mut reader = domain.register();
    let networks = Networks::Ip4(Prefix::DEFAULT, Prefix::DEFAULT);
    let rules = [Rule { action: Action::Permit, networks, upper: Upper::ANY }; 3];
    let set = RuleSet::<Ip4>::new(&rules, true, &forest).expect("compiled");
    let packet = Tuple {
        source: Ipv4Addr::LOCALHOST,
        destination: Ipv4Addr::LOCALHOST,
        upper: PacketUpper::NONE,
    };
    let mut found = [NONE];
    set.find::<simd::V1>(&[packet], &mut found, &reader.turn());
    assert_eq!(found, [0]);
}

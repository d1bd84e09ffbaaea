// SPDX-License-Identifier: Apache-2.0
//! Thousands of rules: found by hashes of the first bits of both addresses.
//!
//! A table has one length of source prefixes and one of destination prefixes, which may be shorter
//! than those of its rules: so few tables take rules of all lengths. Rules whose prefixes begin
//! with the same bits are a group, which a packet is held against one by one. A group that has
//! [`GROUP`] rules takes no more: further ones go to a table that tells single ports apart, too, or
//! longer prefixes. The rest, rules for nearly everything among them, is compiled as shorter lists
//! are.

use super::linear::matches;
use super::small::SMALL;
use super::{BLOCK, Bits, NONE, Numbered, memory_limit};
use crate::packet::{Part, Tuple};
use crate::rule::{Ends, Match, Rule, Span, Upper};
use cli::Result;
use net::Net;
use simd::Isa;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use sync::Turn;
use tables::{Forest, Mixer};
use wire::{Address, Family};

/// Rules of a group at most.
const GROUP: usize = 8;
/// Tables at most.
const TABLES: usize = 24;

/// Bits of packets by which the groups of a table are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mask {
    /// Prefix lengths of source and destination.
    lengths: [u8; 2],
    /// True if the source port, and the destination port, are compared.
    ports: [bool; 2],
}

/// Protocol and ports of a rule, as packets are held against them.
fn ports_of(upper: &Upper) -> [Option<u16>; 2] {
    let one = |span: Span| (span.first == span.last).then_some(span.first);
    if upper.protocol == 0 { [None; 2] } else { [one(upper.source), one(upper.destination)] }
}

impl Mask {
    /// Masks for a rule, from the one that takes most rules on.
    fn of<A: Address>((source, destination): &Ends<A>, upper: &Upper) -> [Self; 4] {
        let exact = [source.len(), destination.len()];
        let steps: &[u8] = if A::Family::BITS > 32 { &[64, 48, 32, 16] } else { &[24, 16, 8] };
        let shorter = |len| steps.iter().copied().find(|step| *step <= len).unwrap_or_default();
        let ports = ports_of(upper).map(|port| port.is_some());
        let lengths = exact.map(shorter);
        [
            Self { lengths, ports: [false; 2] },
            Self { lengths, ports },
            Self { lengths: exact, ports: [false; 2] },
            Self { lengths: exact, ports },
        ]
    }

    /// True if all packets that match a rule with this mask have the bits of one group of `self`.
    fn takes(&self, rule: &Self) -> bool {
        let long = self.lengths.iter().zip(rule.lengths).all(|(own, rule)| *own <= rule);
        long && self.ports.iter().zip(rule.ports).all(|(own, rule)| !own || rule)
    }

    fn compares_nothing(&self) -> bool {
        self.lengths == [0; 2] && self.ports == [false; 2]
    }

    fn has_ports(&self) -> bool {
        self.ports != [false; 2]
    }
}

/// A table's hash of packets.
struct Hasher<A> {
    mixer: Mixer,
    masks: [A; 2],
    /// All ones for a port that is compared.
    ports: [u16; 2],
}

impl<A: Address> Hasher<A> {
    fn new(mixer: Mixer, mask: &Mask) -> Self {
        Self {
            mixer,
            masks: mask.lengths.map(A::mask),
            ports: mask.ports.map(|compared| if compared { u16::MAX } else { 0 }),
        }
    }

    #[inline(always)]
    fn hash(&self, source: A, destination: A, ports: [u16; 2]) -> u32 {
        let [from, to] = self.masks;
        let mut mixer = self.mixer.add_bytes((source & from).to_octets().as_ref());
        mixer = mixer.add_bytes((destination & to).to_octets().as_ref());
        let [a, b] = [ports[0] & self.ports[0], ports[1] & self.ports[1]];
        mixer.add(u64::from(a) << 16 | u64::from(b)).hash() as u32
    }
}

/// A rule of a group.
struct Entry<A> {
    ends: Ends<A>,
    upper: Upper,
    position: u32,
    /// True for the last one of a group.
    is_last: bool,
}

impl<A: Address> Entry<A> {
    #[inline(always)]
    fn is_for(&self, packet: &Tuple<A>, fragments: bool) -> bool {
        matches(&self.ends, &self.upper, packet, fragments)
    }
}

/// Where a group begins in the entries; [`NONE`] for no group.
#[derive(Clone, Copy)]
struct Slot {
    hash: u32,
    start: u32,
}

struct Table<A> {
    hasher: Hasher<A>,
    has_ports: bool,
    /// The first position of a rule.
    best: u32,
    slots: Vec<Slot>,
    entries: Vec<Entry<A>>,
}

impl<A: Address> Table<A> {
    fn new(building: Building<A>, rules: &[(Ends<A>, Upper, u32)]) -> Self {
        let Building { hasher, mask, groups } = building;
        let size = (2 * groups.len()).next_power_of_two();
        let mut slots = vec![Slot { hash: 0, start: NONE }; size];
        let mut entries = Vec::with_capacity(groups.values().map(Vec::len).sum());
        let mut best = NONE;
        for (hash, group) in groups {
            let mut at = hash as usize % size;
            while slots[at].start != NONE {
                at = (at + 1) % size;
            }
            slots[at] = Slot { hash, start: entries.len() as u32 };
            for (i, rule) in group.iter().enumerate() {
                let (ends, upper, position) = rules[*rule as usize];
                best = best.min(position);
                entries.push(Entry { ends, upper, position, is_last: i + 1 == group.len() });
            }
        }
        Self { hasher, has_ports: mask.has_ports(), best, slots, entries }
    }

    fn memory(&self) -> usize {
        size_of_val(&*self.slots) + size_of_val(&*self.entries)
    }

    /// Where the group of a hash begins, or [`NONE`].
    #[inline(always)]
    fn group(&self, hash: u32) -> u32 {
        let last = self.slots.len() - 1;
        let mut at = hash as usize & last;
        while let Some(slot) = self.slots.get(at) {
            if slot.start == NONE || slot.hash == hash {
                return slot.start;
            }
            at = (at + 1) & last;
        }
        NONE
    }

    /// The first rule in front of a position that matches a packet and that `accept` takes.
    fn first_that(
        &self,
        packet: &Tuple<A>,
        before: u32,
        fragments: bool,
        accept: &mut dyn FnMut(u32) -> bool,
    ) -> Option<u32> {
        let ports = [packet.upper.source, packet.upper.destination];
        if self.has_ports && packet.upper.part != Part::Whole {
            // No hash tells where such rules are.
            let all = self.entries.iter();
            let matching = all.filter(|entry| entry.is_for(packet, fragments));
            let positions = matching.map(|entry| entry.position);
            return positions.filter(|at| *at < before && accept(*at)).min();
        }
        let start = self.group(self.hasher.hash(packet.source, packet.destination, ports));
        for entry in self.entries.get(start as usize..).unwrap_or_default() {
            if entry.position >= before {
                break;
            }
            if entry.is_for(packet, fragments) && accept(entry.position) {
                return Some(entry.position);
            }
            if entry.is_last {
                break;
            }
        }
        None
    }

    /// Looks packets up: what was found is replaced by rules that come before it. The loads of
    /// different packets overlap.
    #[inline(always)]
    fn find(&self, packets: &[Tuple<A>], found: &mut [u32], fragments: bool) {
        if found.iter().all(|found| *found < self.best) {
            return;
        }
        let mut at = [NONE; BLOCK];
        for (at, packet) in at.iter_mut().zip(packets) {
            let ports = [packet.upper.source, packet.upper.destination];
            *at = self.hasher.hash(packet.source, packet.destination, ports);
            simd::prefetch_read(&self.slots[*at as usize & (self.slots.len() - 1)]);
        }
        for at in at.iter_mut().take(packets.len()) {
            *at = self.group(*at);
            if let Some(entry) = self.entries.get(*at as usize) {
                simd::prefetch_read(entry);
            }
        }
        for ((packet, found), at) in packets.iter().zip(found).zip(at) {
            if self.has_ports && packet.upper.part != Part::Whole {
                continue;
            }
            for entry in self.entries.get(at as usize..).unwrap_or_default() {
                if entry.position >= *found {
                    break;
                }
                if entry.is_for(packet, fragments) {
                    *found = entry.position;
                    break;
                }
                if entry.is_last {
                    break;
                }
            }
        }
    }
}

struct Building<A> {
    mask: Mask,
    hasher: Hasher<A>,
    /// Rules by hash.
    groups: HashMap<u32, Vec<u32>>,
}

impl<A: Address> Building<A> {
    /// Takes a rule, unless its group is full or the mask is longer than the rule.
    fn take(&mut self, number: u32, (ends, upper): (&Ends<A>, &Upper), exact: &Mask) -> bool {
        if !self.mask.takes(exact) {
            return false;
        }
        let ports = ports_of(upper).map(Option::unwrap_or_default);
        let hash = self.hasher.hash(ends.0.addr(), ends.1.addr(), ports);
        let group = self.groups.entry(hash).or_default();
        let has_room = group.len() < GROUP;
        if has_room {
            group.push(number);
        }
        has_room
    }

    fn len(&self) -> usize {
        self.groups.values().map(Vec::len).sum()
    }
}

/// Rules of one protocol.
pub struct Tuples<F: Net> {
    /// From the one with the first rule on.
    tables: Vec<Table<F::Addr>>,
    /// Rules of no table.
    rest: Bits<F>,
    /// Rules of tables with ports, once more without ports, for packets that have none.
    portless: Option<Box<Self>>,
    fragments: bool,
    memory: usize,
}

impl<F: Net + Match> Tuples<F> {
    /// Compiles rules.
    ///
    /// # Errors
    /// No address space, or too much memory.
    pub fn new(rules: &[Numbered<'_>], fragments: bool, forest: &Arc<Forest>) -> Result<Self> {
        let all: Vec<(Ends<F::Addr>, Upper, u32)> = rules
            .iter()
            .filter_map(|of| Some((of.rule.networks::<F>()?, of.rule.upper, of.position)))
            .collect();
        let (mut tables, mut rest) = arrange(&all);
        // A lookup of few rules more in the rest is for nothing, one in a table isn't.
        tables.sort_by_key(Building::len);
        while tables.first().is_some_and(|table| table.len() + rest.len() <= SMALL) {
            rest.extend(tables.remove(0).groups.into_values().flatten());
        }
        rest.sort_unstable();
        let of_rest = rest.iter().filter_map(|number| rules.get(*number as usize)).cloned();
        let (rest, of_rest) = Bits::new(&of_rest.collect::<Vec<_>>(), fragments, forest)?;

        let with_ports = tables.iter().filter(|table| table.mask.has_ports());
        let mut with_ports: Vec<u32> =
            with_ports.flat_map(|table| table.groups.values().flatten().copied()).collect();
        with_ports.sort_unstable();
        let mut known = HashSet::new();
        let portless: Vec<(u32, Rule)> = with_ports
            .into_iter()
            .filter(|_| fragments)
            .filter_map(|number| {
                let Numbered { position, rule } = rules.get(number as usize)?;
                let upper = Upper { protocol: rule.upper.protocol, ..Upper::ANY };
                let rule = Rule { upper, ..**rule };
                known.insert((rule.networks, upper.protocol)).then_some((*position, rule))
            })
            .collect();
        let numbered: Vec<_> = portless
            .iter()
            .map(|(position, rule)| Numbered { position: *position, rule })
            .collect();
        let portless = match numbered.is_empty() {
            true => None,
            false => Some(Box::new(Self::new(&numbered, fragments, forest)?)),
        };

        let mut tables: Vec<_> = tables.into_iter().map(|table| Table::new(table, &all)).collect();
        tables.sort_by_key(|table| table.best);
        let of_portless = portless.as_ref().map_or(0, |portless| portless.memory);
        let memory = tables.iter().map(Table::memory).sum::<usize>() + of_rest + of_portless;
        memory_limit(memory, rules.len())?;
        Ok(Self { tables, rest, portless, fragments, memory })
    }

    /// Bytes of the tables.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Looks packets up: `found` gets the position of the first rule that matches, or [`NONE`].
    #[inline(always)]
    pub fn find<I: Isa>(&self, packets: &[Tuple<F::Addr>], found: &mut [u32], turn: &Turn<'_>) {
        self.rest.find::<I>(packets, found, turn);
        for table in &self.tables {
            table.find(packets, found, self.fragments);
        }
        let is_whole = |packet: &Tuple<F::Addr>| packet.upper.part == Part::Whole;
        if let Some(portless) = &self.portless
            && !packets.iter().all(is_whole)
        {
            portless.find_portless(packets, found, turn);
        }
    }

    /// As [`super::RuleSet::first_that`].
    pub fn first_that(
        &self,
        packet: &Tuple<F::Addr>,
        turn: &Turn<'_>,
        accept: &mut dyn FnMut(u32) -> bool,
    ) -> Option<u32> {
        let mut first = self.rest.first_that(packet, turn, accept);
        for table in &self.tables {
            let before = first.unwrap_or(NONE);
            first = table.first_that(packet, before, self.fragments, accept).or(first);
        }
        first
    }

    #[cold]
    #[inline(never)]
    fn find_portless(&self, packets: &[Tuple<F::Addr>], found: &mut [u32], turn: &Turn<'_>) {
        let mut other = [NONE; BLOCK];
        let other = &mut other[..packets.len()];
        self.rest.find::<simd::V1>(packets, other, turn);
        for table in &self.tables {
            table.find(packets, other, self.fragments);
        }
        for ((packet, found), other) in packets.iter().zip(found).zip(other) {
            if packet.upper.part != Part::Whole {
                *found = (*found).min(*other);
            }
        }
    }
}

/// Distributes rules, which are in order, over tables. Returns the numbers of rules for which there
/// is none beside them.
fn arrange<A: Address>(rules: &[(Ends<A>, Upper, u32)]) -> (Vec<Building<A>>, Vec<u32>) {
    // A seed of each list's own: nobody can choose rules whose hashes are equal.
    let mixer = Mixer::new(RandomState::new().hash_one(rules.len()));
    let (mut tables, mut rest): (Vec<Building<A>>, _) = (Vec::new(), Vec::new());
    for (number, (ends, upper, _)) in (0..).zip(rules) {
        let masks = Mask::of(ends, upper);
        let rule = (ends, upper);
        if masks[3].compares_nothing() {
            rest.push(number);
        } else if !tables.iter_mut().any(|table| table.take(number, rule, &masks[3])) {
            let new = masks.into_iter().find(|mask| {
                !mask.compares_nothing() && tables.iter().all(|table| table.mask != *mask)
            });
            match new.filter(|_| tables.len() < TABLES) {
                Some(mask) => {
                    let hasher = Hasher::new(mixer, &mask);
                    let mut table = Building { mask, hasher, groups: HashMap::new() };
                    table.take(number, rule, &masks[3]);
                    tables.push(table);
                }
                None => rest.push(number),
            }
        }
    }
    join(&mut tables, rules);
    (tables, rest)
}

/// Joins tables that differ in ports only, as far as rules and groups allow: a table costs the same
/// for few rules and for many.
fn join<A: Address>(tables: &mut Vec<Building<A>>, rules: &[(Ends<A>, Upper, u32)]) {
    for with in (0..tables.len()).filter(|at| tables[*at].mask.has_ports()).collect::<Vec<_>>() {
        let of = Mask { ports: [false; 2], ..tables[with].mask };
        let Some(without) = tables.iter().position(|table| table.mask == of) else { continue };
        for (hash, group) in std::mem::take(&mut tables[without].groups) {
            let stays = |number: &u32| {
                let Some((ends, upper, _)) = rules.get(*number as usize) else { return true };
                let [.., exact] = Mask::of(ends, upper);
                !tables[with].take(*number, (ends, upper), &exact)
            };
            let group: Vec<u32> = group.into_iter().filter(stays).collect();
            if !group.is_empty() {
                tables[without].groups.insert(hash, group);
            }
        }
    }
    tables.retain(|table| !table.groups.is_empty());
    for table in tables {
        table.groups.values_mut().for_each(|group| group.sort_unstable());
    }
}

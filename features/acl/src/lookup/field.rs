// SPDX-License-Identifier: Apache-2.0
//! Fields of packets, and the rows of bits that their values have.

use super::Numbered;
use crate::rule::{Ends, Match, Span, Upper};
use cli::{Error, Result};
use net::Net;
use simd::Isa;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use sync::Turn;
use tables::{Forest, Leaf, Lpm, Route};
use wire::{IpProtocol, Prefix};

/// Values of a byte.
const BYTE: usize = 256;

/// A set of rules, a bit for each.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Set(Vec<u64>);

impl Set {
    fn empty(rules: usize) -> Self {
        Self(vec![0; rules.div_ceil(64)])
    }

    fn set(&mut self, rule: usize, on: bool) {
        let (word, bit) = (&mut self.0[rule / 64], 1 << (rule % 64));
        *word = if on { *word | bit } else { *word & !bit };
    }

    fn add(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    /// The first 64 rules.
    pub fn word(&self) -> u64 {
        self.0.first().copied().unwrap_or_default()
    }

    /// The rules whose upper layer is one of these.
    pub fn of(rules: &[Numbered<'_>], is_in: impl Fn(&Upper) -> bool) -> Self {
        let mut set = Self::empty(rules.len());
        for (i, numbered) in rules.iter().enumerate() {
            set.set(i, is_in(&numbered.rule.upper));
        }
        set
    }
}

/// The rows of a field's classes. A row is a summary, which has bit `i` for word `i` that isn't
/// zero, and words with a bit for each rule. Row 0 has all bits.
pub struct Rows {
    stride: usize,
    words: Vec<u64>,
    known: HashMap<Set, u32>,
}

impl Rows {
    fn new(rules: usize) -> Self {
        let mut all = Set::empty(rules);
        (0..rules).for_each(|rule| all.set(rule, true));
        let mut rows =
            Self { stride: all.0.len() + 1, words: Vec::new(), known: HashMap::default() };
        rows.add(all);
        rows
    }

    /// The class of a set: a new one if no class has it.
    fn add(&mut self, set: Set) -> u32 {
        if let Some(class) = self.known.get(&set) {
            return *class;
        }
        let class = self.known.len() as u32;
        let summary = (0..).zip(&set.0).map(|(i, word)| u64::from(*word != 0) << i);
        self.words.push(summary.sum());
        self.words.extend(&set.0);
        self.known.insert(set, class);
        class
    }

    /// The same, once all classes are there.
    fn finish(&mut self) {
        self.known = HashMap::default();
        self.words.shrink_to_fit();
    }

    /// True if all values have the same class: the field decides nothing.
    fn is_one(&self) -> bool {
        self.known.len() == 1
    }

    /// The row of a class.
    #[inline(always)]
    pub fn row(&self, class: u32) -> &[u64] {
        let at = class as usize * self.stride;
        self.words.get(at..at + self.stride).unwrap_or_default()
    }

    /// The first 64 rules of a class.
    #[inline(always)]
    pub fn word(&self, class: u32) -> u64 {
        self.words.get(class as usize * self.stride + 1).copied().unwrap_or_default()
    }

    /// A row of all rules, for fields that decide nothing.
    pub fn all(rules: usize) -> Self {
        Self::new(rules)
    }

    pub fn memory(&self) -> usize {
        size_of_val(self.words.as_slice())
    }
}

/// A source or destination address.
pub struct Addresses<F: Net> {
    networks: Lpm<F::Key>,
    pub rows: Rows,
}

impl<F: Net + Match> Addresses<F> {
    /// Of the networks that `network` finds in the rules; `None` if all addresses have the same
    /// rules.
    ///
    /// # Errors
    /// No address space for the networks.
    pub fn new(
        rules: &[Numbered<'_>],
        network: impl Fn(Ends<F::Addr>) -> Prefix<F::Addr>,
        forest: &Arc<Forest>,
    ) -> Result<Option<Self>> {
        // In order, a network stands before all that it contains.
        let mut networks: BTreeMap<Prefix<F::Addr>, Set> = BTreeMap::new();
        for (i, numbered) in rules.iter().enumerate() {
            let Some(both) = numbered.rule.networks::<F>() else { continue };
            let set = networks.entry(network(both)).or_insert_with(|| Set::empty(rules.len()));
            set.set(i, true);
        }
        let mut rows = Rows::new(rules.len());
        // Addresses outside of all networks.
        networks.entry(Prefix::DEFAULT).or_insert_with(|| Set::empty(rules.len()));
        let mut around: Vec<(Prefix<F::Addr>, Set)> = Vec::new();
        let mut routes = Vec::with_capacity(networks.len());
        for (network, mut set) in networks {
            while around.pop_if(|(outer, _)| !outer.covers(&network)).is_some() {}
            if let Some((_, outer)) = around.last() {
                set.add(outer);
            }
            let leaf = Leaf { hop: rows.add(set.clone()), route: 1 };
            routes.push(Route { key: F::key(network.addr()), len: network.len(), leaf });
            around.push((network, set));
        }
        if rows.is_one() {
            return Ok(None);
        }
        rows.finish();
        let full = || Error::limit("no address space is left for networks of rules");
        let networks = Lpm::new(forest).map_err(|_| full())?;
        if networks.insert_all(&routes) < routes.len() {
            return Err(full());
        }
        Ok(Some(Self { networks, rows }))
    }

    /// The classes of addresses.
    #[inline(always)]
    pub fn classes<I: Isa>(&self, keys: &[F::Key], classes: &mut [u32], turn: &Turn<'_>) {
        self.networks.hops::<I>(keys, classes, turn);
    }
}

/// A port, or type or code of ICMP: pages of classes, of which equal ones are stored once.
pub struct Ports {
    pages: [u16; BYTE],
    classes: Vec<[u16; BYTE]>,
    pub rows: Rows,
}

impl Ports {
    /// Of the numbers that `span` finds in the rules; `None` if all have the same rules.
    pub fn new(rules: &[Numbered<'_>], span: impl Fn(&Upper) -> Span) -> Option<Self> {
        // A rule without a protocol isn't held against ports.
        let span = |upper: &Upper| if upper.protocol == 0 { Span::ALL } else { span(upper) };
        // Rules that begin or end with a number: the set changes there.
        let mut changes: BTreeMap<u32, Vec<(usize, bool)>> = BTreeMap::new();
        for (i, numbered) in rules.iter().enumerate() {
            let Span { first, last } = span(&numbered.rule.upper);
            changes.entry(first.into()).or_default().push((i, true));
            changes.entry(u32::from(last) + 1).or_default().push((i, false));
        }
        let mut rows = Rows::new(rules.len());
        let mut set = Set::empty(rules.len());
        let (mut all, mut class, mut from) = (vec![0; 1 << 16], rows.add(set.clone()), 0);
        for (number, changes) in changes.into_iter().filter(|(number, _)| *number < 1 << 16) {
            all[from..number as usize].fill(class as u16);
            changes.into_iter().for_each(|(rule, on)| set.set(rule, on));
            (class, from) = (rows.add(set.clone()), number as usize);
        }
        all[from..].fill(class as u16);
        if all.iter().all(|class| *class == 0) {
            return None;
        }
        rows.finish();
        let (mut pages, mut classes, mut known) = ([0; BYTE], Vec::new(), HashMap::new());
        for (page, content) in pages.iter_mut().zip(all.as_chunks::<BYTE>().0) {
            *page = *known.entry(content).or_insert_with(|| {
                classes.push(*content);
                classes.len() as u16 - 1
            });
        }
        Some(Self { pages, classes, rows })
    }

    /// The class of a number.
    #[inline(always)]
    pub fn class(&self, number: u16) -> u32 {
        let [page, at] = number.to_be_bytes();
        let page = self.classes.get(usize::from(self.pages[usize::from(page)]));
        page.map_or(0, |page| page[usize::from(at)].into())
    }

    pub fn memory(&self) -> usize {
        self.rows.memory() + size_of_val(self.classes.as_slice())
    }
}

/// The protocol, and what is there of it.
pub struct Protocols {
    classes: [[u16; BYTE]; 3],
    pub rows: Rows,
}

impl Protocols {
    /// Of the rules; `None` if all packets have the same ones.
    pub fn new(rules: &[Numbered<'_>], fragments: bool) -> Option<Self> {
        let mut rows = Rows::new(rules.len());
        let mut row = |is_in: &dyn Fn(&Upper) -> bool| rows.add(Set::of(rules, is_in)) as u16;
        let mut classes = [[0; BYTE]; 3];
        let [whole, later, cut] = &mut classes;
        let any = row(&|rule| rule.protocol == 0);
        for (number, class) in (0..=u8::MAX).zip(whole.iter_mut()) {
            *class = row(&|rule| rule.protocol == 0 || rule.protocol == number);
        }
        *later = if fragments { *whole } else { [any; BYTE] };
        *cut = [any; BYTE];
        if classes.as_flattened().iter().all(|class| *class == 0) {
            return None;
        }
        rows.finish();
        Some(Self { classes, rows })
    }

    /// The class of a protocol, by [`crate::packet::Part`].
    #[inline(always)]
    pub fn class(&self, part: usize, protocol: u8) -> u32 {
        self.classes[part % 3][usize::from(protocol)].into()
    }
}

/// Flags of TCP.
pub struct TcpFlags {
    classes: [u16; BYTE],
    pub rows: Rows,
}

impl TcpFlags {
    /// Of the rules; `None` if none of them compares flags.
    pub fn new(rules: &[Numbered<'_>]) -> Option<Self> {
        if !rules.iter().any(|numbered| numbered.rule.upper.has_flags()) {
            return None;
        }
        let mut rows = Rows::new(rules.len());
        let mut classes = [0; BYTE];
        for (flags, class) in (0..=u8::MAX).zip(&mut classes) {
            let is_in = |rule: &Upper| !rule.has_flags() || flags & rule.flags_mask == rule.flags;
            *class = rows.add(Set::of(rules, is_in)) as u16;
        }
        rows.finish();
        Some(Self { classes, rows })
    }

    /// The class of a packet's flags.
    #[inline(always)]
    pub fn class(&self, protocol: u8, flags: u8) -> u32 {
        if protocol == IpProtocol::TCP.0 { self.classes[usize::from(flags)].into() } else { 0 }
    }
}

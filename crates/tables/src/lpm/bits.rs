// SPDX-License-Identifier: Apache-2.0
//! The bitmap trie: longest prefix match for large IPv4 tables, by two loads and for few addresses
//! two more.
//!
//! A node for each /18 (1 MiB of them) holds a leaf, or leads to a *run*: one word with a bit for
//! each of its 64 /24s that begins a new interval, and behind it the intervals' leaves, packed. The
//! leaf of a /24 with longer prefixes names a *deep run*: four words of bits for the 256 addresses,
//! then leaves. An interval's leaf is found by counting the bits up to the address; there is no
//! search.
//!
//! A run never changes its intervals: a new one is written and the node, or the number of the deep
//! run, is pointed to it. The old one is used again after a grace period. Leaves change in place.
//!
//! Hops are packed with 16 or 32 bits each. The routes, which counting alone needs, stand in an
//! array of their own.

mod change;

use super::block::CHUNK;
use super::engine::{BATCH, Change, Engine, LookupArrays, Refused};
use super::intervals::{DOWN, Intervals};
use super::slot_alloc::SlotAllocator;
use super::{Key, Leaf};
use mem::Reserve;
use simd::Isa;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use sync::{GraceTicket, Qsbr};

/// Nodes, one for each /18.
pub(super) const NODES: usize = 1 << 18;
/// In a node: a hop, and not a run's first word. In what a lookup has found: the number of a deep
/// run.
pub(super) const MARK: u32 = 1 << 31;
const _: () = assert!(MARK as u64 == DOWN);
/// Words of runs: address space of 1 GiB.
const WORDS: u32 = 1 << 27;
/// So few keys aren't worth clearing room for [`CHUNK`].
const FEW: usize = 4;
/// Words of bits of a deep run.
pub(super) const DEEP: u32 = 4;

/// A table with `PER` leaves to a word: 4, whose hops and numbers of deep runs have 15 bits, or 2,
/// with 31.
pub struct Bits<const PER: u32> {
    /// Zero leads to the run at word 0, which has no route.
    pub(super) nodes: Reserve<AtomicU32>,
    pub(super) words: Reserve<AtomicU64>,
    /// Routes: of the nodes, then of all leaves that the words have room for. On top, the length
    /// of the prefix plus one.
    pub(super) routes: Reserve<AtomicU32>,
    /// The first word of each deep run.
    pub(super) deep: Reserve<AtomicU32>,
    pub(super) control: Mutex<Control>,
}

/// State of control, which lookups don't need.
pub(super) struct Control {
    pub places: SlotAllocator,
    pub deep: Numbers,
    /// Kept for their memory.
    blank: Vec<Intervals>,
}

impl Control {
    /// An empty row.
    pub fn blank(&mut self) -> Intervals {
        self.blank.pop().unwrap_or_default()
    }

    /// Takes back a row.
    pub fn spare(&mut self, mut row: Intervals) {
        row.clear();
        self.blank.push(row);
    }
}

/// Numbers, used again after a grace period.
pub(super) struct Numbers {
    domain: Arc<Qsbr>,
    end: u32,
    free: Vec<u32>,
    hot: Vec<u32>,
    cooling: Option<(GraceTicket, Vec<u32>)>,
}

impl Numbers {
    fn new(domain: Arc<Qsbr>) -> Self {
        Self { domain, end: 0, free: Vec::new(), hot: Vec::new(), cooling: None }
    }

    pub fn take(&mut self, limit: u32) -> Option<u32> {
        if let Some(number) = self.free.pop() {
            return Some(number);
        }
        if let Some((_, mut cooled)) = self.cooling.take_if(|(ticket, _)| ticket.is_over()) {
            self.free.append(&mut cooled);
        }
        if self.cooling.is_none() && !self.hot.is_empty() {
            self.cooling = Some((self.domain.grace(), std::mem::take(&mut self.hot)));
        }
        self.free.pop().or_else(|| {
            let number = self.end;
            self.end += u32::from(number < limit);
            (number < limit).then_some(number)
        })
    }

    pub fn give(&mut self, number: u32) {
        self.hot.push(number);
    }
}

impl<const PER: u32> Bits<PER> {
    pub(super) const BITS: u32 = 64 / PER;
    /// In a leaf: the number of a deep run, and not a hop.
    pub(super) const TOP: u32 = 1 << (Self::BITS - 1);
    /// Deep runs at most.
    pub(super) const DEEP_RUNS: u32 = if PER == 4 { Self::TOP } else { 1 << 24 };

    /// A table that answers [`Leaf::NONE`] everywhere, for the readers of `domain`; on huge pages
    /// where the system has them.
    ///
    /// # Errors
    /// When address space is used up or limited: see [`Reserve::new`].
    pub fn new(domain: Arc<Qsbr>) -> io::Result<Self> {
        let mut places = SlotAllocator::new(domain.clone(), WORDS);
        places.take(2);
        let this = Self {
            nodes: Reserve::with_huge_pages(NODES)?,
            words: Reserve::with_huge_pages(WORDS as usize)?,
            routes: Reserve::new(NODES + (WORDS * PER) as usize)?,
            deep: Reserve::new(Self::DEEP_RUNS as usize)?,
            control: Mutex::new(Control { places, deep: Numbers::new(domain), blank: Vec::new() }),
        };
        // One interval with the leaf zero.
        this.words[0].store(1, Ordering::Relaxed);
        Ok(this)
    }

    /// The leaf of this number: word, and place in it.
    #[inline(always)]
    pub(super) fn leaf(words: &[AtomicU64], leaf: u32) -> u32 {
        Self::leaf_of(words[(leaf / PER) as usize].load(Ordering::Acquire), leaf)
    }

    /// The same of its word.
    #[inline(always)]
    fn leaf_of(word: u64, leaf: u32) -> u32 {
        (word >> u64::from(leaf % PER * Self::BITS)) as u32 & (Self::TOP | (Self::TOP - 1))
    }

    /// The number of the leaf of an address behind the run at word `run`.
    #[inline(always)]
    fn in_run(words: &[AtomicU64], run: u32, key: u32) -> u32 {
        Self::behind(words[run as usize].load(Ordering::Acquire), run, key)
    }

    /// The same of the run's bits.
    #[inline(always)]
    fn behind(bits: u64, run: u32, key: u32) -> u32 {
        run * PER + PER - 1 + (bits << (63 - u64::from(key >> 8 & 63))).count_ones()
    }

    /// As [`Self::in_run`], in a deep one.
    #[inline(always)]
    fn in_deep(words: &[AtomicU64], run: u32, key: u32) -> u32 {
        let (at, bit) = (key >> 6 & 3, key & 63);
        let mut before = 0;
        for i in 0..DEEP {
            let bits = words[(run + i) as usize].load(Ordering::Relaxed);
            let upto = if i < at { bits } else { bits << (63 - bit) };
            before += if i <= at { upto.count_ones() } else { 0 };
        }
        (run + DEEP) * PER + before - 1
    }
}

impl<const PER: u32> Engine<u32> for Bits<PER> {
    #[inline(always)]
    fn lookup(&self, key: u32) -> Leaf {
        let (mut hops, mut routes) = ([0], [0]);
        self.leaves::<simd::V1, true>(&[key], &mut hops, &mut routes);
        Leaf { hop: hops[0], route: routes[0] }
    }

    #[inline(always)]
    fn arrays(&self) -> LookupArrays<'_> {
        LookupArrays { nodes: self.nodes.as_slice(), words: self.words.as_slice() }
    }

    #[inline(always)]
    fn locate<I: Isa>(&self, keys: &[u32], places: &mut [u32]) {
        let nodes = self.nodes.as_slice();
        for (place, key) in places.iter_mut().zip(keys) {
            *place = nodes[key.node()].load(Ordering::Acquire);
        }
    }

    #[inline(always)]
    fn read_leaves<I: Isa, const ROUTES: bool>(
        &self,
        keys: &[u32],
        hops: &mut [u32],
        routes: &mut [u32],
    ) {
        let words = self.words.as_slice();
        let mut any = 0;
        if keys.len() <= FEW {
            any = Self::part::<ROUTES, FEW>(words, keys, hops, routes);
        } else {
            for first in (0..keys.len()).step_by(CHUNK) {
                let end = keys.len().min(first + CHUNK);
                let routes = if ROUTES { &mut routes[first..end] } else { &mut [][..] };
                any |= Self::part::<ROUTES, CHUNK>(
                    words,
                    &keys[first..end],
                    &mut hops[first..end],
                    routes,
                );
            }
        }
        if any & MARK != 0 {
            self.leaves_below::<ROUTES>(words, keys, hops, routes);
        }
        if ROUTES {
            let of_leaves = self.routes.as_slice();
            routes.iter().for_each(|number| simd::prefetch_read(&of_leaves[*number as usize]));
        }
    }

    #[inline(always)]
    fn resolve(&self, routes: &mut [u32]) {
        let of_leaves = self.routes.as_slice();
        for route in routes {
            *route = of_leaves[*route as usize].load(Ordering::Relaxed) & (Leaf::ROUTES - 1);
        }
    }

    fn cell(&self, key: u32) -> u64 {
        let words = self.words.as_slice();
        let node = self.nodes[(key >> 14) as usize].load(Ordering::Relaxed);
        let (hop, number) = if node & MARK != 0 {
            (node & !MARK, key >> 14)
        } else {
            let mut number = Self::in_run(words, node, key);
            let mut leaf = Self::leaf(words, number);
            if leaf & Self::TOP != 0 {
                let run = self.deep[(leaf ^ Self::TOP) as usize].load(Ordering::Relaxed);
                number = Self::in_deep(words, run, key);
                leaf = Self::leaf(words, number);
            }
            (leaf, NODES as u32 + number)
        };
        u64::from(self.routes[number as usize].load(Ordering::Relaxed)) << 32 | u64::from(hop)
    }

    fn paint(&self, change: &Change<u32>) -> Result<(), Refused> {
        self.change(change)
    }

    fn paint_all(&self, changes: &[Change<u32>]) -> Result<(), (usize, Refused)> {
        self.change_all(changes)
    }

    fn memory(&self) -> usize {
        let control = self.control.lock().expect("no panic inside");
        let leaves = NODES * 2 + control.places.used() * PER as usize + control.deep.end as usize;
        control.places.used() * size_of::<u64>() + leaves * size_of::<u32>()
    }
}

/// All ones if a node or place holds a hop, and isn't a run's first word.
#[inline(always)]
fn direct(place: u32) -> u32 {
    (place as i32 >> 31) as u32
}

impl<const PER: u32> Bits<PER> {
    /// The second step for a part of the keys, `N` at most; returns the bitwise or of all hops
    /// found. Scalar loops for what loads, and loops between them over all, which become
    /// vectors.
    #[inline(always)]
    fn part<const ROUTES: bool, const N: usize>(
        words: &[AtomicU64],
        keys: &[u32],
        hops: &mut [u32],
        routes: &mut [u32],
    ) -> u32 {
        let n = keys.len().min(N);
        let (keys, hops) = (&keys[..n], &mut hops[..n]);
        let (mut found, mut numbers) = ([0u64; N], [0u32; N]);
        let (found, numbers) = (&mut found[..n], &mut numbers[..n]);
        for ((bits, number), place) in found.iter_mut().zip(&mut *numbers).zip(&*hops) {
            // A key that has its hop already reads the first run and keeps the hop.
            *number = *place & !direct(*place);
            *bits = words[*number as usize].load(Ordering::Acquire);
        }
        for ((number, bits), key) in numbers.iter_mut().zip(&*found).zip(keys) {
            *number = Self::behind(*bits, *number, *key);
        }
        for (word, number) in found.iter_mut().zip(&*numbers) {
            *word = words[(*number / PER) as usize].load(Ordering::Acquire);
        }
        if ROUTES {
            for (((route, number), place), key) in
                routes.iter_mut().zip(&*numbers).zip(&*hops).zip(keys)
            {
                let had = direct(*place);
                *route = *key >> 14 & had | (NODES as u32 + *number) & !had;
            }
        }
        let mut any = 0;
        for ((hop, word), number) in hops.iter_mut().zip(&*found).zip(&*numbers) {
            let leaf = Self::leaf_of(*word, *number);
            let (down, had) = (leaf & Self::TOP, direct(*hop));
            let leaf = (leaf ^ down) | down << (32 - Self::BITS);
            *hop = leaf & !had | *hop & !MARK & had;
            any |= *hop;
        }
        any
    }

    /// Finishes the keys of a batch whose leaf is in a deep run.
    #[inline(always)]
    fn leaves_below<const ROUTES: bool>(
        &self,
        words: &[AtomicU64],
        keys: &[u32],
        hops: &mut [u32],
        routes: &mut [u32],
    ) {
        let (mut list, mut n) = ([0u16; BATCH], 0);
        for (i, hop) in hops.iter().enumerate() {
            list[n] = i as u16;
            n += (hop >> 31) as usize;
        }
        let list = &list[..n];
        for i in list.iter().map(|i| usize::from(*i)) {
            hops[i] = self.deep[(hops[i] & !MARK) as usize].load(Ordering::Acquire);
            simd::prefetch_ptr(&words[hops[i] as usize]);
        }
        for i in list.iter().map(|i| usize::from(*i)) {
            let number = Self::in_deep(words, hops[i], keys[i]);
            hops[i] = Self::leaf(words, number);
            if ROUTES {
                routes[i] = NODES as u32 + number;
            }
        }
    }
}

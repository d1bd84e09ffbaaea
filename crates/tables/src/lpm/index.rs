// SPDX-License-Identifier: Apache-2.0
//! Longest prefix match for large IPv6 tables: a search tree, and its intervals once more where the
//! first bits of a key lead to.
//!
//! The first 24 bits of a global unicast address (2000::/3, RFC 4291 section 2.4) name a *slot*. A
//! slot leads to a [line of intervals](leaves), or up to two levels of lines with sixteen
//! separators above such lines. A separator is 32 bits wide, which are the bits of the key behind
//! the slot's; a /56 that is cut up has a line of intervals for itself, whose separators are the 32
//! bits up to /64. The tree is asked for keys that the index doesn't hold, and for keys outside of
//! 2000::/3. So a lookup reads two to four lines, where the tree reads seven or eight, and most of
//! their separators aren't shared by as many keys. A slot without boundaries leads to a
//! line that all slots with the same cell share.
//!
//! The tree is authoritative: it is changed first, and the slots that a change touched are made
//! anew from it. A slot is replaced by one store; its old lines are used again after a grace
//! period.

mod leaves;
mod make;

use super::block::CHUNK;
use super::engine::{Change, Engine, LookupArrays, Refused};
use super::forest::Forest;
use super::intervals::{DOWN, leaf};
use super::packed::Line;
use super::slot_alloc::LINE;
use super::tree::{SplitKey, Tree, last};
use super::{Leaf, ResultKind};
use leaves::ASK;
use make::Control;
use mem::Reserve;
use simd::Isa;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Slots of 2000::/3. The slot behind them is for all other keys.
pub(super) const SLOTS: usize = 1 << 21;
/// Separators have the bits of a prefix of this length.
pub(super) const FINEST: u8 = 56;
/// Bits of a key's first 64 behind those.
const FINE: u32 = 64 - FINEST as u32;
/// Lines reserved: address space of 1 GiB.
const LINES: usize = 1 << 24;
/// Separators of a line; one more line lies below them.
const WIDTH: u32 = 16;

/// The lines that a slot leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry(u32);

impl Entry {
    /// The tree is asked about all of the slot: line 0 has no separators, and its cells are
    /// [`ASK`]. Slots begin with this.
    const ASK: Self = Self(0);
    /// It is a line of separators: the lines behind it are the lines below.
    const ONE_LEVEL: u32 = 1 << 31;
    /// Two levels: behind it [`Self::BELOW`] lines of separators, and behind these the lines below.
    const TWO_LEVELS: u32 = Self::ONE_LEVEL | Self::SECOND;
    const SECOND: u32 = 1 << 30;
    /// Other slots lead to the same line.
    const SHARED: u32 = 1 << 29;
    /// Lines below one of separators; room for the second level.
    const BELOW: u32 = WIDTH + 1;

    #[inline(always)]
    fn line(self) -> u32 {
        self.0 & (LINES as u32 - 1)
    }

    /// All bits if it has so many levels, or none.
    #[inline(always)]
    fn has_level(self, level: u32) -> u32 {
        ((self.0 << (level - 1)) as i32 >> 31) as u32
    }
}

/// The slot of a key's first 64 bits.
#[inline(always)]
pub(super) fn slot(key: u64) -> u32 {
    ((key >> 40) as u32).wrapping_sub(0x20_0000).min(SLOTS as u32)
}

/// The bits of a key that separators are compared with.
#[inline(always)]
fn fine(key: u64) -> u32 {
    (key >> FINE) as u32
}

/// The same where a /56 is cut up.
#[inline(always)]
fn finer(key: u64) -> u32 {
    key as u32
}

/// A tree with an index.
pub struct Indexed {
    tree: Arc<Tree>,
    /// The kind of result that the lines of intervals hold.
    wanted: ResultKind,
    slots: Reserve<AtomicU32>,
    lines: Reserve<Line>,
    control: Mutex<Control>,
}

impl Indexed {
    /// A table that answers [`Leaf::NONE`] everywhere.
    ///
    /// # Errors
    /// A full forest.
    pub fn new(forest: &Arc<Forest>, wanted: ResultKind) -> Result<Self, Refused> {
        Self::over(Arc::new(Tree::new(forest)?), forest, wanted)
    }

    /// The same table with an index for lookups that want something else.
    ///
    /// # Errors
    /// No address space.
    pub fn again(&self, forest: &Arc<Forest>, wanted: ResultKind) -> Result<Self, Refused> {
        let this = Self::over(self.tree.clone(), forest, wanted)?;
        this.make(&mut this.control(), 0, SLOTS as u32 - 1);
        Ok(this)
    }

    fn over(tree: Arc<Tree>, forest: &Arc<Forest>, wanted: ResultKind) -> Result<Self, Refused> {
        let reserve = || -> io::Result<_> {
            Ok((Reserve::with_huge_pages(SLOTS + 1)?, Reserve::<Line>::with_huge_pages(LINES)?))
        };
        let (slots, lines) = reserve().map_err(|_| Refused::Full)?;
        lines[0].iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
        let mut control = Control::new(forest.domain(), LINES as u32 * LINE);
        let zero = control.take(1);
        debug_assert_eq!(zero, Some(Entry::ASK.line()));
        Ok(Self { tree, wanted, slots, lines, control: Mutex::new(control) })
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From keys to lines of intervals; `places` has as many.
    #[inline(always)]
    fn places<I: Isa>(&self, keys: &[u128], places: &mut [u32]) {
        let (slots, lines) = (self.slots.as_slice(), self.lines.as_slice());
        let n = keys.len().min(CHUNK);
        // Scalar loops for what loads, and loops between them over all, which become vectors.
        let (mut at, mut keys_fine, mut entries) = ([0; CHUNK], [0; CHUNK], [Entry::ASK; CHUNK]);
        for ((at, fine_of), key) in at.iter_mut().zip(&mut keys_fine).zip(keys) {
            (*at, *fine_of) = (slot(key.high()), fine(key.high()));
        }
        for (entry, at) in entries[..n].iter_mut().zip(&at) {
            *entry = Entry(slots[*at as usize].load(Ordering::Acquire));
            simd::prefetch_read(&lines[entry.line() as usize]);
        }
        for (at, entry) in at.iter_mut().zip(&entries) {
            *at = entry.line() & entry.has_level(1);
        }
        for (at, key) in at[..n].iter_mut().zip(&keys_fine) {
            *at = simd::rank_of_sixteen::<I>(&lines[*at as usize], key);
        }
        let mut below = [0; CHUNK];
        for ((at, below), entry) in at.iter_mut().zip(&mut below).zip(&entries) {
            let (first, second, rank) = (entry.has_level(1), entry.has_level(2), *at);
            *at = (entry.line() + 1 + rank) & second;
            // Behind the separators; each of the second level has as many lines below.
            *below = entry.line()
                + (first & 1)
                + (second & Entry::BELOW)
                + rank
                + ((rank * WIDTH) & second);
        }
        for (at, key) in at[..n].iter_mut().zip(&keys_fine) {
            *at = simd::rank_of_sixteen::<I>(&lines[*at as usize], key);
        }
        for ((place, at), below) in places.iter_mut().zip(&at).zip(&below) {
            *place = (at + below) * LINE;
        }
    }

    /// The cell of a key whose line of intervals has no leaf for it but this.
    #[inline(always)]
    fn below<I: Isa>(&self, hop: u32, key: u128) -> u64 {
        if hop != ASK as u32 {
            let line = &self.lines.as_slice()[(hop & !(DOWN as u32)) as usize];
            let cell = leaves::kept_of::<I>(self.wanted, line, finer(key.high()));
            if cell & DOWN == 0 {
                return cell;
            }
        }
        self.tree.find::<I, u128>(key)
    }

    /// Makes the slots anew that have keys of these prefixes.
    fn refresh<'a>(&self, changes: impl Iterator<Item = &'a Change<u128>>) {
        let mut control = self.control();
        // Changes in order are joined as they come.
        let mut due: Option<(u32, u32)> = None;
        for change in changes {
            let key = change.key.high();
            let Some((from, to)) = make::slots(key, last(key, change.len.min(64))) else {
                continue;
            };
            due = match due {
                Some((first, until)) if first <= from && from <= until => {
                    Some((first, until.max(to)))
                }
                _ => {
                    if let Some((from, to)) = due {
                        self.make(&mut control, from, to);
                    }
                    Some((from, to))
                }
            };
        }
        if let Some((from, to)) = due {
            self.make(&mut control, from, to);
        }
    }
}

impl Engine<u128> for Indexed {
    #[inline(always)]
    fn lookup(&self, key: u128) -> Leaf {
        self.tree.lookup(key)
    }

    fn cell(&self, key: u128) -> u64 {
        Engine::<u128>::cell(&*self.tree, key)
    }

    #[inline(always)]
    fn arrays(&self) -> LookupArrays<'_> {
        LookupArrays { nodes: self.slots.as_slice(), words: self.lines.as_slice().as_flattened() }
    }

    #[inline(always)]
    fn locate<I: Isa>(&self, keys: &[u128], places: &mut [u32]) {
        for (keys, places) in keys.chunks(CHUNK).zip(places.chunks_mut(CHUNK)) {
            self.places::<I>(keys, places);
        }
    }

    #[inline(always)]
    fn read_leaves<I: Isa, const ROUTES: bool>(
        &self,
        keys: &[u128],
        hops: &mut [u32],
        routes: &mut [u32],
    ) {
        let (lines, mut any) = (self.lines.as_slice(), 0);
        match self.wanted {
            // While the table turns from one to the other, a few lookups ask for routes that these
            // lines don't hold.
            ResultKind::Hops if ROUTES => {
                hops.fill(ASK as u32);
                any = ASK as u32;
            }
            ResultKind::Hops => {
                for (key, hop) in keys.iter().zip(&mut *hops) {
                    *hop = leaves::hop::<I>(&lines[(*hop / LINE) as usize], fine(key.high()));
                    any |= *hop;
                }
            }
            ResultKind::Routes => {
                for (i, (key, hop)) in keys.iter().zip(&mut *hops).enumerate() {
                    let leaf =
                        leaf(leaves::cell::<I>(&lines[(*hop / LINE) as usize], fine(key.high())));
                    any |= leaf.hop;
                    *hop = leaf.hop;
                    if ROUTES {
                        routes[i] = leaf.route;
                    }
                }
            }
        }
        if any & DOWN as u32 == 0 {
            return;
        }
        for (i, key) in keys.iter().enumerate() {
            if hops[i] & DOWN as u32 != 0 {
                let leaf = leaf(self.below::<I>(hops[i], *key));
                hops[i] = leaf.hop;
                if ROUTES {
                    routes[i] = leaf.route;
                }
            }
        }
    }

    #[inline(always)]
    fn resolve(&self, _: &mut [u32]) {}

    fn paint(&self, change: &Change<u128>) -> Result<(), Refused> {
        self.tree.paint(change)?;
        self.refresh([change].into_iter());
        Ok(())
    }

    fn paint_all(&self, changes: &[Change<u128>]) -> Result<(), (usize, Refused)> {
        let result = self.tree.paint_all(changes);
        let done = result.map_or_else(|(done, _)| done, |()| changes.len());
        self.refresh(changes[..done].iter());
        result
    }

    fn memory(&self) -> usize {
        let control = self.control();
        Engine::<u128>::memory(&*self.tree) + SLOTS * size_of::<u32>() + control.memory()
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The entries of a table, and the lists through them.

use crate::chunks::Chunks;

/// No entry and no list.
pub const NONE: u32 = u32::MAX;
/// Numbers from here on are heads of lists; numbers below are entries.
const HEADS: u32 = 1 << 31;
/// The links of the timer wheel's lists, as a set.
pub const TIMER: usize = usize::MAX;

/// The neighbours of an entry in a list, or the oldest and the newest entry of a list: a list is a
/// circle that goes through its head.
#[derive(Clone, Copy)]
pub struct Links {
    newer: u32,
    older: u32,
}

const UNLINKED: Links = Links { newer: NONE, older: NONE };

/// An entry; what a lookup reads is in front.
#[repr(C)]
pub struct Entry<K, V, const N: usize, const KEYS: usize> {
    /// Odd while the entry is in use.
    pub generation: u32,
    /// The tick of the last packet, and the ticks from there to the end.
    pub touched: u32,
    pub timeout: u32,
    /// The same key several times is one.
    pub keys: [K; KEYS],
    pub value: V,
    timer: Links,
    orders: [Links; N],
}

impl<K, V, const N: usize, const KEYS: usize> Entry<K, V, N, KEYS> {
    pub const fn new(
        generation: u32,
        keys: [K; KEYS],
        value: V,
        touched: u32,
        timeout: u32,
    ) -> Self {
        let (timer, orders) = (UNLINKED, [UNLINKED; N]);
        Self { generation, touched, timeout, keys, value, timer, orders }
    }

    #[inline(always)]
    pub const fn is_used(&self) -> bool {
        self.generation & 1 == 1
    }

    /// Returns true if it is in a list of a set.
    #[inline(always)]
    pub fn is_linked(&self, set: usize) -> bool {
        self.links(set).newer != NONE
    }

    /// Prefetches what a lookup reads: the key and the beginning of the value.
    #[inline(always)]
    pub fn prefetch(&self) {
        simd::prefetch_read(&self.generation);
        simd::prefetch_read(&self.value);
    }

    /// The tick from which on it has ended.
    #[inline(always)]
    pub fn deadline(&self) -> u64 {
        u64::from(self.touched) + u64::from(self.timeout)
    }

    #[inline(always)]
    fn links(&self, set: usize) -> &Links {
        if set == TIMER { &self.timer } else { &self.orders[set] }
    }

    #[inline(always)]
    fn links_mut(&mut self, set: usize) -> &mut Links {
        if set == TIMER { &mut self.timer } else { &mut self.orders[set] }
    }
}

/// All entries, with the lists through them. A list has one set of links, and an entry is in one
/// list of each set at most.
pub struct Entries<K, V, const N: usize, const KEYS: usize> {
    pub all: Chunks<Entry<K, V, N, KEYS>>,
    /// The list of free entries has the links of the timer wheel.
    heads: Chunks<Links>,
}

impl<K, V, const N: usize, const KEYS: usize> Entries<K, V, N, KEYS> {
    /// With empty lists. List 0 has the free entries.
    pub fn new(lists: u32) -> Self {
        let mut this = Self { all: Chunks::new(), heads: Chunks::new() };
        this.add_lists(lists);
        this
    }

    /// Adds empty lists behind the ones that there are.
    pub fn add_lists(&mut self, n: u32) {
        for _ in 0..n {
            let head = HEADS | self.heads.len();
            self.heads.push(Links { newer: head, older: head });
        }
    }

    #[inline(always)]
    fn links(&mut self, set: usize, at: u32) -> &mut Links {
        if at < HEADS { self.all[at].links_mut(set) } else { &mut self.heads[at & !HEADS] }
    }

    /// Appends an entry to a list, as the newest, from where it was in another list of the set.
    pub fn append(&mut self, set: usize, list: u32, at: u32) {
        self.unlink(set, at);
        let head = HEADS | list;
        let older = std::mem::replace(&mut self.links(set, head).older, at);
        self.links(set, older).newer = at;
        *self.links(set, at) = Links { newer: head, older };
    }

    /// Takes an entry out of the list that it is in, if any.
    pub fn unlink(&mut self, set: usize, at: u32) {
        let Links { newer, older } = std::mem::replace(self.links(set, at), UNLINKED);
        if newer != NONE {
            self.links(set, newer).older = older;
            self.links(set, older).newer = newer;
        }
    }

    /// Takes an entry out of all its lists.
    pub fn unlink_all(&mut self, at: u32) {
        self.unlink(TIMER, at);
        (0..N).for_each(|set| self.unlink(set, at));
    }

    /// Returns the oldest entry of a list.
    #[inline(always)]
    pub fn oldest(&self, list: u32) -> Option<u32> {
        let oldest = self.heads[list].newer;
        (oldest < HEADS).then_some(oldest)
    }

    /// Returns the newest entry of a list.
    fn newest(&self, list: u32) -> Option<u32> {
        let newest = self.heads[list].older;
        (newest < HEADS).then_some(newest)
    }

    /// Returns the next newer entry of a list.
    pub fn newer(&self, set: usize, at: u32) -> Option<u32> {
        Some(self.all.get(at)?.links(set).newer).filter(|newer| *newer < HEADS)
    }

    /// Returns the entry freed last, which is in the cache most likely, or a new one.
    pub fn alloc(&mut self, keys: [K; KEYS], value: V) -> u32
    where
        K: Copy,
    {
        let entry = Entry::new(1, keys, value, 0, NONE);
        if let Some(at) = self.newest(0) {
            self.unlink(TIMER, at);
            let old = &mut self.all[at];
            let generation = old.generation.wrapping_add(1);
            *old = Entry { generation, ..entry };
            return at;
        }
        self.all.push(entry)
    }

    /// Frees an entry, and returns what it had.
    pub fn free(&mut self, at: u32) -> V
    where
        V: Default,
    {
        self.unlink_all(at);
        self.append(TIMER, 0, at);
        let entry = &mut self.all[at];
        entry.generation = entry.generation.wrapping_add(1);
        std::mem::take(&mut entry.value)
    }
}

// SPDX-License-Identifier: Apache-2.0
//! MAC address tables of bridge domains. Workers look addresses up and learn them without a lock.

mod entry;
mod level;
mod walk;

pub use entry::{MacEntry, MacKey};
pub use walk::MacWalk;

use level::{Bucket, Level};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::{GraceTicket, Qsbr, Snapshot, Turn};

/// Entries of a bucket. Four keys and four values are one cache line.
const WAYS: usize = 4;
/// A slot that holds nothing.
const FREE: u64 = 0;
/// Bit of a slot's key: the slot is being filled. Keys of lookups don't have it.
const PENDING: u64 = 1;
/// Key of a slot whose entry was removed. It becomes free when no worker can refer to that entry
/// any more.
const DEAD: u64 = PENDING;
/// Value of a removed entry. No entry has it, so a worker that still has the old value can't
/// replace it.
const GONE: u64 = u64::MAX;
/// Buckets of a new table: 65,536 slots in 1 MiB.
const FIRST: usize = 1 << 14;
/// Buckets of the largest table: room for 2²⁴ entries at the load that makes tables grow.
const LAST: usize = 1 << 24;
/// Each growth multiplies the number of buckets by this.
const GROWTH: usize = 4;
/// Buckets that control reads or changes in one call.
pub const PIECE: usize = 1024;
/// Attempts of an insertion while other threads fill or free slots of the same buckets.
const ATTEMPTS: usize = 16;

/// The state of a table's growth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrowthState {
    /// The table doesn't grow.
    Idle,
    /// Workers have yet to see the larger table.
    Waiting,
    /// Entries are being moved, a part in each call of [`MacTable::maintain`].
    Moving,
}

/// The reason that an entry wasn't inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotInserted {
    /// Both buckets of the key are full. The table grows with [`MacTable::maintain`].
    Full,
    /// The key is in the table, or another thread is inserting it.
    Busy,
    /// The address is zero.
    Zero,
}

/// The levels in use.
#[derive(Clone)]
struct Levels {
    current: Arc<Level>,
    /// While the table grows: entries that aren't in `current` yet, the largest level first.
    /// Nothing is inserted there.
    previous: Vec<Arc<Level>>,
}

impl Levels {
    fn all(&self) -> impl Iterator<Item = &Arc<Level>> {
        std::iter::once(&self.current).chain(&self.previous)
    }
}

/// A table as the lookups of a turn see it.
#[derive(Clone, Copy)]
pub struct MacView<'t> {
    current: &'t Level,
    previous: &'t [Arc<Level>],
    len: &'t AtomicUsize,
}

/// Hash of a key in a [`MacView`]: its bucket, if the table has the key.
#[derive(Clone, Copy, Debug)]
pub struct MacHash(u64);

impl MacHash {
    /// The hash of no key.
    pub const NONE: Self = Self(0);
}

/// The result of a lookup: an entry that [`MacView::replace`] can change.
#[derive(Clone, Copy)]
pub struct MacHit<'t> {
    /// `None` for an entry of a previous level, which isn't changed in place.
    value: Option<&'t AtomicU64>,
    /// The entry when it was found.
    pub entry: MacEntry,
}

impl<'t> MacView<'t> {
    /// Prefetches the first bucket of a key: 85 of 100 keys are there in a table that is about to
    /// grow, and nearly all in one that has just grown. Returns the hash for [`Self::find_at`].
    #[inline(always)]
    pub fn prefetch(self, key: MacKey) -> MacHash {
        let hash = self.current.hash(key);
        simd::prefetch_read(self.current.first(hash));
        MacHash(hash)
    }

    /// Looks a key up.
    #[inline(always)]
    pub fn find(self, key: MacKey) -> Option<MacHit<'t>> {
        self.find_at(key, MacHash(self.current.hash(key)))
    }

    /// Looks a key up whose bucket was prefetched.
    #[inline(always)]
    pub fn find_at(self, key: MacKey, hash: MacHash) -> Option<MacHit<'t>> {
        if let Some((value, entry)) = self.current.find_hashed(key, hash.0) {
            return Some(MacHit { value: Some(value), entry });
        }
        self.find_previous(key)
    }

    #[inline(always)]
    fn find_previous(self, key: MacKey) -> Option<MacHit<'t>> {
        let (_, entry) = self.previous.iter().find_map(|level| level.find(key))?;
        Some(MacHit { value: None, entry })
    }

    /// Replaces an entry by another and returns whether it did: not if the entry has changed since
    /// it was found, nor in the moment in which control copies it to a larger table.
    #[inline(always)]
    pub fn replace(self, found: MacHit<'t>, new: MacEntry) -> bool {
        let old = found.entry.word();
        found.value.is_some_and(|value| {
            value.compare_exchange(old, new.word(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }

    /// Inserts an entry.
    ///
    /// # Errors
    /// See [`NotInserted`].
    #[inline]
    pub fn insert(self, key: MacKey, entry: MacEntry) -> Result<(), NotInserted> {
        if self.find_previous(key).is_some() {
            return Err(NotInserted::Busy);
        }
        self.current.insert(key, entry)?;
        self.len.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// A table from MAC address and bridge domain to port: two-choice hashing with a cache line a
/// bucket. Any thread looks up, inserts and replaces; one thread at a time, control, removes
/// entries and lets the table grow.
///
/// A removed entry's slot is used again only after a grace period, so a worker that has found an
/// entry in its turn can replace it by one compare-exchange and can't hit another key's entry.
pub struct MacTable {
    levels: Snapshot<Levels>,
    len: Arc<AtomicUsize>,
    domain: Arc<Qsbr>,
    growth: std::sync::Mutex<Option<Growth>>,
}

/// The bucket and the position in it of an entry, and its key.
type Slot = (usize, usize, MacKey);

/// A growth that is going on.
enum Growth {
    /// Until all workers see the new level.
    Waiting(GraceTicket),
    /// Entries are being moved to the new level: the next bucket of the old one.
    Moving(usize),
}

impl MacTable {
    /// An empty table for the readers of `domain`.
    ///
    /// # Panics
    /// If there is no address space for 1 MiB.
    pub fn new(domain: Arc<Qsbr>) -> Self {
        Self::sized(domain, FIRST)
    }

    fn sized(domain: Arc<Qsbr>, buckets: usize) -> Self {
        let level = Level::new(buckets).expect("address space for a table of MAC addresses");
        let levels = Levels { current: Arc::new(level), previous: Vec::new() };
        let levels = Snapshot::new(domain.clone(), levels);
        Self { levels, len: Arc::default(), domain, growth: std::sync::Mutex::default() }
    }

    /// For the lookups of a worker's turn.
    #[inline(always)]
    pub fn view<'t>(&'t self, turn: &'t Turn<'_>) -> MacView<'t> {
        let levels = self.levels.get(turn);
        MacView { current: &levels.current, previous: &levels.previous, len: &self.len }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of address space of the buckets.
    pub fn memory(&self) -> usize {
        self.levels().all().map(|level| level.buckets.len() * size_of::<Bucket>()).sum()
    }

    /// Control's references: levels live as long as these.
    fn levels(&self) -> Levels {
        self.levels.read(Levels::clone)
    }

    /// Control: the entry of a key.
    pub fn get(&self, key: MacKey) -> Option<MacEntry> {
        self.levels().all().find_map(|level| Some(level.find(key)?.1))
    }

    /// Control: inserts an entry, or replaces the one that is there, which it returns.
    ///
    /// # Errors
    /// No room: the table's size was exhausted, or the address is zero.
    pub fn set(&self, key: MacKey, entry: MacEntry) -> Result<Option<MacEntry>, NotInserted> {
        loop {
            let levels = self.levels();
            if let Some((value, _)) = levels.current.find(key) {
                return Ok(Some(MacEntry::of(value.swap(entry.word(), Ordering::AcqRel))));
            }
            // A key is in one level.
            let old = levels.previous.iter().find_map(|level| self.remove_from(level, key));
            match levels.current.insert(key, entry) {
                Ok(()) => {
                    self.len.fetch_add(1, Ordering::Relaxed);
                    return Ok(old);
                }
                // A worker is learning it: look again.
                Err(NotInserted::Busy) => std::hint::spin_loop(),
                Err(NotInserted::Full) if self.grow_now() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Control: removes the entry of a key, and returns it.
    pub fn remove(&self, key: MacKey) -> Option<MacEntry> {
        let levels = self.levels();
        levels.all().find_map(|level| self.remove_from(level, key))
    }

    fn remove_from(&self, level: &Arc<Level>, key: MacKey) -> Option<MacEntry> {
        for at in level.buckets(key) {
            if let Some((way, ..)) = level.entries(at).find(|(_, found, _)| *found == key) {
                let removed = level.kill(at, way);
                self.bury(level, vec![(at * WAYS + way) as u32]);
                return Some(removed);
            }
        }
        None
    }

    /// Control: removes the entries of a piece, which is [`PIECE`] buckets, for which `keep` is
    /// false, and calls `removed` with each as it was at the end. Returns `false` if there is no
    /// piece with this number or a higher one.
    pub fn retain_piece(
        &self,
        piece: usize,
        mut keep: impl FnMut(MacKey, MacEntry) -> bool,
        mut removed: impl FnMut(MacKey, MacEntry),
    ) -> bool {
        let Some((level, buckets)) = self.buckets(piece) else { return false };
        let mut dead = Vec::new();
        for at in buckets {
            for (way, key, entry) in level.entries(at) {
                if !keep(key, entry) {
                    removed(key, level.kill(at, way));
                    dead.push((at * WAYS + way) as u32);
                }
            }
        }
        self.bury(&level, dead);
        true
    }

    /// Control: replaces entries of a piece by what `new` returns for them, and calls `replaced`
    /// with each as it was. An entry that a worker changes meanwhile stays. Returns `false` if
    /// there is no piece with this number or a higher one.
    pub fn update_piece(
        &self,
        piece: usize,
        mut new: impl FnMut(MacKey, MacEntry) -> Option<MacEntry>,
        mut replaced: impl FnMut(MacKey, MacEntry),
    ) -> bool {
        let Some((level, buckets)) = self.buckets(piece) else { return false };
        for at in buckets {
            for (way, key, entry) in level.entries(at) {
                let Some(new) = new(key, entry) else { continue };
                let value = &level.buckets.get(at)[WAYS + way];
                let (old, new) = (entry.word(), new.word());
                if value.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    replaced(key, entry);
                }
            }
        }
        true
    }

    /// Frees slots of removed entries when no worker can refer to them any more.
    fn bury(&self, level: &Arc<Level>, dead: Vec<u32>) {
        if dead.is_empty() {
            return;
        }
        self.len.fetch_sub(dead.len(), Ordering::Relaxed);
        let level = level.clone();
        self.domain.retire_fn(Box::new(move || {
            for at in dead {
                level.buckets[at as usize / WAYS][at as usize % WAYS]
                    .store(FREE, Ordering::Release);
            }
        }));
    }

    /// Number of pieces. It changes when the table begins or ends to grow.
    pub fn pieces(&self) -> usize {
        self.levels().all().map(|level| level.buckets.len().div_ceil(PIECE)).sum()
    }

    /// The buckets of a piece.
    fn buckets(&self, mut piece: usize) -> Option<(Arc<Level>, std::ops::Range<usize>)> {
        for level in self.levels().all() {
            let len = level.buckets.len();
            let pieces = len.div_ceil(PIECE);
            if piece < pieces {
                return Some((level.clone(), piece * PIECE..len.min((piece + 1) * PIECE)));
            }
            piece -= pieces;
        }
        None
    }

    /// Control, about once a second: lets the table grow when more than three eighths of its slots
    /// are in use, and does a part of the work of a growth. After an insertion that was refused
    /// as [`NotInserted::Full`], `is_full` lets it grow from one eighth on, again if
    /// it grows already. Calls `lost` with entries that go: the largest table has no room for them,
    /// or the address was learned twice.
    pub fn maintain(&self, is_full: bool, mut lost: impl FnMut(MacKey, MacEntry)) -> GrowthState {
        let mut growth = self.growth.lock().expect("no panic inside");
        let mut levels = self.levels();
        let eighths = if is_full { 1 } else { 3 };
        let is_crowded = self.len() * 8 > levels.current.buckets.len() * WAYS * eighths;
        match &mut *growth {
            Some(Growth::Waiting(ticket)) if !ticket.is_over() => {}
            Some(waiting @ Growth::Waiting(_)) => *waiting = Growth::Moving(0),
            Some(Growth::Moving(next)) => {
                let smallest =
                    levels.previous.last().expect("a growth has a previous level").clone();
                let len = smallest.buckets.len();
                let from = *next;
                *next = len.min(from + PIECE);
                let is_moved = *next == len;
                let stuck = self.move_entries(&smallest, from..*next, &levels.current, &mut lost);
                let needs_more = is_full && is_crowded || !stuck.is_empty();
                if needs_more && let Some(begun) = self.begin_growth(levels.clone()) {
                    *growth = Some(begun);
                } else {
                    stuck.into_iter().for_each(|place| self.lose(&smallest, place, &mut lost));
                    if is_moved {
                        levels.previous.pop();
                        *growth = (!levels.previous.is_empty()).then_some(Growth::Moving(0));
                        self.levels.set(levels);
                    }
                }
            }
            None if is_crowded => *growth = self.begin_growth(levels),
            None => {}
        }
        match &*growth {
            None => GrowthState::Idle,
            Some(Growth::Waiting(_)) => GrowthState::Waiting,
            Some(Growth::Moving(_)) => GrowthState::Moving,
        }
    }

    /// Puts a larger level in front of the current one, if there can be one.
    fn begin_growth(&self, levels: Levels) -> Option<Growth> {
        let buckets = levels.current.buckets.len() * GROWTH;
        if buckets > LAST {
            return None;
        }
        let current = Arc::new(Level::new(buckets)?);
        let previous = std::iter::once(levels.current).chain(levels.previous).collect();
        self.levels.set(Levels { current, previous });
        Some(Growth::Waiting(self.domain.grace()))
    }

    /// For control's own insertions, which wait neither for a worker nor for a growth that is going
    /// on.
    fn grow_now(&self) -> bool {
        let mut growth = self.growth.lock().expect("no panic inside");
        let begun = self.begin_growth(self.levels());
        let has_begun = begun.is_some();
        *growth = begun.or(growth.take());
        has_begun
    }

    /// Moves entries of a previous level, in which no worker inserts or replaces any more. An entry
    /// is in the new level before it leaves the old one. Returns the entries for which the new
    /// level has no room: they stay.
    fn move_entries(
        &self,
        previous: &Level,
        buckets: std::ops::Range<usize>,
        current: &Level,
        lost: &mut impl FnMut(MacKey, MacEntry),
    ) -> Vec<Slot> {
        let mut stuck = Vec::new();
        for at in buckets {
            for (way, key, entry) in previous.entries(at) {
                match current.insert(key, entry) {
                    Ok(()) => _ = previous.kill(at, way),
                    Err(NotInserted::Full) => stuck.push((at, way, key)),
                    // Two workers learned the address at the same time, one of which didn't see the
                    // new level yet.
                    Err(_) => self.lose(previous, (at, way, key), lost),
                }
            }
        }
        stuck
    }

    /// Removes an entry of a previous level.
    fn lose(&self, level: &Level, (at, way, key): Slot, lost: &mut impl FnMut(MacKey, MacEntry)) {
        self.len.fetch_sub(1, Ordering::Relaxed);
        lost(key, level.kill(at, way));
    }
}

#[cfg(feature = "tests")]
mod tests;

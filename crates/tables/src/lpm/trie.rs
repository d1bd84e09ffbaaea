// SPDX-License-Identifier: Apache-2.0
//! A multibit trie with prefixes expanded to cells (Srinivasan and Varghese 1999), changed in place under readers.
//!
//! A table is a run of cells: the root has 2^16, every other table 2^`STRIDE`. A cell holds the value that a lookup
//! which ends there answers with, or the number of the table to go on in. All tables lie in one array that never moves,
//! so a reader needs no more than the cells themselves.
//!
//! A new table is filled before the cell that leads to it is stored. One that is no longer needed is first replaced by
//! a value in that cell, and used for something else only after a grace period: a lookup within a turn never sees a
//! table change its place.

use super::{Full, Key, Lpm, NO_ROUTE, Route, check_len, check_value};
use mem::Reserve;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::ops::Bound;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sync::{GraceTicket, Qsbr};

/// Set in a cell that leads to a table, with the table's number below it.
const DOWN: u32 = 1 << 31;
const ROOT_BITS: u32 = 16;
/// Address space reserved for a table: 4 GiB, which is not memory. Four million tables for [`super::Lpm4`].
const CELLS: usize = 1 << 30;

/// Longest prefix match over keys of type `K`, `STRIDE` bits at a step. See [`super::Lpm4`] and [`super::Lpm6`].
///
/// A change writes the cells that the prefix covers: one for a /24 or a /64, every cell there is for a default route.
///
/// Lookups belong into a turn of a reader of the domain. One outside of any turn is safe, but while routes are removed
/// it may answer with the value of another route.
pub struct Trie<K, const STRIDE: u32> {
    /// The root, then table `n` at `n << STRIDE`.
    cells: Reserve<AtomicU32>,
    domain: Arc<Qsbr>,
    control: Mutex<Control<K>>,
}

/// What lookups don't need.
struct Control<K> {
    routes: BTreeMap<(K, u8), u32>,
    /// Number of routes of each length: most lengths have none, and a search needn't look there.
    count: [usize; 129],
    /// For each cell that holds a value, whose that is: the length of the prefix plus one, or 0 for nobody's.
    owners: Vec<u8>,
    /// Tables no longer in use, oldest first, each with the end of the turns that may still be in it.
    retired: VecDeque<(GraceTicket, u32)>,
}

/// A run of cells: where it begins, how many bits of the key lead to it, and how many bits it decides.
#[derive(Clone, Copy)]
struct Table {
    first: usize,
    skip: u32,
    width: u32,
}

const ROOT: Table = Table { first: 0, skip: 0, width: ROOT_BITS };

impl Table {
    /// The length of the prefixes that fill exactly one cell.
    fn end(self) -> u32 {
        self.skip + self.width
    }

    fn cell<K: Key>(self, key: K) -> usize {
        self.first + key.digit(self.skip, self.width)
    }
}

impl<K: Key, const STRIDE: u32> Trie<K, STRIDE> {
    const LEN: usize = 1 << STRIDE;
    /// The root is the first tables' worth of cells.
    const FIRST_TABLE: usize = 1 << (ROOT_BITS - STRIDE);

    /// An empty table for the readers of `domain`, on pages of 4 KiB that are taken as they are written: a few routes
    /// cost a few hundred KiB.
    ///
    /// # Errors
    /// When address space is used up or limited: see [`Reserve::new`].
    pub fn new(domain: Arc<Qsbr>) -> io::Result<Self> {
        Ok(Self::with_cells(domain, Reserve::new(CELLS)?))
    }

    /// As [`Self::new`], on huge pages where the system has them: for a table that grows large, and costs 2 MiB when it
    /// is small.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_huge_pages(domain: Arc<Qsbr>) -> io::Result<Self> {
        Ok(Self::with_cells(domain, Reserve::with_huge_pages(CELLS)?))
    }

    pub(super) fn with_cells(domain: Arc<Qsbr>, cells: Reserve<AtomicU32>) -> Self {
        const { assert!(STRIDE > 0 && STRIDE <= 8 && (K::BITS as u32 - ROOT_BITS).is_multiple_of(STRIDE)) };
        // Untouched cells are zero: no route.
        const { assert!(NO_ROUTE == 0) };
        let control = Control {
            routes: BTreeMap::new(),
            count: [0; 129],
            owners: vec![0; Self::FIRST_TABLE * Self::LEN],
            retired: VecDeque::new(),
        };
        Self { cells, domain, control: Mutex::new(control) }
    }

    /// Bytes of memory in use for lookups.
    pub fn memory(&self) -> usize {
        let control = self.control();
        (control.owners.len() - control.retired.len() * Self::LEN) * size_of::<AtomicU32>()
    }

    /// The domain whose readers look up here.
    pub fn domain(&self) -> &Arc<Qsbr> {
        &self.domain
    }

    #[cfg(test)]
    pub(super) fn control_cells(&self) -> usize {
        self.control().owners.len()
    }

    fn control(&self) -> MutexGuard<'_, Control<K>> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Control reads its own stores.
    fn load(&self, cell: usize) -> u32 {
        self.cells[cell].load(Ordering::Relaxed)
    }

    /// Release: who comes through this cell finds the table behind it filled.
    fn store(&self, cell: usize, content: u32) {
        self.cells[cell].store(content, Ordering::Release);
    }

    /// The table that `content`, read in `table`, leads to.
    fn down(table: Table, content: u32) -> Option<Table> {
        let number = (content & !DOWN) as usize;
        (content & DOWN != 0).then_some(Table { first: number << STRIDE, skip: table.end(), width: STRIDE })
    }

    /// The tables on the way to a prefix, from the root to the last that is there, but not past the one that holds it.
    fn path(&self, key: K, len: u8) -> Vec<Table> {
        let mut path = vec![ROOT];
        let mut table = ROOT;
        while u32::from(len) > table.end()
            && let Some(next) = Self::down(table, self.load(table.cell(key)))
        {
            table = next;
            path.push(table);
        }
        path
    }

    /// A table that nobody uses.
    fn allocate(&self, control: &mut Control<K>) -> Result<u32, Full> {
        if let Some((_, number)) = control.retired.pop_front_if(|(ticket, _)| ticket.is_over()) {
            return Ok(number);
        }
        let number = control.owners.len() >> STRIDE;
        if (number + 1) << STRIDE > self.cells.len() {
            return Err(Full);
        }
        control.owners.resize((number + 1) << STRIDE, 0);
        Ok(number as u32)
    }

    /// Puts a table behind `cell`, answering everywhere what the cell did.
    fn split(&self, control: &mut Control<K>, cell: usize) -> Result<(), Full> {
        let number = self.allocate(control)?;
        let first = (number as usize) << STRIDE;
        let (value, owner) = (self.load(cell), control.owners[cell]);
        control.owners[first..first + Self::LEN].fill(owner);
        for cell in first..first + Self::LEN {
            self.cells[cell].store(value, Ordering::Relaxed);
        }
        self.store(cell, DOWN | number);
        Ok(())
    }

    /// Undoes the splits on the way to `key` that no prefix needs any more.
    fn join(&self, control: &mut Control<K>, key: K, path: &[Table]) {
        for pair in path.windows(2).rev() {
            let (above, table) = (pair[0].cell(key), pair[1]);
            let cells = table.first..table.first + Self::LEN;
            // Of a prefix that covers the whole table.
            let covering = table.skip as u8 + 1;
            let needed = |cell| self.load(cell) & DOWN != 0 || control.owners[cell] > covering;
            if cells.clone().any(needed) {
                return;
            }
            // Then it is the same one for all cells: the longest that does.
            control.owners[above] = control.owners[table.first];
            self.store(above, self.load(table.first));
            control.retired.push_back((self.domain.grace(), (table.first >> STRIDE) as u32));
        }
    }

    /// Paints the cells of `table` that lie in a prefix, and those below them, except where a longer prefix has them.
    fn paint(&self, owners: &mut [u8], table: Table, key: K, len: u8, brush: &Brush) {
        // The bits of this table that the prefix leaves open: all of them, below the table that holds it.
        let free = table.end().saturating_sub(len.into()).min(table.width);
        let first = table.first + (key.digit(table.skip, table.width) >> free << free);
        for cell in first..first + (1 << free) {
            let content = self.load(cell);
            if let Some(next) = Self::down(table, content) {
                self.paint(owners, next, key, len, brush);
            } else if owners[cell] <= len + 1 {
                owners[cell] = brush.owner;
                self.store(cell, brush.value);
            }
        }
    }
}

/// A value and whose it is.
struct Brush {
    owner: u8,
    value: u32,
}

impl<K: Key> Control<K> {
    /// The longest route of at most `len` bits that covers `key`.
    fn covering(&self, key: K, len: u8) -> Option<Route<K>> {
        let lens = (0..=len).rev().filter(|len| self.count[usize::from(*len)] > 0);
        lens.map(|len| (key.network(len), len))
            .find_map(|(key, len)| self.routes.get(&(key, len)).map(|&value| Route { key, len, value }))
    }
}

impl<K: Key, const STRIDE: u32> Lpm for Trie<K, STRIDE> {
    type Key = K;

    #[inline(always)]
    fn lookup(&self, key: K) -> u32 {
        let cells = self.cells.as_slice();
        let mut content = cells[key.digit(0, ROOT_BITS)].load(Ordering::Acquire);
        let mut skip = ROOT_BITS;
        while skip < u32::from(K::BITS) && content & DOWN != 0 {
            let first = ((content & !DOWN) as usize) << STRIDE;
            content = cells[first | key.digit(skip, STRIDE)].load(Ordering::Acquire);
            skip += STRIDE;
        }
        content
    }

    #[inline(always)]
    fn lookup_batch(&self, keys: &[K], values: &mut [u32]) {
        assert_eq!(keys.len(), values.len());
        let cells = self.cells.as_slice();
        let mut down = 0;
        for (content, key) in values.iter_mut().zip(keys) {
            *content = cells[key.digit(0, ROOT_BITS)].load(Ordering::Acquire);
            down |= *content;
        }
        let mut skip = ROOT_BITS;
        while skip < u32::from(K::BITS) && down & DOWN != 0 {
            down = 0;
            for (content, key) in values.iter_mut().zip(keys) {
                // Who has arrived reads the first cell and keeps what it had: a load that is always in the cache costs
                // less than a branch that is sometimes mispredicted.
                let first = ((*content & !DOWN) as usize) << STRIDE | key.digit(skip, STRIDE);
                let next = cells[if *content & DOWN != 0 { first } else { 0 }].load(Ordering::Acquire);
                *content = if *content & DOWN != 0 { next } else { *content };
                down |= *content;
            }
            skip += STRIDE;
        }
    }

    fn insert(&self, key: K, len: u8, value: u32) -> Result<Option<u32>, Full> {
        check_len::<K>(len);
        check_value(value);
        let key = key.network(len);
        let mut control = self.control();
        let control = &mut *control;
        let mut path = self.path(key, len);
        let mut table = path[path.len() - 1];
        while u32::from(len) > table.end() {
            let cell = table.cell(key);
            if let Err(full) = self.split(control, cell) {
                self.join(control, key, &path);
                return Err(full);
            }
            table = Table {
                first: ((self.load(cell) & !DOWN) as usize) << STRIDE,
                skip: table.end(),
                width: STRIDE,
            };
            path.push(table);
        }
        let owner = len + 1;
        self.paint(&mut control.owners, table, key, len, &Brush { owner, value });
        let old = control.routes.insert((key, len), value);
        control.count[usize::from(len)] += usize::from(old.is_none());
        Ok(old)
    }

    fn remove(&self, key: K, len: u8) -> Option<u32> {
        check_len::<K>(len);
        let key = key.network(len);
        let mut control = self.control();
        let control = &mut *control;
        let old = control.routes.remove(&(key, len))?;
        control.count[usize::from(len)] -= 1;
        let (owner, value) = match control.covering(key, len) {
            Some(route) => (route.len + 1, route.value),
            None => (0, NO_ROUTE),
        };
        let path = self.path(key, len);
        self.paint(&mut control.owners, path[path.len() - 1], key, len, &Brush { owner, value });
        self.join(control, key, &path);
        Some(old)
    }

    fn get(&self, key: K, len: u8) -> Option<u32> {
        check_len::<K>(len);
        self.control().routes.get(&(key.network(len), len)).copied()
    }

    fn covering(&self, key: K, len: u8) -> Option<Route<K>> {
        check_len::<K>(len);
        self.control().covering(key, len)
    }

    fn walk(&self, after: Option<(K, u8)>, f: &mut dyn FnMut(Route<K>) -> bool) {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        for (&(key, len), &value) in self.control().routes.range((after, Bound::Unbounded)) {
            if !f(Route { key, len, value }) {
                return;
            }
        }
    }

    fn len(&self) -> usize {
        self.control().routes.len()
    }
}

impl<K: Key, const STRIDE: u32> fmt::Debug for Trie<K, STRIDE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trie")
            .field("len", &self.len())
            .field("memory", &self.memory())
            .finish_non_exhaustive()
    }
}

// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Counters.
//!
//! A counter is a vector of cells for each thread. A thread writes its own cells only, by a plain load and store; a reader sums
//! over the threads. Vectors never move: their address space is reserved, and memory is committed as cells are touched,
//! so an interface or a route gets its cells without anything to resize or to publish.

use mem::Reserve;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Cells of one counter vector at most.
pub const MAX_CELLS: usize = 1 << 22;

/// One thread's cells of a counter vector: the write side.
#[derive(Clone)]
pub struct Lane {
    cells: Arc<Reserve<AtomicU64>>,
}

impl Lane {
    /// Adds to cell `index`; beyond [`MAX_CELLS`] nothing is counted.
    #[inline(always)]
    pub fn add(&self, index: usize, n: u64) {
        if let Some(cell) = self.cells.as_slice().get(index) {
            cell.store(cell.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
        }
    }

    /// The value of cell `index`.
    pub fn get(&self, index: usize) -> u64 {
        self.cells.as_slice().get(index).map_or(0, |c| c.load(Ordering::Relaxed))
    }
}

/// A counter vector: one `u64` for each index and thread.
pub struct Simple {
    name: String,
    lanes: Vec<Lane>,
    /// What [`Self::clear`] subtracts, by cell and thread: writers are not disturbed.
    base: Mutex<Vec<Box<[u64]>>>,
}

impl Simple {
    fn new(name: &str, threads: usize, cells: usize) -> Self {
        let lane = |_| Lane {
            cells: Arc::new(Reserve::new(cells).expect("address space for counters (is `ulimit -v` set?)")),
        };
        Self { name: name.to_string(), lanes: (0..threads).map(lane).collect(), base: Mutex::new(Vec::new()) }
    }

    /// Its name in the stats directory.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The write side of a thread.
    pub fn lane(&self, thread: usize) -> Lane {
        self.lanes[thread].clone()
    }

    /// The value of a cell over all threads since it was cleared.
    pub fn sum(&self, index: usize) -> u64 {
        let base = self.base.lock().expect("no panic inside");
        let base =
            base.get(index).map_or(0, |cells| cells.iter().fold(0, |sum: u64, n| sum.wrapping_add(*n)));
        self.lanes.iter().fold(0, |sum: u64, lane| sum.wrapping_add(lane.get(index))).wrapping_sub(base)
    }

    /// The value of a thread's cell since it was cleared.
    pub fn of_thread(&self, thread: usize, index: usize) -> u64 {
        let base = self.base.lock().expect("no panic inside");
        let base = base.get(index).map_or(0, |cells| cells[thread]);
        self.lanes[thread].get(index).wrapping_sub(base)
    }

    fn now(&self, index: usize) -> Box<[u64]> {
        self.lanes.iter().map(|lane| lane.get(index)).collect()
    }

    /// Starts cells `0 .. n` again at zero.
    pub fn clear(&self, n: usize) {
        let mut base = self.base.lock().expect("no panic inside");
        if base.len() < n {
            base.resize_with(n, Box::default);
        }
        for (index, cells) in base.iter_mut().enumerate().take(n) {
            *cells = self.now(index);
        }
    }

    /// Starts one cell again at zero: its index has got a new owner.
    pub fn clear_one(&self, index: usize) {
        let mut base = self.base.lock().expect("no panic inside");
        while base.len() <= index {
            base.push(vec![0; self.lanes.len()].into());
        }
        base[index] = self.now(index);
    }
}

/// Packets and bytes for each index and thread.
pub struct Combined {
    packets: Arc<Simple>,
    bytes: Arc<Simple>,
}

/// One thread's write side of a [`Combined`] counter.
#[derive(Clone)]
pub struct CombinedLane {
    packets: Lane,
    bytes: Lane,
}

impl CombinedLane {
    /// Adds packets and bytes to a cell.
    #[inline(always)]
    pub fn add(&self, index: usize, packets: u64, bytes: u64) {
        self.packets.add(index, packets);
        self.bytes.add(index, bytes);
    }
}

impl Combined {
    /// Its name in the stats directory.
    pub fn name(&self) -> &str {
        self.packets.name()
    }
    /// The write side of a thread.
    pub fn lane(&self, thread: usize) -> CombinedLane {
        CombinedLane { packets: self.packets.lane(thread), bytes: self.bytes.lane(thread) }
    }
    /// Packets and bytes of a cell over all threads since it was cleared.
    pub fn sum(&self, index: usize) -> (u64, u64) {
        (self.packets.sum(index), self.bytes.sum(index))
    }
    /// Starts cells `0 .. n` again at zero.
    pub fn clear(&self, n: usize) {
        self.packets.clear(n);
        self.bytes.clear(n);
    }
    /// Starts one cell again at zero: its index has got a new owner.
    pub fn clear_one(&self, index: usize) {
        self.packets.clear_one(index);
        self.bytes.clear_one(index);
    }
}

/// All counters of an instance, by name.
pub struct Registry {
    threads: usize,
    simple: Mutex<Vec<Arc<Simple>>>,
    combined: Mutex<Vec<Arc<Combined>>>,
}

impl Registry {
    /// A registry for this many threads, the main one included.
    pub fn new(threads: usize) -> Self {
        Self { threads, simple: Mutex::default(), combined: Mutex::default() }
    }

    /// How many threads count.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The simple counter of this name; made at the first call.
    pub fn simple(&self, name: &str) -> Arc<Simple> {
        let mut all = self.simple.lock().expect("no panic inside");
        if let Some(counter) = all.iter().find(|c| c.name() == name) {
            return counter.clone();
        }
        let counter = Arc::new(Simple::new(name, self.threads, MAX_CELLS));
        all.push(counter.clone());
        counter
    }

    /// The combined counter of this name; made at the first call.
    pub fn combined(&self, name: &str) -> Arc<Combined> {
        let mut all = self.combined.lock().expect("no panic inside");
        if let Some(counter) = all.iter().find(|c| c.name() == name) {
            return counter.clone();
        }
        let part = || Arc::new(Simple::new(name, self.threads, MAX_CELLS));
        let counter = Arc::new(Combined { packets: part(), bytes: part() });
        all.push(counter.clone());
        counter
    }

    /// All simple counters.
    pub fn all_simple(&self) -> Vec<Arc<Simple>> {
        self.simple.lock().expect("no panic inside").clone()
    }

    /// All combined counters.
    pub fn all_combined(&self) -> Vec<Arc<Combined>> {
        self.combined.lock().expect("no panic inside").clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_summed_and_cleared() {
        let registry = Registry::new(3);
        let drops = registry.simple("/if/drops");
        drops.lane(0).add(7, 2);
        drops.lane(2).add(7, 3);
        assert_eq!((drops.sum(7), drops.sum(6), drops.of_thread(2, 7)), (5, 0, 3));
        drops.clear(10);
        drops.lane(1).add(7, 1);
        assert_eq!(registry.simple("/if/drops").sum(7), 1);
        assert_eq!((drops.of_thread(1, 7), drops.of_thread(2, 7)), (1, 0));
        drops.clear_one(7);
        assert_eq!(drops.sum(7), 0);
        drops.lane(0).add(MAX_CELLS, 1);
    }

    #[test]
    fn packets_and_bytes_go_together() {
        let registry = Registry::new(2);
        let rx = registry.combined("/if/rx");
        rx.lane(1).add(0, 2, 128);
        assert_eq!(rx.sum(0), (2, 128));
        rx.clear(1);
        assert_eq!(rx.sum(0), (0, 0));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Counter vectors: the write side of each thread, and the sum over all.

use crate::layout::Space;
use crate::segment::{Change, Segment};
use mem::{Window, Words};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

#[inline(always)]
fn add(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}

/// The cells of a counter, `N` words each: a vector for each thread.
#[derive(Debug)]
pub(crate) struct Cells<const N: usize> {
    name: String,
    space: Space,
    segment: Arc<Segment>,
    threads: Vec<Window<N>>,
    /// Where the vectors' data lies in the segment; empty if there was no room for them, and they lie elsewhere.
    data: Vec<usize>,
    len: AtomicUsize,
    /// Indices below were started once.
    started: AtomicUsize,
}

impl<const N: usize> Cells<N> {
    pub fn new(segment: &Arc<Segment>, name: &str, threads: usize, capacity: usize) -> Self {
        let data: Option<Vec<usize>> = (0..threads).map(|_| segment.alloc(capacity * N)).collect();
        let windows = match &data {
            Some(data) => data.iter().map(|at| segment.words().window(*at, capacity)).collect(),
            None => {
                // They count all the same, but no reader sees them.
                let words = Words::new("stats-unlisted", threads * capacity * N * 8).expect("address space");
                (0..threads).map(|i| words.window(i * capacity * N, capacity)).collect()
            }
        };
        Self {
            name: name.into(),
            space: Space::of(name),
            segment: segment.clone(),
            threads: windows,
            data: data.unwrap_or_default(),
            len: AtomicUsize::new(0),
            started: AtomicUsize::new(0),
        }
    }

    /// Where the vectors' data lies.
    pub fn data(&self) -> &[usize] {
        &self.data
    }

    fn sum<const W: usize>(&self, index: usize) -> [u64; W] {
        let mut sum = [0u64; W];
        for cells in &self.threads {
            let Some(cell) = cells.as_slice().get(index) else { continue };
            for (sum, word) in sum.iter_mut().zip(cell) {
                *sum = sum.wrapping_add(word.load(Ordering::Relaxed));
            }
        }
        sum
    }

    fn grow(&self, change: &mut Change<'_>, len: usize) {
        for at in &self.data {
            change.set_len(*at, len);
        }
        self.len.store(len, Ordering::Relaxed);
    }

    /// The index has got an owner that begins at zero. Nobody may count there now.
    fn start(&self, index: usize) {
        let capacity = self.threads.first().map_or(0, |cells| cells.as_slice().len());
        if index >= capacity {
            return;
        }
        let len = self.len.load(Ordering::Relaxed);
        if index >= len {
            // In steps, so that a million new ones don't keep readers waiting.
            let step = match self.space {
                Space::Own | Space::Route => (len / 8).next_multiple_of(64).max(64),
                _ => 1,
            };
            self.segment.change(|change| self.grow(change, (len + step).max(index + 1).min(capacity)));
        }
        if index < self.started.load(Ordering::Relaxed) {
            (0..self.threads.len()).for_each(|thread| self.zero_one(thread, index));
        } else {
            // Never counted, so zero already: storing zeros would take memory for what nobody may ever use.
            self.started.store(index + 1, Ordering::Relaxed);
        }
    }

    /// As [`Self::start`] for indices that were started before, in order.
    fn restart(&self, indices: impl Iterator<Item = usize> + Clone) {
        self.threads.iter().for_each(|cells| cells.zero(indices.clone()));
    }

    fn zero_one(&self, thread: usize, index: usize) {
        let cell = self.threads[thread].as_slice().get(index);
        cell.into_iter().flatten().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

/// What a counter of either form can do.
pub trait Vector: Send + Sync {
    /// Its name in the directory.
    fn name(&self) -> &str;
    /// What its cells are of.
    fn space(&self) -> Space;
    /// Sets one thread's cell to zero, or all its cells. To be called on that thread, or while it doesn't count.
    fn zero(&self, thread: usize, index: Option<usize>);
    #[doc(hidden)]
    fn extend(&self, change: &mut Change<'_>, len: usize);
}

impl<const N: usize> Vector for Cells<N> {
    fn name(&self) -> &str {
        &self.name
    }

    fn space(&self) -> Space {
        self.space
    }

    fn zero(&self, thread: usize, index: Option<usize>) {
        match index {
            Some(index) => self.zero_one(thread, index),
            None => (0..self.len.load(Ordering::Relaxed)).for_each(|index| self.zero_one(thread, index)),
        }
    }

    fn extend(&self, change: &mut Change<'_>, len: usize) {
        let len = len.min(self.threads.first().map_or(0, |cells| cells.as_slice().len()));
        if len > self.len.load(Ordering::Relaxed) {
            self.grow(change, len);
        }
    }
}

/// One thread's cells of a counter vector: the write side.
#[derive(Clone)]
pub struct Lane(Window<1>);

impl Lane {
    /// Adds to cell `index`; beyond [`Space::capacity`] nothing is counted.
    #[inline(always)]
    pub fn add(&self, index: usize, n: u64) {
        if let Some([cell]) = self.0.as_slice().get(index) {
            add(cell, n);
        }
    }

    /// The value of cell `index`.
    pub fn get(&self, index: usize) -> u64 {
        self.0.as_slice().get(index).map_or(0, |[cell]| cell.load(Ordering::Relaxed))
    }
}

/// A counter vector: one `u64` for each index and thread.
pub struct Simple(pub(crate) Arc<Cells<1>>);

impl Simple {
    /// Its name in the directory.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The write side of a thread.
    pub fn lane(&self, thread: usize) -> Lane {
        Lane(self.0.threads[thread].clone())
    }

    /// The value of a cell over all threads.
    pub fn sum(&self, index: usize) -> u64 {
        let [sum] = self.0.sum(index);
        sum
    }

    /// The value of a thread's cell.
    pub fn of_thread(&self, thread: usize, index: usize) -> u64 {
        self.0.threads[thread].as_slice().get(index).map_or(0, |[cell]| cell.load(Ordering::Relaxed))
    }

    /// Says that an index is in use, and begins at zero. No thread may count there: it is new, or it has been free for a grace
    /// period.
    pub fn start(&self, index: usize) {
        self.0.start(index);
    }

    /// Itself, without its form.
    pub fn vector(&self) -> Arc<dyn Vector> {
        self.0.clone()
    }
}

/// One thread's write side of a [`Combined`] counter.
#[derive(Clone)]
pub struct CombinedLane(Window<2>);

impl CombinedLane {
    /// Adds packets and bytes to a cell; beyond [`Space::capacity`] nothing is counted.
    #[inline(always)]
    pub fn add(&self, index: usize, packets: u64, bytes: u64) {
        self.cells().add(index, packets, bytes);
    }

    /// The same, for a loop: where the cells are isn't read again for each packet.
    #[inline(always)]
    pub fn cells(&self) -> CombinedCells<'_> {
        CombinedCells(self.0.as_slice())
    }

    /// Fetches a cell that something will be added to.
    #[inline(always)]
    pub fn prefetch(&self, index: usize) {
        if let Some(cell) = self.0.as_slice().get(index) {
            simd::prefetch_write(cell);
        }
    }
}

/// The cells of a [`CombinedLane`].
#[derive(Clone, Copy)]
pub struct CombinedCells<'a>(&'a [[AtomicU64; 2]]);

impl CombinedCells<'_> {
    /// As [`CombinedLane::add`].
    #[inline(always)]
    pub fn add(self, index: usize, packets: u64, bytes: u64) {
        if let Some([cell_packets, cell_bytes]) = self.0.get(index) {
            add(cell_packets, packets);
            add(cell_bytes, bytes);
        }
    }
}

/// Packets and bytes for each index and thread, side by side: a packet touches one cache line.
pub struct Combined(pub(crate) Arc<Cells<2>>);

impl Combined {
    /// Its name in the directory.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The write side of a thread.
    pub fn lane(&self, thread: usize) -> CombinedLane {
        CombinedLane(self.0.threads[thread].clone())
    }

    /// Packets and bytes of a cell over all threads.
    pub fn sum(&self, index: usize) -> (u64, u64) {
        let [packets, bytes] = self.0.sum(index);
        (packets, bytes)
    }

    /// As [`Simple::start`].
    pub fn start(&self, index: usize) {
        self.0.start(index);
    }

    /// As [`Self::start`] for many indices that were started before; fastest in order. Takes no memory for cells that never counted.
    pub fn restart(&self, indices: impl Iterator<Item = usize> + Clone) {
        self.0.restart(indices);
    }

    /// Itself, without its form.
    pub fn vector(&self) -> Arc<dyn Vector> {
        self.0.clone()
    }
}

/// A value that control sets.
#[derive(Clone, Debug)]
pub struct Gauge(pub(crate) Window<1>);

impl Gauge {
    /// Sets it.
    pub fn set(&self, value: u64) {
        self.0.as_slice()[0][0].store(value, Ordering::Relaxed);
    }

    /// What it is.
    pub fn get(&self) -> u64 {
        self.0.as_slice()[0][0].load(Ordering::Relaxed)
    }
}

/// Names by index. They stand in the directory as a vector of strings.
pub struct Names {
    pub(crate) name: String,
    pub(crate) space: Space,
    /// Where the vector lies; `None` without room or hidden.
    pub(crate) data: Option<usize>,
    pub(crate) len: AtomicUsize,
}

impl Names {
    /// Sets a name; the empty one is nobody's.
    pub fn set(&self, change: &mut Change<'_>, index: usize, name: &str) {
        self.extend(change, index + 1);
        if let Some(data) = self.data.filter(|_| index < self.space.capacity()) {
            change.set_text(data, index, name);
        }
    }

    pub(crate) fn extend(&self, change: &mut Change<'_>, len: usize) {
        let (len, old) = (len.min(self.space.capacity()), self.len.load(Ordering::Relaxed));
        if let Some(data) = self.data.filter(|_| len > old) {
            (old..len).for_each(|i| change.set_text(data, i, ""));
            change.set_len(data, len);
            self.len.store(len, Ordering::Relaxed);
        }
    }
}

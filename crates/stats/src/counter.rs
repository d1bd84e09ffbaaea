// SPDX-License-Identifier: Apache-2.0
//! Counter vectors: the write side of each thread, and the sum over all.

use crate::layout::Space;
use crate::segment::{Change, Segment};
use mem::{Window, Words};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

#[inline(always)]
fn add(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}

/// The cells of a counter, `N` words each: a vector for each thread, and one for control if it
/// counts here.
#[derive(Debug)]
pub(crate) struct Cells<const N: usize> {
    name: String,
    space: Space,
    segment: Arc<Segment>,
    threads: Vec<Window<N>>,
    /// Offsets of the vectors' data in the segment; empty if there was no room for them, and they
    /// lie elsewhere.
    data: Vec<usize>,
    /// Offset of the vector of pointers to them: one more than there are threads.
    rows: OnceLock<usize>,
    /// Made when control counts for the first time: its cells, and where they lie if they are
    /// listed.
    control: OnceLock<(Window<N>, Option<usize>)>,
    len: AtomicUsize,
    /// Indices below were started once.
    started: AtomicUsize,
}

impl<const N: usize> Cells<N> {
    pub fn new(segment: &Arc<Segment>, name: &str, threads: usize, space: Space) -> Self {
        let capacity = space.capacity();
        let data: Option<Vec<usize>> = (0..threads).map(|_| segment.alloc(capacity * N)).collect();
        let windows = match &data {
            Some(data) => data.iter().map(|at| segment.words().window(*at, capacity)).collect(),
            None => {
                // They count all the same, but no reader sees them.
                let words = Words::new("stats-unlisted", threads * capacity * N * 8)
                    .expect("address space");
                (0..threads).map(|i| words.window(i * capacity * N, capacity)).collect()
            }
        };
        Self {
            name: name.into(),
            space,
            segment: segment.clone(),
            threads: windows,
            data: data.unwrap_or_default(),
            rows: OnceLock::new(),
            control: OnceLock::new(),
            len: AtomicUsize::new(0),
            started: AtomicUsize::new(0),
        }
    }

    /// Returns true if the vectors lie in the segment.
    pub fn is_listed(&self) -> bool {
        !self.data.is_empty()
    }

    /// Lists the vectors in this vector of pointers of the directory, which has room for one more.
    pub fn list(&self, change: &mut Change<'_>, rows: usize) {
        if self.rows.set(rows).is_ok() {
            self.data.iter().enumerate().for_each(|(i, data)| change.point(rows, i, *data));
            change.set_len(rows, self.data.len());
        }
    }

    /// Cells for each index.
    fn capacity(&self) -> usize {
        self.threads.first().map_or(0, |cells| cells.as_slice().len())
    }

    /// The cells of all rows.
    fn windows(&self) -> impl Iterator<Item = &Window<N>> {
        self.threads.iter().chain(self.control.get().map(|(cells, _)| cells))
    }

    /// Control's own cells: the row behind those of the threads.
    fn control(&self) -> &Window<N> {
        let (cells, _) = self.control.get_or_init(|| {
            let capacity = self.capacity();
            let listed =
                self.rows.get().and_then(|rows| Some((*rows, self.segment.alloc(capacity * N)?)));
            let Some((rows, data)) = listed else {
                let words =
                    Words::new("stats-unlisted", (capacity * N * 8).max(8)).expect("address space");
                return (words.window(0, capacity), None);
            };
            self.segment.change(|change| {
                change.set_len(data, self.len.load(Ordering::Relaxed));
                change.point(rows, self.threads.len(), data);
                change.set_len(rows, self.threads.len() + 1);
            });
            (self.segment.words().window(data, capacity), Some(data))
        });
        cells
    }

    fn sum<const W: usize>(&self, index: usize) -> [u64; W] {
        let mut sum = [0u64; W];
        for cells in self.windows() {
            let Some(cell) = cells.as_slice().get(index) else { continue };
            for (sum, word) in sum.iter_mut().zip(cell) {
                *sum = sum.wrapping_add(word.load(Ordering::Relaxed));
            }
        }
        sum
    }

    fn grow(&self, change: &mut Change<'_>, len: usize) {
        let control = self.control.get().and_then(|(_, data)| data.as_ref());
        for at in self.data.iter().chain(control) {
            change.set_len(*at, len);
        }
        self.len.store(len, Ordering::Relaxed);
    }

    /// Gives the index to an owner that begins at zero. No thread may count there now.
    fn start(&self, index: usize) {
        let capacity = self.capacity();
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
            self.segment
                .change(|change| self.grow(change, (len + step).max(index + 1).min(capacity)));
        }
        if index < self.started.load(Ordering::Relaxed) {
            self.windows().for_each(|cells| zero_one(cells, index));
        } else {
            // Never counted, so zero already: storing zeros would take memory for cells that may
            // never be used.
            self.started.store(index + 1, Ordering::Relaxed);
        }
    }

    /// As [`Self::start`] for indices that were started before, in order.
    fn restart(&self, indices: impl Iterator<Item = usize> + Clone) {
        self.windows().for_each(|cells| cells.zero(indices.clone()));
    }

    /// Sets one cell of a row to zero, or all of them.
    fn zero_row(&self, cells: &Window<N>, index: Option<usize>) {
        match index {
            Some(index) => zero_one(cells, index),
            None => (0..self.len.load(Ordering::Relaxed)).for_each(|index| zero_one(cells, index)),
        }
    }
}

fn zero_one<const N: usize>(cells: &Window<N>, index: usize) {
    let cell = cells.as_slice().get(index);
    cell.into_iter().flatten().for_each(|word| word.store(0, Ordering::Relaxed));
}

/// The operations that counters of both forms have.
pub trait Vector: Send + Sync {
    /// Its name in the directory.
    fn name(&self) -> &str;
    /// The objects that its cells belong to.
    fn space(&self) -> Space;
    /// Sets one thread's cell to zero, or all its cells. To be called on that thread, or while it
    /// doesn't count.
    fn zero(&self, thread: usize, index: Option<usize>);
    /// Sets control's cell to zero, or all its cells. To be called on the control thread.
    fn zero_control(&self, index: Option<usize>);
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
        self.zero_row(&self.threads[thread], index);
    }

    fn zero_control(&self, index: Option<usize>) {
        if let Some((cells, _)) = self.control.get() {
            self.zero_row(cells, index);
        }
    }

    fn extend(&self, change: &mut Change<'_>, len: usize) {
        let len = len.min(self.capacity());
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

    /// Sets cell `index` to zero: what it counted is gone, and something else begins.
    pub fn clear(&self, index: usize) {
        if let Some([cell]) = self.0.as_slice().get(index) {
            cell.store(0, Ordering::Relaxed);
        }
    }

    /// Sets cell `index`: what control knows of a thing, and doesn't count.
    pub fn set(&self, index: usize, value: u64) {
        if let Some([cell]) = self.0.as_slice().get(index) {
            cell.store(value, Ordering::Relaxed);
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

    /// The write side of control: a row of its own behind those of the threads, made at the first
    /// call. Control never writes a thread's cells, nor a thread control's: two writers of one
    /// cell lose counts.
    pub fn control(&self) -> Lane {
        Lane(self.0.control().clone())
    }

    /// The value of control's cell.
    pub fn of_control(&self, index: usize) -> u64 {
        let cell = self.0.control.get().and_then(|(cells, _)| cells.as_slice().get(index));
        cell.map_or(0, |[cell]| cell.load(Ordering::Relaxed))
    }

    /// The value of a cell over all threads and control.
    pub fn sum(&self, index: usize) -> u64 {
        let [sum] = self.0.sum(index);
        sum
    }

    /// The value of a thread's cell.
    pub fn of_thread(&self, thread: usize, index: usize) -> u64 {
        self.0.threads[thread]
            .as_slice()
            .get(index)
            .map_or(0, |[cell]| cell.load(Ordering::Relaxed))
    }

    /// Says that an index is in use, and begins at zero. No thread may count there: it is new, or
    /// it has been free for a grace period.
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

    /// Packets and bytes of a cell over all threads and control.
    pub fn sum(&self, index: usize) -> (u64, u64) {
        let [packets, bytes] = self.0.sum(index);
        (packets, bytes)
    }

    /// As [`Simple::start`].
    pub fn start(&self, index: usize) {
        self.0.start(index);
    }

    /// As [`Self::start`] for many indices that were started before; fastest in order. Takes no
    /// memory for cells that never counted.
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

    /// Returns its value.
    pub fn get(&self) -> u64 {
        self.0.as_slice()[0][0].load(Ordering::Relaxed)
    }
}

/// Names by index. They stand in the directory as a vector of strings.
pub struct Names {
    pub(crate) name: String,
    pub(crate) space: Space,
    /// Offset of the vector; `None` without room or hidden.
    pub(crate) data: Option<usize>,
    pub(crate) len: AtomicUsize,
}

impl Names {
    /// Sets a name; the empty one if the index has no owner.
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

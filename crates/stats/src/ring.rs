// SPDX-License-Identifier: Apache-2.0
//! Rings: the last entries that a thread wrote, for readers that follow them.
//!
//! In memory a ring is one piece: a header of a cache line, a cache line of state for each thread,
//! the threads' entries, and a text that describes an entry. A thread counts the entries that it
//! begins, writes its entry, then its position and the count of all entries so far. A reader that
//! has seen the last count sees the entry. From the first one it knows afterwards which of the
//! entries that it copied may have been overwritten meanwhile.

use crate::layout::ring::*;
use crate::segment::{Change, WORD, store_text};
use mem::Window;
use std::sync::atomic::{AtomicU64, Ordering, fence};

#[cfg(feature = "tests")]
mod tests;

/// Layout of a ring buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingShape<'a> {
    /// Threads that write, each to entries of its own.
    pub threads: usize,
    /// 64-bit words of an entry.
    pub words: usize,
    /// Entries of a thread.
    pub entries: usize,
    /// Describes an entry to readers.
    pub schema: &'a str,
    /// Version of that description.
    pub schema_version: u32,
}

impl RingShape<'_> {
    /// Words of everything; `None` if readers' 32-bit offsets don't reach it, or nothing fits in.
    fn len(&self) -> Option<usize> {
        let entries = self.threads.checked_mul(self.entries)?.checked_mul(self.words)?;
        let state = self.threads.checked_add(1)?.checked_mul(STATE / WORD)?;
        let len = entries.checked_add(state)?.checked_add(self.schema.len().div_ceil(WORD))?;
        u32::try_from(len.checked_mul(WORD)?).ok().filter(|_| entries > 0).and(Some(len))
    }
}

/// The write side of a ring.
#[derive(Debug)]
pub struct Ring {
    memory: Window<1>,
    threads: usize,
    words: usize,
    entries: usize,
}

/// Two 32-bit fields that lie side by side in memory.
fn pair(first: usize, second: usize) -> u64 {
    let bytes = [(first as u32).to_ne_bytes(), (second as u32).to_ne_bytes()].concat();
    u64::from_ne_bytes(bytes.try_into().expect("8 bytes"))
}

impl Ring {
    /// A ring, and where it lies; `None` without room for it.
    pub(crate) fn new(change: &mut Change<'_>, shape: &RingShape<'_>) -> Option<(Self, usize)> {
        let len = shape.len()?;
        let at = change.alloc(len)?;
        let memory = change.words().window(at, len);
        let this =
            Self { memory, threads: shape.threads, words: shape.words, entries: shape.entries };
        let data = (shape.threads + 1) * STATE;
        let schema = data + shape.threads * shape.entries * shape.words * WORD;
        let (text, version) = (shape.schema, shape.schema_version as usize);
        this.set(ENTRY_SIZE, pair(shape.words * WORD, shape.entries));
        this.set(THREADS, pair(shape.threads, text.len()));
        this.set(SCHEMA_VERSION, pair(version, STATE));
        this.set(DATA, pair(data, 0));
        for thread in 0..shape.threads {
            let state = STATE * (thread + 1);
            this.set(state + HEAD, pair(0, version));
            this.set(state + SCHEMA, pair(schema, text.len()));
        }
        store_text(&change.words().as_slice()[at + schema / WORD..at + len], text);
        Some((this, at))
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        let [word] = &self.memory.as_slice()[offset / WORD];
        word
    }

    fn set(&self, offset: usize, value: u64) {
        self.word(offset).store(value, Ordering::Relaxed);
    }

    /// 64-bit words of an entry.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Entries of a thread.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Writes an entry over the oldest of this thread, the only one to write there. Words that the
    /// entry lacks stay as they were, words beyond an entry aren't written.
    ///
    /// # Panics
    /// For a thread that the ring isn't made for.
    #[inline]
    pub fn push(&self, thread: usize, entry: &[u64]) {
        assert!(thread < self.threads, "thread {thread} of {}", self.threads);
        let state = STATE * (thread + 1);
        let sequence = self.word(state + SEQUENCE).load(Ordering::Relaxed);
        let slot = thread * self.entries + (sequence % self.entries as u64) as usize;
        let at = (self.threads + 1) * STATE + slot * self.words * WORD;
        self.set(state + BEGUN, sequence + 1);
        // A reader that copies a word of this entry sees afterwards that it was begun.
        fence(Ordering::Release);
        for (i, word) in entry.iter().take(self.words).enumerate() {
            self.set(at + i * WORD, *word);
        }
        let version = self.word(state + HEAD).load(Ordering::Relaxed).to_ne_bytes();
        let version = u32::from_ne_bytes([version[4], version[5], version[6], version[7]]);
        let head = (sequence + 1) % self.entries as u64;
        self.word(state + HEAD).store(pair(head as usize, version as usize), Ordering::Release);
        self.word(state + SEQUENCE).store(sequence + 1, Ordering::Release);
    }
}

/// Counts by powers of two: cell `i` of values whose highest bit is `lowest + i`; what is below or
/// above falls into the first or last.
#[derive(Debug)]
pub struct Histogram {
    rows: Vec<Window<1>>,
    lowest: u32,
    bins: usize,
}

impl Histogram {
    /// A histogram, and where its vector of rows lies; `None` without room.
    pub(crate) fn new(
        change: &mut Change<'_>,
        threads: usize,
        lowest: u32,
        bins: usize,
    ) -> Option<(Self, usize)> {
        let cells = bins.checked_add(1).filter(|cells| *cells > 1)?;
        let vector = change.alloc(threads)?;
        let mut rows = Vec::new();
        for thread in 0..threads {
            let data = change.alloc(cells)?;
            let row: Window<1> = change.words().window(data, cells);
            let [first] = &row.as_slice()[0];
            first.store(lowest.into(), Ordering::Relaxed);
            change.set_len(data, cells);
            change.point(vector, thread, data);
            rows.push(row);
        }
        change.set_len(vector, threads);
        Some((Self { rows, lowest, bins }, vector))
    }

    /// The exponent of the first cell.
    pub fn lowest(&self) -> u32 {
        self.lowest
    }

    /// Number of cells.
    pub fn bins(&self) -> usize {
        self.bins
    }

    /// Counts a value; only `thread` itself may.
    ///
    /// # Panics
    /// For a thread that isn't there.
    #[inline]
    pub fn count(&self, thread: usize, value: u64) {
        let bin = value.max(1).ilog2().saturating_sub(self.lowest) as usize;
        let [cell] = &self.rows[thread].as_slice()[bin.min(self.bins - 1) + 1];
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Bounded rings of reports from the threads that carry packets to a process of the control thread.
//!
//! A thread only writes into its ring: it allocates nothing and waits for nothing. A report that
//! finds the ring full is lost and counted. The first report after a quiet time wakes the process;
//! then it reads the rings from time to time ([`PERIOD`]), until nothing comes any more. So threads
//! wake it once in that time at most.

use graph::{Signal, Sleep};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use sync::spsc::{Consumer, Producer, ring};

/// Nanoseconds from one reading of the rings to the next.
pub const PERIOD: u64 = 10_000_000;

/// The rings of all threads.
pub struct Reports<T> {
    capacity: usize,
    rings: Mutex<Vec<Consumer<T>>>,
    common: Arc<Common>,
}

struct Common {
    lost: AtomicU64,
    /// The process reads the rings anyway.
    is_awake: AtomicBool,
    /// Wakes it.
    signal: Signal,
}

/// The writing end of a thread.
pub struct Reporter<T> {
    ring: Producer<T>,
    common: Arc<Common>,
}

impl<T> Reporter<T> {
    /// Writes a report; if the ring is full, it is lost and counted.
    #[inline]
    pub fn post(&mut self, report: T) {
        if self.ring.push(report).is_err() {
            self.common.lost.fetch_add(1, Ordering::Relaxed);
        }
        // Either the process sees the report when it has said that it rests, or this sees that it
        // does: all swaps of the flag are in one order.
        if !self.common.is_awake.swap(true, Ordering::AcqRel) {
            self.common.signal.raise();
        }
    }
}

impl<T: Send> Reports<T> {
    /// Rings for so many reports each, whose process this signal wakes.
    pub fn new(capacity: usize, signal: Signal) -> Self {
        let common = Common { lost: AtomicU64::new(0), is_awake: AtomicBool::new(false), signal };
        Self { capacity, rings: Mutex::default(), common: Arc::new(common) }
    }

    /// Makes the ring of a thread.
    pub fn reporter(&self) -> Reporter<T> {
        let (producer, consumer) = ring(self.capacity);
        self.rings.lock().expect("no panic inside").push(consumer);
        Reporter { ring: producer, common: self.common.clone() }
    }

    /// Takes reports that wait, at most so many of each ring. Returns true if there may be more.
    pub fn drain(&self, most: usize, mut take: impl FnMut(T)) -> bool {
        let mut rings = self.rings.lock().expect("no panic inside");
        let mut is_more = false;
        for ring in rings.iter_mut() {
            let n = ring.pop_batch(most, &mut take);
            is_more |= n == most;
        }
        is_more
    }

    /// When the process has to read the rings again: at once if there may be more, after a while if
    /// it has taken some, else when something comes.
    pub fn sleep(&self, now: u64, is_more: bool, took_some: bool) -> Sleep {
        if is_more {
            return Sleep::Until(now);
        }
        if took_some {
            return Sleep::Until(now + PERIOD);
        }
        self.common.is_awake.swap(false, Ordering::AcqRel);
        let mut rings = self.rings.lock().expect("no panic inside");
        let has_some = rings.iter_mut().any(|ring| !ring.is_empty());
        if has_some { Sleep::Until(now) } else { Sleep::Event }
    }

    /// Reports that were lost.
    pub fn lost(&self) -> u64 {
        self.common.lost.load(Ordering::Relaxed)
    }
}

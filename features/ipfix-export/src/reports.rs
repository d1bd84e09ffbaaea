// SPDX-License-Identifier: Apache-2.0
//! Bounded rings of reports from the threads that carry packets to a process of the control thread.
//!
//! A thread only writes into its ring: it wakes nobody, allocates nothing and waits for nothing. A
//! report that finds the ring full is lost and counted. The process reads the rings from time to
//! time ([`PERIOD`]).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use sync::spsc::{Consumer, Producer, ring};

/// Nanoseconds from one reading of the rings to the next.
pub const PERIOD: u64 = 10_000_000;

/// The rings of all threads.
pub struct Reports<T> {
    capacity: usize,
    rings: Mutex<Vec<Consumer<T>>>,
    lost: Arc<AtomicU64>,
}

/// The writing end of a thread.
pub struct Reporter<T> {
    ring: Producer<T>,
    lost: Arc<AtomicU64>,
}

impl<T> Reporter<T> {
    /// Writes a report; if the ring is full, it is lost and counted.
    #[inline]
    pub fn post(&mut self, report: T) {
        if self.ring.push(report).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<T: Send> Reports<T> {
    /// Rings for so many reports each.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, rings: Mutex::default(), lost: Arc::default() }
    }

    /// Makes the ring of a thread.
    pub fn reporter(&self) -> Reporter<T> {
        let (producer, consumer) = ring(self.capacity);
        self.rings.lock().expect("no panic inside").push(consumer);
        Reporter { ring: producer, lost: self.lost.clone() }
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

    /// Reports that were lost.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

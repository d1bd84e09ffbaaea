// SPDX-License-Identifier: Apache-2.0
//! Bounded rings of reports from the threads that carry packets to a process of the control thread.
//!
//! A thread only writes into its ring: it allocates nothing and waits for nothing. A report that
//! finds the ring full is lost and counted. The first report after a quiet time wakes the process;
//! then it reads the rings from time to time ([`PERIOD`]), until nothing comes any more. So threads
//! wake it once in that time at most.

use graph::{Signal, Sleep};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
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
    /// True while the process reads the rings without being woken.
    is_awake: AtomicBool,
    /// Wakes the process.
    signal: Signal,
}

/// The result of [`Reports::drain`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drained {
    /// True if there were reports.
    pub some: bool,
    /// True if there may be more.
    pub more: bool,
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
        // This fence and that of `Reports::sleep` have an order: either the process finds the
        // report when it looks into the rings again, or this thread finds the flag cleared. The
        // flag is only loaded as a rule, so threads don't take its cache line from each other.
        fence(Ordering::SeqCst);
        let common = &self.common;
        if !common.is_awake.load(Ordering::Relaxed) && !common.is_awake.swap(true, Ordering::AcqRel)
        {
            common.signal.raise();
        }
    }
}

impl<T: Send> Reports<T> {
    /// Rings for so many reports each, whose process this signal wakes.
    pub fn new(capacity: usize, signal: Signal) -> Self {
        let common = Common { lost: AtomicU64::new(0), is_awake: AtomicBool::new(false), signal };
        Self { capacity, rings: Mutex::default(), common: Arc::new(common) }
    }

    /// The signal that wakes the process.
    pub fn signal(&self) -> &Signal {
        &self.common.signal
    }

    /// Makes the ring of a thread.
    pub fn reporter(&self) -> Reporter<T> {
        let (producer, consumer) = ring(self.capacity);
        self.rings.lock().expect("no panic inside").push(consumer);
        Reporter { ring: producer, common: self.common.clone() }
    }

    /// Takes reports that wait: about `most`, and equally many of each ring at most.
    pub fn drain(&self, most: usize, mut take: impl FnMut(T)) -> Drained {
        let mut rings = self.rings.lock().expect("no panic inside");
        let of_each = (most / rings.len().max(1)).max(1);
        let mut drained = Drained { some: false, more: false };
        for ring in rings.iter_mut() {
            let n = ring.pop_batch(of_each, &mut take);
            drained.some |= n > 0;
            drained.more |= n == of_each;
        }
        drained
    }

    /// The sleep of the process: none if there may be more reports, a [`PERIOD`] if it has taken
    /// some, else until a report comes.
    pub fn sleep(&self, now: u64, drained: Drained) -> Sleep {
        if drained.more {
            return Sleep::Until(now);
        }
        if drained.some {
            return Sleep::Until(now + PERIOD);
        }
        self.common.is_awake.store(false, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let mut rings = self.rings.lock().expect("no panic inside");
        let has_some = rings.iter_mut().any(|ring| !ring.is_empty());
        if has_some { Sleep::Until(now) } else { Sleep::Event }
    }

    /// Reports that were lost.
    pub fn lost(&self) -> u64 {
        self.common.lost.load(Ordering::Relaxed)
    }
}

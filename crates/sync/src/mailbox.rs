// SPDX-License-Identifier: Apache-2.0
//! Many senders, one receiver, bounded.

use crate::Waker;
use crossbeam_queue::ArrayQueue;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A bounded queue to one thread, that wakes it. What doesn't fit is given back and counted.
pub struct Mailbox<T> {
    queue: ArrayQueue<T>,
    drops: AtomicU64,
    waker: Arc<Waker>,
}

impl<T> Mailbox<T> {
    /// A queue for `capacity` items to the thread that sleeps on `waker`; several mailboxes may
    /// share one.
    ///
    /// # Panics
    /// If `capacity` is 0.
    pub fn new(capacity: usize, waker: Arc<Waker>) -> Self {
        Self { queue: ArrayQueue::new(capacity), drops: AtomicU64::new(0), waker }
    }

    /// Sends `value` and wakes the receiver if it sleeps. If the queue is full the value comes
    /// back, counted as a drop. Never blocks.
    pub fn post(&self, value: T) -> Result<(), T> {
        let result = self.queue.push(value);
        if result.is_err() {
            self.drops.fetch_add(1, Ordering::Relaxed);
        }
        // Also when full: the sender that filled it may not have reached its own `wake` yet.
        self.waker.wake();
        result
    }

    /// Receives the oldest item.
    pub fn take(&self) -> Option<T> {
        self.queue.pop()
    }

    /// Calls `f` on what waits, oldest first, and returns how many that were. Takes at most a
    /// queueful, so that senders can't keep the receiver here.
    pub fn drain(&self, mut f: impl FnMut(T)) -> usize {
        let mut n = 0;
        while n < self.queue.capacity()
            && let Some(value) = self.queue.pop()
        {
            n += 1;
            f(value);
        }
        n
    }

    /// Returns true if no item waits: the recheck between [`Waker::prepare_sleep`] and sleeping.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Number of items that wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Number of items that were refused because the queue was full.
    pub fn drops(&self) -> u64 {
        self.drops.load(Ordering::Relaxed)
    }

    /// The receiver's waker.
    pub fn waker(&self) -> &Arc<Waker> {
        &self.waker
    }
}

impl<T> fmt::Debug for Mailbox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox")
            .field("len", &self.len())
            .field("drops", &self.drops())
            .finish_non_exhaustive()
    }
}

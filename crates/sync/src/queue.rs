// SPDX-License-Identifier: Apache-2.0
//! Many senders, one receiver, without a bound.

use crate::Waker;
use crossbeam_queue::SegQueue;
use std::fmt;
use std::sync::Arc;

/// A queue to one thread, in order of sending, that wakes it. A sender never waits: a receiver that
/// is stuck costs the memory of what waits. For senders that have a bound of their own, or whose
/// work is bounded by what an operator asks for.
pub struct Queue<T> {
    items: SegQueue<T>,
    waker: Arc<Waker>,
}

impl<T> Queue<T> {
    /// A queue to the thread that sleeps on `waker`.
    pub fn new(waker: Arc<Waker>) -> Self {
        Self { items: SegQueue::new(), waker }
    }

    /// Sends `value` and wakes the receiver if it sleeps. Never blocks.
    pub fn post(&self, value: T) {
        self.items.push(value);
        self.waker.wake();
    }

    /// Receives the oldest item.
    pub fn take(&self) -> Option<T> {
        self.items.pop()
    }

    /// Returns true if no item waits: the recheck between [`Waker::prepare_sleep`] and sleeping.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Number of items that wait.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The receiver's waker.
    pub fn waker(&self) -> &Arc<Waker> {
        &self.waker
    }
}

impl<T> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("len", &self.len()).finish_non_exhaustive()
    }
}

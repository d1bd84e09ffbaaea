// SPDX-License-Identifier: Apache-2.0
//! Both ends of rings of one producer and one consumer. Indices count without end; an index of the
//! other side that can't be is taken as "nothing".

use super::sys::{Entry, RingMemory};

/// The end that adds entries.
pub struct Producer<T: Entry> {
    memory: RingMemory<T>,
    /// Index of the next entry. It is never read back from shared memory.
    next: u32,
    /// Index up to which entries are published.
    published: u32,
    /// The consumer's index when it was read last.
    seen: u32,
}

impl<T: Entry> Producer<T> {
    pub fn new(memory: RingMemory<T>) -> Self {
        let next = memory.producer();
        Self { memory, next, published: next, seen: next }
    }

    /// Number of entries that the consumer hasn't taken, published or not.
    pub fn pending(&mut self) -> u32 {
        let seen = self.memory.consumer();
        // One that isn't between its last value and ours is none of a consumer.
        if self.published.wrapping_sub(seen) <= self.published.wrapping_sub(self.seen) {
            self.seen = seen;
        }
        self.next.wrapping_sub(self.seen)
    }

    /// Number of entries that may be added.
    #[inline(always)]
    pub fn room(&mut self) -> u32 {
        self.memory.size() - self.pending()
    }

    /// Adds an entry. The caller has asked for [`Self::room`].
    #[inline(always)]
    pub fn push(&mut self, entry: T) {
        self.memory.store(self.next, entry);
        self.next = self.next.wrapping_add(1);
    }

    /// Lets the consumer see what was added.
    #[inline(always)]
    pub fn publish(&mut self) {
        if self.published != self.next {
            self.published = self.next;
            self.memory.set_producer(self.next);
        }
    }

    #[inline(always)]
    pub fn needs_wakeup(&self) -> bool {
        self.memory.needs_wakeup()
    }

    pub fn size(&self) -> u32 {
        self.memory.size()
    }
}

/// The end that takes entries.
pub struct Consumer<T: Entry> {
    memory: RingMemory<T>,
    /// Index of the next entry. It is never read back from shared memory.
    next: u32,
    /// Index up to which entries have been given back.
    released: u32,
}

impl<T: Entry> Consumer<T> {
    pub fn new(memory: RingMemory<T>) -> Self {
        let next = memory.consumer();
        Self { memory, next, released: next }
    }

    /// Number of entries that wait. 0 if the producer's index can't be.
    #[inline(always)]
    pub fn waiting(&self) -> u32 {
        let waiting = self.memory.producer().wrapping_sub(self.next);
        if waiting <= self.memory.size() { waiting } else { 0 }
    }

    /// Takes the next entry. The caller has asked for [`Self::waiting`].
    #[inline(always)]
    pub fn take(&mut self) -> T {
        let entry = self.memory.load(self.next);
        self.next = self.next.wrapping_add(1);
        entry
    }

    /// Gives the places of the entries that were taken back to the producer.
    #[inline(always)]
    pub fn release(&mut self) {
        if self.released != self.next {
            self.released = self.next;
            self.memory.set_consumer(self.next);
        }
    }
}

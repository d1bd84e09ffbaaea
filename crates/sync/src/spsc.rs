// SPDX-License-Identifier: Apache-2.0
//! A bounded ring from one thread to one other.
//!
//! Positions run freely and wrap at 2^32; `tail - head` is the number of items. Each side keeps the
//! other's position in a cache of its own and reads the shared one only when the cache says full
//! (or empty), so that the two threads exchange a cache line per lap and not per item.

use crate::platform::{AtomicU32, Ordering, UnsafeCell};
use crossbeam_utils::CachePadded;
use std::fmt;
use std::mem::MaybeUninit;
#[cfg(not(loom))]
use std::sync::Arc;

#[cfg(loom)]
use loom::sync::Arc;

struct Ring<T> {
    /// Next position to pop; stored by the consumer.
    head: CachePadded<AtomicU32>,
    /// Next position to push; stored by the producer.
    tail: CachePadded<AtomicU32>,
    /// Length a power of two. Initialised are the positions in `head..tail`.
    cells: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

// SAFETY: a cell is touched by the producer while it is outside `head..tail` and by the consumer
// while it is inside; the positions pass it between them by release and acquire. Items move to the
// other thread: `T: Send`.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: owns its items, nothing bound to a thread.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T> Ring<T> {
    #[inline(always)]
    fn cell(&self, position: u32) -> &UnsafeCell<MaybeUninit<T>> {
        &self.cells[position as usize & (self.cells.len() - 1)]
    }

    /// # Safety
    /// The caller is the producer and `position` is free: outside `head..tail`, less than the
    /// capacity past `head`.
    #[inline(always)]
    unsafe fn write(&self, position: u32, value: T) {
        self.cell(position).with_mut(|cell| {
            // SAFETY: free, so nobody else touches it; there is nothing to drop in it.
            unsafe { (*cell).write(value) };
        });
    }

    /// # Safety
    /// The caller is the consumer (or owns the ring), `position` is in `head..tail`, and won't be
    /// read again.
    #[inline(always)]
    unsafe fn read(&self, position: u32) -> T {
        // SAFETY: in `head..tail`, so initialised, and the producer doesn't touch it.
        self.cell(position).with_mut(|cell| unsafe { (*cell).assume_init_read() })
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        let tail = self.tail.load(Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Relaxed);
        while head != tail {
            // SAFETY: both ends are gone, so the ring is ours; each position is read once.
            drop(unsafe { self.read(head) });
            head = head.wrapping_add(1);
        }
    }
}

/// A ring for `capacity` items, rounded up to a power of two. Nothing is allocated after this.
///
/// # Panics
/// If `capacity` is 0 or more than 2^31.
pub fn ring<T: Send>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    assert!((1..=1 << 31).contains(&capacity), "ring of {capacity} items");
    let ring = Arc::new(Ring {
        head: CachePadded::new(AtomicU32::new(0)),
        tail: CachePadded::new(AtomicU32::new(0)),
        cells: (0..capacity.next_power_of_two())
            .map(|_| UnsafeCell::new(MaybeUninit::uninit()))
            .collect(),
    });
    (Producer { ring: ring.clone(), tail: 0, head: 0 }, Consumer { ring, head: 0, tail: 0 })
}

/// The sending end.
pub struct Producer<T> {
    ring: Arc<Ring<T>>,
    tail: u32,
    /// The consumer's position when last looked at.
    head: u32,
}

impl<T> Producer<T> {
    /// Number of items that fit; loads the consumer's position only if fewer than `wanted` are
    /// known to fit.
    #[inline(always)]
    fn room(&mut self, wanted: u32) -> u32 {
        let capacity = self.ring.cells.len() as u32;
        let room = capacity - self.tail.wrapping_sub(self.head);
        if room >= wanted {
            return room;
        }
        self.head = self.ring.head.load(Ordering::Acquire);
        capacity - self.tail.wrapping_sub(self.head)
    }

    #[inline(always)]
    fn publish(&mut self, tail: u32) {
        self.tail = tail;
        self.ring.tail.store(tail, Ordering::Release);
    }

    /// Sends `value`, or gives it back if the ring is full.
    #[inline(always)]
    pub fn push(&mut self, value: T) -> Result<(), T> {
        if self.room(1) == 0 {
            return Err(value);
        }
        // SAFETY: we are the producer, and there is room at `tail`.
        unsafe { self.ring.write(self.tail, value) };
        self.publish(self.tail.wrapping_add(1));
        Ok(())
    }

    /// Sends from `items` until they end or the ring is full, and makes them visible at once at the
    /// end. Returns how many; what wasn't sent wasn't taken from `items`.
    #[inline]
    pub fn push_batch(&mut self, items: &mut impl Iterator<Item = T>) -> usize {
        let wanted = items.size_hint().1.map_or(u32::MAX, |n| u32::try_from(n).unwrap_or(u32::MAX));
        let room = self.room(wanted);
        let mut tail = self.tail;
        let mut sent = 0;
        while sent < room
            && let Some(value) = items.next()
        {
            // SAFETY: we are the producer and `sent < room`. If `items` panics, what was written is
            // forgotten.
            unsafe { self.ring.write(tail, value) };
            tail = tail.wrapping_add(1);
            sent += 1;
        }
        self.publish(tail);
        sent as usize
    }

    /// Number of items that fit now; the consumer can only increase it.
    pub fn free(&mut self) -> usize {
        self.room(u32::MAX) as usize
    }

    /// Number of items that fit into the empty ring.
    pub fn capacity(&self) -> usize {
        self.ring.cells.len()
    }

    /// Returns true if the consumer was dropped, so that no item that is sent will be received.
    pub fn is_closed(&self) -> bool {
        Arc::strong_count(&self.ring) == 1
    }
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// The receiving end.
pub struct Consumer<T> {
    ring: Arc<Ring<T>>,
    head: u32,
    /// The producer's position when last looked at.
    tail: u32,
}

impl<T> Consumer<T> {
    /// Number of items that wait; loads the producer's position only if fewer than `wanted` are
    /// known to wait.
    #[inline(always)]
    fn ready(&mut self, wanted: u32) -> u32 {
        let ready = self.tail.wrapping_sub(self.head);
        if ready >= wanted {
            return ready;
        }
        self.tail = self.ring.tail.load(Ordering::Acquire);
        self.tail.wrapping_sub(self.head)
    }

    #[inline(always)]
    fn publish(&mut self, head: u32) {
        self.head = head;
        self.ring.head.store(head, Ordering::Release);
    }

    /// Receives the oldest item.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        if self.ready(1) == 0 {
            return None;
        }
        // SAFETY: we are the consumer, `head` is in `head..tail`, and the next statement moves past
        // it.
        let value = unsafe { self.ring.read(self.head) };
        self.publish(self.head.wrapping_add(1));
        Some(value)
    }

    /// Receives up to `max` items, oldest first, giving their room back at once at the end. Returns
    /// how many.
    #[inline]
    pub fn pop_batch(&mut self, max: usize, mut f: impl FnMut(T)) -> usize {
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        let n = self.ready(max).min(max);
        // Publishes also if `f` panics, so that no item is read twice.
        let mut batch = Batch { head: self.head, consumer: self };
        for _ in 0..n {
            // SAFETY: we are the consumer, the first `n` positions are ready, and `head` moves past
            // this one before anything else happens.
            let value = unsafe { batch.consumer.ring.read(batch.head) };
            batch.head = batch.head.wrapping_add(1);
            f(value);
        }
        n as usize
    }

    /// Number of items that wait now; the producer can only increase it.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&mut self) -> usize {
        self.ready(u32::MAX) as usize
    }

    /// Returns true if no item waits now. One load; the recheck before sleeping.
    pub fn is_empty(&mut self) -> bool {
        self.ready(1) == 0
    }

    /// Number of items that fit into the empty ring.
    pub fn capacity(&self) -> usize {
        self.ring.cells.len()
    }

    /// Returns true if the producer was dropped; items that it sent before can still be popped.
    pub fn is_closed(&self) -> bool {
        Arc::strong_count(&self.ring) == 1
    }
}

struct Batch<'c, T> {
    head: u32,
    consumer: &'c mut Consumer<T>,
}

impl<T> Drop for Batch<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.consumer.publish(self.head);
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

// SPDX-License-Identifier: Apache-2.0
//! A packet of which copies are made.

use crate::cache::Cache;
use crate::header::Buffer;
use crate::meta::Offload;
use crate::pool::{Owned, release_segments};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// A packet of which copies are made. Each copy has the packet's first bytes, its head, to itself,
/// and shares the rest with all others, so no caller gets `&mut` to the packet any more. A packet
/// that is no longer than a head is copied as a whole.
///
/// That an [`Owned`] or a [`Frame`](crate::Frame) has the only reference on a packet's first
/// segment follows from this type: there is no other way to a second reference, and it takes the
/// packet away from either.
///
/// ```
/// # let (pool, heads) = (buffer::Pool::new(63).unwrap(), 64);
/// # let mut cache = buffer::Cache::new(pool);
/// let mut packet = cache.alloc().unwrap();
/// assert!(packet.append_bytes(&[7; 1000], &mut cache));
/// let original = packet.into_original(heads);
/// let mut copy = original.copy(&mut cache).unwrap();
/// copy.data_mut()[0] = 9;
/// assert!(original.finish(&mut cache).is_none(), "a long packet is the copies' tail");
/// assert_eq!((copy.packet_len(), copy.is_shared()), (1000, false));
/// # cache.free(copy);
/// ```
pub struct Original {
    /// Its first segment begins behind the head, whose bytes stand in front. Read-only from the
    /// first copy on.
    tail: NonNull<Buffer>,
    /// Bytes of the head.
    head: usize,
    /// The packet is no longer than its head. Nothing is shared then: `tail` is the packet, and
    /// has one reference.
    is_whole: bool,
    /// As the whole packet's.
    offload: Offload,
}

// SAFETY: of a shared buffer bytes are only read, and references are counted by atomics.
unsafe impl Send for Original {}
// SAFETY: as above.
unsafe impl Sync for Original {}

impl Owned {
    /// Prepares for copies that have the first `head` bytes, as far as the first segment has them,
    /// to themselves.
    #[inline(always)]
    pub fn into_original(mut self, head: usize) -> Original {
        let head = head.min(self.len());
        let is_whole = head == self.packet_len();
        let offload = self.offload;
        if !is_whole {
            let pulled = self.pull(head);
            debug_assert!(pulled, "it is that long");
        }
        Original { tail: self.into_ptr(), head, is_whole, offload }
    }
}

impl Original {
    /// Returns true if copies share nothing. [`Self::finish`] gives the packet back then.
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// One more packet like this; `None` if there is no buffer.
    ///
    /// # Panics
    /// If the packet isn't of the cache's pool.
    #[inline(always)]
    pub fn copy(&self, cache: &mut Cache) -> Option<Owned> {
        assert!(cache.pool().owns(self.tail), "buffer of another pool");
        let mut copy = cache.alloc()?;
        // SAFETY: this handle has a reference, and nobody writes to the buffer.
        let tail = unsafe { self.tail.as_ref() };
        copy.copy_meta(tail);
        copy.offload = self.offload;
        // Where it stood: the marks of layers stay true.
        let start = tail.headroom() - if self.is_whole { 0 } else { self.head };
        copy.place(start, self.head);
        copy.data_mut().copy_from_slice(tail.area_at(start, self.head));
        if !self.is_whole {
            tail.refs.fetch_add(1, Ordering::Relaxed);
            copy.next = cache.pool().index_of(self.tail);
            copy.rest_len = tail.packet_len() as u32;
        }
        Some(copy)
    }

    /// Ends it: gives the packet back if nothing of it is shared, and else frees it as soon as no
    /// copy needs it.
    #[inline(always)]
    pub fn finish(self, cache: &mut Cache) -> Option<Owned> {
        let this = ManuallyDrop::new(self);
        if this.is_whole {
            // SAFETY: the handle had the only reference, and is gone.
            return Some(unsafe { Owned::from_ptr(this.tail) });
        }
        // SAFETY: the handle had a reference, and is gone.
        unsafe { cache.free_segments(this.tail) };
        None
    }
}

impl Buffer {
    /// Copies a packet: the copy has bytes of the first segment of its own, and shares the segments
    /// behind it. `None` if there is no buffer.
    ///
    /// # Panics
    /// If the packet isn't of the cache's pool.
    #[inline(always)]
    pub fn duplicate(&self, cache: &mut Cache) -> Option<Owned> {
        assert!(cache.pool().owns(NonNull::from(self)), "buffer of another pool");
        let mut copy = cache.alloc()?;
        copy.copy_meta(self);
        // At the same offset: the marks of layers stay true.
        copy.place(self.headroom(), self.len());
        copy.data_mut().copy_from_slice(self.data());
        if let Some(rest) = self.next_segment() {
            rest.refs.fetch_add(1, Ordering::Relaxed);
            copy.next = self.next;
            copy.rest_len = self.rest_len;
        }
        Some(copy)
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        // SAFETY: the handle has a reference, which ends here.
        unsafe { release_segments(self.tail) };
    }
}

impl std::fmt::Debug for Original {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Original")
            .field("head", &self.head)
            .field("is_whole", &self.is_whole)
            .finish_non_exhaustive()
    }
}

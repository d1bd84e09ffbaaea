// SPDX-License-Identifier: Apache-2.0
//! A thread's own stack of free buffers.

use crate::debug_state::State;
use crate::frame::{FRAME_SIZE, Frame};
use crate::header::{Buffer, BufferIndex};
use crate::pool::{MAGAZINE, Magazine, Owned, Pool, end_segments, release_segments};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// Free buffers that a thread keeps; what is above goes to the depot.
const KEEP: usize = 1024;
const ROOM: usize = KEEP + FRAME_SIZE + MAGAZINE;

/// One thread's free buffers, last in first out: what was freed last is still in the first-level
/// cache, and is what the next packet gets.
pub struct Cache {
    pool: &'static Pool,
    stack: Box<[u32; ROOM]>,
    n: usize,
    /// For packets of the router's own, once ordinary ones find none.
    own: Magazine,
}

impl Cache {
    /// An empty cache of this pool.
    pub fn new(pool: &'static Pool) -> Self {
        Self {
            pool,
            stack: Box::new([0; ROOM]),
            n: 0,
            own: Magazine { n: 0, indices: [0; MAGAZINE] },
        }
    }

    /// The pool behind it.
    pub fn pool(&self) -> &'static Pool {
        self.pool
    }

    /// Free buffers in this cache.
    pub fn free_count(&self) -> usize {
        self.n + self.own.n as usize
    }

    #[cold]
    fn refill(&mut self, want: usize) {
        while self.n < want {
            let Some(magazine) = self.pool.take() else {
                self.pool.failures.fetch_add(1, Ordering::Relaxed);
                return;
            };
            let n = magazine.n as usize;
            self.stack[self.n..self.n + n].copy_from_slice(&magazine.indices[..n]);
            self.n += n;
        }
    }

    /// Gives full magazines to the depot, as long as `keep` buffers stay.
    #[cold]
    fn flush(&mut self, keep: usize) {
        while self.n >= keep + MAGAZINE {
            let mut magazine = Magazine { n: MAGAZINE as u32, indices: [0; MAGAZINE] };
            // The oldest go: they have left the cache long ago.
            magazine.indices.copy_from_slice(&self.stack[..MAGAZINE]);
            self.stack.copy_within(MAGAZINE..self.n, 0);
            self.n -= MAGAZINE;
            self.pool.give(magazine);
        }
    }

    /// A fresh, empty buffer; `None` when all are in use.
    #[inline]
    pub fn alloc(&mut self) -> Option<Owned> {
        if self.n == 0 {
            self.refill(1);
            if self.n == 0 {
                return None;
            }
        }
        self.n -= 1;
        // SAFETY: taken off the free stack just now.
        Some(unsafe { Owned::from_ptr(self.pool.revive(self.stack[self.n], State::Owned)) })
    }

    /// As [`Self::alloc`], for a packet of the router's own (a question for a neighbour, an
    /// advertisement): it finds a buffer when forwarding finds none any more.
    pub fn alloc_own(&mut self) -> Option<Owned> {
        if let Some(buffer) = self.alloc() {
            return Some(buffer);
        }
        if self.own.n == 0 {
            self.own = self.pool.take_any()?;
        }
        self.own.n -= 1;
        self.stack[0] = self.own.indices[self.own.n as usize];
        self.n = 1;
        self.alloc()
    }

    /// Appends up to `n` fresh, empty buffers to the frame; returns how many.
    #[inline]
    pub fn alloc_frame(&mut self, frame: &mut Frame, n: usize) -> usize {
        frame.check_pool(self.pool);
        let want = n.min(frame.room());
        if self.n < want {
            self.refill(want);
        }
        let got = want.min(self.n);
        let from = self.n - got;
        frame.extend_raw(&self.stack[from..self.n]);
        for &index in &self.stack[from..self.n] {
            // SAFETY: taken off the free stack here, for the frame.
            unsafe { self.pool.revive(index, State::Framed) };
        }
        self.n = from;
        got
    }

    /// Frees one packet, the whole chain.
    #[inline]
    pub fn free(&mut self, buffer: Owned) {
        let ptr = buffer.into_ptr();
        if !self.pool.owns(ptr) {
            // SAFETY: it was just taken from the handle. Dropped the slow way, into its own pool.
            return drop(unsafe { Owned::from_ptr(ptr) });
        }
        // SAFETY: the handle was the owner, and is gone.
        unsafe { self.free_packet(ptr, State::Owned) };
        if self.n >= KEEP + FRAME_SIZE {
            self.flush(KEEP / 2);
        }
    }

    /// Frees one packet of this pool. A packet's first segment never has a second reference.
    ///
    /// # Safety
    /// The caller owns the packet, in this state, and forgets it.
    #[inline(always)]
    unsafe fn free_packet(&mut self, ptr: NonNull<Buffer>, state: State) {
        // SAFETY: as the caller says.
        let next = unsafe {
            debug_assert!(ptr.as_ref().is_sole(), "a packet that others share");
            let next = ptr.as_ref().next;
            self.pool.retire(ptr, state);
            next
        };
        self.put(self.pool.index_of(ptr).0);
        if next != BufferIndex::NONE {
            // SAFETY: the packet had a reference on the segment.
            unsafe { self.free_segments(self.pool.ptr(next)) };
        }
    }

    #[inline(always)]
    fn put(&mut self, index: u32) {
        if self.n == ROOM {
            self.flush(KEEP / 2);
        }
        self.stack[self.n] = index;
        self.n += 1;
    }

    /// Ends a reference on a segment, and frees it and the segments behind it, as far as no other
    /// packet has them.
    ///
    /// # Safety
    /// The caller has the reference, and forgets it.
    pub(crate) unsafe fn free_segments(&mut self, at: NonNull<Buffer>) {
        let pool = self.pool;
        // SAFETY: as the caller says.
        unsafe {
            if pool.owns(at) {
                end_segments(pool, at, |i| self.put(i));
            } else {
                release_segments(at);
            }
        }
    }

    /// Frees all packets of the frame and leaves it empty.
    #[inline]
    pub fn free_frame(&mut self, frame: &mut Frame) {
        frame.check_pool(self.pool);
        if self.n > KEEP {
            self.flush(KEEP / 2);
        }
        // Without a link all bits are set.
        let mut links = BufferIndex::NONE.0;
        for buffer in frame.iter() {
            links &= buffer.next.0;
        }
        let indices = frame.take_raw();
        let pool = self.pool;
        if links == BufferIndex::NONE.0 {
            for &index in indices {
                // SAFETY: the frame owned the packet, and has forgotten it.
                unsafe { pool.retire(pool.ptr(BufferIndex(index)), State::Framed) };
            }
            self.stack[self.n..self.n + indices.len()].copy_from_slice(indices);
            self.n += indices.len();
        } else {
            for &index in indices {
                // SAFETY: as above.
                unsafe { self.free_packet(pool.ptr(BufferIndex(index)), State::Framed) };
            }
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        for &index in &self.own.indices[..self.own.n as usize] {
            self.pool.give_loose(index);
        }
        self.flush(0);
        for &index in &self.stack[..self.n] {
            self.pool.give_loose(index);
        }
    }
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("free", &self.n).finish_non_exhaustive()
    }
}

// SPDX-License-Identifier: Apache-2.0
//! A thread's own stack of free buffers.

use crate::frame::{FRAME_SIZE, Frame};
use crate::header::{Buffer, BufferIndex, State};
use crate::meta::Flags;
use crate::pool::{MAGAZINE, Magazine, Owned, Pool, release_chain};
use std::sync::atomic::Ordering;

/// Free buffers that a thread keeps; what is above goes to the depot.
const KEEP: usize = 1024;
const ROOM: usize = KEEP + FRAME_SIZE + MAGAZINE;

/// One thread's free buffers, last in first out: what was freed last is still in the first-level cache, and is what
/// the next packet gets.
pub struct Cache {
    pool: &'static Pool,
    stack: Box<[u32; ROOM]>,
    n: usize,
}

impl Cache {
    /// An empty cache of this pool.
    pub fn new(pool: &'static Pool) -> Self {
        Self { pool, stack: Box::new([0; ROOM]), n: 0 }
    }

    /// The pool behind it.
    pub fn pool(&self) -> &'static Pool {
        self.pool
    }

    /// Free buffers in this cache.
    pub fn free_count(&self) -> usize {
        self.n
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

    #[cold]
    fn flush(&mut self, keep: usize) {
        while self.n > keep {
            let n = MAGAZINE.min(self.n - keep);
            let mut magazine = Magazine { n: n as u32, indices: [0; MAGAZINE] };
            // The oldest go: they have left the cache long ago.
            magazine.indices[..n].copy_from_slice(&self.stack[..n]);
            self.stack.copy_within(n..self.n, 0);
            self.n -= n;
            self.pool.give(magazine);
        }
    }

    #[inline(always)]
    fn fresh(&self, index: u32) -> &'static mut Buffer {
        // SAFETY: the index was in this thread's free stack, so nobody else has it; the caller gives it an owner at once.
        let buffer = unsafe { self.pool.ptr(BufferIndex(index)).as_mut() };
        buffer.reset();
        buffer
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
        let buffer = self.fresh(self.stack[self.n]);
        if cfg!(debug_assertions) {
            assert_eq!(buffer.state, State::Free, "a free buffer has an owner");
            buffer.state = State::Owned;
        }
        // SAFETY: taken off the free stack just now.
        Some(unsafe { Owned::from_ptr(buffer.into()) })
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
            let buffer = self.fresh(index);
            if cfg!(debug_assertions) {
                assert_eq!(buffer.state, State::Free, "a free buffer has an owner");
                buffer.state = State::Framed;
            }
        }
        self.n = from;
        got
    }

    /// Frees one packet, the whole chain.
    #[inline]
    pub fn free(&mut self, buffer: Owned) {
        if !std::ptr::eq(buffer.pool(), self.pool) {
            return; // dropped the slow way, into its own pool
        }
        let index = buffer.index();
        let _ = buffer.into_ptr();
        // SAFETY: the handle was the owner, and is gone.
        unsafe { self.free_chain(index) };
        if self.n >= KEEP + FRAME_SIZE {
            self.flush(KEEP / 2);
        }
    }

    /// # Safety
    /// The caller owns the chain, and forgets it.
    unsafe fn free_chain(&mut self, mut index: BufferIndex) {
        // SAFETY: as the caller says.
        unsafe {
            release_chain(self.pool, &mut index, |i| {
                if self.n == ROOM {
                    self.flush(KEEP / 2);
                }
                self.stack[self.n] = i;
                self.n += 1;
            });
        }
    }

    /// Frees all packets of the frame and leaves it empty.
    #[inline]
    pub fn free_frame(&mut self, frame: &mut Frame) {
        frame.check_pool(self.pool);
        if self.n > KEEP {
            self.flush(KEEP / 2);
        }
        let mut any = 0;
        for buffer in frame.iter() {
            any |= buffer.flags.0;
        }
        let indices = frame.take_raw();
        if cfg!(debug_assertions) || any & Flags::CHAINED.with(Flags::SHARED).0 != 0 {
            for &index in indices {
                // SAFETY: the frame owned the packet, and has forgotten it.
                unsafe { self.free_chain(BufferIndex(index)) };
            }
        } else {
            self.stack[self.n..self.n + indices.len()].copy_from_slice(indices);
            self.n += indices.len();
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.flush(0);
    }
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("free", &self.n).finish_non_exhaustive()
    }
}

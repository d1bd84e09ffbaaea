// SPDX-License-Identifier: Apache-2.0
//! Blocks that one thread writes and others read, without false sharing and without locked instructions.

use std::fmt;
use std::ops::{Deref, DerefMut};
// Not loom's: a counter has a single writer and orders nothing.
use std::sync::atomic::{AtomicU64, Ordering};

/// `T` alone on its cache lines: 128 bytes, because x86 prefetches lines in pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(align(128))]
pub struct CachePadded<T>(T);

impl<T> CachePadded<T> {
    /// Wraps `value`.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Unwraps the value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CachePadded<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// One block per thread, each on cache lines of its own; thread 0 is the main thread. The number of threads is fixed.
#[derive(Debug, Clone, Default)]
pub struct PerThread<T> {
    blocks: Box<[CachePadded<T>]>,
}

impl<T> PerThread<T> {
    /// `threads` blocks, the block of thread `i` being `init(i)`.
    pub fn new(threads: usize, init: impl FnMut(usize) -> T) -> Self {
        Self { blocks: (0..threads).map(init).map(CachePadded::new).collect() }
    }

    /// The block of `thread`.
    ///
    /// # Panics
    /// If there is no such thread.
    #[inline(always)]
    pub fn get(&self, thread: usize) -> &T {
        &self.blocks[thread]
    }

    /// The block of `thread`, for who owns them all.
    pub fn get_mut(&mut self, thread: usize) -> Option<&mut T> {
        self.blocks.get_mut(thread).map(|block| &mut block.0)
    }

    /// All blocks in order of thread, for instance to sum them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.blocks.iter().map(|block| &block.0)
    }

    /// Number of threads.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.blocks.len()
    }
}

/// A counter with one writer and any number of readers. `add` is a plain load, add and store: if two threads add, nothing
/// breaks but counts get lost.
#[derive(Default)]
pub struct Counter64(AtomicU64);

impl Counter64 {
    /// A counter at `value`.
    pub const fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    /// Adds `n`, wrapping. For the writing thread only.
    #[inline(always)]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// Replaces the count. For the writing thread, or for a reset that may lose an addition in progress.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// The count as of now or a moment ago. For any thread.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Counter64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

// SPDX-License-Identifier: Apache-2.0
//! An array of snapshots that grows without moving.

use crate::platform::{AtomicPtr, Mutex, Ordering, lock};
use crate::{Qsbr, Turn};
use std::fmt;
use std::ptr;
use std::sync::Arc;

/// The first chunk has `1 << FIRST` slots and each further one twice as many as the one before, so
/// that a short directory reaches every `u32` and a small table costs little.
const FIRST: u32 = 6;
const CHUNKS: usize = (u32::BITS - FIRST + 1) as usize;

/// `index` → value, for the readers of a [`Qsbr`] domain. Reading is two dependent loads: chunk,
/// slot. Memory follows the highest index ever set (8 bytes a slot); chunks live as long as the
/// array.
pub struct Slots<T: Send + Sync + 'static> {
    /// Chunk `k`, null or `1 << (FIRST + k)` slots made by `new_chunk`; set once, under `writer`.
    chunks: [AtomicPtr<AtomicPtr<T>>; CHUNKS],
    domain: Arc<Qsbr>,
    writer: Mutex<()>,
}

/// Chunk and offset of an index: with `1 << FIRST` added, the position of the highest bit is the
/// chunk and the rest is the offset.
#[inline(always)]
fn place(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + (1 << FIRST);
    let top = shifted.ilog2();
    ((top - FIRST) as usize, (shifted ^ (1 << top)) as usize)
}

fn chunk_len(chunk: usize) -> usize {
    1 << (FIRST as usize + chunk)
}

fn new_chunk<T>(len: usize) -> *mut AtomicPtr<T> {
    let slots: Box<[AtomicPtr<T>]> = (0..len).map(|_| AtomicPtr::new(ptr::null_mut())).collect();
    Box::into_raw(slots).cast()
}

impl<T: Send + Sync + 'static> Slots<T> {
    /// An empty array whose values the readers of `domain` see.
    pub fn new(domain: Arc<Qsbr>) -> Self {
        Self {
            chunks: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            domain,
            writer: Mutex::new(()),
        }
    }

    #[inline(always)]
    fn slot(&self, index: u32) -> Option<&AtomicPtr<T>> {
        let (chunk, offset) = place(index);
        let slots = self.chunks[chunk].load(Ordering::Acquire);
        if slots.is_null() {
            return None;
        }
        // SAFETY: a chunk that isn't null has `chunk_len(chunk)` slots, `place` gives an offset
        // below that, and chunks are freed only by `drop`.
        Some(unsafe { &*slots.add(offset) })
    }

    /// The value at `index` as of now, if there is one; it stays as it is for the rest of the turn.
    ///
    /// # Panics
    /// If `turn` is of another domain.
    #[inline(always)]
    pub fn get<'t>(&'t self, index: u32, turn: &'t Turn<'_>) -> Option<&'t T> {
        turn.check(&self.domain);
        let value = self.slot(index)?.load(Ordering::Acquire);
        // SAFETY: null or made by `Box::into_raw`; freed by `drop`, which `&'t self` excludes, or
        // through the domain after it was replaced, and the domain waits for `turn`, which
        // is its own (checked) and borrowed for `'t`.
        unsafe { value.as_ref() }
    }

    /// Control: puts `value` at `index`; what was there is retired.
    pub fn set(&self, index: u32, value: T) {
        let writer = lock(&self.writer);
        let (chunk, _) = place(index);
        if self.chunks[chunk].load(Ordering::Acquire).is_null() {
            self.chunks[chunk].store(new_chunk(chunk_len(chunk)), Ordering::Release);
        }
        self.swap(index, Box::into_raw(Box::new(value)));
        drop(writer);
    }

    /// Control: empties `index`; what was there is retired. Says whether there was something.
    pub fn clear(&self, index: u32) -> bool {
        let writer = lock(&self.writer);
        let had = self.swap(index, ptr::null_mut());
        drop(writer);
        had
    }

    /// Control: replaces the value at `index`, if there is one, by `f` of it, and returns whether
    /// there was. `f` must not use the control side of this array.
    pub fn update(&self, index: u32, f: impl FnOnce(&T) -> T) -> bool {
        let writer = lock(&self.writer);
        let new = self.locked(index).map(f);
        let had = new.is_some();
        if let Some(new) = new {
            self.swap(index, Box::into_raw(Box::new(new)));
        }
        drop(writer);
        had
    }

    /// Control: looks at `index` without a turn. Writers wait meanwhile; `f` must not use the
    /// control side.
    pub fn read<R>(&self, index: u32, f: impl FnOnce(Option<&T>) -> R) -> R {
        let writer = lock(&self.writer);
        let result = f(self.locked(index));
        drop(writer);
        result
    }

    /// Control: calls `f` on every value in order of index. Writers wait meanwhile; `f` must not
    /// use the control side.
    pub fn for_each(&self, mut f: impl FnMut(u32, &T)) {
        let writer = lock(&self.writer);
        let mut first = 0u64;
        for chunk in 0..CHUNKS {
            let len = chunk_len(chunk) as u64;
            if !self.chunks[chunk].load(Ordering::Acquire).is_null() {
                for index in (first..first + len).map_while(|i| u32::try_from(i).ok()) {
                    if let Some(value) = self.locked(index) {
                        f(index, value);
                    }
                }
            }
            first += len;
        }
        drop(writer);
    }

    /// The value at `index`, for a caller that holds `writer` and doesn't call [`Self::swap`] while
    /// using it.
    fn locked(&self, index: u32) -> Option<&T> {
        let value = self.slot(index)?.load(Ordering::Acquire);
        // SAFETY: null or made by `Box::into_raw`; only `swap` retires it, and only under the
        // caller's lock.
        unsafe { value.as_ref() }
    }

    /// Replaces the value; the caller holds `writer`. `new` is null or made by `Box::into_raw`, and
    /// not null only if the chunk is there.
    fn swap(&self, index: u32, new: *mut T) -> bool {
        let Some(slot) = self.slot(index) else { return false };
        let old = slot.swap(new, Ordering::AcqRel);
        if old.is_null() {
            return false;
        }
        // SAFETY: made by `Box::into_raw`, and just taken out of the only place that had it.
        unsafe { self.domain.retire_raw(old) };
        true
    }

    /// The domain whose readers see this array.
    pub fn domain(&self) -> &Arc<Qsbr> {
        &self.domain
    }
}

impl<T: Send + Sync + 'static> Drop for Slots<T> {
    fn drop(&mut self) {
        for (chunk, slots) in self.chunks.iter().enumerate() {
            let slots = slots.load(Ordering::Acquire);
            if slots.is_null() {
                continue;
            }
            let slots = ptr::slice_from_raw_parts_mut(slots, chunk_len(chunk));
            // SAFETY: made by `new_chunk` with this length; `get` borrows the array, so nobody uses
            // it any more.
            for slot in unsafe { Box::from_raw(slots) } {
                let value = slot.load(Ordering::Acquire);
                if !value.is_null() {
                    // SAFETY: made by `Box::into_raw` and owned by this slot.
                    drop(unsafe { Box::from_raw(value) });
                }
            }
        }
    }
}

impl<T: Send + Sync + fmt::Debug + 'static> fmt::Debug for Slots<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        self.for_each(|index, value| {
            map.entry(&index, value);
        });
        map.finish()
    }
}

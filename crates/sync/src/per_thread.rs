// SPDX-License-Identifier: Apache-2.0
//! Values of threads that several owners on a thread share.

use crate::Turn;
use crate::platform::{AtomicPtr, AtomicU64, Ordering};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr;

/// A value for each thread, which that thread alone uses: nodes and stages of a thread share it
/// without a lock.
///
/// The first [`crate::Reader`] that asks for a value owns it from then on.
pub struct PerThread<T>(Box<[Place<T>]>);

struct Place<T> {
    /// Where the owner announces its turns: its address says which reader it is. Null at first.
    owner: AtomicPtr<AtomicU64>,
    /// True while the owner has a [`PerThreadGuard`].
    taken: Cell<bool>,
    value: UnsafeCell<T>,
}

// SAFETY: `taken` and `value` are used by the owner alone, during its turn. A reader has one turn
// at a time, and a turn stays on its thread; `T` is `Send`, as the reader may move to its thread.
unsafe impl<T: Send> Sync for PerThread<T> {}

impl<T> PerThread<T> {
    /// Returns an object with these values, by number of thread.
    pub fn new(values: impl IntoIterator<Item = T>) -> Self {
        let place = |value| Place {
            owner: AtomicPtr::new(ptr::null_mut()),
            taken: Cell::new(false),
            value: UnsafeCell::new(value),
        };
        Self(values.into_iter().map(place).collect())
    }

    /// Returns the value of a thread, for the reader whose turn this is. `None` if there is none,
    /// if another reader owns it, or while a guard of it is alive.
    #[inline(always)]
    pub fn get<'a>(&'a self, thread: usize, turn: &'a Turn<'_>) -> Option<PerThreadGuard<'a, T>> {
        let place = self.0.get(thread)?;
        // Relaxed: only whether it is this reader matters, and that has stored it itself.
        let is_owner = ptr::eq(place.owner.load(Ordering::Relaxed), turn.reader());
        if !(is_owner || place.claim(turn)) || place.taken.replace(true) {
            return None;
        }
        Some(PerThreadGuard { place, one_thread: PhantomData })
    }
}

impl<T> Place<T> {
    #[cold]
    #[inline(never)]
    fn claim(&self, turn: &Turn<'_>) -> bool {
        let mine = turn.reader().cast_mut();
        let (none, order) = (ptr::null_mut(), Ordering::AcqRel);
        self.owner.compare_exchange(none, mine, order, Ordering::Relaxed).is_ok()
    }
}

impl<T> fmt::Debug for PerThread<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerThread").field("threads", &self.0.len()).finish_non_exhaustive()
    }
}

/// The value of the thread that this is.
pub struct PerThreadGuard<'a, T> {
    place: &'a Place<T>,
    /// Neither `Send` nor `Sync`, as the turn.
    one_thread: PhantomData<*const ()>,
}

impl<T> Deref for PerThreadGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this is the only guard, on the thread of the owner.
        unsafe { &*self.place.value.get() }
    }
}

impl<T> DerefMut for PerThreadGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.place.value.get() }
    }
}

impl<T> Drop for PerThreadGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.place.taken.set(false);
    }
}

impl<T: fmt::Debug> fmt::Debug for PerThreadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

// SPDX-License-Identifier: Apache-2.0
//! One value that control replaces as a whole and workers read in place.

use crate::platform::{AtomicPtr, Mutex, Ordering, lock};
use crate::{Qsbr, Turn};
use std::fmt;
use std::sync::Arc;

/// A value published to the readers of a [`Qsbr`] domain. Reading costs one load and one compare;
/// writing costs a copy and happens under a mutex that readers never see. What is replaced is
/// retired to the domain.
pub struct Snapshot<T: Send + Sync + 'static> {
    /// Never null; made by `Box::into_raw`; replaced only under `writer`.
    current: AtomicPtr<T>,
    domain: Arc<Qsbr>,
    writer: Mutex<()>,
}

impl<T: Send + Sync + 'static> Snapshot<T> {
    /// Publishes `value` in `domain`.
    pub fn new(domain: Arc<Qsbr>, value: T) -> Self {
        Self {
            current: AtomicPtr::new(Box::into_raw(Box::new(value))),
            domain,
            writer: Mutex::new(()),
        }
    }

    /// The value as of now; it stays as it is and where it is for the rest of the turn.
    ///
    /// # Panics
    /// If `turn` is of another domain.
    #[inline(always)]
    pub fn get<'t>(&'t self, turn: &'t Turn<'_>) -> &'t T {
        turn.check(&self.domain);
        // SAFETY: the pointer came from `Box::into_raw`. It is freed by `drop`, which `&'t self`
        // excludes, or through the domain after it was replaced; the domain waits for
        // `turn`, which is one of its own (checked) and is borrowed for `'t`. Acquire pairs
        // with the release of the swap: the contents are visible.
        unsafe { &*self.current.load(Ordering::Acquire) }
    }

    /// Control: replaces the value.
    pub fn set(&self, value: T) {
        let writer = lock(&self.writer);
        self.swap(value);
        drop(writer);
    }

    /// Control: replaces the value by `f` of it. Writers wait for each other; `f` must not write or
    /// read this snapshot by its control side.
    pub fn update(&self, f: impl FnOnce(&T) -> T) {
        let writer = lock(&self.writer);
        self.swap(f(self.locked()));
        drop(writer);
    }

    /// Control: looks at the value without a turn. Writers wait meanwhile; `f` must not use the
    /// control side of this snapshot.
    pub fn read<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        let writer = lock(&self.writer);
        let result = f(self.locked());
        drop(writer);
        result
    }

    /// The value, for a caller that holds `writer` and doesn't call [`Self::swap`] while using it.
    fn locked(&self) -> &T {
        // SAFETY: made by `Box::into_raw`; only `swap` retires it, and only under the lock that the
        // caller holds.
        unsafe { &*self.current.load(Ordering::Acquire) }
    }

    /// Replaces the value; the caller holds `writer`.
    fn swap(&self, value: T) {
        let old = self.current.swap(Box::into_raw(Box::new(value)), Ordering::AcqRel);
        // SAFETY: made by `Box::into_raw`, and just taken out of the only place that had it.
        unsafe { self.domain.retire_raw(old) };
    }

    /// The domain whose readers see this snapshot.
    pub fn domain(&self) -> &Arc<Qsbr> {
        &self.domain
    }
}

impl<T: Send + Sync + 'static> Drop for Snapshot<T> {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw`; `get` borrows the snapshot, so nobody uses the value any
        // more.
        drop(unsafe { Box::from_raw(self.current.load(Ordering::Acquire)) });
    }
}

impl<T: Send + Sync + fmt::Debug + 'static> fmt::Debug for Snapshot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read(|value| f.debug_tuple("Snapshot").field(value).finish())
    }
}

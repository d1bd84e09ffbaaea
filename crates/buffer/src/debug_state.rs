// SPDX-License-Identifier: Apache-2.0
//! State of a buffer that only builds with debug assertions track.

use std::fmt::Debug;

/// A value that builds with debug assertions keep and compare, and other builds neither write nor
/// read. It has no getter: a check may fail by it, and nothing can be selected by it.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct DebugValue<T>(T);

impl<T: Copy + PartialEq + Debug> DebugValue<T> {
    /// Keeps `value`.
    #[inline(always)]
    pub fn note(&mut self, value: T) {
        #[cfg(debug_assertions)]
        {
            self.0 = value;
        }
        let _ = value;
    }

    /// Panics unless `value` is kept.
    #[inline(always)]
    #[track_caller]
    pub fn check(&self, value: T, what: &str) {
        debug_assert_eq!(self.0, value, "{what}");
        let _ = (value, what);
    }

    /// Panics unless `from` is kept; keeps `to`.
    #[inline(always)]
    #[track_caller]
    pub fn change(&mut self, from: T, to: T, what: &str) {
        self.check(from, what);
        self.note(to);
    }
}

/// Where a buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum State {
    /// In a free list.
    Free = 0,
    /// An `Owned` or `Original` handle, or a segment of a chain.
    Owned = 1,
    /// Its index stands in a frame.
    Framed = 2,
}

const _: () = assert!(State::Free as u8 == 0, "zeroed memory is free buffers");

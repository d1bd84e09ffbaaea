// SPDX-License-Identifier: Apache-2.0
//! Random numbers of control: transaction numbers that others can't foresee, and times.

use graph::{Shared, World};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// Random numbers: a keyed hash of a counter.
pub struct Random {
    state: RandomState,
    drawn: AtomicU64,
}

impl Shared for Random {
    fn make(_: &World) -> Self {
        Self { state: RandomState::new(), drawn: AtomicU64::new(0) }
    }
}

impl Random {
    /// The next number.
    pub fn next(&self) -> u64 {
        self.state.hash_one(self.drawn.fetch_add(1, Ordering::Relaxed))
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Random numbers for control, so that routers and hosts don't send at the same moment.

use graph::{Shared, World};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// Random numbers that differ from those of other instances.
pub struct ControlRng {
    state: RandomState,
    drawn: AtomicU64,
}

impl Shared for ControlRng {
    fn make(_: &World) -> Self {
        Self { state: RandomState::new(), drawn: AtomicU64::new(0) }
    }
}

impl ControlRng {
    /// A random number.
    pub fn random(&self) -> u64 {
        self.state.hash_one(self.drawn.fetch_add(1, Ordering::Relaxed))
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&self, low: u64, high: u64) -> u64 {
        low + self.random() % (high.saturating_sub(low) + 1)
    }

    /// A nonce (RFC 7527 4.1).
    pub fn nonce(&self) -> [u8; 6] {
        let [a, b, c, d, e, f, ..] = self.random().to_be_bytes();
        [a, b, c, d, e, f]
    }
}

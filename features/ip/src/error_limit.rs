// SPDX-License-Identifier: Apache-2.0
//! Rate limit of packets by which this router refuses others: ICMP errors, TCP resets, error
//! indications of tunnels.

use crate::family::Ip;
use graph::{Shared, World};
use std::marker::PhantomData;
use sync::{Limit, Snapshot, Turn};

/// The limit of an IP version. Each node and thread that sends such packets has a bucket of its own
/// for each kind.
pub struct ErrorLimit<F> {
    limit: Snapshot<Limit>,
    version: PhantomData<F>,
}

impl<F: Ip> Shared for ErrorLimit<F> {
    fn make(world: &World) -> Self {
        let limit = Limit::new(Self::RATE, Self::BURST);
        Self { limit: Snapshot::new(world.qsbr.clone(), limit), version: PhantomData }
    }
}

impl<F: Ip> ErrorLimit<F> {
    /// Packets per second by default.
    pub const RATE: u32 = 1000;
    /// Packets at once after a pause, by default.
    pub const BURST: u32 = 100;

    /// Returns the limit.
    #[inline(always)]
    pub fn get(&self, turn: &Turn<'_>) -> Limit {
        *self.limit.get(turn)
    }

    /// Sets packets per second and at once.
    pub fn set(&self, rate: u32, burst: u32) {
        self.limit.set(Limit::new(rate, burst));
    }
}

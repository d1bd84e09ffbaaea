// SPDX-License-Identifier: Apache-2.0
//! Deferred per-route counters: prefetched now, added one block later, since they are spread over
//! too much memory for the cache.

use ip::RouteCounts;
use ip::headers::BLOCK;

/// Deferred counts of a block of packets: as many as packets at most.
pub struct DeferredCounts {
    n: usize,
    routes: [u32; BLOCK],
    packets: [u32; BLOCK],
    bytes: [u32; BLOCK],
}

impl DeferredCounts {
    pub fn new() -> Self {
        Self { n: 0, routes: [0; BLOCK], packets: [0; BLOCK], bytes: [0; BLOCK] }
    }

    /// Defers counts for a route.
    #[inline(always)]
    pub fn add(&mut self, route: u32, packets: u32, bytes: u32) {
        let at = self.n % BLOCK;
        (self.routes[at], self.packets[at], self.bytes[at]) = (route, packets, bytes);
        self.n += 1;
    }

    /// Defers the count of a packet of so many bytes for each of these routes; no counts may be
    /// deferred yet.
    #[inline(always)]
    pub fn add_each(&mut self, routes: &[u32], bytes: &[u32]) {
        debug_assert_eq!(self.n, 0);
        let n = routes.len().min(BLOCK);
        self.routes[..n].copy_from_slice(&routes[..n]);
        self.packets[..n].fill(1);
        self.bytes[..n].copy_from_slice(&bytes[..n]);
        self.n = n;
    }

    /// The routes with deferred counts.
    #[inline(always)]
    pub fn routes(&mut self) -> &mut [u32] {
        &mut self.routes[..self.n.min(BLOCK)]
    }

    /// Adds the deferred counts to the counters.
    #[inline(always)]
    pub fn settle(&mut self, counts: &RouteCounts) {
        let n = self.n.min(BLOCK);
        let columns = self.routes[..n].iter().zip(&self.packets[..n]).zip(&self.bytes[..n]);
        for ((route, packets), bytes) in columns {
            counts.to(*route, (*packets).into(), (*bytes).into());
        }
        self.n = 0;
    }
}

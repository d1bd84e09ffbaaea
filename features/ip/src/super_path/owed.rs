// SPDX-License-Identifier: Apache-2.0
//! What routes are counted with, a block later: their counters are spread over so much memory that each has to be fetched first.

use crate::headers::BLOCK;
use crate::route_counts::RouteCounts;

/// Counts of a block of packets. There are as many as packets at most.
pub struct Owed {
    n: usize,
    routes: [u32; BLOCK],
    packets: [u32; BLOCK],
    bytes: [u32; BLOCK],
}

impl Owed {
    pub fn new() -> Self {
        Self { n: 0, routes: [0; BLOCK], packets: [0; BLOCK], bytes: [0; BLOCK] }
    }

    /// To count for a route.
    #[inline(always)]
    pub fn add(&mut self, route: u32, packets: u32, bytes: u32) {
        let at = self.n % BLOCK;
        (self.routes[at], self.packets[at], self.bytes[at]) = (route, packets, bytes);
        self.n += 1;
    }

    /// The routes.
    #[inline(always)]
    pub fn routes(&mut self) -> &mut [u32] {
        &mut self.routes[..self.n.min(BLOCK)]
    }

    /// Counts.
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

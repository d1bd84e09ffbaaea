// SPDX-License-Identifier: Apache-2.0
//! Rate limit of an interface's neighbour requests, whatever causes them.
//!
//! Anyone can send packets to unused addresses of a connected network (RFC 6583), and each causes a
//! request to all stations of the link. So an interface's requests are rate limited. Half of the
//! burst is reserved for neighbours requested before: a host that packets keep coming for is tried
//! again, while a scan goes on to the next address.

use super::Protocol;
use super::target::SHARES;
use graph::{Shared, World};
use std::marker::PhantomData;
use sync::{Limit, SharedTokenBucket};

/// Requests per second of an interface, by all threads together.
pub(super) const RATE: u64 = 4096;
/// Burst: requests that may be sent at once after a pause.
pub(super) const BURST: u64 = RATE / 4;
/// Limit of requests for neighbours that no packet was sent to lately.
const FIRST: Limit = Limit::new(RATE as u32, BURST as u32 / 2);
/// Limit of all requests.
const AGAIN: Limit = Limit::new(RATE as u32, BURST as u32);

/// The kind of neighbour that a request is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RequestKind {
    /// A neighbour that no packet was sent to lately.
    First,
    /// A neighbour that a packet was sent to before, or a next hop of routes.
    Again,
}

/// Request rate of each interface, by its share.
pub(super) struct RateLimit([SharedTokenBucket; SHARES]);

impl Default for RateLimit {
    fn default() -> Self {
        Self(std::array::from_fn(|_| SharedTokenBucket::default()))
    }
}

impl RateLimit {
    /// Returns true if a request may be sent now; if so, counts it.
    #[inline(always)]
    pub fn take(&self, share: usize, kind: RequestKind, now: u64) -> bool {
        let limit = match kind {
            RequestKind::First => FIRST,
            RequestKind::Again => AGAIN,
        };
        self.0[share].take(now, limit)
    }
}

/// The rate limits of a protocol, shared by its threads. Next hops of routes have one of their own.
pub(super) struct RateLimits<P> {
    pub nexthops: RateLimit,
    pub hosts: RateLimit,
    protocol: PhantomData<P>,
}

impl<P: Protocol> Shared for RateLimits<P> {
    fn make(_: &World) -> Self {
        Self { nexthops: RateLimit::default(), hosts: RateLimit::default(), protocol: PhantomData }
    }
}

/// Bits of one generation of [`RecentNeighbors`].
const BITS: usize = 1 << 19;
/// Duration of a generation in nanoseconds: longer than hosts wait before they retry (RFC 6298
/// 2.1).
const GENERATION: u64 = 1_500_000_000;

/// One-hash Bloom filter of the neighbours that packets were sent to lately: keeps each for at
/// least [`GENERATION`], with few false positives. A scan fills it without displacing other
/// neighbours.
pub(super) struct RecentNeighbors {
    /// The generation that is filled, and the one before.
    bits: [Box<[u64]>; 2],
    since: u64,
}

impl Default for RecentNeighbors {
    fn default() -> Self {
        // Zeroed pages, that take no memory before they are written.
        let bits = || vec![0; BITS / 64].into();
        Self { bits: [bits(), bits()], since: 0 }
    }
}

impl RecentNeighbors {
    /// Adds a neighbour by its hash; returns [`RequestKind::Again`] if it was there already.
    #[inline(always)]
    pub fn note(&mut self, hash: u64, now: u64) -> RequestKind {
        let age = now.saturating_sub(self.since);
        if age >= GENERATION {
            self.bits.swap(0, 1);
            self.bits[0].fill(0);
            if age >= 2 * GENERATION {
                self.bits[1].fill(0);
            }
            self.since = now;
        }
        // The lower bits select buckets elsewhere.
        let at = (hash >> 40) as usize % BITS;
        let (word, bit) = (at / 64, 1 << (at % 64));
        let seen = (self.bits[0][word] | self.bits[1][word]) & bit != 0;
        self.bits[0][word] |= bit;
        if seen { RequestKind::Again } else { RequestKind::First }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[suite::test]
    fn an_interface_asks_at_its_rate_and_no_other_pays_for_it() {
        let pace = RateLimit::default();
        let mut sent = 0;
        for i in 0..100_000 {
            sent += u64::from(pace.take(1, RequestKind::First, 10 * SECOND + i * 10_000));
        }
        assert!((RATE..=RATE + BURST).contains(&sent), "{sent} in a second");
        assert!(
            pace.take(1, RequestKind::Again, 11 * SECOND),
            "half of the burst is left for those tried again"
        );
        let again =
            (0..RATE).filter(|_| pace.take(1, RequestKind::Again, 11 * SECOND)).count() as u64;
        assert!((BURST / 2 - 2..=BURST / 2).contains(&again), "{again}");
        let other =
            (0..RATE).filter(|_| pace.take(2, RequestKind::First, 11 * SECOND)).count() as u64;
        assert_eq!(other, BURST / 2);
    }

    #[suite::test]
    fn who_is_tried_again_within_a_second_is_known() {
        let mut seen = RecentNeighbors::default();
        let seed = super::super::target::Seed::default();
        let hash =
            |i: u32| seed.hash(super::super::Target { sw_if: 1, ip: std::net::Ipv4Addr::from(i) });
        let (mut known, mut wrong) = (0, 0);
        for i in 0..50_000u32 {
            let now = SECOND + u64::from(i) * 100_000;
            // A scan at 10,000 a second, and a host that is tried once a second.
            wrong += u32::from(seen.note(hash(i), now) == RequestKind::Again);
            if i % 10_000 == 0 {
                known += u32::from(seen.note(hash(1_000_000), now) == RequestKind::Again);
            }
        }
        assert_eq!(known, 4);
        assert!(wrong < 50_000 / 10, "{wrong}");
        assert_eq!(
            seen.note(hash(1_000_000), 20 * SECOND),
            RequestKind::First,
            "that was long ago"
        );
    }
}

// SPDX-License-Identifier: Apache-2.0
//! How often an interface asks for neighbours, whoever makes it ask.
//!
//! Anybody can send packets to addresses of a connected network that nobody has (RFC 6583), and each is a question for all
//! stations of the link. So an interface asks at a bounded rate. Half of its burst is kept for neighbours that were asked for
//! before: a host that somebody wants to reach is tried again, while a scan goes on to the next address.

use super::Protocol;
use super::target::SHARES;
use graph::{Shared, World};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// Questions of an interface in a second, by all threads together.
pub(super) const RATE: u64 = 4096;
/// Questions that may be sent at once after a pause.
pub(super) const BURST: u64 = RATE / 4;
/// Between two questions, in nanoseconds.
const STEP: u64 = 1_000_000_000 / RATE;

/// What a question is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Try {
    /// A neighbour that no packet was sent to lately.
    First,
    /// One that a packet was sent to before, or a next hop of routes.
    Again,
}

/// Each interface's rate: the generic cell rate algorithm, one word for each share.
pub(super) struct Pace([AtomicU64; SHARES]);

impl Default for Pace {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; SHARES])
    }
}

impl Pace {
    /// Whether a question may be sent now; if so, it counts.
    #[inline(always)]
    pub fn take(&self, share: usize, kind: Try, now: u64) -> bool {
        let ahead = match kind {
            Try::First => BURST / 2,
            Try::Again => BURST,
        };
        let next = |full: u64| {
            let full = full.max(now) + STEP;
            (full <= now + ahead * STEP).then_some(full)
        };
        self.0[share].fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }
}

/// The paces of a protocol, shared by its threads. Next hops of routes have one of their own.
pub(super) struct Paces<P> {
    pub nexthops: Pace,
    pub hosts: Pace,
    protocol: PhantomData<P>,
}

impl<P: Protocol> Shared for Paces<P> {
    fn make(_: &World) -> Self {
        Self { nexthops: Pace::default(), hosts: Pace::default(), protocol: PhantomData }
    }
}

/// Bits of one generation of [`Sightings`].
const BITS: usize = 1 << 19;
/// How long a generation lasts, in nanoseconds: longer than hosts wait before they try again (RFC 6298 2.1).
const GENERATION: u64 = 1_500_000_000;

/// Which neighbours packets were sent to lately: forgets none within [`GENERATION`], and takes few for seen that weren't. A
/// scan fills it without displacing anybody.
pub(super) struct Sightings {
    /// The generation that is filled, and the one before.
    bits: [Box<[u64]>; 2],
    since: u64,
}

impl Default for Sightings {
    fn default() -> Self {
        // Zeroed pages, that take no memory before they are written.
        let bits = || vec![0; BITS / 64].into();
        Self { bits: [bits(), bits()], since: 0 }
    }
}

impl Sightings {
    /// Notes a neighbour by its hash, and says whether it was seen lately.
    #[inline(always)]
    pub fn note(&mut self, hash: u64, now: u64) -> Try {
        let age = now.saturating_sub(self.since);
        if age >= GENERATION {
            self.bits.swap(0, 1);
            self.bits[0].fill(0);
            if age >= 2 * GENERATION {
                self.bits[1].fill(0);
            }
            self.since = now;
        }
        // The lower bits choose buckets elsewhere.
        let at = (hash >> 40) as usize % BITS;
        let (word, bit) = (at / 64, 1 << (at % 64));
        let seen = (self.bits[0][word] | self.bits[1][word]) & bit != 0;
        self.bits[0][word] |= bit;
        if seen { Try::Again } else { Try::First }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn an_interface_asks_at_its_rate_and_no_other_pays_for_it() {
        let pace = Pace::default();
        let mut sent = 0;
        for i in 0..100_000 {
            sent += u64::from(pace.take(1, Try::First, 10 * SECOND + i * 10_000));
        }
        assert!((RATE..=RATE + BURST).contains(&sent), "{sent} in a second");
        assert!(pace.take(1, Try::Again, 11 * SECOND), "half of the burst is left for those tried again");
        let again = (0..RATE).filter(|_| pace.take(1, Try::Again, 11 * SECOND)).count() as u64;
        assert!((BURST / 2 - 2..=BURST / 2).contains(&again), "{again}");
        let other = (0..RATE).filter(|_| pace.take(2, Try::First, 11 * SECOND)).count() as u64;
        assert_eq!(other, BURST / 2);
    }

    #[test]
    fn who_is_tried_again_within_a_second_is_known() {
        let mut seen = Sightings::default();
        let seed = super::super::target::Seed::default();
        let hash = |i: u32| seed.hash(super::super::Target { sw_if: 1, ip: std::net::Ipv4Addr::from(i) });
        let (mut known, mut wrong) = (0, 0);
        for i in 0..50_000u32 {
            let now = SECOND + u64::from(i) * 100_000;
            // A scan at 10,000 a second, and a host that is tried once a second.
            wrong += u32::from(seen.note(hash(i), now) == Try::Again);
            if i % 10_000 == 0 {
                known += u32::from(seen.note(hash(1_000_000), now) == Try::Again);
            }
        }
        assert_eq!(known, 4);
        assert!(wrong < 50_000 / 10, "{wrong}");
        assert_eq!(seen.note(hash(1_000_000), 20 * SECOND), Try::First, "that was long ago");
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Sessions that each host has begun, and how many in this second: one table for all threads,
//! without locks.
//!
//! A host is known by a hash of its address that depends on a secret. It has a place in one of two
//! buckets; a place is free if its host has no session and began none in this second or the last.
//! There are more places than sessions at first. A host that finds none is counted together with
//! all others of its bucket that found none: all of them have the limits of one.

use cli::{Error, Result};
use graph::{Shared, World};
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use tables::Mixer;
use wire::Address;

/// Places of a bucket: a cache line of names, and one of rates. The last is for hosts without a
/// place.
const PLACES: usize = 8;
/// Buckets.
const BUCKETS: usize = 1 << 18;
/// Bits of the number of sessions in a place's word; the others are the host's hash.
const COUNT_BITS: u32 = 24;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// Attempts to take a place that other threads take meanwhile.
const ATTEMPTS: usize = 4;

/// The place of a host in the table; none for hosts that aren't counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceAt(u32);

impl Default for SourceAt {
    fn default() -> Self {
        Self::NONE
    }
}

impl SourceAt {
    /// Of no host.
    pub const NONE: Self = Self(u32::MAX);
}

#[derive(Default)]
#[repr(align(64))]
struct Bucket {
    /// Hash of the host, and its sessions.
    hosts: [AtomicU64; PLACES],
    /// A second, and the sessions that began in it.
    rates: [AtomicU64; PLACES],
}

/// The hosts that began sessions.
pub struct Sources {
    /// None before the first limit is set.
    buckets: OnceLock<Vec<Bucket>>,
    mixer: Mixer,
}

/// Limits of one host; 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostLimits {
    /// Sessions.
    pub sessions: u32,
    /// New sessions in a second.
    pub rate: u32,
}

impl Default for Sources {
    fn default() -> Self {
        Self { buckets: OnceLock::new(), mixer: Mixer::new(RandomState::new().hash_one(0)) }
    }
}

impl Shared for Sources {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Sources {
    /// Makes the table, before the first limit is set.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn prepare(&self) -> Result<()> {
        self.prepare_buckets(BUCKETS)
    }

    fn prepare_buckets(&self, n: usize) -> Result<()> {
        if self.buckets.get().is_some() {
            return Ok(());
        }
        let mut buckets = Vec::new();
        let no_memory = |e| Error::limit(format!("no memory for the table of hosts: {e}"));
        buckets.try_reserve_exact(n).map_err(no_memory)?;
        buckets.resize_with(n, Bucket::default);
        self.buckets.get_or_init(|| buckets);
        Ok(())
    }

    #[inline(always)]
    fn place(&self, at: u32) -> Option<(&AtomicU64, &AtomicU64)> {
        let bucket = self.buckets.get()?.get(at as usize / PLACES)?;
        let at = at as usize % PLACES;
        Some((&bucket.hosts[at], &bucket.rates[at]))
    }

    /// Counts a session at the place of a host, which is taken if it has none; `None` if no more
    /// can be counted there.
    fn enter<A: Address>(&self, host: A, second: u32) -> Option<u32> {
        let hash = self.mixer.add_bytes(host.to_octets().as_ref()).hash();
        // Never 0, which is the word of a free place.
        let name = (hash >> COUNT_BITS | 1) << COUNT_BITS;
        let buckets = self.buckets.get()?.len();
        let first = hash as usize % buckets;
        let two = [first, (first ^ (hash >> 40) as usize | 1) % buckets];
        for _ in 0..ATTEMPTS {
            match self.find(two, name, second)? {
                Found::Host(at) => {
                    // Its last session may have ended, and another host may have the place.
                    if let Some(counted) = self.count(at, name) {
                        return counted.then_some(at);
                    }
                }
                Found::Free(at, was) => {
                    let (word, rate) = self.place(at)?;
                    let took =
                        word.compare_exchange(was, name + 1, Ordering::AcqRel, Ordering::Relaxed);
                    if took.is_ok() {
                        rate.store(u64::from(second) << 32, Ordering::Relaxed);
                        return Some(at);
                    }
                }
                Found::Nothing => break,
            }
        }
        let last = (first * PLACES + PLACES - 1) as u32;
        self.count(last, 0)?.then_some(last)
    }

    /// Looks for the place of a host in its two buckets, or else for one that is free.
    fn find(&self, two: [usize; 2], name: u64, second: u32) -> Option<Found> {
        let mut free = Found::Nothing;
        for bucket in two {
            for place in 0..PLACES - 1 {
                let at = (bucket * PLACES + place) as u32;
                let (word, rate) = self.place(at)?;
                let word = word.load(Ordering::Relaxed);
                if word & !COUNT == name {
                    return Some(Found::Host(at));
                }
                let since = (rate.load(Ordering::Relaxed) >> 32) as u32;
                let is_free = word & COUNT == 0 && (word == 0 || second.wrapping_sub(since) > 1);
                if is_free && matches!(free, Found::Nothing) {
                    free = Found::Free(at, word);
                }
            }
        }
        Some(free)
    }

    /// Counts a session at a place. False if no more can be counted there, `None` if another host
    /// has it.
    fn count(&self, at: u32, name: u64) -> Option<bool> {
        let (word, _) = self.place(at)?;
        let more = |word: u64| (word & !COUNT == name && word & COUNT < COUNT).then(|| word + 1);
        match word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, more) {
            Ok(_) => Some(true),
            Err(word) => (word & !COUNT == name).then_some(false),
        }
    }

    /// Counts a session that a host begins; `None` if it has as many as it may have.
    pub fn begin<A: Address>(&self, host: A, limits: HostLimits, now: u64) -> Option<SourceAt> {
        if limits == (HostLimits { sessions: 0, rate: 0 }) {
            return Some(SourceAt::NONE);
        }
        let second = (now / 1_000_000_000) as u32;
        let at = self.enter(host, second)?;
        let (word, rate) = self.place(at)?;
        let too_many = limits.sessions > 0
            && word.load(Ordering::Relaxed) & COUNT > u64::from(limits.sessions);
        let too_fast = limits.rate > 0 && !in_rate(rate, second, limits.rate);
        if too_many || too_fast {
            self.end(SourceAt(at));
            return None;
        }
        Some(SourceAt(at))
    }

    /// Notes that a session of a host has ended.
    pub fn end(&self, at: SourceAt) {
        if let Some((word, _)) = self.place(at.0) {
            let less = |word: u64| (word & COUNT > 0).then(|| word - 1);
            // Without a session there is nothing to take away.
            let _ = word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, less);
        }
    }
}

/// The place of a host in the table.
#[derive(Clone, Copy)]
enum Found {
    /// It has this one.
    Host(u32),
    /// It may have this place, whose word this is.
    Free(u32, u64),
    /// All its places are others'.
    Nothing,
}

/// Counts an event of this second; false if there were `most` already.
pub fn in_rate(rate: &AtomicU64, second: u32, most: u32) -> bool {
    let one_more = |word: u64| {
        let n = if (word >> 32) as u32 == second { word as u32 } else { 0 };
        (n < most).then(|| u64::from(second) << 32 | u64::from(n + 1))
    };
    rate.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const NOW: u64 = 5_000_000_000;

    fn sources(buckets: usize) -> Sources {
        let sources = Sources::default();
        sources.prepare_buckets(buckets).expect("memory");
        sources
    }

    #[suite::test]
    fn a_host_has_as_many_sessions_as_it_may_have() {
        let sources = sources(BUCKETS);
        let limits = HostLimits { sessions: 2, rate: 0 };
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let first = sources.begin(a, limits, NOW).expect("the first");
        assert!(sources.begin(a, limits, NOW).is_some());
        assert!(sources.begin(a, limits, NOW).is_none() && sources.begin(b, limits, NOW).is_some());
        sources.end(first);
        assert!(sources.begin(a, limits, NOW).is_some() && sources.begin(a, limits, NOW).is_none());
    }

    #[suite::test]
    fn a_host_begins_as_many_in_a_second_as_it_may() {
        let sources = sources(BUCKETS);
        let limits = HostLimits { sessions: 0, rate: 3 };
        let host = Ipv4Addr::new(10, 0, 0, 1);
        for second in 0..3 {
            let now = NOW + second * 1_000_000_000;
            let began =
                (0..10).filter_map(|_| sources.begin(host, limits, now)).collect::<Vec<_>>();
            assert_eq!(began.len(), 3);
            began.into_iter().for_each(|at| sources.end(at));
        }
    }

    /// Hosts that have left make room, and as many as there may be sessions have a place.
    #[suite::test]
    fn many_hosts_have_a_place() {
        let sources = sources(BUCKETS / 8);
        let limits = HostLimits { sessions: 1, rate: 0 };
        for round in 0..3_u64 {
            let now = NOW + round * 10_000_000_000;
            let hosts = (0..125_000_u32).map(|n| Ipv4Addr::from(n + round as u32 * 1_000_000));
            let all: Vec<_> = hosts.filter_map(|host| sources.begin(host, limits, now)).collect();
            assert!(all.len() > 124_900, "only {} of 125000 have a place", all.len());
            all.into_iter().for_each(|at| sources.end(at));
        }
    }

    /// Hosts without a place have the limits of one host together.
    #[suite::test]
    fn hosts_without_a_place_are_counted_together() {
        let limits = HostLimits { sessions: 3, rate: 0 };
        let all = |sources: &Sources| {
            (0..1000_u32).filter_map(|n| sources.begin(Ipv4Addr::from(n), limits, NOW)).collect()
        };
        let (sources, buckets) = (sources(4), 4);
        let began: Vec<_> = all(&sources);
        assert_eq!(began.len(), buckets * (PLACES - 1 + 3));
        // Hosts with a place have two sessions more, the others none.
        let more: Vec<_> = (0..2).flat_map(|_| all(&sources)).collect();
        assert_eq!(more.len(), buckets * (PLACES - 1) * 2);
        began.into_iter().chain(more).for_each(|at| sources.end(at));
        let later = NOW + 10_000_000_000;
        assert!(sources.begin(Ipv4Addr::from(5000), limits, later).is_some());
    }

    /// Without a table there is no session beyond a limit.
    #[suite::test]
    fn a_limit_without_a_table_lets_nothing_begin() {
        let (sources, host) = (Sources::default(), Ipv4Addr::from(1));
        assert!(sources.begin(host, HostLimits { sessions: 1, rate: 0 }, NOW).is_none());
        assert!(sources.begin(host, HostLimits { sessions: 0, rate: 0 }, NOW).is_some());
    }
}

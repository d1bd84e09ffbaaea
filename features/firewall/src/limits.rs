// SPDX-License-Identifier: Apache-2.0
//! Sessions that each host has begun, and how many in this second: one table for all threads,
//! without locks.
//!
//! A host is known by a hash of its address that depends on a secret. Its bucket has eight places;
//! a place is free if its host has no session and began none in this second or the last. Where all
//! eight are taken the host has no place, and no limit: with two buckets to choose from and twice
//! as many places as there may be sessions, that is one host in many thousands.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use tables::Mixer;
use wire::Address;

/// Places of a bucket: a cache line of names, and one of rates.
const PLACES: usize = 8;
/// Buckets.
const BUCKETS: usize = 1 << 16;
/// Bits of the number of sessions in a place's word; the others are the host's hash.
const COUNT_BITS: u32 = 24;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

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

#[repr(align(64))]
struct Bucket {
    /// Hash of the host, and its sessions.
    hosts: [AtomicU64; PLACES],
    /// A second, and the sessions that began in it.
    rates: [AtomicU64; PLACES],
}

/// The hosts that began sessions.
pub struct Sources {
    buckets: Box<[Bucket]>,
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
        let bucket = |_| Bucket { hosts: Default::default(), rates: Default::default() };
        let seed = RandomState::new().hash_one(0);
        Self { buckets: (0..BUCKETS).map(bucket).collect(), mixer: Mixer::new(seed) }
    }
}

impl Sources {
    fn place(&self, at: u32) -> Option<(&AtomicU64, &AtomicU64)> {
        let bucket = self.buckets.get(at as usize / PLACES)?;
        let at = at as usize % PLACES;
        Some((&bucket.hosts[at], &bucket.rates[at]))
    }

    /// Takes a place for a host, or the one that it has, and counts a session.
    fn enter<A: Address>(&self, host: A, second: u32) -> Option<u32> {
        let hash = self.mixer.add_bytes(host.to_octets().as_ref()).hash();
        // Never 0, which is the word of a free place.
        let name = (hash >> COUNT_BITS | 1) << COUNT_BITS;
        let first = (hash as usize & 0xffff) % BUCKETS;
        let second_choice = (first ^ (hash >> 48) as usize | 1) % BUCKETS;
        let mut free = None;
        for bucket in [first, second_choice] {
            for place in 0..PLACES {
                let at = (bucket * PLACES + place) as u32;
                let (word, rate) = self.place(at)?;
                let found = word.load(Ordering::Relaxed);
                if found & !COUNT == name {
                    let more = |word: u64| {
                        (word & !COUNT == name && word & COUNT < COUNT).then_some(word + 1)
                    };
                    if word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, more).is_ok() {
                        return Some(at);
                    }
                }
                let since = (rate.load(Ordering::Relaxed) >> 32) as u32;
                let is_free = found & COUNT == 0 && (found == 0 || second.wrapping_sub(since) > 1);
                if free.is_none() && is_free {
                    free = Some((at, found));
                }
            }
        }
        let (at, found) = free?;
        let (word, rate) = self.place(at)?;
        // Another thread may have taken it: the host has no place this time.
        word.compare_exchange(found, name + 1, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        rate.store(u64::from(second) << 32, Ordering::Relaxed);
        Some(at)
    }

    /// Counts a session that a host begins; `None` if it has as many as it may have.
    pub fn begin<A: Address>(&self, host: A, limits: HostLimits, now: u64) -> Option<SourceAt> {
        if limits == (HostLimits { sessions: 0, rate: 0 }) {
            return Some(SourceAt::NONE);
        }
        let second = (now / 1_000_000_000) as u32;
        let Some(at) = self.enter(host, second) else { return Some(SourceAt::NONE) };
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

    #[suite::test]
    fn a_host_has_as_many_sessions_as_it_may_have() {
        let sources = Sources::default();
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
        let sources = Sources::default();
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
        let sources = Sources::default();
        let limits = HostLimits { sessions: 1, rate: 0 };
        for round in 0..3_u64 {
            let now = NOW + round * 10_000_000_000;
            let hosts = (0..200_000_u32).map(|n| Ipv4Addr::from(n + round as u32 * 1_000_000));
            let all: Vec<_> = hosts.filter_map(|host| sources.begin(host, limits, now)).collect();
            assert_eq!(all.len(), 200_000);
            let without = all.iter().filter(|at| **at == SourceAt::NONE).count();
            assert!(without < 20, "{without} hosts have no place");
            all.into_iter().for_each(|at| sources.end(at));
        }
    }
}

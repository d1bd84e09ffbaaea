// SPDX-License-Identifier: Apache-2.0
//! Lifetimes from router advertisements (RFC 4862 5.5.3, RFC 4861 6.3.4), times of solicitations
//! (RFC 7559). No side effects.

use std::net::Ipv6Addr;
use wire::nd::PrefixInfo;
use wire::{Ip6Prefix, Prefix};

pub const SECOND: u64 = 1_000_000_000;
/// An unauthenticated router can't shorten a lifetime below this, in seconds.
const TWO_HOURS: u32 = 7200;

/// The end of a lifetime in seconds; `None` for never.
pub fn end(now: u64, lifetime: u32) -> Option<u64> {
    (lifetime != PrefixInfo::INFINITE).then(|| now + u64::from(lifetime) * SECOND)
}

/// An address that was made of a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lease {
    /// When it is removed; `None` for never.
    pub valid: Option<u64>,
    /// When it is deprecated; `None` for never.
    pub preferred: Option<u64>,
}

impl Lease {
    /// Returns the lease after an advertisement, of an address that is there or of a new one;
    /// `None` for no new one.
    pub fn from_advertisement(old: Option<Self>, info: &PrefixInfo, now: u64) -> Option<Self> {
        let (valid, preferred) = (info.valid.get(), info.preferred.get());
        let new = Self { valid: end(now, valid), preferred: end(now, preferred) };
        let Some(old) = old else { return (valid > 0).then_some(new) };
        let left = old.valid.map_or(u32::MAX, |end| (end.saturating_sub(now) / SECOND) as u32);
        let valid = match () {
            () if valid > TWO_HOURS || valid > left => new.valid,
            () if left <= TWO_HOURS => old.valid,
            () => end(now, TWO_HOURS),
        };
        Some(Self { valid, ..new })
    }
}

/// The address that a prefix gives an interface, with the length of the network that is on the link
/// by it.
pub fn address(info: &PrefixInfo, id: Ipv6Addr) -> Option<Ip6Prefix> {
    let network = info.network()?;
    let odd = info.flags & PrefixInfo::AUTONOMOUS == 0
        || info.preferred.get() > info.valid.get()
        || network.len() != 64
        || network.addr().is_unicast_link_local()
        || network.addr().is_multicast()
        || network.addr().is_unspecified();
    if odd {
        return None;
    }
    let addr = network.addr().to_bits() | id.to_bits() & u128::from(u64::MAX);
    let len = if info.flags & PrefixInfo::ON_LINK != 0 { 64 } else { 128 };
    Prefix::new(Ipv6Addr::from_bits(addr), len)
}

/// Times of router solicitations: in seconds, 0 for no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backoff {
    /// Until the second solicitation.
    pub initial: u32,
    /// Between two solicitations at most.
    pub longest: u32,
    /// Solicitations at most.
    pub count: u32,
    /// From the first solicitation to the last at most.
    pub duration: u32,
}

/// Solicitations in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Solicit {
    backoff: Backoff,
    start: u64,
    sent: u32,
    /// Between the last solicitation and the next.
    pause: u64,
    pub due: u64,
}

impl Solicit {
    /// Starts at a time.
    pub fn new(backoff: Backoff, now: u64) -> Self {
        Self { backoff, start: now, sent: 0, pause: 0, due: now }
    }

    /// Schedules the next solicitation after one was sent; `random` is any number. `None` if that
    /// was the last one.
    pub fn sent(mut self, now: u64, random: u64) -> Option<Self> {
        let Backoff { initial, longest, count, duration } = self.backoff;
        let seconds = |s: u32| u64::from(s) * SECOND;
        // RFC 8415 15: a tenth more or less, so that not all solicit at the same time.
        let about = |t: u64| t - t / 10 + random % (t / 5 + 1);
        self.sent += 1;
        let next = if self.pause == 0 { seconds(initial.max(1)) } else { self.pause * 2 };
        self.pause = if longest > 0 { next.min(seconds(longest)) } else { next };
        self.due = now + about(self.pause);
        let over = count > 0 && self.sent >= count
            || duration > 0 && self.due > self.start + seconds(duration);
        (!over).then_some(self)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn info(prefix: &str, flags: u8, valid: u32, preferred: u32) -> PrefixInfo {
        PrefixInfo::new(prefix.parse().unwrap(), flags, valid, preferred)
    }

    #[suite::test]
    fn addresses_of_prefixes() {
        let id = "fe80::1234:56ff:fe78:9abc".parse().unwrap();
        let (on, auto) = (PrefixInfo::ON_LINK, PrefixInfo::AUTONOMOUS);
        let text = |i: &PrefixInfo| address(i, id).map(|p| p.to_string());
        let want = "2001:db8::1234:56ff:fe78:9abc";
        assert_eq!(text(&info("2001:db8::/64", on | auto, 9, 9)), Some(format!("{want}/64")));
        assert_eq!(text(&info("2001:db8::/64", auto, 9, 9)), Some(format!("{want}/128")));
        for odd in [
            info("2001:db8::/64", on, 9, 9),
            info("2001:db8::/64", auto, 8, 9),
            info("2001:db8::/63", auto, 9, 9),
            info("fe80::/64", auto, 9, 9),
        ] {
            assert_eq!(text(&odd), None, "{odd:?}");
        }
    }

    #[suite::test]
    fn lifetimes_follow_the_two_hour_rule() {
        let from_advertisement =
            |old, valid| Lease::from_advertisement(old, &info("2001:db8::/64", 0x40, valid, 0), 0);
        let until =
            |valid: u32| Some(Lease { valid: Some(u64::from(valid) * SECOND), preferred: Some(0) });
        assert_eq!(from_advertisement(None, 0), None);
        assert_eq!(from_advertisement(None, 100), until(100));
        assert_eq!(from_advertisement(None, u32::MAX).map(|l| l.valid), Some(None));
        assert_eq!(from_advertisement(until(100), 200), until(200));
        assert_eq!(from_advertisement(until(100), 50), until(100), "less than two hours are left");
        assert_eq!(from_advertisement(until(90_000), 0), until(7200));
        assert_eq!(from_advertisement(until(90_000), 8000), until(8000));
    }

    #[suite::test]
    fn questions_become_rarer_and_end() {
        let backoff = Backoff { initial: 1, longest: 5, count: 5, duration: 0 };
        let (mut s, mut times) = (Some(Solicit::new(backoff, 0)), Vec::new());
        while let Some(now) = s {
            times.push(now.due / (SECOND / 10));
            s = now.sent(now.due, 0);
        }
        assert_eq!(times, [0, 9, 27, 63, 108]);
        let short = Solicit::new(Backoff { count: 0, duration: 2, ..backoff }, 0);
        assert!(short.sent(0, 0).and_then(|s| s.sent(SECOND, 0)).is_none());
    }
}

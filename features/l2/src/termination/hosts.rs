// SPDX-License-Identifier: Apache-2.0
//! The table of a domain's hosts that workers read.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use sync::{Qsbr, Slots, Turn};
use wire::MacAddr;

/// Number of parts of a table of hosts.
const PARTS: u32 = 256;

const SECOND: u64 = 1_000_000_000;
/// Time in nanoseconds after which a snooped host that isn't seen is forgotten.
pub const AGE: u64 = 600 * SECOND;

/// A host of a domain.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its MAC address.
    pub mac: MacAddr,
    /// `None` for a configured host.
    pub snooped: Option<Arc<Snooped>>,
}

/// The port and the time at which a host was seen.
#[derive(Debug)]
pub struct Snooped {
    /// The port that it is behind.
    pub sw_if: u32,
    /// Time at which it was seen last, in nanoseconds of the instance's clock. Workers write it.
    seen: AtomicU64,
}

impl Snooped {
    /// Returns a sighting behind a port at `now`.
    pub fn new(sw_if: u32, now: u64) -> Self {
        Self { sw_if, seen: AtomicU64::new(now) }
    }

    /// Records that the host is seen again: once a second, so threads don't compete for the cache
    /// line.
    #[inline]
    pub fn touch(&self, now: u64) {
        if now >= self.seen.load(Ordering::Relaxed) + SECOND {
            self.seen.store(now, Ordering::Relaxed);
        }
    }

    /// Returns the nanoseconds since it was seen.
    pub fn age(&self, now: u64) -> u64 {
        now.saturating_sub(self.seen.load(Ordering::Relaxed))
    }

    /// Returns true if it is to be forgotten.
    #[inline]
    pub fn is_old(&self, now: u64) -> bool {
        self.age(now) >= AGE
    }
}

impl Known {
    /// Returns a host set by an operator or a client.
    pub fn configured(mac: MacAddr) -> Self {
        Self { mac, snooped: None }
    }
}

/// A domain's hosts by IP address, for workers. A change replaces the part that the address is in.
pub struct Hosts {
    parts: Slots<HashMap<IpAddr, Known>>,
    hasher: RandomState,
}

impl Hosts {
    /// Returns an empty table.
    pub fn new(domain: Arc<Qsbr>) -> Self {
        Self { parts: Slots::new(domain), hasher: RandomState::new() }
    }

    fn part(&self, ip: IpAddr) -> u32 {
        self.hasher.hash_one(ip) as u32 % PARTS
    }

    /// Returns the host with this address.
    pub fn get<'t>(&'t self, ip: IpAddr, turn: &'t Turn<'_>) -> Option<&'t Known> {
        self.parts.get(self.part(ip), turn)?.get(&ip)
    }

    /// Main thread: removes all hosts.
    pub fn clear(&self) {
        (0..PARTS).for_each(|part| _ = self.parts.clear(part));
    }

    /// Main thread: sets a host, or removes it.
    pub fn set(&self, ip: IpAddr, known: Option<Known>) {
        let part = self.part(ip);
        let mut hosts = self.parts.read(part, |hosts| hosts.cloned().unwrap_or_default());
        match known {
            Some(known) => hosts.insert(ip, known),
            None => hosts.remove(&ip),
        };
        self.publish(part, hosts);
    }

    /// Main thread: removes the hosts for which `keep` is false.
    pub fn retain(&self, keep: impl Fn(IpAddr, &Known) -> bool) {
        for part in 0..PARTS {
            let kept = self.parts.read(part, |hosts| {
                let hosts =
                    hosts.filter(|hosts| !hosts.iter().all(|(ip, known)| keep(*ip, known)))?;
                let kept = hosts.iter().filter(|(ip, known)| keep(**ip, known));
                Some(kept.map(|(ip, known)| (*ip, known.clone())).collect())
            });
            kept.into_iter().for_each(|kept| self.publish(part, kept));
        }
    }

    fn publish(&self, part: u32, hosts: HashMap<IpAddr, Known>) {
        if hosts.is_empty() {
            self.parts.clear(part);
        } else {
            self.parts.set(part, hosts);
        }
    }
}

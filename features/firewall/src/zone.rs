// SPDX-License-Identifier: Apache-2.0
//! Zones and their limits.

use object::Arguments;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Limits of the sessions that a zone's hosts begin.
#[derive(Arguments, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ZoneLimits {
    /// Sessions; 0 for any number.
    #[words("[sessions <sessions:u32>]", default)]
    pub sessions: u32,
    /// New sessions in a second; 0 for any number.
    #[words("[rate <rate:u32>]", default)]
    pub rate: u32,
}

/// A zone.
#[derive(Clone, Debug)]
pub struct Zone {
    /// Its number.
    pub number: u16,
    /// Limits.
    pub limits: ZoneLimits,
    /// Its use of them.
    pub used: Arc<ZoneUse>,
}

/// The use of a zone's limits, counted by all threads.
#[derive(Default, Debug)]
pub struct ZoneUse {
    most: AtomicU32,
    most_in_a_second: AtomicU32,
    sessions: AtomicU32,
    rate: AtomicU64,
}

impl ZoneUse {
    /// Sets the limits.
    pub fn set(&self, limits: ZoneLimits) {
        self.most.store(limits.sessions, Ordering::Relaxed);
        self.most_in_a_second.store(limits.rate, Ordering::Relaxed);
    }

    /// Sessions that hosts of the zone began.
    pub fn sessions(&self) -> u32 {
        self.sessions.load(Ordering::Relaxed)
    }

    /// Counts a session that a host of the zone begins; false if there may be no more.
    pub fn begin(&self, now: u64) -> bool {
        let rate = self.most_in_a_second.load(Ordering::Relaxed);
        let second = (now / 1_000_000_000) as u32;
        if rate > 0 && !crate::limits::in_rate(&self.rate, second, rate) {
            return false;
        }
        let most = self.most.load(Ordering::Relaxed);
        let before = self.sessions.fetch_add(1, Ordering::Relaxed);
        if most > 0 && before >= most {
            self.end();
            return false;
        }
        true
    }

    /// Notes that such a session has ended.
    pub fn end(&self) {
        // A session may be older than its zone, which has taken the number of another one.
        let less = |n: u32| n.checked_sub(1);
        let _ = self.sessions.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

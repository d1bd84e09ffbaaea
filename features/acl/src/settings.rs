// SPDX-License-Identifier: Apache-2.0
//! Settings of sessions and matching.

use crate::packet::Skipped;
use crate::startup_conf::Startup;
use graph::{Shared, World};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Timers' ticks in a second.
const TICKS: u32 = 10;

/// The kinds of timeouts of sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Timeout {
    /// Of all that isn't TCP.
    Udp,
    /// Of TCP connections that are established.
    TcpIdle,
    /// Of other TCP connections.
    TcpTransient,
}

impl Timeout {
    /// All.
    pub const ALL: [Self; 3] = [Self::Udp, Self::TcpIdle, Self::TcpTransient];

    /// Its words in commands.
    pub const fn words(self) -> &'static str {
        ["udp idle", "tcp idle", "tcp transient"][self as usize]
    }

    /// Seconds at first.
    pub const fn default(self) -> u32 {
        [600, 86_400, 120][self as usize]
    }
}

/// The settings.
pub struct Settings {
    /// Seconds, by [`Timeout`].
    timeouts: [AtomicU32; 3],
    /// Sessions of all threads at most.
    pub most_sessions: AtomicU32,
    /// The same at the start.
    pub default_most_sessions: u32,
    /// Rules with a protocol are for later fragments too.
    pub match_fragments: AtomicBool,
    /// Matches of rules are counted.
    pub count_matches: AtomicBool,
    /// Sessions stay when lists change, and are judged again: always true of this router. The
    /// setting is kept for clients that read it.
    pub reclassify: AtomicBool,
    /// A setting of VPP that is kept for clients: lookups are the same.
    pub hash_lookup: AtomicBool,
    /// Extension headers of IPv6 that are skipped.
    pub skipped: Skipped,
}

impl Shared for Settings {
    fn make(world: &World) -> Self {
        let most = world.startup::<Startup>().most_sessions();
        Self {
            timeouts: Timeout::ALL.map(|timeout| AtomicU32::new(timeout.default())),
            most_sessions: AtomicU32::new(most),
            default_most_sessions: most,
            match_fragments: AtomicBool::new(true),
            count_matches: AtomicBool::new(false),
            reclassify: AtomicBool::new(false),
            hash_lookup: AtomicBool::new(true),
            skipped: Skipped::default(),
        }
    }
}

impl Settings {
    /// Seconds of a timeout.
    pub fn timeout(&self, of: Timeout) -> u32 {
        self.timeouts[of as usize].load(Ordering::Relaxed)
    }

    /// Sets the seconds of a timeout, for sessions that begin or change from now on.
    pub fn set_timeout(&self, of: Timeout, seconds: u32) {
        self.timeouts[of as usize].store(seconds, Ordering::Relaxed);
    }

    /// A timeout in ticks of the timers; at least one.
    #[inline(always)]
    pub fn ticks(&self, of: Timeout) -> u32 {
        self.timeout(of).saturating_mul(TICKS).clamp(1, u32::MAX - 1)
    }

    /// Sessions of a thread at most, if so many threads have them.
    #[inline(always)]
    pub fn limit(&self, threads: usize) -> usize {
        self.most_sessions.load(Ordering::Relaxed) as usize / threads.max(1)
    }
}

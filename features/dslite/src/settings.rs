// SPDX-License-Identifier: Apache-2.0
//! Settings as workers read them, and the counters that they write.

use graph::{Shared, ThreadIndex, World};
use nat::timeouts::Timeouts;
use nat::workers::Workers;
use stats::{Lane, Simple};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use sync::{Snapshot, Turn};

/// The settings.
#[derive(Clone, Default, Debug)]
pub struct Settings {
    /// The address of the AFTR: this router's, or that of the other end for a B4.
    pub aftr: Option<Ipv6Addr>,
    /// This router's address as a B4.
    pub b4: Option<Ipv6Addr>,
    /// Addresses that users share, sorted.
    pub pool: Vec<Ipv4Addr>,
    /// The threads that have sessions.
    pub workers: Workers,
    /// See [`Timeouts`].
    pub timeouts: Timeouts,
}

impl Settings {
    /// True for an address of the pool.
    #[inline(always)]
    pub fn is_pool(&self, addr: Ipv4Addr) -> bool {
        self.pool.binary_search(&addr).is_ok()
    }

    /// A sum over the address of a B4 that spreads B4s over workers and addresses.
    #[inline(always)]
    pub fn spread(&self, b4: Ipv6Addr) -> u32 {
        let bits = b4.to_bits();
        let words = [bits as u32, (bits >> 32) as u32, (bits >> 64) as u32, (bits >> 96) as u32];
        let sum = words.into_iter().fold(0, |sum: u32, word| {
            sum.rotate_left(5).wrapping_add(word).wrapping_mul(0x9e37_79b1)
        });
        sum ^ sum >> 16
    }

    /// The thread of a B4.
    #[inline(always)]
    pub fn thread_of_b4(&self, b4: Ipv6Addr) -> u16 {
        self.workers.pick(self.spread(b4))
    }
}

/// The settings of an instance.
pub struct DsLite {
    settings: Snapshot<Settings>,
    /// Number of changes of the settings.
    generation: AtomicU32,
}

impl Shared for DsLite {
    fn make(world: &World) -> Self {
        Self {
            settings: Snapshot::new(world.qsbr.clone(), Settings::default()),
            generation: AtomicU32::new(0),
        }
    }
}

impl DsLite {
    /// The settings.
    #[inline(always)]
    pub fn settings<'t>(&'t self, turn: &'t Turn<'_>) -> &'t Settings {
        self.settings.get(turn)
    }

    /// Number of changes of the settings.
    #[inline(always)]
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// Control: publishes other settings.
    pub fn publish(&self, settings: Settings) {
        self.settings.set(settings);
        self.generation.fetch_add(1, Ordering::AcqRel);
    }
}

/// The counters of all threads.
pub struct Counters {
    b4s: Arc<Simple>,
    sessions: Arc<Simple>,
}

impl Shared for Counters {
    fn make(world: &World) -> Self {
        let simple = |name: &str| {
            let simple = world.stats.simple(&format!("/dslite/total-{name}"));
            // Readers find the gauges before anything is counted.
            simple.start(0);
            simple
        };
        Self { b4s: simple("b4s"), sessions: simple("sessions") }
    }
}

impl Counters {
    /// The cells of a thread: of B4s and of sessions.
    pub fn gauges(&self, thread: ThreadIndex) -> [Lane; 2] {
        [self.b4s.lane(thread.at()), self.sessions.lane(thread.at())]
    }
}

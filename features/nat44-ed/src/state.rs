// SPDX-License-Identifier: Apache-2.0
//! State that workers read, and the counters that they write.

use crate::mapping::Mappings;
use crate::settings::Settings;
use graph::{Shared, ThreadIndex, World};
use stats::{Lane, Simple};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use sync::{Snapshot, Turn};

/// State that control publishes.
pub struct Nat {
    settings: Snapshot<Settings>,
    /// The mappings.
    pub mappings: Arc<Mappings>,
    /// A number that is another after each change of what ports are free.
    generation: AtomicU32,
}

impl Shared for Nat {
    fn make(world: &World) -> Self {
        let settings = Settings::default();
        Self {
            settings: Snapshot::new(world.qsbr.clone(), settings),
            mappings: world.get(),
            generation: AtomicU32::new(0),
        }
    }
}

impl Nat {
    /// A number that is another after each change of what ports are free.
    #[inline(always)]
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// Control: mappings or threads' ports have changed.
    pub fn renew(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// The settings.
    #[inline(always)]
    pub fn settings<'t>(&'t self, turn: &'t Turn<'_>) -> &'t Settings {
        self.settings.get(turn)
    }

    /// Control: the same.
    pub fn read<R>(&self, f: impl FnOnce(&Settings) -> R) -> R {
        self.settings.read(f)
    }

    /// Control: publishes other settings.
    pub fn publish(&self, settings: Settings) {
        self.settings.set(settings);
    }
}

/// The protocols that are counted, and drops.
const KINDS: [&str; 5] = ["tcp", "udp", "icmp", "other", "drops"];
/// Counters of packets that are dropped.
pub const DROPS: usize = 4;

/// The counters of all threads.
pub struct Counters {
    /// By direction, by path (fast, slow), by kind.
    all: Vec<Arc<Simple>>,
    hairpinning: Arc<Simple>,
    /// Sessions that a thread may have.
    pub most: Arc<Simple>,
    /// Sessions.
    pub total: Arc<Simple>,
}

impl Shared for Counters {
    fn make(world: &World) -> Self {
        let mut all = Vec::new();
        for direction in ["in2out", "out2in"] {
            for path in ["fastpath", "slowpath"] {
                for kind in KINDS {
                    let name = format!("/nat44-ed/{direction}/{path}/{kind}");
                    all.push(world.stats.simple(&name));
                }
            }
        }
        let simple = |name: &str| world.stats.simple(&format!("/nat44-ed/{name}"));
        // Readers find the gauges before anything is counted.
        for gauge in ["max-cfg-sessions", "total-sessions"] {
            simple(gauge).start(0);
        }
        Self {
            all,
            hairpinning: simple("hairpinning"),
            most: simple("max-cfg-sessions"),
            total: simple("total-sessions"),
        }
    }
}

/// The cells of a thread.
pub struct Lanes {
    all: Vec<Lane>,
    hairpinning: Lane,
}

impl Counters {
    /// The cells of a thread.
    pub fn lanes(&self, thread: ThreadIndex) -> Lanes {
        let lane = |simple: &Arc<Simple>| simple.lane(thread.at());
        Lanes { all: self.all.iter().map(lane).collect(), hairpinning: lane(&self.hairpinning) }
    }
}

impl Lanes {
    /// Counts a packet of an interface.
    #[inline(always)]
    pub fn count(&self, (inward, slow): (bool, bool), kind: usize, sw_if: u32) {
        let at = (usize::from(inward) * 2 + usize::from(slow)) * KINDS.len() + kind;
        if let Some(lane) = self.all.get(at) {
            lane.add(sw_if as usize, 1);
        }
    }

    /// Counts a packet between two users.
    #[inline(always)]
    pub fn count_hairpin(&self, sw_if: u32) {
        self.hairpinning.add(sw_if as usize, 1);
    }
}

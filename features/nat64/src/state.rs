// SPDX-License-Identifier: Apache-2.0
//! State that workers read, and the counters that they write.

use crate::settings::{Settings, Statics};
use graph::{Shared, ThreadIndex, World};
use stats::{Lane, Simple};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use sync::{Snapshot, Turn};

/// State that control publishes.
pub struct Nat {
    settings: Snapshot<Settings>,
    statics: Snapshot<Statics>,
    /// A number that is another after each change of the threads' ports.
    generation: AtomicU32,
}

impl Shared for Nat {
    fn make(world: &World) -> Self {
        Self {
            settings: Snapshot::new(world.qsbr.clone(), Settings::default()),
            statics: Snapshot::new(world.qsbr.clone(), Statics::default()),
            generation: AtomicU32::new(0),
        }
    }
}

impl Nat {
    /// A number that is another after each change of the threads' ports.
    #[inline(always)]
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// The settings.
    #[inline(always)]
    pub fn settings<'t>(&'t self, turn: &'t Turn<'_>) -> &'t Settings {
        self.settings.get(turn)
    }

    /// The threads of static bindings.
    #[inline(always)]
    pub fn statics<'t>(&'t self, turn: &'t Turn<'_>) -> &'t Statics {
        self.statics.get(turn)
    }

    /// Control: looks at the settings.
    pub fn read<R>(&self, f: impl FnOnce(&Settings) -> R) -> R {
        self.settings.read(f)
    }

    /// Control: publishes other settings.
    pub fn publish(&self, settings: Settings) {
        let ports = |settings: &Settings| (settings.enabled, settings.workers.clone());
        let changed = self.settings.read(|old| ports(old) != ports(&settings));
        self.settings.set(settings);
        if changed {
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Control: publishes the threads of static bindings.
    pub fn publish_statics(&self, statics: Statics) {
        self.statics.set(statics);
    }
}

/// The protocols that are counted, and drops.
const COUNTED: [&str; 5] = ["tcp", "udp", "icmp", "other", "drops"];
/// Counters of packets that are dropped.
pub const DROPS: usize = 4;

/// The counters of all threads.
pub struct Counters {
    /// By direction, by kind.
    all: Vec<Arc<Simple>>,
    bibs: Arc<Simple>,
    sessions: Arc<Simple>,
}

impl Shared for Counters {
    fn make(world: &World) -> Self {
        let mut all = Vec::new();
        for direction in ["in2out", "out2in"] {
            for kind in COUNTED {
                all.push(world.stats.simple(&format!("/nat64/{direction}/{kind}")));
            }
        }
        let gauge = |name: &str| {
            let simple = world.stats.simple(&format!("/nat64/{name}"));
            // Readers find the gauges before anything is counted.
            simple.start(0);
            simple
        };
        Self { all, bibs: gauge("total-bibs"), sessions: gauge("total-sessions") }
    }
}

impl Counters {
    /// The cells of a thread.
    pub fn lanes(&self, thread: ThreadIndex) -> Lanes {
        Lanes(self.all.iter().map(|simple| simple.lane(thread.at())).collect())
    }

    /// The numbers of a thread's bindings and sessions.
    pub fn gauges(&self, thread: ThreadIndex) -> [Lane; 2] {
        [self.bibs.lane(thread.at()), self.sessions.lane(thread.at())]
    }
}

/// The cells of a thread.
pub struct Lanes(Vec<Lane>);

impl Lanes {
    /// Counts a packet of an interface.
    #[inline(always)]
    pub fn count(&self, inward: bool, kind: usize, sw_if: u32) {
        if let Some(lane) = self.0.get(usize::from(inward) * COUNTED.len() + kind) {
            lane.add(sw_if as usize, 1);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! State that workers read, and the counters that they write.

use crate::settings::Settings;
use ::nat::counters::{Lanes, Paths};
use ::nat::mapping::Mappings;
use graph::{Shared, ThreadIndex, World};
use stats::{Lane, Simple};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use sync::{Snapshot, Turn};

/// State that control publishes.
pub struct Nat {
    settings: Snapshot<Settings>,
    /// The mappings.
    pub mappings: Mappings,
    /// A number that is another after each change of what ports are free.
    generation: AtomicU32,
}

impl Shared for Nat {
    fn make(world: &World) -> Self {
        Self {
            settings: Snapshot::new(world.qsbr.clone(), Settings::default()),
            mappings: Mappings::new(world),
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
        let ports = |settings: &Settings| (settings.enabled, settings.workers.clone());
        let changed = self.read(|old| ports(old) != ports(&settings));
        self.settings.set(settings);
        if changed {
            self.renew();
        }
    }
}

/// The counters of all threads.
pub struct Counters {
    paths: Paths,
    users: Arc<Simple>,
    sessions: Arc<Simple>,
    refused: Arc<Simple>,
}

impl Shared for Counters {
    fn make(world: &World) -> Self {
        let gauge = |name: &str| {
            let simple = world.stats.simple(&format!("/nat44-ei/{name}"));
            // Readers find the gauges before anything is counted.
            simple.start(0);
            simple
        };
        Self {
            paths: Paths::new(world, "nat44-ei"),
            users: gauge("total-users"),
            sessions: gauge("total-sessions"),
            refused: gauge("user-limit-reached"),
        }
    }
}

impl Counters {
    /// The cells of a thread's packets.
    pub fn lanes(&self, thread: ThreadIndex) -> Lanes {
        self.paths.lanes(thread)
    }

    /// The cells of a thread's users and sessions.
    pub fn gauges(&self, thread: ThreadIndex) -> Gauges {
        let lane = |simple: &Arc<Simple>| simple.lane(thread.at());
        Gauges {
            users: lane(&self.users),
            sessions: lane(&self.sessions),
            refused: lane(&self.refused),
        }
    }

    /// Sessions of a thread.
    pub fn sessions_of(&self, thread: usize) -> u64 {
        self.sessions.of_thread(thread, 0)
    }
}

/// The cells of a thread's users and sessions.
pub struct Gauges {
    /// Users.
    pub users: Lane,
    /// Sessions.
    pub sessions: Lane,
    /// Packets of hosts for whom there was no room.
    pub refused: Lane,
}

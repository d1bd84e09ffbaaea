// SPDX-License-Identifier: Apache-2.0
//! State that workers read, and the counters that they write.

use crate::settings::Settings;
use ::nat::counters::{Lanes, Paths};
use ::nat::mapping::Mappings;
use graph::{Shared, ThreadIndex, World};
use stats::Simple;
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
            mappings: Arc::new(Mappings::new(world)),
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

/// The counters of all threads.
pub struct Counters {
    paths: Paths,
    /// Sessions that a thread may have.
    pub most: Arc<Simple>,
    /// Sessions.
    pub total: Arc<Simple>,
}

impl Shared for Counters {
    fn make(world: &World) -> Self {
        let gauge = |name: &str| {
            let simple = world.stats.simple(&format!("/nat44-ed/{name}"));
            // Readers find the gauges before anything is counted.
            simple.start(0);
            simple
        };
        Self {
            paths: Paths::new(world, "nat44-ed"),
            most: gauge("max-cfg-sessions"),
            total: gauge("total-sessions"),
        }
    }
}

impl Counters {
    /// The cells of a thread.
    pub fn lanes(&self, thread: ThreadIndex) -> Lanes {
        self.paths.lanes(thread)
    }
}

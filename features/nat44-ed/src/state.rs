// SPDX-License-Identifier: Apache-2.0
//! State that workers read, and the counters that they write.

use crate::settings::Settings;
use ::nat::counters::{Lanes, Paths};
use ::nat::published::Published;
use ::nat::workers::Workers;
use graph::{Shared, ThreadIndex, World};
use stats::Simple;
use std::sync::Arc;

/// State that control publishes.
pub type Nat = Published<Settings>;

impl ::nat::published::Settings for Settings {
    fn ports(&self) -> (bool, &Workers) {
        (self.enabled, &self.workers)
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

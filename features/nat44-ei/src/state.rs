// SPDX-License-Identifier: Apache-2.0
//! State that workers read, and the counters that they write.

use crate::settings::Settings;
use ::nat::counters::{Lanes, Paths};
use ::nat::published::Published;
use ::nat::workers::Workers;
use graph::{Shared, ThreadIndex, World};
use stats::{Lane, Simple};
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

// SPDX-License-Identifier: Apache-2.0
//! The binary API's server: its sockets, and the messages that are the daemon's own.
//!
//! Tests: CRCs and layouts as published; vpp_papi and GoVPP, unchanged; hostile clients.

mod cli;
pub mod clients;
#[cfg(feature = "tests")]
mod document;
pub mod files;
mod show;
mod socket;
#[cfg(feature = "tests")]
mod tests;
mod trace;
mod vlib;
mod vpe;

pub use socket::{close, open, poll};

use std::sync::{Arc, OnceLock};

use ::cli::Tree;
use graph::{Plugin, Shared, StateDef, World};

/// The daemon's own messages and commands.
pub static PLUGIN: Plugin = Plugin {
    name: "api",
    about: "The binary API's door, and the daemon's own messages",
    area: "management",
    does: &[
        "The binary API on a Unix socket: modules and messages in [api.md](../api.md), events, \
         traces, `--dump-api`",
    ],
    spec: &["VPP 26.06's"],
    limits: &["No shared-memory transport"],
    cli: cli::COMMANDS,
    transient: &[("api trace", "is a record that is made now")],
    state: &[StateDef::of::<Commands>()],
    api: &[vlib::API, vpe::API],
    ..Plugin::EMPTY
};

/// Every command, for messages that carry one.
#[derive(Default)]
pub struct Commands(OnceLock<Arc<Tree<World>>>);

impl Shared for Commands {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Commands {
    /// Sets them; the first call counts.
    pub fn set(&self, tree: Arc<Tree<World>>) {
        let _ = self.0.set(tree);
    }

    fn get(&self) -> Option<&Arc<Tree<World>>> {
        self.0.get()
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The state of the control thread.

use crate::api;
use crate::server::sessions::Server;
use cli::{Runner, Tree};
use std::sync::Arc;

/// The context of handlers on the control thread.
pub struct Control<W: 'static> {
    /// The world that commands act on.
    pub world: Arc<W>,
    /// Every command.
    pub tree: Arc<Tree<W>>,
    /// CLI sessions.
    pub server: Server,
    /// Clients of the binary API.
    pub api: api::clients::Server<W>,
    /// Commands that no session asked for.
    pub background: Runner,
}

// SPDX-License-Identifier: Apache-2.0
//! Stages: what a fast path runs in place of a feature's node. Here they are only kept for it; the
//! crate that says what a stage is defines them (`net::stage`).

use crate::words::fill;
use crate::{ThreadIndex, World};
use std::any::Any;

/// The stage of a feature, for a plugin's list.
pub struct StageDef {
    node: &'static str,
    v6: Option<bool>,
    make: fn(&World, ThreadIndex) -> Box<dyn Any + Send>,
}

impl StageDef {
    /// Of the feature with this node. `make` makes one for each thread, as something that the fast
    /// path knows.
    pub const fn new(
        node: &'static str,
        v6: Option<bool>,
        make: fn(&World, ThreadIndex) -> Box<dyn Any + Send>,
    ) -> Self {
        Self { node, v6, make }
    }

    /// The node's name.
    pub fn node(&self) -> &'static str {
        fill(self.node, self.v6)
    }

    /// Makes the stage of a thread, if it is a `T`.
    pub fn make<T: 'static>(&self, world: &World, thread: ThreadIndex) -> Option<T> {
        (self.make)(world, thread).downcast().ok().map(|stage| *stage)
    }
}

impl World {
    /// The stages of all plugins.
    pub fn stages(&self) -> impl Iterator<Item = &'static StageDef> {
        self.plugins().iter().flat_map(|plugin| plugin.stages)
    }
}

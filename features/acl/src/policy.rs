// SPDX-License-Identifier: Apache-2.0
//! The lists of an interface, as workers read them.

use crate::list::{Direction, List};
use graph::{Shared, World};
use std::sync::Arc;
use sync::{Slots, Turn};

/// The lists of an interface.
#[derive(Clone)]
pub struct Policy {
    /// By [`Direction`]; `None` where packets aren't checked.
    pub lists: [Option<Arc<List>>; 2],
    /// A number that is another after each change: sessions that were judged by another are judged
    /// again.
    pub generation: u32,
}

impl Policy {
    /// The list of a direction.
    #[inline(always)]
    pub fn list(&self, direction: Direction) -> Option<&List> {
        self.lists[direction as usize].as_deref()
    }

    /// True if a rule of either direction makes sessions. Without one there are none: those of
    /// rules that are gone end at their next packet or by their timeout.
    #[inline(always)]
    pub fn reflects(&self) -> bool {
        self.lists.iter().flatten().any(|list| list.reflects())
    }
}

/// By interface.
pub struct Policies(Slots<Policy>);

impl Shared for Policies {
    fn make(world: &World) -> Self {
        Self(Slots::new(world.qsbr.clone()))
    }
}

impl Policies {
    /// The lists of an interface.
    #[inline(always)]
    pub fn get<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> Option<&'t Policy> {
        self.0.get(sw_if, turn)
    }

    /// Publishes the lists of an interface, or that it has none.
    pub fn set(&self, sw_if: u32, policy: Option<Policy>) {
        match policy {
            Some(policy) => self.0.set(sw_if, policy),
            None => _ = self.0.clear(sw_if),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The reasons that nodes count packets for.

use super::World;
use crate::ErrorIndex;
use crate::registry::{Reason, no_reason};

impl World {
    /// Every reason that is counted, by error index; an index that is no node's has the reason
    /// "none".
    pub fn reasons(&self) -> Vec<Reason> {
        let registry = self.registry();
        let mut all = vec![no_reason(); registry.used().1];
        registry.reasons.for_each(|index, reason| {
            if let Some(place) = all.get_mut(index as usize) {
                *place = reason.clone();
            }
        });
        all
    }

    /// The error index of a node's reason, for [`crate::Cx::count_for`]. It stays the same while
    /// the node is there.
    pub fn reason_index(&self, node: &str, reason: &str) -> Option<ErrorIndex> {
        let mut found = None;
        self.registry().reasons.for_each(|index, r| {
            if &*r.node == node && r.reason == reason {
                found = Some(ErrorIndex(index));
            }
        });
        found
    }
}

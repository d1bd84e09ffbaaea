// SPDX-License-Identifier: Apache-2.0
//! The interface to the feature that runs LACP.

use crate::model::{Lacp, Mode, Stage};
use crate::state::Bonds;
use graph::{SwIfIndex, World};

/// Registers the feature that runs LACP on members. Without one, bonds can't have the mode `lacp`.
///
/// # Errors
/// Another feature that does it.
pub fn register_lacp(world: &World, lacp: Lacp) -> Result<(), String> {
    world.get::<Bonds>().lacp.set(lacp).map_err(|_| "another feature runs LACP".to_string())
}

impl Bonds {
    /// Notes how far LACP has brought a member into its bond. Returns whether that has changed.
    pub fn set_stage(&self, world: &World, sw_if: SwIfIndex, stage: Stage) -> bool {
        let bond = match self.control().members.get_mut(&sw_if) {
            Some(member) if member.stage != stage => {
                member.stage = stage;
                member.bond
            }
            _ => return false,
        };
        self.settle(world, bond);
        true
    }

    /// The feature that runs LACP, for a bond in that mode.
    pub(crate) fn lacp_of(&self, mode: Mode) -> Option<&Lacp> {
        self.lacp.get().filter(|_| mode == Mode::Lacp)
    }
}

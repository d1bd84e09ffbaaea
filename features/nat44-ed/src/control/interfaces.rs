// SPDX-License-Identifier: Apache-2.0
//! Roles of interfaces.

use super::{Control, State, source};
use crate::settings::role;
use cli::Result;
use graph::{SwIfIndex, World};
use nat::roles::{Nodes, check_change, leads_outside};
use net::Interfaces;

/// The nodes of roles.
const NODES: Nodes = Nodes {
    input: [
        (role::INSIDE, ["nat-pre-in2out", "nat44-in2out-worker-handoff"]),
        (role::OUTSIDE, ["nat-pre-out2in", "nat44-out2in-worker-handoff"]),
        (role::INSIDE | role::OUTSIDE, ["nat44-ed-classify", "nat44-handoff-classify"]),
    ],
    output: ["nat-pre-in2out-output", "nat44-in2out-output-worker-handoff"],
};

impl Control {
    /// Gives an interface a role, or takes it away: one of [`role`].
    ///
    /// # Errors
    /// The feature is disabled (−126); no such interface (−2); it has the role, or packets are
    /// translated at its other side (−81); it doesn't have the role (−6).
    pub fn set_role(&self, world: &World, sw_if: SwIfIndex, bit: u8, add: bool) -> Result<()> {
        self.enabled(world, |state| {
            world.get::<Interfaces>().check(sw_if)?;
            let old = state.roles.get(&sw_if).copied().unwrap_or(0);
            let other = if bit == role::OUTPUT { !role::OUTPUT } else { role::OUTPUT };
            check_change(world, (sw_if, old), (bit, other), add)?;
            state.set_roles(world, sw_if, if add { old | bit } else { old & !bit })
        })
    }
}

impl State {
    /// Gives an interface these roles in place of those that it had.
    pub(super) fn set_roles(&mut self, world: &World, sw_if: SwIfIndex, new: u8) -> Result<()> {
        let old = self.roles.get(&sw_if).copied().unwrap_or(0);
        NODES.switch(world, sw_if, (old, new))?;
        match new {
            0 => _ = self.roles.remove(&sw_if),
            new => _ = self.roles.insert(sw_if, new),
        }
        if leads_outside(old) != leads_outside(new) {
            self.exposed.expose_by((world, source(world)), sw_if, leads_outside(new));
        }
        Ok(())
    }

    /// Forgets an interface that is being deleted.
    pub(super) fn remove_interface(&mut self, world: &World, sw_if: SwIfIndex) {
        if self.roles.contains_key(&sw_if) {
            let _ = self.set_roles(world, sw_if, 0);
        }
        for twice in [false, true] {
            if self.followed.contains(&(sw_if, twice)) {
                let _ = self.unfollow(world, sw_if, twice);
            }
        }
        self.forget_mappings_of(world, sw_if);
    }
}

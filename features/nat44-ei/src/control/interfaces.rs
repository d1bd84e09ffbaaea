// SPDX-License-Identifier: Apache-2.0
//! Roles of interfaces.

use super::{Control, State, source};
use crate::settings::{OUTPUT_INSIDE, role};
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use nat::error;
use nat::roles::{Nodes, check_change, leads_outside};
use net::Interfaces;

/// The nodes of roles.
const NODES: Nodes = Nodes {
    input: [
        (role::INSIDE, ["nat44-ei-in2out", "nat44-ei-in2out-worker-handoff"]),
        (role::OUTSIDE, ["nat44-ei-out2in", "nat44-ei-out2in-worker-handoff"]),
        (role::INSIDE | role::OUTSIDE, ["nat44-ei-classify", "nat44-ei-handoff-classify"]),
    ],
    output: ["nat44-ei-in2out-output", "nat44-ei-in2out-output-worker-handoff"],
};

impl Control {
    /// Gives an interface a role, or takes it away: one of [`role`], with [`OUTPUT_INSIDE`] or
    /// without.
    ///
    /// # Errors
    /// The feature is disabled (−169); no such interface (−2); it has the role, or packets are
    /// translated at its other side (−81); it doesn't have the role (−6); an interface to the
    /// world where packets of the world come by routes (−126).
    pub fn set_role(&self, world: &World, sw_if: SwIfIndex, bit: u8, add: bool) -> Result<()> {
        self.enabled(world, |state| {
            world.get::<Interfaces>().check(sw_if)?;
            if state.options()?.dpo && bit == role::OUTSIDE {
                let why = "packets of the world come by routes to the pool (out2in-dpo)";
                return Err(error(retval::UNSUPPORTED, why));
            }
            let old = state.roles.get(&sw_if).copied().unwrap_or(0);
            let output = bit & role::OUTPUT;
            let other = if output != 0 { role::INSIDE | role::OUTSIDE } else { role::OUTPUT };
            let which = bit & !OUTPUT_INSIDE;
            check_change(world, (sw_if, old), (which, other), add)?;
            let new = if add { old | bit } else { old & !(which | OUTPUT_INSIDE) };
            state.set_roles(world, sw_if, new)
        })
    }
}

impl State {
    /// Gives an interface these roles in place of those that it had.
    pub(super) fn set_roles(&mut self, world: &World, sw_if: SwIfIndex, new: u8) -> Result<()> {
        let old = self.roles.get(&sw_if).copied().unwrap_or(0);
        NODES.switch(world, sw_if, (old, new))?;
        let hairpins = |roles: u8| roles & role::INSIDE != 0;
        if hairpins(old) != hairpins(new) {
            let on = hairpins(new);
            let done = world.set_feature("ip4-local", "nat44-ei-hairpinning", sw_if, on);
            done.map_err(Error::failed)?;
        }
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
        if self.followed.contains(&sw_if) {
            let _ = self.unfollow(world, sw_if);
        }
        for number in self.statics.of_interface(sw_if) {
            self.remove_number(world, number);
        }
    }
}

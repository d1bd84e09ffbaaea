// SPDX-License-Identifier: Apache-2.0
//! Roles of interfaces.

use super::{Control, State, error, role, source};
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use ip_reassembly::{Side, use_ports};
use net::Interfaces;

/// A role: its arc, its nodes (the second for several workers), and true for IPv6.
struct Role {
    bit: u8,
    arc: &'static str,
    nodes: [&'static str; 2],
    v6: bool,
}

const ROLES: [Role; 2] = [
    Role {
        bit: role::INSIDE,
        arc: "ip6-unicast",
        nodes: ["nat64-in2out", "nat64-in2out-handoff"],
        v6: true,
    },
    Role {
        bit: role::OUTSIDE,
        arc: "ip4-unicast",
        nodes: ["nat64-out2in", "nat64-out2in-handoff"],
        v6: false,
    },
];

impl Control {
    /// Gives an interface a role, or takes it away: one of [`role`]. It may have both. Of an
    /// interface with one role, that one is taken away whichever is named, as by VPP.
    ///
    /// # Errors
    /// The feature is disabled (−126); no such interface (−2); it has no role (−6).
    pub fn set_role(&self, world: &World, sw_if: SwIfIndex, bit: u8, add: bool) -> Result<()> {
        self.enabled(world, |state| {
            world.get::<Interfaces>().check(sw_if)?;
            let old = state.roles.get(&sw_if).copied().unwrap_or(0);
            let new = match (add, old) {
                (true, _) => old | bit,
                (false, 0) => {
                    let name = world.get::<Interfaces>().name(sw_if);
                    let why = format!("{name} leads neither to users nor to the world");
                    return Err(error(retval::NO_SUCH_ENTRY, why));
                }
                (false, role::INSIDE | role::OUTSIDE) => 0,
                (false, _) => old & !bit,
            };
            state.set_roles(world, sw_if, new)
        })
    }
}

impl State {
    /// Gives an interface these roles in place of those that it had.
    pub(super) fn set_roles(&mut self, world: &World, sw_if: SwIfIndex, new: u8) -> Result<()> {
        let old = self.roles.get(&sw_if).copied().unwrap_or(0);
        let node = usize::from(world.threads() > 2);
        for role in ROLES.iter().filter(|role| (old ^ new) & role.bit != 0) {
            let on = new & role.bit != 0;
            world.set_feature(role.arc, role.nodes[node], sw_if, on).map_err(Error::failed)?;
            use_ports(world, sw_if, role.v6, Side::Input, on)?;
        }
        match new {
            0 => _ = self.roles.remove(&sw_if),
            new => _ = self.roles.insert(sw_if, new),
        }
        if (old ^ new) & role::OUTSIDE != 0 {
            let on = new & role::OUTSIDE != 0;
            self.exposed.expose_by((world, source(world)), sw_if, on);
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
        self.forget_routes_by(world, sw_if);
    }
}

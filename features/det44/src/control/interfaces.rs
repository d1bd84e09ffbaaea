// SPDX-License-Identifier: Apache-2.0
//! Roles of interfaces.

use super::{Control, State, error};
use crate::settings::{IN2OUT, OUT2IN, role};
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use ip_reassembly::{Side, use_ports};
use net::Interfaces;

impl Control {
    /// Gives an interface a role, or takes it away: one of [`role`].
    ///
    /// # Errors
    /// The feature is disabled (1); no such interface (−2); it has the role already, or doesn't
    /// (−7).
    pub fn set_role(&self, world: &World, sw_if: SwIfIndex, bit: u8, add: bool) -> Result<()> {
        self.enabled(world, |state| {
            world.get::<Interfaces>().check(sw_if)?;
            let old = state.roles.get(&sw_if).copied().unwrap_or(0);
            if add == (old & bit != 0) {
                let name = world.get::<Interfaces>().name(sw_if);
                let why = match add {
                    true => format!("{name} has this role already"),
                    false => format!("{name} doesn't have this role"),
                };
                return Err(error(retval::INVALID_VALUE, why));
            }
            state.set_roles(world, sw_if, old ^ bit)
        })
    }
}

impl State {
    /// Gives an interface these roles in place of those that it had.
    pub(super) fn set_roles(&mut self, world: &World, sw_if: SwIfIndex, new: u8) -> Result<()> {
        let old = self.roles.get(&sw_if).copied().unwrap_or(0);
        if old == 0 && new != 0 {
            use_ports(world, sw_if, false, Side::Input, true)?;
        }
        for (bit, node) in [(role::INSIDE, IN2OUT), (role::OUTSIDE, OUT2IN)] {
            if (old ^ new) & bit != 0 {
                let on = new & bit != 0;
                world.set_feature("ip4-unicast", node, sw_if, on).map_err(Error::failed)?;
            }
        }
        if old != 0 && new == 0 {
            use_ports(world, sw_if, false, Side::Input, false)?;
        }
        match new {
            0 => _ = self.roles.remove(&sw_if),
            new => _ = self.roles.insert(sw_if, new),
        }
        Ok(())
    }
}

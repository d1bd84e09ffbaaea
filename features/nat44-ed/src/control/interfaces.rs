// SPDX-License-Identifier: Apache-2.0
//! Roles of interfaces.

use super::{Control, State, error, source};
use crate::settings::role;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use ip_reassembly::{Side, use_ports};
use net::Interfaces;

/// The nodes of received packets, by roles; the second of each for several workers.
const INPUT: [(u8, [&str; 2]); 3] = [
    (role::INSIDE, ["nat-pre-in2out", "nat44-in2out-worker-handoff"]),
    (role::OUTSIDE, ["nat-pre-out2in", "nat44-out2in-worker-handoff"]),
    (role::INSIDE | role::OUTSIDE, ["nat44-ed-classify", "nat44-handoff-classify"]),
];
/// The nodes of packets that leave.
const OUTPUT: [&str; 2] = ["nat-pre-in2out-output", "nat44-in2out-output-worker-handoff"];

/// The node of received packets of an interface with these roles: what leaves by an interface is
/// answered there.
fn input(world: &World, roles: u8) -> Option<&'static str> {
    let mut wanted = roles & (role::INSIDE | role::OUTSIDE);
    if roles & role::OUTPUT != 0 {
        wanted = role::OUTSIDE;
    }
    let (_, names) = INPUT.iter().find(|(roles, _)| *roles == wanted)?;
    Some(names[usize::from(world.threads() > 2)])
}

/// The node of packets that leave by an interface with these roles.
fn output(world: &World, roles: u8) -> Option<&'static str> {
    (roles & role::OUTPUT != 0).then(|| OUTPUT[usize::from(world.threads() > 2)])
}

impl Control {
    /// Gives an interface a role, or takes it away: one of [`role`].
    ///
    /// # Errors
    /// The feature is disabled (−126); no such interface (−2); it has the role, or packets are
    /// translated at its other side (−81); it doesn't have the role (−6).
    pub fn set_role(&self, world: &World, sw_if: SwIfIndex, bit: u8, add: bool) -> Result<()> {
        self.enabled(world, |state| {
            world.get::<Interfaces>().check(sw_if)?;
            let name = world.get::<Interfaces>().name(sw_if);
            let old = state.roles.get(&sw_if).copied().unwrap_or(0);
            let other = if bit == role::OUTPUT { !role::OUTPUT } else { role::OUTPUT };
            match add {
                true if old & bit != 0 => {
                    let why = format!("{name} has this role already");
                    Err(error(retval::VALUE_EXIST, why))
                }
                true if old & other != 0 => {
                    let why = format!(
                        "{name} is translated either as packets are received or as they leave"
                    );
                    Err(error(retval::VALUE_EXIST, why))
                }
                false if old & bit == 0 => {
                    let why = format!("{name} doesn't have this role");
                    Err(error(retval::NO_SUCH_ENTRY, why))
                }
                _ => state.set_roles(world, sw_if, if add { old | bit } else { old & !bit }),
            }
        })
    }
}

impl State {
    /// Gives an interface these roles in place of those that it had.
    pub(super) fn set_roles(&mut self, world: &World, sw_if: SwIfIndex, new: u8) -> Result<()> {
        let old = self.roles.get(&sw_if).copied().unwrap_or(0);
        let change = |arc: &str, old: Option<&str>, new: Option<&str>| -> Result<()> {
            if old != new {
                if let Some(old) = old {
                    world.set_feature(arc, old, sw_if, false).map_err(Error::failed)?;
                }
                if let Some(new) = new {
                    world.set_feature(arc, new, sw_if, true).map_err(Error::failed)?;
                }
            }
            if old.is_some() == new.is_some() {
                return Ok(());
            }
            let side = if arc == "ip4-output" { Side::Output } else { Side::Input };
            use_ports(world, sw_if, false, side, new.is_some())
        };
        change("ip4-unicast", input(world, old), input(world, new))?;
        change("ip4-output", output(world, old), output(world, new))?;
        match new {
            0 => _ = self.roles.remove(&sw_if),
            new => _ = self.roles.insert(sw_if, new),
        }
        let leads = |bits: u8| bits & (role::OUTSIDE | role::OUTPUT) != 0;
        if leads(old) != leads(new) {
            self.exposed.expose_by((world, source(world)), sw_if, leads(new));
        }
        Ok(())
    }

    /// Forgets an interface that is being deleted.
    pub(super) fn forget_interface(&mut self, world: &World, sw_if: SwIfIndex) {
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

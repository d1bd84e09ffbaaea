// SPDX-License-Identifier: Apache-2.0
//! Roles of interfaces, and the nodes on their arcs.

use crate::error;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use ip_reassembly::{Side, use_ports};
use net::{Addresses, Interfaces};
use std::collections::BTreeMap;
use wire::Ip4;

/// Bits of roles.
pub mod role {
    /// Users are behind the interface.
    pub const INSIDE: u8 = 1;
    /// The world is behind it.
    pub const OUTSIDE: u8 = 2;
    /// Packets are translated as they leave by it.
    pub const OUTPUT: u8 = 4;
}

/// Names of a kind's nodes, each with the one for several workers.
pub struct Nodes {
    /// Of received packets, by roles.
    pub input: [(u8, [&'static str; 2]); 3],
    /// Of packets that leave.
    pub output: [&'static str; 2],
}

impl Nodes {
    /// The node of received packets of an interface with these roles: what leaves by an interface
    /// is answered there.
    fn input(&self, world: &World, roles: u8) -> Option<&'static str> {
        let mut wanted = roles & (role::INSIDE | role::OUTSIDE);
        if roles & role::OUTPUT != 0 {
            wanted = role::OUTSIDE;
        }
        let (_, names) = self.input.iter().find(|(roles, _)| *roles == wanted)?;
        Some(names[usize::from(world.threads() > 2)])
    }

    /// The node of packets that leave by an interface with these roles.
    fn output(&self, world: &World, roles: u8) -> Option<&'static str> {
        (roles & role::OUTPUT != 0).then(|| self.output[usize::from(world.threads() > 2)])
    }

    /// Puts the nodes of new roles on an interface's arcs in place of those of old ones, with the
    /// ports of fragments.
    ///
    /// # Errors
    /// An arc or a node isn't there.
    pub fn switch(&self, world: &World, sw_if: SwIfIndex, (old, new): (u8, u8)) -> Result<()> {
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
        change("ip4-unicast", self.input(world, old), self.input(world, new))?;
        change("ip4-output", self.output(world, old), self.output(world, new))
    }
}

/// Checks that an interface with roles may get those in `which`, or has them if they are taken
/// away; roles in `other` don't go with them.
///
/// # Errors
/// It has one of them, or one that doesn't go with them (−81); it has none of them (−6).
pub fn check_change(
    world: &World,
    (sw_if, old): (SwIfIndex, u8),
    (which, other): (u8, u8),
    add: bool,
) -> Result<()> {
    let name = world.get::<Interfaces>().name(sw_if);
    let (retval, why) = match add {
        true if old & which != 0 => (retval::VALUE_EXIST, "has this role already"),
        true if old & other != 0 => {
            let why = "is translated either as packets are received or as they leave";
            (retval::VALUE_EXIST, why)
        }
        false if old & which == 0 => (retval::NO_SUCH_ENTRY, "doesn't have this role"),
        _ => return Ok(()),
    };
    Err(error(retval, format!("{name} {why}")))
}

/// True for roles of an interface to the world.
pub const fn leads_outside(roles: u8) -> bool {
    roles & (role::OUTSIDE | role::OUTPUT) != 0
}

/// The roles of interfaces as workers read them: by the index of the interface.
pub fn by_interface(roles: &BTreeMap<SwIfIndex, u8>) -> Vec<u8> {
    let len = roles.keys().next_back().map_or(0, |sw_if| sw_if.at() + 1);
    let mut all = vec![0; len];
    roles.iter().for_each(|(sw_if, bits)| all[sw_if.at()] = *bits);
    all
}

/// Indices of the tables of interfaces to the world, each once, in the order of the interfaces.
pub fn outside_tables(world: &World, roles: &BTreeMap<SwIfIndex, u8>) -> Vec<u32> {
    let addresses = world.get::<Addresses<Ip4>>();
    let mut tables = Vec::new();
    for (sw_if, _) in roles.iter().filter(|(_, bits)| leads_outside(**bits)) {
        let index = addresses.table_of(*sw_if).map_or(0, |index| index.0);
        if !tables.contains(&index) {
            tables.push(index);
        }
    }
    tables
}

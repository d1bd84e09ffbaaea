// SPDX-License-Identifier: Apache-2.0
//! Addresses of leases, and names of prefix groups.

use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use net::{Addresses, Interfaces};
use wire::{Ip6, Ip6Prefix};

/// Bytes of a group's name at most, as the API has them.
const LONGEST: usize = 63;

/// Adds an address that isn't part of the configuration, or removes it. Returns false if it can't
/// be added.
pub fn set_address(world: &World, sw_if: SwIfIndex, address: Ip6Prefix, on: bool) -> bool {
    let addresses = world.get::<Addresses<Ip6>>();
    if !on {
        // An operator may have removed it already, or configured it.
        if addresses.is_learned(sw_if, address) {
            let _ = addresses.remove(world, sw_if, address);
        }
        return true;
    }
    let added = addresses.add_learned(world, sw_if, address);
    if let Err(why) = &added {
        let name = world.get::<Interfaces>().name(sw_if);
        log::warn!("DHCPv6: {name} was given {address}, but: {why}");
    }
    added.is_ok()
}

/// Checks the name of a prefix group.
///
/// # Errors
/// A name that is empty or too long (−7).
pub fn check_group(group: &str) -> Result<()> {
    if group.is_empty() || group.len() > LONGEST {
        let why = format!("the name of a prefix group has 1 to {LONGEST} bytes");
        return Err(Error::parse(why).retval(retval::INVALID_VALUE));
    }
    Ok(())
}

// SPDX-License-Identifier: Apache-2.0
//! Members as interfaces that a bond owns: their MAC address and promiscuous mode are the bond's.

use crate::state::Bonds;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use net::{Column, FrameTakers, Interface, Interfaces, OwnUse, Owner, Promiscuous};

/// The part that bonds play for the interfaces that they own: their members.
pub const OWNER: Owner = Owner { check, receives_all };

/// A member can't be used by itself (−80).
fn check(world: &World, interface: &Interface, wanted: OwnUse) -> Result<()> {
    let Some(bond) = world.get::<Bonds>().bond_of(interface.sw_if) else { return Ok(()) };
    let why = match wanted {
        OwnUse::Mac => "it has the bond's address; set that",
        OwnUse::Sub | OwnUse::Switching => "its frames are the bond's",
    };
    let bond = world.get::<Interfaces>().name(bond);
    Err(Error::failed(format!("{} is a member of {bond}: {why}", interface.name))
        .retval(retval::BOND_MEMBER_NOT_ALLOWED))
}

/// Returns true if the interface is a member of a bond that receives frames for all MAC addresses.
fn receives_all(world: &World, interface: &Interface) -> bool {
    let interfaces = world.get::<Interfaces>();
    let bond = world.get::<Bonds>().bond_of(interface.sw_if);
    let bond = bond.and_then(|bond| interfaces.get(bond).ok());
    bond.is_some_and(|bond| interfaces.receives_all(world, &bond, None))
}

/// Makes a member's device promiscuous if its bond is, or if the member itself has to be.
pub fn follow_promiscuous(world: &World, sw_if: SwIfIndex, bond: bool) -> Result<()> {
    let interface = world.get::<Interfaces>().get(sw_if)?;
    // A member is no layer-2 port.
    let all = bond
        || world.get::<Column<Promiscuous>>().get(sw_if).0
        || !world.get::<Column<FrameTakers>>().get(sw_if).0.is_empty();
    interface.device.set_promiscuous(world, all)
}

/// Gives an interface its own MAC address again after it was a member, and lets its device receive
/// what it needs by itself. Does nothing if it has its own address.
pub fn give_back(world: &World, sw_if: SwIfIndex) -> Result<()> {
    let interfaces = world.get::<Interfaces>();
    if interfaces.get(sw_if)?.kept_mac.is_none() {
        return Ok(());
    }
    let returned = interfaces.return_mac(world, sw_if);
    returned.and(follow_promiscuous(world, sw_if, false))
}

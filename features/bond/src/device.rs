// SPDX-License-Identifier: Apache-2.0
//! The device of a bond: what is set for the bond is set for its members.

use crate::owned::follow_promiscuous;
use crate::state::Bonds;
use cli::Error;
use graph::{SwIfIndex, World};
use net::{Device, Interface, Interfaces, MtuKind};
use std::sync::OnceLock;
use wire::MacAddr;

#[derive(Default)]
pub struct BondDevice {
    /// Known once the interface is there.
    pub sw_if: OnceLock<SwIfIndex>,
}

impl BondDevice {
    fn members(&self, world: &World) -> Vec<SwIfIndex> {
        let bond = self.sw_if.get().and_then(|sw_if| world.get::<Bonds>().get(*sw_if));
        bond.into_iter().flat_map(|bond| bond.members).map(|member| member.sw_if).collect()
    }

    /// Sets a property of all members, or of none: if one refuses, all have their old values again.
    fn set_all<T: Copy>(
        &self,
        world: &World,
        new: T,
        old: impl Fn(&Interface) -> T,
        set: impl Fn(&Interfaces, SwIfIndex, T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let interfaces = world.get::<Interfaces>();
        let mut changed = Vec::new();
        for member in self.members(world) {
            changed.push((member, old(&interfaces.get(member)?)));
            if let Err(error) = set(&interfaces, member, new) {
                changed.into_iter().for_each(|(member, old)| _ = set(&interfaces, member, old));
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Sets the MTU of a member's device, which isn't kept as an MTU that the operator chose for the
/// member.
pub fn set_member_mtu(
    world: &World,
    interfaces: &Interfaces,
    sw_if: SwIfIndex,
    mtu: u16,
) -> Result<(), Error> {
    let member = interfaces.get(sw_if)?;
    if member.mtu_of(MtuKind::Link) == mtu {
        return Ok(());
    }
    member.device.set_mtu(world, mtu)?;
    interfaces.note_mtu(world, sw_if, mtu)
}

impl Device for BondDevice {
    fn driver(&self) -> &'static str {
        "bond"
    }

    fn set_mac(&self, world: &World, mac: MacAddr) -> Result<(), Error> {
        let set = |interfaces: &Interfaces, member, mac| interfaces.lend_mac(world, member, mac);
        self.set_all(world, mac, |member| member.mac, set)
    }

    fn set_mtu(&self, world: &World, mtu: u16) -> Result<(), Error> {
        let set =
            |interfaces: &Interfaces, member, mtu| set_member_mtu(world, interfaces, member, mtu);
        self.set_all(world, mtu, |member| member.mtu_of(MtuKind::Link), set)
    }

    fn set_promiscuous(&self, world: &World, on: bool) -> Result<(), Error> {
        let follow = |member| follow_promiscuous(world, member, on);
        self.members(world).into_iter().try_for_each(follow)
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The device of a bond: what is set for the bond is set for its members.

use crate::state::Bonds;
use cli::Error;
use graph::{SwIfIndex, World};
use net::{Device, Interfaces, MtuKind};
use std::sync::OnceLock;
use wire::MacAddr;

#[derive(Default)]
pub struct BondDevice {
    /// Known once the interface is there.
    pub sw_if: OnceLock<SwIfIndex>,
}

impl BondDevice {
    fn each(
        &self,
        world: &World,
        set: impl Fn(&Interfaces, SwIfIndex) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let bond = self.sw_if.get().and_then(|sw_if| world.get::<Bonds>().get(*sw_if));
        let interfaces = world.get::<Interfaces>();
        bond.iter().flat_map(|bond| &bond.members).try_for_each(|member| set(&interfaces, member.sw_if))
    }
}

/// Sets the MTU of a member's device without taking it for the operator's choice.
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
        self.each(world, |interfaces, member| interfaces.set_member_mac(world, member, mac))
    }

    fn set_mtu(&self, world: &World, mtu: u16) -> Result<(), Error> {
        self.each(world, |interfaces, member| set_member_mtu(world, interfaces, member, mtu))
    }

    fn set_promiscuous(&self, world: &World, on: bool) -> Result<(), Error> {
        self.each(world, |interfaces, member| interfaces.follow_promiscuous(world, member, on))
    }
}

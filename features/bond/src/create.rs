// SPDX-License-Identifier: Apache-2.0
//! Creation and deletion of bonds.

use crate::device::BondDevice;
use crate::model::{Mode, NewBond};
use crate::state::{Bond, Bonds};
use crate::tx::BondTx;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use net::{IfKind, Interfaces, NewInterface};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};
use wire::MacAddr;

/// The MTU of a bond without members.
pub const MTU: u16 = 9000;

/// The name of a bond.
pub fn name(id: u32) -> String {
    format!("BondEthernet{id}")
}

/// The MAC address of a bond that was given none and never had a member. It differs at each start
/// of the program, since it is no device's, and a bond that is deleted and created again has the
/// same one.
pub fn random_mac(id: u32) -> MacAddr {
    static SEED: OnceLock<RandomState> = OnceLock::new();
    MacAddr::local(SEED.get_or_init(RandomState::new).hash_one(id))
}

impl Bonds {
    /// Makes `BondEthernetN`. It starts admin down.
    ///
    /// # Errors
    /// A number that is taken (−147); an address that isn't one host's (−7); mode `lacp` while no
    /// feature runs LACP (−30).
    pub fn create(&self, world: &World, new: NewBond) -> Result<SwIfIndex> {
        if let Some(mac) = new.mac.filter(|mac| mac.is_multicast() || mac.is_zero()) {
            return Err(Error::parse(wire::not_one_station(mac)).retval(retval::INVALID_VALUE));
        }
        if new.mode == Mode::Lacp && self.lacp.get().is_none() {
            return Err(Error::unsupported("LACP is not part of this instance (plugin lacp)")
                .retval(retval::FEATURE_DISABLED));
        }
        let id = {
            let mut control = self.control();
            let id = new.id.unwrap_or_else(|| control.free_id());
            if !control.ids.insert(id) {
                return Err(Error::failed(format!("there is a {} already", name(id)))
                    .retval(retval::INSTANCE_IN_USE));
            }
            id
        };
        let device = Arc::new(BondDevice::default());
        let interface = NewInterface {
            name: name(id),
            kind: IfKind::Ethernet,
            device: device.clone(),
            mac: new.mac.unwrap_or_else(|| random_mac(id)),
            mtu: MTU,
            link_up: false,
        };
        let made = world.get::<Interfaces>().create(world, interface, BondTx::new);
        let sw_if = made.inspect_err(|_| _ = self.control().ids.remove(&id))?;
        _ = device.sw_if.set(sw_if);
        let bond = Bond { id, made: new, members: Vec::new(), active: Vec::new(), current: None };
        self.control().bonds.insert(sw_if, bond);
        self.settle(world, sw_if);
        Ok(sw_if)
    }

    /// Deletes a bond. Its members are interfaces of their own again.
    ///
    /// # Errors
    /// An interface that isn't there or is no bond (−2).
    pub fn delete(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let interfaces = world.get::<Interfaces>();
        interfaces.check(sw_if)?;
        if self.get(sw_if).is_none() {
            return Err(Error::failed(format!("{} is no bond", interfaces.name(sw_if)))
                .retval(retval::INVALID_SW_IF_INDEX));
        }
        interfaces.delete(world, sw_if)
    }

    /// Removes an interface that is being deleted: a member from its bond, or a bond.
    pub(crate) fn forget_interface(&self, world: &World, sw_if: SwIfIndex) {
        // A device that is going away may refuse its own address.
        _ = self.detach(world, sw_if);
        let bond = {
            let mut control = self.control();
            control.unannounced.remove(&sw_if);
            let Some(bond) = control.bonds.remove(&sw_if) else { return };
            control.ids.remove(&bond.id);
            bond.members.iter().for_each(|member| _ = control.members.remove(member));
            bond
        };
        self.views.clear(sw_if.0);
        for member in bond.members {
            if let Err(error) = self.release(world, bond.made.mode, member) {
                log::warn!("{}: {error}", world.get::<Interfaces>().name(member));
            }
        }
    }
}

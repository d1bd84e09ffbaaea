// SPDX-License-Identifier: Apache-2.0
//! Members of bonds: interfaces whose frames belong to the bond. The feature for bonds calls these
//! functions.

use super::{Interface, Interfaces, Membership};
use crate::event::IfEvent;
use cli::Error;
use graph::{SwIfIndex, World};
use msg::retval;
use wire::MacAddr;

impl Interfaces {
    /// Checks that an interface is no member of a bond. `why` is the reason in the error.
    ///
    /// # Errors
    /// No such interface (−2); a member (−80).
    pub(super) fn check_no_member(&self, sw_if: SwIfIndex, why: &str) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        match interface.bond {
            None => Ok(()),
            Some(membership) => {
                let bond = self.name(membership.bond);
                Err(Error::failed(format!("{} is a member of {bond}: {why}", interface.name))
                    .retval(retval::BOND_MEMBER_NOT_ALLOWED))
            }
        }
    }

    /// Makes an interface a member of a bond. It gets the bond's MAC address, and is promiscuous if
    /// the bond is.
    ///
    /// # Errors
    /// No such interface (−2); the device's error.
    pub fn join_bond(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        bond: &Interface,
    ) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        interface.device.set_mac(world, bond.mac)?;
        let membership = Membership { bond: bond.sw_if, mac: interface.mac };
        self.change(world, sw_if, IfEvent::Mac(sw_if), |i| {
            (i.bond, i.mac) = (Some(membership), bond.mac)
        })?;
        self.follow_promiscuous(
            world,
            sw_if,
            bond.promiscuous || self.features_need_all(bond, None),
        )
    }

    /// Ends a membership: the interface has its own MAC address again. Does nothing for an
    /// interface that is no member.
    ///
    /// # Errors
    /// No such interface (−2); the device's error, after the membership has ended.
    pub fn leave_bond(&self, world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        let Some(Membership { mac, .. }) = interface.bond else { return Ok(()) };
        let set = interface.device.set_mac(world, mac);
        self.change(world, sw_if, IfEvent::Mac(sw_if), |i| (i.bond, i.mac) = (None, mac))?;
        set.and(self.follow_promiscuous(world, sw_if, false))
    }

    /// Gives a member the new MAC address of its bond.
    ///
    /// # Errors
    /// No such interface (−2); the device's error.
    pub fn set_member_mac(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        mac: MacAddr,
    ) -> Result<(), Error> {
        self.get(sw_if)?.device.set_mac(world, mac)?;
        self.change(world, sw_if, IfEvent::Mac(sw_if), |i| i.mac = mac)
    }

    /// Makes a member's device promiscuous if its bond is, or if the member itself has to be.
    ///
    /// # Errors
    /// No such interface (−2); the device's error.
    pub fn follow_promiscuous(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        bond: bool,
    ) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        // A member is no layer-2 port.
        let all = bond || interface.promiscuous || !interface.taken_by.is_empty();
        interface.device.set_promiscuous(world, all)
    }

    /// Returns true if the interface is a member of a bond that receives frames for all MAC
    /// addresses.
    pub(super) fn bond_receives_all(&self, interface: &Interface) -> bool {
        let bond = interface.bond.and_then(|membership| self.get(membership.bond).ok());
        bond.is_some_and(|bond| bond.promiscuous || self.features_need_all(&bond, None))
    }
}

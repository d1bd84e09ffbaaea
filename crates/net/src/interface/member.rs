// SPDX-License-Identifier: Apache-2.0
//! Members of bonds: interfaces whose frames belong to another one. The feature that makes bonds calls this.

use super::{Interface, Interfaces, Membership};
use crate::event::IfEvent;
use cli::Error;
use graph::{SwIfIndex, World};
use msg::retval;
use wire::MacAddr;

impl Interfaces {
    /// Checks that an interface is no member of a bond; `why` says what a member can't have.
    ///
    /// # Errors
    /// One that isn't there (−2); a member (−80).
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

    /// Makes an interface a member of a bond. It gets the bond's MAC address, and receives frames for whatever address if the bond does.
    ///
    /// # Errors
    /// One that isn't there (−2); what the device says.
    pub fn join_bond(&self, world: &World, sw_if: SwIfIndex, bond: &Interface) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        interface.device.set_mac(world, bond.mac)?;
        let membership = Membership { bond: bond.sw_if, mac: interface.mac };
        self.change(world, sw_if, IfEvent::Mac(sw_if), |i| (i.bond, i.mac) = (Some(membership), bond.mac))?;
        self.follow_promiscuous(world, sw_if, bond.promiscuous || self.features_need_all(bond, None))
    }

    /// Ends a membership: the interface has its own MAC address again. Does nothing for an interface that is no member.
    ///
    /// # Errors
    /// One that isn't there (−2); what the device says, after the membership has ended.
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
    /// One that isn't there (−2); what the device says.
    pub fn set_member_mac(&self, world: &World, sw_if: SwIfIndex, mac: MacAddr) -> Result<(), Error> {
        self.get(sw_if)?.device.set_mac(world, mac)?;
        self.change(world, sw_if, IfEvent::Mac(sw_if), |i| i.mac = mac)
    }

    /// Lets a member's device receive frames for whatever MAC address if its bond does, or if the member does itself.
    ///
    /// # Errors
    /// One that isn't there (−2); what the device says.
    pub fn follow_promiscuous(&self, world: &World, sw_if: SwIfIndex, bond: bool) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        // A member is no layer-2 port.
        let all = bond || interface.promiscuous || interface.patched;
        interface.device.set_promiscuous(world, all)
    }

    /// Whether an interface is a member of a bond that receives frames for whatever MAC address.
    pub(super) fn bond_receives_all(&self, interface: &Interface) -> bool {
        let bond = interface.bond.and_then(|membership| self.get(membership.bond).ok());
        bond.is_some_and(|bond| bond.promiscuous || self.features_need_all(&bond, None))
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Interfaces that belong to another one, such as the members of a bond. The feature that makes
//! them so decides what they can be used for.

use super::{Interface, Interfaces};
use crate::event::IfEvent;
use cli::Error;
use graph::{SwIfIndex, World};
use wire::MacAddr;

/// A use of an interface by itself, which the feature that owns it may refuse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnUse {
    /// It gets another MAC address.
    Mac,
    /// It gets a sub-interface.
    Sub,
    /// It gets a role in layer-2 switching.
    Switching,
}

/// A feature whose interfaces own others.
#[derive(Clone, Copy)]
pub struct Owner {
    /// Returns an error if the interface is owned and can't be used so.
    pub check: fn(&World, &Interface, OwnUse) -> Result<(), Error>,
    /// Returns true if the interface is owned and its owner receives frames for all MAC addresses.
    pub receives_all: fn(&World, &Interface) -> bool,
}

impl Interfaces {
    /// Registers a feature that owns interfaces.
    pub fn register_owner(&self, owner: Owner) {
        self.inner().owners.push(owner);
    }

    fn owners(&self) -> Vec<Owner> {
        self.inner().owners.clone()
    }

    /// Checks that no feature that owns the interface refuses a use of it.
    ///
    /// # Errors
    /// The feature's error.
    pub(super) fn check_own_use(
        &self,
        world: &World,
        interface: &Interface,
        wanted: OwnUse,
    ) -> Result<(), Error> {
        self.owners().iter().try_for_each(|owner| (owner.check)(world, interface, wanted))
    }

    /// Returns true if the interface is owned and its owner receives frames for all MAC addresses.
    pub(super) fn owner_receives_all(&self, world: &World, interface: &Interface) -> bool {
        self.owners().iter().any(|owner| (owner.receives_all)(world, interface))
    }

    /// Gives an interface the MAC address of its owner. Its own one is kept until
    /// [`Self::return_mac`].
    ///
    /// # Errors
    /// No such interface (−2); the device's error.
    pub fn lend_mac(&self, world: &World, sw_if: SwIfIndex, mac: MacAddr) -> Result<(), Error> {
        self.get(sw_if)?.device.set_mac(world, mac)?;
        self.change(world, sw_if, IfEvent::Mac(sw_if), |i| {
            i.kept_mac.get_or_insert(i.mac);
            i.mac = mac;
        })
    }

    /// Gives an interface its own MAC address again, if it has its owner's.
    ///
    /// # Errors
    /// No such interface (−2); the device's error, after the address has changed.
    pub fn return_mac(&self, world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        let Some(mac) = interface.kept_mac else { return Ok(()) };
        let set = interface.device.set_mac(world, mac);
        self.change(world, sw_if, IfEvent::Mac(sw_if), |i| (i.mac, i.kept_mac) = (mac, None))?;
        set
    }
}

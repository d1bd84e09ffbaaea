// SPDX-License-Identifier: Apache-2.0
//! Interfaces that receive frames for all MAC addresses, and why.

use super::{Column, IfKind, Interface, Interfaces, L2Role, Property};
use crate::event::IfEvent;
use crate::view::{IfFlags, IfView};
use cli::Error;
use graph::{SwIfIndex, World};
use msg::retval;
use std::collections::BTreeSet;

/// True if promiscuous mode is configured: the interface receives frames for all MAC addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Promiscuous(pub bool);

impl Property for Promiscuous {
    fn show(&self, _: &Interface, _: IfFlags, view: &mut IfView) {
        view.flags.set(IfFlags::PROMISCUOUS, self.0);
    }
}

/// Names of the features that take all frames of an interface before other processing, whatever
/// their MAC address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FrameTakers(pub BTreeSet<&'static str>);

impl Property for FrameTakers {}

impl Interfaces {
    /// Turns promiscuous mode on or off: frames for other MAC addresses are received. For a
    /// sub-interface this sets the parent.
    ///
    /// # Errors
    /// One that isn't there, or has no MAC address (−7); the device's error.
    pub fn set_promiscuous(&self, world: &World, sw_if: SwIfIndex, on: bool) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        if interface.sub.is_some() {
            return self.set_promiscuous(world, interface.parent, on);
        }
        if interface.kind != IfKind::Ethernet {
            return Err(Error::unsupported(format!(
                "{} carries no Ethernet frames",
                interface.name
            ))
            .retval(retval::INVALID_VALUE));
        }
        let all = on || self.features_need_all(world, &interface, None);
        interface.device.set_promiscuous(world, all)?;
        world.get::<Column<Promiscuous>>().set(world, sw_if, Promiscuous(on))?;
        // Features announce the interface again, as after a change of its address.
        self.notify(world, IfEvent::Mac(sw_if));
        Ok(())
    }

    /// Sets whether a feature takes all frames of a device, which then receives frames for all MAC
    /// addresses, as long as any feature does.
    ///
    /// # Errors
    /// One that isn't there (−2); the device's error.
    pub fn set_taken(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        feature: &'static str,
        on: bool,
    ) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        let column = world.get::<Column<FrameTakers>>();
        let mut takers = column.get(sw_if);
        if on {
            takers.0.insert(feature)
        } else {
            takers.0.remove(feature)
        };
        let all = world.get::<Column<Promiscuous>>().get(sw_if).0
            || !takers.0.is_empty()
            || self.others_need_all(world, &interface, None);
        interface.device.set_promiscuous(world, all)?;
        column.set(world, sw_if, takers)?;
        // Features announce the interface again, as after a change of its address.
        self.notify(world, IfEvent::Mac(sw_if));
        Ok(())
    }

    /// Returns true if a device receives frames for all MAC addresses: it is promiscuous, or
    /// features need these frames, even without its sub-interface `but`.
    pub fn receives_all(&self, world: &World, device: &Interface, but: Option<SwIfIndex>) -> bool {
        world.get::<Column<Promiscuous>>().get(device.sw_if).0
            || self.features_need_all(world, device, but)
    }

    /// Returns true if features need frames for all MAC addresses: they take a device's, or as in
    /// [`Self::others_need_all`].
    fn features_need_all(&self, world: &World, device: &Interface, but: Option<SwIfIndex>) -> bool {
        !world.get::<Column<FrameTakers>>().get(device.sw_if).0.is_empty()
            || self.others_need_all(world, device, but)
    }

    /// Returns true if a device or one of its sub-interfaces, except `but`, is a layer-2 port or
    /// leads to one peer, or if its owner receives frames for all MAC addresses.
    fn others_need_all(&self, world: &World, device: &Interface, but: Option<SwIfIndex>) -> bool {
        self.has_ports(world, device.sw_if, but) || self.owner_receives_all(world, device)
    }

    /// Returns true if a device or one of its sub-interfaces, except `but`, is a layer-2 port, or
    /// leads to one peer.
    fn has_ports(&self, world: &World, device: SwIfIndex, but: Option<SwIfIndex>) -> bool {
        let roles = world.get::<Column<L2Role>>();
        let inner = self.inner();
        let subs = inner.subs.get(&device).into_iter().flat_map(|subs| subs.values());
        let mut all = subs.chain([&device]).filter(|sw_if| Some(**sw_if) != but);
        all.any(|sw_if| {
            let interface = inner.all.get(sw_if.at()).and_then(Option::as_ref);
            roles.get(*sw_if) == L2Role::Port || interface.is_some_and(|i| i.peer().is_some())
        })
    }
}

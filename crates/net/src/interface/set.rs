// SPDX-License-Identifier: Apache-2.0
//! Operations that change the settings and state of an interface.

use super::{Implied, Interface, Interfaces, MtuKind, OwnUse, no_interface};
use crate::device::Device;
use crate::event::IfEvent;
use cli::Error;
use graph::{SwIfIndex, World};
use msg::retval;
use std::sync::Arc;
use wire::MacAddr;

impl Interfaces {
    pub(super) fn change(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        event: IfEvent,
        f: impl FnOnce(&mut Interface),
    ) -> Result<(), Error> {
        {
            let mut inner = self.inner();
            let slot = inner.all.get_mut(sw_if.at()).and_then(Option::as_mut);
            let interface = slot.ok_or_else(|| no_interface(sw_if))?;
            f(interface);
            self.publish(&inner, sw_if);
        }
        self.notify(world, event);
        match event {
            IfEvent::Admin(..) | IfEvent::Link(..) | IfEvent::Mac(_) | IfEvent::Mtu(_) => {
                self.lead_subs(world, sw_if)
            }
            _ => Ok(()),
        }
    }

    /// Sets the admin state of an interface, up or down. The link of a sub-interface is down as
    /// long as its parent is.
    ///
    /// # Errors
    /// One that isn't there; the device's error.
    pub fn set_admin(&self, world: &World, sw_if: SwIfIndex, up: bool) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        if interface.admin_up == up {
            return Ok(());
        }
        if interface.sub.is_none() {
            interface.device.set_admin(world, sw_if, up)?;
        } else if up && world.compat_vpp() && !world.is_restoring() {
            // A saved configuration may have this state, since the parent may go down later.
            let parent = self.get(interface.parent)?;
            if !parent.admin_up {
                let why = format!("{} is down: set it up before {}", parent.name, interface.name);
                return Err(Error::failed(why).retval(retval::UNSPECIFIED));
            }
        }
        self.change(world, sw_if, IfEvent::Admin(sw_if, up), |i| i.admin_up = up)
    }

    /// The device of an interface whose property `what` is to be changed. A sub-interface has its
    /// parent's property: an error (−7).
    fn device(&self, sw_if: SwIfIndex, what: &str) -> Result<Arc<dyn Device>, Error> {
        let interface = self.get(sw_if)?;
        if interface.sub.is_none() {
            return Ok(interface.device);
        }
        let parent = self.name(interface.parent);
        let why = format!("{} has {what} of {parent}; set that", interface.name);
        Err(Error::unsupported(why).retval(retval::INVALID_VALUE))
    }

    /// Reports that the frames of an interface leave by another link than before.
    pub fn report_move(&self, world: &World, sw_if: SwIfIndex) {
        self.notify(world, IfEvent::Moved(sw_if));
    }

    /// Sets the link state, up or down. Drivers call it.
    ///
    /// # Errors
    /// One that isn't there.
    pub fn set_link(&self, world: &World, sw_if: SwIfIndex, up: bool) -> Result<(), Error> {
        if self.get(sw_if)?.link_up == up {
            return Ok(());
        }
        self.change(world, sw_if, IfEvent::Link(sw_if, up), |i| i.link_up = up)
    }

    /// Changes the MAC address.
    ///
    /// # Errors
    /// One that isn't there; a group address; a sub-interface, which has its parent's (−7); an
    /// interface that another one owns, as its owner decides; the device's error.
    pub fn set_mac(&self, world: &World, sw_if: SwIfIndex, mac: MacAddr) -> Result<(), Error> {
        if mac.is_multicast() || mac == MacAddr::ZERO {
            return Err(Error::parse(wire::not_one_station(mac)).retval(retval::INVALID_VALUE));
        }
        self.give_mac(world, sw_if, mac)
    }

    /// Changes the MAC address back to the one that the interface was made with. It may be zero.
    ///
    /// # Errors
    /// As [`Self::set_mac`].
    pub fn reset_mac(&self, world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
        self.give_mac(world, sw_if, self.get(sw_if)?.original.mac)
    }

    fn give_mac(&self, world: &World, sw_if: SwIfIndex, mac: MacAddr) -> Result<(), Error> {
        let device = self.device(sw_if, "the address")?;
        self.check_own_use(world, &self.get(sw_if)?, OwnUse::Mac)?;
        device.set_mac(world, mac)?;
        self.change(world, sw_if, IfEvent::Mac(sw_if), |i| i.mac = mac)
    }

    /// Changes an MTU, in bytes; 0 unsets it: a protocol has no MTU of its own then, the link has
    /// the one that it was made with.
    ///
    /// # Errors
    /// One that isn't there; below 68 (RFC 791 3.2) or 1280 for IPv6 (RFC 8200 5); the link's of a
    /// sub-interface (−7); the device's error.
    pub fn set_mtu(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        kind: MtuKind,
        mtu: u16,
    ) -> Result<(), Error> {
        let interface = self.get(sw_if)?;
        let least = match kind {
            MtuKind::Ip6 => 1280,
            _ => 68,
        };
        if mtu < least && mtu != 0 {
            return Err(Error::parse(format!("an MTU of {mtu} is too small: at least {least}"))
                .retval(retval::INVALID_VALUE));
        }
        if kind != MtuKind::Link {
            return self
                .change(world, sw_if, IfEvent::Mtu(sw_if), |i| i.mtu.own[kind as usize] = mtu);
        }
        let link = if mtu == 0 { interface.original.mtu } else { mtu };
        self.device(sw_if, "the link's MTU")?.set_mtu(world, link)?;
        self.change(world, sw_if, IfEvent::Mtu(sw_if), |i| {
            i.mtu.own[0] = link;
            i.mtu.configured = (mtu != 0).then_some(mtu);
        })
    }

    /// Limits IP packets to what is below the interface carries; `None` for no limit. The
    /// configuration stays as it is.
    ///
    /// # Errors
    /// One that isn't there.
    pub fn limit_mtu(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        limit: Option<u16>,
    ) -> Result<(), Error> {
        self.change(world, sw_if, IfEvent::Mtu(sw_if), |i| i.mtu.limit = limit)
    }

    /// Records a new MTU of the link, in bytes. Drivers call it when the device changed by itself.
    ///
    /// # Errors
    /// One that isn't there.
    pub fn note_mtu(&self, world: &World, sw_if: SwIfIndex, mtu: u16) -> Result<(), Error> {
        self.change(world, sw_if, IfEvent::Mtu(sw_if), |i| i.mtu.own[0] = mtu)
    }

    /// Records the MAC address and the MTU that the interface would be made with now, and applies
    /// them unless others are configured. Drivers call it for an interface that was made before
    /// its device was there.
    ///
    /// # Errors
    /// One that isn't there.
    pub fn note_made(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        mac: MacAddr,
        mtu: u16,
    ) -> Result<(), Error> {
        let chosen = self.get(sw_if)?.mtu.configured.is_some();
        self.change(world, sw_if, IfEvent::Mac(sw_if), |i| {
            // An interface that has its owner's address goes on with that, and has the new one
            // afterwards.
            let own = i.kept_mac.as_mut().unwrap_or(&mut i.mac);
            if *own == i.original.mac {
                *own = mac;
            }
            (i.original.mac, i.original.mtu) = (mac, mtu);
        })?;
        if chosen { Ok(()) } else { self.note_mtu(world, sw_if, mtu) }
    }

    /// Records what the line that makes the interface gives it besides.
    ///
    /// # Errors
    /// One that isn't there.
    pub(crate) fn note_implied(&self, sw_if: SwIfIndex, implied: Implied) -> Result<(), Error> {
        let mut inner = self.inner();
        let slot = inner.all.get_mut(sw_if.at()).and_then(Option::as_mut);
        slot.ok_or_else(|| no_interface(sw_if))?.original.implied = implied;
        Ok(())
    }

    /// Renames an interface and its sub-interfaces, with their output and transmit nodes. Nodes
    /// that several interfaces share keep their names.
    ///
    /// # Errors
    /// One that isn't there; a name that is taken or can't be typed, or of which a node is named
    /// already; a sub-interface, whose name is its parent's (−7).
    pub fn set_name(&self, world: &World, sw_if: SwIfIndex, name: &str) -> Result<(), Error> {
        if name.is_empty() || name.len() > 63 || name.contains(char::is_whitespace) {
            return Err(Error::parse("a name has 1 to 63 characters and no space")
                .retval(retval::INVALID_VALUE));
        }
        self.device(sw_if, "the name")?;
        let mut new = vec![(sw_if, name.to_string())];
        let nodes = {
            let mut inner = self.inner();
            let subs = inner.subs.get(&sw_if).into_iter().flatten();
            new.extend(subs.map(|(id, sub)| (*sub, format!("{name}.{id}"))));
            if let Some((_, taken)) = new.iter().find(|(_, name)| inner.names.contains_key(name)) {
                return Err(Error::failed(format!("there is an interface {taken} already"))
                    .retval(retval::IF_ALREADY_EXISTS));
            }
            let interface = |sw_if: SwIfIndex| inner.all.get(sw_if.at()).and_then(Option::as_ref);
            let nodes = new.iter().filter_map(|(sw_if, name)| Some((interface(*sw_if)?, name)));
            let nodes: Vec<_> = nodes.flat_map(|(interface, name)| interface.nodes(name)).collect();
            if let Some((_, taken)) = nodes.iter().find(|(_, name)| world.node(name).is_some()) {
                return Err(Error::failed(format!("there is a node {taken} already"))
                    .retval(retval::IF_ALREADY_EXISTS));
            }
            for (sw_if, name) in &new {
                let old =
                    inner.all.get(sw_if.at()).and_then(Option::as_ref).map(|i| i.name.clone());
                inner.names.remove(&old.ok_or_else(|| no_interface(*sw_if))?);
                inner.names.insert(name.clone(), *sw_if);
            }
            nodes
        };
        nodes.iter().try_for_each(|(node, name)| world.rename_node(*node, name))?;
        for (sw_if, name) in new {
            self.counters.list(world, sw_if, &self.get(sw_if)?.name, &name);
            self.change(world, sw_if, IfEvent::Name(sw_if), |i| i.name = name)?;
        }
        Ok(())
    }
}

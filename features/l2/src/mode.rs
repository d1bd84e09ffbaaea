// SPDX-License-Identifier: Apache-2.0
//! Modes of interfaces: routed, bridged, cross-connected.

use crate::bridge::{Bridge, Control};
use crate::domain::{DomainConfig, check_id};
use crate::features::Features;
use crate::state::{BVI, FILTER, NO_DOMAIN, PROVISIONED, Port, Role, STATIC};
use crate::storm::Rates;
use crate::vtr;
use cli::{Error, Result, retval};
use ethernet::is_loopback;
use graph::{SwIfIndex, World};
use net::{BackboneRewrite, Column, IfEvent, Interfaces, L2Role, SuperPaths};
use std::sync::atomic::AtomicU32;
use tables::mac::{MacEntry, MacKey};

/// The role of a member in its domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PortKind {
    /// A port.
    #[default]
    Normal,
    /// The routed interface of the domain: a loopback interface.
    Bvi,
    /// The port that unicast to unknown destinations goes to.
    UuFwd,
}

/// The layer-2 mode of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// A member of a bridge domain.
    Bridge {
        /// The domain's id.
        id: u32,
        /// Its role in the domain.
        kind: PortKind,
        /// Its split-horizon group, 0 for none.
        shg: u8,
        /// Features of received frames.
        features: Features,
    },
    /// Received frames go to another interface.
    Xconnect(SwIfIndex),
}

impl Mode {
    /// A member of a domain with all features of its kind.
    pub fn bridge(id: u32, kind: PortKind, shg: u8) -> Self {
        let without = match kind {
            PortKind::Normal => Features::empty(),
            // Its address is a static entry, and others behind it are routed.
            PortKind::Bvi => Features::LEARN,
            // Frames don't go back there.
            PortKind::UuFwd => Features::UU_FWD | Features::ARP_UFWD,
        };
        Self::Bridge { id, kind, shg, features: Features::SWITCHED - without }
    }

    fn role(self) -> L2Role {
        match self {
            Self::Bridge { kind: PortKind::Bvi, .. } => L2Role::Bvi,
            _ => L2Role::Port,
        }
    }
}

impl Control {
    /// Returns the generation number of a port.
    pub fn port_generation(&self, sw_if: SwIfIndex) -> u8 {
        self.port_generations.get(sw_if.at()).copied().unwrap_or_default()
    }

    /// Makes the addresses learned on a port stale.
    pub fn flush_port(&mut self, sw_if: SwIfIndex) {
        if self.port_generations.len() <= sw_if.at() {
            self.port_generations.resize(sw_if.at() + 1, 0);
        }
        self.port_generations[sw_if.at()] = self.port_generations[sw_if.at()].wrapping_add(1);
        self.flushes += 1;
    }

    /// Makes the addresses learned in the domain with an index stale.
    pub fn flush_index(&mut self, index: u16) {
        if let Some(generation) = self.domain_generations.get_mut(usize::from(index)) {
            *generation = generation.wrapping_add(1);
        }
        self.flushes += 1;
    }

    /// The index of a domain.
    pub fn index(&self, id: u32) -> Option<u16> {
        if id == 0 { Some(0) } else { self.domains.get(&id).map(|domain| domain.index) }
    }
}

/// The entry of a BVI's address.
fn bvi_entry(sw_if: SwIfIndex) -> MacEntry {
    MacEntry { port: sw_if.0, flags: STATIC | BVI | PROVISIONED, ..MacEntry::default() }
}

impl Bridge {
    /// Publishes a port to workers.
    pub(crate) fn publish_port(&self, world: &World, control: &Control, sw_if: SwIfIndex) {
        if self.learned_at.read(sw_if.0, |at_port| at_port.is_none()) {
            self.learned_at.set(sw_if.0, AtomicU32::new(0));
        }
        let interface = world.get::<Interfaces>().get(sw_if).ok();
        let backbone = world.get::<Column<Option<BackboneRewrite>>>().get(sw_if);
        let has_backbone = self.publish_backbone(sw_if, backbone.as_ref());
        let rewrites = interface.as_ref().and_then(|interface| vtr::rewrites(world, interface));
        let rewrites = rewrites.or_else(|| has_backbone.then_some(vtr::Rewrites::BACKBONE));
        let parent = interface.as_ref().map(|interface| interface.parent.0);
        let attached = control.attached.get(&sw_if).copied().unwrap_or_default();
        let with_own = |mut features: Features| {
            features.set(Features::VTR, rewrites.is_some());
            features | attached.input
        };
        let left = Port {
            role: Role::Left,
            features: Features::empty(),
            domain: NO_DOMAIN,
            shg: 0,
            generation: control.port_generation(sw_if),
            rewrites,
            filter: parent.filter(|_| control.filtering.contains(&sw_if)),
            sent: attached.output,
            is_limited: false,
        };
        let port = match control.modes.get(&sw_if) {
            None if control.sinks.contains_key(&sw_if) => Port { role: Role::Sink, ..left },
            None => left,
            Some(Mode::Xconnect(peer)) => {
                Port { role: Role::Crossed(peer.0), features: with_own(Features::XCONNECT), ..left }
            }
            Some(Mode::Bridge { id, kind, shg, features }) => Port {
                role: if *kind == PortKind::Bvi { Role::Bvi } else { Role::Bridged },
                features: with_own(*features),
                domain: control.index(*id).unwrap_or(0),
                shg: *shg,
                is_limited: *kind != PortKind::Bvi && self.storms.rates(sw_if) != Rates::default(),
                ..left
            },
        };
        self.ports.set(sw_if.0, port);
        if let Some(interface) = &interface {
            world.get::<SuperPaths>().follow(world, interface);
        }
    }

    /// As [`Self::publish_port`], for an interface that is or was in layer-2 mode.
    pub(crate) fn publish_known_port(&self, world: &World, control: &Control, sw_if: SwIfIndex) {
        if self.ports.read(sw_if.0, |port| port.is_some()) {
            self.publish_port(world, control, sw_if);
        }
    }

    /// The mode of an interface; nothing for one that routes.
    pub fn mode(&self, sw_if: SwIfIndex) -> Option<Mode> {
        self.control().modes.get(&sw_if).copied()
    }

    /// All interfaces in layer-2 mode, by index.
    pub fn modes(&self) -> Vec<(SwIfIndex, Mode)> {
        self.control().modes.iter().map(|(sw_if, mode)| (*sw_if, *mode)).collect()
    }

    pub(crate) fn check(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        let interface = world.get::<Interfaces>().get(sw_if)?;
        if !interface.can_switch() {
            return Err(Error::unsupported(format!(
                "{} carries no Ethernet frames",
                interface.name
            ))
            .retval(retval::INVALID_INTERFACE));
        }
        Ok(())
    }

    /// Makes an interface a member of a domain, which is created if it isn't there. Ends the
    /// interface's former mode.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or carries no Ethernet frames (−71); an id that is too
    /// large (−122); a second BVI (−152) or unknown-unicast port (−81); a BVI that isn't a
    /// loopback interface (−7).
    pub fn set_bridge(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        id: u32,
        kind: PortKind,
        shg: u8,
    ) -> Result<()> {
        self.check(world, sw_if)?;
        check_id(id)?;
        if kind == PortKind::Bvi && !is_loopback(world, sw_if) {
            return Err(
                Error::unsupported("a BVI is a loopback interface").retval(retval::INVALID_VALUE)
            );
        }
        let exists = {
            let control = self.control();
            let domain = control.domains.get(&id);
            let others = |port: Option<SwIfIndex>| port.filter(|port| *port != sw_if);
            if kind == PortKind::Bvi
                && let Some(other) = others(domain.and_then(|d| d.bvi))
            {
                let name = world.get::<Interfaces>().name(other);
                return Err(Error::failed(format!("bridge domain {id} has the BVI {name}"))
                    .retval(retval::BD_ALREADY_HAS_BVI));
            }
            if kind == PortKind::UuFwd
                && let Some(other) = others(domain.and_then(|d| d.uu_fwd))
            {
                let name = world.get::<Interfaces>().name(other);
                return Err(Error::failed(format!(
                    "bridge domain {id} has the unknown-unicast port {name}"
                ))
                .retval(retval::VALUE_EXIST));
            }
            id == 0 || domain.is_some()
        };
        if !exists {
            self.create_domain(world, id, DomainConfig::default())?;
        }
        self.leave(world, sw_if, Some(Mode::bridge(id, kind, shg)))?;
        let mut control = self.control();
        let loops = is_loopback(world, sw_if);
        if let Some(domain) = control.domains.get_mut(&id) {
            match kind {
                PortKind::UuFwd => domain.uu_fwd = Some(sw_if),
                PortKind::Bvi => {
                    domain.bvi = Some(sw_if);
                    domain.members.insert(0, sw_if);
                }
                PortKind::Normal if loops => domain.members.push(sw_if),
                PortKind::Normal => {
                    // Before the members that floods don't go to.
                    let is_last =
                        |i: &&SwIfIndex| is_loopback(world, **i) && domain.bvi != Some(**i);
                    let last = domain.members.iter().rev().take_while(is_last).count();
                    domain.members.insert(domain.members.len() - last, sw_if);
                }
            }
        }
        control.modes.insert(sw_if, Mode::bridge(id, kind, shg));
        self.publish_port(world, &control, sw_if);
        self.publish_domain(world, &control, id);
        drop(control);
        if kind == PortKind::Bvi {
            self.set_bvi_mac(world, id);
        }
        self.switch(world, sw_if, Mode::bridge(id, kind, shg).role())
    }

    /// Sends the frames that an interface receives to another one. The other direction is a
    /// cross-connect of its own.
    ///
    /// # Errors
    /// An interface that isn't there (−2, the peer −10) or carries no Ethernet frames (−71); an
    /// interface and itself (−7).
    pub fn set_xconnect(&self, world: &World, sw_if: SwIfIndex, peer: SwIfIndex) -> Result<()> {
        self.check(world, sw_if)?;
        self.check(world, peer).map_err(|e| match e.is(retval::INVALID_SW_IF_INDEX) {
            true => e.retval(retval::INVALID_SW_IF_INDEX_2),
            false => e,
        })?;
        if sw_if == peer {
            return Err(Error::failed("an interface can't be connected with itself")
                .retval(retval::INVALID_VALUE));
        }
        self.cross(world, sw_if, peer)
    }

    /// Cross-connects an interface with another one. Ends its former mode.
    pub(crate) fn cross(&self, world: &World, sw_if: SwIfIndex, peer: SwIfIndex) -> Result<()> {
        self.leave(world, sw_if, Some(Mode::Xconnect(peer)))?;
        let mut control = self.control();
        control.modes.insert(sw_if, Mode::Xconnect(peer));
        self.publish_port(world, &control, sw_if);
        drop(control);
        self.switch(world, sw_if, L2Role::Port)
    }

    /// Lets an interface's frames be switched. Its mode ends again if the device refuses.
    fn switch(&self, world: &World, sw_if: SwIfIndex, role: L2Role) -> Result<()> {
        world.get::<Interfaces>().set_l2(world, sw_if, role).or_else(|error| {
            self.leave(world, sw_if, None)?;
            Err(error)
        })?;
        world.note_config_change();
        Ok(())
    }

    /// Lets an interface route again.
    ///
    /// # Errors
    /// An interface that isn't there (−2); the device's error.
    pub fn set_l3(&self, world: &World, sw_if: SwIfIndex) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        self.leave(world, sw_if, None)
    }

    /// Ends the mode of an interface, if it has one. Addresses learned on it are forgotten.
    fn leave(&self, world: &World, sw_if: SwIfIndex, next: Option<Mode>) -> Result<()> {
        let mut control = self.control();
        let Some(mode) = control.modes.remove(&sw_if) else { return Ok(()) };
        control.flush_port(sw_if);
        self.publish_port(world, &control, sw_if);
        let mut bvi = None;
        if let Mode::Bridge { id, .. } = mode {
            if let Some(domain) = control.domains.get_mut(&id) {
                domain.members.retain(|member| *member != sw_if);
                if domain.uu_fwd == Some(sw_if) {
                    domain.uu_fwd = None;
                }
                if domain.bvi == Some(sw_if) {
                    domain.bvi = None;
                    bvi = Some(id);
                }
            }
            control.retain_snooped(id, |snooped| snooped.sw_if != sw_if.0);
            self.publish_domain(world, &control, id);
        }
        drop(control);
        if let Mode::Xconnect(peer) = mode {
            self.end_sink(world, peer);
        }
        if let Some(id) = bvi {
            self.set_bvi_mac(world, id);
            self.remove_provisioned(|of, entry| of == id && entry.flags & BVI != 0);
        }
        self.sweep_soon();
        if next.is_none() {
            world.get::<Interfaces>().set_l2(world, sw_if, L2Role::None)?;
        }
        world.note_config_change();
        Ok(())
    }

    /// Replaces the entry of a domain's BVI by one for the MAC address that the BVI has now, or
    /// removes it if there is no BVI any more.
    fn set_bvi_mac(&self, world: &World, id: u32) {
        let mut control = self.control();
        let Ok(domain) = control.domain(id) else { return };
        let (index, old) = (domain.index, domain.bvi_mac);
        let bvi = domain.bvi.and_then(|sw_if| world.get::<Interfaces>().get(sw_if).ok());
        domain.bvi_mac = bvi.as_ref().map(|bvi| bvi.mac);
        drop(control);
        if let Some(old) = old {
            self.remove_entry(MacKey::new(old.octets(), index));
        }
        if let Some(bvi) = bvi {
            self.set_entry(MacKey::new(bvi.mac.octets(), index), bvi_entry(bvi.sw_if));
        }
    }

    /// Removes an interface that is being deleted from modes and entries. Interfaces that are
    /// cross-connected with it route again.
    pub(crate) fn forget_interface(&self, world: &World, sw_if: SwIfIndex) {
        let peers: Vec<_> = {
            let control = self.control();
            let peers = control.modes.iter().filter(|(_, mode)| **mode == Mode::Xconnect(sw_if));
            peers.map(|(of, _)| *of).collect()
        };
        for one in peers.into_iter().chain([sw_if]) {
            // A device that is going away, or can't end promiscuous mode, doesn't keep the mode.
            let _ = self.leave(world, one, None);
        }
        self.remove_provisioned(|_, entry| entry.port == sw_if.0 && entry.flags & FILTER == 0);
        let mut control = self.control();
        control.filtering.remove(&sw_if);
        control.attached.remove(&sw_if);
        self.backbones.clear(sw_if.0);
        self.storms.limits.clear(sw_if.0);
    }
}

/// Handles events of interfaces: addresses learned on an interface that goes down are flushed, a
/// BVI's new address gets its entry.
pub fn follow(world: &World, event: IfEvent) {
    let bridge = world.get::<Bridge>();
    match event {
        // Its index may have been another's.
        IfEvent::Added(sw_if) => _ = bridge.ports.clear(sw_if.0),
        IfEvent::Admin(sw_if, false) if bridge.mode(sw_if).is_some() => {
            bridge.forget_hosts_at(sw_if);
            bridge.flush_interface(world, sw_if);
        }
        IfEvent::Mac(sw_if) => {
            if let Some(Mode::Bridge { id, kind: PortKind::Bvi, .. }) = bridge.mode(sw_if) {
                bridge.set_bvi_mac(world, id);
                bridge.forget_hosts_at(sw_if);
            }
        }
        _ => {}
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The control state of an interface, and the parameters of a new one.

use super::{MtuKind, Mtus, SubFrames};
use crate::device::Device;
use crate::view::{IfFlags, IfView};
use graph::{NodeIndex, SwIfIndex};
use std::sync::Arc;
use wire::MacAddr;

/// The kind of packets that an interface carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IfKind {
    /// Ethernet frames.
    Ethernet,
    /// IP packets without a layer-2 header.
    Ip,
    /// IP packets to one of several peers, each of which has to be configured: the header from its
    /// adjacency selects the peer.
    Multipoint,
    /// Nothing: `local0`.
    Local,
}

impl IfKind {
    /// Returns true if packets have no layer-2 header.
    pub const fn is_ip(self) -> bool {
        matches!(self, Self::Ip | Self::Multipoint)
    }
}

/// The properties that only a sub-interface has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SubInterface {
    /// The number behind the dot in its name.
    pub id: u32,
    /// The frames of its parent that belong to it.
    pub frames: SubFrames,
}

/// Settings that the line that makes an interface implies. The configuration has lines for the
/// settings that differ from these, since a load runs that line first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Implied {
    /// True if it is made admin up.
    pub up: bool,
    /// Ids of its tables of IPv4 and IPv6. The tables stay as long as the interface. If a protocol
    /// has no table of the id, the interface is in the default table.
    pub tables: [u32; 2],
    /// True if IPv4 is enabled explicitly, and true if IPv6 is.
    pub ip: [bool; 2],
}

/// The original settings of an interface, to which it returns when a setting is unset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OriginalSettings {
    /// Its name. The commands that make and delete it use this name when it is renamed.
    pub name: String,
    /// Its MAC address.
    pub mac: MacAddr,
    /// The MTU of its link, in bytes.
    pub mtu: u16,
    /// The settings that its creation implied ([`crate::imply`]).
    pub implied: Implied,
}

/// The control state of an interface.
#[derive(Clone)]
pub struct Interface {
    /// Its number.
    pub sw_if: SwIfIndex,
    /// Its name.
    pub name: String,
    /// The kind of packets that it carries.
    pub kind: IfKind,
    /// The driver's side. That of a sub-interface does nothing.
    pub device: Arc<dyn Device>,
    /// The parent of a sub-interface; itself, if it is a hardware interface.
    pub parent: SwIfIndex,
    /// Set for a sub-interface.
    pub sub: Option<SubInterface>,
    /// Admin state.
    pub admin_up: bool,
    /// Link state. That of a sub-interface is up while admin and link state of the parent are up.
    pub link_up: bool,
    /// The MAC address that it uses.
    pub mac: MacAddr,
    /// Its own MAC address, while it uses that of the interface that owns it.
    pub kept_mac: Option<MacAddr>,
    /// Its MTUs.
    pub mtu: Mtus,
    /// The output node, by which packets leave.
    pub output: NodeIndex,
    /// The driver's transmit node.
    pub tx: NodeIndex,
    /// True if other interfaces have the same output and transmit nodes.
    pub shares_nodes: bool,
    /// The settings that it was made with.
    pub original: OriginalSettings,
}

impl Interface {
    /// Returns true if the interface is a device that carries Ethernet frames, and no
    /// sub-interface.
    pub fn is_ethernet_device(&self) -> bool {
        self.kind == IfKind::Ethernet && self.sub.is_none()
    }

    /// The reason why it sends and receives nothing, for people; `None` if it is up.
    pub fn why_down(&self) -> Option<String> {
        match (self.admin_up, self.link_up) {
            (false, _) => Some(format!("{}: down", self.name)),
            (true, false) => Some(format!("{}: link down", self.name)),
            (true, true) => None,
        }
    }

    /// Returns true if the interface can be in layer-2 mode.
    pub fn can_switch(&self) -> bool {
        self.kind == IfKind::Ethernet || self.device.carries_frames_in_l2()
    }

    /// The nodes that the interface alone sends by, with the names that they have for an interface
    /// of this name: its output node and, unless it is a sub-interface, its transmit node.
    pub fn nodes(&self, name: &str) -> Vec<(NodeIndex, String)> {
        let mut nodes = Vec::new();
        if self.shares_nodes {
            return nodes;
        }
        if self.sub.is_none() {
            nodes.push((self.tx, format!("{name}-tx")));
        }
        // Without a feature that makes output nodes, packets go to the transmit node.
        if self.output != self.tx {
            nodes.push((self.output, format!("{name}-output")));
        }
        nodes
    }

    /// The MAC address of the only peer, if there is only one.
    pub fn peer(&self) -> Option<MacAddr> {
        match self.sub?.frames {
            SubFrames::Peer(mac) => Some(mac),
            SubFrames::Default | SubFrames::Tagged(_) => None,
        }
    }

    /// A new interface: admin down. The nodes are its output and its
    /// transmit node.
    pub(super) fn new(
        sw_if: SwIfIndex,
        new: NewInterface,
        (output, tx): (NodeIndex, NodeIndex),
    ) -> Self {
        let original = OriginalSettings {
            name: new.name.clone(),
            mac: new.mac,
            mtu: new.mtu,
            implied: Implied::default(),
        };
        Self {
            sw_if,
            name: new.name,
            kind: new.kind,
            device: new.device,
            parent: sw_if,
            sub: None,
            admin_up: false,
            link_up: new.link_up,
            mac: new.mac,
            kept_mac: None,
            mtu: Mtus::of_link(new.mtu),
            output,
            tx,
            shares_nodes: false,
            original,
        }
    }

    /// Its own MAC address, which it uses unless another interface owns it.
    pub fn own_mac(&self) -> MacAddr {
        self.kept_mac.unwrap_or(self.mac)
    }

    /// The MTU in force for these packets, in bytes.
    pub fn mtu_of(&self, kind: MtuKind) -> u16 {
        self.mtu.of(kind)
    }

    pub(super) fn view(&self) -> IfView {
        let mut flags = IfFlags::default();
        flags.set(IfFlags::ADMIN, self.admin_up);
        flags.set(IfFlags::LINK, self.link_up);
        flags.set(IfFlags::IP_MODE, self.kind.is_ip());
        flags.set(IfFlags::SUB, self.sub.is_some());
        IfView {
            flags,
            mtu4: self.mtu_of(MtuKind::Ip4),
            mtu6: self.mtu_of(MtuKind::Ip6),
            output: self.output,
            tx: self.tx,
            mac: self.mac,
            mtu: self.mtu_of(MtuKind::L3),
            ..IfView::default()
        }
    }
}

/// The parameters of a new interface, given by its driver.
pub struct NewInterface {
    /// Its name; must be free.
    pub name: String,
    /// The kind of packets that it carries.
    pub kind: IfKind,
    /// The driver's side.
    pub device: Arc<dyn Device>,
    /// Its MAC address.
    pub mac: MacAddr,
    /// The MTU of the link, in bytes.
    pub mtu: u16,
    /// Link state at the start.
    pub link_up: bool,
}

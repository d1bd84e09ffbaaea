// SPDX-License-Identifier: Apache-2.0
//! The next node of each Ethernet type.

use graph::{NodeIndex, Shared, World};
use sync::{Snapshot, Turn};
use wire::EtherType;

/// The next nodes of frames of a type.
#[derive(Clone, Copy, Debug)]
pub struct EtherTypeNode {
    /// In general.
    pub node: NodeIndex,
    /// If the device has verified the header's checksum.
    pub verified: NodeIndex,
}

/// The next nodes by type, as workers read them.
#[derive(Clone, Default)]
pub struct TypeTable {
    /// By far the most frames.
    pub ip4: Option<EtherTypeNode>,
    /// The node that switches frames.
    pub l2: Option<NodeIndex>,
    sorted: Vec<(u16, EtherTypeNode)>,
    /// Nodes of SNAP protocols.
    snap: Vec<(SnapProtocol, NodeIndex)>,
}

/// A protocol of SNAP: the organisation, and its number for the protocol.
pub type SnapProtocol = ([u8; 3], u16);

impl TypeTable {
    /// Returns the next node of this type.
    #[inline(always)]
    pub fn find(&self, ethertype: EtherType) -> Option<EtherTypeNode> {
        let at = self.sorted.binary_search_by_key(&ethertype.0, |(t, _)| *t).ok()?;
        Some(self.sorted[at].1)
    }

    /// Returns the next node of a SNAP protocol. Linear search: there are few.
    pub fn find_snap(&self, protocol: SnapProtocol) -> Option<NodeIndex> {
        self.snap.iter().find(|(known, _)| *known == protocol).map(|(_, node)| *node)
    }
}

/// The types of an instance.
pub struct Types(Snapshot<TypeTable>);

impl Shared for Types {
    fn make(world: &World) -> Self {
        Self(Snapshot::new(world.qsbr.clone(), TypeTable::default()))
    }
}

impl Types {
    #[inline(always)]
    pub fn get<'t>(&'t self, turn: &'t Turn<'_>) -> &'t TypeTable {
        self.0.get(turn)
    }
}

/// Sends frames of interfaces in layer-2 mode ([`net::IfFlags::L2`]), and what is sent by a
/// loopback interface that is a BVI, to a node. Frames start at the Ethernet header, whose place is
/// marked.
///
/// # Errors
/// A node that doesn't exist; another node that has registered before.
pub fn register_l2(world: &World, node: &str) -> Result<(), String> {
    let l2 = Some(world.link("ethernet-input", node)?);
    let types = world.get::<Types>();
    if let Some(other) = types.0.read(|t| t.l2) {
        return Err(format!("layer-2 frames are taken by {}", world.node_name(other)));
    }
    types.0.update(|old| TypeTable { l2, ..old.clone() });
    Ok(())
}

/// Sends frames of a type to a node, with the packet behind the Ethernet header.
///
/// # Errors
/// A node that doesn't exist; a type that another node takes.
pub fn register_ethertype(world: &World, ethertype: EtherType, node: &str) -> Result<(), String> {
    register_ethertype_verified(world, ethertype, node, node)
}

/// The same, with another node for packets whose network header's checksum the device has verified.
///
/// # Errors
/// A node that doesn't exist; a type that another node takes.
pub fn register_ethertype_verified(
    world: &World,
    ethertype: EtherType,
    node: &str,
    verified: &str,
) -> Result<(), String> {
    let taker = EtherTypeNode {
        node: world.link("ethernet-input", node)?,
        verified: world.link("ethernet-input", verified)?,
    };
    let types = world.get::<Types>();
    if let Some(other) = types.0.read(|t| t.find(ethertype)) {
        return Err(format!(
            "Ethernet type {:#06x} is taken by {}",
            ethertype.0,
            world.node_name(other.node)
        ));
    }
    types.0.update(|old| {
        let mut new = old.clone();
        new.sorted.push((ethertype.0, taker));
        new.sorted.sort_unstable_by_key(|(t, _)| *t);
        new.ip4 = new.find(EtherType::IP4);
        new
    });
    Ok(())
}

/// Sends frames of a type to no node any more, if this one has taken them.
pub fn unregister_ethertype(world: &World, ethertype: EtherType, node: &str) {
    let Some(node) = world.node(node) else { return };
    world.get::<Types>().0.update(|old| {
        let mut new = old.clone();
        new.sorted.retain(|(known, taker)| *known != ethertype.0 || taker.node != node);
        new.ip4 = new.find(EtherType::IP4);
        new
    });
}

/// Sends 802.3 frames of a SNAP protocol to a node, with the packet behind the SNAP header and
/// without the frame's padding.
///
/// # Errors
/// A node that doesn't exist; a protocol that another node takes.
pub fn register_snap(world: &World, protocol: SnapProtocol, node: &str) -> Result<(), String> {
    let node = world.link("snap-input", node)?;
    let types = world.get::<Types>();
    if let Some(other) = types.0.read(|t| t.find_snap(protocol)) {
        return Err(format!(
            "the SNAP protocol {protocol:02x?} is taken by {}",
            world.node_name(other)
        ));
    }
    types.0.update(|old| {
        let mut new = old.clone();
        new.snap.push((protocol, node));
        new
    });
    Ok(())
}

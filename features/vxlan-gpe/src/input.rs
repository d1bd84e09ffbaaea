// SPDX-License-Identifier: Apache-2.0
//! Next nodes of `vxlan4-gpe-input` and `vxlan6-gpe-input`, which take headers off. The number is
//! the IP version of the datagram.

use crate::model::Gpe;
use graph::{Build, NodeIndex, Shared, ThreadIndex, World, filled};
use std::sync::Arc;
use sync::{Snapshot, Turn};
use tunnel::{Datagrams, OWN, Onto, Own};
use wire::VxlanGpe as Header;
use zerocopy::FromBytes;

tunnel::datagram_next! {
    /// Next nodes of received datagrams.
    pub enum To {
        /// packets with bad flags field in vxlan-gpe header
        #[drop]
        BadFlags,
        /// packet is for the tunnel's end itself
        #[drop]
        Oam,
        /// unknown next protocol
        #[drop]
        UnknownProtocol,
        /// no feature takes network service headers
        #[drop]
        Nsh,
        /// packet shorter than its headers
        #[drop]
        TooShort,
    }
}

/// The node that takes network service headers.
pub struct Nsh(Snapshot<Option<NodeIndex>>);

impl Shared for Nsh {
    fn make(world: &World) -> Self {
        Self(Snapshot::new(world.qsbr.clone(), None))
    }
}

/// Sends payloads with a network service header to a node. They begin with that header, and are
/// received by the tunnel.
///
/// # Errors
/// A node that doesn't exist.
pub fn register_nsh(world: &World, node: &str) -> Result<(), String> {
    for is_v6 in [false, true] {
        world.link(&filled(Gpe::INPUT, is_v6), node)?;
    }
    world.get::<Nsh>().0.set(world.node(node));
    Ok(())
}

/// [`Nsh`], as nodes read it.
pub struct NshReader(Arc<Nsh>);

impl Build for NshReader {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

/// Reads a header.
#[inline(always)]
pub fn read(nsh: &NshReader, header: &[u8; OWN], turn: &Turn<'_>) -> Result<Own, To> {
    let header = Header::ref_from_bytes(header).map_err(|_| To::TooShort)?;
    if header.flags & Header::VALID == 0 || header.flags & Header::VERSION != 0 {
        return Err(To::BadFlags);
    }
    if header.flags & Header::OAM != 0 {
        return Err(To::Oam);
    }
    let onto = match header.payload() {
        Header::IP4 => Onto::Ip4,
        Header::IP6 => Onto::Ip6,
        Header::ETHERNET => Onto::Ethernet,
        Header::NSH => Onto::Node(nsh.0.0.get(turn).ok_or(To::Nsh)?),
        _ => return Err(To::UnknownProtocol),
    };
    Ok(Own { len: OWN, payload: Some(onto) })
}

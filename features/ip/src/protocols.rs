// SPDX-License-Identifier: Apache-2.0
//! Nodes that take packets for us: by protocol, by UDP port.

use graph::{NodeIndex, Shared, World, filled};
use std::marker::PhantomData;
use std::net::IpAddr;
use sync::{Snapshot, Turn};
use wire::{Family, IpProtocol};

/// Node by number; `NONE` for none.
#[derive(Clone)]
struct Takers(Box<[u32]>);

const NONE: u32 = u32::MAX;

/// Index in `protocols` of the node for fragments, which have no protocol yet.
const FRAGMENTS: usize = 1 << 8;
/// First index in `protocols` of fallback nodes, for protocols that no other node takes.
const OTHERWISE: usize = FRAGMENTS + 1;
/// Index in `ports` of the node for all other ports.
const REST: usize = 1 << 16;
/// First index in `ports` of the ports that take datagrams of IPv6 without a checksum.
const NO_CHECKSUM: usize = REST + 1;

impl Takers {
    fn new(len: usize) -> Self {
        Self(vec![NONE; len].into())
    }

    #[inline(always)]
    fn get(&self, at: usize) -> Option<NodeIndex> {
        self.0.get(at).filter(|node| **node != NONE).map(|node| NodeIndex(*node))
    }

    fn with(&self, at: usize, node: Option<NodeIndex>) -> Self {
        let mut new = self.clone();
        new.0[at] = node.map_or(NONE, |node| node.0);
        new
    }
}

/// Nodes that take packets for us, as workers read them.
pub struct Protocols<F> {
    protocols: Snapshot<Takers>,
    ports: Snapshot<Takers>,
    /// See [`set_returning_source`].
    returning: Snapshot<Option<IpAddr>>,
    version: PhantomData<F>,
}

impl<F: Family> Shared for Protocols<F> {
    fn make(world: &World) -> Self {
        let takers = |len| Snapshot::new(world.qsbr.clone(), Takers::new(len));
        Self {
            protocols: takers(OTHERWISE + (1 << 8)),
            ports: takers(NO_CHECKSUM + (1 << 16)),
            returning: Snapshot::new(world.qsbr.clone(), None),
            version: PhantomData,
        }
    }
}

impl<F> Protocols<F> {
    #[inline(always)]
    pub(crate) fn protocol(&self, protocol: IpProtocol, turn: &Turn<'_>) -> Option<NodeIndex> {
        self.protocols.get(turn).get(protocol.0.into())
    }

    /// Returns the fallback node of a protocol that no other node takes.
    #[inline(always)]
    pub fn otherwise(&self, protocol: IpProtocol, turn: &Turn<'_>) -> Option<NodeIndex> {
        self.protocols.get(turn).get(OTHERWISE + usize::from(protocol.0))
    }

    /// Returns the node of each protocol, for `show`.
    pub fn list(&self) -> Vec<(IpProtocol, NodeIndex)> {
        let taker = |takers: &Takers, n: u8| {
            takers.get(n.into()).or_else(|| takers.get(OTHERWISE + usize::from(n)))
        };
        self.protocols
            .read(|all| (0..=255).filter_map(|n| Some((IpProtocol(n), taker(all, n)?))).collect())
    }

    /// Returns the node that reassembles fragments.
    pub(crate) fn fragments(&self, turn: &Turn<'_>) -> Option<NodeIndex> {
        self.protocols.get(turn).get(FRAGMENTS)
    }

    #[inline(always)]
    pub(crate) fn port(&self, port: u16, turn: &Turn<'_>) -> Option<NodeIndex> {
        let ports = self.ports.get(turn);
        ports.get(port.into()).or_else(|| ports.get(REST))
    }

    /// Returns true for the source of [`set_returning_source`].
    #[cold]
    pub(crate) fn is_returning(&self, source: IpAddr, turn: &Turn<'_>) -> bool {
        *self.returning.get(turn) == Some(source)
    }

    /// True if a port takes datagrams of IPv6 without a checksum.
    #[inline(always)]
    pub(crate) fn takes_no_checksum(&self, port: u16, turn: &Turn<'_>) -> bool {
        self.ports.get(turn).get(NO_CHECKSUM + usize::from(port)).is_some()
    }
}

/// Sends packets for us of a protocol to a node. They start at their IP header, have been checked,
/// and are no fragments. Headers in front of the protocol's own (options, extension headers) lie in
/// the first segment: [`wire::UpperLayer::find`] returns where the protocol's own begins.
///
/// # Errors
/// A node that doesn't exist; a protocol that another node takes.
pub fn register_protocol<F: Family>(
    world: &World,
    protocol: IpProtocol,
    node: &str,
) -> Result<(), String> {
    register_at::<F>(world, protocol, node, protocol.0.into())
}

/// Like [`register_protocol`], as fallback: for a protocol that no other node takes, and for its
/// packets that other nodes don't want. Packets from interfaces with a feature of the punt arc go
/// there instead.
///
/// # Errors
/// A node that doesn't exist; a protocol that has another fallback node.
pub fn register_otherwise<F: Family>(
    world: &World,
    protocol: IpProtocol,
    node: &str,
) -> Result<(), String> {
    register_at::<F>(world, protocol, node, OTHERWISE + usize::from(protocol.0))
}

fn register_at<F: Family>(
    world: &World,
    protocol: IpProtocol,
    node: &str,
    at: usize,
) -> Result<(), String> {
    let node = filled(node, F::IS_V6);
    for from in ["{ip}-local", "{ip}-local-end-of-arc"] {
        world.link(&filled(from, F::IS_V6), &node)?;
    }
    let what = format!("IPv{} {protocol}", F::VERSION);
    set(world, &world.get::<Protocols<F>>().protocols, at, &node, &what)
}

/// Sends fragments for us to a node, which sends the whole back to `ip4-local` or `ip6-local`;
/// without one they are dropped.
///
/// # Errors
/// A node that doesn't exist.
pub fn set_fragments<F: Family>(world: &World, node: Option<&str>) -> Result<(), String> {
    let link = |node| world.link(&filled("{ip}-local", F::IS_V6), &filled(node, F::IS_V6));
    let index = node.map(link).transpose()?;
    world.get::<Protocols<F>>().protocols.update(|old| old.with(FRAGMENTS, index));
    Ok(())
}

/// Sends UDP datagrams for us to a port to a node. They start at their payload; layer 3 is marked
/// at the IP header.
///
/// # Errors
/// A node that doesn't exist; a port that another node takes.
pub fn register_udp_port<F: Family>(world: &World, port: u16, node: &str) -> Result<(), String> {
    let node = filled(node, F::IS_V6);
    world.link(&filled("{ip}-udp-lookup", F::IS_V6), &node)?;
    let what = format!("IPv{} UDP port {port}", F::VERSION);
    set(world, &world.get::<Protocols<F>>().ports, port.into(), &node, &what)
}

/// Lets datagrams of IPv6 without a checksum through to the node of a port, as tunnels may send
/// them (RFC 6935 5, RFC 7348 5). In IPv4 the checksum may always be absent.
pub fn accept_no_checksum<F: Family>(world: &World, port: u16) {
    let accept = |old: &Takers| old.with(NO_CHECKSUM + usize::from(port), old.get(port.into()));
    world.get::<Protocols<F>>().ports.update(accept);
}

/// Sets a source from which packets to local addresses are delivered although the check of sources
/// refuses it: the source of packets of our own that another router sends back, such as BFD's echo
/// packets. One feature uses this.
pub fn set_returning_source<F: Family>(world: &World, source: Option<F::Addr>) {
    world.get::<Protocols<F>>().returning.set(source.map(Into::into));
}

/// Unregisters the node of a UDP port.
pub fn unregister_udp_port<F: Family>(world: &World, port: u16) {
    let none =
        |old: &Takers| old.with(port.into(), None).with(NO_CHECKSUM + usize::from(port), None);
    world.get::<Protocols<F>>().ports.update(none);
}

/// Sends datagrams for us to a node if no other node takes their port; without one their senders
/// get an ICMP error.
///
/// # Errors
/// A node that doesn't exist; ports that another node takes.
pub fn set_udp_rest<F: Family>(world: &World, node: Option<&str>) -> Result<(), String> {
    let ports = &world.get::<Protocols<F>>().ports;
    let Some(node) = node else {
        ports.update(|old| old.with(REST, None));
        return Ok(());
    };
    let node = filled(node, F::IS_V6);
    world.link(&filled("{ip}-udp-lookup", F::IS_V6), &node)?;
    set(world, ports, REST, &node, &format!("what no IPv{} UDP port takes", F::VERSION))
}

/// Unregisters the node of a protocol.
pub fn unregister_protocol<F: Family>(world: &World, protocol: IpProtocol) {
    world.get::<Protocols<F>>().protocols.update(|old| old.with(protocol.0.into(), None));
}

fn set(
    world: &World,
    takers: &Snapshot<Takers>,
    at: usize,
    node: &str,
    what: &str,
) -> Result<(), String> {
    let index = world.node(node).ok_or_else(|| format!("no node is named {node}"))?;
    match takers.read(|t| t.get(at)) {
        Some(other) if other != index => {
            Err(format!("{what} is taken by {}", world.node_name(other)))
        }
        _ => {
            takers.update(|old| old.with(at, Some(index)));
            Ok(())
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The parameters of a VXLAN tunnel.

use crate::encap::VxlanCodec;
use crate::input::VxlanInput;
use cli::retval::{self, Retval};
use cli::{Error, Result};
use graph::{NodeIndex, Shared, SwIfIndex, World, name_of};
use net::{FloodRole, IfKind, Interfaces};
use std::collections::BTreeSet;
use std::sync::Mutex;
use tunnel::{Codec, HeaderMarking, Key, Spec, TunnelEndpoints, Tunnels, bits};
use wire::{Ip4, Ip6, IpProtocol, MacAddr, Vxlan as Header};
use zerocopy::IntoBytes;

/// The next node of decapsulated packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Next {
    /// They are received by the interface: switched, or routed.
    #[default]
    Interface,
    /// They are dropped.
    Drop,
    /// One of `NEXT`.
    Node(&'static str),
}

/// Nodes that a configuration may name: they take packets from their first byte on, and need
/// nothing that an earlier node has noted.
pub const NEXT: [&str; 3] = ["ethernet-input", "ip4-input", "ip6-input"];

/// A VXLAN tunnel.
#[derive(Clone, PartialEq, Debug)]
pub struct Vxlan {
    /// The ends. The other one may be a group.
    pub ends: TunnelEndpoints,
    /// The network identifier.
    pub vni: u32,
    /// The port that datagrams come to.
    pub source_port: u16,
    /// The port that they are sent to.
    pub destination_port: u16,
    /// IP packets instead of frames.
    pub layer3: bool,
    /// The interface that datagrams to a group leave by.
    pub group_interface: Option<SwIfIndex>,
    /// The next node of decapsulated packets.
    pub next: Next,
}

/// The ports that were registered, and whether for IPv6.
#[derive(Default)]
pub struct Ports(Mutex<BTreeSet<(bool, u16)>>);

impl Shared for Ports {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Vxlan {
    /// Makes a tunnel.
    ///
    /// # Errors
    /// Ends of two protocols (−7) or the same (−82); a group without an interface, or one that
    /// isn't there (−2); a port that another feature has (−164); as [`Tunnels::create`].
    pub fn create(self, world: &World, instance: Option<u32>) -> Result<SwIfIndex> {
        self.ends.check(retval::INVALID_VALUE)?;
        match (self.ends.remote.is_multicast(), self.group_interface) {
            (true, None) => {
                let why =
                    format!("datagrams to {} need an interface to leave by", self.ends.remote);
                return Err(Error::parse(why).retval(retval::INVALID_SW_IF_INDEX));
            }
            (true, Some(by)) => world.get::<Interfaces>().check(by)?,
            (false, _) => {}
        }
        let (port, is_v6, above) =
            (self.source_port, self.ends.local.is_ipv6(), self.group_interface);
        register(world, is_v6, port)?;
        world.get::<Tunnels<Self>>().create(world, instance, self, above)
    }
}

/// From the first tunnel on, datagrams to its port are for this feature.
fn register(world: &World, is_v6: bool, port: u16) -> Result<()> {
    let ports = world.get::<Ports>();
    let mut ports = ports.0.lock().expect("no panic inside");
    if ports.contains(&(is_v6, port)) {
        return Ok(());
    }
    let done = if is_v6 {
        ip::register_udp_port::<Ip6>(world, port, name_of::<VxlanInput<Ip6>>())
    } else {
        ip::register_udp_port::<Ip4>(world, port, name_of::<VxlanInput<Ip4>>())
    };
    done.map_err(|why| Error::failed(why).retval(retval::UDP_PORT_TAKEN))?;
    ports.insert((is_v6, port));
    Ok(())
}

impl Spec for Vxlan {
    const PREFIX: &'static str = "vxlan_tunnel";
    const DRIVER: &'static str = "VXLAN";
    const EXISTS: Retval = retval::TUNNEL_EXIST;
    const STARTS_UP: bool = true;

    fn encap(&self) -> &'static str {
        if self.ends.local.is_ipv6() { VxlanCodec::<true>::NAME } else { VxlanCodec::<false>::NAME }
    }

    fn ends(&self) -> TunnelEndpoints {
        self.ends
    }

    fn marks(&self) -> HeaderMarking {
        HeaderMarking::default()
    }

    fn key(&self, ends: &TunnelEndpoints, table: u32) -> Key {
        let (id, other) = (self.vni, self.source_port.into());
        // Packets for a group may come from anybody.
        if ends.remote.is_multicast() {
            Key { local: bits(ends.remote), remote: 0, table, id, other }
        } else {
            Key { id, other, ..Key::of(ends.local, ends.remote, table) }
        }
    }

    fn carries(&self) -> IfKind {
        if self.layer3 { IfKind::Ip } else { IfKind::Ethernet }
    }

    fn mtu(&self) -> u16 {
        9000
    }

    fn mac(&self, _: u32) -> MacAddr {
        if self.layer3 {
            return MacAddr::ZERO;
        }
        // The two ends of a tunnel differ, and each has the same one after a restart.
        let Key { local, remote, table, id, other } = self.key(&self.ends, self.ends.table);
        let mix = |hash: u64, word: u64| {
            (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        };
        let words = [local as u64, (local >> 64) as u64, remote as u64, (remote >> 64) as u64];
        let rest =
            [u64::from(table) << 32 | u64::from(id), other.into(), bits(self.ends.local) as u64];
        let [a, b, c, d, ..] = words.into_iter().chain(rest).fold(0, mix).to_be_bytes();
        MacAddr([0x02, 0xfe, a, b, c, d])
    }

    fn protocol(&self) -> IpProtocol {
        IpProtocol::UDP
    }

    fn hop_limits(&self) -> [u8; 2] {
        // The values of VPP, less the hop that its own lookup takes.
        [253, 254]
    }

    fn header(&self) -> Vec<u8> {
        tunnel::udp(0, self.destination_port, Header::new(self.vni).as_bytes())
    }

    fn next(&self, world: &World) -> Option<NodeIndex> {
        match self.next {
            Next::Interface => None,
            Next::Drop => world.node("error-drop"),
            Next::Node(name) => world.node(name),
        }
    }

    fn group_interface(&self) -> Option<SwIfIndex> {
        self.group_interface
    }

    fn flood_role(&self) -> FloodRole {
        if self.ends.remote.is_multicast() { FloodRole::Group } else { FloodRole::OneOfGroup }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `vxlan4-input`, `vxlan6-input`: decapsulation. The number is the IP version of the datagram.

use crate::spec::Vxlan;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use ip::Ip;
use net::IpMeta;
use std::fmt;
use std::marker::PhantomData;
use sync::Turn;
use tunnel::{Decap, DecapError, End, Key};
use wire::{Address, Header, IpHeader, UdpHeader, Vxlan as VxlanHeader};

/// Bytes of the headers behind the IP header.
const OWN: usize = UdpHeader::LEN + size_of::<VxlanHeader>();

pub struct VxlanInput<F> {
    decap: Decap<Vxlan>,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("ethernet-input")]
    Ethernet,
    #[next("ip4-input")]
    Input4,
    #[next("ip6-input")]
    Input6,
    /// The node that the tunnel's configuration names.
    #[dynamic]
    Node(NodeIndex),
    /// good packets decapsulated
    #[count]
    #[counter("good packets decapsulated")]
    Decapsulated,
    /// no such tunnel packets
    #[drop]
    #[counter("no such tunnel packets")]
    NoTunnel,
    /// packets with bad flags field in vxlan header
    #[drop]
    #[counter("packets with bad flags field in vxlan header")]
    BadFlags,
    /// tunnel is down
    #[drop]
    Down,
    /// packet shorter than its headers
    #[drop]
    TooShort,
    /// neither IPv4 nor IPv6 in a tunnel of layer 3
    #[drop]
    NoIp,
    /// super-packets can't be taken out of tunnels
    #[drop]
    Super,
}

impl From<DecapError> for To {
    fn from(why: DecapError) -> Self {
        match why {
            DecapError::Down => Self::Down,
            DecapError::Super => Self::Super,
            DecapError::TooShort => Self::TooShort,
        }
    }
}

/// The tunnel.
#[derive(Clone, Copy)]
pub struct InputTrace {
    instance: Option<u32>,
    vni: u32,
    to: To,
}

impl Trace for InputTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.instance {
            Some(instance) => {
                write!(f, "VXLAN decap from vxlan_tunnel{instance} vni {}", self.vni)?
            }
            None => write!(f, "VXLAN decap error - tunnel for vni {} does not exist", self.vni)?,
        }
        match self.to {
            To::Ethernet => f.write_str(" next ethernet-input"),
            To::Input4 => f.write_str(" next ip4-input"),
            To::Input6 => f.write_str(" next ip6-input"),
            To::Node(node) => write!(f, " next node {node}"),
            to => write!(f, " error {to:?}"),
        }
    }
}

/// The fields of the headers of a datagram. The packet begins with its IP header, and the UDP
/// header is `at` bytes behind.
#[inline(always)]
pub fn key_of<F: Ip>(b: &Buffer, at: usize, table: u32) -> Option<(Key, VxlanHeader)> {
    let ip = F::Header::view(b.data())?;
    let udp = UdpHeader::view_at(b.data(), at)?;
    let vxlan = VxlanHeader::view_at(b.data(), at + UdpHeader::LEN)?;
    let (id, other) = (vxlan.vni(), udp.dst_port.get().into());
    Some((Key { id, other, ..Key::of(ip.dst().into(), ip.src().into(), table) }, *vxlan))
}

impl<F: Ip> VxlanInput<F> {
    /// The tunnel that a packet belongs to, and whose interface receives it; and the tunnel that
    /// counts it.
    #[inline(always)]
    fn find<'t>(
        decap: &'t Decap<Vxlan>,
        key: &Key,
        to_group: bool,
        turn: &'t Turn<'_>,
    ) -> Option<(&'t End, &'t End)> {
        if to_group {
            // There has to be a tunnel to the group, and one to the sender.
            let group = decap.find(&Key { remote: 0, ..*key }, turn)?;
            let sender = decap.find(&Key { local: group.local, ..*key }, turn)?;
            return Some((sender, group));
        }
        decap.find(key, turn).map(|end| (end, end))
    }

    #[inline(always)]
    fn open(&self, b: &mut Buffer, turn: &Turn<'_>) -> (To, Option<u32>, u32) {
        let back = b.l3_len();
        let table = b.scratch::<IpMeta>().fib;
        if back < F::HEADER_LEN + UdpHeader::LEN || !b.rewind(back) {
            return (To::TooShort, None, 0);
        }
        let at = back - UdpHeader::LEN;
        let Some((key, vxlan)) = key_of::<F>(b, at, table) else { return (To::TooShort, None, 0) };
        // RFC 7348 5: the I flag is set; VPP takes no other.
        if vxlan.flags != VxlanHeader::VALID {
            return (To::BadFlags, None, key.id);
        }
        let Some(ip) = F::Header::view(b.data()) else { return (To::TooShort, None, key.id) };
        let (to_group, class) = (ip.dst().multicast(), ip.traffic_class());
        let Some((end, counts)) = Self::find(&self.decap, &key, to_group, turn) else {
            return (To::NoTunnel, None, key.id);
        };
        let to = match self.decap.receive_for(b, end, counts.sw_if, at + OWN, class, turn) {
            Ok(()) => match (end.next, end.frames, b.data().first().map(|first| first >> 4)) {
                (Some(node), ..) => To::Node(node),
                (None, true, _) => To::Ethernet,
                (None, false, Some(4)) => To::Input4,
                (None, false, Some(6)) => To::Input6,
                (None, false, _) => To::NoIp,
            },
            Err(why) => why.into(),
        };
        (to, Some(end.instance), key.id)
    }
}

impl<F: Ip> Build for VxlanInput<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { decap: Decap::new(world, thread), version: PhantomData }
    }
}

impl<F: Ip> Node for VxlanInput<F> {
    const NAME: &'static str = if F::IS_V6 { "vxlan6-input" } else { "vxlan4-input" };
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = InputTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let (to, instance, vni) = self.open(b, cx.turn);
        if TRACED {
            cx.trace(b, InputTrace { instance, vni, to });
        }
        if matches!(to, To::Ethernet | To::Input4 | To::Input6 | To::Node(_)) {
            cx.count(To::Decapsulated, 1);
        }
        to
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Packets, layer by layer, right by default and wrong where a test wants it.
//!
//! ```
//! use testkit::pkt;
//! let frame = pkt::ether("02:fe:00:00:00:01", "02:fe:00:00:00:02")
//!     .vlan(100)
//!     .ip4("10.0.0.1", "10.0.0.2")
//!     .ttl(1)
//!     .udp(1234, 53)
//!     .payload(b"hello")
//!     .build();
//! assert_eq!(frame.len(), 14 + 4 + 20 + 8 + 5);
//! ```
//!
//! Lengths, protocol numbers and checksums are computed when the packet is built. A method such as
//! [`Packet::ttl`] changes the layer added last and panics if that layer has no such field.

mod arg;
mod build;
mod fields;

use std::net::IpAddr;
use wire::{
    Arp, ArpOp, EtherType, Gre, Icmp4Type, Icmp6Type, IcmpHeader, IpProtocol, Ipv4Header,
    Ipv6Header, MacAddr, MplsLabel, TcpFlags, TcpHeader, U16, UdpHeader, VlanTag, Vxlan,
};

pub use arg::Arg;
use arg::{Ip4, Ip6};
use build::Layer;

/// A packet under construction.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    layers: Vec<Layer>,
    pad_to: usize,
    truncate: Option<usize>,
}

/// The content of a checksum field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Checksum {
    /// As the protocol demands.
    #[default]
    Right,
    /// Differing from the right one.
    Wrong,
    /// The sum of the pseudo-header only, as a host with offload leaves it.
    Partial,
    /// These 16 bits.
    Value(u16),
}

/// Starts with an Ethernet header, from `src` to `dst`.
pub fn ether(src: impl Arg<MacAddr>, dst: impl Arg<MacAddr>) -> Packet {
    Packet::default().ether(src, dst)
}

/// Starts with an IPv4 header.
pub fn ip4(src: impl Arg<Ip4>, dst: impl Arg<Ip4>) -> Packet {
    Packet::default().ip4(src, dst)
}

/// Starts with an IPv6 header.
pub fn ip6(src: impl Arg<Ip6>, dst: impl Arg<Ip6>) -> Packet {
    Packet::default().ip6(src, dst)
}

/// An ARP request for `target`, broadcast.
pub fn arp_request(mac: impl Arg<MacAddr>, ip: impl Arg<Ip4>, target: impl Arg<Ip4>) -> Packet {
    let (mac, ip) = (mac.arg(), ip.arg());
    let arp = Arp::new(ArpOp::REQUEST, (mac, ip), (MacAddr::ZERO, target.arg()));
    ether(mac, MacAddr::BROADCAST).arp(arp)
}

/// An ARP reply: `ip` is at `mac`, sent to `to_ip` at `to_mac`.
pub fn arp_reply(
    mac: impl Arg<MacAddr>,
    ip: impl Arg<Ip4>,
    to_mac: impl Arg<MacAddr>,
    to_ip: impl Arg<Ip4>,
) -> Packet {
    let (mac, to_mac) = (mac.arg(), to_mac.arg());
    ether(mac, to_mac).arp(Arp::new(ArpOp::REPLY, (mac, ip.arg()), (to_mac, to_ip.arg())))
}

impl Packet {
    fn with(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }

    /// An Ethernet header, from `src` to `dst`; its type follows from the next layer.
    pub fn ether(self, src: impl Arg<MacAddr>, dst: impl Arg<MacAddr>) -> Self {
        let header = wire::Ethernet::new(src.arg(), dst.arg(), EtherType(0));
        self.with(Layer::Ether { header, ethertype: None })
    }

    /// An 802.1Q tag; the header before it gets type 0x8100.
    pub fn vlan(self, id: u16) -> Self {
        self.tag(EtherType::VLAN, id)
    }

    /// An 802.1ad tag; the header before it gets type 0x88a8.
    pub fn qinq(self, id: u16) -> Self {
        self.tag(EtherType::QINQ, id)
    }

    fn tag(self, tpid: EtherType, id: u16) -> Self {
        self.with(Layer::Vlan {
            tpid,
            tag: VlanTag::new(id, 0, false, EtherType(0)),
            ethertype: None,
        })
    }

    /// An ARP packet.
    pub fn arp(self, arp: Arp) -> Self {
        self.with(Layer::Arp(arp))
    }

    /// A label stack entry; the bottom flag follows from the next layer.
    pub fn mpls(self, label: u32) -> Self {
        self.with(Layer::Mpls(MplsLabel::new(label, 0, false, 64)))
    }

    /// An IPv4 header: TTL 64, id 0, not a fragment.
    pub fn ip4(self, src: impl Arg<Ip4>, dst: impl Arg<Ip4>) -> Self {
        let header = Ipv4Header::new(src.arg(), dst.arg(), IpProtocol(0), 0);
        self.with(Layer::Ip4 {
            header,
            options: Vec::new(),
            protocol: None,
            length: None,
            ihl: None,
            checksum: Checksum::Right,
        })
    }

    /// An IPv6 header: hop limit 64.
    pub fn ip6(self, src: impl Arg<Ip6>, dst: impl Arg<Ip6>) -> Self {
        let header = Ipv6Header::new(src.arg(), dst.arg(), IpProtocol(0), 0);
        self.with(Layer::Ip6 { header, protocol: None, length: None })
    }

    /// An IP header of the addresses' version.
    ///
    /// # Panics
    /// If they are of two versions.
    pub fn ip(self, src: IpAddr, dst: IpAddr) -> Self {
        match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => self.ip4(src, dst),
            (IpAddr::V6(src), IpAddr::V6(dst)) => self.ip6(src, dst),
            _ => panic!("{src} and {dst} have two versions"),
        }
    }

    /// An IPv6 extension header of type `kind`. `body` is what follows the next-header byte; pad it
    /// so that the header is as long as its own length field says.
    pub fn ext(self, kind: IpProtocol, body: impl AsRef<[u8]>) -> Self {
        self.with(Layer::Ext { kind, body: body.as_ref().to_vec(), protocol: None })
    }

    /// An IPv6 fragment header.
    pub fn fragment6(self, id: u32, offset: u16, more: bool) -> Self {
        let [a, b] = (offset & 0xfff8 | u16::from(more)).to_be_bytes();
        let body = [&[0, a, b][..], &id.to_be_bytes()].concat();
        self.ext(IpProtocol::FRAGMENT, body)
    }

    /// A UDP header.
    pub fn udp(self, src_port: u16, dst_port: u16) -> Self {
        let header = UdpHeader::new(src_port, dst_port, 0);
        self.with(Layer::Udp { header, length: None, checksum: Checksum::Right })
    }

    /// A TCP header: ACK, sequence and acknowledgment number 1, window 65535.
    pub fn tcp(self, src_port: u16, dst_port: u16) -> Self {
        let header = TcpHeader {
            src_port: U16::new(src_port),
            dst_port: U16::new(dst_port),
            seq: 1.into(),
            ack: 1.into(),
            flags: TcpFlags::ACK,
            window: U16::new(u16::MAX),
            ..Default::default()
        };
        self.with(Layer::Tcp { header, options: Vec::new(), ihl: None, checksum: Checksum::Right })
    }

    /// An ICMP message; `rest` is the last word of its header, host order.
    pub fn icmp(self, kind: Icmp4Type, code: u8, rest: u32) -> Self {
        let header = IcmpHeader::new(kind.0, code, rest);
        self.with(Layer::Icmp { v6: false, header, checksum: Checksum::Right })
    }

    /// An ICMPv6 message; `rest` is the last word of its header, host order.
    pub fn icmp6(self, kind: Icmp6Type, code: u8, rest: u32) -> Self {
        let header = IcmpHeader::new(kind.0, code, rest);
        self.with(Layer::Icmp { v6: true, header, checksum: Checksum::Right })
    }

    /// An ICMP echo request.
    pub fn icmp_echo(self, id: u16, seq: u16) -> Self {
        self.icmp(Icmp4Type::ECHO_REQUEST, 0, u32::from(id) << 16 | u32::from(seq))
    }

    /// An ICMP echo reply.
    pub fn icmp_echo_reply(self, id: u16, seq: u16) -> Self {
        self.icmp(Icmp4Type::ECHO_REPLY, 0, u32::from(id) << 16 | u32::from(seq))
    }

    /// An ICMPv6 echo request.
    pub fn icmp6_echo(self, id: u16, seq: u16) -> Self {
        self.icmp6(Icmp6Type::ECHO_REQUEST, 0, u32::from(id) << 16 | u32::from(seq))
    }

    /// A GRE header without options.
    pub fn gre(self) -> Self {
        self.with(Layer::Gre {
            header: Gre { flags: U16::ZERO, protocol: U16::ZERO },
            ethertype: None,
        })
    }

    /// A VXLAN header; the UDP header goes before it.
    pub fn vxlan(self, vni: u32) -> Self {
        self.with(Layer::Raw(zerocopy::IntoBytes::as_bytes(&Vxlan::new(vni)).to_vec()))
    }

    /// Bytes as they are: a payload, or a layer that has no method here.
    pub fn payload(self, bytes: impl AsRef<[u8]>) -> Self {
        self.with(Layer::Raw(bytes.as_ref().to_vec()))
    }

    /// A payload of `len` bytes 0, 1, 2 … 255, 0 ….
    pub fn payload_len(self, len: usize) -> Self {
        self.with(Layer::Raw((0..len).map(|i| i as u8).collect()))
    }

    /// Zeros at the end until the packet has `len` bytes, as Ethernet pads to 60. No length field
    /// counts them.
    pub fn pad_to(mut self, len: usize) -> Self {
        self.pad_to = len;
        self
    }

    /// Cuts the finished packet to `len` bytes; its length fields stay.
    pub fn truncate(mut self, len: usize) -> Self {
        self.truncate = Some(len);
        self
    }

    /// The bytes.
    #[track_caller]
    pub fn build(&self) -> Vec<u8> {
        let mut bytes = build::build(&self.layers);
        bytes.resize(bytes.len().max(self.pad_to), 0);
        bytes.truncate(self.truncate.unwrap_or(usize::MAX));
        bytes
    }
}

#[cfg(feature = "tests")]
mod tests;

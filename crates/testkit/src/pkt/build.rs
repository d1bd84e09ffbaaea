// SPDX-License-Identifier: Apache-2.0
//! From layers to bytes, innermost first.

use wire::{
    Arp, EtherType, Ethernet, Gre, IcmpHeader, IpHeader, IpProtocol, Ipv4Header, Ipv6Header,
    MplsLabel, TcpHeader, U16, UdpHeader, VlanTag, checksum::Sum,
};
use zerocopy::IntoBytes;

use super::Checksum;

/// One layer; an `Option` overrides what would be computed.
#[derive(Clone, Debug)]
pub(super) enum Layer {
    Ether {
        header: Ethernet,
        ethertype: Option<EtherType>,
    },
    Vlan {
        tpid: EtherType,
        tag: VlanTag,
        ethertype: Option<EtherType>,
    },
    Arp(Arp),
    Mpls(MplsLabel),
    Ip4 {
        header: Ipv4Header,
        options: Vec<u8>,
        protocol: Option<IpProtocol>,
        length: Option<u16>,
        ihl: Option<u8>,
        checksum: Checksum,
    },
    Ip6 {
        header: Ipv6Header,
        protocol: Option<IpProtocol>,
        length: Option<u16>,
    },
    Ext {
        kind: IpProtocol,
        body: Vec<u8>,
        protocol: Option<IpProtocol>,
    },
    Udp {
        header: UdpHeader,
        length: Option<u16>,
        checksum: Checksum,
    },
    Tcp {
        header: TcpHeader,
        options: Vec<u8>,
        ihl: Option<u8>,
        checksum: Checksum,
    },
    Icmp {
        v6: bool,
        header: IcmpHeader,
        checksum: Checksum,
    },
    Gre {
        header: Gre,
        ethertype: Option<EtherType>,
    },
    Raw(Vec<u8>),
}

impl Layer {
    /// The Ethernet type that announces this layer.
    fn ethertype(&self) -> EtherType {
        match self {
            Self::Ether { .. } => EtherType::TEB,
            Self::Vlan { tpid, .. } => *tpid,
            Self::Arp(_) => EtherType::ARP,
            Self::Mpls(_) => EtherType::MPLS,
            Self::Ip4 { .. } => EtherType::IP4,
            Self::Ip6 { .. } => EtherType::IP6,
            // "local experimental", IEEE 802
            _ => EtherType(0x88b5),
        }
    }

    /// The IP protocol that announces this layer.
    fn protocol(&self) -> IpProtocol {
        match self {
            Self::Ether { .. } => IpProtocol::ETHERNET,
            Self::Mpls(_) => IpProtocol::MPLS,
            Self::Ip4 { .. } => IpProtocol::IP4,
            Self::Ip6 { .. } => IpProtocol::IP6,
            Self::Ext { kind, .. } => *kind,
            Self::Udp { .. } => IpProtocol::UDP,
            Self::Tcp { .. } => IpProtocol::TCP,
            Self::Icmp { v6: false, .. } => IpProtocol::ICMP,
            Self::Icmp { v6: true, .. } => IpProtocol::ICMP6,
            Self::Gre { .. } => IpProtocol::GRE,
            // for experimentation and testing, RFC 3692
            _ => IpProtocol(253),
        }
    }
}

#[track_caller]
pub(super) fn build(layers: &[Layer]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (i, layer) in layers.iter().enumerate().rev() {
        let header = encode(layer, &layers[..i], layers.get(i + 1), &bytes);
        bytes.splice(..0, header);
    }
    bytes
}

/// The bytes of `layer`, which follows `outer` and carries `inner` in `payload`.
#[track_caller]
fn encode(layer: &Layer, outer: &[Layer], inner: Option<&Layer>, payload: &[u8]) -> Vec<u8> {
    let inner_type = || inner.map_or(EtherType(0x88b5), Layer::ethertype);
    let inner_protocol = || inner.map_or(IpProtocol(253), Layer::protocol);
    let fits = |len: usize| {
        u16::try_from(len).unwrap_or_else(|_| panic!("{len} bytes don't fit into {layer:?}"))
    };
    match layer {
        Layer::Ether { header, ethertype } => {
            let ethertype = ethertype.unwrap_or_else(inner_type).into();
            Ethernet { ethertype, ..*header }.as_bytes().to_vec()
        }
        Layer::Vlan { tag, ethertype, .. } => {
            let ethertype = ethertype.unwrap_or_else(inner_type).into();
            VlanTag { ethertype, ..*tag }.as_bytes().to_vec()
        }
        Layer::Arp(arp) => arp.as_bytes().to_vec(),
        Layer::Mpls(entry) => {
            let bottom = !matches!(inner, Some(Layer::Mpls(_)));
            MplsLabel::new(entry.label(), entry.class(), bottom, entry.ttl()).as_bytes().to_vec()
        }
        Layer::Ip4 { header, options, protocol, length, ihl, checksum } => {
            let mut header = *header;
            let words = ihl.unwrap_or(5 + (options.len() / 4) as u8);
            assert!(words < 16, "{words} words of IPv4 header");
            header.version_ihl = header.version_ihl & 0xf0 | words;
            header.total_len =
                U16::new(length.unwrap_or_else(|| fits(20 + options.len() + payload.len())));
            header.protocol = protocol.unwrap_or_else(inner_protocol);
            header.checksum = U16::ZERO;
            let sum = Sum::of(header.as_bytes()).with(options);
            header.checksum = U16::new(fill(*checksum, sum.finish(), 0));
            [header.as_bytes(), options].concat()
        }
        Layer::Ip6 { header, protocol, length } => {
            let mut header = *header;
            header.payload_len = U16::new(length.unwrap_or_else(|| fits(payload.len())));
            header.next_header = protocol.unwrap_or_else(inner_protocol);
            header.as_bytes().to_vec()
        }
        Layer::Ext { body, protocol, .. } => {
            [&[protocol.unwrap_or_else(inner_protocol).0], &body[..]].concat()
        }
        Layer::Udp { header, length, checksum } => {
            let real = 8 + payload.len();
            let mut header = *header;
            header.len = U16::new(length.unwrap_or_else(|| fits(real)));
            let pseudo = pseudo_sum(outer, layer.protocol(), real);
            let sum = pseudo + Sum::of(header.as_bytes()).with(payload);
            header.checksum = U16::new(fill(*checksum, sum.finish_udp(), pseudo.partial()));
            header.as_bytes().to_vec()
        }
        Layer::Tcp { header, options, ihl, checksum } => {
            let mut header = *header;
            let words = ihl.unwrap_or(5 + (options.len() / 4) as u8);
            assert!(words < 16, "{words} words of TCP header");
            header.data_offset = words << 4;
            let pseudo = pseudo_sum(outer, layer.protocol(), 20 + options.len() + payload.len());
            let sum = pseudo + Sum::of(header.as_bytes()).with(options).with(payload);
            header.checksum = U16::new(fill(*checksum, sum.finish(), pseudo.partial()));
            [header.as_bytes(), options].concat()
        }
        Layer::Icmp { v6, header, checksum } => {
            let mut header = *header;
            let len = 8 + payload.len();
            let pseudo = if *v6 { pseudo_sum(outer, IpProtocol::ICMP6, len) } else { Sum::ZERO };
            let sum = pseudo + Sum::of(header.as_bytes()).with(payload);
            header.checksum = U16::new(fill(*checksum, sum.finish(), pseudo.partial()));
            header.as_bytes().to_vec()
        }
        Layer::Gre { header, ethertype } => {
            let protocol = ethertype.unwrap_or_else(inner_type).into();
            Gre { protocol, ..*header }.as_bytes().to_vec()
        }
        Layer::Raw(bytes) => bytes.clone(),
    }
}

fn fill(how: Checksum, right: u16, partial: u16) -> u16 {
    match how {
        Checksum::Right => right,
        Checksum::Wrong => right ^ 0x0101,
        Checksum::Partial => partial,
        Checksum::Value(value) => value,
    }
}

/// The sum of the pseudo-header of the IP header nearest above; nothing without one.
fn pseudo_sum(outer: &[Layer], protocol: IpProtocol, len: usize) -> Sum {
    let len = len as u32;
    let sum = outer.iter().rev().find_map(|layer| match layer {
        Layer::Ip4 { header, .. } => Some(header.pseudo_sum(protocol, len)),
        Layer::Ip6 { header, .. } => Some(header.pseudo_sum(protocol, len)),
        _ => None,
    });
    sum.unwrap_or_default()
}

// SPDX-License-Identifier: Apache-2.0
//! The packet that goes into a tunnel.

use buffer::Buffer;
use net::Flow;
use wire::{EtherType, Ip4, Ip6, Ipv4Header, Ipv6Header};
use zerocopy::FromBytes;

/// Labels that are looked behind at most.
const LABELS: usize = 8;
/// Tags that are looked behind at most.
const TAGS: usize = 4;

/// The fields of a packet that goes into a tunnel which its outer header depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inner {
    /// Where its IP header begins.
    pub at: usize,
    /// 4 or 6; 0 for a frame without IP.
    pub version: u8,
    /// Type of service, traffic class.
    pub tos: u8,
    /// IPv4's "don't fragment".
    pub dont_fragment: bool,
    /// TTL, hop limit.
    pub hop_limit: u8,
    /// IPv6's flow label.
    pub label: u32,
}

impl Inner {
    /// Of a packet that begins with its IP header.
    #[inline(always)]
    pub fn of_packet(b: &Buffer) -> Self {
        Self::at(b, 0)
    }

    /// Of an Ethernet frame: its IP header may stand behind VLAN tags and MPLS labels.
    #[inline(always)]
    pub fn of_frame(b: &Buffer) -> Self {
        let mut at = 12;
        for _ in 0..=TAGS {
            let Some(&[t0, t1]) = b.bytes::<2>(at) else { return Self::default() };
            match EtherType(u16::from_be_bytes([t0, t1])) {
                EtherType::IP4 | EtherType::IP6 => return Self::at(b, at + 2),
                EtherType::MPLS => return Self::behind_labels(b, at + 2),
                ethertype if ethertype.is_vlan() => at += 4,
                _ => return Self::default(),
            }
        }
        Self::default()
    }

    #[inline(never)]
    fn behind_labels(b: &Buffer, from: usize) -> Self {
        // The lowest bit of a label's third byte says that it is the last one (RFC 3032 2.1).
        let last =
            (0..LABELS).find(|i| b.bytes::<4>(from + 4 * i).is_some_and(|label| label[2] & 1 != 0));
        last.map_or_else(Self::default, |i| Self::at(b, from + 4 * (i + 1)))
    }

    #[inline(always)]
    fn at(b: &Buffer, at: usize) -> Self {
        let version = b.bytes::<1>(at).map_or(0, |[first]| first >> 4);
        match version {
            4 => {
                let Some(ip) = b.bytes::<20>(at).and_then(|ip| Ipv4Header::ref_from_bytes(ip).ok())
                else {
                    return Self::default();
                };
                let dont_fragment = ip.dont_fragment();
                Self { at, version, tos: ip.tos, dont_fragment, hop_limit: ip.ttl, label: 0 }
            }
            6 => {
                let Some(ip) = b.bytes::<40>(at).and_then(|ip| Ipv6Header::ref_from_bytes(ip).ok())
                else {
                    return Self::default();
                };
                let tos = (ip.version_class_flow.get() >> 20) as u8;
                let (hop_limit, label) = (ip.hop_limit, ip.flow_label());
                Self { at, version, tos, dont_fragment: false, hop_limit, label }
            }
            _ => Self::default(),
        }
    }

    /// A hash of the flow: of addresses, protocol and ports, or of the MAC addresses of a frame
    /// without IP.
    #[inline(always)]
    pub fn flow(&self, b: &Buffer, flow: Flow) -> u32 {
        match self.version {
            4 => ip::flow_hash::<Ip4>(b, self.at, flow),
            6 => ip::flow_hash::<Ip6>(b, self.at, flow),
            _ => b.bytes::<12>(0).map_or(0, |macs| {
                let fold =
                    |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
                let hash = macs.iter().fold(0x811c_9dc5, fold);
                hash ^ hash >> 15
            }),
        }
    }
}

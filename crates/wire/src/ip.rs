// SPDX-License-Identifier: Apache-2.0
//! Protocol numbers and congestion marks, common to IPv4 and IPv6.

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// IPv4 protocol, IPv6 next header (IANA "protocol numbers").
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct IpProtocol(pub u8);

impl IpProtocol {
    /// IPv6 hop-by-hop options.
    pub const HOP_BY_HOP: Self = Self(0);
    /// ICMP for IPv4.
    pub const ICMP: Self = Self(1);
    /// IGMP.
    pub const IGMP: Self = Self(2);
    /// IPv4 in IP.
    pub const IP4: Self = Self(4);
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
    /// IPv6 in IP.
    pub const IP6: Self = Self(41);
    /// IPv6 routing header.
    pub const ROUTING: Self = Self(43);
    /// IPv6 fragment header.
    pub const FRAGMENT: Self = Self(44);
    /// RSVP.
    pub const RSVP: Self = Self(46);
    /// GRE.
    pub const GRE: Self = Self(47);
    /// Encapsulating security payload.
    pub const ESP: Self = Self(50);
    /// Authentication header.
    pub const AH: Self = Self(51);
    /// ICMPv6.
    pub const ICMP6: Self = Self(58);
    /// IPv6: nothing follows.
    pub const NO_NEXT: Self = Self(59);
    /// IPv6 destination options.
    pub const DEST_OPTIONS: Self = Self(60);
    /// EIGRP.
    pub const EIGRP: Self = Self(88);
    /// OSPF.
    pub const OSPF: Self = Self(89);
    /// PIM.
    pub const PIM: Self = Self(103);
    /// VRRP.
    pub const VRRP: Self = Self(112);
    /// L2TPv3 over IP.
    pub const L2TP: Self = Self(115);
    /// SCTP.
    pub const SCTP: Self = Self(132);
    /// IPv6 mobility header.
    pub const MOBILITY: Self = Self(135);
    /// UDP-Lite.
    pub const UDP_LITE: Self = Self(136);
    /// MPLS in IP.
    pub const MPLS: Self = Self(137);
    /// Host identity protocol.
    pub const HIP: Self = Self(139);
    /// Shim6.
    pub const SHIM6: Self = Self(140);
    /// Ethernet in IPv6 (RFC 8986).
    pub const ETHERNET: Self = Self(143);

    /// The name that traces print, `None` for a number without one here.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::HOP_BY_HOP => "IP6_HOP_BY_HOP_OPTIONS",
            Self::ICMP => "ICMP",
            Self::IGMP => "IGMP",
            Self::IP4 => "IP_IN_IP",
            Self::TCP => "TCP",
            Self::UDP => "UDP",
            Self::IP6 => "IPV6",
            Self::ROUTING => "IPV6_ROUTE",
            Self::FRAGMENT => "IPV6_FRAGMENTATION",
            Self::RSVP => "RSVP",
            Self::GRE => "GRE",
            Self::ESP => "IPSEC_ESP",
            Self::AH => "IPSEC_AH",
            Self::ICMP6 => "ICMP6",
            Self::NO_NEXT => "IP6_NONXT",
            Self::DEST_OPTIONS => "IP6_DESTINATION_OPTIONS",
            Self::EIGRP => "EIGRP",
            Self::OSPF => "OSPF",
            Self::PIM => "PIM",
            Self::VRRP => "VRRP",
            Self::L2TP => "L2TP",
            Self::SCTP => "SCTP",
            Self::MOBILITY => "MOBILITY",
            Self::UDP_LITE => "UDP_LITE",
            Self::MPLS => "MPLS_IN_IP",
            Self::HIP => "HIP",
            Self::SHIM6 => "SHIM6",
            Self::ETHERNET => "ETHERNET",
            _ => return None,
        })
    }

    /// An IPv6 extension header that [`crate::ExtHeaders`] can step over: its length is readable.
    #[inline(always)]
    pub const fn is_ip6_extension(self) -> bool {
        matches!(
            self,
            Self::HOP_BY_HOP
                | Self::ROUTING
                | Self::FRAGMENT
                | Self::AH
                | Self::DEST_OPTIONS
                | Self::MOBILITY
                | Self::HIP
                | Self::SHIM6
        )
    }
}

impl fmt::Display for IpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "protocol {}", self.0),
        }
    }
}

impl fmt::Debug for IpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Explicit congestion notification, the low two bits of the traffic class (RFC 3168 §5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    NotEct = 0,
    /// ECN-capable, codepoint 1.
    Ect1 = 1,
    /// ECN-capable, codepoint 0.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The mark in the low two bits of `traffic_class`.
    #[inline(always)]
    pub const fn of(traffic_class: u8) -> Self {
        match traffic_class & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NotEct => "NON_ECN",
            Self::Ect1 => "ECT_1",
            Self::Ect0 => "ECT_0",
            Self::Ce => "CE",
        })
    }
}

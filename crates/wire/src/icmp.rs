// SPDX-License-Identifier: Apache-2.0
//! ICMP (RFC 792) and ICMPv6 (RFC 4443).

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::U16;

/// The first 8 bytes of every ICMP and ICMPv6 message. What the last four mean depends on the type.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct IcmpHeader {
    /// Message type: an [`Icmp4Type`] or an [`Icmp6Type`].
    pub kind: u8,
    /// Code.
    pub code: u8,
    /// Checksum; ICMPv6's covers the pseudo-header.
    pub checksum: U16,
    /// Echo: identifier. Fragmentation needed: unused.
    pub id: U16,
    /// Echo: sequence number. Fragmentation needed: MTU of the next hop (RFC 1191).
    pub seq: U16,
}

impl IcmpHeader {
    /// Offset of the checksum field.
    pub const CHECKSUM_OFFSET: usize = 2;

    /// A header whose last four bytes are `rest` (host order) and whose checksum is still zero.
    #[inline(always)]
    pub fn new(kind: u8, code: u8, rest: u32) -> Self {
        let mut header = Self { kind, code, checksum: U16::ZERO, id: U16::ZERO, seq: U16::ZERO };
        header.set_rest(rest);
        header
    }

    /// The last four bytes as one word: gateway of a redirect, pointer of ICMPv6's parameter
    /// problem, MTU of packet-too-big.
    #[inline(always)]
    pub fn rest(&self) -> u32 {
        u32::from(self.id.get()) << 16 | u32::from(self.seq.get())
    }

    /// Writes the last four bytes.
    #[inline(always)]
    pub fn set_rest(&mut self, rest: u32) {
        self.id = U16::new((rest >> 16) as u16);
        self.seq = U16::new(rest as u16);
    }
}

/// ICMP message type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Icmp4Type(pub u8);

impl Icmp4Type {
    /// Echo reply.
    pub const ECHO_REPLY: Self = Self(0);
    /// Destination unreachable.
    pub const UNREACHABLE: Self = Self(3);
    /// Redirect.
    pub const REDIRECT: Self = Self(5);
    /// Echo request.
    pub const ECHO_REQUEST: Self = Self(8);
    /// Router advertisement (RFC 1256).
    pub const ROUTER_ADVERTISEMENT: Self = Self(9);
    /// Router solicitation (RFC 1256).
    pub const ROUTER_SOLICITATION: Self = Self(10);
    /// Time exceeded.
    pub const TIME_EXCEEDED: Self = Self(11);
    /// Parameter problem.
    pub const PARAMETER_PROBLEM: Self = Self(12);
    /// Time stamp request.
    pub const TIMESTAMP_REQUEST: Self = Self(13);
    /// Time stamp reply.
    pub const TIMESTAMP_REPLY: Self = Self(14);

    /// An error message: it quotes a packet, and no error may be sent about it (RFC 1812 §4.3.2.7).
    #[inline(always)]
    pub const fn is_error(self) -> bool {
        matches!(
            self,
            Self::UNREACHABLE
                | Self(4)
                | Self::REDIRECT
                | Self::TIME_EXCEEDED
                | Self::PARAMETER_PROBLEM
        )
    }
}

impl fmt::Display for Icmp4Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match *self {
            Self::ECHO_REPLY => "echo_reply",
            Self::UNREACHABLE => "destination_unreachable",
            Self(4) => "source_quench",
            Self::REDIRECT => "redirect",
            Self::ECHO_REQUEST => "echo_request",
            Self::ROUTER_ADVERTISEMENT => "router_advertisement",
            Self::ROUTER_SOLICITATION => "router_solicitation",
            Self::TIME_EXCEEDED => "time_exceeded",
            Self::PARAMETER_PROBLEM => "parameter_problem",
            Self::TIMESTAMP_REQUEST => "timestamp_request",
            Self::TIMESTAMP_REPLY => "timestamp_reply",
            Self(kind) => return write!(f, "type {kind}"),
        })
    }
}

/// Codes of [`Icmp4Type::UNREACHABLE`] (RFC 792, RFC 1812 §5.2.7.1), of `TIME_EXCEEDED` and
/// `REDIRECT`.
pub mod code4 {
    /// Unreachable: no route.
    pub const NET_UNREACHABLE: u8 = 0;
    /// Unreachable: the last hop gets no answer.
    pub const HOST_UNREACHABLE: u8 = 1;
    /// Unreachable: the host has no such protocol.
    pub const PROTOCOL_UNREACHABLE: u8 = 2;
    /// Unreachable: the host has no such port.
    pub const PORT_UNREACHABLE: u8 = 3;
    /// Unreachable: fragmentation needed but DF set.
    pub const FRAGMENTATION_NEEDED: u8 = 4;
    /// Unreachable: source route failed.
    pub const SOURCE_ROUTE_FAILED: u8 = 5;
    /// Unreachable: communication with the host administratively prohibited.
    pub const HOST_PROHIBITED: u8 = 10;
    /// Unreachable: communication administratively prohibited.
    pub const ADMIN_PROHIBITED: u8 = 13;
    /// Time exceeded: TTL ran out in transit.
    pub const TTL_IN_TRANSIT: u8 = 0;
    /// Time exceeded: a fragment is missing.
    pub const REASSEMBLY: u8 = 1;
    /// Redirect: for the host.
    pub const REDIRECT_HOST: u8 = 1;
}

/// ICMPv6 message type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Icmp6Type(pub u8);

impl Icmp6Type {
    /// Destination unreachable.
    pub const UNREACHABLE: Self = Self(1);
    /// Packet too big; the last word is the MTU.
    pub const PACKET_TOO_BIG: Self = Self(2);
    /// Time exceeded.
    pub const TIME_EXCEEDED: Self = Self(3);
    /// Parameter problem; the last word points at the byte.
    pub const PARAMETER_PROBLEM: Self = Self(4);
    /// Echo request.
    pub const ECHO_REQUEST: Self = Self(128);
    /// Echo reply.
    pub const ECHO_REPLY: Self = Self(129);
    /// Multicast listener query.
    pub const MLD_QUERY: Self = Self(130);
    /// Multicast listener report, version 1.
    pub const MLD_REPORT: Self = Self(131);
    /// Multicast listener done.
    pub const MLD_DONE: Self = Self(132);
    /// Router solicitation (RFC 4861).
    pub const ROUTER_SOLICITATION: Self = Self(133);
    /// Router advertisement.
    pub const ROUTER_ADVERTISEMENT: Self = Self(134);
    /// Neighbour solicitation.
    pub const NEIGHBOR_SOLICITATION: Self = Self(135);
    /// Neighbour advertisement.
    pub const NEIGHBOR_ADVERTISEMENT: Self = Self(136);
    /// Redirect.
    pub const REDIRECT: Self = Self(137);
    /// Multicast listener report, version 2 (RFC 3810).
    pub const MLD2_REPORT: Self = Self(143);

    /// An error message: it quotes a packet, and no error may be sent about it (RFC 4443 §2.4).
    #[inline(always)]
    pub const fn is_error(self) -> bool {
        self.0 < 128
    }
}

impl fmt::Display for Icmp6Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match *self {
            Self::UNREACHABLE => "destination_unreachable",
            Self::PACKET_TOO_BIG => "packet_too_big",
            Self::TIME_EXCEEDED => "time_exceeded",
            Self::PARAMETER_PROBLEM => "parameter_problem",
            Self::ECHO_REQUEST => "echo_request",
            Self::ECHO_REPLY => "echo_reply",
            Self::MLD_QUERY => "multicast_listener_request",
            Self::MLD_REPORT => "multicast_listener_report",
            Self::MLD_DONE => "multicast_listener_done",
            Self::ROUTER_SOLICITATION => "router_solicitation",
            Self::ROUTER_ADVERTISEMENT => "router_advertisement",
            Self::NEIGHBOR_SOLICITATION => "neighbor_solicitation",
            Self::NEIGHBOR_ADVERTISEMENT => "neighbor_advertisement",
            Self::REDIRECT => "redirect",
            Self::MLD2_REPORT => "multicast_listener_report_v2",
            Self(kind) => return write!(f, "type {kind}"),
        })
    }
}

/// Codes of ICMPv6 errors (RFC 4443 §3).
pub mod code6 {
    /// Unreachable: no route.
    pub const NO_ROUTE: u8 = 0;
    /// Unreachable: administratively prohibited.
    pub const ADMIN_PROHIBITED: u8 = 1;
    /// Unreachable: the source address means nothing where the packet would go.
    pub const BEYOND_SCOPE: u8 = 2;
    /// Unreachable: the last hop gets no answer.
    pub const ADDRESS_UNREACHABLE: u8 = 3;
    /// Unreachable: no such port.
    pub const PORT_UNREACHABLE: u8 = 4;
    /// Time exceeded: hop limit ran out in transit.
    pub const HOP_LIMIT_IN_TRANSIT: u8 = 0;
    /// Time exceeded: a fragment is missing.
    pub const REASSEMBLY: u8 = 1;
    /// Parameter problem: erroneous header field.
    pub const ERRONEOUS_FIELD: u8 = 0;
    /// Parameter problem: unknown next header.
    pub const UNKNOWN_NEXT_HEADER: u8 = 1;
    /// Parameter problem: unknown option.
    pub const UNKNOWN_OPTION: u8 = 2;
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::Header;

    #[suite::test]
    fn echo_and_rest() {
        let bytes = [8, 0, 0x12, 0x34, 0, 7, 1, 2];
        let icmp = IcmpHeader::view(&bytes).unwrap();
        assert_eq!(
            (icmp.kind, icmp.id.get(), icmp.seq.get()),
            (Icmp4Type::ECHO_REQUEST.0, 7, 0x102)
        );
        assert_eq!(IcmpHeader::new(3, code4::FRAGMENTATION_NEEDED, 1500).seq.get(), 1500);
        assert_eq!(IcmpHeader::new(5, 1, 0x0a00_0001).rest(), 0x0a00_0001);
        assert!(Icmp4Type::TIME_EXCEEDED.is_error() && !Icmp4Type::ECHO_REPLY.is_error());
        assert!(Icmp6Type::PACKET_TOO_BIG.is_error() && !Icmp6Type::ECHO_REQUEST.is_error());
        assert_eq!(Icmp4Type(200).to_string(), "type 200");
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Neighbour discovery for IPv6 (RFC 4861): the five messages, and their options in [`NdOptions`].

mod option;

pub use option::{
    Domains, LinkOption, MAX_ND_OPTIONS, MtuOption, NdOption, NdOptionError, NdOptionKind,
    NdOptions, PrefixInfo, RawNdOption, RouteInfo,
};

use core::net::Ipv6Addr;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Icmp6Type, U16, U32};

/// Hop limit of every message: one that was forwarded has less (RFC 4861 §3.1).
pub const HOP_LIMIT: u8 = 255;
/// All nodes of a link.
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// All routers of a link.
pub const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

/// The group that all hosts join whose address ends in the same 24 bits (RFC 4291 §2.7.1).
#[inline(always)]
pub const fn solicited_node(addr: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = addr.octets();
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | a as u16, (b as u16) << 8 | c as u16)
}

/// The common part of neighbour solicitation and advertisement, 24 bytes; options follow (RFC 4861
/// §4.3, §4.4).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct NeighborMessage {
    /// Message type.
    pub kind: u8,
    /// Code, 0.
    pub code: u8,
    /// Checksum.
    pub checksum: U16,
    /// Advertisement: [`NeighborMessage::ROUTER`] and the like; solicitation: zero.
    pub flags: U32,
    /// The address in question.
    pub target: [u8; 16],
}

impl NeighborMessage {
    /// The sender is a router.
    pub const ROUTER: u32 = 1 << 31;
    /// An answer to a solicitation.
    pub const SOLICITED: u32 = 1 << 30;
    /// The receiver shall replace its cached address.
    pub const OVERRIDE: u32 = 1 << 29;

    /// A solicitation for the link-layer address of `target`; the checksum is still zero.
    pub fn solicitation(target: Ipv6Addr) -> Self {
        Self::new(Icmp6Type::NEIGHBOR_SOLICITATION, 0, target)
    }

    /// An advertisement of `target`; the checksum is still zero.
    pub fn advertisement(flags: u32, target: Ipv6Addr) -> Self {
        Self::new(Icmp6Type::NEIGHBOR_ADVERTISEMENT, flags, target)
    }

    fn new(kind: Icmp6Type, flags: u32, target: Ipv6Addr) -> Self {
        Self {
            kind: kind.0,
            code: 0,
            checksum: U16::ZERO,
            flags: U32::new(flags),
            target: target.octets(),
        }
    }

    /// The address in question.
    #[inline(always)]
    pub fn target(&self) -> Ipv6Addr {
        self.target.into()
    }

    /// Returns true if all of these flags are set.
    #[inline(always)]
    pub fn has(&self, flags: u32) -> bool {
        self.flags.get() & flags == flags
    }
}

/// Router solicitation, 8 bytes; options follow (RFC 4861 §4.1).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct RouterSolicitation {
    /// Message type.
    pub kind: u8,
    /// Code, 0.
    pub code: u8,
    /// Checksum.
    pub checksum: U16,
    /// Zero when sent, ignored when received.
    pub reserved: U32,
}

impl RouterSolicitation {
    /// A solicitation for the routers of the link; the checksum is still zero.
    pub fn new() -> Self {
        let kind = Icmp6Type::ROUTER_SOLICITATION.0;
        Self { kind, code: 0, checksum: U16::ZERO, reserved: U32::ZERO }
    }
}

impl Default for RouterSolicitation {
    fn default() -> Self {
        Self::new()
    }
}

/// Router advertisement, 16 bytes; options follow (RFC 4861 §4.2).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct RouterAdvertisement {
    /// Message type.
    pub kind: u8,
    /// Code, 0.
    pub code: u8,
    /// Checksum.
    pub checksum: U16,
    /// Hop limit that hosts put in their packets; 0 if unspecified.
    pub hop_limit: u8,
    /// [`RouterAdvertisement::MANAGED`] and the like, and the router's preference.
    pub flags: u8,
    /// Seconds that the sender is a default router from now on; 0 if it is none.
    pub lifetime: U16,
    /// Milliseconds that a neighbour counts as reachable; 0 if unspecified.
    pub reachable: U32,
    /// Milliseconds between two solicitations; 0 if unspecified.
    pub retransmit: U32,
}

impl RouterAdvertisement {
    /// Addresses come by DHCPv6.
    pub const MANAGED: u8 = 0x80;
    /// Other things come by DHCPv6.
    pub const OTHER: u8 = 0x40;

    /// Preference among default routers (RFC 4191 §2.2): 1 high, 0 medium (also for the reserved
    /// value), −1 low.
    pub fn preference(&self) -> i8 {
        preference(self.flags)
    }
}

/// The preference of bits 3 and 4 (RFC 4191 §2.1).
fn preference(flags: u8) -> i8 {
    match flags >> 3 & 3 {
        1 => 1,
        3 => -1,
        _ => 0,
    }
}

/// Redirect, 40 bytes; options follow (RFC 4861 §4.5).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Redirect {
    /// Message type.
    pub kind: u8,
    /// Code, 0.
    pub code: u8,
    /// Checksum.
    pub checksum: U16,
    /// Zero when sent, ignored when received.
    pub reserved: U32,
    /// A better first hop, or the destination itself if it is a neighbour.
    pub target: [u8; 16],
    /// For packets to this address.
    pub destination: [u8; 16],
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::Header;

    #[suite::test]
    fn sizes_and_groups() {
        assert_eq!((NeighborMessage::LEN, RouterSolicitation::LEN), (24, 8));
        assert_eq!((RouterAdvertisement::LEN, Redirect::LEN), (16, 40));
        let group = solicited_node("2001:db8::1:800:200e:8c6c".parse().unwrap());
        assert_eq!(group, "ff02::1:ff0e:8c6c".parse::<Ipv6Addr>().unwrap());
        for (flags, want) in [(0, 0), (0x08, 1), (0x18, -1), (0x10, 0), (0xe7, 0)] {
            assert_eq!(preference(flags), want);
        }
    }

    #[suite::test]
    fn bytes_of_an_advertisement() {
        let target: Ipv6Addr = "fe80::1".parse().unwrap();
        let na = NeighborMessage::advertisement(
            NeighborMessage::ROUTER | NeighborMessage::OVERRIDE,
            target,
        );
        assert_eq!(na.as_bytes()[..8], [136, 0, 0, 0, 0xa0, 0, 0, 0]);
        assert_eq!(na.target(), target);
        assert!(na.has(NeighborMessage::ROUTER) && !na.has(NeighborMessage::SOLICITED));
    }
}

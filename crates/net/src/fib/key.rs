// SPDX-License-Identifier: Apache-2.0
//! Tables and prefixes of any link type, as the control side names them.

use super::TableIndex;
use crate::Link;
use std::net::IpAddr;

/// A table of any link type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TableRef {
    /// The link type of the packets that are looked up in it.
    pub link: Link,
    /// Its index among the tables of this link type.
    pub index: TableIndex,
}

impl TableRef {
    /// A table of IPv4 or IPv6, whichever the address is of.
    pub const fn of_address(index: TableIndex, address: IpAddr) -> Self {
        Self { link: Link::of(address), index }
    }
}

/// A prefix of a table: the first `len` bits of a key. Keys are in host order and right-aligned: an
/// IPv4 address takes the lower 32 bits, an MPLS label the lower 20.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RouteKey {
    /// The key, without host bits.
    pub bits: u128,
    /// The prefix length.
    pub len: u8,
}

/// The bits of an address as a [`RouteKey`] has them.
pub const fn bits_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits() as u128,
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Number of bits of such an address.
pub const fn width_of(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

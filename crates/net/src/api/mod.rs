// SPDX-License-Identifier: Apache-2.0
//! Types of the binary API that several modules share, and their conversion to and from internal
//! types.

mod path;

pub use path::{
    FibMplsLabel, FibPath, FibPathFlags, FibPathNh, FibPathNhProto, FibPathType, NO_INDEX, path_of,
    path_to,
};

use crate::{Interfaces, Net};
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::retval;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::MacAddr;

/// A number of a message; all bits set stand for none.
pub fn given(number: u32) -> Option<u32> {
    (number != u32::MAX).then_some(number)
}

/// Calls a function for the IP version that a request names, or computes an expression in which a
/// type is of that version.
#[macro_export]
macro_rules! by_version {
    ($is_ip6:expr, $F:ident => $done:expr) => {
        if $is_ip6 {
            type $F = wire::Ip6;
            $done
        } else {
            type $F = wire::Ip4;
            $done
        }
    };
    ($is_ip6:expr, $f:ident($($arg:expr),* $(,)?)) => {
        if $is_ip6 { $f::<wire::Ip6>($($arg),*) } else { $f::<wire::Ip4>($($arg),*) }
    };
}

msg::messages! {
    /// An interface. All bits set is no interface, or all of them.
    InterfaceIndex,
    /// A protocol; others by their number.
    flags IpProto,
    /// A MAC address.
    MacAddress,
    /// The address family.
    AddressFamily,
    /// An IPv4 address.
    Ip4Address,
    /// An IPv6 address.
    Ip6Address,
    /// An address of either family, which another field names.
    AddressUnion,
    /// An address with its family.
    Address,
    /// An address and its prefix length.
    Prefix,
    /// A prefix whose host bits are an interface's address.
    AddressWithPrefix,
    /// An IPv4 prefix.
    Ip4Prefix,
    /// An IPv6 prefix.
    Ip6Prefix,
    /// An IPv4 prefix whose host bits are an interface's address.
    Ip4AddressWithPrefix,
    /// An IPv6 prefix whose host bits are an interface's address.
    Ip6AddressWithPrefix,
    /// Seconds, as a floating-point number.
    Timedelta,
    /// Seconds since 1970, as a floating-point number.
    Timestamp,
    /// States of an interface.
    flags IfStatusFlags,
}

impl InterfaceIndex {
    /// No interface, or all.
    pub const NONE: Self = Self(u32::MAX);

    /// The interface, or none.
    pub fn given(self) -> Option<SwIfIndex> {
        (self != Self::NONE).then_some(SwIfIndex(self.0))
    }

    /// The interface, if it exists.
    ///
    /// # Errors
    /// −2 otherwise.
    pub fn existing(self, world: &World) -> Result<SwIfIndex> {
        let sw_if = SwIfIndex(self.0);
        world.get::<Interfaces>().get(sw_if).map(|_| sw_if)
    }

    /// An interface that exists, or `None` for all.
    ///
    /// # Errors
    /// −2 for one that doesn't exist.
    pub fn existing_or_all(self, world: &World) -> Result<Option<SwIfIndex>> {
        if self == Self::NONE { Ok(None) } else { self.existing(world).map(Some) }
    }
}

impl From<SwIfIndex> for InterfaceIndex {
    fn from(sw_if: SwIfIndex) -> Self {
        Self(sw_if.0)
    }
}

/// Without an interface, [`InterfaceIndex::NONE`].
impl From<Option<SwIfIndex>> for InterfaceIndex {
    fn from(sw_if: Option<SwIfIndex>) -> Self {
        sw_if.map_or(Self::NONE, Self::from)
    }
}

impl From<MacAddr> for MacAddress {
    fn from(mac: MacAddr) -> Self {
        Self(mac.octets())
    }
}

impl From<MacAddress> for MacAddr {
    fn from(mac: MacAddress) -> Self {
        MacAddr(mac.0)
    }
}

impl AddressFamily {
    /// Returns true for IPv6.
    pub fn is_ip6(self) -> bool {
        self == Self::Ip6
    }

    /// The family of an address.
    pub fn of(addr: IpAddr) -> Self {
        if addr.is_ipv6() { Self::Ip6 } else { Self::Ip4 }
    }
}

impl AddressUnion {
    /// As an IPv4 address: the first four bytes.
    pub fn ip4(self) -> Ipv4Addr {
        let [a, b, c, d, ..] = self.0;
        Ipv4Addr::new(a, b, c, d)
    }

    /// As an address of this family.
    pub fn of(self, af: AddressFamily) -> IpAddr {
        if af.is_ip6() { Ipv6Addr::from(self.0).into() } else { self.ip4().into() }
    }
}

impl From<IpAddr> for AddressUnion {
    fn from(addr: IpAddr) -> Self {
        let mut bytes = [0; 16];
        match addr {
            IpAddr::V4(a) => bytes[..4].copy_from_slice(&a.octets()),
            IpAddr::V6(a) => bytes = a.octets(),
        }
        Self(bytes)
    }
}

impl From<IpAddr> for Address {
    fn from(addr: IpAddr) -> Self {
        Self { af: AddressFamily::of(addr), un: addr.into() }
    }
}

impl From<Address> for IpAddr {
    fn from(addr: Address) -> Self {
        addr.un.of(addr.af)
    }
}

impl Prefix {
    /// Converts to a prefix of this family; `None` for one of the other.
    ///
    /// # Errors
    /// A length that is too large for its family (−7).
    pub fn of<F: Net>(&self) -> Result<Option<wire::Prefix<F::Addr>>> {
        let addr = IpAddr::from(self.address);
        if self.len > if addr.is_ipv6() { 128 } else { 32 } {
            return Err(self.too_long());
        }
        Ok(F::of_ip(addr).and_then(|addr| wire::Prefix::new(addr, self.len)))
    }

    fn too_long(&self) -> Error {
        let addr = IpAddr::from(self.address);
        Error::parse(format!("{addr} has no network of {} bits", self.len))
            .retval(retval::INVALID_VALUE)
    }
}

impl<A: Copy + Into<IpAddr> + wire::Address> From<wire::Prefix<A>> for Prefix {
    fn from(prefix: wire::Prefix<A>) -> Self {
        let addr: IpAddr = prefix.addr().into();
        Self { address: addr.into(), len: prefix.len() }
    }
}

impl IfStatusFlags {
    /// Of an interface.
    pub fn of(i: &crate::Interface) -> Self {
        Self::ADMIN_UP.when(i.admin_up) | Self::LINK_UP.when(i.link_up)
    }
}

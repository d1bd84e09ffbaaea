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
use msg::{Field, Malformed, Messages, Module, Reader, Shape, Type, Wire, retval};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::MacAddr;

/// A feature's part of the module `interface`: the features that own interfaces, loopbacks,
/// addresses and captures share it.
pub const fn interface_module(messages: fn(&mut Messages<World>)) -> Module<World> {
    Module { name: "interface", version: "3.2.4", crc: 0xcf70_04cc, core: true, messages }
}

/// A part of the module `ip`, to which several features contribute messages.
pub const fn ip_module(messages: fn(&mut Messages<World>)) -> Module<World> {
    Module { name: "ip", version: "3.2.0", crc: 0xc55a_ec44, core: true, messages }
}

/// Calls a function for the IP version that a request names.
#[macro_export]
macro_rules! by_version {
    ($is_ip6:expr, $f:ident($($arg:expr),* $(,)?)) => {
        if $is_ip6 { $f::<wire::Ip6>($($arg),*) } else { $f::<wire::Ip4>($($arg),*) }
    };
}

/// An interface. All bits set is no interface, or all of them.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceIndex(pub u32);

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

/// The number of a protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IpProto(pub u8);

impl Wire for IpProto {
    fn describe() -> Type {
        let names = [
            ("IP_API_PROTO_HOPOPT", 0),
            ("IP_API_PROTO_ICMP", 1),
            ("IP_API_PROTO_IGMP", 2),
            ("IP_API_PROTO_TCP", 6),
            ("IP_API_PROTO_UDP", 17),
            ("IP_API_PROTO_GRE", 47),
            ("IP_API_PROTO_ESP", 50),
            ("IP_API_PROTO_AH", 51),
            ("IP_API_PROTO_ICMP6", 58),
            ("IP_API_PROTO_EIGRP", 88),
            ("IP_API_PROTO_OSPF", 89),
            ("IP_API_PROTO_SCTP", 132),
            ("IP_API_PROTO_RESERVED", 255),
        ];
        Type::new(
            "ip_proto",
            "A protocol; others by their number.",
            Shape::enumeration::<u8>(names.to_vec()),
        )
    }
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn get(r: &mut Reader<'_>) -> std::result::Result<Self, Malformed> {
        Wire::get(r).map(Self)
    }
}

impl From<SwIfIndex> for InterfaceIndex {
    fn from(sw_if: SwIfIndex) -> Self {
        Self(sw_if.0)
    }
}

/// A MAC address.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MacAddress(pub [u8; 6]);

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

/// The address family.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[wire(prefix = "ADDRESS_")]
pub enum AddressFamily {
    /// IPv4.
    #[default]
    Ip4 = 0,
    /// IPv6.
    Ip6 = 1,
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

/// An IPv4 address.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ip4Address(pub [u8; 4]);

/// An IPv6 address.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ip6Address(pub [u8; 16]);

/// An address of either family, which another field names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressUnion(pub [u8; 16]);

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

impl Wire for AddressUnion {
    fn describe() -> Type {
        let arms = vec![Field::one::<Ip4Address>("ip4", ""), Field::one::<Ip6Address>("ip6", "")];
        Type::new("address_union", "An address of either family.", Shape::Union(arms))
    }
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Wire::get(r).map(Self)
    }
}

/// An address with its family.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The family.
    pub af: AddressFamily,
    /// The address.
    pub un: AddressUnion,
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

/// An address and its prefix length.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// The address, host bits too.
    pub address: Address,
    /// Bits that name the network.
    pub len: u8,
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

/// A prefix whose host bits are an interface's address.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressWithPrefix(pub Prefix);

/// An IPv4 prefix.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ip4Prefix {
    /// The address, host bits too.
    pub address: Ip4Address,
    /// Bits that name the network.
    pub len: u8,
}

/// An IPv6 prefix.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ip6Prefix {
    /// The address, host bits too.
    pub address: Ip6Address,
    /// Bits that name the network.
    pub len: u8,
}

/// An IPv4 prefix whose host bits are an interface's address.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ip4AddressWithPrefix(pub Ip4Prefix);

/// An IPv6 prefix whose host bits are an interface's address.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ip6AddressWithPrefix(pub Ip6Prefix);

/// Seconds, as a floating-point number.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq)]
pub struct Timedelta(pub f64);

/// Seconds since 1970, as a floating-point number.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq)]
pub struct Timestamp(pub f64);

msg::flags! {
    /// States of an interface.
    pub struct IfStatusFlags: u32 = enum "if_status_flags" {
        ADMIN_UP = 1 => "IF_STATUS_API_FLAG_ADMIN_UP",
        LINK_UP = 2 => "IF_STATUS_API_FLAG_LINK_UP",
    }
}

impl IfStatusFlags {
    /// Of an interface.
    pub fn of(i: &crate::Interface) -> Self {
        Self::ADMIN_UP.when(i.admin_up) | Self::LINK_UP.when(i.link_up)
    }
}

// SPDX-License-Identifier: Apache-2.0
//! ARP for IPv4 over Ethernet (RFC 826).

use core::{fmt, net::Ipv4Addr};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{EtherType, MacAddr, U16};

/// ARP operation, in host order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ArpOp(pub u16);

impl ArpOp {
    /// Request for the link-layer address of the target.
    pub const REQUEST: Self = Self(1);
    /// Reply with the link-layer address of the sender.
    pub const REPLY: Self = Self(2);
}

impl fmt::Display for ArpOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::REQUEST => f.pad("request"),
            Self::REPLY => f.pad("reply"),
            Self(3) => f.pad("reverse request"),
            Self(4) => f.pad("reverse reply"),
            Self(op) => write!(f, "operation {op}"),
        }
    }
}

/// An ARP packet with Ethernet and IPv4 addresses, 28 bytes. [`Arp::is_ethernet_ip4`] says whether
/// the bytes are one.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Arp {
    /// Hardware space, 1 for Ethernet.
    pub hardware: U16,
    /// Protocol space, the Ethernet type of IPv4.
    pub protocol: U16,
    /// Bytes of a hardware address, 6.
    pub hardware_len: u8,
    /// Bytes of a protocol address, 4.
    pub protocol_len: u8,
    /// Operation.
    pub op: U16,
    /// Hardware address of the sender.
    pub sender_mac: MacAddr,
    /// Protocol address of the sender.
    pub sender_ip: [u8; 4],
    /// Hardware address of the target; of no meaning in a request.
    pub target_mac: MacAddr,
    /// Protocol address of the target.
    pub target_ip: [u8; 4],
}

impl Arp {
    /// A packet for Ethernet and IPv4.
    pub fn new(op: ArpOp, sender: (MacAddr, Ipv4Addr), target: (MacAddr, Ipv4Addr)) -> Self {
        Self {
            hardware: U16::new(1),
            protocol: EtherType::IP4.into(),
            hardware_len: 6,
            protocol_len: 4,
            op: U16::new(op.0),
            sender_mac: sender.0,
            sender_ip: sender.1.octets(),
            target_mac: target.0,
            target_ip: target.1.octets(),
        }
    }

    /// Returns true if the address spaces and lengths are those of Ethernet and IPv4.
    #[inline(always)]
    pub fn is_ethernet_ip4(&self) -> bool {
        self.hardware.get() == 1
            && self.protocol.get() == EtherType::IP4.0
            && self.hardware_len == 6
            && self.protocol_len == 4
    }

    /// Operation.
    #[inline(always)]
    pub fn op(&self) -> ArpOp {
        ArpOp(self.op.get())
    }

    /// Protocol address of the sender.
    #[inline(always)]
    pub fn sender_ip(&self) -> Ipv4Addr {
        self.sender_ip.into()
    }

    /// Protocol address of the target.
    #[inline(always)]
    pub fn target_ip(&self) -> Ipv4Addr {
        self.target_ip.into()
    }

    /// The sender asks for or announces its own address (RFC 5227 §3).
    #[inline(always)]
    pub fn is_gratuitous(&self) -> bool {
        self.sender_ip == self.target_ip
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::Header;
    use zerocopy::IntoBytes;

    #[suite::test]
    fn bytes_of_a_request() {
        let me = MacAddr([2, 0xfe, 0, 0, 0, 1]);
        let arp = Arp::new(
            ArpOp::REQUEST,
            (me, [10, 0, 0, 1].into()),
            (MacAddr::ZERO, [10, 0, 0, 2].into()),
        );
        let bytes = [
            0, 1, 8, 0, 6, 4, 0, 1, 2, 0xfe, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2,
        ];
        assert_eq!(arp.as_bytes(), bytes);
        let seen = Arp::view(&bytes).unwrap();
        assert!(seen.is_ethernet_ip4() && !seen.is_gratuitous());
        assert_eq!(seen.op(), ArpOp::REQUEST);
        assert_eq!(seen.target_ip(), Ipv4Addr::new(10, 0, 0, 2));
    }
}

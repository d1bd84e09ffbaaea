// SPDX-License-Identifier: Apache-2.0
//! IPv4 and IPv6 behind one trait, so that what is the same is written once.

use core::{
    fmt::{Debug, Display},
    hash::Hash,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::{BitAnd, BitOr, Not},
    str::FromStr,
};

use crate::{Ecn, EtherType, Header, IpProtocol, Ipv4Header, Ipv6Header, checksum::Sum};

/// An internet protocol: [`Ip4`] or [`Ip6`].
pub trait Family: Copy + Eq + Ord + Hash + Debug + Default + Send + Sync + 'static {
    /// Its addresses.
    type Addr: Address<Family = Self>;
    /// The fixed part of its header.
    type Header: IpHeader<Addr = Self::Addr>;

    /// False for IPv4, true for IPv6: for names and constants that differ.
    const IS_V6: bool;
    /// `ip4` or `ip6`, as node names begin.
    const NAME: &'static str;
    /// 4 or 6.
    const VERSION: u8;
    /// Bits of an address: the greatest prefix length.
    const BITS: u8;
    /// Bytes of an address.
    const ADDR_LEN: usize = Self::BITS as usize / 8;
    /// Bytes of the fixed header.
    const HEADER_LEN: usize = size_of::<Self::Header>();
    /// Its Ethernet type.
    const ETHERTYPE: EtherType;
    /// ICMP or ICMPv6.
    const ICMP: IpProtocol;
    /// This protocol carried in IP.
    const IN_IP: IpProtocol;
    /// Every link carries packets of this many bytes (RFC 791, RFC 8200 §5).
    const MIN_MTU: u16;
}

/// IPv4.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Ip4;

/// IPv6.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Ip6;

impl Family for Ip4 {
    type Addr = Ipv4Addr;
    type Header = Ipv4Header;
    const IS_V6: bool = false;
    const NAME: &'static str = "ip4";
    const VERSION: u8 = 4;
    const BITS: u8 = 32;
    const ETHERTYPE: EtherType = EtherType::IP4;
    const ICMP: IpProtocol = IpProtocol::ICMP;
    const IN_IP: IpProtocol = IpProtocol::IP4;
    const MIN_MTU: u16 = 68;
}

impl Family for Ip6 {
    type Addr = Ipv6Addr;
    type Header = Ipv6Header;
    const IS_V6: bool = true;
    const NAME: &'static str = "ip6";
    const VERSION: u8 = 6;
    const BITS: u8 = 128;
    const ETHERTYPE: EtherType = EtherType::IP6;
    const ICMP: IpProtocol = IpProtocol::ICMP6;
    const IN_IP: IpProtocol = IpProtocol::IP6;
    const MIN_MTU: u16 = 1280;
}

/// An address of a [`Family`].
pub trait Address:
    Copy
    + Eq
    + Ord
    + Hash
    + Debug
    + Display
    + FromStr
    + Into<IpAddr>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Not<Output = Self>
    + Send
    + Sync
    + 'static
{
    /// The protocol it belongs to.
    type Family: Family<Addr = Self>;
    /// `[u8; 4]` or `[u8; 16]`, in the order of the wire.
    type Octets: Copy + Eq + Hash + Debug + AsRef<[u8]> + Header;

    /// `0.0.0.0` or `::`.
    const ZERO: Self;

    /// The bytes on the wire.
    fn to_octets(self) -> Self::Octets;
    /// From the bytes on the wire.
    fn of_octets(octets: Self::Octets) -> Self;
    /// `len` leading ones, then zeros; `len` above the width counts as the width.
    fn mask(len: u8) -> Self;
    /// Number of leading bits that `self` and `other` share.
    fn common_bits(self, other: Self) -> u8;
    /// Bit `i`, counted from the most significant; false beyond the end.
    fn bit(self, i: u8) -> bool;
    /// Returns true if in the multicast range.
    fn multicast(self) -> bool;
    /// Returns true if on-link only: 169.254.0.0/16, fe80::/10.
    fn link_local(self) -> bool;
}

impl Address for Ipv4Addr {
    type Family = Ip4;
    type Octets = [u8; 4];
    const ZERO: Self = Self::UNSPECIFIED;

    #[inline(always)]
    fn to_octets(self) -> [u8; 4] {
        self.octets()
    }

    #[inline(always)]
    fn of_octets(octets: [u8; 4]) -> Self {
        octets.into()
    }

    #[inline(always)]
    fn mask(len: u8) -> Self {
        Self::from_bits(!u32::MAX.checked_shr(len.into()).unwrap_or(0))
    }

    #[inline(always)]
    fn common_bits(self, other: Self) -> u8 {
        (self.to_bits() ^ other.to_bits()).leading_zeros() as u8
    }

    #[inline(always)]
    fn bit(self, i: u8) -> bool {
        i < 32 && self.to_bits() << i >> 31 != 0
    }

    #[inline(always)]
    fn multicast(self) -> bool {
        self.is_multicast()
    }

    #[inline(always)]
    fn link_local(self) -> bool {
        self.is_link_local()
    }
}

impl Address for Ipv6Addr {
    type Family = Ip6;
    type Octets = [u8; 16];
    const ZERO: Self = Self::UNSPECIFIED;

    #[inline(always)]
    fn to_octets(self) -> [u8; 16] {
        self.octets()
    }

    #[inline(always)]
    fn of_octets(octets: [u8; 16]) -> Self {
        octets.into()
    }

    #[inline(always)]
    fn mask(len: u8) -> Self {
        Self::from_bits(!u128::MAX.checked_shr(len.into()).unwrap_or(0))
    }

    #[inline(always)]
    fn common_bits(self, other: Self) -> u8 {
        (self.to_bits() ^ other.to_bits()).leading_zeros() as u8
    }

    #[inline(always)]
    fn bit(self, i: u8) -> bool {
        i < 128 && self.to_bits() << i >> 127 != 0
    }

    #[inline(always)]
    fn multicast(self) -> bool {
        self.is_multicast()
    }

    #[inline(always)]
    fn link_local(self) -> bool {
        self.is_unicast_link_local()
    }
}

/// The common part of the two IP headers. The bytes may be anything: no accessor checks the
/// version.
pub trait IpHeader: Header + Copy + Debug {
    /// Address type.
    type Addr: Address;

    /// The version field.
    fn version(&self) -> u8;
    /// Source.
    fn src(&self) -> Self::Addr;
    /// Destination.
    fn dst(&self) -> Self::Addr;
    /// Writes the source; leaves every checksum alone.
    fn set_src(&mut self, addr: Self::Addr);
    /// Writes the destination; leaves every checksum alone.
    fn set_dst(&mut self, addr: Self::Addr);
    /// Time to live, hop limit.
    fn ttl(&self) -> u8;
    /// Takes one from a TTL of at least 1 and mends the header checksum, where there is one (RFC
    /// 1624).
    fn decrement_ttl(&mut self);
    /// Protocol of the payload; for IPv6 the next header, which may be an extension.
    fn protocol(&self) -> IpProtocol;
    /// DSCP and ECN together.
    fn traffic_class(&self) -> u8;
    /// Bytes of the header: IPv4 with its options, IPv6 without extensions.
    fn header_len(&self) -> usize;
    /// Bytes of header and payload as the header says. (IPv6: a jumbogram's 0 gives 40.)
    fn packet_len(&self) -> usize;
    /// Sum of the pseudo-header for an upper layer of `protocol` with `len` bytes (RFC 9293 §3.1,
    /// RFC 8200 §8.1).
    fn pseudo_sum(&self, protocol: IpProtocol, len: u32) -> Sum;

    /// Differentiated services code point, 6 bits.
    #[inline(always)]
    fn dscp(&self) -> u8 {
        self.traffic_class() >> 2
    }

    /// Congestion mark.
    #[inline(always)]
    fn ecn(&self) -> Ecn {
        Ecn::of(self.traffic_class())
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn checks<A: Address>(a: A, b: A, i: u8) {
        let same = (0..A::Family::BITS).take_while(|&i| a.bit(i) == b.bit(i)).count() as u8;
        assert_eq!(a.common_bits(b), same);
        assert_eq!(a.common_bits(a), A::Family::BITS);
        for at in 0..=255 {
            assert_eq!(A::mask(i).bit(at), at < i && at < A::Family::BITS, "mask {i} bit {at}");
        }
        assert_eq!(A::of_octets(a.to_octets()), a);
    }

    proptest! {
        #[suite::test]
        fn addresses(a: u128, flip in 0u8..128, i: u8) {
            checks(Ipv6Addr::from(a), Ipv6Addr::from(a ^ 1 << flip), i);
            checks(Ipv4Addr::from(a as u32), Ipv4Addr::from(a as u32 ^ 1 << (flip & 31)), i);
        }
    }

    #[suite::test]
    fn constants() {
        assert_eq!((Ip4::ADDR_LEN, Ip6::ADDR_LEN), (4, 16));
        assert_eq!((Ip4::HEADER_LEN, Ip6::HEADER_LEN), (20, 40));
        assert_eq!(Ipv4Addr::mask(0), Ipv4Addr::ZERO);
        assert_eq!(Ipv4Addr::mask(20), Ipv4Addr::new(255, 255, 240, 0));
    }
}

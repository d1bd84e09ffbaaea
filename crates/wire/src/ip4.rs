// SPDX-License-Identifier: Apache-2.0
//! IPv4 (RFC 791).

use core::net::Ipv4Addr;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{IpHeader, IpProtocol, Options, U16, checksum::Sum};

/// The fixed part of an IPv4 header, 20 bytes.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Ipv4Header {
    /// Version (upper 4 bits), header length in words of 4 bytes.
    pub version_ihl: u8,
    /// DSCP (upper 6 bits), ECN.
    pub tos: u8,
    /// Bytes of header and payload.
    pub total_len: U16,
    /// Identification of the datagram that fragments belong to.
    pub id: U16,
    /// Flags (upper 3 bits), fragment offset in units of 8 bytes.
    pub flags_fragment: U16,
    /// Time to live.
    pub ttl: u8,
    /// Protocol of the payload.
    pub protocol: IpProtocol,
    /// Header checksum.
    pub checksum: U16,
    /// Source.
    pub src: [u8; 4],
    /// Destination.
    pub dst: [u8; 4],
}

impl Ipv4Header {
    /// Don't fragment, in `flags_fragment`.
    pub const DF: u16 = 0x4000;
    /// More fragments follow, in `flags_fragment`.
    pub const MF: u16 = 0x2000;
    /// `version_ihl` of a header without options.
    pub const PLAIN: u8 = 0x45;

    /// A header without options, its checksum computed: TTL 64, not a fragment, id 0.
    pub fn new(src: Ipv4Addr, dst: Ipv4Addr, protocol: IpProtocol, payload_len: u16) -> Self {
        let mut header = Self {
            version_ihl: Self::PLAIN,
            tos: 0,
            total_len: U16::new(payload_len.wrapping_add(20)),
            id: U16::ZERO,
            flags_fragment: U16::ZERO,
            ttl: 64,
            protocol,
            checksum: U16::ZERO,
            src: src.octets(),
            dst: dst.octets(),
        };
        header.set_checksum();
        header
    }

    /// Version 4 and no options: one compare.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.version_ihl == Self::PLAIN
    }

    /// Flags and offset say that this is a fragment, the first one included.
    #[inline(always)]
    pub fn is_fragment(&self) -> bool {
        self.flags_fragment.get() & 0x3fff != 0
    }

    /// Don't fragment.
    #[inline(always)]
    pub fn dont_fragment(&self) -> bool {
        self.flags_fragment.get() & Self::DF != 0
    }

    /// More fragments follow.
    #[inline(always)]
    pub fn more_fragments(&self) -> bool {
        self.flags_fragment.get() & Self::MF != 0
    }

    /// Offset of this fragment's payload in the datagram's, in bytes.
    #[inline(always)]
    pub fn fragment_offset(&self) -> usize {
        usize::from(self.flags_fragment.get() & 0x1fff) * 8
    }

    /// Source as an integer of host order.
    #[inline(always)]
    pub fn src_bits(&self) -> u32 {
        u32::from_be_bytes(self.src)
    }

    /// Destination as an integer of host order.
    #[inline(always)]
    pub fn dst_bits(&self) -> u32 {
        u32::from_be_bytes(self.dst)
    }

    /// The checksum that a header *without options* must carry.
    #[inline(always)]
    pub fn compute_checksum(&self) -> u16 {
        let mut header = *self;
        header.checksum = U16::ZERO;
        Sum::of(header.as_bytes()).finish()
    }

    /// Writes the checksum of a header *without options*.
    #[inline(always)]
    pub fn set_checksum(&mut self) {
        self.checksum = U16::new(self.compute_checksum());
    }

    /// The checksum of a header *without options* is right. With options:
    /// [`Ipv4Header::checksum_ok_at`].
    #[inline(always)]
    pub fn checksum_ok(&self) -> bool {
        Sum::of(self.as_bytes()).is_valid()
    }

    /// The checksum of the header at `packet[0]`, of any length, is right; false if the bytes don't
    /// hold it.
    #[inline]
    pub fn checksum_ok_at(packet: &[u8]) -> bool {
        Self::header_bytes(packet).is_some_and(|header| Sum::of(header).is_valid())
    }

    /// Writes the checksum of the header at `packet[0]`, of any length; does nothing if the bytes
    /// don't hold it.
    #[inline]
    pub fn set_checksum_at(packet: &mut [u8]) {
        let Some(len) = Self::header_bytes(packet).map(<[u8]>::len) else { return };
        packet[10..12].fill(0);
        let checksum = Sum::of(&packet[..len]).finish();
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    }

    /// Header and options of the packet at `packet[0]`; `None` for a header length below 20 or
    /// beyond the bytes.
    #[inline]
    pub fn header_bytes(packet: &[u8]) -> Option<&[u8]> {
        let len = usize::from(packet.first()? & 15) * 4;
        if len >= 20 { packet.get(..len) } else { None }
    }

    /// The options of the packet at `packet[0]`; none if the bytes or the header length don't hold
    /// any.
    #[inline]
    pub fn options(packet: &[u8]) -> Options<'_> {
        Options::new(Self::header_bytes(packet).map_or(&[], |header| &header[20..]))
    }
}

impl IpHeader for Ipv4Header {
    type Addr = Ipv4Addr;

    #[inline(always)]
    fn version(&self) -> u8 {
        self.version_ihl >> 4
    }

    #[inline(always)]
    fn src(&self) -> Ipv4Addr {
        self.src.into()
    }

    #[inline(always)]
    fn dst(&self) -> Ipv4Addr {
        self.dst.into()
    }

    #[inline(always)]
    fn set_src(&mut self, addr: Ipv4Addr) {
        self.src = addr.octets();
    }

    #[inline(always)]
    fn set_dst(&mut self, addr: Ipv4Addr) {
        self.dst = addr.octets();
    }

    #[inline(always)]
    fn ttl(&self) -> u8 {
        self.ttl
    }

    #[inline(always)]
    fn decrement_ttl(&mut self) {
        // The word of TTL and protocol loses 0x0100, so the checksum gains that, end around (RFC
        // 1624, equation 3: a sum of 0xffff becomes 0). On bytes as they lie in memory, so
        // that nothing is swapped.
        let sum =
            u32::from(u16::from_ne_bytes(self.checksum.to_bytes())) + u32::from(0x0100_u16.to_be());
        let sum = sum + u32::from(sum >= 0xffff);
        self.checksum = U16::from_bytes((sum as u16).to_ne_bytes());
        self.ttl = self.ttl.wrapping_sub(1);
    }

    #[inline(always)]
    fn protocol(&self) -> IpProtocol {
        self.protocol
    }

    #[inline(always)]
    fn traffic_class(&self) -> u8 {
        self.tos
    }

    #[inline(always)]
    fn header_len(&self) -> usize {
        usize::from(self.version_ihl & 15) * 4
    }

    #[inline(always)]
    fn packet_len(&self) -> usize {
        usize::from(self.total_len.get())
    }

    #[inline(always)]
    fn pseudo_sum(&self, protocol: IpProtocol, len: u32) -> Sum {
        Sum::of(&self.src).with(&self.dst).with_u16(protocol.0.into()).with_u32(len)
    }
}

/// Kinds of IPv4 options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ip4OptionKind;

impl Ip4OptionKind {
    /// Record route.
    pub const RECORD_ROUTE: u8 = 7;
    /// Time stamp.
    pub const TIMESTAMP: u8 = 68;
    /// Loose source route.
    pub const LOOSE_SOURCE_ROUTE: u8 = 131;
    /// Strict source route.
    pub const STRICT_SOURCE_ROUTE: u8 = 137;
    /// Router alert (RFC 2113).
    pub const ROUTER_ALERT: u8 = 148;
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::Header;
    use proptest::prelude::*;

    #[suite::test]
    fn fields() {
        // a packet of tcpdump's manual age: checked by hand against RFC 791
        let bytes = [
            0x45, 0xb9, 0x00, 0x54, 0x12, 0x34, 0x60, 0x05, 0x40, 0x01, 0, 0, 10, 0, 0, 1, 192,
            168, 0, 254,
        ];
        let ip = Ipv4Header::view(&bytes).unwrap();
        assert_eq!((ip.version(), ip.header_len(), ip.packet_len()), (4, 20, 84));
        assert_eq!((ip.dscp(), ip.ecn()), (46, crate::Ecn::Ect1));
        assert!(ip.is_plain() && ip.dont_fragment() && ip.more_fragments() && ip.is_fragment());
        assert_eq!(ip.fragment_offset(), 40);
        assert_eq!((ip.ttl(), ip.protocol()), (64, IpProtocol::ICMP));
        assert_eq!((ip.src(), ip.dst_bits()), ([10, 0, 0, 1].into(), 0xc0a8_00fe));
        assert!(!ip.checksum_ok());
        let new = Ipv4Header::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), IpProtocol::UDP, 8);
        assert!(new.checksum_ok() && !new.is_fragment());
        assert_eq!(new.checksum.get(), 0x66cf);
    }

    #[suite::test]
    fn options_stay_inside() {
        let mut packet = [0u8; 24];
        packet[0] = 0x46;
        packet[20..].copy_from_slice(&[148, 4, 0, 0]);
        Ipv4Header::set_checksum_at(&mut packet);
        assert!(Ipv4Header::checksum_ok_at(&packet));
        let kinds: Vec<_> = Ipv4Header::options(&packet).map(|o| o.unwrap().kind).collect();
        assert_eq!(kinds, [Ip4OptionKind::ROUTER_ALERT]);
        packet[0] = 0x47;
        assert!(
            !Ipv4Header::checksum_ok_at(&packet) && Ipv4Header::options(&packet).next().is_none()
        );
        packet[0] = 0x44;
        assert!(Ipv4Header::header_bytes(&packet).is_none());
        assert!(Ipv4Header::header_bytes(&[]).is_none());
    }

    #[suite::test]
    fn ttl_by_the_equation() {
        // RFC 1624, equation 3, for every checksum, right or wrong.
        let mut ip = *Ipv4Header::view(&[0x45; 20]).unwrap();
        for (checksum, ttl) in
            (0..=u16::MAX).flat_map(|checksum| [1, 2, 64, 255].map(|ttl| (checksum, ttl)))
        {
            (ip.ttl, ip.checksum) = (ttl, U16::new(checksum));
            ip.decrement_ttl();
            let want =
                crate::checksum::update16(checksum, u16::from(ttl) << 8, u16::from(ttl - 1) << 8);
            assert_eq!(ip.checksum.get(), want, "{checksum:#x}");
        }
    }

    proptest! {
        #[suite::test]
        fn ttl_mends_the_checksum(bytes: [u8; 20], ttl in 1u8..) {
            let mut ip = *Ipv4Header::view(&bytes).unwrap();
            ip.version_ihl = 0x45;
            ip.ttl = ttl;
            ip.set_checksum();
            prop_assert!(ip.checksum_ok());
            ip.decrement_ttl();
            prop_assert_eq!(ip.ttl, ttl - 1);
            prop_assert_eq!(ip.checksum.get(), ip.compute_checksum());
        }

        #[suite::test]
        fn pseudo_header(bytes: [u8; 20], protocol: u8, len: u16) {
            let ip = Ipv4Header::view(&bytes).unwrap();
            let [a, b] = len.to_be_bytes();
            let pseudo = [&ip.src[..], &ip.dst, &[0, protocol, a, b]].concat();
            let sum = ip.pseudo_sum(IpProtocol(protocol), len.into());
            prop_assert_eq!(sum.partial(), Sum::of(&pseudo).partial());
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! IPv6 (RFC 8200).

use core::net::Ipv6Addr;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{IpHeader, IpProtocol, U16, U32, checksum::Sum};

/// IPv6 header, 40 bytes.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Ipv6Header {
    /// Version (4 bits), traffic class (8), flow label (20).
    pub version_class_flow: U32,
    /// Bytes after this header; 0 with a jumbo payload option.
    pub payload_len: U16,
    /// Type of the next header: an extension header or the upper layer.
    pub next_header: IpProtocol,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source.
    pub src: [u8; 16],
    /// Destination.
    pub dst: [u8; 16],
}

impl Ipv6Header {
    /// A header of traffic class 0, flow label 0, hop limit 64.
    pub fn new(src: Ipv6Addr, dst: Ipv6Addr, next_header: IpProtocol, payload_len: u16) -> Self {
        Self {
            version_class_flow: U32::new(6 << 28),
            payload_len: U16::new(payload_len),
            next_header,
            hop_limit: 64,
            src: src.octets(),
            dst: dst.octets(),
        }
    }

    /// Flow label, 20 bits.
    #[inline(always)]
    pub fn flow_label(&self) -> u32 {
        self.version_class_flow.get() & 0xf_ffff
    }

    /// Source as an integer of host order.
    #[inline(always)]
    pub fn src_bits(&self) -> u128 {
        u128::from_be_bytes(self.src)
    }

    /// Destination as an integer of host order.
    #[inline(always)]
    pub fn dst_bits(&self) -> u128 {
        u128::from_be_bytes(self.dst)
    }

    /// Writes DSCP and ECN, leaves version and flow label.
    #[inline(always)]
    pub fn set_traffic_class(&mut self, class: u8) {
        let word = self.version_class_flow.get();
        self.version_class_flow.set(word & !0x0ff0_0000 | u32::from(class) << 20);
    }
}

impl IpHeader for Ipv6Header {
    type Addr = Ipv6Addr;

    #[inline(always)]
    fn version(&self) -> u8 {
        (self.version_class_flow.get() >> 28) as u8
    }

    #[inline(always)]
    fn src(&self) -> Ipv6Addr {
        self.src.into()
    }

    #[inline(always)]
    fn dst(&self) -> Ipv6Addr {
        self.dst.into()
    }

    #[inline(always)]
    fn set_src(&mut self, addr: Ipv6Addr) {
        self.src = addr.octets();
    }

    #[inline(always)]
    fn set_dst(&mut self, addr: Ipv6Addr) {
        self.dst = addr.octets();
    }

    #[inline(always)]
    fn ttl(&self) -> u8 {
        self.hop_limit
    }

    #[inline(always)]
    fn decrement_ttl(&mut self) {
        self.hop_limit = self.hop_limit.wrapping_sub(1);
    }

    #[inline(always)]
    fn protocol(&self) -> IpProtocol {
        self.next_header
    }

    #[inline(always)]
    fn traffic_class(&self) -> u8 {
        (self.version_class_flow.get() >> 20) as u8
    }

    #[inline(always)]
    fn header_len(&self) -> usize {
        40
    }

    #[inline(always)]
    fn packet_len(&self) -> usize {
        40 + usize::from(self.payload_len.get())
    }

    #[inline(always)]
    fn pseudo_sum(&self, protocol: IpProtocol, len: u32) -> Sum {
        Sum::of(&self.src).with(&self.dst).with_u32(len).with_u32(protocol.0.into())
    }
}

/// Fragment extension header, 8 bytes.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Ip6Fragment {
    /// Type of what was fragmented.
    pub next_header: IpProtocol,
    /// Zero when sent, ignored when received.
    pub reserved: u8,
    /// Offset in units of 8 bytes (upper 13 bits), 2 reserved bits, more-fragments.
    pub offset_more: U16,
    /// Identification.
    pub id: U32,
}

impl Ip6Fragment {
    /// Offset of this fragment's payload in the fragmentable part, in bytes.
    #[inline(always)]
    pub fn offset(&self) -> usize {
        usize::from(self.offset_more.get() & 0xfff8)
    }

    /// More fragments follow.
    #[inline(always)]
    pub fn more_fragments(&self) -> bool {
        self.offset_more.get() & 1 != 0
    }
}

/// Number of extension headers that [`ExtHeaders`] steps over; a packet with more is refused as an
/// attack on the parser.
pub const MAX_EXT_HEADERS: usize = 8;

/// One extension header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtHeader<'a> {
    /// Its type.
    pub kind: IpProtocol,
    /// Type of the next header.
    pub next: IpProtocol,
    /// Its offset in the packet.
    pub offset: usize,
    /// The whole header, its first byte is the next-header field.
    pub bytes: &'a [u8],
}

/// The reason why the extension headers can't be walked to the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExtError {
    /// A header goes beyond the bytes.
    Truncated,
    /// More than [`MAX_EXT_HEADERS`].
    TooMany,
}

/// Iterator over the extension headers of an IPv6 packet. It ends at the upper layer, at ESP, at
/// "no next header", behind the fragment header of a fragment that isn't the first, and at a
/// hop-by-hop header that isn't the first header (RFC 8200 §4.1 has it treated as an unknown type).
#[derive(Clone, Debug)]
pub struct ExtHeaders<'a> {
    packet: &'a [u8],
    next: IpProtocol,
    offset: usize,
    seen: usize,
    stopped: bool,
}

impl<'a> ExtHeaders<'a> {
    /// Over the packet whose IPv6 header is at `packet[0]`; empty if the bytes don't hold that
    /// header.
    #[inline]
    pub fn new(packet: &'a [u8]) -> Self {
        let next = packet.get(6).copied().filter(|_| packet.len() >= 40);
        let next = IpProtocol(next.unwrap_or(IpProtocol::NO_NEXT.0));
        Self { packet, next, offset: 40, seen: 0, stopped: false }
    }

    /// Type of what stands where the iterator is: after the last item, of the upper layer.
    #[inline(always)]
    pub fn protocol(&self) -> IpProtocol {
        self.next
    }

    /// Offset in the packet of what stands where the iterator is: after the last item, of the upper
    /// layer.
    #[inline(always)]
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl<'a> Iterator for ExtHeaders<'a> {
    type Item = Result<ExtHeader<'a>, ExtError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let kind = self.next;
        if self.stopped
            || !kind.is_ip6_extension()
            || kind == IpProtocol::HOP_BY_HOP && self.seen > 0
        {
            return None;
        }
        if self.seen == MAX_EXT_HEADERS {
            self.stopped = true;
            return Some(Err(ExtError::TooMany));
        }
        let rest = self.packet.get(self.offset..).unwrap_or_default();
        let bytes = match (kind, rest) {
            (IpProtocol::FRAGMENT, _) => rest.get(..8),
            (IpProtocol::AH, [_, words, ..]) => rest.get(..(usize::from(*words) + 2) * 4),
            (_, [_, units, ..]) => rest.get(..(usize::from(*units) + 1) * 8),
            _ => None,
        };
        let Some(bytes) = bytes else {
            self.stopped = true;
            return Some(Err(ExtError::Truncated));
        };
        let header = ExtHeader { kind, next: IpProtocol(bytes[0]), offset: self.offset, bytes };
        let later_fragment = kind == IpProtocol::FRAGMENT
            && Ip6Fragment::ref_from_bytes(bytes).is_ok_and(|f| f.offset() != 0);
        self.next = header.next;
        self.offset += bytes.len();
        self.seen += 1;
        self.stopped = later_fragment;
        Some(Ok(header))
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::Header;
    use proptest::prelude::*;

    fn packet(first: IpProtocol, rest: &[u8]) -> Vec<u8> {
        let header = Ipv6Header::new(
            "2001:db8::1".parse().unwrap(),
            "2001:db8::2".parse().unwrap(),
            first,
            rest.len() as u16,
        );
        [header.as_bytes(), rest].concat()
    }

    #[suite::test]
    fn fields() {
        let mut bytes = packet(IpProtocol::UDP, &[0; 8]);
        bytes[..4].copy_from_slice(&[0x6b, 0x91, 0x23, 0x45]);
        let ip = Ipv6Header::view_mut(&mut bytes).unwrap();
        assert_eq!((ip.version(), ip.traffic_class(), ip.flow_label()), (6, 0xb9, 0x1_2345));
        assert_eq!((ip.dscp(), ip.packet_len(), ip.ttl()), (46, 48, 64));
        ip.set_traffic_class(0x04);
        assert_eq!(ip.version_class_flow.get(), 0x6041_2345);
    }

    #[suite::test]
    fn walks_to_the_upper_layer() {
        let mut rest = vec![43, 0, 1, 4, 0, 0, 0, 0]; // hop by hop, next routing
        rest.extend([44, 1].iter().chain(&[0; 14])); // routing of 16 bytes, next fragment
        rest.extend([51, 0, 0, 1, 0, 0, 0, 9]); // first fragment, next AH
        rest.extend([17, 1].iter().chain(&[0; 10])); // AH of 12 bytes, next UDP
        rest.extend([0; 8]);
        let packet = packet(IpProtocol::HOP_BY_HOP, &rest);
        let mut walk = ExtHeaders::new(&packet);
        let seen: Vec<_> = walk
            .by_ref()
            .map(|h| h.map(|h| (h.kind.0, h.offset, h.bytes.len())).unwrap())
            .collect();
        assert_eq!(seen, [(0, 40, 8), (43, 48, 16), (44, 64, 8), (51, 72, 12)]);
        assert_eq!((walk.protocol(), walk.offset()), (IpProtocol::UDP, 84));
        let cut = &packet[..83];
        assert_eq!(ExtHeaders::new(cut).last(), Some(Err(ExtError::Truncated)));
        assert_eq!(ExtHeaders::new(&packet[..39]).count(), 0);
    }

    #[suite::test]
    fn stops_where_the_next_type_means_nothing() {
        let later = [60, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let bytes = packet(IpProtocol::FRAGMENT, &later);
        let mut walk = ExtHeaders::new(&bytes);
        assert_eq!(walk.by_ref().count(), 1);
        assert_eq!((walk.protocol(), walk.offset()), (IpProtocol::DEST_OPTIONS, 48));
        let twice = [0, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0];
        let bytes = packet(IpProtocol::HOP_BY_HOP, &twice);
        assert_eq!(ExtHeaders::new(&bytes).count(), 1);
        let many = [60, 0, 0, 0, 0, 0, 0, 0].repeat(20);
        let bytes = packet(IpProtocol::DEST_OPTIONS, &many);
        assert_eq!(ExtHeaders::new(&bytes).count(), MAX_EXT_HEADERS + 1);
        assert_eq!(ExtHeaders::new(&bytes).last(), Some(Err(ExtError::TooMany)));
    }

    proptest! {
        #[suite::test]
        fn any_bytes(first: u8, rest in proptest::collection::vec(prop_oneof![any::<u8>(), 0u8..3, Just(60), Just(44)], 0..200)) {
            let packet = packet(IpProtocol(first), &rest);
            let mut walk = ExtHeaders::new(&packet);
            let mut end = 40;
            for header in walk.by_ref().flatten() {
                prop_assert_eq!(header.offset, end);
                end += header.bytes.len();
            }
            prop_assert_eq!(walk.offset(), end);
            prop_assert!(end <= packet.len());
        }

        #[suite::test]
        fn pseudo_header(src: [u8; 16], dst: [u8; 16], protocol: u8, len: u32) {
            let ip = Ipv6Header::new(src.into(), dst.into(), IpProtocol::TCP, 0);
            let pseudo = [&src[..], &dst, &len.to_be_bytes(), &[0, 0, 0, protocol]].concat();
            let sum = ip.pseudo_sum(IpProtocol(protocol), len);
            prop_assert_eq!(sum.partial(), Sum::of(&pseudo).partial());
        }
    }
}

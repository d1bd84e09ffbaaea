// SPDX-License-Identifier: Apache-2.0
//! Checksums of TCP, UDP and ICMP over whole packets: completing what a sender left to the
//! hardware, verifying.

use core::fmt;

use crate::{
    Header, IcmpHeader, IpHeader, IpProtocol, Ipv4Header, Ipv6Header, TcpHeader, U16, UdpHeader,
    UpperError, UpperLayer, checksum::Sum,
};

/// The reason why there is no checksum to compute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum L4Error {
    /// The upper layer wasn't found.
    Upper(UpperError),
    /// The packet is a fragment, and the checksum covers the datagram.
    Fragment,
    /// The destination is rewritten on the way by a routing header.
    Routed,
    /// Fewer bytes than the length fields say.
    Truncated,
    /// The length field of UDP contradicts the one of IP.
    Length,
    /// A protocol without an internet checksum.
    Protocol(IpProtocol),
}

impl fmt::Display for L4Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Upper(error) => error.fmt(f),
            Self::Fragment => f.write_str("a fragment has no checksum of its own"),
            Self::Routed => f.write_str("the last destination is in the routing header"),
            Self::Truncated => f.write_str("shorter than its length fields"),
            Self::Length => f.write_str("the UDP length contradicts the IP length"),
            Self::Protocol(protocol) => write!(f, "{protocol} has no internet checksum"),
        }
    }
}

impl core::error::Error for L4Error {}

impl From<UpperError> for L4Error {
    fn from(error: UpperError) -> Self {
        Self::Upper(error)
    }
}

/// The result of [`verify`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The checksum is right.
    Valid,
    /// The checksum is wrong.
    Invalid,
    /// UDP without a checksum: fine in IPv4, for tunnels only in IPv6 (RFC 6935).
    Absent,
}

/// Where the checksum of one packet stands, and what it is of.
struct ChecksumField {
    /// Offset of the upper layer, counted from the IP header.
    upper: usize,
    /// Offset of the field in the upper layer.
    at: usize,
    /// Value of the field.
    held: u16,
    /// Bytes of the upper layer that the checksum is of.
    len: usize,
    protocol: IpProtocol,
}

/// The sum that an upper layer of `len` bytes starts with: the pseudo-header, or nothing for ICMP.
#[inline]
pub(crate) fn pseudo_sum(packet: &[u8], protocol: IpProtocol, len: usize) -> Option<Sum> {
    let len = u32::try_from(len).ok()?;
    match (packet.first()? >> 4, protocol) {
        (4, IpProtocol::ICMP) => Some(Sum::ZERO),
        (4, _) => Some(Ipv4Header::view(packet)?.pseudo_sum(protocol, len)),
        _ => Some(Ipv6Header::view(packet)?.pseudo_sum(protocol, len)),
    }
}

impl ChecksumField {
    /// Finds it in a packet that begins with `head`.
    fn find(head: &[u8]) -> Result<Self, L4Error> {
        let upper = UpperLayer::find(head)?;
        if upper.is_fragment() {
            return Err(L4Error::Fragment);
        }
        if upper.routed {
            return Err(L4Error::Routed);
        }
        let at = match (upper.protocol, head[0] >> 4) {
            (IpProtocol::TCP, _) => TcpHeader::CHECKSUM_OFFSET,
            (IpProtocol::UDP, _) => UdpHeader::CHECKSUM_OFFSET,
            (IpProtocol::ICMP, 4) | (IpProtocol::ICMP6, 6) => IcmpHeader::CHECKSUM_OFFSET,
            (protocol, _) => return Err(L4Error::Protocol(protocol)),
        };
        let body = head.get(upper.offset..).ok_or(L4Error::Truncated)?;
        let held = U16::view_at(body, at).ok_or(L4Error::Truncated)?.get();
        let mut len = upper.payload_len();
        if len < at + 2 {
            return Err(L4Error::Truncated);
        }
        if upper.protocol == IpProtocol::UDP {
            let said = UdpHeader::view(body).map_or(0, |udp| usize::from(udp.len.get()));
            if said < UdpHeader::LEN || said > len {
                return Err(L4Error::Length);
            }
            len = said;
        }
        Ok(Self { upper: upper.offset, at, held, len, protocol: upper.protocol })
    }

    fn is_udp(&self) -> bool {
        self.protocol == IpProtocol::UDP
    }

    /// The sum over pseudo-header and upper layer, the field left out: only so does a message of
    /// zeros (an ICMP echo reply can be one) get the checksum 0xffff and not 0.
    fn sum<'a>(
        &self,
        head: &'a [u8],
        rest: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Sum, L4Error> {
        let body = &head[self.upper..];
        let mut left = self.len - 2;
        // Bytes behind the datagram are padding of the link.
        let mut take = |part: &'a [u8]| {
            let (taken, _) = part.split_at(part.len().min(left));
            left -= taken.len();
            taken
        };
        // Most packets have no parts but the head. The field is at an even offset.
        let (before, behind) = (take(&body[..self.at]), take(&body[self.at + 2..]));
        let rest = Sum::of_parts(rest.into_iter().map(&mut take)).at(behind.len());
        let sum = pseudo_sum(head, self.protocol, self.len).ok_or(L4Error::Truncated)?
            + Sum::of(before)
            + Sum::of(behind)
            + rest;
        if left > 0 { Err(L4Error::Truncated) } else { Ok(sum) }
    }

    /// Returns true if a packet with these parts has all bytes that the checksum is of.
    fn is_whole<'a>(&self, head: &[u8], rest: impl IntoIterator<Item = &'a [u8]>) -> bool {
        let have = head.len() - self.upper;
        have >= self.len || have + rest.into_iter().map(<[u8]>::len).sum::<usize>() >= self.len
    }
}

/// Offset (from the IP header) and right value of the checksum field of the packet that begins with
/// `head` and goes on in `rest`, whatever the field holds. `head` must hold the headers up to and
/// with that field. Bytes beyond the length in the IP header are ignored.
pub fn compute_parts<'a>(
    head: &'a [u8],
    rest: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(usize, u16), L4Error> {
    let field = ChecksumField::find(head)?;
    let sum = field.sum(head, rest)?;
    let value = if field.is_udp() { sum.finish_udp() } else { sum.finish() };
    Ok((field.upper + field.at, value))
}

/// Computes and writes the checksum of TCP, UDP, ICMP or ICMPv6 in the IPv4 or IPv6 packet at
/// `packet[0]`, whatever the field holds: for a packet whose sender left the checksum "partial".
/// IPv4's header checksum isn't touched.
pub fn finish(packet: &mut [u8]) -> Result<(), L4Error> {
    let (field, value) = compute_parts(packet, [])?;
    packet[field..field + 2].copy_from_slice(&value.to_be_bytes());
    Ok(())
}

/// Is the checksum of TCP, UDP, ICMP or ICMPv6 in the packet at `packet[0]` right?
pub fn verify(packet: &[u8]) -> Result<Verdict, L4Error> {
    verify_parts(packet, [])
}

/// True for a datagram without a checksum, whose UDP header stands `at` bytes behind the beginning
/// of the packet, and which ends with it: [`verify`] says [`Verdict::Absent`] then, if no header in
/// front says that it is a fragment, or on its way to somebody else.
#[inline(always)]
pub fn has_no_checksum(packet: &[u8], at: usize) -> bool {
    UdpHeader::view_at(packet, at).is_some_and(|udp| {
        udp.checksum.get() == 0 && at + usize::from(udp.len.get()) == packet.len()
    })
}

/// As [`verify`], for a packet that begins with `head` and goes on in `rest`.
pub fn verify_parts<'a>(
    head: &'a [u8],
    rest: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Verdict, L4Error> {
    let field = ChecksumField::find(head)?;
    if field.is_udp() && field.held == 0 {
        // Nothing is summed for datagrams without a checksum, as most of tunnels are.
        return if field.is_whole(head, rest) {
            Ok(Verdict::Absent)
        } else {
            Err(L4Error::Truncated)
        };
    }
    let is_valid = field.sum(head, rest)?.with_u16(field.held).is_valid();
    Ok(if is_valid { Verdict::Valid } else { Verdict::Invalid })
}

/// Completes a partial checksum as `virtio_net_hdr` describes it (`csum_start`, `csum_offset`,
/// VIRTIO 1.2 §5.1.6.2): sums from `start` to the end, where the field at `start + offset` holds
/// the sum of the pseudo-header. False, and nothing written, if the field isn't within the bytes.
pub fn finish_partial(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(body) = frame.get_mut(start..) else { return false };
    // 0 becomes 0xffff for every protocol: equal in one's complement, and 0 would mean "none" in
    // UDP
    let value = Sum::of(body).finish_udp();
    let field = body.get_mut(offset..).and_then(|field| field.first_chunk_mut());
    field.map(|field| *field = value.to_be_bytes()).is_some()
}

/// Writes the "partial" checksum (the sum of the pseudo-header) for a device or kernel that
/// completes it. Returns `csum_start` and `csum_offset`, counted from the IP header.
pub fn set_partial(packet: &mut [u8]) -> Result<(usize, usize), L4Error> {
    let upper = UpperLayer::find(packet)?;
    let at = match upper.protocol {
        IpProtocol::TCP => TcpHeader::CHECKSUM_OFFSET,
        IpProtocol::UDP => UdpHeader::CHECKSUM_OFFSET,
        protocol => return Err(L4Error::Protocol(protocol)),
    };
    if upper.is_fragment() {
        return Err(L4Error::Fragment);
    }
    let sum = pseudo_sum(packet, upper.protocol, upper.payload_len())
        .ok_or(L4Error::Truncated)?
        .partial();
    let field = packet.get_mut(upper.offset + at..).and_then(|field| field.first_chunk_mut());
    *field.ok_or(L4Error::Truncated)? = sum.to_be_bytes();
    Ok((upper.offset, at))
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};
    use zerocopy::IntoBytes;

    fn packet(v6: bool, protocol: IpProtocol, body: &[u8]) -> Vec<u8> {
        let len = body.len() as u16;
        if v6 {
            let (a, b) = ("2001:db8::1".parse().unwrap(), "2001:db8::ff00:2".parse().unwrap());
            [Ipv6Header::new(a, b, protocol, len).as_bytes(), body].concat()
        } else {
            let (a, b) = ([10, 0, 0, 1].into(), [10, 255, 0, 2].into());
            [Ipv4Header::new(a, b, protocol, len).as_bytes(), body].concat()
        }
    }

    /// Word by word over a pseudo-packet written out, field zeroed.
    fn naive(packet: &[u8], protocol: u8, field: usize) -> u16 {
        let mut text = Vec::new();
        let body = if packet[0] >> 4 == 6 {
            text.extend(&packet[8..40]);
            &packet[40..]
        } else {
            text.extend(&packet[12..20]);
            &packet[20..]
        };
        text.extend([0, protocol]);
        text.extend((body.len() as u16).to_be_bytes());
        if protocol == 1 {
            text.clear();
        }
        let start = text.len();
        text.extend(body);
        text[start + field..start + field + 2].fill(0);
        let sum = text.chunks(2).fold(0u64, |sum, pair| {
            sum + (u64::from(pair[0]) << 8) + pair.get(1).map_or(0, |&low| u64::from(low))
        });
        !((0..4).fold(sum, |sum, _| (sum & 0xffff) + (sum >> 16)) as u16)
    }

    /// A body with the fields that must be right, arbitrary otherwise.
    fn body(protocol: IpProtocol, mut bytes: Vec<u8>) -> Vec<u8> {
        let len = bytes.len() as u16;
        if protocol == IpProtocol::UDP {
            bytes[4..6].copy_from_slice(&len.to_be_bytes());
        }
        bytes
    }

    proptest! {
        #[suite::test]
        fn same_as_naive(v6: bool, which in 0usize..3, bytes in vec(any::<u8>(), 20..200), cut: usize, padding in 0usize..8, flip: usize) {
            let icmp = if v6 { IpProtocol::ICMP6 } else { IpProtocol::ICMP };
            let (protocol, field) = [(IpProtocol::TCP, 16), (IpProtocol::UDP, 6), (icmp, 2)][which];
            let mut packet = packet(v6, protocol, &body(protocol, bytes));
            let right = naive(&packet, protocol.0, field);
            let at = if v6 { 40 } else { 20 } + field;
            packet.resize(packet.len() + padding, 0x5a);
            finish(&mut packet).unwrap();
            let held = u16::from_be_bytes(*packet[at..].first_chunk().unwrap());
            prop_assert!(held == right || (protocol == IpProtocol::UDP && right == 0 && held == 0xffff));
            prop_assert_eq!(verify(&packet), Ok(Verdict::Valid));
            let (head, rest) = packet.split_at(at + 2 + cut % (packet.len() - at - 1));
            prop_assert_eq!(compute_parts(head, rest.chunks(3)), Ok((at, held)));
            prop_assert_eq!(verify_parts(head, rest.chunks(7)), Ok(Verdict::Valid));

            let mut wrong = packet.clone();
            let covered = at - field..packet.len() - padding;
            wrong[covered.start + flip % covered.len()] ^= 0x10;
            prop_assert_ne!(verify(&wrong), Ok(Verdict::Valid));

            if which < 2 {
                packet.truncate(packet.len() - padding);
                let (start, offset) = set_partial(&mut packet).unwrap();
                prop_assert_eq!(start + offset, at);
                prop_assert_eq!(&packet[at..at + 2], &pseudo_sum(&packet, protocol, packet.len() - start).unwrap().partial().to_be_bytes());
                prop_assert!(finish_partial(&mut packet, start, offset));
                prop_assert_eq!(verify(&packet), Ok(Verdict::Valid));
            }
        }

        #[suite::test]
        fn any_bytes(mut bytes in vec(any::<u8>(), 0..120), version in prop_oneof![Just(0x45u8), Just(0x60), any::<u8>()]) {
            if let Some(first) = bytes.first_mut() {
                *first = version;
            }
            let _ = verify(&bytes);
            let _ = set_partial(&mut bytes);
            if finish(&mut bytes).is_ok() {
                prop_assert_eq!(verify(&bytes), Ok(Verdict::Valid));
            }
        }
    }

    #[suite::test]
    fn a_message_of_zeros_has_a_checksum() {
        for held in [0u16, 1, 0xffff] {
            let mut body = [0; 8];
            body[2..4].copy_from_slice(&held.to_be_bytes());
            let mut echo_reply = packet(false, IpProtocol::ICMP, &body);
            finish(&mut echo_reply).unwrap();
            assert_eq!(echo_reply[22..24], [0xff, 0xff]);
            assert_eq!(verify(&echo_reply), Ok(Verdict::Valid));
        }
    }

    #[suite::test]
    fn a_udp_checksum_is_never_zero() {
        let mut udp = packet(false, IpProtocol::UDP, &[0, 1, 0, 2, 0, 10, 0, 0, 0, 0]);
        finish(&mut udp).unwrap();
        // the checksum so far, put into the payload, makes the sum all ones
        udp.copy_within(26..28, 28);
        finish(&mut udp).unwrap();
        assert_eq!(udp[26..28], [0xff, 0xff]);
        assert_eq!(verify(&udp), Ok(Verdict::Valid));
    }

    #[suite::test]
    fn says_why_not() {
        let mut udp = packet(false, IpProtocol::UDP, &[0, 1, 0, 2, 0, 8, 0, 0]);
        assert_eq!(verify(&udp), Ok(Verdict::Absent));
        assert_eq!(verify(&udp[..27]), Err(L4Error::Truncated));
        udp[25] = 9;
        assert_eq!(verify(&udp), Err(L4Error::Length));
        udp[6] = 0x20;
        assert_eq!(finish(&mut udp), Err(L4Error::Fragment));
        let ospf = packet(true, IpProtocol::OSPF, &[0; 24]);
        assert_eq!(verify(&ospf), Err(L4Error::Protocol(IpProtocol::OSPF)));
        let mut srv6 = vec![6, 2, 4, 1, 0, 0, 0, 0];
        srv6.extend([0; 36]);
        assert_eq!(verify(&packet(true, IpProtocol::ROUTING, &srv6)), Err(L4Error::Routed));
        assert_eq!(verify(&[]), Err(L4Error::Upper(UpperError::Truncated)));
        assert_eq!(verify(&[0x50]), Err(L4Error::Upper(UpperError::Version)));
        assert!(!finish_partial(&mut [0; 20], 10, 9) && !finish_partial(&mut [0; 20], 21, 0));
    }
}

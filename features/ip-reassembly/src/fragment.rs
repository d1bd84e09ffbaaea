// SPDX-License-Identifier: Apache-2.0
//! Parsing of fragments, and rewriting of the first one's header for the whole datagram: the
//! differences of IPv4 and IPv6.

use buffer::Buffer;
use net::{IpMeta, Net};
use wire::icmp::code4;
use wire::{
    Family, Header, Icmp4Type, Icmp6Type, Ip4, Ip6, Ip6Fragment, IpHeader, IpProtocol, Ipv4Header,
    Ipv6Header, U16,
};

/// Maximum length of an IP packet by its length field, in bytes (IPv6: behind the header).
const MAX: usize = 65_535;

/// The kind of a packet, for reassembly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Not a fragment.
    Whole,
    /// A whole datagram with a fragment header (RFC 6946).
    Atomic(Fragment),
    /// Some of a datagram.
    Fragment(Fragment),
}

/// A part of a datagram. Offsets of the packet count from its IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Range of its payload in that of the datagram: `start .. end` in bytes.
    pub start: u32,
    /// See `start`.
    pub end: u32,
    /// Identification.
    pub id: u32,
    /// Offset of its payload in the packet.
    pub at: u16,
    /// IPv6: offset of the next-header byte that announces the fragment header.
    named: u16,
    /// The protocol, or type of the header, that the datagram's payload begins with.
    pub protocol: IpProtocol,
    /// True if more fragments follow.
    pub more: bool,
    /// ECN, two bits.
    pub ecn: u8,
}

impl Fragment {
    /// Returns true if it has the datagram's first byte.
    #[inline(always)]
    pub fn is_first(&self) -> bool {
        self.start == 0
    }

    /// Returns the length of its payload in bytes.
    #[inline(always)]
    pub fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Cuts the fragment at an offset of the datagram; returns the number of bytes cut off.
    #[inline(always)]
    pub fn end_at(&mut self, end: u32) -> usize {
        let cut = self.end.saturating_sub(end);
        self.end -= cut;
        cut as usize
    }

    /// Returns the fragment, if another one can follow it or it is the last.
    #[inline(always)]
    fn in_eights(self) -> Result<Part, Fault> {
        if self.more && !self.len().is_multiple_of(8) {
            return Err(Fault::Length(self));
        }
        Ok(Part::Fragment(self))
    }
}

/// The reason why a fragment is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Shorter than its headers say, or without payload.
    Malformed,
    /// Not the last one, and its length is no multiple of eight: nothing can follow it.
    Length(Fragment),
    /// It ends beyond the longest datagram; with the offset of IPv6's fragment offset field.
    TooLong(u16),
}

/// An IP version whose datagrams are reassembled.
pub trait Fragments: Net {
    /// True if fragments of a datagram may overlap (RFC 791 3.2); if false, such a datagram is
    /// dropped (RFC 5722).
    const MAY_OVERLAP: bool = !Self::IS_V6;
    /// True if routers too report a missing fragment (RFC 8200 4.5), not only the destination host
    /// (RFC 792).
    const ROUTERS_TELL: bool = Self::IS_V6;
    /// The error sent for a missing fragment: time exceeded.
    const TIMEOUT: IpMeta;

    /// Classifies a packet of `len` bytes, of which `head` are the first.
    fn part(head: &[u8], len: usize) -> Result<Part, Fault>;

    /// Returns the ICMP error for the sender of a faulty fragment (RFC 8200 4.5).
    fn complaint(fault: Fault) -> Option<IpMeta>;

    /// Rewrites the header of the first fragment into that of the whole, whose payload has `len`
    /// bytes; `ce` if one of the fragments was marked CE (congestion experienced). Returns
    /// false if the whole is too long.
    fn finish(head: &mut Buffer, first: &Fragment, len: usize, ce: bool) -> bool;
}

impl Fragments for Ip4 {
    const TIMEOUT: IpMeta = IpMeta::error(Icmp4Type::TIME_EXCEEDED.0, code4::REASSEMBLY, 0);

    #[inline(always)]
    fn part(head: &[u8], len: usize) -> Result<Part, Fault> {
        let ip = Ipv4Header::view(head).ok_or(Fault::Malformed)?;
        if !ip.is_fragment() {
            return Ok(Part::Whole);
        }
        let (at, total) = (ip.header_len(), ip.packet_len());
        if at < 20 || at > head.len() || total <= at || total > len {
            return Err(Fault::Malformed);
        }
        let (start, more) = (ip.fragment_offset(), ip.more_fragments());
        let end = start + total - at;
        if at + end > MAX {
            return Err(Fault::TooLong(0));
        }
        let fragment = Fragment {
            start: start as u32,
            end: end as u32,
            id: ip.id.get().into(),
            at: at as u16,
            named: 9,
            protocol: ip.protocol,
            more,
            ecn: ip.ecn() as u8,
        };
        fragment.in_eights()
    }

    fn complaint(_: Fault) -> Option<IpMeta> {
        None
    }

    fn finish(head: &mut Buffer, first: &Fragment, len: usize, ce: bool) -> bool {
        let total = usize::from(first.at) + len;
        let Some(ip) = Ipv4Header::view_mut(head.data_mut()).filter(|_| total <= MAX) else {
            return false;
        };
        ip.total_len = U16::new(total as u16);
        ip.flags_fragment = U16::ZERO;
        ip.tos |= if ce { 3 } else { 0 };
        Ipv4Header::set_checksum_at(head.data_mut());
        true
    }
}

/// Parameter problem: the first fragment has an incomplete IPv6 header chain (RFC 7112 5, code 3).
pub const INCOMPLETE_CHAIN: IpMeta = IpMeta::error(Icmp6Type::PARAMETER_PROBLEM.0, 3, 0);

/// Bytes of the fragment header.
const FRAGMENT: usize = size_of::<Ip6Fragment>();

impl Fragments for Ip6 {
    const TIMEOUT: IpMeta = IpMeta::error(Icmp6Type::TIME_EXCEEDED.0, 1, 0);

    #[inline(always)]
    fn part(head: &[u8], len: usize) -> Result<Part, Fault> {
        let ip = Ipv6Header::view(head).ok_or(Fault::Malformed)?;
        if !ip.next_header.is_ip6_extension() {
            return Ok(Part::Whole);
        }
        extended(ip, head, len)
    }

    fn complaint(fault: Fault) -> Option<IpMeta> {
        // Erroneous header field: the payload length; the fragment's offset.
        let error = |at: u16| IpMeta::error(Icmp6Type::PARAMETER_PROBLEM.0, 0, at.into());
        match fault {
            Fault::Malformed => None,
            Fault::Length(_) => Some(error(4)),
            Fault::TooLong(at) => Some(error(at)),
        }
    }

    fn finish(head: &mut Buffer, first: &Fragment, len: usize, ce: bool) -> bool {
        let before = usize::from(first.at) - FRAGMENT;
        let total = before + len;
        if total - Self::HEADER_LEN > MAX {
            return false;
        }
        // The bytes in front of the fragment header move over it, with the layer-2 header.
        let layer2 = head.l2_len();
        if !head.rewind(layer2) {
            return false;
        }
        head.data_mut().copy_within(..layer2 + before, FRAGMENT);
        if !head.pull(FRAGMENT) {
            return false;
        }
        head.mark_l2();
        if !head.pull(layer2) {
            return false;
        }
        let Some(named) = head.data_mut().get_mut(usize::from(first.named)) else { return false };
        *named = first.protocol.0;
        let Some(ip) = Ipv6Header::view_mut(head.data_mut()) else { return false };
        ip.payload_len = U16::new((total - Self::HEADER_LEN) as u16);
        if ce {
            ip.set_traffic_class(ip.traffic_class() | 3);
        }
        true
    }
}

/// Walks to the fragment header. A packet whose headers can't be walked is not a fragment here:
/// other nodes handle it.
#[cold]
#[inline(never)]
fn extended(ip: &Ipv6Header, head: &[u8], len: usize) -> Result<Part, Fault> {
    let mut named = 6;
    let mut headers = wire::ExtHeaders::new(head);
    let found = loop {
        match headers.next() {
            Some(Ok(header)) if header.kind == IpProtocol::FRAGMENT => break header,
            Some(Ok(header)) => named = header.offset,
            Some(Err(_)) | None => return Ok(Part::Whole),
        }
    };
    let fragment = Ip6Fragment::view(found.bytes).ok_or(Fault::Malformed)?;
    let (at, total) = (found.offset + FRAGMENT, ip.packet_len());
    if total <= at || total > len {
        return Err(Fault::Malformed);
    }
    let (start, more) = (fragment.offset(), fragment.more_fragments());
    let part = Fragment {
        start: start as u32,
        end: (start + total - at) as u32,
        id: fragment.id.get(),
        at: at as u16,
        named: named as u16,
        protocol: fragment.next_header,
        more,
        ecn: ip.ecn() as u8,
    };
    if start == 0 && !more {
        return Ok(Part::Atomic(part));
    }
    if found.offset - Ip6::HEADER_LEN + part.end as usize > MAX {
        return Err(Fault::TooLong(found.offset as u16 + 2));
    }
    part.in_eights()
}

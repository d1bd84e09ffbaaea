// SPDX-License-Identifier: Apache-2.0
//! What a fragment says of itself, and how a header becomes that of the whole datagram: where the two families differ.

use buffer::Buffer;
use net::{IpMeta, Net};
use wire::icmp::code4;
use wire::{
    Family, Header, Icmp4Type, Icmp6Type, Ip4, Ip6, Ip6Fragment, IpHeader, IpProtocol, Ipv4Header,
    Ipv6Header, U16,
};

/// Bytes of an IP packet at most, as far as its length field goes (IPv6: behind the header).
const MAX: usize = 65_535;

/// A packet, as reassembly sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// No fragment.
    Whole,
    /// All of a datagram, under a fragment header (RFC 6946).
    Atomic(Fragment),
    /// Some of a datagram.
    Fragment(Fragment),
}

/// Some of a datagram. Offsets of the packet count from its IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// What its payload is of the datagram's: `start .. end` in bytes.
    pub start: u32,
    /// See `start`.
    pub end: u32,
    /// Identification.
    pub id: u32,
    /// Where its payload begins in the packet.
    pub at: u16,
    /// IPv6: where the fragment header's type is named.
    named: u16,
    /// The protocol, or type of the header, that the datagram's payload begins with.
    pub protocol: IpProtocol,
    /// More follow.
    pub more: bool,
    /// ECN, two bits.
    pub ecn: u8,
}

impl Fragment {
    /// It has the datagram's first byte.
    #[inline(always)]
    pub fn is_first(&self) -> bool {
        self.start == 0
    }

    /// Bytes of its payload.
    #[inline(always)]
    pub fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Leaves out what lies behind an offset of the datagram; says how many bytes that is.
    #[inline(always)]
    pub fn end_at(&mut self, end: u32) -> usize {
        let cut = self.end.saturating_sub(end);
        self.end -= cut;
        cut as usize
    }

    /// The fragment, if another one can follow it or none does.
    #[inline(always)]
    fn in_eights(self) -> Result<Part, Fault> {
        if self.more && !self.len().is_multiple_of(8) {
            return Err(Fault::Length(self));
        }
        Ok(Part::Fragment(self))
    }
}

/// Why a fragment can't be one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Shorter than its headers say, or without payload.
    Malformed,
    /// Not the last one, and its length is no multiple of eight: nothing can follow it.
    Length(Fragment),
    /// It ends beyond the longest datagram; of IPv6, where its offset stands.
    TooLong(u16),
}

/// A family whose datagrams are put together.
pub trait Fragments: Net {
    /// Fragments of a datagram may cover each other (RFC 791 3.2); otherwise such a datagram is dropped (RFC 5722).
    const MAY_OVERLAP: bool = !Self::IS_V6;
    /// Routers too say that a fragment is missing (RFC 8200 4.5), not only the host that the datagram is for (RFC 792).
    const ROUTERS_TELL: bool = Self::IS_V6;
    /// Time exceeded: a fragment is missing.
    const TIMEOUT: IpMeta;

    /// Looks at a packet of `len` bytes, of which `head` are the first.
    fn part(head: &[u8], len: usize) -> Result<Part, Fault>;

    /// What is told the sender of a faulty fragment (RFC 8200 4.5).
    fn complaint(fault: Fault) -> Option<IpMeta>;

    /// Makes the header of the first fragment that of the whole, whose payload has `len` bytes; `ce` if one of the fragments met
    /// congestion. False if the whole is too long.
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
        let Some(ip) = Ipv4Header::view_mut(head.data_mut()).filter(|_| total <= MAX) else { return false };
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
        // What lies in front of the fragment header closes up to what lies behind, with the layer-2 header.
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

/// Walks to the fragment header. What can't be walked isn't a fragment for us: others see to it.
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

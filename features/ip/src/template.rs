// SPDX-License-Identifier: Apache-2.0
//! Headers of fragments.

use wire::{
    ExtHeaders, Header, Ip6Fragment, IpHeader, IpProtocol, Ipv4Header, Ipv6Header, U16, U32,
};

/// The part of a packet that is cut into fragments.
pub struct Layout {
    /// Offset of the first byte that is cut.
    pub header: usize,
    /// Offset behind the last one.
    pub total: usize,
    /// Fragment offset in bytes, if it is a fragment: its fragments' offsets continue it, and more
    /// follow if more followed.
    pub base: usize,
    pub more: bool,
}

/// The header of fragments: length, offset and checksum are still to be set.
pub trait Template: Sized {
    /// Returns the part of a packet to be cut; `None` if it is malformed.
    fn whole(packet: &[u8]) -> Option<Layout>;
    /// Creates the header of the first fragment or of the others; all of one packet have one `id`.
    /// Of IPv4, the packet's own counts, unless that is 0.
    fn new(packet: &[u8], first: bool, id: u32) -> Option<Self>;
    /// Bytes of the header.
    fn len(&self) -> usize;
    /// Returns the header of a fragment.
    fn fill(&mut self, payload: usize, offset: usize, more: bool) -> &[u8];
}

/// Bytes of an IPv4 header with options at most.
const LONGEST4: usize = 60;

/// IPv4's (RFC 791 3.2).
pub struct Template4 {
    bytes: [u8; LONGEST4],
    len: usize,
}

impl Template for Template4 {
    fn whole(packet: &[u8]) -> Option<Layout> {
        let ip = Ipv4Header::view(packet)?;
        let (header, total) = (ip.header_len(), ip.packet_len());
        (header >= 20 && total >= header).then_some(Layout {
            header,
            total,
            base: ip.fragment_offset(),
            more: ip.more_fragments(),
        })
    }

    /// The first fragment has all options; the others those with the "copied" bit (RFC 791 3.1).
    fn new(packet: &[u8], first: bool, id: u32) -> Option<Self> {
        let header = Ipv4Header::header_bytes(packet)?;
        let mut this = Self { bytes: [0; LONGEST4], len: header.len() };
        this.bytes[..header.len()].copy_from_slice(header);
        if this.bytes[4..6] == [0, 0] {
            this.bytes[4..6].copy_from_slice(&(id as u16).to_be_bytes());
        }
        if first || header.len() == 20 {
            return Some(this);
        }
        this.bytes[20..].fill(0);
        let mut at = 20;
        for option in Ipv4Header::options(packet) {
            let Ok(option) = option else { break };
            if option.kind & 0x80 != 0 {
                let from = 20 + option.offset;
                let len = option.data.len() + 2;
                this.bytes.get_mut(at..at + len)?.copy_from_slice(packet.get(from..from + len)?);
                at += len;
            }
        }
        // The rest is filled with "end of options", which is 0.
        this.len = at.next_multiple_of(4);
        this.bytes[0] = 0x40 | (this.len / 4) as u8;
        Some(this)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn fill(&mut self, payload: usize, offset: usize, more: bool) -> &[u8] {
        let total = (self.len + payload) as u16;
        if let Some(ip) = Ipv4Header::view_mut(&mut self.bytes) {
            ip.total_len = U16::new(total);
            ip.flags_fragment =
                U16::new(if more { Ipv4Header::MF } else { 0 } | (offset / 8) as u16);
        }
        Ipv4Header::set_checksum_at(&mut self.bytes[..self.len]);
        &self.bytes[..self.len]
    }
}

/// Bytes at most of the headers that every IPv6 fragment begins with.
const LONGEST6: usize = 512;

/// IPv6's (RFC 8200 4.5): the headers for routers on the path stand in every fragment, behind them
/// the fragment header.
pub struct Template6 {
    bytes: [u8; LONGEST6],
    len: usize,
}

impl Template6 {
    /// Offset behind the headers that stand in every fragment, and offset of the next header's
    /// type; `None` for a packet that is a fragment already, or malformed.
    fn split_at(packet: &[u8]) -> Option<(usize, usize)> {
        let mut found = (Ipv6Header::LEN, 6);
        for header in ExtHeaders::new(packet) {
            let header = header.ok()?;
            match header.kind {
                IpProtocol::FRAGMENT => return None,
                IpProtocol::HOP_BY_HOP | IpProtocol::ROUTING => {
                    found = (header.offset + header.bytes.len(), header.offset);
                }
                _ => {}
            }
        }
        Some(found)
    }
}

impl Template for Template6 {
    fn whole(packet: &[u8]) -> Option<Layout> {
        let total = Ipv6Header::view(packet)?.packet_len();
        let (header, _) = Self::split_at(packet)?;
        (total >= header).then_some(Layout { header, total, base: 0, more: false })
    }

    fn new(packet: &[u8], _: bool, id: u32) -> Option<Self> {
        let (end, named_at) = Self::split_at(packet)?;
        let mut this = Self { bytes: [0; LONGEST6], len: end + Ip6Fragment::LEN };
        this.bytes.get_mut(..end)?.copy_from_slice(&packet[..end]);
        let next_header =
            IpProtocol(std::mem::replace(&mut this.bytes[named_at], IpProtocol::FRAGMENT.0));
        *Ip6Fragment::view_at_mut(&mut this.bytes, end)? =
            Ip6Fragment { next_header, reserved: 0, offset_more: U16::ZERO, id: U32::new(id) };
        Some(this)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn fill(&mut self, payload: usize, offset: usize, more: bool) -> &[u8] {
        let behind = self.len - Ipv6Header::LEN + payload;
        if let Some(ip) = Ipv6Header::view_mut(&mut self.bytes) {
            ip.payload_len = U16::new(behind as u16);
        }
        if let Some(fragment) =
            Ip6Fragment::view_at_mut(&mut self.bytes, self.len - Ip6Fragment::LEN)
        {
            fragment.offset_more = U16::new(offset as u16 | u16::from(more));
        }
        &self.bytes[..self.len]
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The packet that an ICMP error quotes (RFC 5508 4).

use crate::key::{End, Key, has_ports};
use crate::packet::{change, ports_of};
use buffer::Buffer;
use std::ops::Range;
use wire::checksum::{Sum, update};
use wire::{Header, IpHeader, IpProtocol, Ipv4Header};

/// Bytes of an ICMP header.
const HEADER: usize = 8;
/// Offset of its checksum.
const CHECKSUM: usize = 2;
/// Bytes of a quoted packet that may change: an IP header with options, and that of TCP.
const QUOTED: usize = 60 + 20;

/// A quoted packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quoted {
    /// Its ends.
    pub from: End,
    /// See there.
    pub to: End,
    /// The upper layer's protocol.
    pub protocol: IpProtocol,
    /// Offset of the upper layer in the quoted packet.
    upper: usize,
}

impl Quoted {
    /// Reads the packet that an error quotes, whose ICMP header is at `upper` in the buffer. `None`
    /// if it is a later fragment, or has no ports where its protocol needs them.
    pub fn read(b: &Buffer, upper: usize) -> Option<Self> {
        let bytes = b.data().get(upper + HEADER..)?;
        let ip = Ipv4Header::view(bytes)?;
        if ip.version_ihl >> 4 != 4 {
            return None;
        }
        let l4 = ports_of(bytes)?;
        let protocol = IpProtocol(l4.protocol);
        let (mut from, mut to) = (End::new(ip.src(), l4.src_port), End::new(ip.dst(), l4.dst_port));
        if !has_ports(protocol) {
            (from.port, to.port) = (0, 0);
        }
        Some(Self { from, to, protocol, upper: l4.offset.into() })
    }

    /// Gives the quoted packet other ends, and mends the checksum of the error, whose headers are
    /// at `ip` and `upper` in the buffer. Bytes behind the packet's end aren't part of it.
    pub fn change(&self, b: &mut Buffer, (ip, upper): (usize, usize), new: (End, End)) {
        let Some(header) = b.data().get(ip..).and_then(Ipv4Header::view) else { return };
        let end = (ip + header.packet_len()).min(b.data().len());
        let Some(icmp) = b.data_mut().get_mut(upper..end) else { return };
        let Some((header, inner)) = icmp.split_at_mut_checked(HEADER) else { return };
        let len = inner.len().min(QUOTED);
        let before = Sum::of(&inner[..len]);
        let old = (self.from, self.to);
        change(inner, (Some(self.upper), false), self.protocol, (old, new));
        let after = Sum::of(&inner[..len]);
        let checksum = u16::from_be_bytes([header[CHECKSUM], header[CHECKSUM + 1]]);
        let mended = update(checksum, before, after).to_be_bytes();
        header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&mended);
    }

    /// The key of the packets that this one answers.
    pub fn reversed(&self, fib: u32) -> Key {
        Key::new(self.to, self.from, fib, self.protocol)
    }
}

/// True if the checksum of the ICMP message that begins at `upper` is right. Bytes behind the
/// packet's end aren't part of it.
pub fn is_intact(b: &Buffer, (at, upper): (usize, usize)) -> bool {
    let Some(ip) = b.data().get(at..).and_then(Ipv4Header::view) else { return false };
    let end = at + ip.packet_len();
    end <= b.packet_len() && upper + HEADER <= end && sum(b, upper..end).is_valid()
}

/// The sum over the bytes of a packet in this range, which begins at an even offset. Bytes that the
/// packet doesn't have aren't part of it.
pub fn sum(b: &Buffer, range: Range<usize>) -> Sum {
    let mut start = 0;
    let parts = b.segments().map(|segment| {
        let end = range.end.saturating_sub(start).min(segment.len());
        let part = segment.get(range.start.saturating_sub(start)..end);
        start += segment.len();
        part.unwrap_or_default()
    });
    Sum::of_parts(parts)
}

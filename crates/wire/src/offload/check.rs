// SPDX-License-Identifier: Apache-2.0
//! Checks that the work that a sender leaves pending fits the packet. A virtio network header comes
//! from a peer that may name any offset and segment size; work that passes here changes no byte
//! that a router reads, and costs no more than honest traffic does.

use core::{fmt, ops::Range};

use super::{Csum, Gso, GsoKind, Offload};
use crate::{EtherType, Ethernet, Header, IpProtocol, TcpHeader, UdpHeader, UpperLayer};

/// The smallest segment size, TCP options included, of packets with more than [`FEW_SEGMENTS`].
/// Linux cuts TCP to no less: 48 is its lowest MSS, options included (`tcp_min_snd_mss`, which
/// can't be set lower).
pub const MIN_SEGMENT: usize = 48;

/// Segments of a packet that may be of any size: what Linux joins on reception from segments that
/// came small, and the most that it lets a program send as UDP segments (`UDP_MAX_SEGMENTS`).
pub const FEW_SEGMENTS: usize = 128;

/// The reason why pending work is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OffloadError {
    /// The checksum field isn't one of the upper layer, or lies beyond the packet's end.
    Checksum,
    /// The headers aren't those of packets that are segmented in this way.
    Headers,
    /// More than [`FEW_SEGMENTS`] segments below [`MIN_SEGMENT`].
    Size,
}

impl fmt::Display for OffloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Checksum => "the checksum to be completed isn't one of the upper layer",
            Self::Headers => "the headers contradict the kind of segmentation",
            Self::Size => "segments too small",
        })
    }
}

impl core::error::Error for OffloadError {}

/// The headers that are parsed from a packet's first bytes.
struct Headers {
    /// Offset of the IP header, or of whatever follows the link layer.
    l3: usize,
    /// `None` if it isn't IP.
    upper: Option<UpperLayer>,
}

impl Headers {
    /// Parses a packet that begins with an IP header, or else an Ethernet header; `None` if its
    /// headers are malformed.
    fn of(head: &[u8], ip: bool) -> Option<Self> {
        let (l3, ethertype) = if ip { (0, EtherType::IP4) } else { Ethernet::l3_at(head)? };
        let upper = match ethertype {
            EtherType::IP4 | EtherType::IP6 => Some(UpperLayer::find(head.get(l3..)?).ok()?),
            _ => None,
        };
        Some(Self { l3, upper })
    }
}

impl Offload {
    /// Checks the work that is left for a packet of `len` bytes. `head` is its beginning, with all
    /// headers; it begins with an IP header (`ip`) or an Ethernet header.
    ///
    /// # Errors
    /// The reason why the packet is to be dropped.
    pub fn check(self, head: &[u8], len: usize, ip: bool) -> Result<(), OffloadError> {
        let headers = Headers::of(head, ip);
        if let Csum::Partial { start, offset } = self.csum {
            let start = usize::from(start);
            let field = start + usize::from(offset)..start + usize::from(offset) + 2;
            let fits = field.end <= len && headers.as_ref().is_some_and(|h| h.allow(start, field));
            if !fits {
                return Err(OffloadError::Checksum);
            }
        }
        let Some(gso) = self.gso else { return Ok(()) };
        let (l3, upper) =
            headers.and_then(|h| Some((h.l3, h.upper?))).ok_or(OffloadError::Headers)?;
        let (header_len, options) =
            gso.header_len(&head[l3..], &upper).ok_or(OffloadError::Headers)?;
        let start = l3 + upper.offset;
        if matches!(self.csum, Csum::Partial { start: at, .. } if usize::from(at) != start) {
            return Err(OffloadError::Checksum);
        }
        let end = l3 + upper.end;
        if start + header_len > head.len().min(end) || end > len {
            return Err(OffloadError::Headers);
        }
        let (payload, size) = (end - start - header_len, usize::from(gso.size));
        if size + options < MIN_SEGMENT && payload > size * FEW_SEGMENTS {
            return Err(OffloadError::Size);
        }
        Ok(())
    }
}

impl Headers {
    /// Returns true if a checksum over the bytes from `start` on may be written to `field`: behind
    /// the IP headers, and not over ports or types, which the packet was judged by.
    fn allow(&self, start: usize, field: Range<usize>) -> bool {
        let Some(upper) = &self.upper else { return start >= self.l3 };
        let (l4, end) = (self.l3 + upper.offset, self.l3 + upper.end);
        // A fragment's sender has computed the checksum of the whole.
        if upper.is_fragment() || start < l4 || field.end > end {
            return false;
        }
        // Inside of a tunnel's packet the checksum is that of an inner packet.
        let (own, header) = match upper.protocol {
            IpProtocol::TCP => (16, TcpHeader::LEN),
            IpProtocol::UDP => (6, UdpHeader::LEN),
            IpProtocol::ICMP | IpProtocol::ICMP6 => (2, 8),
            _ => return true,
        };
        if start == l4 { field.start == l4 + own } else { field.start >= l4 + header }
    }
}

impl Gso {
    /// Bytes of the transport header, and of options in it, in the packet that begins with
    /// `packet`; `None` if it isn't one of this kind.
    fn header_len(self, packet: &[u8], upper: &UpperLayer) -> Option<(usize, usize)> {
        let v6 = packet.first()? >> 4 == 6;
        let (fits, protocol) = match self.kind {
            GsoKind::TcpV4 => (!v6, IpProtocol::TCP),
            GsoKind::TcpV6 => (v6, IpProtocol::TCP),
            GsoKind::UdpL4 => (true, IpProtocol::UDP),
        };
        if !fits || upper.protocol != protocol || upper.is_fragment() {
            return None;
        }
        if protocol == IpProtocol::UDP {
            return Some((UdpHeader::LEN, 0));
        }
        let len = TcpHeader::view_at(packet, upper.offset)?.header_len();
        Some((len, len.checked_sub(TcpHeader::LEN)?))
    }
}

#[cfg(feature = "tests")]
mod tests;

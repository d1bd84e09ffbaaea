// SPDX-License-Identifier: Apache-2.0
//! Segmentation in software: one frame larger than the link, as a host with TCP segmentation
//! offload (TSO) or UDP segmentation offload (USO) hands it over, becomes the frames that the host
//! would have sent without it.
//!
//! A [`Plan`] knows only the headers, so the payload may lie in a chain of buffers: its owner
//! copies the ranges that the plan names and gives their sums. [`segment`] does it for a frame in
//! one piece.

use core::{fmt, ops::Range};

use zerocopy::IntoBytes;

use crate::{
    Header, IpProtocol, Ipv4Header, Ipv6Header, TcpFlags, TcpHeader, U16, UdpHeader, UpperError,
    UpperLayer, checksum::Sum, l4::pseudo_sum,
};

/// The greatest length of all headers together, link layer included, that is segmented.
pub const MAX_HEADERS: usize = 256;

/// The reason why a frame can't be segmented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GsoError {
    /// The upper layer wasn't found.
    Upper(UpperError),
    /// A fragment.
    Fragment,
    /// The destination is rewritten on the way by a routing header, so the checksum can't be
    /// computed.
    Routed,
    /// Neither TCP nor UDP.
    Protocol(IpProtocol),
    /// The headers, or the frame, have fewer bytes than their fields say.
    Truncated,
    /// Headers longer than [`MAX_HEADERS`].
    HeadersTooLong,
    /// A segment size of zero, or one that makes a packet longer than 65,535 bytes.
    Size,
}

impl fmt::Display for GsoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Upper(error) => error.fmt(f),
            Self::Fragment => f.write_str("a fragment can't be segmented"),
            Self::Routed => f.write_str("the last destination is in the routing header"),
            Self::Protocol(protocol) => write!(f, "{protocol} can't be segmented"),
            Self::Truncated => f.write_str("shorter than its length fields"),
            Self::HeadersTooLong => write!(f, "headers longer than {MAX_HEADERS} bytes"),
            Self::Size => f.write_str("impossible segment size"),
        }
    }
}

impl core::error::Error for GsoError {}

impl From<UpperError> for GsoError {
    fn from(error: UpperError) -> Self {
        Self::Upper(error)
    }
}

/// The plan by which one frame is cut into segments.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// All headers, from the link layer to the transport.
    headers: &'a [u8],
    l3: usize,
    l4: usize,
    protocol: IpProtocol,
    payload: Range<usize>,
    size: usize,
}

impl<'a> Plan<'a> {
    /// Plans the frame of `frame_len` bytes that begins with `head`, whose IP header stands at
    /// `l3`, as segments of `size` payload bytes (`gso_size`). `head` must hold all headers.
    /// Bytes beyond the length in the IP header are padding and left out.
    pub fn new(head: &'a [u8], l3: usize, frame_len: usize, size: u16) -> Result<Self, GsoError> {
        let packet = head.get(l3..).ok_or(GsoError::Truncated)?;
        let upper = UpperLayer::find(packet)?;
        if upper.is_fragment() {
            return Err(GsoError::Fragment);
        }
        if upper.routed {
            return Err(GsoError::Routed);
        }
        let l4 = l3 + upper.offset;
        let header_len = match upper.protocol {
            IpProtocol::TCP => {
                let tcp = TcpHeader::view_at(head, l4).ok_or(GsoError::Truncated)?;
                tcp.header_len().max(TcpHeader::LEN)
            }
            IpProtocol::UDP => UdpHeader::LEN,
            protocol => return Err(GsoError::Protocol(protocol)),
        };
        let payload = l4 + header_len..l3 + upper.end;
        if payload.start > payload.end || payload.end > frame_len {
            return Err(GsoError::Truncated);
        }
        if payload.start > MAX_HEADERS {
            return Err(GsoError::HeadersTooLong);
        }
        let headers = head.get(..payload.start).ok_or(GsoError::Truncated)?;
        let size = usize::from(size);
        if size == 0 || payload.start - l3 + size.min(payload.len()) > usize::from(u16::MAX) {
            return Err(GsoError::Size);
        }
        Ok(Self { headers, l3, l4, protocol: upper.protocol, payload, size })
    }

    /// Number of segments; at least 1.
    #[inline]
    pub fn count(&self) -> usize {
        self.payload.len().div_ceil(self.size).max(1)
    }

    /// Bytes of the headers of every segment.
    #[inline]
    pub fn header_len(&self) -> usize {
        self.headers.len()
    }

    /// The payload of segment `index`, as a range of the frame; empty beyond the last.
    #[inline]
    pub fn payload(&self, index: usize) -> Range<usize> {
        let start = self
            .payload
            .start
            .saturating_add(index.saturating_mul(self.size))
            .min(self.payload.end);
        start..(start + self.size).min(self.payload.end)
    }

    /// Writes the headers of segment `index`, whose payload has the sum `payload_sum`, to the front
    /// of `out`: lengths, IPv4 id, sequence number, flags, urgent pointer and every checksum.
    /// Returns how many bytes they are, `None` if `out` is too short or there is no such
    /// segment.
    pub fn write_headers(&self, index: usize, payload_sum: Sum, out: &mut [u8]) -> Option<usize> {
        if index >= self.count() {
            return None;
        }
        let out = out.get_mut(..self.headers.len())?;
        out.copy_from_slice(self.headers);
        let payload = self.payload(index);
        let l4_len = out.len() - self.l4 + payload.len();
        let before = payload.start - self.payload.start;

        let packet = out.get_mut(self.l3..)?;
        if packet.first()? >> 4 == 4 {
            let ip = Ipv4Header::view_mut(packet)?;
            ip.total_len = U16::new((self.l4 - self.l3 + l4_len) as u16);
            ip.id = U16::new(ip.id.get().wrapping_add(index as u16));
            Ipv4Header::set_checksum_at(packet);
        } else {
            let ip = Ipv6Header::view_mut(packet)?;
            ip.payload_len = U16::new((self.l4 - self.l3 - 40 + l4_len) as u16);
        }
        let pseudo = pseudo_sum(packet, self.protocol, l4_len)?;

        let segment = out.get_mut(self.l4..)?;
        if self.protocol == IpProtocol::TCP {
            let last = index + 1 == self.count();
            self.write_tcp(TcpHeader::view_mut(segment)?, before, last);
            let sum = pseudo.with(segment) + payload_sum;
            TcpHeader::view_mut(segment)?.checksum = U16::new(sum.finish());
        } else {
            let udp = UdpHeader::view_mut(segment)?;
            udp.len = U16::new(l4_len as u16);
            udp.checksum = U16::ZERO;
            let sum = pseudo.with(udp.as_bytes()) + payload_sum;
            udp.checksum = U16::new(sum.finish_udp());
        }
        Some(self.headers.len())
    }

    fn write_tcp(&self, tcp: &mut TcpHeader, before: usize, last: bool) {
        // A SYN comes before the first byte of data and has a sequence number of its own
        // (RFC 9293 3.4).
        let syn = before > 0 && tcp.flags.contains(TcpFlags::SYN);
        let before = before + usize::from(syn);
        tcp.seq.set(tcp.seq.get().wrapping_add(before as u32));
        tcp.checksum = U16::ZERO;
        if !last {
            tcp.flags -= TcpFlags::FIN | TcpFlags::PSH;
        }
        if before > 0 {
            // the reduction is announced once (RFC 3168 §6.1.2)
            tcp.flags -= TcpFlags::CWR | TcpFlags::SYN;
            // the pointer counts from the sequence number of its segment
            match usize::from(tcp.urgent.get()).checked_sub(before) {
                Some(left) if tcp.flags.contains(TcpFlags::URG) && left > 0 => {
                    tcp.urgent.set(left as u16)
                }
                _ => {
                    tcp.flags -= TcpFlags::URG;
                    tcp.urgent = U16::ZERO;
                }
            }
        }
    }
}

/// Segments `frame`, whose IP header stands at `l3`, in `size` payload bytes each: `emit(headers,
/// payload)` for every segment in order. Returns how many there were.
pub fn segment<'a>(
    frame: &'a [u8],
    l3: usize,
    size: u16,
    mut emit: impl FnMut(&[u8], &'a [u8]),
) -> Result<usize, GsoError> {
    let plan = Plan::new(frame, l3, frame.len(), size)?;
    let mut headers = [0; MAX_HEADERS];
    for index in 0..plan.count() {
        let payload = frame.get(plan.payload(index)).ok_or(GsoError::Truncated)?;
        let len =
            plan.write_headers(index, Sum::of(payload), &mut headers).ok_or(GsoError::Truncated)?;
        emit(&headers[..len], payload);
    }
    Ok(plan.count())
}

#[cfg(feature = "tests")]
#[path = "gso_tests.rs"]
mod tests;

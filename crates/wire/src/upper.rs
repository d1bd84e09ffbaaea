// SPDX-License-Identifier: Apache-2.0
//! The begin and the end of the upper layer of an IP packet.

use core::fmt;

use crate::{
    ExtError, ExtHeaders, Family, Header, Ip6Fragment, IpHeader, IpProtocol, Ipv4Header, Ipv6Header,
};

/// The upper layer of an IP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpperLayer {
    /// Its type.
    pub protocol: IpProtocol,
    /// Its offset, counted from the IP header.
    pub offset: usize,
    /// Offset of its end: the length of the packet as its header says.
    pub end: usize,
    /// Offset of these bytes in the datagram, if it was fragmented.
    pub fragment_offset: usize,
    /// Fragments with higher offsets exist.
    pub more_fragments: bool,
    /// IPv6: a routing header has segments left, so the destination field isn't the last
    /// destination (RFC 8200 §8.1).
    pub routed: bool,
}

/// The reason why no upper layer was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UpperError {
    /// Neither version 4 nor version 6.
    Version,
    /// Fewer bytes than the headers.
    Truncated,
    /// A length field contradicts another one.
    Length,
    /// More IPv6 extension headers than [`crate::MAX_EXT_HEADERS`].
    TooManyHeaders,
}

impl fmt::Display for UpperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version => "neither IPv4 nor IPv6",
            Self::Truncated => "shorter than its headers",
            Self::Length => "contradictory length fields",
            Self::TooManyHeaders => "too many extension headers",
        })
    }
}

impl core::error::Error for UpperError {}

impl UpperLayer {
    /// Of the IPv4 or IPv6 packet at `packet[0]`. The bytes need to hold the IP headers only, so
    /// `end` may lie beyond them.
    #[inline]
    pub fn find(packet: &[u8]) -> Result<Self, UpperError> {
        match packet.first().ok_or(UpperError::Truncated)? >> 4 {
            4 => Self::find4(packet),
            6 => Self::find6(packet),
            _ => Err(UpperError::Version),
        }
    }

    /// As [`UpperLayer::find`], for a version that is known; the version field isn't looked at.
    #[inline(always)]
    pub fn of<F: Family>(packet: &[u8]) -> Result<Self, UpperError> {
        if F::IS_V6 { Self::find6(packet) } else { Self::find4(packet) }
    }

    /// As [`UpperLayer::find`], for IPv4; the version field isn't looked at.
    #[inline]
    pub fn find4(packet: &[u8]) -> Result<Self, UpperError> {
        let ip = Ipv4Header::view(packet).ok_or(UpperError::Truncated)?;
        let (offset, end) = (ip.header_len(), ip.packet_len());
        if offset < 20 || end < offset {
            return Err(UpperError::Length);
        }
        if packet.len() < offset {
            return Err(UpperError::Truncated);
        }
        Ok(Self {
            protocol: ip.protocol,
            offset,
            end,
            fragment_offset: ip.fragment_offset(),
            more_fragments: ip.more_fragments(),
            routed: false,
        })
    }

    /// As [`UpperLayer::find`], for IPv6; the version field isn't looked at. Jumbograms are not
    /// understood: their `end` is 40, an error.
    #[inline]
    pub fn find6(packet: &[u8]) -> Result<Self, UpperError> {
        let ip = Ipv6Header::view(packet).ok_or(UpperError::Truncated)?;
        let (mut fragment, mut routed) = (None, false);
        let mut walk = ExtHeaders::new(packet);
        for header in walk.by_ref() {
            match header {
                Ok(header) if header.kind == IpProtocol::FRAGMENT => {
                    fragment = Ip6Fragment::view(header.bytes)
                }
                Ok(header) if header.kind == IpProtocol::ROUTING => routed |= header.bytes[3] != 0,
                Ok(_) => {}
                Err(ExtError::Truncated) => return Err(UpperError::Truncated),
                Err(ExtError::TooMany) => return Err(UpperError::TooManyHeaders),
            }
        }
        let (offset, end) = (walk.offset(), ip.packet_len());
        if end < offset {
            return Err(UpperError::Length);
        }
        Ok(Self {
            protocol: walk.protocol(),
            offset,
            end,
            fragment_offset: fragment.map_or(0, |f| f.offset()),
            more_fragments: fragment.is_some_and(|f| f.more_fragments()),
            routed,
        })
    }

    /// Part of a datagram only.
    #[inline(always)]
    pub fn is_fragment(&self) -> bool {
        self.fragment_offset != 0 || self.more_fragments
    }

    /// Bytes of the upper layer, header and payload.
    #[inline(always)]
    pub fn payload_len(&self) -> usize {
        self.end - self.offset
    }
}

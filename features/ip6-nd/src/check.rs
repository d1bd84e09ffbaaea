// SPDX-License-Identifier: Apache-2.0
//! Checks that are common to all messages (RFC 4861 6.1, 7.1; RFC 6980).

use buffer::Buffer;
use std::net::Ipv6Addr;
use wire::nd::{HOP_LIMIT, NdOptions};
use wire::{ExtHeaders, Header, IcmpHeader, IpHeader, IpProtocol, Ipv6Header, MacAddr};

/// A fault that any of the messages may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    TooShort,
    TooLong,
    HopLimit,
    Code,
    Fragmented,
    Options,
    NoHeader,
    NotEnabled,
}

/// Adds the faults of [`Fault`], with their texts in one place, to a node's enum of next nodes.
macro_rules! edges {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($body:tt)* }) => {
        $(#[$meta])*
        #[derive(graph::Next, Clone, Copy)]
        $vis enum $name {
            $($body)*
            /// message is shorter than its type wants
            #[drop]
            #[counter("length_too_small_for_type")]
            TooShort,
            /// message is longer than a buffer
            #[drop]
            TooLong,
            /// hop limit is not 255: the message was forwarded
            #[drop]
            #[counter("invalid_hop_limit_for_type")]
            HopLimit,
            /// code is not 0
            #[drop]
            #[counter("invalid_code_for_type")]
            Code,
            /// message was sent in fragments (RFC 6980)
            #[drop]
            Fragmented,
            /// malformed option
            #[drop]
            Options,
            /// frame has no Ethernet header
            #[drop]
            NoHeader,
            /// ipv6 is not enabled on this interface
            #[drop]
            NotEnabled,
        }

        impl From<$crate::check::Fault> for $name {
            #[inline(always)]
            fn from(fault: $crate::check::Fault) -> Self {
                match fault {
                    $crate::check::Fault::TooShort => Self::TooShort,
                    $crate::check::Fault::TooLong => Self::TooLong,
                    $crate::check::Fault::HopLimit => Self::HopLimit,
                    $crate::check::Fault::Code => Self::Code,
                    $crate::check::Fault::Fragmented => Self::Fragmented,
                    $crate::check::Fault::Options => Self::Options,
                    $crate::check::Fault::NoHeader => Self::NoHeader,
                    $crate::check::Fault::NotEnabled => Self::NotEnabled,
                }
            }
        }
    };
}
pub(crate) use edges;

/// A message that is well-formed.
#[derive(Clone, Copy)]
pub struct Checked<'b, M> {
    pub src: Ipv6Addr,
    pub dst: Ipv6Addr,
    /// Its fixed part.
    pub message: &'b M,
    /// Its options, all of which can be walked.
    pub options: &'b [u8],
    /// All of it, from its type on.
    pub bytes: &'b [u8],
}

/// Parses the message in a packet that starts at its IPv6 header; its checksum has been verified.
#[inline(always)]
pub fn check<M: Header>(b: &Buffer) -> Result<Checked<'_, M>, Fault> {
    let data = b.data();
    let ip = Ipv6Header::view(data).ok_or(Fault::TooShort)?;
    if ip.hop_limit != HOP_LIMIT {
        return Err(Fault::HopLimit);
    }
    let mut walk = ExtHeaders::new(data);
    for header in walk.by_ref() {
        match header {
            Ok(header) if header.kind == IpProtocol::FRAGMENT => return Err(Fault::Fragmented),
            Ok(_) => {}
            Err(_) => return Err(Fault::TooShort),
        }
    }
    if ip.packet_len() > data.len() {
        return Err(if b.is_chained() { Fault::TooLong } else { Fault::TooShort });
    }
    let bytes = data.get(walk.offset()..ip.packet_len()).ok_or(Fault::TooShort)?;
    let (message, options) = M::split(bytes).ok_or(Fault::TooShort)?;
    if IcmpHeader::view(bytes).is_none_or(|icmp| icmp.code != 0) {
        return Err(Fault::Code);
    }
    if NdOptions::new(options).any(|option| option.is_err()) {
        return Err(Fault::Options);
    }
    Ok(Checked { src: ip.src(), dst: ip.dst(), message, options, bytes })
}

/// Returns true if a link-layer address can be that of one station.
#[inline(always)]
pub fn is_station(mac: MacAddr) -> bool {
    mac.is_unicast() && !mac.is_zero()
}

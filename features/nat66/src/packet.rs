// SPDX-License-Identifier: Apache-2.0
//! The change of an address in place, with the checksums that cover it (RFC 1624).

use std::net::Ipv6Addr;
use wire::checksum::{Sum, update, update_udp};
use wire::{Header, Icmp6Type, IpProtocol, Ipv6Header, UpperLayer};

/// Bytes of an ICMPv6 header in front of the packet that an error quotes.
const ICMP_HEADER: usize = 8;
/// Offset of the checksum of ICMPv6.
const ICMP_CHECKSUM: usize = 2;
/// Bytes of an upper layer that a changed address changes at most: the header of TCP.
const CHANGED: usize = 20;

/// The address of a packet that translation changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// Its source.
    Source,
    /// Its destination.
    Destination,
}

impl Field {
    /// The address of a packet.
    #[inline(always)]
    pub fn of(self, ip: &Ipv6Header) -> Ipv6Addr {
        match self {
            Self::Source => ip.src.into(),
            Self::Destination => ip.dst.into(),
        }
    }

    /// The field at the other end: a quoted packet went the other way.
    pub fn other(self) -> Self {
        match self {
            Self::Source => Self::Destination,
            Self::Destination => Self::Source,
        }
    }
}

/// Offset of an upper layer's checksum, if it covers the addresses.
#[inline(always)]
fn checksum_at(protocol: IpProtocol) -> Option<usize> {
    match protocol {
        IpProtocol::TCP => Some(16),
        IpProtocol::UDP | IpProtocol::UDP_LITE => Some(6),
        IpProtocol::ICMP6 => Some(ICMP_CHECKSUM),
        _ => None,
    }
}

/// Changes an address of the packet at `bytes[0]`, whose upper layer is `upper`. With `partial` the
/// upper layer's checksum covers the pseudo-header only so far. False if the checksum isn't in
/// these bytes: then nothing was changed.
#[inline(always)]
pub fn change(
    bytes: &mut [u8],
    upper: &UpperLayer,
    partial: bool,
    (field, new): (Field, Ipv6Addr),
) -> bool {
    let Some(ip) = Ipv6Header::view_mut(bytes) else { return false };
    let place = if field == Field::Source { &mut ip.src } else { &mut ip.dst };
    let (removed, added) = (Sum::of(place), Sum::of(&new.octets()));
    let old = std::mem::replace(place, new.octets());
    // With segments left the checksum covers another destination (RFC 8200 8.1).
    let is_covered = upper.fragment_offset == 0 && !(upper.routed && field == Field::Destination);
    let Some(at) = checksum_at(upper.protocol).filter(|_| is_covered) else { return true };
    let at = upper.offset + at;
    let Some(two) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<2>()) else {
        if let Some(ip) = Ipv6Header::view_mut(bytes) {
            *(if field == Field::Source { &mut ip.src } else { &mut ip.dst }) = old;
        }
        return false;
    };
    let checksum = u16::from_be_bytes(*two);
    let is_udp = matches!(upper.protocol, IpProtocol::UDP | IpProtocol::UDP_LITE);
    let mended = match (partial, is_udp) {
        (true, _) => !update(!checksum, removed, added),
        (_, true) => update_udp(checksum, removed, added),
        _ => update(checksum, removed, added),
    };
    *two = mended.to_be_bytes();
    true
}

/// True for an ICMPv6 error whose header is here.
#[inline(always)]
pub fn is_error(bytes: &[u8], upper: &UpperLayer) -> bool {
    upper.protocol == IpProtocol::ICMP6
        && upper.fragment_offset == 0
        && bytes.get(upper.offset).is_some_and(|kind| Icmp6Type(*kind).is_error())
}

/// The address of the packet that an ICMPv6 error quotes.
pub fn quoted(bytes: &[u8], upper: &UpperLayer, field: Field) -> Option<Ipv6Addr> {
    let ip = Ipv6Header::view(bytes.get(upper.offset + ICMP_HEADER..)?)?;
    Some(field.of(ip))
}

/// Changes an address of the packet that an ICMPv6 error quotes, and the error's checksum.
pub fn change_quoted(bytes: &mut [u8], upper: &UpperLayer, change_to: (Field, Ipv6Addr)) {
    let Some(icmp) = bytes.get_mut(upper.offset..) else { return };
    let Some((header, inner)) = icmp.split_at_mut_checked(ICMP_HEADER) else { return };
    let Ok(of_quoted) = UpperLayer::find6(inner) else { return };
    let len = inner.len().min(of_quoted.offset + CHANGED);
    let before = Sum::of(&inner[..len]);
    if !change(inner, &of_quoted, false, change_to) {
        // The quotation ends in front of the checksum.
        let headers = UpperLayer { fragment_offset: 1, ..of_quoted };
        change(inner, &headers, false, change_to);
    }
    let after = Sum::of(&inner[..len]);
    let checksum = u16::from_be_bytes([header[ICMP_CHECKSUM], header[ICMP_CHECKSUM + 1]]);
    let mended = update(checksum, before, after).to_be_bytes();
    header[ICMP_CHECKSUM..ICMP_CHECKSUM + 2].copy_from_slice(&mended);
}

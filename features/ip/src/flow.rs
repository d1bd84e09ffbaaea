// SPDX-License-Identifier: Apache-2.0
//! The flow that a packet belongs to, as a number: packets of one flow take one path.

use buffer::Buffer;
use wire::{IpProtocol, Ipv4Header};

const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hash of addresses, protocol and ports of the packet at the first byte. Fragments of one packet have to take one path,
/// and only the first has ports: they are hashed without.
#[inline(always)]
pub fn hash(b: &Buffer) -> u32 {
    let Some(header) = b.bytes::<20>(0) else { return 0 };
    let addresses = u64::from_ne_bytes([
        header[12], header[13], header[14], header[15], header[16], header[17], header[18], header[19],
    ]);
    let protocol = IpProtocol(header[9]);
    let whole = u16::from_be_bytes([header[6], header[7]]) & 0x3fff == 0;
    let ported =
        matches!(protocol, IpProtocol::TCP | IpProtocol::UDP | IpProtocol::SCTP | IpProtocol::UDP_LITE);
    let at = if header[0] == Ipv4Header::PLAIN { 20 } else { usize::from(header[0] & 15) * 4 };
    let ports = if whole & ported { b.bytes::<4>(at).map_or(0, |p| u32::from_ne_bytes(*p)) } else { 0 };
    mix(addresses, u64::from(ports) << 8 | u64::from(protocol.0))
}

/// Two rounds of multiplication, halves folded: every bit of the input reaches the low bits, which choose buckets.
#[inline(always)]
fn mix(a: u64, b: u64) -> u32 {
    let fold = |x: u64, y: u64| {
        let wide = u128::from(x) * u128::from(y);
        wide as u64 ^ (wide >> 64) as u64
    };
    let hash = fold(fold(a ^ MIX, b ^ 0xd6e8_feb8_6659_fd93), MIX);
    (hash ^ hash >> 32) as u32
}

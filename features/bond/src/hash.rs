// SPDX-License-Identifier: Apache-2.0
//! The hash of a frame, which chooses its member. Frames of a flow take the same member, so they
//! arrive in order (IEEE 802.1AX 6.2.4).

use crate::model::Balance;
use buffer::Buffer;
use wire::{EtherType, IpProtocol};

/// Bytes of both addresses.
const ADDRESSES: usize = 12;
/// Bytes of a VLAN tag.
const TAG: usize = 4;
/// Tags that are skipped at most.
const TAGS: usize = 2;

/// Adds a word to a hash. The multiplier is 2⁶⁴ divided by the golden ratio, which spreads
/// neighbouring values (Knuth, The Art of Computer Programming 3, 6.4).
#[inline(always)]
const fn mix(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 32
}

#[inline(always)]
fn word<const N: usize>(bytes: &[u8; N], at: usize) -> u64 {
    let mut word = [0; 8];
    let len = (N - at).min(8);
    word[..len].copy_from_slice(&bytes[at..at + len]);
    u64::from_ne_bytes(word)
}

/// The type of a frame's payload behind at most two tags, and where the payload begins.
#[inline(always)]
pub fn payload(b: &Buffer) -> Option<(EtherType, usize)> {
    let mut at = ADDRESSES;
    for _ in 0..=TAGS {
        let &[high, low] = b.bytes::<2>(at)?;
        let ethertype = EtherType(u16::from_be_bytes([high, low]));
        if !ethertype.is_vlan() {
            return Some((ethertype, at + 2));
        }
        at += TAG;
    }
    None
}

#[inline(always)]
fn addresses(b: &Buffer) -> u64 {
    let Some(addresses) = b.bytes::<ADDRESSES>(0) else { return 0 };
    mix(mix(0, word(addresses, 0)), word(addresses, 8))
}

/// The hash of the IP addresses, and where TCP or UDP ports are; `None` for other frames.
#[inline(always)]
fn ip(b: &Buffer) -> Option<(u64, Option<usize>)> {
    let (ethertype, at) = payload(b)?;
    let has_ports =
        |protocol: u8| matches!(IpProtocol(protocol), IpProtocol::TCP | IpProtocol::UDP);
    match ethertype {
        EtherType::IP4 => {
            let header = b.bytes::<20>(at)?;
            let len = usize::from(header[0] & 0xf) * 4;
            if header[0] >> 4 != 4 || len < 20 {
                return None;
            }
            // All fragments of a datagram take the same member, and only the first one has ports
            // (RFC 791 3.2).
            let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
            let ports = (!is_fragment && has_ports(header[9])).then_some(at + len);
            Some((mix(0, word(header, 12)), ports))
        }
        EtherType::IP6 => {
            let header = b.bytes::<40>(at)?;
            if header[0] >> 4 != 6 {
                return None;
            }
            let hash = [8, 16, 24, 32].into_iter().fold(0, |hash, at| mix(hash, word(header, at)));
            Some((hash, has_ports(header[6]).then_some(at + 40)))
        }
        _ => None,
    }
}

/// The hash of a frame. Frames that aren't IP are hashed by their MAC addresses.
#[inline(always)]
pub fn hash(b: &Buffer, balance: Balance) -> u64 {
    match balance {
        Balance::L23 => match ip(b) {
            Some((hash, _)) => mix(addresses(b), hash),
            None => addresses(b),
        },
        Balance::L34 => match ip(b) {
            Some((hash, ports)) => {
                let ports = ports.and_then(|at| b.bytes::<4>(at));
                ports.map_or(hash, |ports| mix(hash, word(ports, 0)))
            }
            None => addresses(b),
        },
        _ => addresses(b),
    }
}

/// The member that a hash chooses out of `n`, which isn't 0.
#[inline(always)]
pub const fn choose(hash: u64, n: usize) -> usize {
    // The upper half is mixed best.
    (hash >> 32) as usize % n
}

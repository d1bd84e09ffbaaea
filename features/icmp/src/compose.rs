// SPDX-License-Identifier: Apache-2.0
//! How an ICMP error looks.

use buffer::{Buffer, Cache, Flags};
use std::net::Ipv4Addr;
use wire::checksum::Sum;
use wire::{Header, IcmpHeader, IpHeader, IpProtocol, Ipv4Header, U16};

/// Bytes of an ICMP error at most, its IP header included (RFC 1812 4.3.2.3).
pub const MAX_LEN: usize = 576;
/// Where the quoted packet starts.
const QUOTE: usize = 28;
/// Errors go as far as they can.
const TTL: u8 = 255;

/// What the error says.
#[derive(Clone, Copy, Debug)]
pub struct Says {
    /// ICMP type.
    pub kind: u8,
    /// ICMP code.
    pub code: u8,
    /// The last word of the ICMP header.
    pub rest: u32,
}

/// An ICMP error, from its IP header on.
pub struct Message {
    bytes: [u8; MAX_LEN],
    len: usize,
}

impl Message {
    /// About the packet whose IP header, `ip`, stands at offset `at` of `b`: to its source, from `source`.
    pub fn about(b: &Buffer, at: usize, ip: &Ipv4Header, source: Ipv4Addr, says: Says, id: u16) -> Self {
        let mut bytes = [0; MAX_LEN];
        // What lies behind the packet is padding of the frame.
        let quoted = ip.packet_len().min(MAX_LEN - QUOTE);
        let len = QUOTE + b.copy_out(at, &mut bytes[QUOTE..QUOTE + quoted]);
        let mut header = Ipv4Header::new(source, ip.src(), IpProtocol::ICMP, (len - 20) as u16);
        header.ttl = TTL;
        header.tos = tos(ip.tos);
        // The message may be fragmented (a link may be narrower than 576 bytes), so the identification has to differ from
        // that of other messages (RFC 6864 4.3).
        header.id = U16::new(id);
        header.set_checksum();
        if let Some(slot) = Ipv4Header::view_mut(&mut bytes) {
            *slot = header;
        }
        if let Some(slot) = IcmpHeader::view_at_mut(&mut bytes, 20) {
            *slot = IcmpHeader::new(says.kind, says.code, says.rest);
        }
        let checksum = Sum::of(&bytes[20..len]).finish();
        if let Some(slot) = IcmpHeader::view_at_mut(&mut bytes, 20) {
            slot.checksum = U16::new(checksum);
        }
        Self { bytes, len }
    }

    /// Puts the message in the place of what is in the buffer: a packet that we send.
    pub fn replace(&self, b: &mut Buffer, cache: &mut Cache) {
        b.trim_packet(b.len(), cache);
        let fits = b.set_data(&self.bytes[..self.len]);
        debug_assert!(fits, "a message is shorter than a buffer");
        b.flags = Flags(b.flags.0 & Flags::TRACED.0);
        b.flags.set(Flags::LOCAL.with(Flags::IP4_CSUM_OK).with(Flags::L4_CSUM_OK));
        b.mark_l3();
        (b.tx_if, b.flow_hash) = (u32::MAX, 0);
    }
}

/// Precedence 6, internetwork control, and the type of service of the packet it is about (RFC 1812 4.3.2.5), but never its ECN
/// bits: they are not this message's (RFC 3168 5).
fn tos(about: u8) -> u8 {
    0xc0 | about & 0x1c
}

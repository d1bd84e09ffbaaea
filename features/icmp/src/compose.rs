// SPDX-License-Identifier: Apache-2.0
//! Composition of ICMP errors: IP header, ICMP header, and the quote of the packet that they are
//! about.

use crate::model::ErrorHeader;
use crate::version::Icmp;
use buffer::{Buffer, Cache};
use ip::replace;
use wire::checksum::Sum;
use wire::{Header, IcmpHeader, IpHeader, U16};

/// Bytes of the longest error of any version.
const LONGEST: usize = 1280;

/// An ICMP error, from its IP header on.
pub struct Message {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Message {
    /// About the packet whose IP header, `ip`, stands at offset `at` of `b`: to its source, from
    /// `source`.
    pub fn about<F: Icmp>(
        b: &Buffer,
        at: usize,
        ip: &F::Header,
        source: F::Addr,
        error: ErrorHeader,
        id: Option<u16>,
    ) -> Self {
        let mut bytes = [0; LONGEST];
        let (icmp, quote) = (F::HEADER_LEN, F::HEADER_LEN + IcmpHeader::LEN);
        // Bytes beyond the packet's length are padding of the frame.
        let quoted = ip.packet_len().min(F::MAX_LEN - quote);
        let len = quote + b.copy_out(at, &mut bytes[quote..quote + quoted]);
        let header = F::header(source, ip, (len - icmp) as u16, id);
        let pseudo = F::pseudo(&header, len - icmp);
        if let Some(slot) = F::Header::view_mut(&mut bytes) {
            *slot = header;
        }
        if let Some(slot) = IcmpHeader::view_at_mut(&mut bytes, icmp) {
            *slot = IcmpHeader::new(error.kind, error.code, error.rest);
        }
        let checksum = (pseudo + Sum::of(&bytes[icmp..len])).finish();
        if let Some(slot) = IcmpHeader::view_at_mut(&mut bytes, icmp) {
            slot.checksum = U16::new(checksum);
        }
        Self { bytes, len }
    }

    /// Replaces the packet in the buffer with the message, as one of our own.
    pub fn replace(&self, b: &mut Buffer, cache: &mut Cache) {
        replace(b, &self.bytes[..self.len], cache);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Next nodes of `geneve4-input` and `geneve6-input`, which take headers off. The number is the IP
//! version of the datagram.

use buffer::Buffer;
use tunnel::{OWN, Own};
use wire::{EtherType, Geneve as Header};
use zerocopy::FromBytes;

tunnel::datagram_next! {
    /// Next nodes of received datagrams.
    pub enum To {
        /// packets with bad flags field in geneve header
        #[drop]
        #[counter("packets with bad flags field in geneve header")]
        BadFlags,
        /// packets with invalid options length
        #[drop]
        #[counter("packets with invalid options length")]
        BadOptions,
        /// an option has to be understood, and none is
        #[drop]
        Critical,
        /// packet is for the tunnel's end itself
        #[drop]
        Oam,
        /// payload is no Ethernet frame
        #[drop]
        UnknownProtocol,
        /// packet shorter than its headers
        #[drop]
        TooShort,
    }
}

/// Reads a header that begins `at` bytes into a packet.
#[inline(always)]
pub fn read(b: &Buffer, at: usize, header: &[u8; OWN]) -> Result<Own, To> {
    let header = Header::ref_from_bytes(header).map_err(|_| To::TooShort)?;
    // RFC 8926 3.4: a packet of an unknown version is dropped.
    if header.version() != 0 {
        return Err(To::BadFlags);
    }
    let len = header.header_len();
    if at + len > b.packet_len() {
        return Err(To::BadOptions);
    }
    // RFC 8926 3.4: packets with the O bit aren't forwarded; 3.5.1: an end that doesn't understand
    // a critical option drops the packet.
    if header.flags & Header::OAM != 0 {
        return Err(To::Oam);
    }
    if header.flags & Header::CRITICAL != 0 {
        return Err(To::Critical);
    }
    if header.protocol() != EtherType::TEB {
        return Err(To::UnknownProtocol);
    }
    Ok(Own { len, payload: None })
}

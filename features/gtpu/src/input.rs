// SPDX-License-Identifier: Apache-2.0
//! Next nodes of `gtpu4-input` and `gtpu6-input`, which take headers off. The number is the IP
//! version of the datagram.

use buffer::Buffer;
use tunnel::{OWN, Own};
use wire::{Gtpu as Header, GtpuError};

tunnel::datagram_next! {
    /// Next nodes of received datagrams.
    pub enum To {
        /// Messages that are answered.
        #[next("gtpu{4|6}-answer")]
        Answer,
        /// packet too small to fit a gtpu header
        #[drop]
        #[counter("packet too small to fit a gtpu header")]
        TooShort,
        /// packets with bad version in gtpu header
        #[drop]
        #[counter("packets with bad version in gtpu header")]
        BadVersion,
        /// packets with message type < 255 in gtpu header
        #[drop]
        #[counter("packets with message type < 255 in gtpu header")]
        BadType,
        /// extension headers are cut, empty or too many
        #[drop]
        BadExtensions,
        /// an extension header has to be understood, and isn't
        #[drop]
        UnknownExtension,
        /// forwarded packet has come back too often
        #[drop]
        Looped,
    }
}

/// Reads a header that begins `at` bytes into a packet. The length field isn't compared with the
/// datagram: senders put other values.
#[inline(always)]
pub fn read(b: &Buffer, at: usize, &[flags, message, ..]: &[u8; OWN]) -> Result<Own, To> {
    // TS 29.281 5.1: version 1, GTP, the spare bit 0.
    if flags & Header::VERSION != Header::V1 {
        return Err(To::BadVersion);
    }
    if message != Header::G_PDU {
        return Err(To::BadType);
    }
    match Header::headers(b.data().get(at..).unwrap_or_default()) {
        Ok(headers) => Ok(Own { len: headers.len, payload: None }),
        Err(GtpuError::Cut | GtpuError::Empty | GtpuError::TooMany) => Err(To::BadExtensions),
        Err(GtpuError::Unknown(_)) => Err(To::UnknownExtension),
    }
}

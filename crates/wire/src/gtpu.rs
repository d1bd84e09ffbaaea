// SPDX-License-Identifier: Apache-2.0
//! GTP-U (3GPP TS 29.281).

use crate::{Header, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The mandatory part of a GTP-U header, 8 bytes after UDP.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Gtpu {
    /// Version (3 bits), protocol type, a spare bit, and the flags [`Gtpu::EXTENSION`],
    /// [`Gtpu::SEQUENCE`] and [`Gtpu::NUMBER`].
    pub flags: u8,
    /// Message type.
    pub message: u8,
    /// Bytes behind this header.
    pub length: U16,
    /// Endpoint identifier of the receiver.
    pub teid: U32,
}

/// The headers in front of the payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GtpuHeaders {
    /// Bytes of all of them.
    pub len: usize,
    /// QoS flow of the PDU session container, if there is one.
    pub qfi: Option<u8>,
}

/// Why headers can't be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GtpuError {
    /// The packet ends inside them.
    Cut,
    /// An extension header of length 0.
    Empty,
    /// More than [`Gtpu::MAX_EXTENSIONS`].
    TooMany,
    /// An extension header of this type, which its receiver has to understand.
    Unknown(u8),
}

impl Gtpu {
    /// UDP destination port.
    pub const PORT: u16 = 2152;
    /// Version 1 of GTP, not GTP', without further parts.
    pub const V1: u8 = 0x30;
    /// Version, protocol type and the spare bit: [`Self::V1`] is the only value of what is here.
    pub const VERSION: u8 = 0xf8;
    /// Extension headers follow.
    pub const EXTENSION: u8 = 4;
    /// The sequence number is valid.
    pub const SEQUENCE: u8 = 2;
    /// The N-PDU number is valid.
    pub const NUMBER: u8 = 1;
    /// Message type of echo requests.
    pub const ECHO_REQUEST: u8 = 1;
    /// Message type of echo responses.
    pub const ECHO_RESPONSE: u8 = 2;
    /// Message type of error indications.
    pub const ERROR_INDICATION: u8 = 26;
    /// Message type of user data.
    pub const G_PDU: u8 = 255;
    /// Type of the extension header with the PDU session's container.
    pub const PDU_SESSION: u8 = 0x85;
    /// Type of the extension header with a UDP port.
    pub const UDP_PORT: u8 = 0x40;
    /// Type of the information element with a restart counter, one byte.
    pub const RECOVERY: u8 = 14;
    /// Type of the information element with an endpoint identifier, four bytes.
    pub const TEID_DATA: u8 = 16;
    /// Type of the information element with the address of an endpoint, behind two bytes of
    /// length.
    pub const PEER_ADDRESS: u8 = 133;
    /// Extension headers of a packet at most.
    pub const MAX_EXTENSIONS: usize = 8;
    /// Bytes of sequence number, N-PDU number and type of the first extension header.
    pub const OPTIONAL: usize = 4;

    /// A header of user data for an endpoint.
    #[inline(always)]
    pub fn new(teid: u32) -> Self {
        Self { flags: Self::V1, message: Self::G_PDU, length: U16::ZERO, teid: U32::new(teid) }
    }

    /// The header with what follows it if there is a PDU session's container, without the length.
    pub fn with_qfi(teid: u32, qfi: u8) -> Vec<u8> {
        let header = Self { flags: Self::V1 | Self::EXTENSION, ..Self::new(teid) };
        // 3GPP TS 38.415 5.5.2.1: downlink information; the flow in the lower 6 bits.
        let container = [0, 0, 0, Self::PDU_SESSION, 1, 0, qfi & 0x3f, 0];
        [header.as_bytes(), &container].concat()
    }

    /// Reads the headers at the front of `bytes`, whose version was checked.
    ///
    /// # Errors
    /// Headers that are cut, endless or not understood.
    #[inline(always)]
    pub fn headers(bytes: &[u8]) -> Result<GtpuHeaders, GtpuError> {
        let header = Self::view(bytes).ok_or(GtpuError::Cut)?;
        let len = size_of::<Self>();
        if header.flags & (Self::EXTENSION | Self::SEQUENCE | Self::NUMBER) == 0 {
            return Ok(GtpuHeaders { len, qfi: None });
        }
        // 5.1: if one of the flags is set, the fields of all are there, and the value of a field
        // counts only if its own flag is set.
        let [_, _, _, next] =
            *bytes.get(len..).and_then(|rest| rest.first_chunk::<4>()).ok_or(GtpuError::Cut)?;
        let next = if header.flags & Self::EXTENSION == 0 { 0 } else { next };
        Self::extensions(bytes, len + Self::OPTIONAL, next)
    }

    /// Walks the extension headers (5.2.1): each has its length in words of 4 bytes in the first
    /// byte, and the type of the next one in the last.
    #[inline(never)]
    fn extensions(bytes: &[u8], mut len: usize, mut next: u8) -> Result<GtpuHeaders, GtpuError> {
        let mut qfi = None;
        for _ in 0..=Self::MAX_EXTENSIONS {
            if next == 0 {
                return Ok(GtpuHeaders { len, qfi });
            }
            let words = *bytes.get(len).ok_or(GtpuError::Cut)?;
            if words == 0 {
                return Err(GtpuError::Empty);
            }
            let to = len + 4 * usize::from(words);
            let extension = bytes.get(len..to).ok_or(GtpuError::Cut)?;
            match next {
                Self::PDU_SESSION => qfi = Some(extension[2] & 0x3f),
                // Containers and PDCP numbers are for base stations: no endpoint here uses them.
                0x81..=0x84 | 0xc0 => {}
                // 5.2.1: the upper bit says that the endpoint has to understand it.
                kind if kind & 0x80 != 0 => return Err(GtpuError::Unknown(kind)),
                _ => {}
            }
            next = extension[extension.len() - 1];
            len = to;
        }
        Err(GtpuError::TooMany)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn fields() {
        let header = Gtpu::new(0x0102_0304);
        assert_eq!(header.as_bytes(), [0x30, 255, 0, 0, 1, 2, 3, 4]);
        assert_eq!(Gtpu::headers(header.as_bytes()), Ok(GtpuHeaders { len: 8, qfi: None }));
        let with = Gtpu::with_qfi(7, 9);
        assert_eq!(with, [0x34, 255, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0x85, 1, 0, 9, 0]);
        assert_eq!(Gtpu::headers(&with), Ok(GtpuHeaders { len: 16, qfi: Some(9) }));
    }

    #[suite::test]
    fn chains() {
        let chain = |flags: u8, rest: &[u8]| {
            Gtpu::headers(&[&[flags, 255, 0, 0, 0, 0, 0, 1][..], rest].concat())
        };
        // The type counts only with its flag.
        assert_eq!(chain(0x32, &[0, 1, 0, 0x85]), Ok(GtpuHeaders { len: 12, qfi: None }));
        let two = [0, 0, 0, 0x40, 1, 8, 0x68, 0x85, 2, 0, 5, 1, 2, 3, 4, 0];
        assert_eq!(chain(0x34, &two), Ok(GtpuHeaders { len: 24, qfi: Some(5) }));
        assert_eq!(chain(0x34, &two[..15]), Err(GtpuError::Cut));
        assert_eq!(chain(0x34, &[0, 0, 0]), Err(GtpuError::Cut));
        assert_eq!(chain(0x34, &[0, 0, 0, 0x85, 0, 0, 0, 0]), Err(GtpuError::Empty));
        assert_eq!(chain(0x34, &[0, 0, 0, 0xc8, 1, 0, 0, 0]), Err(GtpuError::Unknown(0xc8)));
        assert_eq!(chain(0x34, &[0, 0, 0, 0x48, 1, 0, 0, 0]).map(|h| h.len), Ok(16));
        let many = |n: usize| {
            let mut all = [&[0, 0, 0, 0x40][..], &[1, 0, 0, 0x40].repeat(n)].concat();
            *all.last_mut().unwrap() = 0;
            all
        };
        assert_eq!(chain(0x34, &many(Gtpu::MAX_EXTENSIONS)).map(|h| h.len), Ok(12 + 32));
        assert_eq!(chain(0x34, &many(Gtpu::MAX_EXTENSIONS + 1)), Err(GtpuError::TooMany));
    }
}

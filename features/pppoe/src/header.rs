// SPDX-License-Identifier: Apache-2.0
//! The header behind the Ethernet header (RFC 2516 4), and the protocol behind it.

use buffer::Buffer;

/// Bytes of the header.
pub const LEN: usize = 6;
/// Bytes of PPP's protocol field (RFC 2516 6: no address and control fields, never compressed).
pub const PROTOCOL: usize = 2;
/// Version 1 and type 1.
pub const VERSION_TYPE: u8 = 0x11;
/// The code of the session stage (RFC 2516 6).
pub const SESSION: u8 = 0;
/// Identifiers that no session has: that of discovery (RFC 2516 5.1), and one that is reserved (4).
pub const NO_SESSIONS: [u16; 2] = [0, 0xffff];

/// The protocol of IPv4 (RFC 1332 2) and IPv6 (RFC 5072 3).
pub const IP4: u16 = 0x0021;
pub const IP6: u16 = 0x0057;

/// A code of the discovery stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// PADI, PADR: a client looks for a server, or asks for a session (RFC 2516 5.1, 5.3).
    OfClient,
    /// PADT: either end has ended a session (5.5).
    End,
    /// PADO, PADS: of a server (5.2, 5.4), and unknown ones.
    Other,
}

impl Code {
    pub const fn of(code: u8) -> Self {
        match code {
            0x09 | 0x19 => Self::OfClient,
            0xa7 => Self::End,
            _ => Self::Other,
        }
    }
}

/// The fields of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    pub code: u8,
    pub session: u16,
    /// Bytes of the payload.
    pub len: usize,
}

/// Why a header isn't read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bad {
    /// The packet ends before the header does, or before its payload.
    TooShort,
    /// Another version or type.
    Version,
}

impl Header {
    /// Reads the header that the packet starts with.
    #[inline(always)]
    pub fn of(b: &Buffer) -> Result<Self, Bad> {
        let &[version, code, s0, s1, l0, l1] = b.bytes::<LEN>(0).ok_or(Bad::TooShort)?;
        // RFC 2516 4: both are 1.
        if version != VERSION_TYPE {
            return Err(Bad::Version);
        }
        let (session, len) = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([l0, l1]).into());
        // RFC 2516 4: of the payload; the frame may be longer (IEEE 802.3 4A.4.2).
        if b.packet_len() < LEN + len {
            return Err(Bad::TooShort);
        }
        Ok(Self { code, session, len })
    }

    /// PPP's protocol, if the payload of the packet is long enough.
    #[inline(always)]
    pub fn protocol(self, b: &Buffer) -> Option<u16> {
        b.bytes::<PROTOCOL>(LEN).filter(|_| self.len >= PROTOCOL).map(|p| u16::from_be_bytes(*p))
    }
}

/// PPP's protocol is a control protocol: of the link, or of a network protocol (RFC 1661 2).
#[inline(always)]
pub const fn is_control(protocol: u16) -> bool {
    protocol & 0x8000 != 0
}

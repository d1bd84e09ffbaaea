// SPDX-License-Identifier: Apache-2.0
//! GRE (RFC 2784, with the key and sequence number of RFC 2890).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{EtherType, U16};

/// The fixed part of a GRE header, 4 bytes. Optional words follow in the order checksum, key,
/// sequence.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Gre {
    /// Flags and, in the low 3 bits, the version.
    pub flags: U16,
    /// Ethernet type of the payload.
    pub protocol: U16,
}

impl Gre {
    /// A checksum word is present.
    pub const CHECKSUM: u16 = 0x8000;
    /// Routing is present (RFC 1701; refused today).
    pub const ROUTING: u16 = 0x4000;
    /// A key word is present.
    pub const KEY: u16 = 0x2000;
    /// A sequence number is present.
    pub const SEQUENCE: u16 = 0x1000;

    /// Version; 0, or 1 for PPTP.
    #[inline(always)]
    pub fn version(&self) -> u8 {
        (self.flags.get() & 7) as u8
    }

    /// Type of the payload.
    #[inline(always)]
    pub fn protocol(&self) -> EtherType {
        EtherType(self.protocol.get())
    }

    /// Bytes of the header with its optional words, for version 0 without routing.
    #[inline(always)]
    pub fn header_len(&self) -> usize {
        let words = self.flags.get() & (Self::CHECKSUM | Self::KEY | Self::SEQUENCE);
        4 + 4 * words.count_ones() as usize
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::Header;

    #[suite::test]
    fn lengths() {
        let gre = |flags: u16| Gre { flags: U16::new(flags), protocol: EtherType::IP6.into() };
        assert_eq!(gre(0).header_len(), 4);
        assert_eq!(gre(Gre::KEY).header_len(), 8);
        assert_eq!(gre(Gre::KEY | Gre::SEQUENCE | Gre::CHECKSUM | 1).header_len(), 16);
        assert_eq!(gre(1).version(), 1);
        assert_eq!(Gre::view(&[0, 0, 0x86, 0xdd]).unwrap().protocol(), EtherType::IP6);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! GENEVE (RFC 8926).

use crate::{EtherType, U16};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// GENEVE header without options, 8 bytes after UDP.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Geneve {
    /// The version in the upper 2 bits, and the length of the options in words of 4 bytes.
    pub version_length: u8,
    /// Flags: [`Geneve::OAM`], [`Geneve::CRITICAL`].
    pub flags: u8,
    /// Ethernet type of the payload.
    pub protocol: U16,
    /// Network identifier.
    pub vni: [u8; 3],
    /// Zero when sent, ignored when received.
    pub reserved: u8,
}

impl Geneve {
    /// UDP destination port.
    pub const PORT: u16 = 6081;
    /// The packet is for the tunnel's end itself, not for what is behind it.
    pub const OAM: u8 = 0x80;
    /// An option is there that has to be understood.
    pub const CRITICAL: u8 = 0x40;

    /// A header without options for frames of network `vni`, which is cut to 24 bits.
    #[inline(always)]
    pub fn new(vni: u32) -> Self {
        let [_, a, b, c] = vni.to_be_bytes();
        let protocol = EtherType::TEB.into();
        Self { version_length: 0, flags: 0, protocol, vni: [a, b, c], reserved: 0 }
    }

    /// Network identifier, 24 bits.
    #[inline(always)]
    pub fn vni(&self) -> u32 {
        let [a, b, c] = self.vni;
        u32::from_be_bytes([0, a, b, c])
    }

    /// Version; 0 is the only one.
    #[inline(always)]
    pub fn version(&self) -> u8 {
        self.version_length >> 6
    }

    /// Ethernet type of the payload.
    #[inline(always)]
    pub fn protocol(&self) -> EtherType {
        EtherType(self.protocol.get())
    }

    /// Bytes of the header with its options.
    #[inline(always)]
    pub fn header_len(&self) -> usize {
        size_of::<Self>() + 4 * usize::from(self.version_length & 0x3f)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::Header;

    #[suite::test]
    fn fields() {
        let header = Geneve::new(0x0012_3456);
        assert_eq!(header.as_bytes(), [0, 0, 0x65, 0x58, 0x12, 0x34, 0x56, 0]);
        assert_eq!((header.vni(), header.header_len(), header.version()), (0x12_3456, 8, 0));
        let with = Geneve::view(&[0x7f, 0xc0, 8, 0, 0, 0, 1, 0]).unwrap();
        assert_eq!((with.version(), with.header_len()), (1, 260));
        assert_eq!((with.flags, with.protocol()), (Geneve::OAM | Geneve::CRITICAL, EtherType::IP4));
    }
}

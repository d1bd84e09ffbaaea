// SPDX-License-Identifier: Apache-2.0
//! VXLAN (RFC 7348).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// VXLAN header, 8 bytes after UDP.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Vxlan {
    /// Flags; [`Vxlan::VALID`] must be set.
    pub flags: u8,
    /// Zero when sent, ignored when received.
    pub reserved1: [u8; 3],
    /// Network identifier.
    pub vni: [u8; 3],
    /// Zero when sent, ignored when received.
    pub reserved2: u8,
}

impl Vxlan {
    /// UDP destination port.
    pub const PORT: u16 = 4789;
    /// The flag that says that the identifier is valid.
    pub const VALID: u8 = 0x08;

    /// A header for network `vni`, which is cut to 24 bits.
    #[inline(always)]
    pub fn new(vni: u32) -> Self {
        let [_, a, b, c] = vni.to_be_bytes();
        Self { flags: Self::VALID, reserved1: [0; 3], vni: [a, b, c], reserved2: 0 }
    }

    /// Network identifier, 24 bits.
    #[inline(always)]
    pub fn vni(&self) -> u32 {
        let [a, b, c] = self.vni;
        u32::from_be_bytes([0, a, b, c])
    }

    /// The identifier is valid.
    #[inline(always)]
    pub fn is_valid(&self) -> bool {
        self.flags & Self::VALID != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let header = Vxlan::new(0x0012_3456);
        assert_eq!(header.as_bytes(), [8, 0, 0, 0, 0x12, 0x34, 0x56, 0]);
        assert!(header.is_valid());
        assert_eq!(header.vni(), 0x12_3456);
    }
}

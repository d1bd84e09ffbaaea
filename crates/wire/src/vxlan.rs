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

/// VXLAN-GPE header (draft-ietf-nvo3-vxlan-gpe), 8 bytes after UDP.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct VxlanGpe {
    /// The version (2 bits) and flags.
    pub flags: u8,
    /// Zero when sent, ignored when received.
    pub reserved1: [u8; 2],
    /// Type of the payload, if [`VxlanGpe::TYPED`] is set.
    pub next: u8,
    /// Network identifier.
    pub vni: [u8; 3],
    /// Zero when sent, ignored when received.
    pub reserved2: u8,
}

impl VxlanGpe {
    /// UDP destination port.
    pub const PORT: u16 = 4790;
    /// The flag that says that the identifier is valid.
    pub const VALID: u8 = Vxlan::VALID;
    /// The flag that says that the header has the type of the payload.
    pub const TYPED: u8 = 0x04;
    /// The flag of packets for the tunnel's end itself.
    pub const OAM: u8 = 0x01;
    /// The bits of the version, which is 0.
    pub const VERSION: u8 = 0x30;
    /// Payload of IPv4.
    pub const IP4: u8 = 1;
    /// Payload of IPv6.
    pub const IP6: u8 = 2;
    /// Ethernet frame.
    pub const ETHERNET: u8 = 3;
    /// Network service header (RFC 8300).
    pub const NSH: u8 = 4;

    /// A header for network `vni`, which is cut to 24 bits, with a type of payload.
    #[inline(always)]
    pub fn new(vni: u32, next: u8) -> Self {
        let Vxlan { vni, .. } = Vxlan::new(vni);
        let flags = Self::VALID | Self::TYPED;
        Self { flags, reserved1: [0; 2], next, vni, reserved2: 0 }
    }

    /// Network identifier, 24 bits.
    #[inline(always)]
    pub fn vni(&self) -> u32 {
        let [a, b, c] = self.vni;
        u32::from_be_bytes([0, a, b, c])
    }

    /// Type of the payload: without the flag it is a frame, as in VXLAN.
    #[inline(always)]
    pub fn payload(&self) -> u8 {
        if self.flags & Self::TYPED == 0 { Self::ETHERNET } else { self.next }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn fields() {
        let header = Vxlan::new(0x0012_3456);
        assert_eq!(header.as_bytes(), [8, 0, 0, 0, 0x12, 0x34, 0x56, 0]);
        assert!(header.is_valid());
        assert_eq!(header.vni(), 0x12_3456);
        let header = VxlanGpe::new(0x0012_3456, VxlanGpe::NSH);
        assert_eq!(header.as_bytes(), [0xc, 0, 0, 4, 0x12, 0x34, 0x56, 0]);
        assert_eq!((header.vni(), header.payload()), (0x12_3456, VxlanGpe::NSH));
        assert_eq!(VxlanGpe { flags: 8, ..header }.payload(), VxlanGpe::ETHERNET);
    }
}

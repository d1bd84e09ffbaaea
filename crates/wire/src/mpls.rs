// SPDX-License-Identifier: Apache-2.0
//! MPLS label stack entries (RFC 3032, RFC 5462).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::U32;

/// A label stack entry, 4 bytes.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
pub struct MplsLabel(pub U32);

impl MplsLabel {
    /// Explicit null for IPv4.
    pub const IP4_EXPLICIT_NULL: u32 = 0;
    /// Router alert.
    pub const ROUTER_ALERT: u32 = 1;
    /// Explicit null for IPv6.
    pub const IP6_EXPLICIT_NULL: u32 = 2;
    /// Implicit null: signalled, never on the wire.
    pub const IMPLICIT_NULL: u32 = 3;

    /// An entry; `label` is cut to 20 bits, `class` to 3.
    #[inline(always)]
    pub fn new(label: u32, class: u8, bottom: bool, ttl: u8) -> Self {
        let bits =
            label << 12 | u32::from(class & 7) << 9 | u32::from(bottom) << 8 | u32::from(ttl);
        Self(U32::new(bits))
    }

    /// The label, 20 bits.
    #[inline(always)]
    pub fn label(&self) -> u32 {
        self.0.get() >> 12
    }

    /// Traffic class, 3 bits.
    #[inline(always)]
    pub fn class(&self) -> u8 {
        (self.0.get() >> 9 & 7) as u8
    }

    /// The last entry of the stack.
    #[inline(always)]
    pub fn is_bottom(&self) -> bool {
        self.0.get() & 0x100 != 0
    }

    /// Time to live.
    #[inline(always)]
    pub fn ttl(&self) -> u8 {
        self.0.get() as u8
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn fields() {
        let entry = MplsLabel::new(0xabcde, 5, true, 64);
        assert_eq!(entry.as_bytes(), [0xab, 0xcd, 0xeb, 0x40]);
        assert_eq!(
            (entry.label(), entry.class(), entry.is_bottom(), entry.ttl()),
            (0xabcde, 5, true, 64)
        );
        assert!(!MplsLabel::new(u32::MAX, 0, false, 0).is_bottom());
    }
}

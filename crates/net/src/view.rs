// SPDX-License-Identifier: Apache-2.0
//! What workers know of an interface.

use graph::NodeIndex;
use wire::MacAddr;

/// State bits of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IfFlags(pub u32);

impl IfFlags {
    /// Admin up.
    pub const ADMIN: Self = Self(1);
    /// Link up.
    pub const LINK: Self = Self(2);
    /// Takes frames for whatever MAC address.
    pub const PROMISCUOUS: Self = Self(4);
    /// Carries IP packets without a layer-2 header.
    pub const IP_MODE: Self = Self(8);
    /// IPv4 is enabled (it has an address, or is unnumbered).
    pub const IP4: Self = Self(16);
    /// IPv6 is enabled.
    pub const IP6: Self = Self(32);

    /// Whether all bits of `other` are set.
    #[inline(always)]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// Sets or clears the bits of `other`.
    pub fn put(&mut self, other: Self, on: bool) {
        if on { self.0 |= other.0 } else { self.0 &= !other.0 }
    }
}

/// What workers read of an interface; half a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub struct IfView {
    /// See [`IfFlags`].
    pub flags: IfFlags,
    /// Index of the IPv4 table.
    pub fib4: u32,
    /// Index of the IPv6 table.
    pub fib6: u32,
    /// Bytes of an IPv4 packet at most.
    pub mtu4: u16,
    /// Bytes of an IPv6 packet at most.
    pub mtu6: u16,
    /// The node that packets leave by.
    pub output: NodeIndex,
    /// The driver's node behind it.
    pub tx: NodeIndex,
    /// Its own address.
    pub mac: MacAddr,
    /// Bytes of a frame's payload at most.
    pub mtu: u16,
    /// Index of the table of its link-local addresses; 0 for none.
    pub link6: u32,
}

const _: () = assert!(size_of::<IfView>() == 32);

impl IfView {
    /// Admin and link are up.
    #[inline(always)]
    pub fn is_up(&self) -> bool {
        self.flags.has(IfFlags(IfFlags::ADMIN.0 | IfFlags::LINK.0))
    }
}

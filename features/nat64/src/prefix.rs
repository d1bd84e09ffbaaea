// SPDX-License-Identifier: Apache-2.0
//! Addresses of IPv4 hosts as users see them: embedded in an IPv6 prefix (RFC 6052).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::Ip6Prefix;

/// Bits 64 to 71, which are zero in every such address (RFC 6052 2.2).
const OCTET_U: u128 = 0xff << 56;

/// A prefix for IPv4 hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pref64 {
    /// The first bits, and zeros.
    bits: u128,
    len: u8,
}

impl Default for Pref64 {
    /// The well-known prefix, 64:ff9b::/96 (RFC 6052 2.1).
    fn default() -> Self {
        Self { bits: 0x0064_ff9b << 96, len: 96 }
    }
}

impl Pref64 {
    /// Lengths that a prefix may have (RFC 6052 2.2).
    pub const LENGTHS: [u8; 6] = [32, 40, 48, 56, 64, 96];

    /// Returns the prefix of these bits; what is behind its length is left out. `None` for another
    /// length, or where bits 64 to 71 aren't zero.
    pub fn new(prefix: Ip6Prefix) -> Option<Self> {
        let (bits, len) = (prefix.network().addr().to_bits(), prefix.len());
        (Self::LENGTHS.contains(&len) && bits & OCTET_U == 0).then_some(Self { bits, len })
    }

    /// The bits and the length.
    pub fn prefix(self) -> (Ipv6Addr, u8) {
        (Ipv6Addr::from_bits(self.bits), self.len)
    }

    /// Bits of the IPv4 address in front of bit 64, and behind bit 71.
    #[inline(always)]
    fn parts(self) -> (u32, u32) {
        let before = 64_u32.saturating_sub(self.len.into()).min(32);
        (before, 32 - before)
    }

    /// The address of an IPv4 host.
    #[inline(always)]
    pub fn compose(self, addr: Ipv4Addr) -> Ipv6Addr {
        let addr = u128::from(addr.to_bits());
        if self.len == 96 {
            return Ipv6Addr::from_bits(self.bits | addr);
        }
        let (before, behind) = self.parts();
        let high = (addr >> behind) << 64;
        let low = (addr & ((1 << behind) - 1)) << (56 - behind);
        debug_assert!(before <= 32);
        Ipv6Addr::from_bits(self.bits | high | low)
    }

    /// The IPv4 host of an address; `None` if it has another prefix. The suffix is ignored (RFC
    /// 6052 2.2).
    #[inline(always)]
    pub fn extract(self, addr: Ipv6Addr) -> Option<Ipv4Addr> {
        let bits = addr.to_bits();
        if (bits ^ self.bits) >> (128 - u32::from(self.len)) != 0 {
            return None;
        }
        if self.len == 96 {
            return Some(Ipv4Addr::from_bits(bits as u32));
        }
        let (before, behind) = self.parts();
        let high = (bits >> 64) & ((1 << before) - 1);
        let low = (bits >> (56 - behind)) & ((1 << behind) - 1);
        Some(Ipv4Addr::from_bits((high << behind | low) as u32))
    }
}

impl fmt::Display for Pref64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bits, len) = self.prefix();
        write!(f, "{bits}/{len}")
    }
}

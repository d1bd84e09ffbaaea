// SPDX-License-Identifier: Apache-2.0
//! An address with a prefix length.

use core::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use crate::{Address, Family};

/// An address and how many of its leading bits name the network. Host bits are kept as given,
/// because an interface address has them; [`Prefix::network`] clears them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix<A> {
    addr: A,
    len: u8,
}

/// IPv4 prefix.
pub type Ip4Prefix = Prefix<Ipv4Addr>;
/// IPv6 prefix.
pub type Ip6Prefix = Prefix<Ipv6Addr>;

impl<A: Address> Prefix<A> {
    /// `0.0.0.0/0` or `::/0`.
    pub const DEFAULT: Self = Self { addr: A::ZERO, len: 0 };

    /// `addr/len`, or `None` if `len` is greater than the width of the address.
    #[inline(always)]
    pub fn new(addr: A, len: u8) -> Option<Self> {
        (len <= A::Family::BITS).then_some(Self { addr, len })
    }

    /// The address alone: `/32` or `/128`.
    #[inline(always)]
    pub fn host(addr: A) -> Self {
        Self { addr, len: A::Family::BITS }
    }

    /// The address with its host bits.
    #[inline(always)]
    pub fn addr(&self) -> A {
        self.addr
    }

    /// The prefix length.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)] // a length in bits, not of a container
    pub fn len(&self) -> u8 {
        self.len
    }

    /// The mask: `len` ones, then zeros.
    #[inline(always)]
    pub fn mask(&self) -> A {
        A::mask(self.len)
    }

    /// The prefix without host bits.
    #[inline(always)]
    pub fn network(&self) -> Self {
        Self { addr: self.addr & self.mask(), len: self.len }
    }

    /// Bits beyond the prefix length are set.
    #[inline(always)]
    pub fn has_host_bits(&self) -> bool {
        self.addr & !self.mask() != A::ZERO
    }

    /// The whole address is the prefix.
    #[inline(always)]
    pub fn is_host(&self) -> bool {
        self.len == A::Family::BITS
    }

    /// `addr` lies in the network.
    #[inline(always)]
    pub fn contains(&self, addr: A) -> bool {
        (addr & self.mask()) == (self.addr & self.mask())
    }

    /// Every address of `other` lies in this network; a prefix covers itself.
    #[inline(always)]
    pub fn covers(&self, other: &Self) -> bool {
        self.len <= other.len && self.contains(other.addr)
    }

    /// The highest address of the network; for IPv4 its broadcast address, if the length is
    /// below 31.
    #[inline(always)]
    pub fn last(&self) -> A {
        self.addr | !self.mask()
    }
}

impl<A: fmt::Display> fmt::Display for Prefix<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.width().is_some() {
            f.pad(&format!("{}/{}", self.addr, self.len))
        } else {
            write!(f, "{}/{}", self.addr, self.len)
        }
    }
}

impl<A: fmt::Display> fmt::Debug for Prefix<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParsePrefixError {
    /// No `/`.
    NoLength,
    /// The part before the `/` is no address of this family.
    Address,
    /// The part after the `/` is no number, or one above the width of the address, which is given
    /// here.
    Length(u8),
}

impl fmt::Display for ParsePrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLength => f.write_str("expected address/length"),
            Self::Address => f.write_str("expected an address before the /"),
            Self::Length(max) => write!(f, "expected a prefix length of 0 to {max}"),
        }
    }
}

impl core::error::Error for ParsePrefixError {}

impl<A: Address> FromStr for Prefix<A> {
    type Err = ParsePrefixError;

    fn from_str(text: &str) -> Result<Self, ParsePrefixError> {
        let slash = text.bytes().position(|b| b == b'/').ok_or(ParsePrefixError::NoLength)?;
        let (addr, len) = (&text[..slash], &text[slash + 1..]);
        let addr = addr.parse().map_err(|_| ParsePrefixError::Address)?;
        let error = ParsePrefixError::Length(A::Family::BITS);
        if len.is_empty() || !len.bytes().all(|b| b.is_ascii_digit()) {
            return Err(error);
        }
        len.parse().ok().and_then(|len| Self::new(addr, len)).ok_or(error)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[suite::test]
    fn text() {
        let p: Ip4Prefix = "10.1.2.3/20".parse().unwrap();
        assert_eq!((p.addr(), p.len()), (Ipv4Addr::new(10, 1, 2, 3), 20));
        assert!(p.has_host_bits() && !p.network().has_host_bits());
        assert_eq!(p.network().to_string(), "10.1.0.0/20");
        assert_eq!(p.mask(), Ipv4Addr::new(255, 255, 240, 0));
        assert_eq!(p.last(), Ipv4Addr::new(10, 1, 15, 255));
        assert_eq!(format!("{p:>14}|"), "   10.1.2.3/20|");
        assert_eq!("2001:db8::/32".parse::<Ip6Prefix>().unwrap().to_string(), "2001:db8::/32");
        assert_eq!("10.0.0.0".parse::<Ip4Prefix>(), Err(ParsePrefixError::NoLength));
        assert_eq!("::/0".parse::<Ip4Prefix>(), Err(ParsePrefixError::Address));
        for len in ["", "+1", "-1", "33", "1000", "8 ", "a"] {
            assert_eq!(
                format!("10.0.0.0/{len}").parse::<Ip4Prefix>(),
                Err(ParsePrefixError::Length(32))
            );
        }
    }

    proptest! {
        #[suite::test]
        fn against_bits(addr: u128, other: u128, len in 0u8..=128, keep in 0u8..=128) {
            // share some leading bits, so that both answers occur
            let mask = u128::MAX.checked_shl(128 - u32::from(keep)).unwrap_or(0);
            let other = addr & mask | other & !mask;
            let prefix = Prefix::new(Ipv6Addr::from(addr), len).unwrap();
            let naive = (0..len).all(|i| (addr >> (127 - i) & 1) == (other >> (127 - i) & 1));
            prop_assert_eq!(prefix.contains(other.into()), naive);
            prop_assert!(prefix.contains(prefix.last()) && prefix.contains(prefix.network().addr()));
            let inner = Prefix::new(Ipv6Addr::from(other), keep).unwrap();
            prop_assert_eq!(prefix.covers(&inner), naive && len <= keep);
            prop_assert_eq!(prefix.to_string().parse(), Ok(prefix));
        }

        #[suite::test]
        fn v4_against_bits(addr: u32, other: u32, len in 0u8..=32) {
            let prefix = Prefix::new(Ipv4Addr::from(addr), len).unwrap();
            let other = other >> len.min(31) ^ addr;
            let naive = (0..len).all(|i| (addr >> (31 - i) & 1) == (other >> (31 - i) & 1));
            prop_assert_eq!(prefix.contains(other.into()), naive);
            prop_assert_eq!(prefix.to_string().parse(), Ok(prefix));
            prop_assert_eq!(Prefix::new(Ipv4Addr::from(addr), len + 33), None);
        }
    }
}

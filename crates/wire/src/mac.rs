// SPDX-License-Identifier: Apache-2.0
//! 48-bit Ethernet addresses.

use core::{fmt, str::FromStr};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A 48-bit Ethernet address, in the order of the wire.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(transparent)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// `00:00:00:00:00:00`.
    pub const ZERO: Self = Self([0; 6]);
    /// `ff:ff:ff:ff:ff:ff`.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// The six bytes, first on the wire first.
    #[inline(always)]
    pub const fn octets(self) -> [u8; 6] {
        self.0
    }

    /// The address as the low 48 bits of an integer, first byte on the wire most significant.
    #[inline(always)]
    pub const fn to_bits(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// The inverse of [`MacAddr::to_bits`]; the upper 16 bits are ignored.
    #[inline(always)]
    pub const fn from_bits(bits: u64) -> Self {
        let [_, _, a, b, c, d, e, f] = bits.to_be_bytes();
        Self([a, b, c, d, e, f])
    }

    /// The group bit is set: multicast, and broadcast too.
    #[inline(always)]
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// An individual address: neither multicast nor broadcast.
    #[inline(always)]
    pub const fn is_unicast(self) -> bool {
        !self.is_multicast()
    }

    /// All ones.
    #[inline(always)]
    pub const fn is_broadcast(self) -> bool {
        self.to_bits() == 0xffff_ffff_ffff
    }

    /// All zeros.
    #[inline(always)]
    pub const fn is_zero(self) -> bool {
        self.to_bits() == 0
    }

    /// The address was not assigned by a manufacturer (IEEE 802, U/L bit).
    #[inline(always)]
    pub const fn is_local(self) -> bool {
        self.0[0] & 2 != 0
    }

    /// A locally administered unicast address `02:fe:…` whose lower four bytes are drawn from
    /// `seed`. Equal seeds give equal addresses.
    pub const fn local(seed: u64) -> Self {
        // splitmix64's finaliser: neighbouring seeds give unrelated addresses
        let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let [a, b, c, d, ..] = (z ^ (z >> 31)).to_be_bytes();
        Self([0x02, 0xfe, a, b, c, d])
    }

    /// The group address of an IPv4 multicast group (RFC 1112 §6.4).
    pub const fn ip4_multicast(group: core::net::Ipv4Addr) -> Self {
        let [_, b, c, d] = group.octets();
        Self([0x01, 0x00, 0x5e, b & 0x7f, c, d])
    }

    /// The group address of an IPv6 multicast group (RFC 2464 §7).
    pub const fn ip6_multicast(group: core::net::Ipv6Addr) -> Self {
        let [.., a, b, c, d] = group.octets();
        Self([0x33, 0x33, a, b, c, d])
    }
}

impl From<[u8; 6]> for MacAddr {
    #[inline(always)]
    fn from(octets: [u8; 6]) -> Self {
        Self(octets)
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        // through a fixed buffer, so that width and alignment of the caller are kept
        let mut text = [0u8; 17];
        for (i, byte) in [a, b, c, d, e, g].into_iter().enumerate() {
            let hex = |n: u8| b"0123456789abcdef"[usize::from(n & 15)];
            text[3 * i] = hex(byte >> 4);
            text[3 * i + 1] = hex(byte);
            if i < 5 {
                text[3 * i + 2] = b':';
            }
        }
        f.pad(core::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a MAC address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseMacError;

impl fmt::Display for ParseMacError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a MAC address such as 02:fe:12:34:56:78 or 02fe.1234.5678")
    }
}

impl core::error::Error for ParseMacError {}

impl FromStr for MacAddr {
    type Err = ParseMacError;

    /// `aa:bb:cc:dd:ee:ff`, `aa-bb-cc-dd-ee-ff` (one or two digits a byte) or `aabb.ccdd.eeff` (one
    /// to four a group).
    fn from_str(text: &str) -> Result<Self, ParseMacError> {
        let hex = |group: &str, max: usize| {
            let ok =
                (1..=max).contains(&group.len()) && group.bytes().all(|b| b.is_ascii_hexdigit());
            if ok {
                u16::from_str_radix(group, 16).map_err(|_| ParseMacError)
            } else {
                Err(ParseMacError)
            }
        };
        let mut octets = [0u8; 6];
        if text.contains('.') {
            let mut groups = text.split('.');
            for pair in octets.chunks_exact_mut(2) {
                pair.copy_from_slice(&hex(groups.next().ok_or(ParseMacError)?, 4)?.to_be_bytes());
            }
            return if groups.next().is_none() { Ok(Self(octets)) } else { Err(ParseMacError) };
        }
        let separator = if text.contains(':') { ':' } else { '-' };
        let mut groups = text.split(separator);
        for octet in &mut octets {
            *octet = hex(groups.next().ok_or(ParseMacError)?, 2)? as u8;
        }
        if groups.next().is_none() { Ok(Self(octets)) } else { Err(ParseMacError) }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[suite::test]
    fn parses_the_three_forms() {
        let mac = MacAddr([0x02, 0xfe, 0x12, 0x34, 0x56, 0x78]);
        for text in ["02:fe:12:34:56:78", "2:FE:12:34:56:78", "02-fe-12-34-56-78", "02fe.1234.5678"]
        {
            assert_eq!(text.parse(), Ok(mac), "{text}");
        }
        assert_eq!("0.0.1".parse(), Ok(MacAddr([0, 0, 0, 0, 0, 1])));
        for text in [
            "",
            ":",
            "02:fe:12:34:56",
            "02:fe:12:34:56:78:9a",
            "02:fe:12:34:56:+8",
            "02:fe:12:34:56:789",
            "02fe.1234",
            "02fe.1234.5678.9",
            "02:fe.1234.5678",
            "02fe12345678",
            "02:fe:12-34:56:78",
        ] {
            assert_eq!(text.parse::<MacAddr>(), Err(ParseMacError), "{text}");
        }
    }

    #[suite::test]
    fn kinds() {
        assert!(MacAddr::BROADCAST.is_broadcast() && MacAddr::BROADCAST.is_multicast());
        assert!(MacAddr::ZERO.is_zero() && MacAddr::ZERO.is_unicast());
        let one = MacAddr::local(1);
        assert!(one.is_local() && one.is_unicast() && !one.is_zero());
        assert_ne!(one, MacAddr::local(2));
        assert_eq!(
            MacAddr::ip4_multicast([239, 129, 2, 3].into()).to_string(),
            "01:00:5e:01:02:03"
        );
        let solicited = "ff02::1:ff28:9c5a".parse().unwrap();
        assert_eq!(MacAddr::ip6_multicast(solicited).to_string(), "33:33:ff:28:9c:5a");
        assert_eq!(format!("{:>19}|{:<19}|", one, one), format!("  {one}|{one}  |"));
    }

    proptest! {
        #[suite::test]
        fn text_and_bits_round_trip(octets: [u8; 6]) {
            let mac = MacAddr(octets);
            prop_assert_eq!(mac.to_string().parse(), Ok(mac));
            prop_assert_eq!(MacAddr::from_bits(mac.to_bits()), mac);
            prop_assert_eq!(mac.is_broadcast(), octets == [0xff; 6]);
        }

        #[suite::test]
        fn any_text_is_answered(text in "[0-9a-fA-F:.\\-]{0,20}") {
            if let Ok(mac) = text.parse::<MacAddr>() {
                prop_assert_eq!(mac.to_string().parse(), Ok(mac));
            }
        }
    }
}

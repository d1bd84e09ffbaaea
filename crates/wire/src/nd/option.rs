// SPDX-License-Identifier: Apache-2.0
//! Options of neighbour discovery: a kind, a length in units of 8 bytes that counts both bytes,
//! data (RFC 4861 §4.6).

use core::fmt;
use core::net::Ipv6Addr;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::preference;
use crate::{Header, Ip6Prefix, MacAddr, Prefix, U16, U32};

/// Kinds of options.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NdOptionKind(pub u8);

impl NdOptionKind {
    /// Link-layer address of the sender.
    pub const SOURCE_LINK: Self = Self(1);
    /// Link-layer address of the target.
    pub const TARGET_LINK: Self = Self(2);
    /// A prefix of the link.
    pub const PREFIX: Self = Self(3);
    /// The packet that a redirect is about.
    pub const REDIRECTED: Self = Self(4);
    /// MTU of the link.
    pub const MTU: Self = Self(5);
    /// A number that the sender knows its own message by (RFC 3971 §5.3.2, RFC 7527).
    pub const NONCE: Self = Self(14);
    /// A route by this router (RFC 4191).
    pub const ROUTE: Self = Self(24);
    /// Recursive name servers (RFC 8106).
    pub const RDNSS: Self = Self(25);
    /// Domains to search names in (RFC 8106).
    pub const DNSSL: Self = Self(31);
}

/// Options that [`NdOptions`] steps over in one message: an advertisement has some for each prefix,
/// an attack has hundreds.
pub const MAX_ND_OPTIONS: usize = 64;

/// An option as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawNdOption<'a> {
    /// Its kind.
    pub kind: NdOptionKind,
    /// The whole option, a multiple of 8 bytes.
    pub bytes: &'a [u8],
}

/// Reason why options can't be walked to the end: the message is dropped (RFC 4861 §7.1.1: option
/// lengths are above zero).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NdOptionError {
    /// A length of zero.
    ZeroLength,
    /// An option goes beyond the bytes.
    Truncated,
    /// More than [`MAX_ND_OPTIONS`].
    TooMany,
}

impl fmt::Display for NdOptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZeroLength => "option of length zero",
            Self::Truncated => "option cut",
            Self::TooMany => "too many options",
        })
    }
}

impl core::error::Error for NdOptionError {}

/// Iterator over the options behind a message's fixed part. An error is the last item.
#[derive(Clone, Debug)]
pub struct NdOptions<'a> {
    bytes: &'a [u8],
    seen: usize,
}

impl<'a> NdOptions<'a> {
    /// Over all bytes behind the fixed part.
    #[inline(always)]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, seen: 0 }
    }

    /// The link-layer address in an option of this kind, if there is one.
    ///
    /// # Errors
    /// Options that can't be walked to the end, whatever stands before.
    #[inline(always)]
    pub fn link_address(self, kind: NdOptionKind) -> Result<Option<MacAddr>, NdOptionError> {
        let mut found = None;
        for option in self {
            let option = option?;
            if option.kind == kind && found.is_none() {
                found = LinkOption::view(option.bytes)
                    .filter(|link| link.len == 1)
                    .map(|link| link.mac);
            }
        }
        Ok(found)
    }
}

impl<'a> Iterator for NdOptions<'a> {
    type Item = Result<RawNdOption<'a>, NdOptionError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let bytes = core::mem::take(&mut self.bytes);
        let (kind, len) = match *bytes {
            [] => return None,
            [kind, len, ..] => (NdOptionKind(kind), usize::from(len) * 8),
            [_] => return Some(Err(NdOptionError::Truncated)),
        };
        if self.seen == MAX_ND_OPTIONS {
            return Some(Err(NdOptionError::TooMany));
        }
        if len == 0 {
            return Some(Err(NdOptionError::ZeroLength));
        }
        let Some((bytes, rest)) = bytes.split_at_checked(len) else {
            return Some(Err(NdOptionError::Truncated));
        };
        self.seen += 1;
        self.bytes = rest;
        Some(Ok(RawNdOption { kind, bytes }))
    }
}

/// An Ethernet address as an option, 8 bytes (RFC 2464 §6).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct LinkOption {
    /// [`NdOptionKind::SOURCE_LINK`] or `TARGET_LINK`.
    pub kind: u8,
    /// 1.
    pub len: u8,
    /// The address.
    pub mac: MacAddr,
}

impl LinkOption {
    /// The sender's or the target's address.
    #[inline(always)]
    pub const fn new(kind: NdOptionKind, mac: MacAddr) -> Self {
        Self { kind: kind.0, len: 1, mac }
    }
}

/// MTU of the link as an option, 8 bytes (RFC 4861 §4.6.4).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct MtuOption {
    /// [`NdOptionKind::MTU`].
    pub kind: u8,
    /// 1.
    pub len: u8,
    /// Zero when sent, ignored when received.
    pub reserved: U16,
    /// Bytes of a packet at most.
    pub mtu: U32,
}

impl MtuOption {
    /// Packets of so many bytes at most.
    pub const fn new(mtu: u32) -> Self {
        Self { kind: NdOptionKind::MTU.0, len: 1, reserved: U16::ZERO, mtu: U32::new(mtu) }
    }
}

/// A prefix as an option, 32 bytes (RFC 4861 §4.6.2).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct PrefixInfo {
    /// [`NdOptionKind::PREFIX`].
    pub kind: u8,
    /// 4.
    pub len: u8,
    /// Bits of the prefix.
    pub prefix_len: u8,
    /// [`PrefixInfo::ON_LINK`] and [`PrefixInfo::AUTONOMOUS`].
    pub flags: u8,
    /// Seconds that the prefix is on the link and addresses of it are valid; all ones for ever.
    pub valid: U32,
    /// Seconds that addresses of it are preferred; all ones for ever.
    pub preferred: U32,
    /// Zero when sent, ignored when received.
    pub reserved: U32,
    /// The prefix; bits behind its length are ignored.
    pub prefix: [u8; 16],
}

impl PrefixInfo {
    /// Its addresses are reached without a router.
    pub const ON_LINK: u8 = 0x80;
    /// Hosts make addresses of it by themselves.
    pub const AUTONOMOUS: u8 = 0x40;
    /// A lifetime that doesn't end.
    pub const INFINITE: u32 = u32::MAX;

    /// A prefix with its flags and lifetimes in seconds.
    pub fn new(prefix: Ip6Prefix, flags: u8, valid: u32, preferred: u32) -> Self {
        Self {
            kind: NdOptionKind::PREFIX.0,
            len: 4,
            prefix_len: prefix.len(),
            flags,
            valid: U32::new(valid),
            preferred: U32::new(preferred),
            reserved: U32::ZERO,
            prefix: prefix.network().addr().octets(),
        }
    }

    /// The network; `None` for a length above 128.
    pub fn network(&self) -> Option<Ip6Prefix> {
        Some(Prefix::new(self.prefix.into(), self.prefix_len)?.network())
    }
}

/// A route by the sender (RFC 4191 §2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteInfo {
    /// Destination prefix.
    pub prefix: Ip6Prefix,
    /// 1 high, 0 medium, −1 low.
    pub preference: i8,
    /// Seconds; all ones for ever.
    pub lifetime: u32,
}

/// Domain names as an option holds them, one behind the other (RFC 8106 §5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Domains<'a>(pub &'a [u8]);

impl fmt::Display for Domains<'_> {
    /// Names with dots, separated by blanks; what is no label ends the list.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut rest, mut start, mut first) = (self.0, true, true);
        while let Some((&len, tail)) = rest.split_first() {
            if len == 0 {
                // The end of a name, or padding.
                (rest, start) = (tail, true);
                continue;
            }
            let Some((label, tail)) = tail.split_at_checked(usize::from(len)).filter(|_| len < 64)
            else {
                break;
            };
            if !core::mem::take(&mut first) {
                f.write_str(if start { " " } else { "." })?;
            }
            write!(f, "{}", label.escape_ascii())?;
            (rest, start) = (tail, false);
        }
        Ok(())
    }
}

/// The contents of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NdOption<'a> {
    /// Link-layer address of the sender.
    SourceLink(MacAddr),
    /// Link-layer address of the target.
    TargetLink(MacAddr),
    /// A prefix of the link.
    Prefix(&'a PrefixInfo),
    /// The start of the packet that a redirect is about.
    Redirected(&'a [u8]),
    /// MTU of the link.
    Mtu(u32),
    /// A number that the sender knows its own message by.
    Nonce(&'a [u8]),
    /// A route by this router.
    Route(RouteInfo),
    /// Recursive name servers.
    Rdnss {
        /// Seconds; all ones for ever.
        lifetime: u32,
        /// Their addresses.
        servers: &'a [[u8; 16]],
    },
    /// Domains to search names in.
    Dnssl {
        /// Seconds; all ones for ever.
        lifetime: u32,
        /// Their names.
        domains: Domains<'a>,
    },
    /// Of another kind, or of a length that its kind hasn't: ignored (RFC 4861 §4.6).
    Other(RawNdOption<'a>),
}

impl<'a> From<RawNdOption<'a>> for NdOption<'a> {
    fn from(raw: RawNdOption<'a>) -> Self {
        read(raw).unwrap_or(Self::Other(raw))
    }
}

fn word(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.first_chunk()?))
}

fn read(RawNdOption { kind, bytes }: RawNdOption<'_>) -> Option<NdOption<'_>> {
    let units = bytes.len() / 8;
    Some(match kind {
        NdOptionKind::SOURCE_LINK | NdOptionKind::TARGET_LINK if units == 1 => {
            let mac = LinkOption::view(bytes)?.mac;
            if kind == NdOptionKind::SOURCE_LINK {
                NdOption::SourceLink(mac)
            } else {
                NdOption::TargetLink(mac)
            }
        }
        NdOptionKind::PREFIX if units == 4 => {
            let prefix = PrefixInfo::view(bytes)?;
            prefix.network()?;
            NdOption::Prefix(prefix)
        }
        NdOptionKind::REDIRECTED => NdOption::Redirected(bytes.get(8..)?),
        NdOptionKind::MTU if units == 1 => NdOption::Mtu(MtuOption::view(bytes)?.mtu.get()),
        NdOptionKind::NONCE => NdOption::Nonce(bytes.get(2..)?),
        NdOptionKind::ROUTE => {
            let [_, _, len, flags, ..] = *bytes else { return None };
            // As many bytes as the length needs (RFC 4191 §2.3).
            if units > 3 || usize::from(len).div_ceil(64) > units - 1 {
                return None;
            }
            let mut addr = [0; 16];
            let given = bytes.get(8..)?;
            addr[..given.len()].copy_from_slice(given);
            let prefix = Prefix::new(Ipv6Addr::from(addr), len)?.network();
            NdOption::Route(RouteInfo {
                prefix,
                preference: preference(flags),
                lifetime: word(&bytes[4..])?,
            })
        }
        NdOptionKind::RDNSS if units >= 3 && units % 2 == 1 => {
            NdOption::Rdnss { lifetime: word(&bytes[4..])?, servers: bytes[8..].as_chunks().0 }
        }
        NdOptionKind::DNSSL if units >= 2 => {
            NdOption::Dnssl { lifetime: word(&bytes[4..])?, domains: Domains(&bytes[8..]) }
        }
        _ => return None,
    })
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn read(bytes: &[u8]) -> Vec<NdOption<'_>> {
        NdOptions::new(bytes).map(|o| o.expect("well-formed").into()).collect()
    }

    #[suite::test]
    fn what_options_say() {
        let mac = MacAddr([2, 0, 0, 0, 0, 9]);
        let net: Ip6Prefix = "2001:db8:1::/64".parse().unwrap();
        let info =
            PrefixInfo::new("2001:db8:1::77/64".parse().unwrap(), PrefixInfo::ON_LINK, 3600, 1800);
        let mut bytes = LinkOption::new(NdOptionKind::SOURCE_LINK, mac).as_bytes().to_vec();
        bytes.extend(LinkOption::new(NdOptionKind::TARGET_LINK, mac).as_bytes());
        bytes.extend(info.as_bytes());
        bytes.extend(MtuOption::new(1400).as_bytes());
        bytes.extend([14, 1, 1, 2, 3, 4, 5, 6]);
        // A route to 2001:db8::/32 with high preference, and the default route.
        bytes.extend([24, 2, 32, 8, 0, 0, 0, 60, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0]);
        bytes.extend([24, 1, 0, 0x18, 0, 0, 0, 60]);
        bytes.extend([25, 3, 0, 0, 0, 0, 0, 5]);
        bytes.extend(Ipv6Addr::LOCALHOST.octets());
        bytes.extend([31, 3, 0, 0, 0, 0, 0, 6]);
        bytes.extend(*b"\x02ab\x01c\x00\x01d\x00\x00\x00\x00\x00\x00\x00\x00");
        bytes.extend([200, 1, 0, 0, 0, 0, 0, 0]);
        let route = |prefix: &str, preference| {
            NdOption::Route(RouteInfo { prefix: prefix.parse().unwrap(), preference, lifetime: 60 })
        };
        let seen = read(&bytes);
        assert_eq!(seen[..2], [NdOption::SourceLink(mac), NdOption::TargetLink(mac)]);
        assert!(
            matches!(seen[2], NdOption::Prefix(p) if p.network() == Some(net) && p.valid.get() == 3600)
        );
        assert_eq!(seen[3..5], [NdOption::Mtu(1400), NdOption::Nonce(&[1, 2, 3, 4, 5, 6])]);
        assert_eq!(seen[5..7], [route("2001:db8::/32", 1), route("::/0", -1)]);
        assert_eq!(
            seen[7],
            NdOption::Rdnss { lifetime: 5, servers: &[Ipv6Addr::LOCALHOST.octets()] }
        );
        assert!(
            matches!(seen[8], NdOption::Dnssl { lifetime: 6, domains } if domains.to_string() == "ab.c d")
        );
        assert!(matches!(seen[9], NdOption::Other(o) if o.kind.0 == 200));
        assert_eq!(NdOptions::new(&bytes).link_address(NdOptionKind::TARGET_LINK), Ok(Some(mac)));
        assert_eq!(NdOptions::new(&bytes).link_address(NdOptionKind(77)), Ok(None));
    }

    #[suite::test]
    fn a_length_that_a_kind_has_not_is_another_option() {
        for bytes in [
            &[1u8, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
            &[3, 1, 64, 0, 0, 0, 0, 0],
            &[5, 2, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[24, 1, 1, 0, 0, 0, 0, 0],
            &[25, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[31, 1, 0, 0, 0, 0, 0, 0],
        ] {
            assert!(matches!(read(bytes)[..], [NdOption::Other(_)]), "{bytes:?}");
            assert_eq!(NdOptions::new(bytes).link_address(NdOptionKind::SOURCE_LINK), Ok(None));
        }
        let mut long = PrefixInfo::new("::/0".parse().unwrap(), 0, 0, 0);
        long.prefix_len = 129;
        assert!(matches!(read(long.as_bytes())[..], [NdOption::Other(_)]));
    }

    #[suite::test]
    fn what_cannot_be_walked() {
        let link = LinkOption::new(NdOptionKind::SOURCE_LINK, MacAddr::ZERO);
        for (tail, error) in [
            (&[1u8, 0, 0, 0, 0, 0, 0, 0][..], NdOptionError::ZeroLength),
            (&[1], NdOptionError::Truncated),
            (&[1, 1, 0, 0, 0, 0, 0], NdOptionError::Truncated),
        ] {
            let bytes = [link.as_bytes(), tail].concat();
            let all: Vec<_> = NdOptions::new(&bytes).collect();
            assert_eq!((all.len(), all[1]), (2, Err(error)));
            assert_eq!(NdOptions::new(&bytes).link_address(NdOptionKind::SOURCE_LINK), Err(error));
        }
        let many = link.as_bytes().repeat(MAX_ND_OPTIONS + 5);
        assert_eq!(NdOptions::new(&many).count(), MAX_ND_OPTIONS + 1);
        assert_eq!(NdOptions::new(&many).last(), Some(Err(NdOptionError::TooMany)));
    }

    proptest! {
        #[suite::test]
        fn any_bytes(bytes in vec(prop_oneof![any::<u8>(), 0u8..5, Just(24), Just(25), Just(31)], 0..300)) {
            let mut end = 0;
            for option in NdOptions::new(&bytes).flatten() {
                prop_assert_eq!(option.bytes, &bytes[end..end + option.bytes.len()]);
                prop_assert!(!option.bytes.is_empty() && option.bytes.len() % 8 == 0);
                end += option.bytes.len();
                if let NdOption::Dnssl { domains, .. } = option.into() {
                    prop_assert!(domains.to_string().len() <= 4 * bytes.len());
                }
            }
            let whole = NdOptions::new(&bytes).all(|o| o.is_ok());
            prop_assert_eq!(whole, end == bytes.len());
        }

        #[suite::test]
        fn prefixes_come_back(addr: u128, len in 0u8..=128, flags: u8, valid: u32, preferred: u32) {
            let prefix = Prefix::new(Ipv6Addr::from(addr), len).expect("a prefix");
            let option = PrefixInfo::new(prefix, flags, valid, preferred);
            let seen = PrefixInfo::view(option.as_bytes()).expect("32 bytes");
            prop_assert_eq!(seen.network(), Some(prefix.network()));
            prop_assert_eq!((seen.flags, seen.valid.get(), seen.preferred.get()), (flags, valid, preferred));
        }
    }
}

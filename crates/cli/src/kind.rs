// SPDX-License-Identifier: Apache-2.0
//! Types of placeholders: how a word is read, described and complained about.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The type of a placeholder `<name:type>`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// `u8`, decimal or `0x…`.
    U8,
    /// `u16`.
    U16,
    /// `u32`.
    U32,
    /// `u64`.
    U64,
    /// `i32`.
    I32,
    /// `f64`, as `1.5` or `1e-3`.
    F64,
    /// `rate`: a number per second, decimal multiples `k M G T` (1000): `1e6`, `10k`, `2.5M`.
    Rate,
    /// `size`: bytes, binary multiples `k M G T` (1024): `4096`, `2M`.
    Size,
    /// `ip4`.
    Ip4,
    /// `ip6`.
    Ip6,
    /// `ip`: an address of either family.
    Ip,
    /// `prefix4`: a network as address/length; host bits are kept as written, and noted.
    Prefix4,
    /// `prefix6`.
    Prefix6,
    /// `prefix`: of either family.
    Prefix,
    /// `ifaddr4`: an address and the length of its network, as interfaces have it.
    IfAddr4,
    /// `ifaddr6`.
    IfAddr6,
    /// `ifaddr`: of either family.
    IfAddr,
    /// `mac`: `02:00:5e:00:00:01`, also with dashes or as `0200.5e00.0001`; a group may lack
    /// its leading zeros.
    Mac,
    /// `word`, and a placeholder without type: anything without blanks, or quoted.
    Word,
    /// `string`: a word, or text in `"…"` or `'…'`.
    String,
    /// `secret`: as `string`; [`crate::Tree::secrets`] finds it, so that logs and archives can
    /// leave it out.
    Secret,
    /// `block`: `{ … }` with balanced braces, over several lines; the value is the raw text between
    /// the braces.
    Block,
    /// `rest`: the raw remainder of the line, at least one word.
    Rest,
    /// `range`: `a-b`, or one number.
    Range,
    /// `lo-hi` written with digits: a number within bounds.
    Between(u64, u64),
    /// `a|b|c`: one of these words.
    OneOf(Box<[&'static str]>),
    /// Any other name: a word that names a live object; [`crate::Live`] completes it, the command
    /// looks it up.
    Live(&'static str),
}

/// A word as its declared type parsed it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Word, string, block, rest, choice, live object: the text is the value.
    Text,
    /// Unsigned numbers and sizes.
    U64(u64),
    /// Signed numbers.
    I64(i64),
    /// Floating point numbers and rates.
    F64(f64),
    /// Addresses.
    Ip(IpAddr),
    /// Address and prefix length; the length fits the family.
    Prefix(IpAddr, u8),
    /// Ethernet address, in the order of the wire.
    Mac([u8; 6]),
    /// First and last number, first ≤ last.
    Range(u64, u64),
}

impl Kind {
    /// Reads `name` as a type; every identifier that is no built-in type is a live kind.
    pub(crate) fn from_name(name: &'static str) -> Result<Self, String> {
        if name.contains('|') {
            let words: Box<[&str]> = name.split('|').map(str::trim).collect();
            return match words.iter().any(|w| w.is_empty() || w.contains(char::is_whitespace)) {
                true => Err(format!("`{name}' is no list of words")),
                false => Ok(Self::OneOf(words)),
            };
        }
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            return match range(name) {
                Some((lo, hi)) if name.contains('-') => Ok(Self::Between(lo, hi)),
                _ => Err(format!("`{name}' are no bounds such as 1-255")),
            };
        }
        Ok(match name {
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "i32" => Self::I32,
            "f64" => Self::F64,
            "rate" => Self::Rate,
            "size" => Self::Size,
            "ip4" => Self::Ip4,
            "ip6" => Self::Ip6,
            "ip" => Self::Ip,
            "prefix4" => Self::Prefix4,
            "prefix6" => Self::Prefix6,
            "prefix" => Self::Prefix,
            "ifaddr4" => Self::IfAddr4,
            "ifaddr6" => Self::IfAddr6,
            "ifaddr" => Self::IfAddr,
            "mac" => Self::Mac,
            "word" => Self::Word,
            "string" => Self::String,
            "secret" => Self::Secret,
            "block" => Self::Block,
            "rest" => Self::Rest,
            "range" => Self::Range,
            _ if !name.is_empty()
                && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_') =>
            {
                Self::Live(name)
            }
            _ => return Err(format!("`{name}' is no type")),
        })
    }

    /// Reads a word. Blocks and rests never come here.
    #[inline]
    pub(crate) fn read(&self, s: &str) -> Option<Value> {
        let bounded = |hi: u64| number(s).filter(|n| *n <= hi).map(Value::U64);
        match self {
            Self::Word | Self::String | Self::Secret | Self::Live(_) | Self::Block | Self::Rest => {
                Some(Value::Text)
            }
            Self::U32 => bounded(u64::from(u32::MAX)),
            Self::Ip4 => ip4(s).map(|a| Value::Ip(a.into())),
            Self::Ip6 => ip6(s).map(|a| Value::Ip(a.into())),
            Self::Ip => ip(s).map(Value::Ip),
            Self::Prefix4 | Self::IfAddr4 => {
                prefix(s).filter(|(a, _)| a.is_ipv4()).map(|(a, l)| Value::Prefix(a, l))
            }
            Self::Prefix6 | Self::IfAddr6 => {
                prefix(s).filter(|(a, _)| a.is_ipv6()).map(|(a, l)| Value::Prefix(a, l))
            }
            Self::Prefix | Self::IfAddr => prefix(s).map(|(a, l)| Value::Prefix(a, l)),
            Self::Mac => mac(s).map(Value::Mac),
            Self::OneOf(words) => words.contains(&s).then_some(Value::Text),
            Self::U8 => bounded(u64::from(u8::MAX)),
            Self::U16 => bounded(u64::from(u16::MAX)),
            Self::U64 => number(s).map(Value::U64),
            Self::Between(lo, hi) => number(s).filter(|n| (lo..=hi).contains(&n)).map(Value::U64),
            Self::I32 => s.parse::<i32>().ok().map(|n| Value::I64(n.into())),
            Self::F64 => s.parse::<f64>().ok().filter(|x| x.is_finite()).map(Value::F64),
            Self::Rate => rate(s).map(Value::F64),
            Self::Size => size(s).map(Value::U64),
            Self::Range => range(s).map(|(a, b)| Value::Range(a, b)),
        }
    }

    /// A few words for `?`.
    pub fn describe(&self) -> String {
        match self {
            Self::U8 => "a number, 0 to 255".into(),
            Self::U16 => "a number, 0 to 65535".into(),
            Self::U32 => "a number, 0 to 4294967295".into(),
            Self::U64 => "a number".into(),
            Self::I32 => "a number, may be negative".into(),
            Self::F64 => "a number such as 0.5 or 1e-3".into(),
            Self::Rate => "a rate per second such as 1e6, 10k, 2.5M".into(),
            Self::Size => "a size in bytes such as 4096, 64k, 2M".into(),
            Self::Ip4 => "an IPv4 address".into(),
            Self::Ip6 => "an IPv6 address".into(),
            Self::Ip => "an IPv4 or IPv6 address".into(),
            Self::Prefix4 => "an IPv4 prefix such as 192.0.2.0/24".into(),
            Self::Prefix6 => "an IPv6 prefix such as 2001:db8::/32".into(),
            Self::Prefix => "a prefix such as 192.0.2.0/24 or 2001:db8::/32".into(),
            Self::IfAddr4 => "an IPv4 address with its length such as 192.0.2.1/24".into(),
            Self::IfAddr6 => "an IPv6 address with its length such as 2001:db8::1/64".into(),
            Self::IfAddr => {
                "an address with its length such as 192.0.2.1/24 or 2001:db8::1/64".into()
            }
            Self::Mac => "an Ethernet address such as 02:00:5e:00:00:01".into(),
            Self::Word => "a word".into(),
            Self::String => "a word, or text in quotes".into(),
            Self::Secret => "a secret: a word, or text in quotes".into(),
            Self::Block => "{ … }, may go over several lines".into(),
            Self::Rest => "the rest of the line".into(),
            Self::Range => "a range such as 100-199, or one number".into(),
            Self::Between(lo, hi) => format!("a number, {lo} to {hi}"),
            Self::OneOf(words) => words.join(" or "),
            Self::Live(kind) => format!("the name of {} {kind}", article(kind)),
        }
    }

    /// Explains why `s` is not of this type.
    pub(crate) fn explain(&self, s: &str) -> String {
        let over = |hi: u64| match number(s) {
            Some(_) => format!("`{s}' is more than {hi}"),
            None => format!("`{s}' is not a number"),
        };
        match self {
            Self::U8 => over(u8::MAX.into()),
            Self::U16 => over(u16::MAX.into()),
            Self::U32 => over(u32::MAX.into()),
            Self::U64 => over(u64::MAX),
            Self::Between(lo, hi) if number(s).is_some() => {
                format!("`{s}' is not between {lo} and {hi}")
            }
            Self::Prefix
            | Self::Prefix4
            | Self::Prefix6
            | Self::IfAddr
            | Self::IfAddr4
            | Self::IfAddr6 => {
                explain_prefix(s).unwrap_or(format!("`{s}' is not {}", self.describe()))
            }
            _ => format!("`{s}' is not {}", self.describe()),
        }
    }

    /// Rank among alternatives, lowest first: 0 given words, blocks; 1 a form of its own; 2 any
    /// word; 3 the rest.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Self::OneOf(_) | Self::Block => 0,
            Self::Word | Self::String | Self::Secret | Self::Live(_) => 2,
            Self::Rest => 3,
            _ => 1,
        }
    }
}

pub(crate) fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

fn explain_prefix(s: &str) -> Option<String> {
    let Some((addr, len)) = s.split_once('/') else {
        return ip(s).map(|a| {
            format!(
                "`{s}' has no length; a single address is `{s}/{}'",
                if a.is_ipv4() { 32 } else { 128 }
            )
        });
    };
    let Some(a) = ip(addr) else { return Some(format!("`{addr}' is not an IPv4 or IPv6 address")) };
    let n: u64 = len.parse().ok()?;
    let max = if a.is_ipv4() { 32 } else { 128 };
    (n > max).then(|| format!("length {n} of `{s}' is more than {max}"))
}

/// Decimal or `0x` hexadecimal.
#[inline]
pub(crate) fn number(s: &str) -> Option<u64> {
    match s.as_bytes() {
        [b'0', b'x' | b'X', rest @ ..] if !rest.is_empty() && rest[0] != b'+' => {
            u64::from_str_radix(&s[2..], 16).ok()
        }
        [b'0'..=b'9', ..] => s.parse().ok(),
        _ => None,
    }
}

fn ip4(s: &str) -> Option<Ipv4Addr> {
    s.parse().ok()
}

fn ip6(s: &str) -> Option<Ipv6Addr> {
    s.parse().ok()
}

#[inline]
pub(crate) fn ip(s: &str) -> Option<IpAddr> {
    if s.as_bytes().contains(&b':') { ip6(s).map(IpAddr::V6) } else { ip4(s).map(IpAddr::V4) }
}

#[inline]
pub(crate) fn prefix(s: &str) -> Option<(IpAddr, u8)> {
    let (addr, len) = s.rsplit_once('/')?;
    let addr = ip(addr)?;
    let len = match len.as_bytes() {
        [b'0'..=b'9', ..] => len.parse::<u8>().ok()?,
        _ => return None,
    };
    (len <= if addr.is_ipv4() { 32 } else { 128 }).then_some((addr, len))
}

/// Groups may lack leading zeros, as in VPP: `0:1:2:3:4:5`, `1.2.40`.
pub(crate) fn mac(s: &str) -> Option<[u8; 6]> {
    s.parse::<wire::MacAddr>().ok().map(|mac| mac.0)
}

pub(crate) fn range(s: &str) -> Option<(u64, u64)> {
    let (a, b) = match s.split_once('-') {
        Some((a, b)) => (number(a)?, number(b)?),
        None => (number(s)?, number(s)?),
    };
    (a <= b).then_some((a, b))
}

fn rate(s: &str) -> Option<f64> {
    let (digits, unit) = match s.as_bytes().last()? {
        b'k' | b'K' => (&s[..s.len() - 1], 1e3),
        b'm' | b'M' => (&s[..s.len() - 1], 1e6),
        b'g' | b'G' => (&s[..s.len() - 1], 1e9),
        b't' | b'T' => (&s[..s.len() - 1], 1e12),
        _ => (s, 1.0),
    };
    let x = digits.parse::<f64>().ok()? * unit;
    (x.is_finite() && x >= 0.0).then_some(x)
}

fn size(s: &str) -> Option<u64> {
    let (digits, shift) = match s.as_bytes().last()? {
        b'k' | b'K' => (&s[..s.len() - 1], 10),
        b'm' | b'M' => (&s[..s.len() - 1], 20),
        b'g' | b'G' => (&s[..s.len() - 1], 30),
        b't' | b'T' => (&s[..s.len() - 1], 40),
        _ => (s, 0),
    };
    number(digits)?.checked_mul(1 << shift)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn numbers() {
        assert_eq!(number("0x10"), Some(16));
        assert_eq!(number("18446744073709551615"), Some(u64::MAX));
        for bad in ["", "-1", "+1", "0x", "0x+1", "1a", "18446744073709551616", "é"] {
            assert_eq!(number(bad), None, "{bad}");
        }
        assert_eq!(Kind::U16.read("65536"), None);
        assert_eq!(Kind::Between(1, 255).read("0"), None);
        assert_eq!(Kind::Between(1, 255).read("255"), Some(Value::U64(255)));
        assert_eq!(Kind::I32.read("-5"), Some(Value::I64(-5)));
        assert_eq!(Kind::F64.read("inf"), None);
    }

    #[suite::test]
    fn rates_sizes_ranges() {
        assert_eq!(Kind::Rate.read("1e6"), Some(Value::F64(1e6)));
        assert_eq!(Kind::Rate.read("10k"), Some(Value::F64(1e4)));
        assert_eq!(Kind::Rate.read("-1"), None);
        assert_eq!(Kind::Rate.read("nan"), None);
        assert_eq!(Kind::Size.read("2M"), Some(Value::U64(2 << 20)));
        assert_eq!(Kind::Size.read("99999999T"), None);
        assert_eq!(Kind::Size.read("é"), None);
        assert_eq!(range("64-1500"), Some((64, 1500)));
        assert_eq!(range("64"), Some((64, 64)));
        assert_eq!(range("9-1"), None);
    }

    #[suite::test]
    fn addresses() {
        assert_eq!(prefix("10.0.0.1/24"), Some((Ipv4Addr::new(10, 0, 0, 1).into(), 24)));
        assert_eq!(prefix("2001:db8::/129"), None);
        assert_eq!(prefix("10.0.0.0/+8"), None);
        assert_eq!(Kind::Prefix4.read("2001:db8::/32"), None);
        let mac_bytes = Some([2, 0, 0x5e, 0, 0, 0x1f]);
        assert_eq!(mac("02:00:5e:00:00:1F"), mac_bytes);
        assert_eq!(mac("02-00-5e-00-00-1f"), mac_bytes);
        assert_eq!(mac("0200.5e00.001f"), mac_bytes);
        assert_eq!(mac("2:0:5e:0:0:1f"), mac_bytes);
        assert_eq!(mac("2-0-5e-0-0-1f"), mac_bytes);
        assert_eq!(mac("200.5e00.1f"), mac_bytes);
        assert_eq!(mac("0:1:2:3:4:5"), Some([0, 1, 2, 3, 4, 5]));
        assert_eq!(mac("1.2.40"), Some([0, 1, 0, 2, 0, 0x40]));
        for bad in [
            "02:00:5e:00:00",
            "02:00:5e:00:00:1g",
            "02:00-5e:00:00:1f",
            "0:1:2:3:4:5:6",
            "002:0:5e:0:0:1f",
            "0::1:2:3:4",
            "1.2.30000",
            "ééééééé",
            "02:00:5e:00:00:0é",
        ] {
            assert_eq!(mac(bad), None, "{bad}");
        }
    }

    #[suite::test]
    fn says_why() {
        assert_eq!(
            Kind::Prefix.explain("10.0.0.0/33"),
            "length 33 of `10.0.0.0/33' is more than 32"
        );
        assert_eq!(
            Kind::Prefix.explain("10.0.0.1"),
            "`10.0.0.1' has no length; a single address is `10.0.0.1/32'"
        );
        assert_eq!(Kind::Prefix.explain("10.0.0/8"), "`10.0.0' is not an IPv4 or IPv6 address");
        assert_eq!(Kind::U16.explain("70000"), "`70000' is more than 65535");
    }

    #[suite::test]
    fn type_names() {
        assert_eq!(Kind::from_name("up|down"), Ok(Kind::OneOf(["up", "down"].into())));
        assert_eq!(Kind::from_name("1-255"), Ok(Kind::Between(1, 255)));
        assert_eq!(Kind::from_name("bridge-domain"), Ok(Kind::Live("bridge-domain")));
        for bad in ["", "a b", "9", "9-1", "a||b"] {
            assert!(Kind::from_name(bad).is_err(), "{bad}");
        }
    }
}

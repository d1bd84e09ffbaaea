// SPDX-License-Identifier: Apache-2.0
//! Domain names.

use core::cmp::Ordering;
use core::hash::{Hash, Hasher};
use core::net::IpAddr;
use core::{fmt, str::FromStr};

use super::DnsError;

/// Bytes of the longest name (RFC 1035 2.3.4).
const MAX: usize = 255;
/// Bytes of the longest label.
const MAX_LABEL: usize = 63;

/// A name as it is on the wire without compression: labels, each behind its length, up to the empty
/// one of the root. Names that differ only in the case of ASCII letters are equal (RFC 4343).
#[derive(Clone)]
pub struct Name(Vec<u8>);

/// The reason why a text isn't a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameError {
    /// There is a label without characters.
    EmptyLabel,
    /// A label has more than 63 characters.
    LongLabel,
    /// The name has more than 255 bytes on the wire.
    Long,
    /// A character is no letter, digit or other sign without a meaning of its own.
    Character,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyLabel => "a part between two dots is empty",
            Self::LongLabel => "a part between dots has more than 63 characters",
            Self::Long => "it is longer than 255 bytes",
            Self::Character => "it has a blank, a backslash, or a character outside of ASCII",
        })
    }
}

impl Name {
    /// The name of the root.
    pub fn root() -> Self {
        Self(vec![0])
    }

    /// The name under which the name of an address's host is looked up (RFC 1035 3.5, RFC 3596
    /// 2.5).
    pub fn reverse(address: IpAddr) -> Self {
        let mut labels = Vec::new();
        let mut put = |label: &[u8]| {
            labels.push(label.len() as u8);
            labels.extend_from_slice(label);
        };
        match address {
            IpAddr::V4(ip) => {
                ip.octets().iter().rev().for_each(|byte| put(byte.to_string().as_bytes()));
                put(b"in-addr");
            }
            IpAddr::V6(ip) => {
                let digit = |n: u8| *b"0123456789abcdef".get(usize::from(n)).unwrap_or(&b'0');
                for byte in ip.octets().iter().rev() {
                    put(&[digit(byte & 15)]);
                    put(&[digit(byte >> 4)]);
                }
                put(b"ip6");
            }
        }
        put(b"arpa");
        labels.push(0);
        Self(labels)
    }

    /// The bytes on the wire.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The labels, without the root's.
    pub fn labels(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.0[..];
        core::iter::from_fn(move || {
            let (len, behind) = rest.split_first()?;
            let (label, behind) = behind.split_at_checked(usize::from(*len))?;
            rest = behind;
            (!label.is_empty()).then_some(label)
        })
    }

    /// Reads the name at an offset of a message, and returns it with the offset behind it. A
    /// pointer leads to an earlier offset than that of the labels it ends (RFC 1035 4.1.4), so that
    /// no pointers form a loop.
    ///
    /// # Errors
    /// A name that isn't whole, is too long, or has labels of another kind.
    pub fn read(message: &[u8], at: usize) -> Result<(Self, usize), DnsError> {
        let (mut at, mut start, mut end) = (at, at, None);
        let mut name = Vec::with_capacity(32);
        loop {
            let len = usize::from(*message.get(at).ok_or(DnsError::Short)?);
            match len {
                0 => {
                    name.push(0);
                    return Ok((Self(name), end.unwrap_or(at + 1)));
                }
                1..=MAX_LABEL => {
                    let label = message.get(at..=at + len).ok_or(DnsError::Short)?;
                    if name.len() + label.len() >= MAX {
                        return Err(DnsError::Name);
                    }
                    name.extend_from_slice(label);
                    at += 1 + len;
                }
                0xc0.. => {
                    let low = *message.get(at + 1).ok_or(DnsError::Short)?;
                    let target = (len & 0x3f) << 8 | usize::from(low);
                    if target >= start {
                        return Err(DnsError::Pointer);
                    }
                    end = end.or(Some(at + 2));
                    (at, start) = (target, target);
                }
                _ => return Err(DnsError::Name),
            }
        }
    }
}

impl FromStr for Name {
    type Err = NameError;

    /// Reads a text such as `www.example.com`; it may end with a dot.
    fn from_str(text: &str) -> Result<Self, NameError> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let mut name = Vec::with_capacity(text.len() + 2);
        for label in text.split('.') {
            let sound = |c: u8| c.is_ascii_graphic() && c != b'\\';
            match label.len() {
                0 => return Err(NameError::EmptyLabel),
                len if len > MAX_LABEL => return Err(NameError::LongLabel),
                len => name.push(len as u8),
            }
            if !label.bytes().all(sound) {
                return Err(NameError::Character);
            }
            name.extend_from_slice(label.as_bytes());
        }
        name.push(0);
        if name.len() > MAX { Err(NameError::Long) } else { Ok(Self(name)) }
    }
}

/// Writes the labels with dots between them. A character that isn't printable, a dot in a label and
/// a backslash are written as `\DDD` (RFC 4343 2.1).
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for label in self.labels() {
            if !core::mem::take(&mut first) {
                f.write_str(".")?;
            }
            for c in label {
                match c {
                    b'.' | b'\\' => write!(f, "\\{c:03}")?,
                    c if c.is_ascii_graphic() => write!(f, "{}", char::from(*c))?,
                    c => write!(f, "\\{c:03}")?,
                }
            }
        }
        if first { f.write_str(".") } else { Ok(()) }
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

// Lengths of labels are below the codes of letters, so that the case of all bytes may be ignored.
impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Name {}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.iter().map(u8::to_ascii_lowercase).cmp(other.0.iter().map(u8::to_ascii_lowercase))
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|c| c.to_ascii_lowercase().hash(state));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Values of the words of rules.

use cli::{Error, Matches, Result, quote};
use graph::World;
use object::{Argument, Words};
use serde_json::Value;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Where a packet comes from, or goes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A network, or a single address.
    Network(IpAddr, u8),
    /// A set of networks.
    Set(String),
}

impl Place {
    /// The name of its set.
    pub fn set(&self) -> Option<&str> {
        if let Self::Set(name) = self { Some(name) } else { None }
    }
}

/// Reads a network without bits behind its prefix, or a single address.
///
/// # Errors
/// Neither of them.
pub fn network(text: &str) -> Result<(IpAddr, u8)> {
    let wrong = || {
        Error::parse(format!("expected a network, such as 10.0.0.0/8, or an address, not `{text}'"))
    };
    let (address, len) = match text.split_once('/') {
        Some((address, len)) => (address, Some(len)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let len = len.map_or(Ok(bits), |len| len.parse().map_err(|_| wrong()))?;
    let network = match address {
        IpAddr::V4(address) => {
            wire::Prefix::new(address, len).map(|prefix| prefix.network().addr().into())
        }
        IpAddr::V6(address) => {
            wire::Prefix::new(address, len).map(|prefix| prefix.network().addr().into())
        }
    };
    match network {
        None => Err(wrong()),
        Some(network) if network != address => {
            Err(Error::parse(format!("{text} has bits behind its prefix"))
                .hint(format!("the network is {network}/{len}")))
        }
        Some(network) => Ok((network, len)),
    }
}

/// Writes a network as it is read.
pub fn network_text((address, len): (IpAddr, u8)) -> String {
    let bits = if address.is_ipv4() { 32 } else { 128 };
    if len == bits { address.to_string() } else { format!("{address}/{len}") }
}

/// Checks the name of a zone or set: it must not be taken for an address or a number.
///
/// # Errors
/// Another name.
pub fn name(text: &str) -> Result<String> {
    let is_good = text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let reserved = ["none", "any", "from", "to", "del"].contains(&text);
    if !is_good || reserved || text.parse::<IpAddr>().is_ok() {
        return Err(Error::parse(format!(
            "expected a name of letters, digits, `-', `_' and `.', a letter first, not `{text}'"
        )));
    }
    Ok(text.to_string())
}

impl FromStr for Place {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.contains(['/', ':']) || !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return network(text).map(|(address, len)| Self::Network(address, len));
        }
        name(text).map(Self::Set)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(address, len) => f.write_str(&network_text((*address, *len))),
            Self::Set(name) => f.write_str(name),
        }
    }
}

/// Ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ports {
    /// From the first to the last.
    Range(u16, u16),
    /// A set of ports.
    Set(String),
}

impl Ports {
    /// The name of its set.
    pub fn set(&self) -> Option<&str> {
        if let Self::Set(name) = self { Some(name) } else { None }
    }
}

/// Reads a number, or two with `-` between them.
///
/// # Errors
/// Neither of them, or the higher one first.
pub fn range(text: &str) -> Result<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
        (Ok(_), Ok(_)) => Err(Error::parse(format!("{text}: expected the lower number first"))),
        _ => Err(Error::parse(format!(
            "expected a number of 0 to 65535, or two with `-' between them, not `{text}'"
        ))),
    }
}

/// Writes numbers as they are read.
pub fn range_text((first, last): (u16, u16)) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

impl FromStr for Ports {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return range(text).map(|(first, last)| Self::Range(first, last));
        }
        name(text).map(Self::Set)
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(first, last) => f.write_str(&range_text((*first, *last))),
            Self::Set(name) => f.write_str(name),
        }
    }
}

/// Bytes of a packet, from the least to the most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Length(pub u16, pub u16);

impl FromStr for Length {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        range(text).map(|(least, most)| Self(least, most))
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&range_text((self.0, self.1)))
    }
}

/// A protocol of the upper layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Protocol(pub u8);

/// Protocols with words.
const PROTOCOLS: [(&str, u8); 8] = [
    ("tcp", 6),
    ("udp", 17),
    ("icmp", 1),
    ("icmp6", 58),
    ("gre", 47),
    ("esp", 50),
    ("ah", 51),
    ("sctp", 132),
];

impl FromStr for Protocol {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = PROTOCOLS.iter().find(|(word, _)| *word == text);
        let number = known.map(|(_, number)| *number).or_else(|| text.parse().ok());
        let words = PROTOCOLS.map(|(word, _)| word);
        number.map(Self).ok_or_else(|| {
            Error::parse(format!("expected a protocol's number or word, not `{text}'"))
                .near(text, words)
        })
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match PROTOCOLS.iter().find(|(_, number)| *number == self.0) {
            Some((word, _)) => f.write_str(word),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Type and code of ICMP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Icmp {
    /// The type.
    pub kind: u8,
    /// The code; any without one.
    pub code: Option<u8>,
}

impl FromStr for Icmp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong =
            || Error::parse(format!("expected a type of ICMP, such as 8, or 3/4, not `{text}'"));
        let (kind, code) = match text.split_once('/') {
            Some((kind, code)) => (kind, Some(code.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        Ok(Self { kind: kind.parse().map_err(|_| wrong())?, code })
    }
}

impl fmt::Display for Icmp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{}/{code}", self.kind),
            None => write!(f, "{}", self.kind),
        }
    }
}

/// Flags of TCP: those that are compared, and the value that they have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlagMatch {
    /// Flags that are set.
    pub value: u8,
    /// Flags that are compared.
    pub mask: u8,
}

const FLAGS: [&str; 8] = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];

fn flags(text: &str) -> Option<u8> {
    if text == "none" {
        return Some(0);
    }
    let bit = |word| FLAGS.iter().position(|flag| *flag == word).map(|at| 1 << at);
    text.split(',').try_fold(0, |all, word| Some(all | bit(word)?))
}

fn flags_text(flags: u8) -> String {
    let words = (0..8).filter(|bit| flags >> bit & 1 != 0).map(|bit| FLAGS[bit]);
    let words: Vec<_> = words.collect();
    if words.is_empty() { "none".to_string() } else { words.join(",") }
}

impl FromStr for FlagMatch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (value, mask) = text.split_once('/').unwrap_or((text, text));
        match (flags(value), flags(mask)) {
            (Some(value), Some(mask)) if value & !mask == 0 => Ok(Self { value, mask }),
            _ => Err(Error::parse(format!(
                "expected flags that are set, `/', and flags that are compared, such as syn/syn,ack, not `{text}'"
            ))),
        }
    }
}

impl fmt::Display for FlagMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", flags_text(self.value), flags_text(self.mask))
    }
}

/// Types that are a word.
macro_rules! words {
    ($($Type:ty),*) => { $(
        impl Argument for $Type {
            fn read(_: &World, m: &Matches, words: Words) -> Result<Option<Self>> {
                let name = words.placeholder();
                let given = m.has(name).then(|| m.str(name).parse::<Self>());
                given.transpose().map_err(|error| words.mark(m, error))
            }

            fn write(&self, _: &World, words: Words, line: &mut String) {
                line.push_str(&format!(" {} {}", words.literal(), quote(&self.to_string())));
            }

            fn value(&self, _: &World) -> Value {
                Value::from(self.to_string())
            }
        }
    )* };
}

words!(Place, Ports, Length, Protocol, Icmp, FlagMatch);

// SPDX-License-Identifier: Apache-2.0
//! Rules: a verdict, and the packets that it is for.

use cli::{Error, Result, retval};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Address, Family, Ip4, Ip4Prefix, Ip6, Ip6Prefix, IpProtocol, Prefix};

/// The verdict of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Action {
    /// Packets are dropped.
    Deny,
    /// Packets pass.
    Permit,
    /// Packets pass and make a session, by which both directions of their flow pass.
    Reflect,
}

impl Action {
    /// All, by their numbers in messages.
    pub const ALL: [Self; 3] = [Self::Deny, Self::Permit, Self::Reflect];

    /// Its word in commands.
    pub const fn name(self) -> &'static str {
        ["deny", "permit", "permit+reflect"][self as usize]
    }

    /// The action of a number in messages.
    ///
    /// # Errors
    /// No action has the number (−7).
    pub fn of(number: u8) -> Result<Self> {
        Self::ALL.get(usize::from(number)).copied().ok_or_else(|| {
            let why = format!("expected an action of 0 to 2, not {number}");
            Error::parse(why).retval(retval::INVALID_VALUE)
        })
    }
}

/// Source and destination networks of one protocol.
pub type Ends<A> = (Prefix<A>, Prefix<A>);

/// Source and destination networks of a rule, of one protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Networks {
    /// IPv4: source prefix, destination prefix.
    Ip4(Ip4Prefix, Ip4Prefix),
    /// IPv6: source prefix, destination prefix.
    Ip6(Ip6Prefix, Ip6Prefix),
}

impl Networks {
    /// Two networks given as addresses and prefix lengths.
    ///
    /// # Errors
    /// Bits behind a prefix, a prefix that is too long, or two protocols: the error is that of the
    /// source (−82), or else that of the destination (−83).
    pub fn new(source: (IpAddr, u8), destination: (IpAddr, u8)) -> Result<Self> {
        if let (IpAddr::V4(a), IpAddr::V4(b)) = (source.0, destination.0) {
            let (from, to) = (network(a, source.1), network(b, destination.1));
            return Ok(Self::Ip4(from.map_err(wrong_source)?, to.map_err(wrong_destination)?));
        }
        if let (IpAddr::V6(a), IpAddr::V6(b)) = (source.0, destination.0) {
            let (from, to) = (network(a, source.1), network(b, destination.1));
            return Ok(Self::Ip6(from.map_err(wrong_source)?, to.map_err(wrong_destination)?));
        }
        let why = "source and destination are of two protocols: expected both of IPv4 or of IPv6";
        Err(wrong_source(Error::parse(why)))
    }

    /// True for IPv6.
    pub fn is_v6(&self) -> bool {
        matches!(self, Self::Ip6(..))
    }
}

fn wrong_source(e: Error) -> Error {
    e.retval(retval::INVALID_SRC_ADDRESS)
}

fn wrong_destination(e: Error) -> Error {
    e.retval(retval::INVALID_DST_ADDRESS)
}

fn network<A: Address>(addr: A, len: u8) -> Result<Prefix<A>> {
    let prefix = Prefix::new(addr, len).ok_or_else(|| {
        Error::parse(format!("expected a prefix length of 0 to {}, not {len}", A::Family::BITS))
    })?;
    if prefix.has_host_bits() {
        let network = prefix.network();
        return Err(Error::parse(format!("{prefix} has bits behind its prefix"))
            .hint(format!("the network is {network}")));
    }
    Ok(prefix)
}

/// Numbers from the first to the last, both included: ports, or types and codes of ICMP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

impl Span {
    /// All numbers.
    pub const ALL: Self = Self { first: 0, last: u16::MAX };

    /// Numbers in order.
    ///
    /// # Errors
    /// The first is above the last (−76).
    pub fn new(first: u16, last: u16) -> Result<Self> {
        if first > last {
            let why = format!("{first}-{last}: expected the lower number first");
            return Err(Error::parse(why).retval(retval::INVALID_VALUE_2));
        }
        Ok(Self { first, last })
    }

    /// True if a number is among them.
    #[inline(always)]
    pub fn has(self, number: u16) -> bool {
        (self.first..=self.last).contains(&number)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { first, last } if first == last => write!(f, "{first}"),
            Self { first, last } => write!(f, "{first}-{last}"),
        }
    }
}

/// The upper layer that a rule is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Upper {
    /// Its protocol; 0 for any, and then nothing else here is compared.
    pub protocol: u8,
    /// Source ports, or types of ICMP.
    pub source: Span,
    /// Destination ports, or codes of ICMP.
    pub destination: Span,
    /// Flags of TCP that are compared.
    pub flags_mask: u8,
    /// The value that these flags have.
    pub flags: u8,
}

impl Upper {
    /// Any upper layer.
    pub const ANY: Self =
        Self { protocol: 0, source: Span::ALL, destination: Span::ALL, flags_mask: 0, flags: 0 };

    /// True if flags of TCP are compared.
    pub fn has_flags(&self) -> bool {
        self.protocol == IpProtocol::TCP.0 && (self.flags_mask != 0 || self.flags != 0)
    }
}

/// A rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rule {
    /// Verdict on a packet that matches.
    pub action: Action,
    /// Networks of the packets that it is for.
    pub networks: Networks,
    /// Their upper layer.
    pub upper: Upper,
}

impl Rule {
    /// The networks, if they are of this protocol.
    pub fn networks<F: Match>(&self) -> Option<Ends<F::Addr>> {
        F::networks(&self.networks)
    }
}

/// A protocol whose packets rules are for.
pub trait Match: Family {
    /// Source and destination of a rule, if they are of this protocol.
    fn networks(networks: &Networks) -> Option<Ends<Self::Addr>>;
}

impl Match for Ip4 {
    fn networks(networks: &Networks) -> Option<Ends<Ipv4Addr>> {
        if let Networks::Ip4(from, to) = *networks { Some((from, to)) } else { None }
    }
}

impl Match for Ip6 {
    fn networks(networks: &Networks) -> Option<Ends<Ipv6Addr>> {
        if let Networks::Ip6(from, to) = *networks { Some((from, to)) } else { None }
    }
}

/// As commands take it.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.action.name())?;
        match self.networks {
            Networks::Ip4(from, to) => write!(f, " src {from} dst {to}")?,
            Networks::Ip6(from, to) => write!(f, " src {from} dst {to}")?,
        }
        let Upper { protocol, source, destination, flags_mask, flags } = self.upper;
        write!(f, " proto {protocol} sport {source} dport {destination}")?;
        if flags_mask != 0 || flags != 0 {
            write!(f, " tcpflags {flags} mask {flags_mask}")?;
        }
        Ok(())
    }
}

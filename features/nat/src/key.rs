// SPDX-License-Identifier: Apache-2.0
//! Keys of flows: the packets of one direction of a session.

use crate::ports::PortKey;
use cli::{Matches, Result};
use std::fmt;
use std::net::Ipv4Addr;
use tables::{Mixer, SessionKey};
use wire::IpProtocol;

/// An address with a port, or with the identifier of an ICMP query; 0 for protocols without ports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct End {
    /// The address.
    pub addr: Ipv4Addr,
    /// The port.
    pub port: u16,
}

impl End {
    /// No address and no port.
    pub const NONE: Self = Self { addr: Ipv4Addr::UNSPECIFIED, port: 0 };

    /// Returns the end of an address and a port.
    pub const fn new(addr: Ipv4Addr, port: u16) -> Self {
        Self { addr, port }
    }

    /// Reads an address with a port, as 10.0.0.1:80.
    ///
    /// # Errors
    /// The text isn't an address, a colon and a port.
    pub fn parse(text: &str) -> Result<Self> {
        let parts = text.rsplit_once(':');
        let read = parts.and_then(|(addr, port)| Some((addr.parse().ok()?, port.parse().ok()?)));
        let (addr, port) = read.ok_or_else(|| {
            let why = format!("expected an address with a port, as 10.0.0.1:80, not `{text}'");
            cli::Error::parse(why)
        })?;
        Ok(Self::new(addr, port))
    }
}

impl Default for End {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.addr, self.port)
    }
}

/// A user: an address inside, in its table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct User {
    /// Index of the table.
    pub fib: u32,
    /// The address.
    pub addr: Ipv4Addr,
}

/// The key of a flow: where its packets come from and go to, in which table they are looked up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    source: u32,
    destination: u32,
    source_port: u16,
    destination_port: u16,
    /// Index of the table in the upper 24 bits, protocol in the lower 8.
    rest: u32,
}

impl Key {
    /// Returns the key of packets between these ends.
    #[inline(always)]
    pub const fn new(from: End, to: End, fib: u32, protocol: IpProtocol) -> Self {
        Self {
            source: from.addr.to_bits(),
            destination: to.addr.to_bits(),
            source_port: from.port,
            destination_port: to.port,
            rest: fib << 8 | protocol.0 as u32,
        }
    }

    /// The end that packets come from.
    #[inline(always)]
    pub const fn from(&self) -> End {
        End::new(Ipv4Addr::from_bits(self.source), self.source_port)
    }

    /// The end that packets go to.
    #[inline(always)]
    pub const fn to(&self) -> End {
        End::new(Ipv4Addr::from_bits(self.destination), self.destination_port)
    }

    /// Index of the table.
    #[inline(always)]
    pub const fn fib(&self) -> u32 {
        self.rest >> 8
    }

    /// The host that its packets come from, in their table.
    pub const fn sender(&self) -> User {
        User { fib: self.fib(), addr: Ipv4Addr::from_bits(self.source) }
    }

    /// The upper layer's protocol.
    #[inline(always)]
    pub const fn protocol(&self) -> IpProtocol {
        IpProtocol(self.rest as u8)
    }
}

impl PortKey for Key {
    fn port(&self) -> u16 {
        self.destination_port
    }

    /// The router chooses the destination's, and for ICMP, whose identifier is at both ends, also
    /// the source's.
    fn without_port(&self) -> Self {
        let is_icmp = self.protocol() == IpProtocol::ICMP;
        let source_port = if is_icmp { 0 } else { self.source_port };
        Self { destination_port: 0, source_port, ..*self }
    }
}

impl SessionKey for Key {
    #[inline(always)]
    fn mix(&self, mixer: Mixer) -> Mixer {
        let ports = u32::from(self.source_port) << 16 | u32::from(self.destination_port);
        mixer
            .add(u64::from(self.source) << 32 | u64::from(self.destination))
            .add(u64::from(ports) << 32 | u64::from(self.rest))
    }
}

/// Returns true for a protocol with ports, or with identifiers that stand in for them.
#[inline(always)]
pub fn has_ports(protocol: IpProtocol) -> bool {
    matches!(protocol, IpProtocol::TCP | IpProtocol::UDP | IpProtocol::ICMP)
}

/// The sum over the bytes of an address that VPP spreads users by: over addresses of a pool and
/// over workers.
#[inline(always)]
pub fn spread(word: u32) -> u32 {
    word.wrapping_add(word >> 8).wrapping_add(word >> 16).wrapping_add(word >> 24)
}

/// [`spread`] of an address, as a little-endian word.
#[inline(always)]
pub fn spread_of(addr: Ipv4Addr) -> u32 {
    spread(u32::from_le_bytes(addr.octets()))
}

/// Reads the end that a word of a command names, as 10.0.0.1:80.
///
/// # Errors
/// The word isn't an address, a colon and a port.
pub fn read_end(m: &Matches, name: &str) -> Result<End> {
    End::parse(m.str(name)).map_err(|e| e.at(m.span(name)))
}

/// The protocol that was named; 0 for none.
pub fn read_protocol(m: &Matches) -> IpProtocol {
    let known = [("tcp", IpProtocol::TCP), ("udp", IpProtocol::UDP), ("icmp", IpProtocol::ICMP)];
    let named = known.into_iter().find(|(word, _)| m.flag(word));
    named.map_or(IpProtocol(0), |(_, protocol)| protocol)
}

/// The name of a protocol.
pub fn protocol_name(protocol: IpProtocol) -> String {
    match protocol {
        IpProtocol::TCP => "TCP".into(),
        IpProtocol::UDP => "UDP".into(),
        IpProtocol::ICMP => "ICMP".into(),
        IpProtocol(number) => number.to_string(),
    }
}

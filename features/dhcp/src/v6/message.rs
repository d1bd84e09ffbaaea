// SPDX-License-Identifier: Apache-2.0
//! Messages of DHCPv6 (RFC 8415 8, 9, 21): read without copying. Numbers are big-endian.

use std::net::Ipv6Addr;

/// UDP port of servers and relays.
pub const SERVER_PORT: u16 = 547;
/// UDP port of clients.
pub const CLIENT_PORT: u16 = 546;
/// Bytes in front of the options of a client's or server's message: type, transaction.
pub const FIXED: usize = 4;
/// Bytes in front of the options of a relay's message: type, hops, two addresses.
pub const RELAY_FIXED: usize = 34;
/// Bytes of a message at most: a datagram in a frame of 1500 bytes.
pub const MOST: usize = 1452;

/// Types of messages (RFC 8415 7.3).
pub mod kind {
    /// A client looks for servers.
    pub const SOLICIT: u8 = 1;
    /// A server offers leases.
    pub const ADVERTISE: u8 = 2;
    /// A client wants the leases of a server.
    pub const REQUEST: u8 = 3;
    /// A client extends its leases at their server.
    pub const RENEW: u8 = 5;
    /// A client extends its leases at any server.
    pub const REBIND: u8 = 6;
    /// A server answers.
    pub const REPLY: u8 = 7;
    /// A relay passes on a message to servers.
    pub const RELAY_FORW: u8 = 12;
    /// A server's answer by way of a relay.
    pub const RELAY_REPL: u8 = 13;

    /// True for types of messages that clients and relays send to servers.
    pub const fn is_to_server(kind: u8) -> bool {
        matches!(kind, SOLICIT | 3..=6 | 8 | 9 | 11 | RELAY_FORW)
    }
}

/// Codes of options (RFC 8415 21, RFC 6607 4.2, RFC 6939).
pub mod code {
    /// The client's identifier.
    pub const CLIENT_ID: u16 = 1;
    /// The server's identifier.
    pub const SERVER_ID: u16 = 2;
    /// Addresses of an identity association.
    pub const IA_NA: u16 = 3;
    /// An address.
    pub const IA_ADDRESS: u16 = 5;
    /// Options that the client asks for.
    pub const OPTION_REQUEST: u16 = 6;
    /// The server's preference.
    pub const PREFERENCE: u16 = 7;
    /// Time since the exchange began.
    pub const ELAPSED_TIME: u16 = 8;
    /// The relayed message.
    pub const RELAY_MESSAGE: u16 = 9;
    /// The status of a message or an association.
    pub const STATUS: u16 = 13;
    /// The interface of the client.
    pub const INTERFACE_ID: u16 = 18;
    /// Prefixes of an identity association.
    pub const IA_PD: u16 = 25;
    /// A prefix.
    pub const IA_PREFIX: u16 = 26;
    /// The VPN of the client.
    pub const VSS: u16 = 68;
    /// The client's link-layer address.
    pub const CLIENT_LINK_ADDRESS: u16 = 79;
    /// The longest time between two solicitations.
    pub const SOL_MAX_RT: u16 = 82;
}

/// The options in some bytes, up to one that isn't whole.
#[derive(Clone, Copy)]
pub struct Options<'a>(pub &'a [u8]);

impl<'a> Iterator for Options<'a> {
    /// Code and data.
    type Item = (u16, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (&[a, b, c, d], rest) = self.0.split_first_chunk::<4>()?;
        let len = usize::from(u16::from_be_bytes([c, d]));
        let (data, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some((u16::from_be_bytes([a, b]), data))
    }
}

impl<'a> Options<'a> {
    /// The data of the first option of this code.
    #[inline]
    pub fn get(mut self, code: u16) -> Option<&'a [u8]> {
        self.find(|(c, _)| *c == code).map(|(_, data)| data)
    }
}

/// Appends an option.
pub fn put(bytes: &mut Vec<u8>, code: u16, data: &[u8]) {
    bytes.extend(code.to_be_bytes());
    bytes.extend((data.len() as u16).to_be_bytes());
    bytes.extend(data);
}

/// A message of a relay.
#[derive(Clone, Copy)]
pub struct RelayMessage<'a> {
    /// The client, or the next relay on the way to the client.
    pub peer: Ipv6Addr,
    /// Its options.
    pub options: Options<'a>,
}

impl<'a> RelayMessage<'a> {
    /// Reads a message; `None` if it is shorter than its fixed part.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (fixed, options) = bytes.split_first_chunk::<RELAY_FIXED>()?;
        let peer: [u8; 16] = *fixed[18..].first_chunk()?;
        Some(Self { peer: peer.into(), options: Options(options) })
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Messages of DHCPv4 (RFC 2131 2, RFC 2132): read without copying, and composed. Numbers are
//! big-endian.

use std::net::Ipv4Addr;
use wire::MacAddr;

/// UDP port of servers and relays.
pub const SERVER_PORT: u16 = 67;
/// UDP port of clients.
pub const CLIENT_PORT: u16 = 68;
/// Bytes in front of the options: the header of BOOTP (RFC 951 3) and the magic cookie.
pub const FIXED: usize = 240;
/// First bytes of the options (RFC 2131 3).
const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// Bytes of a BOOTP message at least (RFC 1542 2.1): some relays drop shorter ones.
const LEAST: usize = 300;
/// Bytes of a message at most: a datagram in a frame of 1500 bytes.
pub const MOST: usize = 1472;

/// Offset of the hop count of relays.
pub const HOPS: usize = 3;
/// Offset of the address of the relay.
pub const GIADDR: usize = 24;
const YIADDR: usize = 16;
const CHADDR: usize = 28;
/// Bit of the flags: answers are to come by broadcast (RFC 2131 figure 2).
const BROADCAST: u16 = 0x8000;

/// Codes of options (RFC 2132, RFC 3046, RFC 3442).
pub mod code {
    /// Fills up; one byte.
    pub const PAD: u8 = 0;
    /// Length of the network's prefix, as a mask.
    pub const SUBNET_MASK: u8 = 1;
    /// Default routers.
    pub const ROUTER: u8 = 3;
    /// Name servers.
    pub const DOMAIN_SERVERS: u8 = 6;
    /// The client's name.
    pub const HOST_NAME: u8 = 12;
    /// The address that the client asks for.
    pub const REQUESTED_ADDRESS: u8 = 50;
    /// Seconds of the lease.
    pub const LEASE_TIME: u8 = 51;
    /// The kind of message.
    pub const MESSAGE_TYPE: u8 = 53;
    /// The server's address.
    pub const SERVER_ID: u8 = 54;
    /// Options that the client asks for.
    pub const PARAMETERS: u8 = 55;
    /// Seconds until the lease is renewed.
    pub const RENEWAL_TIME: u8 = 58;
    /// Seconds until any server may renew it.
    pub const REBINDING_TIME: u8 = 59;
    /// The client's identifier.
    pub const CLIENT_ID: u8 = 61;
    /// Relay agent information (RFC 3046).
    pub const RELAY_AGENT: u8 = 82;
    /// Routes that aren't default routes (RFC 3442).
    pub const CLASSLESS_ROUTES: u8 = 121;
    /// Ends the options; one byte.
    pub const END: u8 = 255;
}

/// The options that our client asks for, in VPP's order.
const WANTED: [u8; 13] = [1, 28, 2, 3, 15, 6, 119, 12, 44, 47, 26, 121, 42];

/// Kinds of messages (RFC 2132 9.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageType {
    /// A client looks for servers.
    Discover = 1,
    /// A server offers a lease.
    Offer,
    /// A client wants, renews or verifies a lease.
    Request,
    /// A client has found the address in use.
    Decline,
    /// A server grants a lease.
    Ack,
    /// A server refuses a lease.
    Nak,
    /// A client returns its lease.
    Release,
    /// A client asks for other settings only.
    Inform,
}

impl MessageType {
    /// The kind of this number.
    pub fn of(number: u8) -> Option<Self> {
        use MessageType::*;
        let all = [Discover, Offer, Request, Decline, Ack, Nak, Release, Inform];
        all.get(usize::from(number).wrapping_sub(1)).copied()
    }

    /// True for messages that servers send.
    pub fn is_of_server(self) -> bool {
        matches!(self, Self::Offer | Self::Ack | Self::Nak)
    }
}

/// A message that was received: the fixed part and the options are there.
#[derive(Clone, Copy)]
pub struct Message<'a>(&'a [u8]);

impl<'a> Message<'a> {
    /// Reads a message; `None` if it is shorter than its fixed part or has no options.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        (bytes.get(FIXED - 4..FIXED)? == COOKIE).then_some(Self(bytes))
    }

    fn address(self, at: usize) -> Ipv4Addr {
        let octets = self.0.get(at..at + 4).and_then(|b| <[u8; 4]>::try_from(b).ok());
        octets.unwrap_or_default().into()
    }

    fn number(self, at: usize) -> u32 {
        self.address(at).to_bits()
    }

    /// True for a BOOTREPLY.
    pub fn is_reply(self) -> bool {
        self.0[0] == 2
    }

    /// Number of relays that the message has passed.
    pub fn hops(self) -> u8 {
        self.0[HOPS]
    }

    /// The transaction's number.
    pub fn xid(self) -> u32 {
        self.number(4)
    }

    /// The address that the server gives.
    pub fn yiaddr(self) -> Ipv4Addr {
        self.address(YIADDR)
    }

    /// The address of the first relay.
    pub fn giaddr(self) -> Ipv4Addr {
        self.address(GIADDR)
    }

    /// The client's hardware address.
    pub fn chaddr(self) -> MacAddr {
        let bytes = self.0.get(CHADDR..CHADDR + 6).and_then(|b| <[u8; 6]>::try_from(b).ok());
        MacAddr(bytes.unwrap_or_default())
    }

    /// The options, without padding.
    #[inline]
    pub fn options(self) -> Options<'a> {
        Options { bytes: self.0, at: FIXED }
    }

    /// The first option of this code.
    #[inline]
    pub fn option(self, code: u8) -> Option<&'a [u8]> {
        self.options().find(|option| option.code == code).map(|option| option.data)
    }

    /// The data of all options of this code, one behind the other: a long option is split (RFC
    /// 3396 5).
    pub fn joined(self, code: u8) -> Vec<u8> {
        let parts = self.options().filter(|option| option.code == code);
        parts.flat_map(|option| option.data.iter().copied()).collect()
    }

    /// The kind of message.
    #[inline]
    pub fn message_type(self) -> Option<MessageType> {
        MessageType::of(*self.option(code::MESSAGE_TYPE)?.first()?)
    }

    /// The address in an option, its first if it has several.
    pub fn option_address(self, code: u8) -> Option<Ipv4Addr> {
        let octets: [u8; 4] = *self.option(code)?.first_chunk()?;
        Some(octets.into())
    }

    /// The number in an option of 4 bytes.
    pub fn option_number(self, code: u8) -> Option<u32> {
        Some(u32::from_be_bytes(self.option(code)?.try_into().ok()?))
    }
}

/// An option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DhcpOption<'a> {
    /// Offset of its code in the message.
    pub at: usize,
    /// Its code.
    pub code: u8,
    /// Its data.
    pub data: &'a [u8],
}

/// The options of a message up to its end, or up to one that isn't whole.
#[derive(Clone)]
pub struct Options<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Options<'_> {
    /// Offset of the end option, or of the end of the message, once all options have been read.
    pub fn offset(&self) -> usize {
        self.at
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = DhcpOption<'a>;

    #[inline]
    fn next(&mut self) -> Option<DhcpOption<'a>> {
        while self.bytes.get(self.at) == Some(&code::PAD) {
            self.at += 1;
        }
        let at = self.at;
        let &[code, len] = self.bytes.get(at..)?.first_chunk::<2>()?;
        if code == code::END {
            return None;
        }
        let end = at + 2 + usize::from(len);
        let data = self.bytes.get(at + 2..end)?;
        self.at = end;
        Some(DhcpOption { at, code, data })
    }
}

/// A message of our client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientMessage<'a> {
    /// Its kind.
    pub kind: MessageType,
    /// The transaction's number.
    pub xid: u32,
    /// Seconds since the client has begun to look for a lease.
    pub secs: u16,
    /// True if answers are to come by broadcast.
    pub broadcast: bool,
    /// The client's address, if it is in use.
    pub ciaddr: Ipv4Addr,
    /// The client's hardware address.
    pub mac: MacAddr,
    /// The server that is meant.
    pub server: Option<Ipv4Addr>,
    /// The address that the client asks for.
    pub requested: Option<Ipv4Addr>,
    /// The client's name; empty for none.
    pub hostname: &'a str,
    /// The client's identifier, of type 0 (RFC 2132 9.14); empty for none.
    pub client_id: &'a [u8],
}

impl ClientMessage<'_> {
    /// The message's bytes. Name and identifier are cut to what an option holds.
    pub fn bytes(&self) -> Vec<u8> {
        let flags = if self.broadcast { BROADCAST } else { 0 };
        // Request, Ethernet, 6 bytes of hardware address, no relay.
        let mut bytes = vec![1, 1, 6, 0];
        bytes.extend(self.xid.to_be_bytes());
        bytes.extend(self.secs.to_be_bytes());
        bytes.extend(flags.to_be_bytes());
        bytes.extend(self.ciaddr.octets());
        // Addresses of client, server and relay.
        bytes.extend([0; 12]);
        bytes.extend(self.mac.octets());
        bytes.resize(FIXED - 4, 0);
        bytes.extend(COOKIE);
        put(&mut bytes, code::MESSAGE_TYPE, &[self.kind as u8]);
        if let Some(server) = self.server {
            put(&mut bytes, code::SERVER_ID, &server.octets());
        }
        if let Some(requested) = self.requested {
            put(&mut bytes, code::REQUESTED_ADDRESS, &requested.octets());
        }
        if !self.hostname.is_empty() {
            put(&mut bytes, code::HOST_NAME, self.hostname.as_bytes());
        }
        if !self.client_id.is_empty() {
            put(&mut bytes, code::CLIENT_ID, &[&[0], self.client_id].concat());
        }
        if matches!(self.kind, MessageType::Discover | MessageType::Request) {
            put(&mut bytes, code::PARAMETERS, &WANTED);
        }
        bytes.push(code::END);
        bytes.resize(bytes.len().max(LEAST), code::PAD);
        bytes
    }
}

/// Appends an option.
fn put(bytes: &mut Vec<u8>, code: u8, data: &[u8]) {
    let data = &data[..data.len().min(255)];
    bytes.extend([code, data.len() as u8]);
    bytes.extend(data);
}

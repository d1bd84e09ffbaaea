// SPDX-License-Identifier: Apache-2.0
//! The form of datagrams between routers, in network byte order: VPP's, version 1.
//!
//! A header names the thread whose sessions the events are about; its number is that of the
//! sender's thread, and the receiver's with the same number gets them. An acknowledgement is the
//! header again, with its flag.

use crate::session::{Session, SessionFlags, ends};
use ::nat::key::{End, Key};
use std::net::Ipv4Addr;
use wire::IpProtocol;

/// The version that this is.
pub const VERSION: u8 = 1;
/// Flag of acknowledgements.
pub const ACK: u8 = 1;
/// Bytes of the header.
pub const HEADER: usize = 12;
/// Bytes of an event.
pub const EVENT: usize = 44;

/// The header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// See [`VERSION`].
    pub version: u8,
    /// See [`ACK`].
    pub flags: u8,
    /// Number of events.
    pub count: u16,
    /// Number of the datagram.
    pub sequence: u32,
    /// The thread that has the sessions.
    pub thread: u32,
}

impl Header {
    /// Reads a header; `None` if the bytes are fewer.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let head = bytes.first_chunk::<HEADER>()?;
        let word =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        Some(Self {
            version: head[0],
            flags: head[1],
            count: u16::from_be_bytes([head[2], head[3]]),
            sequence: word(4),
            thread: word(8),
        })
    }

    /// Its bytes.
    pub fn bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        (bytes[0], bytes[1]) = (self.version, self.flags);
        bytes[2..4].copy_from_slice(&self.count.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[8..].copy_from_slice(&self.thread.to_be_bytes());
        bytes
    }
}

/// The kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A session was made.
    Add,
    /// A session has ended.
    Delete,
    /// The counters of a session.
    Refresh,
}

impl Kind {
    const fn number(self) -> u8 {
        match self {
            Self::Add => 1,
            Self::Delete => 2,
            Self::Refresh => 3,
        }
    }

    const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Add),
            2 => Some(Self::Delete),
            3 => Some(Self::Refresh),
            _ => None,
        }
    }
}

/// An event of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The kind.
    pub kind: Kind,
    /// The protocol.
    pub protocol: IpProtocol,
    /// Properties of the session.
    pub flags: SessionFlags,
    /// The user's end.
    pub inside: End,
    /// The end that the world sees.
    pub outside: End,
    /// The host of the world.
    pub external: End,
    /// Index of the user's table.
    pub fib: u32,
    /// Packets of both directions.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u64,
}

const fn protocol_number(protocol: IpProtocol) -> u8 {
    match protocol {
        IpProtocol::UDP => 1,
        IpProtocol::TCP => 2,
        IpProtocol::ICMP => 3,
        _ => 0,
    }
}

/// Protocol of a number; none for that of protocols without ports, which have no sessions.
const fn protocol_of(number: u8) -> Option<IpProtocol> {
    match number {
        1 => Some(IpProtocol::UDP),
        2 => Some(IpProtocol::TCP),
        3 => Some(IpProtocol::ICMP),
        _ => None,
    }
}

impl Event {
    /// The event of a session.
    pub fn new(kind: Kind, keys: &[Key; 2], session: &Session) -> Self {
        let (inside, outside) = ends(keys);
        Self {
            kind,
            protocol: keys[0].protocol(),
            flags: session.flags & SessionFlags::STATIC,
            inside,
            outside,
            external: session.external,
            fib: keys[0].fib(),
            packets: session.packets as u32,
            bytes: session.bytes,
        }
    }

    /// Reads an event; `None` if its kind or its protocol is unknown.
    pub fn read(bytes: &[u8; EVENT]) -> Option<Self> {
        let two = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let four = |at: usize| u32::from(two(at)) << 16 | u32::from(two(at + 2));
        let addr = |at: usize| Ipv4Addr::from_bits(four(at));
        Some(Self {
            kind: Kind::of(bytes[0])?,
            protocol: protocol_of(bytes[1])?,
            flags: SessionFlags::from_bits_truncate(two(2) as u8) & SessionFlags::STATIC,
            inside: End::new(addr(4), two(12)),
            outside: End::new(addr(8), two(14)),
            external: End::new(addr(16), two(24)),
            fib: four(28),
            packets: four(32),
            bytes: u64::from(four(36)) << 32 | u64::from(four(40)),
        })
    }

    /// Its bytes. The host of the world has one address on both sides.
    pub fn put(&self) -> [u8; EVENT] {
        let mut bytes = [0; EVENT];
        (bytes[0], bytes[1]) = (self.kind.number(), protocol_number(self.protocol));
        bytes[2..4].copy_from_slice(&u16::from(self.flags.bits()).to_be_bytes());
        bytes[4..8].copy_from_slice(&self.inside.addr.octets());
        bytes[8..12].copy_from_slice(&self.outside.addr.octets());
        bytes[12..14].copy_from_slice(&self.inside.port.to_be_bytes());
        bytes[14..16].copy_from_slice(&self.outside.port.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.external.addr.octets());
        bytes[20..24].copy_from_slice(&self.external.addr.octets());
        bytes[24..26].copy_from_slice(&self.external.port.to_be_bytes());
        bytes[26..28].copy_from_slice(&self.external.port.to_be_bytes());
        bytes[28..32].copy_from_slice(&self.fib.to_be_bytes());
        bytes[32..36].copy_from_slice(&self.packets.to_be_bytes());
        bytes[36..].copy_from_slice(&self.bytes.to_be_bytes());
        bytes
    }
}

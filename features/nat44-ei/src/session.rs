// SPDX-License-Identifier: Apache-2.0
//! A session: an end of a user, and the end that the world sees of it, whichever host of the world
//! it sends to (endpoint-independent mapping and filtering, RFC 4787 4.1 and 5).

use ::nat::key::{End, Key, User};
pub use ::nat::tcp::{Change, Connection};
use bitflags::bitflags;
use tables::Share;
use wire::IpProtocol;

/// The direction of packets of a session: of the user, as its first key.
pub const OUTWARD: usize = 0;
/// Of the world, as its second key.
pub const INWARD: usize = 1;

bitflags! {
    /// Properties of a session.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    pub struct SessionFlags: u8 {
        /// A static mapping made it. Copies for another router have this property too.
        const STATIC = 1;
        /// A packet of the world has come for it.
        const ANSWERED = 1 << 7;
    }
}

/// A session.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Session {
    /// See [`SessionFlags`].
    pub flags: SessionFlags,
    /// Of TCP.
    pub connection: Connection,
    /// The share of the user that it counts in.
    pub share: Share,
    /// Index of the user.
    pub user: u32,
    /// The host of the world whose packet, or to whom a packet, made it.
    pub external: End,
    /// Number of the static mapping that made it.
    pub mapping: u32,
    /// The tick at which another router was told of its counters.
    pub refreshed: u32,
    /// Its number in the order in which sessions were made.
    pub serial: u64,
    /// Packets of both directions.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Session {
    /// True if a static mapping made it.
    #[inline(always)]
    pub fn is_static(&self) -> bool {
        self.flags.contains(SessionFlags::STATIC)
    }
}

/// The key of a user's packets: where they come from.
#[inline(always)]
pub const fn inside_key(end: End, fib: u32, protocol: IpProtocol) -> Key {
    Key::new(end, End::NONE, fib, protocol)
}

/// The key of the world's packets: where they go to.
#[inline(always)]
pub const fn outside_key(end: End, fib: u32, protocol: IpProtocol) -> Key {
    Key::new(End::NONE, end, fib, protocol)
}

/// The ends of a session: the user's, and the one that the world sees.
pub const fn ends(keys: &[Key; 2]) -> (End, End) {
    (keys[OUTWARD].from(), keys[INWARD].to())
}

/// The user of a session.
pub const fn user_of(keys: &[Key; 2]) -> User {
    keys[OUTWARD].sender()
}

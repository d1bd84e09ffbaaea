// SPDX-License-Identifier: Apache-2.0
//! A session: a flow and its answers, translated into each other.
//!
//! A session has two keys, one for each direction: packets of a direction have its key, and leave
//! with the other key the other way round. So the keys are the translation, and translating a
//! packet and then its answer gives the ends of the first packet again.

use crate::key::{End, Key};
use crate::settings::Timeout;
use ::nat::log::Session44;
pub use ::nat::tcp::{Change, Connection};
use bitflags::bitflags;
use tables::Share;
use wire::IpProtocol;

/// The direction of packets of a session: from inside to outside, as its first key.
pub const OUTWARD: usize = 0;
/// From outside to inside, as its second key.
pub const INWARD: usize = 1;

bitflags! {
    /// Properties of a session.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    pub struct SessionFlags: u8 {
        /// A static mapping made it.
        const STATIC = 1;
        /// Its packets pass as they are: forwarding let them in.
        const BYPASS = 2;
        /// The host outside has another address inside.
        const TWICE = 4;
        /// Its mapping has several back ends.
        const BALANCED = 8;
        /// Both ends are inside.
        const HAIRPIN = 16;
        /// A feature of packets that leave made it.
        const OUTPUT = 32;
        /// Its time has ended: it is no session any more.
        const STALE = 64;
    }
}

/// A session.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Session {
    /// See [`SessionFlags`].
    pub flags: SessionFlags,
    /// Of TCP.
    connection: Connection,
    /// The share of the user whose session it is.
    pub share: Share,
    /// Number of the load-balancing mapping that it belongs to, and other mappings'.
    pub mapping: u32,
    /// Packets of both directions.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Session {
    /// A new session.
    pub fn new(flags: SessionFlags, mapping: u32) -> Self {
        Self { flags, mapping, ..Self::default() }
    }

    /// True if its packets pass as they are.
    #[inline(always)]
    pub fn is_bypass(&self) -> bool {
        self.flags.contains(SessionFlags::BYPASS)
    }

    /// True if its time has ended.
    #[inline(always)]
    pub fn is_stale(&self) -> bool {
        self.flags.contains(SessionFlags::STALE)
    }

    /// The timeout that it has.
    #[inline(always)]
    pub fn timeout(&self, protocol: IpProtocol) -> Timeout {
        self.connection.timeout(protocol)
    }

    /// The session with these keys as logs have it.
    pub fn as_logged(&self, keys: &[Key; 2]) -> Session44 {
        let ends = Ends::of(keys, self.flags);
        let is_twice = self.flags.contains(SessionFlags::TWICE);
        Session44 {
            fib: keys[OUTWARD].fib(),
            protocol: keys[OUTWARD].protocol(),
            inside: ends.inside,
            outside: ends.outside,
            external: ends.external,
            external_inside: is_twice.then_some(ends.external_inside),
        }
    }

    /// Notes the flags of a TCP segment of a direction.
    #[inline(always)]
    pub fn note(&mut self, direction: usize, flags: u8) -> Change {
        let change = self.connection.note(direction, flags);
        if change == Change::Reopened {
            (self.packets, self.bytes) = (0, 0);
        }
        change
    }
}

/// The ends of a session by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    /// The host inside.
    pub inside: End,
    /// The same, as it is seen outside.
    pub outside: End,
    /// The host outside.
    pub external: End,
    /// The same, as it is seen inside.
    pub external_inside: End,
}

impl Ends {
    /// Of a session with these keys.
    pub fn of(keys: &[Key; 2], flags: SessionFlags) -> Self {
        let [out, back] = keys;
        if flags.contains(SessionFlags::BYPASS) {
            let (inside, external) = (out.from(), out.to());
            return Self { inside, outside: inside, external, external_inside: external };
        }
        let external = if flags.contains(SessionFlags::TWICE) { back.from() } else { out.to() };
        Self { inside: out.from(), outside: back.to(), external, external_inside: out.to() }
    }
}

/// The ends that packets of a direction leave with.
#[inline(always)]
pub fn translated(keys: &[Key; 2], direction: usize) -> (End, End) {
    let other = &keys[1 - (direction & 1)];
    (other.to(), other.from())
}

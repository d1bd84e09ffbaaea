// SPDX-License-Identifier: Apache-2.0
//! The parameters of sessions and of their lookup.

use tunnel::{HeaderMarking, Key, TunnelEndpoints};

/// Bytes of the layer-2 specific sublayer (RFC 3931 4.6).
pub const SUBLAYER: usize = 4;

/// An L2TPv3 session between two addresses.
#[derive(Clone, PartialEq, Debug)]
pub struct L2tp {
    /// The ends.
    pub ends: TunnelEndpoints,
    /// The settings of outer headers.
    pub marks: HeaderMarking,
    /// The session identifier of received packets.
    pub local_session: u32,
    /// The session identifier of sent packets.
    pub remote_session: u32,
    /// The cookies that received packets may carry: the one of now, and the one before.
    pub local_cookies: [u64; 2],
    /// The cookie of sent packets.
    pub remote_cookie: u64,
    /// A layer-2 specific sublayer follows the cookie, in both directions.
    pub sublayer: bool,
}

/// The field of a received packet by which its session is found, with VPP's numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LookupBy {
    /// The source address: one session for each other end.
    Source = 0,
    /// The destination address: one session for each address here (RFC 8159 2).
    Destination = 1,
    /// The session identifier (RFC 3931 4.1).
    Session = 2,
}

impl LookupBy {
    /// All, each with its word.
    pub const ALL: [(&'static str, Self); 3] =
        [("v6-src", Self::Source), ("v6-dst", Self::Destination), ("session-id", Self::Session)];

    /// The word of this one.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, by)| *by == self).map_or("", |(word, _)| word)
    }

    /// The part of a packet's or session's key that counts.
    #[inline(always)]
    pub const fn part(self, Key { local, remote, table, id, .. }: Key) -> Key {
        let none = Key { local: 0, remote: 0, table, id: 0, other: 0 };
        match self {
            Self::Source => Key { remote, ..none },
            Self::Destination => Key { local, ..none },
            Self::Session => Key { id, ..none },
        }
    }
}

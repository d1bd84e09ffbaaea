// SPDX-License-Identifier: Apache-2.0
//! The parameters of sessions and of their lookup.

use cli::{Error, Matches, Result};
use graph::World;
use object::{Argument, Arguments, Choice, Words};
use serde_json::Value;
use std::fmt;
use tunnel::{HeaderMarking, Key, TunnelEndpoints};

/// Bytes of the layer-2 specific sublayer (RFC 3931 4.6).
pub const SUBLAYER: usize = 4;

/// The session identifier that isn't given, as VPP has it.
const SESSION: u32 = 1;

/// An L2TPv3 session between two addresses.
#[derive(Arguments, Clone, PartialEq, Debug)]
pub struct L2tp {
    /// The ends.
    #[words("{client <client:ip>} {our <our:ip>} [fib-id <table:u32>]")]
    pub ends: TunnelEndpoints,
    /// The session identifier of received packets.
    #[words("[local-session <localsession:u32>]", default = SESSION)]
    pub local_session: u32,
    /// The session identifier of sent packets.
    #[words("[remote-session <remotesession:u32>]", default = SESSION)]
    pub remote_session: u32,
    /// The cookies that received packets may carry.
    #[words("[local-cookie <localcookie:word>]", default)]
    pub local_cookies: LocalCookies,
    /// The cookie of sent packets.
    #[words("[remote-cookie <remotecookie:word>]", default)]
    pub remote_cookie: Cookie,
    /// A layer-2 specific sublayer follows the cookie, in both directions.
    #[words("[l2-sublayer-present]", json = "l2_sublayer")]
    pub sublayer: bool,
    /// The settings of outer headers.
    #[part]
    pub marks: HeaderMarking,
}

/// A cookie of 8 bytes (RFC 3931 4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cookie(pub u64);

/// One that isn't given, as VPP has it.
impl Default for Cookie {
    fn default() -> Self {
        Self(u64::MAX)
    }
}

impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:016x}", self.0)
    }
}

impl Argument for Cookie {
    /// Hexadecimal digits, with or without 0x.
    fn read(_: &World, m: &Matches, words: Words) -> Result<Option<Self>> {
        let name = words.placeholder();
        if !m.has(name) {
            return Ok(None);
        }
        let word = m.str(name);
        let digits = word.strip_prefix("0x").unwrap_or(word);
        // A sign is no digit.
        let is_hex = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        match u64::from_str_radix(digits, 16).ok().filter(|_| is_hex) {
            Some(cookie) => Ok(Some(Self(cookie))),
            None => {
                let why = format!("a cookie has up to 16 hexadecimal digits: {word}");
                Err(words.mark(m, Error::parse(why)))
            }
        }
    }

    fn write(&self, _: &World, words: Words, line: &mut String) {
        *line += &format!(" {} {:x}", words.literal(), self.0);
    }

    fn value(&self, _: &World) -> Value {
        Value::from(self.to_string())
    }
}

/// The cookies that received packets may carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LocalCookies {
    /// The one of now.
    pub now: Cookie,
    /// The one before.
    pub before: Cookie,
}

impl LocalCookies {
    /// The cookies of a new session.
    pub fn new(cookie: u64) -> Self {
        Self { now: Cookie(cookie), before: Cookie(cookie) }
    }

    /// Both as 8 bytes in network order.
    pub fn bytes(self) -> [[u8; 8]; 2] {
        [self.now, self.before].map(|cookie| cookie.0.to_be_bytes())
    }

    /// The different ones, as text.
    pub fn texts(self) -> Vec<String> {
        let before = (self.before != self.now).then_some(self.before);
        [Some(self.now), before].into_iter().flatten().map(|cookie| cookie.to_string()).collect()
    }
}

/// In a command that makes a session, the one before: another command changes it.
impl Argument for LocalCookies {
    fn read(world: &World, m: &Matches, words: Words) -> Result<Option<Self>> {
        Ok(Cookie::read(world, m, words)?.map(|cookie| Self::new(cookie.0)))
    }

    fn write(&self, world: &World, words: Words, line: &mut String) {
        self.before.write(world, words, line);
    }

    fn value(&self, _: &World) -> Value {
        Value::from(self.texts())
    }
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

impl Choice for LookupBy {
    const ALL: &'static [(&'static str, Self)] =
        &[("v6-src", Self::Source), ("v6-dst", Self::Destination), ("session-id", Self::Session)];
}

impl LookupBy {
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

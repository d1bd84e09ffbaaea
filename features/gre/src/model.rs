// SPDX-License-Identifier: Apache-2.0
//! The parameters of a GRE tunnel.

use cli::{Error, Matches, Result};
use graph::World;
use object::{Argument, Arguments, Members, Words};
use serde_json::Value;
use tunnel::{HeaderMarking, TunnelEndpoints};

/// The kind of payload of a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    /// IP packets.
    Ip,
    /// Ethernet frames.
    Ethernet,
    /// Mirrored Ethernet frames of a session, numbered.
    Erspan {
        /// The number of the session, 10 bits.
        session: u16,
    },
}

/// Numbers of sessions are at most this.
pub const MAX_SESSION: u16 = 1023;

/// A GRE tunnel.
#[derive(Arguments, Clone, PartialEq, Debug)]
pub struct Gre {
    /// The ends; the other one is unspecified for a tunnel with several.
    #[words("{src <source:ip>} [dst <destination:ip>] [outer-fib-id <table:u32>]")]
    pub ends: TunnelEndpoints,
    /// The kind of its payload.
    #[words("[teb] [erspan <session:u16>]")]
    pub payload: Payload,
    /// The key in its headers; 0 for none.
    #[words("[key <key:u32>]", default)]
    pub key: u32,
    /// Several other ends.
    #[words("[multipoint]")]
    pub multipoint: bool,
    /// The settings of outer headers.
    #[part]
    pub marks: HeaderMarking,
}

impl Payload {
    /// Its name, as VPP has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ip => "L3",
            Self::Ethernet => "TEB",
            Self::Erspan { .. } => "ERSPAN",
        }
    }
}

impl Argument for Payload {
    fn read(_: &World, m: &Matches, words: Words) -> Result<Option<Self>> {
        match (m.flag("teb"), m.opt("session")?) {
            (false, None) => Ok(Some(Self::Ip)),
            (true, None) => Ok(Some(Self::Ethernet)),
            (false, Some(session)) => Ok(Some(Self::Erspan { session })),
            (true, Some(_)) => {
                let error = Error::usage("a tunnel is of one type: teb or erspan");
                Err(words.mark(m, error))
            }
        }
    }

    fn write(&self, _: &World, _: Words, line: &mut String) {
        *line += &match self {
            Self::Ip => String::new(),
            Self::Ethernet => " teb".into(),
            Self::Erspan { session } => format!(" erspan {session}"),
        };
    }

    fn value(&self, _: &World) -> Value {
        Value::from(self.name())
    }

    fn members(&self, world: &World, _: Words, name: &str, to: &mut Members) {
        let session = if let Self::Erspan { session } = self { Some(*session) } else { None };
        to.insert(name.into(), self.value(world));
        to.insert("session".into(), session.into());
    }
}

/// [`Key::other`](tunnel::Key) of tunnels of IP packets.
pub const IP: u32 = 0;
/// [`Key::other`](tunnel::Key) of tunnels of Ethernet frames.
pub const ETHERNET: u32 = 1;
/// [`Key::other`](tunnel::Key) of sessions is this and their number: no received packet has it.
pub const ERSPAN: u32 = 1 << 16;

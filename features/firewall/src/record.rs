// SPDX-License-Identifier: Apache-2.0
//! Records of what happened, from the threads that carry packets to control.

use crate::flows::{TICK, tick};
use crate::session::{Key, Session};
use graph::{Shared, ThreadIndex, ThreadState, World};
use ipfix_export::{Reporter, Reports};
use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use wire::Address;

/// Records of a thread that wait at most.
const WAITING: usize = 4096;

/// The kind of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happened {
    /// A session was made.
    Created,
    /// A session has ended.
    Ended(End),
    /// A packet was dropped, for a reason in words.
    Denied(&'static str),
}

/// The reason for the end of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// No packet came for its time, or its connection was over.
    Time,
    /// The rules permit it no more.
    Revoked,
    /// It made room for another one.
    Room,
    /// An operator has cleared it.
    Cleared,
    /// Its ends begin another connection.
    Again,
}

impl End {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "timeout",
            Self::Revoked => "revoked",
            Self::Room => "evicted",
            Self::Cleared => "cleared",
            Self::Again => "reopened",
        }
    }
}

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// The kind.
    pub happened: Happened,
    /// Time of the instance's clock.
    pub at: u64,
    /// Zones by number: from, to.
    pub zones: [u16; 2],
    /// Source and destination, with their ports.
    pub ends: [(IpAddr, u16); 2],
    /// Protocol.
    pub protocol: u8,
    /// Cell of the counters of the rule.
    pub rule: Option<u32>,
    /// Packets and bytes in both directions.
    pub counts: [(u32, u64); 2],
    /// Seconds that the session has lasted.
    pub seconds: u32,
}

impl Record {
    /// About a session.
    pub fn of_session<A: Address>(
        happened: Happened,
        key: &Key<A>,
        session: &Session,
        at: u64,
    ) -> Self {
        let origin = usize::from(session.origin & 1);
        let end = |side| {
            let (address, port) = key.end(side);
            (address.into(), port)
        };
        let ticks = tick(at).wrapping_sub(session.since);
        Self {
            happened,
            at,
            zones: session.first.zones,
            ends: [end(origin), end(1 - origin)],
            protocol: key.protocol,
            rule: Some(session.rule),
            counts: [session.counts[origin], session.counts[1 - origin]],
            seconds: (u64::from(ticks) * TICK / 1_000_000_000) as u32,
        }
    }
}

/// The records of all threads that wait for control.
pub struct Records {
    /// The rings of the threads.
    pub rings: Reports<Record>,
    /// Packets between zones without a policy are recorded.
    pub no_policy: AtomicBool,
}

impl Shared for Records {
    fn make(world: &World) -> Self {
        let rings = Reports::new(WAITING, world.processes.signal());
        Self { rings, no_policy: AtomicBool::new(true) }
    }
}

/// The ring of a thread. Where too many records wait, a record is lost and counted.
pub struct Ring(pub Reporter<Record>);

impl ThreadState for Ring {
    fn make(world: &World, _: ThreadIndex) -> Self {
        Self(world.get::<Records>().rings.reporter())
    }
}

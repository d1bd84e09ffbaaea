// SPDX-License-Identifier: Apache-2.0
//! Records of what happened, from the threads that carry packets to control.

use crate::flows::{TICK, tick};
use crate::session::{Key, Session};
use graph::{Shared, Signal, ThreadIndex, World};
use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use sync::Mailbox;
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
    waiting: Vec<Mailbox<Record>>,
    /// Wakes the process that takes them.
    pub signal: Signal,
    /// Packets between zones without a policy are recorded.
    pub no_policy: AtomicBool,
}

impl Shared for Records {
    fn make(world: &World) -> Self {
        let signal = world.processes.signal();
        let queue = |_| Mailbox::new(WAITING, world.processes.waker().clone());
        Self {
            waiting: (0..world.threads()).map(queue).collect(),
            signal,
            no_policy: AtomicBool::new(true),
        }
    }
}

impl Records {
    /// Sends a record to control; where too many wait, it is lost and counted.
    pub fn post(&self, thread: ThreadIndex, record: Record) {
        if let Some(queue) = self.waiting.get(thread.at()) {
            // A record that is lost is counted by the queue.
            let _ = queue.post(record);
            self.signal.raise();
        }
    }

    /// Takes the records that wait.
    pub fn drain(&self, mut take: impl FnMut(Record)) {
        self.waiting.iter().for_each(|queue| _ = queue.drain(&mut take));
    }

    /// Records that were lost.
    pub fn lost(&self) -> u64 {
        self.waiting.iter().map(Mailbox::drops).sum()
    }
}

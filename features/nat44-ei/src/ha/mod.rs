// SPDX-License-Identifier: Apache-2.0
//! High availability: the active router tells a passive one of its sessions, so that they go on
//! there when the passive one takes over.
//!
//! | part | content |
//! |---|---|
//! | `wire` | the form of datagrams |
//! | `outbox` | events of a thread, in batches that are sent again until they are acknowledged |
//! | `receive` | `nat44-ei-ha`: events and acknowledgements of the other router |
//! | `resync` | the transfer of all sessions, and its end |
//!
//! A thread's events fill a batch as long as the path's MTU. It goes out when it is full, a second
//! after its first event, or by `nat44 ei ha flush`. A batch that isn't acknowledged is sent again
//! every two seconds, three times; then it counts as missed. A received session makes no events.

pub mod outbox;
pub mod receive;
pub mod resync;
pub mod wire;

pub use outbox::Outbox;

use ::nat::key::End;
use ::nat::timeouts::TICKS;
use graph::{Shared, World};
use stats::Simple;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// The router's own end, and the length of its datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listener {
    /// Address and UDP port.
    pub end: End,
    /// Bytes of an IP packet at most.
    pub path_mtu: u32,
}

/// The other router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failover {
    /// Address and UDP port.
    pub end: End,
    /// Seconds between reports of a session's counters; 0 for none.
    pub refresh: u32,
}

/// The settings; both are needed to send.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HaSettings {
    /// See [`Listener`].
    pub listener: Option<Listener>,
    /// See [`Failover`].
    pub failover: Option<Failover>,
}

impl HaSettings {
    /// True if the other router has to be told of a session's counters again.
    #[inline(always)]
    pub fn refresh_due(&self, refreshed: u32, now: u32) -> bool {
        let (Some(_), Some(failover)) = (self.listener, self.failover) else { return false };
        let ticks = failover.refresh.saturating_mul(TICKS);
        ticks != 0 && now.wrapping_sub(refreshed) >= ticks
    }

    /// True for a sender whose events are taken: the other router, or any while none is set.
    pub fn is_known(&self, addr: Ipv4Addr) -> bool {
        self.failover.is_none_or(|failover| failover.end.addr == addr)
    }
}

/// Counters, in the order of [`Counter`].
const COUNTERS: [&str; 10] = [
    "add-event-send",
    "del-event-send",
    "refresh-event-send",
    "add-event-recv",
    "del-event-recv",
    "refresh-event-recv",
    "ack-send",
    "ack-recv",
    "retry-count",
    "missed-count",
];

/// A counter of `/nat44-ei/ha/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counter {
    /// Events of new sessions that were sent; those of ended ones and of counters come behind.
    Sent,
    /// The same of received events.
    Received = 3,
    /// Acknowledgements that were sent.
    AckSent = 6,
    /// Acknowledgements that came.
    AckReceived,
    /// Batches that were sent again.
    Retries,
    /// Batches that weren't acknowledged.
    Missed,
}

impl Counter {
    /// The position of the counter of events of a kind.
    const fn of(self, kind: wire::Kind) -> usize {
        self as usize
            + match kind {
                wire::Kind::Add => 0,
                wire::Kind::Delete => 1,
                wire::Kind::Refresh => 2,
            }
    }
}

/// State that all threads share.
pub struct Ha {
    counters: Vec<Arc<Simple>>,
    /// Batches of a transfer of all sessions that are under way.
    pub pending: AtomicU32,
    /// Batches of it that weren't acknowledged.
    pub missed: AtomicU32,
}

impl Shared for Ha {
    fn make(world: &World) -> Self {
        let counter = |name: &&str| {
            let simple = world.stats.simple(&format!("/nat44-ei/ha/{name}"));
            simple.start(0);
            simple
        };
        Self {
            counters: COUNTERS.iter().map(counter).collect(),
            pending: AtomicU32::new(0),
            missed: AtomicU32::new(0),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! State that control and the thread of the sessions share.

use crate::packet::{Diag, State};
use crate::peers::Peers;
use crossbeam_queue::ArrayQueue;
use graph::{Shared, Signal, SwIfIndex, ThreadIndex, World};
use stats::Combined;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::Arc;

/// The thread that runs all sessions: it exists with any number of workers, and with workers it
/// carries only packets that the router itself sends or receives.
pub const THREAD: ThreadIndex = ThreadIndex(0);
/// The name of the node that runs their timers.
pub const NODE: &str = "bfd-process";
/// Maximum number of reports that wait for control. A session whose report doesn't fit reports
/// later.
const REPORTS: usize = 4096;

/// The interface and the addresses of a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SessionKey {
    /// Interface; none for several hops.
    pub sw_if: Option<SwIfIndex>,
    /// Our address.
    pub local: IpAddr,
    /// The peer's address, of the same version.
    pub peer: IpAddr,
}

impl SessionKey {
    /// True for a session over several hops.
    pub const fn is_multihop(&self) -> bool {
        self.sw_if.is_none()
    }
}

/// A session's state, for control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Report {
    /// Number of the session.
    pub index: u32,
    /// Distinguishes the session from earlier ones with its number.
    pub generation: u64,
    /// Number of changes of its state that control has made.
    pub epoch: u32,
    /// The state.
    pub state: State,
    /// The reason of the last change to a lower state.
    pub diag: Diag,
    /// Delayed changes of the key that were completed.
    pub keys_changed: u32,
}

/// See the head of this file.
pub struct Home {
    /// Changes of state for control.
    pub reports: ArrayQueue<Report>,
    /// Admission of packets that other threads receive.
    pub peers: Peers,
    /// Wakes control's process.
    pub signal: Signal,
    /// `/bfd/rx-session-counters`: packets and bytes by session.
    pub rx: Arc<Combined>,
    /// `/bfd/tx-session-counters`
    pub tx: Arc<Combined>,
    /// `/bfd/rx-session-echo-counters`
    pub rx_echo: Arc<Combined>,
    /// `/bfd/tx-session-echo-counters`
    pub tx_echo: Arc<Combined>,
    /// Keys the checksums of echo packets, so that nobody else can make one.
    secret: RandomState,
}

impl Shared for Home {
    fn make(world: &World) -> Self {
        let counters = |name| world.stats.combined(name);
        Self {
            reports: ArrayQueue::new(REPORTS),
            peers: Peers::default(),
            signal: world.processes.signal(),
            rx: counters("/bfd/rx-session-counters"),
            tx: counters("/bfd/tx-session-counters"),
            rx_echo: counters("/bfd/rx-session-echo-counters"),
            tx_echo: counters("/bfd/tx-session-echo-counters"),
            secret: RandomState::new(),
        }
    }
}

impl Home {
    /// All counters of sessions.
    pub fn counters(&self) -> [&Arc<Combined>; 4] {
        [&self.rx, &self.tx, &self.rx_echo, &self.tx_echo]
    }

    /// Keyed checksum of an echo packet.
    pub fn checksum(&self, disc: u32, expires: u64) -> u64 {
        self.secret.hash_one((disc, expires))
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What is counted for each interface, under VPP's names.

use graph::{Asked, Shared, SwIfIndex, ThreadIndex, World};
use stats::{Combined, CombinedLane, Lane, Names, Simple, Space, escape};
use std::sync::Arc;

/// The counters of all interfaces, each indexed by software interface.
pub struct IfCounters {
    /// Packets and bytes received.
    pub rx: Arc<Combined>,
    /// Of these, to one host.
    pub rx_unicast: Arc<Combined>,
    /// To a group.
    pub rx_multicast: Arc<Combined>,
    /// To all.
    pub rx_broadcast: Arc<Combined>,
    /// Packets and bytes sent.
    pub tx: Arc<Combined>,
    /// Of these, to one host.
    pub tx_unicast: Arc<Combined>,
    /// To a group.
    pub tx_multicast: Arc<Combined>,
    /// To all.
    pub tx_broadcast: Arc<Combined>,
    /// Packets dropped that came in here.
    pub drops: Arc<Simple>,
    /// Packets punted that came in here.
    pub punt: Arc<Simple>,
    /// IPv4 packets received.
    pub ip4: Arc<Simple>,
    /// IPv6 packets received.
    pub ip6: Arc<Simple>,
    /// MPLS packets received.
    pub mpls: Arc<Simple>,
    /// Packets not received because all buffers were in use.
    pub rx_no_buf: Arc<Simple>,
    /// Packets that the device lost before we saw them.
    pub rx_miss: Arc<Simple>,
    /// Packets that the device marked as bad.
    pub rx_error: Arc<Simple>,
    /// Packets that the device refused to send.
    pub tx_error: Arc<Simple>,
    names: Arc<Names>,
}

impl Shared for IfCounters {
    fn make(world: &World) -> Self {
        let simple = |name: &str| world.stats.simple(&format!("/if/{name}"));
        let combined = |name: &str| world.stats.combined(&format!("/if/{name}"));
        Self {
            rx: combined("rx"),
            rx_unicast: combined("rx-unicast"),
            rx_multicast: combined("rx-multicast"),
            rx_broadcast: combined("rx-broadcast"),
            tx: combined("tx"),
            tx_unicast: combined("tx-unicast"),
            tx_multicast: combined("tx-multicast"),
            tx_broadcast: combined("tx-broadcast"),
            drops: simple("drops"),
            punt: simple("punt"),
            ip4: simple("ip4"),
            ip6: simple("ip6"),
            mpls: simple("mpls"),
            rx_no_buf: simple("rx-no-buf"),
            rx_miss: simple("rx-miss"),
            rx_error: simple("rx-error"),
            tx_error: simple("tx-error"),
            names: world.stats.names("/if/names"),
        }
    }
}

impl IfCounters {
    /// All simple ones, by the name that `show interface` prints.
    pub fn simple(&self) -> [(&'static str, &Simple); 9] {
        [
            ("drops", &self.drops),
            ("punt", &self.punt),
            ("ip4", &self.ip4),
            ("ip6", &self.ip6),
            ("mpls", &self.mpls),
            ("rx-no-buf", &self.rx_no_buf),
            ("rx-miss", &self.rx_miss),
            ("rx-error", &self.rx_error),
            ("tx-error", &self.tx_error),
        ]
    }

    /// All combined ones, by name.
    pub fn combined(&self) -> [(&'static str, &Combined); 8] {
        [
            ("rx", &self.rx),
            ("rx-unicast", &self.rx_unicast),
            ("rx-multicast", &self.rx_multicast),
            ("rx-broadcast", &self.rx_broadcast),
            ("tx", &self.tx),
            ("tx-unicast", &self.tx_unicast),
            ("tx-multicast", &self.tx_multicast),
            ("tx-broadcast", &self.tx_broadcast),
        ]
    }

    /// Starts all counters of an interface, or of all, again at zero. Threads do it at their next turn.
    pub fn clear(&self, world: &World, sw_if: Option<SwIfIndex>) -> Asked<()> {
        let simple = self.simple().map(|(_, c)| c.vector());
        world.zero_counters(
            simple.into_iter().chain(self.combined().map(|(_, c)| c.vector())).collect(),
            sw_if.map(SwIfIndex::at),
        )
    }

    /// Makes room for an interface, before anything can count for it.
    pub(crate) fn extend(&self, world: &World, sw_if: SwIfIndex) {
        world.stats.extend(Space::Interface, sw_if.at() + 1);
    }

    /// Shows an interface's counters in the stats directory by its name, and no longer by its old one. The empty name is none.
    pub(crate) fn list(&self, world: &World, sw_if: SwIfIndex, old: &str, name: &str) {
        let simple = self.simple().map(|(what, c)| (what, c.name().to_string()));
        let all = simple.into_iter().chain(self.combined().map(|(what, c)| (what, c.name().to_string())));
        world.stats.change(|change| {
            self.names.set(change, sw_if.at(), name);
            for (what, counter) in all {
                if !old.is_empty() {
                    change.remove(&format!("/interfaces/{}/{what}", escape(old)));
                }
                if !name.is_empty() {
                    change.symlink(&format!("/interfaces/{}/{what}", escape(name)), &counter, sw_if.at());
                }
            }
        });
    }

    /// Ends an interface's counters: whoever gets its index begins at zero.
    pub(crate) fn end(&self, world: &World, sw_if: SwIfIndex, name: &str) {
        self.list(world, sw_if, name, "");
        // A thread sets its cells to zero after it has done what it was told before: it has let go of the interface.
        drop(world.zero_counters(world.stats.vectors(Space::Interface), Some(sw_if.at())));
    }
}

/// A thread's write side of what nearly every driver counts.
#[derive(Clone)]
pub struct IfLanes {
    /// See [`IfCounters`].
    pub rx: CombinedLane,
    /// See [`IfCounters`].
    pub tx: CombinedLane,
    /// See [`IfCounters`].
    pub drops: Lane,
    /// See [`IfCounters`].
    pub punt: Lane,
    /// See [`IfCounters`].
    pub rx_no_buf: Lane,
    /// See [`IfCounters`].
    pub rx_miss: Lane,
    /// See [`IfCounters`].
    pub rx_error: Lane,
    /// See [`IfCounters`].
    pub tx_error: Lane,
}

impl IfLanes {
    /// Of this thread.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        let c: Arc<IfCounters> = world.get();
        let t = thread.at();
        Self {
            rx: c.rx.lane(t),
            tx: c.tx.lane(t),
            drops: c.drops.lane(t),
            punt: c.punt.lane(t),
            rx_no_buf: c.rx_no_buf.lane(t),
            rx_miss: c.rx_miss.lane(t),
            rx_error: c.rx_error.lane(t),
            tx_error: c.tx_error.lane(t),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Counters of each interface, under VPP's names.

use buffer::Buffer;
use graph::{Replies, Shared, SwIfIndex, ThreadIndex, World};
use stats::{Combined, CombinedLane, Lane, Names, Simple, Space, escape};
use std::sync::{Arc, OnceLock};

/// The counters of all interfaces, each indexed by software interface.
pub struct IfCounters {
    /// Packets and bytes received.
    pub rx: Arc<Combined>,
    /// The unicast ones of these; all packets of an interface without a link layer.
    pub rx_unicast: Arc<Combined>,
    /// Received multicast packets and bytes.
    pub rx_multicast: Arc<Combined>,
    /// Received broadcast packets and bytes.
    pub rx_broadcast: Arc<Combined>,
    /// Packets and bytes sent.
    pub tx: Arc<Combined>,
    /// The unicast ones of these.
    pub tx_unicast: Arc<Combined>,
    /// Sent multicast packets and bytes.
    pub tx_multicast: Arc<Combined>,
    /// Sent broadcast packets and bytes.
    pub tx_broadcast: Arc<Combined>,
    /// Packets dropped that were received on the interface.
    pub drops: Arc<Simple>,
    /// Packets punted that were received on the interface.
    pub punt: Arc<Simple>,
    /// IPv4 packets received.
    pub ip4: Arc<Simple>,
    /// IPv6 packets received.
    pub ip6: Arc<Simple>,
    /// MPLS packets received.
    pub mpls: Arc<Simple>,
    /// Packets not received because all buffers were in use.
    pub rx_no_buf: Arc<Simple>,
    /// Packets that the device lost before the driver read them.
    pub rx_miss: Arc<Simple>,
    /// Packets that the device marked as bad.
    pub rx_error: Arc<Simple>,
    /// Packets that the device refused to send.
    pub tx_error: Arc<Simple>,
    names: Arc<Names>,
    /// By thread; made at the first use.
    lanes: Vec<OnceLock<Arc<IfLanes>>>,
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
            lanes: (0..world.threads()).map(|_| OnceLock::new()).collect(),
        }
    }
}

impl IfCounters {
    /// All simple counters, by the name that `show interface` prints.
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

    /// All combined counters, by name.
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

    /// Sets all counters of an interface, or of all interfaces, to zero. Threads do it at their
    /// next turn.
    pub fn clear(&self, world: &World, sw_if: Option<SwIfIndex>) -> Replies<()> {
        let simple = self.simple().map(|(_, c)| c.vector());
        world.zero_counters(
            simple.into_iter().chain(self.combined().map(|(_, c)| c.vector())).collect(),
            sw_if.map(SwIfIndex::at),
        )
    }

    /// Sets the drivers' counters of these interfaces, or of all if `only` is empty, to zero.
    pub fn clear_device(&self, world: &World, only: &[SwIfIndex]) -> Replies<()> {
        let counters =
            [&self.rx_no_buf, &self.rx_miss, &self.rx_error, &self.tx_error].map(|c| c.vector());
        let indices: Vec<Option<usize>> = if only.is_empty() {
            vec![None]
        } else {
            only.iter().map(|sw_if| Some(sw_if.at())).collect()
        };
        let each = move |f: &dyn Fn(&dyn stats::Vector, Option<usize>)| {
            counters
                .iter()
                .for_each(|counter| indices.iter().for_each(|index| f(&**counter, *index)));
        };
        each(&|counter, index| counter.zero_control(index));
        world.query(move |rt| each(&|counter, index| counter.zero(rt.thread().at(), index)))
    }

    /// Makes room for an interface, before anything can count for it.
    pub(crate) fn extend(&self, world: &World, sw_if: SwIfIndex) {
        world.stats.extend(Space::Interface, sw_if.at() + 1);
    }

    /// Lists an interface's counters in the stats directory by its name, and no longer by its old
    /// one. An empty name means none.
    pub(crate) fn list(&self, world: &World, sw_if: SwIfIndex, old: &str, name: &str) {
        let simple = self.simple().map(|(what, c)| (what, c.name().to_string()));
        let all =
            simple.into_iter().chain(self.combined().map(|(what, c)| (what, c.name().to_string())));
        world.stats.change(|change| {
            self.names.set(change, sw_if.at(), name);
            for (what, counter) in all {
                if !old.is_empty() {
                    change.remove(&format!("/interfaces/{}/{what}", escape(old)));
                }
                if !name.is_empty() {
                    change.symlink(
                        &format!("/interfaces/{}/{what}", escape(name)),
                        &counter,
                        sw_if.at(),
                    );
                }
            }
        });
    }

    /// Ends an interface's counters: the next interface with its index begins at zero.
    pub(crate) fn end(&self, world: &World, sw_if: SwIfIndex, name: &str) {
        self.list(world, sw_if, name, "");
        // A thread sets its cells to zero after its earlier requests: it has released the interface
        // by then.
        drop(world.zero_counters(world.stats.vectors(Space::Interface), Some(sw_if.at())));
    }
}

/// A thread's write side of the counters of packets received, or sent: all, unicast, multicast and
/// broadcast.
pub struct CastLanes {
    all: CombinedLane,
    unicast: CombinedLane,
    multicast: CombinedLane,
    broadcast: CombinedLane,
}

/// Returns true if a frame's destination is a group: the lowest bit of the MAC address's first byte
/// (IEEE 802, 8.2.2).
#[inline(always)]
pub fn is_group(frame: &Buffer) -> bool {
    frame.data().first().is_some_and(|first| first & 1 != 0)
}

impl CastLanes {
    /// Counts unicast packets.
    #[inline(always)]
    pub fn unicast(&self, sw_if: usize, packets: u64, bytes: u64) {
        self.all.add(sw_if, packets, bytes);
        self.unicast.add(sw_if, packets, bytes);
    }

    /// Counts an Ethernet frame.
    #[inline(always)]
    pub fn frame(&self, sw_if: usize, frame: &Buffer) {
        let bytes = frame.packet_len() as u64;
        if is_group(frame) {
            self.groups(sw_if, (1, bytes), std::iter::once(frame));
        } else {
            self.unicast(sw_if, 1, bytes);
        }
    }

    /// Counts Ethernet frames, some of them [to groups](is_group); `packets` and `bytes` are the
    /// totals.
    #[cold]
    pub fn groups<'a>(
        &self,
        sw_if: usize,
        (packets, bytes): (u64, u64),
        frames: impl Iterator<Item = &'a Buffer>,
    ) {
        let (mut left, mut left_bytes) = (packets, bytes);
        for frame in frames.filter(|frame| is_group(frame)) {
            let len = frame.packet_len() as u64;
            let everybody = frame.bytes::<6>(0) == Some(&[0xff; 6]);
            let lane = if everybody { &self.broadcast } else { &self.multicast };
            lane.add(sw_if, 1, len);
            (left, left_bytes) = (left - 1, left_bytes - len);
        }
        self.all.add(sw_if, packets, bytes);
        self.unicast.add(sw_if, left, left_bytes);
    }
}

/// A thread's write side of the counters that nearly every driver uses. One for all nodes of a
/// thread.
pub struct IfLanes {
    /// See [`IfCounters`].
    pub rx: CastLanes,
    /// See [`IfCounters`].
    pub tx: CastLanes,
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
    /// Returns the write side of this thread.
    pub fn of(world: &World, thread: ThreadIndex) -> Arc<Self> {
        let c: Arc<IfCounters> = world.get();
        c.lanes[thread.at()].get_or_init(|| Arc::new(Self::new(&c, thread.at()))).clone()
    }

    fn new(c: &IfCounters, t: usize) -> Self {
        let cast = |[all, unicast, multicast, broadcast]: [&Combined; 4]| CastLanes {
            all: all.lane(t),
            unicast: unicast.lane(t),
            multicast: multicast.lane(t),
            broadcast: broadcast.lane(t),
        };
        Self {
            rx: cast([&c.rx, &c.rx_unicast, &c.rx_multicast, &c.rx_broadcast]),
            tx: cast([&c.tx, &c.tx_unicast, &c.tx_multicast, &c.tx_broadcast]),
            drops: c.drops.lane(t),
            punt: c.punt.lane(t),
            rx_no_buf: c.rx_no_buf.lane(t),
            rx_miss: c.rx_miss.lane(t),
            rx_error: c.rx_error.lane(t),
            tx_error: c.tx_error.lane(t),
        }
    }
}

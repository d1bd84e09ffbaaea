// SPDX-License-Identifier: Apache-2.0
//! Who takes what: what control keeps, and what workers read of it.

use crate::reasons::Reasons;
use buffer::{Holder, Owned, Share};
use graph::{Shared, Signal, World};
use stats::Combined;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Mailbox, Snapshot, Turn};

/// What is punted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Key {
    /// Datagrams to a UDP port; to all that nobody listens on without one.
    Udp {
        /// Of IPv6.
        v6: bool,
        /// The port.
        port: Option<u16>,
    },
    /// Segments to a TCP port; to all without one.
    Tcp {
        /// Of IPv6.
        v6: bool,
        /// The port.
        port: Option<u16>,
    },
    /// Packets of a protocol.
    Protocol {
        /// Of IPv6.
        v6: bool,
        /// Its number.
        protocol: u8,
    },
    /// Packets that were punted for a reason, by its number.
    Reason(u32),
}

/// Where it goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Taker {
    /// Through the arc of punted packets.
    Punt,
    /// To a client's Unix datagram socket.
    Socket(PathBuf),
}

/// What kind of registration a packet was caught by; the packet itself says the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Caught {
    /// By its UDP port.
    Udp,
    /// By its TCP port.
    Tcp,
    /// By its protocol.
    Protocol,
    /// By its reason's number.
    Reason(u32),
}

/// A packet on its way to control.
pub struct Parcel {
    /// Why.
    pub caught: Caught,
    /// Of IPv6; nothing for a reason.
    pub v6: bool,
    /// The packet, at its IP header.
    pub packet: Owned,
}

/// Packets that may be on their way to control.
const QUEUE: usize = 1024;

/// What was sent and received.
#[derive(Default)]
pub struct Counts {
    /// Packets to clients.
    pub sent: AtomicU64,
    /// Packets that a client didn't take: its socket is full or gone.
    pub refused: AtomicU64,
    /// Packets from clients.
    pub received: AtomicU64,
    /// Packets from clients that make no sense.
    pub malformed: AtomicU64,
}

impl Counts {
    /// Name and value of each.
    pub fn list(&self) -> [(&'static str, u64); 4] {
        let read = |n: &AtomicU64| n.load(Ordering::Relaxed);
        [
            ("sent", read(&self.sent)),
            ("refused", read(&self.refused)),
            ("received", read(&self.received)),
            ("malformed", read(&self.malformed)),
        ]
    }
}

/// Who takes what, and when they came: clients are told in that order.
#[derive(Default)]
pub(crate) struct Takers {
    by_key: BTreeMap<Key, (u64, Taker)>,
    came: u64,
}

impl Takers {
    pub(crate) fn get(&self, key: &Key) -> Option<&Taker> {
        self.by_key.get(key).map(|(_, taker)| taker)
    }

    /// Who comes again keeps its place.
    pub(crate) fn insert(&mut self, key: Key, taker: Taker) {
        self.came += 1;
        let number = self.by_key.get(&key).map_or(self.came, |(number, _)| *number);
        self.by_key.insert(key, (number, taker));
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        self.by_key.remove(key);
    }
}

/// What all nodes and control share.
pub struct Punt {
    takers: Mutex<Takers>,
    queue: Mailbox<Parcel>,
    /// Buffers of what is in the queue.
    share: Arc<Share>,
    /// Wakes the process that empties the queue.
    pub signal: Signal,
    /// Reasons, and the nodes that take them.
    pub(crate) reasons: Reasons,
    /// `/net/punt`: packets and bytes that were punted, by the reason's number; 0 for those that were caught by port or protocol.
    pub counters: Arc<Combined>,
    /// What became of them.
    pub counts: Counts,
    /// Where clients answer to.
    pub server: Mutex<Option<PathBuf>>,
}

impl Shared for Punt {
    fn make(world: &World) -> Self {
        let counters = world.stats.combined("/net/punt");
        counters.start(0);
        Self {
            takers: Mutex::default(),
            queue: Mailbox::new(QUEUE, world.processes.waker().clone()),
            share: world.pool.common_share(Holder::PUNT),
            signal: world.processes.signal(),
            reasons: Reasons::new(world),
            counters,
            counts: Counts::default(),
            server: Mutex::default(),
        }
    }
}

impl Punt {
    pub(crate) fn takers(&self) -> MutexGuard<'_, Takers> {
        self.takers.lock().expect("no panic inside")
    }

    /// All that is punted, and where to, as they came.
    pub fn list(&self) -> Vec<(Key, Taker)> {
        let takers = self.takers();
        let mut all: Vec<_> = takers.by_key.iter().collect();
        all.sort_unstable_by_key(|(_, (number, _))| *number);
        all.into_iter().map(|(key, (_, taker))| (*key, taker.clone())).collect()
    }

    /// Sends a packet to control; gives it back if too many are on their way.
    pub(crate) fn post(&self, parcel: Parcel) -> Result<(), Parcel> {
        let buffers = parcel.packet.segment_count();
        if !self.share.take(buffers) {
            return Err(parcel);
        }
        self.queue.post(parcel).inspect_err(|_| self.share.give(buffers))?;
        self.signal.raise();
        Ok(())
    }

    /// Takes the packets that have come.
    pub(crate) fn drain(&self, mut f: impl FnMut(Parcel)) -> usize {
        self.queue.drain(|parcel| {
            self.share.give(parcel.packet.segment_count());
            f(parcel);
        })
    }
}

/// What `ip4-tcp-punt` and `ip6-tcp-punt` read.
pub struct TcpPorts<F> {
    ports: Snapshot<BTreeMap<Option<u16>, bool>>,
    family: PhantomData<F>,
}

impl<F: Send + Sync + 'static> Shared for TcpPorts<F> {
    fn make(world: &World) -> Self {
        Self { ports: Snapshot::new(world.qsbr.clone(), BTreeMap::new()), family: PhantomData }
    }
}

impl<F> TcpPorts<F> {
    /// Whether segments to a port are punted, and then whether to a socket.
    pub fn get(&self, port: u16, turn: &Turn<'_>) -> Option<bool> {
        let ports = self.ports.get(turn);
        ports.get(&Some(port)).or_else(|| ports.get(&None)).copied()
    }

    /// Says where segments to a port go; gives how many ports are punted then.
    pub fn set(&self, port: Option<u16>, to_socket: Option<bool>) -> usize {
        self.ports.update(|old| {
            let mut new = old.clone();
            match to_socket {
                Some(to_socket) => new.insert(port, to_socket),
                None => new.remove(&port),
            };
            new
        });
        self.ports.read(BTreeMap::len)
    }
}

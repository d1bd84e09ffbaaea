// SPDX-License-Identifier: Apache-2.0
//! Punt registrations: the main thread's table, and the parts that workers read.

use buffer::{Owned, Reservation, Share};
use graph::{Shared, Signal, World};
use stats::Combined;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Mailbox, Snapshot, Turn};

/// The packets of a punt registration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Key {
    /// Datagrams to a UDP port; without one, to all ports without a listener.
    Udp {
        /// True for IPv6.
        v6: bool,
        /// The port.
        port: Option<u16>,
    },
    /// Segments to a TCP port; without one, to all.
    Tcp {
        /// True for IPv6.
        v6: bool,
        /// The port.
        port: Option<u16>,
    },
    /// Packets of a protocol.
    Protocol {
        /// True for IPv6.
        v6: bool,
        /// Its number.
        protocol: u8,
    },
    /// Packets that were punted for a reason, by its number.
    Reason(u32),
}

/// The destination of punted packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// Through the arc of punted packets.
    Punt,
    /// To a client's Unix datagram socket.
    Socket(PathBuf),
}

/// The kind of registration that a packet matched; the packet itself has the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Matched {
    /// Matched its UDP port.
    Udp,
    /// Matched its TCP port.
    Tcp,
    /// Matched its protocol.
    Protocol,
    /// Matched its reason, with the reason's number.
    Reason(u32),
}

/// A packet queued for the main thread.
pub struct PuntedPacket {
    /// Registration that it matched.
    pub matched: Matched,
    /// True for IPv6; unused with a reason.
    pub v6: bool,
    /// The packet, at its IP header.
    pub packet: Owned,
}

/// Maximum number of packets queued for the main thread.
const QUEUE: usize = 1024;

/// Numbers of packets sent to and received from clients.
#[derive(Default)]
pub struct Counts {
    /// Number of packets sent to clients.
    pub sent: AtomicU64,
    /// Number of packets that a client didn't take: its socket is full or gone.
    pub refused: AtomicU64,
    /// Number of packets received from clients.
    pub received: AtomicU64,
    /// Number of malformed packets from clients.
    pub malformed: AtomicU64,
}

impl Counts {
    /// Returns the name and the value of each counter.
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

/// The registrations, numbered in the order in which they came: clients are listed in that order.
#[derive(Default)]
pub(crate) struct Registrations {
    by_key: BTreeMap<Key, (u64, Destination)>,
    came: u64,
}

impl Registrations {
    pub(crate) fn get(&self, key: &Key) -> Option<&Destination> {
        self.by_key.get(key).map(|(_, destination)| destination)
    }

    /// Adds or replaces a registration; a replaced one keeps its number.
    pub(crate) fn insert(&mut self, key: Key, destination: Destination) {
        self.came += 1;
        let number = self.by_key.get(&key).map_or(self.came, |(number, _)| *number);
        self.by_key.insert(key, (number, destination));
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        self.by_key.remove(key);
    }
}

/// The state that all nodes and the main thread share.
pub struct Punt {
    registrations: Mutex<Registrations>,
    queue: Mailbox<PuntedPacket>,
    /// Buffers of the queued packets.
    share: Arc<Share>,
    /// Wakes the process that empties the queue.
    pub signal: Signal,
    /// `/net/punt`: punted packets and bytes, by the reason's number; 0 for those caught by port
    /// or protocol.
    pub counters: Arc<Combined>,
    /// Counters of packets to and from clients.
    pub counts: Counts,
    /// Path of the socket that clients send to.
    pub server: Mutex<Option<PathBuf>>,
}

impl Shared for Punt {
    fn make(world: &World) -> Self {
        let counters = world.stats.combined("/net/punt");
        counters.start(0);
        Self {
            registrations: Mutex::default(),
            queue: Mailbox::new(QUEUE, world.processes.waker().clone()),
            share: world.pool.common_share(Reservation::PUNT),
            signal: world.processes.signal(),
            counters,
            counts: Counts::default(),
            server: Mutex::default(),
        }
    }
}

impl Punt {
    pub(crate) fn registrations(&self) -> MutexGuard<'_, Registrations> {
        self.registrations.lock().expect("no panic inside")
    }

    /// Returns all registrations with their destinations, in the order in which they came.
    pub fn list(&self) -> Vec<(Key, Destination)> {
        let registrations = self.registrations();
        let mut all: Vec<_> = registrations.by_key.iter().collect();
        all.sort_unstable_by_key(|(_, (number, _))| *number);
        all.into_iter().map(|(key, (_, destination))| (*key, destination.clone())).collect()
    }

    /// Queues a packet for the main thread; returns it if the queue or its share of buffers is
    /// full.
    pub(crate) fn post(&self, parcel: PuntedPacket) -> Result<(), PuntedPacket> {
        let buffers = parcel.packet.segment_count();
        if !self.share.take(buffers) {
            return Err(parcel);
        }
        self.queue.post(parcel).inspect_err(|_| self.share.give(buffers))?;
        self.signal.raise();
        Ok(())
    }

    /// Takes all queued packets; returns their number.
    pub(crate) fn drain(&self, mut f: impl FnMut(PuntedPacket)) -> usize {
        self.queue.drain(|parcel| {
            self.share.give(parcel.packet.segment_count());
            f(parcel);
        })
    }
}

/// The punted TCP ports, for `ip4-tcp-punt` and `ip6-tcp-punt`.
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
    /// Returns true if segments to a port are punted to a socket, false if to the punt arc; `None`
    /// if they aren't punted.
    pub fn get(&self, port: u16, turn: &Turn<'_>) -> Option<bool> {
        let ports = self.ports.get(turn);
        ports.get(&Some(port)).or_else(|| ports.get(&None)).copied()
    }

    /// Sets the destination of segments to a port; returns the number of ports punted then.
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

// SPDX-License-Identifier: Apache-2.0
//! Pairs, as control keeps them and as workers read them.

use graph::{Shared, Signal, SwIfIndex, World};
use net::AdjIndex;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use sync::{Slots, Turn};

/// The kind of the host's interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostKind {
    /// It carries Ethernet frames.
    Tap,
    /// It carries IP packets.
    Tun,
}

impl HostKind {
    /// As `show lcp` prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tap => "tap",
            Self::Tun => "tun",
        }
    }
}

/// A pair that is to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The interface to mirror.
    pub phy: SwIfIndex,
    /// Name of the kernel's interface.
    pub name: String,
    /// Its kind.
    pub kind: HostKind,
    /// Its namespace; `None`: the default one.
    pub namespace: Option<String>,
}

/// The mirror, and what goes with its pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Made {
    /// The pair made a tap.
    Tap,
    /// The pair made a sub-interface of its parent's tap, and the kernel's VLAN link.
    Sub,
    /// It was there (`test lcp add`): it stays.
    Given,
}

/// An interface and its mirror.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The interface that is mirrored.
    pub phy: SwIfIndex,
    /// The mirror.
    pub host: SwIfIndex,
    /// Name of the kernel's interface; empty for a pair of existing interfaces.
    pub name: String,
    /// Index of the kernel's interface; 0 for a pair of existing interfaces.
    pub vif: u32,
    /// Its kind.
    pub kind: HostKind,
    /// Network namespace of the kernel's interface; `None`: that of the process.
    pub namespace: Option<String>,
    /// The origin of the mirror.
    pub made: Made,
}

/// The part of a pair that workers read, for each of its interfaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// The other interface.
    pub other: u32,
    /// True if this interface is the mirror.
    pub is_mirror: bool,
    /// True if the mirror carries IP packets.
    pub is_tun: bool,
    /// For a mirror: adjacencies of IPv4 and IPv6 that packets of the host take if no neighbour has
    /// their layer-2 header. Those of groups on Ethernet; the peer's on a point-to-point link;
    /// [`AdjIndex::NO_ROUTE`] to look up the destination.
    pub adjacencies: [AdjIndex; 2],
}

/// Pairs by their number, and what was begun with them.
#[derive(Default)]
pub struct Inner {
    /// Pairs by number. A new one gets the lowest that is free.
    pub pairs: BTreeMap<u32, Pair>,
    /// Numbers of the pairs by either interface.
    pub by_interface: BTreeMap<SwIfIndex, u32>,
    /// Pairs that `lcp_itf_pair_replace_begin` marked, by their interface.
    pub stale: Option<Vec<SwIfIndex>>,
}

/// All pairs of an instance.
pub struct Pairs {
    inner: Mutex<Inner>,
    peers: Slots<Peer>,
    /// Processes that look at the pairs after a change.
    subscribers: Mutex<Vec<Signal>>,
}

impl Shared for Pairs {
    fn make(world: &World) -> Self {
        Self {
            inner: Mutex::default(),
            peers: Slots::new(world.qsbr.clone()),
            subscribers: Mutex::default(),
        }
    }
}

impl Pairs {
    /// The pair of an interface, as a worker reads it.
    #[inline(always)]
    pub fn peer<'t>(&'t self, sw_if: u32, turn: &'t Turn<'_>) -> Option<&'t Peer> {
        self.peers.get(sw_if, turn)
    }

    /// Wakes a process after each change of pairs or of their settings.
    pub fn subscribe(&self, signal: &Signal) {
        self.subscribers.lock().expect("no panic inside").push(signal.clone());
    }

    pub(crate) fn raise(&self) {
        self.subscribers.lock().expect("no panic inside").iter().for_each(Signal::raise);
    }

    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic inside")
    }

    /// All pairs with their numbers, in order.
    pub fn list(&self) -> Vec<(u32, Pair)> {
        self.inner().pairs.iter().map(|(number, pair)| (*number, pair.clone())).collect()
    }

    /// The pair that an interface is in, on either side, with its number.
    pub fn of(&self, sw_if: SwIfIndex) -> Option<(u32, Pair)> {
        let inner = self.inner();
        let number = *inner.by_interface.get(&sw_if)?;
        Some((number, inner.pairs.get(&number)?.clone()))
    }

    /// The pair that mirrors this interface, with its number.
    pub fn of_phy(&self, phy: SwIfIndex) -> Option<(u32, Pair)> {
        self.of(phy).filter(|(_, pair)| pair.phy == phy)
    }

    /// Adds a pair, and publishes it to workers.
    pub(crate) fn put(&self, pair: Pair, adjacencies: [AdjIndex; 2]) {
        let peer = |other: SwIfIndex, is_mirror| Peer {
            other: other.0,
            is_mirror,
            is_tun: pair.kind == HostKind::Tun,
            adjacencies,
        };
        self.peers.set(pair.phy.0, peer(pair.host, false));
        self.peers.set(pair.host.0, peer(pair.phy, true));
        let mut inner = self.inner();
        let number = (0..).find(|n| !inner.pairs.contains_key(n)).unwrap_or_default();
        inner.by_interface.insert(pair.phy, number);
        inner.by_interface.insert(pair.host, number);
        inner.pairs.insert(number, pair);
        drop(inner);
        self.raise();
    }

    /// Takes a pair away, and returns its adjacencies.
    pub(crate) fn take(&self, pair: &Pair) -> Option<[AdjIndex; 2]> {
        let adjacencies = self.peers.read(pair.host.0, |peer| peer.map(|peer| peer.adjacencies));
        self.peers.clear(pair.phy.0);
        self.peers.clear(pair.host.0);
        let mut inner = self.inner();
        let number = inner.by_interface.remove(&pair.phy)?;
        inner.by_interface.remove(&pair.host);
        inner.pairs.remove(&number);
        drop(inner);
        self.raise();
        adjacencies
    }
}

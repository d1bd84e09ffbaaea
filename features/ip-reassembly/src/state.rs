// SPDX-License-Identifier: Apache-2.0
//! Settings that the main thread writes and workers read, and the number of datagrams under way.

use crate::fragment::Fragments;
use graph::{Shared, ThreadIndex, World};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

/// The limits of one kind of reassembly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Timeout in milliseconds from a datagram's first fragment on; with 0 no datagram of several
    /// fragments is reassembled.
    pub timeout_ms: u32,
    /// Maximum number of datagrams under way on a thread; with more, the oldest goes. 0: full
    /// reassembly lets no fragment pass, shallow reassembly has no limit of its own but 65,536
    /// datagrams.
    pub max_reassemblies: u32,
    /// Maximum number of fragments of a datagram that wait; with more, it is given up.
    pub max_reassembly_length: u32,
    /// Interval in milliseconds between two checks for timeouts; more than 1000 counts as 1000, 0
    /// as 1.
    pub expire_walk_interval_ms: u32,
}

impl Settings {
    /// Defaults of full reassembly: enough for any datagram over links of 1280 bytes and more.
    pub const FULL: Self = Self {
        timeout_ms: 5000,
        max_reassemblies: 1024,
        max_reassembly_length: 64,
        expire_walk_interval_ms: 1000,
    };
    /// Defaults of shallow reassembly, whose datagrams should not wait long.
    pub const SHALLOW: Self = Self { timeout_ms: 1000, ..Self::FULL };
}

/// Maximum number of datagrams of one shallow node on a thread without a limit: a datagram without
/// waiting fragments holds no buffer, so the share of buffers doesn't bound them.
pub const MOST: u32 = 1 << 16;

/// Limits, and number of datagrams under way.
pub struct Limits {
    kind: Kind,
    timeout_ms: AtomicU32,
    max_reassemblies: AtomicU32,
    max_reassembly_length: AtomicU32,
    expire_walk_interval_ms: AtomicU32,
    /// Number of datagrams under way, by thread.
    under_way: Box<[AtomicU32]>,
}

impl Limits {
    fn new(kind: Kind, threads: usize) -> Self {
        let s = kind.usual();
        Self {
            kind,
            timeout_ms: s.timeout_ms.into(),
            max_reassemblies: s.max_reassemblies.into(),
            max_reassembly_length: s.max_reassembly_length.into(),
            expire_walk_interval_ms: s.expire_walk_interval_ms.into(),
            under_way: (0..threads).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Returns the limits in force.
    pub fn settings(&self) -> Settings {
        let read = |value: &AtomicU32| value.load(Ordering::Relaxed);
        Settings {
            timeout_ms: read(&self.timeout_ms),
            max_reassemblies: read(&self.max_reassemblies),
            max_reassembly_length: read(&self.max_reassembly_length),
            expire_walk_interval_ms: read(&self.expire_walk_interval_ms),
        }
    }

    /// Sets the limits, from the next fragment on.
    pub(crate) fn set(&self, s: Settings) {
        self.timeout_ms.store(s.timeout_ms, Ordering::Relaxed);
        self.max_reassemblies.store(s.max_reassemblies, Ordering::Relaxed);
        self.max_reassembly_length.store(s.max_reassembly_length, Ordering::Relaxed);
        self.expire_walk_interval_ms.store(s.expire_walk_interval_ms, Ordering::Relaxed);
    }

    /// Returns the timeout of a datagram in nanoseconds.
    pub(crate) fn timeout(&self) -> u64 {
        u64::from(self.timeout_ms.load(Ordering::Relaxed)) * MS
    }

    /// Returns the maximum number of datagrams under way on a thread.
    pub(crate) fn datagrams(&self) -> usize {
        match (self.max_reassemblies.load(Ordering::Relaxed), self.kind) {
            (0, Kind::Shallow) => MOST as usize,
            (limit, _) => limit as usize,
        }
    }

    /// Returns the maximum number of fragments of a datagram.
    pub(crate) fn fragments(&self) -> usize {
        self.max_reassembly_length.load(Ordering::Relaxed) as usize
    }

    /// Counts one more datagram on a thread.
    pub(crate) fn begin(&self, thread: ThreadIndex) {
        self.under_way[thread.at()].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one datagram less on a thread.
    pub(crate) fn end(&self, thread: ThreadIndex) {
        self.under_way[thread.at()].fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the number of datagrams under way on each thread.
    pub fn under_way(&self) -> impl Iterator<Item = u32> {
        self.under_way.iter().map(|n| n.load(Ordering::Relaxed))
    }
}

/// The kind of reassembly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Datagrams are reassembled.
    Full,
    /// Fragments are forwarded unchanged, each with the upper-layer fields of the first one.
    Shallow,
}

impl Kind {
    /// Arc and node of each feature of received packets.
    pub fn features(self, v6: bool) -> &'static [(&'static str, &'static str)] {
        match (self, v6) {
            (Self::Full, false) => &[("ip4-unicast", "ip4-full-reassembly-feature")],
            (Self::Full, true) => &[("ip6-unicast", "ip6-full-reassembly-feature")],
            (Self::Shallow, false) => &[
                ("ip4-unicast", "ip4-sv-reassembly-feature"),
                ("ip4-multicast", "ip4-sv-reassembly-mcast-feature"),
            ],
            (Self::Shallow, true) => &[
                ("ip6-unicast", "ip6-sv-reassembly-feature"),
                ("ip6-multicast", "ip6-sv-reassembly-mcast-feature"),
            ],
        }
    }

    /// Both.
    pub const ALL: [Self; 2] = [Self::Full, Self::Shallow];

    /// Name of the kind in names of nodes: `full`, `sv`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Shallow => "sv",
        }
    }

    /// Default limits.
    pub const fn usual(self) -> Settings {
        match self {
            Self::Full => Settings::FULL,
            Self::Shallow => Settings::SHALLOW,
        }
    }
}

/// Reassembly of one family.
pub struct Reassembly<F> {
    full: Limits,
    shallow: Limits,
    /// True if fragments for us are reassembled.
    pub(crate) local: AtomicBool,
    /// True if shallow reassembly holds fragments until the first and the last have come; if
    /// false, until the first.
    pub(crate) extended: AtomicBool,
    family: PhantomData<F>,
}

impl<F: Fragments> Shared for Reassembly<F> {
    fn make(world: &World) -> Self {
        let limits = |kind: Kind| Limits::new(kind, world.threads());
        let (full, shallow) = (limits(Kind::Full), limits(Kind::Shallow));
        Self {
            full,
            shallow,
            local: AtomicBool::new(false),
            extended: AtomicBool::new(false),
            family: PhantomData,
        }
    }
}

impl<F> Reassembly<F> {
    /// Returns the limits of one kind, and its datagrams under way.
    pub fn of(&self, kind: Kind) -> &Limits {
        match kind {
            Kind::Full => &self.full,
            Kind::Shallow => &self.shallow,
        }
    }
}

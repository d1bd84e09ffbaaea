// SPDX-License-Identifier: Apache-2.0
//! What control sets and workers read.

use crate::fragment::Fragments;
use graph::{Shared, ThreadIndex, World};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

/// The limits of one kind of reassembly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Milliseconds after its first fragment that a datagram is given up; with 0 no datagram of several fragments is put together.
    pub timeout_ms: u32,
    /// Datagrams that may be under way on a thread; with more, the oldest goes. 0: full reassembly lets no fragment pass, shallow
    /// reassembly has no limit of its own but 65,536 datagrams.
    pub max_reassemblies: u32,
    /// Fragments of a datagram that may wait; with more, it is given up.
    pub max_reassembly_length: u32,
    /// Milliseconds between two looks for what has timed out; more than 1000 counts as 1000, 0 as 1.
    pub expire_walk_interval_ms: u32,
}

impl Settings {
    /// Until somebody says otherwise: any datagram over links of 1280 bytes and more.
    pub const FULL: Self = Self {
        timeout_ms: 5000,
        max_reassemblies: 1024,
        max_reassembly_length: 64,
        expire_walk_interval_ms: 1000,
    };
    /// The same for shallow reassembly, whose datagrams should not wait long on their way.
    pub const SHALLOW: Self = Self { timeout_ms: 1000, ..Self::FULL };
}

/// Datagrams of one shallow node on a thread when there is no limit: one without waiting fragments holds no buffer, so the share of
/// buffers doesn't bound them.
pub const MOST: u32 = 1 << 16;

/// Limits, and how many datagrams are under way.
pub struct Knobs {
    kind: Kind,
    timeout_ms: AtomicU32,
    max_reassemblies: AtomicU32,
    max_reassembly_length: AtomicU32,
    expire_walk_interval_ms: AtomicU32,
    /// By thread.
    under_way: Box<[AtomicU32]>,
}

impl Knobs {
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

    /// The limits in force.
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

    /// How long a datagram may take, in nanoseconds.
    pub(crate) fn timeout(&self) -> u64 {
        u64::from(self.timeout_ms.load(Ordering::Relaxed)) * MS
    }

    /// How many datagrams may be under way on a thread.
    pub(crate) fn datagrams(&self) -> usize {
        match (self.max_reassemblies.load(Ordering::Relaxed), self.kind) {
            (0, Kind::Shallow) => MOST as usize,
            (limit, _) => limit as usize,
        }
    }

    /// How many fragments a datagram may have.
    pub(crate) fn fragments(&self) -> usize {
        self.max_reassembly_length.load(Ordering::Relaxed) as usize
    }

    /// Notes that there is one more on a thread.
    pub(crate) fn begin(&self, thread: ThreadIndex) {
        self.under_way[thread.at()].fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that there is one less on a thread.
    pub(crate) fn end(&self, thread: ThreadIndex) {
        self.under_way[thread.at()].fetch_sub(1, Ordering::Relaxed);
    }

    /// How many are under way on each thread.
    pub fn under_way(&self) -> impl Iterator<Item = u32> {
        self.under_way.iter().map(|n| n.load(Ordering::Relaxed))
    }
}

/// Which of the two ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Datagrams are put together.
    Full,
    /// Fragments go on as they are, but what the first says of the upper layer is known of all.
    Shallow,
}

impl Kind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Full, Self::Shallow];

    /// As in the names of nodes: `full`, `sv`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Shallow => "sv",
        }
    }

    /// The limits that nobody has set.
    pub const fn usual(self) -> Settings {
        match self {
            Self::Full => Settings::FULL,
            Self::Shallow => Settings::SHALLOW,
        }
    }
}

/// Reassembly of one family.
pub struct Reassembly<F> {
    full: Knobs,
    shallow: Knobs,
    /// Fragments for us are put together.
    pub(crate) local: AtomicBool,
    /// Shallow reassembly lets fragments go once the first and the last have come; otherwise the first is enough.
    pub(crate) extended: AtomicBool,
    family: PhantomData<F>,
}

impl<F: Fragments> Shared for Reassembly<F> {
    fn make(world: &World) -> Self {
        let knobs = |kind: Kind| Knobs::new(kind, world.threads());
        let (full, shallow) = (knobs(Kind::Full), knobs(Kind::Shallow));
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
    /// Limits of one kind, and what is under way.
    pub fn of(&self, kind: Kind) -> &Knobs {
        match kind {
            Kind::Full => &self.full,
            Kind::Shallow => &self.shallow,
        }
    }
}

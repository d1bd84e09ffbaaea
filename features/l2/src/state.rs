// SPDX-License-Identifier: Apache-2.0
//! What workers read: ports, domains, and the times and flags of MAC entries.

use crate::attach::OutputFeatures;
use crate::features::Features;
use crate::termination::Hosts;
use crate::vtr::Rewrites;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tables::mac::MacEntry;

/// The domain index of frames that are in no domain.
pub const NO_DOMAIN: u16 = u16::MAX;

/// What received frames of a port pass, and which frames it sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A member of a bridge domain.
    Bridged,
    /// The routed interface of a bridge domain.
    Bvi,
    /// Frames go to this interface.
    Crossed(u32),
    /// It takes the frames of a cross-connect for a feature of another plugin, and receives none.
    Sink,
    /// It was in layer-2 mode and is no longer.
    Left,
}

/// A port. Replaced as a whole by control.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    /// See [`Role`].
    pub role: Role,
    /// Features of received frames.
    pub features: Features,
    /// Index of the domain, or [`NO_DOMAIN`].
    pub domain: u16,
    /// Split-horizon group, 0 for none.
    pub shg: u8,
    /// Incremented when addresses learned on the port are flushed.
    pub generation: u8,
    /// Tag rewriting, if it is set.
    pub rewrites: Option<Rewrites>,
    /// The parent, if the EFP filter is enabled.
    pub filter: Option<u32>,
    /// Features of other plugins that frames pass which the port sends.
    pub sent: OutputFeatures,
    /// Storm control limits what it floods.
    pub is_limited: bool,
}

/// A member that flooded frames go to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// The interface.
    pub sw_if: u32,
    /// Its split-horizon group.
    pub shg: u8,
    /// It is the BVI.
    pub is_bvi: bool,
}

/// A bridge domain. Replaced as a whole by control.
#[derive(Clone)]
pub struct Domain {
    /// Features of frames in this domain.
    pub features: Features,
    /// Incremented when addresses learned in the domain are flushed.
    pub generation: u8,
    /// Addresses learned in it.
    pub learned: Arc<Learned>,
    /// Members that flooded frames go to, in the order of the copies.
    pub members: Vec<Member>,
    /// The port of unknown unicast.
    pub uu_fwd: Option<u32>,
    /// Hosts that the domain answers for.
    pub hosts: Option<Arc<Hosts>>,
    /// It learns hosts.
    pub snoops: bool,
}

/// Number of learned addresses, and how many may be.
#[derive(Debug)]
pub struct Learned {
    count: AtomicU32,
    limit: AtomicU32,
}

impl Learned {
    /// None yet, of so many.
    pub fn new(limit: u32) -> Self {
        Self { count: AtomicU32::new(0), limit: AtomicU32::new(limit) }
    }

    /// Counts one more, unless that would exceed the limit.
    #[inline]
    pub fn take(&self) -> bool {
        let limit = self.limit();
        let more = |count| (count < limit).then(|| count + 1);
        self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Counts one less.
    #[inline]
    pub fn give(&self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// How many there may be.
    pub fn limit(&self) -> u32 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Changes how many there may be. Those that are there stay.
    pub fn set_limit(&self, limit: u32) {
        self.limit.store(limit, Ordering::Relaxed);
    }
}

/// Frames from the address on another port are dropped: the entry never moves.
pub const STATIC: u8 = 1;
/// Frames from and to the address are dropped.
pub const FILTER: u8 = 2;
/// The address is the BVI's.
pub const BVI: u8 = 4;
/// An operator made the entry: it neither ages nor is flushed.
pub const PROVISIONED: u8 = 8;

/// No client was told of the entry yet.
pub const NEW: u8 = 16;
/// The entry has moved since a client was told of it.
pub const MOVED: u8 = 32;

/// Generation numbers of a domain and a port, as entries hold them.
#[inline(always)]
pub const fn generation(domain: u8, port: u8) -> u16 {
    (domain as u16) << 8 | port as u16
}

/// Nanoseconds of the instance's clock as entries hold them: units of 2³² ns, about 4.3 s.
#[inline(always)]
pub const fn stamp(now: u64) -> u16 {
    (now >> 32) as u16
}

/// Nanoseconds since an entry was used last, at a time: up to a unit of [`stamp`] more than it was.
pub fn age(entry: MacEntry, now: u64) -> u64 {
    u64::from(stamp(now).wrapping_sub(entry.stamp)) << 32
}

/// Whether an entry is learned: it counts, ages, and may be flushed.
#[inline(always)]
pub const fn is_learned(entry: MacEntry) -> bool {
    entry.flags & PROVISIONED == 0
}

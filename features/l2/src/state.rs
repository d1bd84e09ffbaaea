// SPDX-License-Identifier: Apache-2.0
//! State that workers read: ports, domains, and the times and flags of MAC entries.

use crate::attach::OutputFeatures;
use crate::features::Features;
use crate::termination::Hosts;
use crate::vtr::Rewrites;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tables::mac::MacEntry;

/// The domain index of frames that are in no domain.
pub const NO_DOMAIN: u16 = u16::MAX;

/// The path of received frames of a port, and the frames that it sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A member of a bridge domain.
    Bridged,
    /// The routed interface of a bridge domain.
    Bvi,
    /// Received frames go to this interface.
    Crossed(u32),
    /// Takes the frames of a cross-connect for a feature of another plugin, and receives none.
    Sink,
    /// No longer in layer-2 mode.
    Left,
}

/// A port. Replaced as a whole by the main thread.
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
    /// Features of other plugins that sent frames pass.
    pub sent: OutputFeatures,
    /// True if storm control limits the frames that it floods.
    pub is_limited: bool,
}

/// A member that flooded frames go to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// The interface.
    pub sw_if: u32,
    /// Its split-horizon group.
    pub shg: u8,
    /// True for the BVI.
    pub is_bvi: bool,
}

/// A bridge domain. Replaced as a whole by the main thread.
#[derive(Clone)]
pub struct Domain {
    /// Features of frames in this domain.
    pub features: Features,
    /// Incremented when addresses learned in the domain are flushed.
    pub generation: u8,
    /// Number and limit of addresses learned in it.
    pub learned: Arc<Learned>,
    /// Members that flooded frames go to, in the order of the copies.
    pub members: Vec<Member>,
    /// The port of unknown unicast.
    pub uu_fwd: Option<u32>,
    /// Hosts that the domain answers for.
    pub hosts: Option<Arc<Hosts>>,
    /// True if it learns hosts.
    pub snoops: bool,
}

/// Number of learned addresses, and its limit.
#[derive(Debug)]
pub struct Learned {
    count: AtomicU32,
    limit: AtomicU32,
}

impl Learned {
    /// Returns a count of 0 with this limit.
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

    /// Returns the number of learned addresses.
    pub fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// Returns the limit.
    pub fn limit(&self) -> u32 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Changes the limit. Learned addresses stay.
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

/// The entry was not reported to a client yet.
pub const NEW: u8 = 16;
/// The entry has moved since it was reported to a client.
pub const MOVED: u8 = 32;

/// Returns the generation numbers of a domain and a port, as entries hold them.
#[inline(always)]
pub const fn generation(domain: u8, port: u8) -> u16 {
    (domain as u16) << 8 | port as u16
}

/// Converts nanoseconds of the instance's clock to the unit of entries: 2³² ns, about 4.3 s.
#[inline(always)]
pub const fn stamp(now: u64) -> u16 {
    (now >> 32) as u16
}

/// Returns the nanoseconds since an entry was used last: up to one unit of [`stamp`] too many.
pub fn age(entry: MacEntry, now: u64) -> u64 {
    u64::from(stamp(now).wrapping_sub(entry.stamp)) << 32
}

/// Returns true if an entry is learned: it counts, ages, and may be flushed.
#[inline(always)]
pub const fn is_learned(entry: MacEntry) -> bool {
    entry.flags & PROVISIONED == 0
}

// SPDX-License-Identifier: Apache-2.0
//! Changes of entries, and descriptions of them for `show`.

use super::{EntryFlags, Group, ItfFlags, MrouteIndex};
use crate::{AdjIndex, Net, Source};
use graph::SwIfIndex;
use std::net::IpAddr;

/// The place that a path's packets come from or go to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MpathKind {
    /// An interface.
    Interface {
        /// Its index.
        sw_if: SwIfIndex,
        /// A neighbour there: packets are sent to its MAC address only; without one they go to the
        /// group.
        nexthop: Option<IpAddr>,
    },
    /// Local delivery.
    Local,
}

impl MpathKind {
    /// The interface that the path names.
    pub fn sw_if(self) -> Option<SwIfIndex> {
        match self {
            Self::Interface { sw_if, .. } => Some(sw_if),
            Self::Local => None,
        }
    }
}

/// A path of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mpath {
    /// The interface, or local delivery.
    pub kind: MpathKind,
    /// Flags of the path: packets are accepted from there, or forwarded there.
    pub flags: ItfFlags,
}

/// A source's change of an entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change<'a> {
    /// New flags; `None` keeps the present flags.
    pub flags: Option<EntryFlags>,
    /// A new RPF id; `None` keeps the present one.
    pub rpf_id: Option<u32>,
    /// Paths that are added; the flags of present paths are replaced.
    pub paths: &'a [Mpath],
}

/// One source's part of an entry, for `show`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MrouteSource {
    /// The source.
    pub source: Source,
    /// The entry's flags.
    pub flags: EntryFlags,
    /// The RPF id that packets from MPLS have to carry; all bits set for none. Kept for clients:
    /// MPLS isn't built yet.
    pub rpf_id: u32,
    /// The paths.
    pub paths: Vec<Mpath>,
}

/// An entry, for `show`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MrouteInfo<F: Net> {
    /// The group and sender.
    pub group: Group<F::Addr>,
    /// Its index, also the index of its counters.
    pub index: MrouteIndex,
    /// The sources, best first.
    pub sources: Vec<MrouteSource>,
    /// The interfaces, each with its flags.
    pub interfaces: Vec<(SwIfIndex, ItfFlags)>,
    /// The adjacencies that packets are sent to at present.
    pub outputs: Vec<AdjIndex>,
}

impl<F: Net> MrouteInfo<F> {
    /// The entry's flags from the best source.
    pub fn flags(&self) -> EntryFlags {
        self.sources.first().map_or(EntryFlags::empty(), |s| s.flags)
    }
}

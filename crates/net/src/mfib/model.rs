// SPDX-License-Identifier: Apache-2.0
//! What is said of entries, and what `show` tells of them.

use super::{EntryFlags, Group, ItfFlags, MrouteIndex};
use crate::{AdjIndex, Net, Source};
use graph::SwIfIndex;
use std::net::IpAddr;

/// Where an entry's packets come from or go to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MpathKind {
    /// An interface.
    Interface {
        /// Its number.
        sw_if: SwIfIndex,
        /// A neighbour there, which packets go to alone; without one they go to the group.
        nexthop: Option<IpAddr>,
    },
    /// Ourselves.
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

/// One of the ways of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mpath {
    /// Where it leads.
    pub kind: MpathKind,
    /// What packets do there.
    pub flags: ItfFlags,
}

/// What a source wants of an entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change<'a> {
    /// New flags; `None` leaves those that are there.
    pub flags: Option<EntryFlags>,
    /// A new RPF id; `None` leaves the one that is there.
    pub rpf_id: Option<u32>,
    /// Paths that are added; the flags of those that are there are replaced.
    pub paths: &'a [Mpath],
}

/// What one source says, for `show`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MrouteSource {
    /// Who.
    pub source: Source,
    /// Of the entry.
    pub flags: EntryFlags,
    /// The id that packets out of labels have to bring; all bits set for none. Kept for clients: there are no labels yet.
    pub rpf_id: u32,
    /// The ways.
    pub paths: Vec<Mpath>,
}

/// An entry, for `show`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MrouteInfo<F: Net> {
    /// What it is for.
    pub group: Group<F::Addr>,
    /// Its number, also the cell of its counters.
    pub index: MrouteIndex,
    /// The sources, best first.
    pub sources: Vec<MrouteSource>,
    /// The interfaces, with what is said of each.
    pub interfaces: Vec<(SwIfIndex, ItfFlags)>,
    /// Where packets go at present.
    pub outputs: Vec<AdjIndex>,
}

impl<F: Net> MrouteInfo<F> {
    /// What the best source says of the entry.
    pub fn flags(&self) -> EntryFlags {
        self.sources.first().map_or(EntryFlags::NONE, |s| s.flags)
    }
}

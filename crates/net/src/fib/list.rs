// SPDX-License-Identifier: Apache-2.0
//! Path lists, each shared by all entries of a link type with the same paths.

use super::{Path, PathListInfo, PathState};
use crate::{AdjIndex, Link, NextHop};
use graph::SwIfIndex;
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Number of paths up to which comparing each with each is the fastest.
const FEW: usize = 16;

/// The paths of a list: of paths that differ in weight or preference only, the last one, as if
/// each had been added by itself.
pub(super) fn distinct(paths: &[Path]) -> Cow<'_, [Path]> {
    if paths.len() < 2 {
        return Cow::Borrowed(paths);
    }
    let mut all: Vec<Path> = Vec::with_capacity(paths.len());
    // Of many paths each would be compared with each.
    if paths.len() > FEW {
        let mut at = HashMap::with_capacity(paths.len());
        for path in paths {
            match at.entry(path.kind) {
                Entry::Occupied(old) => all[*old.get()] = *path,
                Entry::Vacant(new) => {
                    new.insert(all.len());
                    all.push(*path);
                }
            }
        }
        return Cow::Owned(all);
    }
    for path in paths {
        match all.iter_mut().find(|old| old.kind == path.kind) {
            Some(old) => *old = *path,
            None => all.push(*path),
        }
    }
    Cow::Owned(all)
}

/// Index of a path list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct ListId(pub u32);

impl From<u32> for ListId {
    fn from(id: u32) -> Self {
        Self(id)
    }
}

impl From<ListId> for u32 {
    fn from(id: ListId) -> Self {
        id.0
    }
}

/// State of a path list for recursive paths: they can follow an entry with this list, or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum State {
    /// No: all its paths are down, drop, or deliver here.
    #[default]
    Unusable,
    /// Yes, a connected network: the path's next hop is a neighbour on the interface.
    Attached(SwIfIndex),
    /// Yes: their packets take the list's adjacency.
    Usable,
}

/// Result of resolving the paths of a list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Resolved {
    /// For each path, its adjacency, if the path is usable.
    pub found: Vec<Option<AdjIndex>>,
    /// For each path, whether it is usable, and if not, why.
    pub states: Vec<PathState>,
    /// True if all usable paths lead to next hops that are down, so that these paths are used.
    pub down: bool,
    /// Adjacencies of paths left out because their next hops are down. They are referenced until
    /// the next hops are back.
    pub left_out: Vec<AdjIndex>,
    /// The neighbours that the paths lead to, sorted.
    pub hops: Vec<NextHop>,
    /// The adjacency for all used paths together.
    pub target: AdjIndex,
    pub state: State,
    /// The lists that recursive paths follow, also where the path is unusable since they lead back
    /// here.
    pub follows: BTreeSet<ListId>,
    /// The lists of `follows` that have the paths of a list of another link type, which the route
    /// of a next hop has.
    pub twins: BTreeSet<ListId>,
}

impl PathList {
    /// The list as `show` prints it.
    pub fn info(&self, id: ListId) -> PathListInfo {
        let paths = self.paths.iter().copied().zip(self.now.found.iter().copied()).collect();
        PathListInfo {
            list: id.0,
            link: self.link,
            shared: self.refs + self.twin_of.len(),
            paths,
            states: self.now.states.clone(),
            adj: self.adj,
        }
    }
}

/// A path list.
pub(super) struct PathList {
    /// The link type of the packets that take it.
    pub link: Link,
    pub paths: Arc<[Path]>,
    /// Number of references by entries and by [`Tracked`](super::Tracked).
    pub refs: usize,
    /// Of these, references by [`Tracked`](super::Tracked).
    pub trackers: usize,
    /// The adjacency that workers find for these entries.
    pub adj: AdjIndex,
    /// True if `adj` is an alias made for this list, not one of the fixed adjacencies.
    pub owned: bool,
    pub now: Resolved,
    /// Lists with paths that follow an entry with this list.
    pub users: BTreeSet<ListId>,
    /// Lists that need this one as one of their [twins](Resolved::twins).
    pub twin_of: BTreeSet<ListId>,
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::PathKind;
    use std::net::Ipv4Addr;

    /// Few paths and many: of those to one next hop the last, where the first was.
    #[suite::test]
    fn of_paths_to_one_next_hop_the_last_counts() {
        let path = |n: u32, weight| {
            let nexthop = Ipv4Addr::from_bits(n).into();
            Path { weight, ..Path::new(PathKind::Neighbor { sw_if: SwIfIndex(1), nexthop }) }
        };
        for n in [2, FEW as u32 - 1, FEW as u32, 5000] {
            let paths: Vec<Path> = (0..n).map(|i| path(i, 1)).chain([path(1, 7)]).collect();
            let wanted: Vec<Path> = (0..n).map(|i| path(i, if i == 1 { 7 } else { 1 })).collect();
            assert_eq!(*distinct(&paths), wanted, "{n}");
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Lists of paths, shared by all entries that have the same.

use super::{Net, Path, PathListInfo, PathState};
use crate::{AdjIndex, NextHop};
use graph::SwIfIndex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Names a list.
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

/// What a list is good for, to paths that lead to an entry with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum State {
    /// Nothing: all ways down, or drop, or ourselves.
    #[default]
    Unusable,
    /// A connected network: the next hop is a neighbour on the interface.
    Attached(SwIfIndex),
    /// It leads on.
    Usable,
}

/// What the paths of a list come to at present.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Resolved {
    /// For each path, where it leads, if it is usable.
    pub found: Vec<Option<AdjIndex>>,
    /// For each path, what stands in its way.
    pub states: Vec<PathState>,
    /// All that can be taken lead to next hops that are down.
    pub down: bool,
    /// The adjacencies of paths that are left out because their next hops are down: held until they come back.
    pub left_out: Vec<AdjIndex>,
    /// The neighbours that paths lead to, in order.
    pub hops: Vec<NextHop>,
    /// What they make together.
    pub target: AdjIndex,
    pub state: State,
    /// The lists that paths lead to, also those that can't be taken because they lead back here.
    pub follows: BTreeSet<ListId>,
}

impl<F: Net> PathList<F> {
    /// For `show`.
    pub fn info(&self, id: ListId) -> PathListInfo<F> {
        let paths = self.paths.iter().copied().zip(self.now.found.iter().copied()).collect();
        PathListInfo { list: id.0, shared: self.refs, paths, states: self.now.states.clone(), adj: self.adj }
    }
}

/// A list of paths.
pub(super) struct PathList<F: Net> {
    pub paths: Arc<[Path<F::Addr>]>,
    /// Entries that have it.
    pub refs: usize,
    /// What workers find for these entries.
    pub adj: AdjIndex,
    /// `adj` is an alias of the list's own.
    pub owned: bool,
    pub now: Resolved,
    /// Lists whose paths follow an entry with this.
    pub users: BTreeSet<ListId>,
}

// SPDX-License-Identifier: Apache-2.0
//! Entries: a prefix, and who says what about it.

use super::list::ListId;
use super::{Net, Path};
use crate::AdjIndex;
use std::fmt;
use wire::Prefix;

/// Who gave an entry its paths. The least one counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Source {
    /// In every table; can't be overridden.
    Special,
    /// An address of an interface.
    Interface,
    /// A feature that must not be overridden by operators.
    Plugin,
    /// The binary API.
    Api,
    /// The command line.
    Cli,
    /// DHCP, router advertisements.
    Dhcp,
    /// A neighbour in a connected network.
    Neighbor,
    /// Every table's default route, until there is a better one.
    Default,
}

impl Source {
    /// As `show ip fib` prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Special => "special",
            Self::Interface => "interface",
            Self::Plugin => "plugin",
            Self::Api => "API",
            Self::Cli => "CLI",
            Self::Dhcp => "DHCP",
            Self::Neighbor => "adjacency",
            Self::Default => "default-route",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sourced {
    pub source: Source,
    pub list: ListId,
}

/// What the sources say. A million of them: small.
pub(super) struct Entry {
    pub best: Sourced,
    /// The others, best first; hardly ever any.
    pub others: Box<[Sourced]>,
}

impl Entry {
    pub fn new(best: Sourced) -> Self {
        Self { best, others: Box::default() }
    }

    pub fn all(&self) -> impl Iterator<Item = Sourced> {
        std::iter::once(self.best).chain(self.others.iter().copied())
    }

    pub fn of(&self, source: Source) -> Option<ListId> {
        self.all().find(|s| s.source == source).map(|s| s.list)
    }

    /// Sets what a source says, and gives what it said before.
    pub fn set(&mut self, new: Sourced) -> Option<ListId> {
        let old = self.of(new.source);
        let mut all: Vec<_> = self.all().filter(|s| s.source != new.source).collect();
        all.push(new);
        all.sort_by_key(|s| s.source);
        self.put(all);
        old
    }

    /// Removes what a source says; false if nobody says anything any more.
    pub fn remove(&mut self, source: Source) -> bool {
        let all: Vec<_> = self.all().filter(|s| s.source != source).collect();
        let some = !all.is_empty();
        self.put(all);
        some
    }

    fn put(&mut self, mut all: Vec<Sourced>) {
        if all.is_empty() {
            return;
        }
        self.best = all.remove(0);
        self.others = all.into();
    }
}

/// What one source says, for `show`.
#[derive(Clone, Debug)]
pub struct RouteSource<F: Net> {
    /// Who.
    pub source: Source,
    /// The list of paths, by number: those of one number are one.
    pub list: u32,
    /// How many entries share the list.
    pub shared: usize,
    /// The paths, each with the adjacency that it leads to, if it is usable.
    pub paths: Vec<(Path<F::Addr>, Option<AdjIndex>)>,
    /// What the paths make together: what workers get if this source is the best.
    pub adj: AdjIndex,
}

/// An entry, for `show`.
#[derive(Clone, Debug)]
pub struct RouteInfo<F: Net> {
    /// The prefix, without host bits.
    pub prefix: Prefix<F::Addr>,
    /// The sources, best first.
    pub sources: Vec<RouteSource<F>>,
}

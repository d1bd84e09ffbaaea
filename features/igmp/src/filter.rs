// SPDX-License-Identifier: Apache-2.0
//! Filters: the sources of a group that are listened to (RFC 3376 3).

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// The sources of a group.
pub type Sources = BTreeSet<Ipv4Addr>;

/// The sources of a group that are listened to: named ones, or all but named ones. The default is
/// none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// True for all sources but [`Self::sources`].
    pub exclude: bool,
    /// The sources.
    pub sources: Sources,
}

impl Filter {
    /// From these sources only.
    pub fn include(sources: impl IntoIterator<Item = Ipv4Addr>) -> Self {
        Self { exclude: false, sources: sources.into_iter().collect() }
    }

    /// From all sources but these.
    pub fn exclude(sources: impl IntoIterator<Item = Ipv4Addr>) -> Self {
        Self { exclude: true, sources: sources.into_iter().collect() }
    }

    /// Returns true for a filter of no source.
    pub fn is_empty(&self) -> bool {
        !self.exclude && self.sources.is_empty()
    }

    /// Returns true for a source that is listened to.
    pub fn wants(&self, source: Ipv4Addr) -> bool {
        self.sources.contains(&source) != self.exclude
    }

    /// The filter of all sources that either filter listens to (RFC 3376 3.2).
    pub fn merge(&self, other: &Self) -> Self {
        let (a, b) = (&self.sources, &other.sources);
        let (exclude, sources) = match (self.exclude, other.exclude) {
            (false, false) => (false, a | b),
            (true, true) => (true, a & b),
            (true, false) => (true, a - b),
            (false, true) => (true, b - a),
        };
        Self { exclude, sources }
    }

    /// The sources by which clients know it: 0.0.0.0 stands for all.
    pub fn listed(&self) -> Vec<Ipv4Addr> {
        match self.exclude {
            true => vec![Ipv4Addr::UNSPECIFIED],
            false => self.sources.iter().copied().collect(),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Sources of routes, and how they rank.

use cli::Error;
use graph::{Shared, World};
use msg::retval;
use std::cmp::Ordering;
use std::fmt;
use std::sync::{Mutex, MutexGuard};

/// The source that gave an entry paths. Of several sources the one with the lowest
/// [`Self::priority`] is in force.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// A route of every table that no other source overrides.
    Special,
    /// A classifier's table: packets to an address of an interface are classified first.
    Classify,
    /// An address of an interface.
    Interface,
    /// A feature that must not be overridden by operators.
    Plugin,
    /// The binary API.
    Api,
    /// The command line.
    Cli,
    /// DHCP.
    Dhcp,
    /// Router advertisements.
    Advertised,
    /// A neighbour in a connected network.
    Neighbor,
    /// Every table's default route, until there is a better one.
    Default,
    /// Behaviour that RFCs require of an address without a route. Lists and dumps omit these
    /// routes, since VPP has none of them; lookups find them.
    Implicit,
    /// A source that a client has added: see [`Sources`].
    Added {
        /// Its rank: lower is better.
        priority: u8,
        /// Its number.
        id: u8,
    },
}

impl Source {
    /// The built-in sources that clients see.
    pub const ALL: [Self; 10] = [
        Self::Special,
        Self::Classify,
        Self::Interface,
        Self::Plugin,
        Self::Api,
        Self::Cli,
        Self::Dhcp,
        Self::Advertised,
        Self::Neighbor,
        Self::Default,
    ];

    /// The name that `show ip fib` prints; [`Sources::name`] has the names of added sources.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Special => "special",
            Self::Classify => "classify",
            Self::Interface => "interface",
            Self::Plugin => "plugin",
            Self::Api => "API",
            Self::Cli => "CLI",
            Self::Dhcp => "DHCP",
            Self::Advertised => "IPv6-nd",
            Self::Neighbor => "adjacency",
            Self::Default => "default-route",
            Self::Implicit => "implicit",
            Self::Added { .. } => "added",
        }
    }

    /// Its number in the binary API, as in VPP.
    pub const fn id(self) -> u8 {
        match self {
            Self::Special => 1,
            Self::Classify => 2,
            Self::Interface => 4,
            Self::Api => 8,
            Self::Cli => 9,
            Self::Dhcp => 12,
            Self::Advertised => 14,
            Self::Neighbor => 15,
            Self::Default => 20,
            Self::Plugin => 22,
            Self::Implicit => 0,
            Self::Added { id, .. } => id,
        }
    }

    /// Its rank, as in VPP: the source with the lowest is in force.
    pub const fn priority(self) -> u8 {
        match self {
            Self::Special => 0,
            Self::Classify => 1,
            Self::Interface => 3,
            Self::Plugin => 0x10,
            Self::Api => 0x80,
            Self::Cli => 0x81,
            Self::Dhcp => 0xb0,
            Self::Advertised => 0xc0,
            Self::Neighbor => 0xd0,
            Self::Default => 0xfd,
            Self::Implicit => 0xff,
            Self::Added { priority, .. } => priority,
        }
    }
}

impl Ord for Source {
    fn cmp(&self, other: &Self) -> Ordering {
        // Implicit routes rank last, also behind a client's source of priority 0xff.
        let rank =
            |source: &Self| (source.priority(), matches!(source, Self::Implicit), source.id());
        rank(self).cmp(&rank(other))
    }
}

impl PartialOrd for Source {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The number of the first added source.
const FIRST: u8 = 32;

/// The sources that clients have added, each with a rank of its own.
#[derive(Default)]
pub struct Sources {
    /// Name and priority, by number.
    added: Mutex<Vec<(String, u8)>>,
}

impl Shared for Sources {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Sources {
    fn added(&self) -> MutexGuard<'_, Vec<(String, u8)>> {
        self.added.lock().expect("no panic inside")
    }

    /// Adds a source. Adding one again with the same name and priority gives the same source.
    ///
    /// # Errors
    /// A name that is in use with another priority (−81); no name, or a priority up to that of
    /// interfaces' addresses (−7); too many sources (−99).
    pub fn add(&self, name: &str, priority: u8) -> Result<Source, Error> {
        if name.is_empty() || priority <= Source::Interface.priority() {
            return Err(Error::parse("a source needs a name, and a priority above 3")
                .retval(retval::INVALID_VALUE));
        }
        let mut added = self.added();
        let there = added.iter().position(|(there, _)| there == name);
        let standing = Source::ALL.iter().find(|source| source.name() == name);
        if standing.is_some() || there.is_some_and(|at| added[at].1 != priority) {
            let why = format!("there is a source `{name}' already, of another priority");
            return Err(Error::failed(why).retval(retval::VALUE_EXIST));
        }
        let at = there.unwrap_or(added.len());
        let Some(id) = u8::try_from(at).ok().and_then(|at| at.checked_add(FIRST)) else {
            return Err(Error::limit("no more sources").retval(retval::TABLE_TOO_BIG));
        };
        if there.is_none() {
            added.push((name.to_string(), priority));
        }
        Ok(Source::Added { priority, id })
    }

    /// The source of this number.
    pub fn of(&self, id: u8) -> Option<Source> {
        let added =
            |at: u8| Some(Source::Added { priority: self.added().get(usize::from(at))?.1, id });
        let standing = Source::ALL.into_iter().find(|source| source.id() == id);
        standing.or_else(|| id.checked_sub(FIRST).and_then(added))
    }

    /// The name of a source.
    pub fn name(&self, source: Source) -> String {
        match source {
            Source::Added { id, .. } => {
                let name = |at: u8| Some(self.added().get(usize::from(at))?.0.clone());
                id.checked_sub(FIRST).and_then(name).unwrap_or_else(|| source.name().into())
            }
            source => source.name().into(),
        }
    }

    /// All sources, best first.
    pub fn all(&self) -> Vec<Source> {
        let added = (FIRST..)
            .zip(&*self.added())
            .map(|(id, (_, priority))| Source::Added { priority: *priority, id })
            .collect::<Vec<_>>();
        let mut all: Vec<Source> = Source::ALL.into_iter().chain(added).collect();
        all.sort_unstable();
        all
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    /// By priority, then implicit routes behind all others, then by number.
    #[suite::test]
    fn what_nobody_set_ranks_last() {
        let added = |priority, id| Source::Added { priority, id };
        let want = [
            Source::Special,
            Source::Classify,
            Source::Interface,
            added(4, 40),
            Source::Plugin,
            Source::Api,
            Source::Cli,
            added(0x81, 32),
            Source::Dhcp,
            Source::Advertised,
            Source::Neighbor,
            Source::Default,
            added(0xfe, 33),
            added(0xff, 34),
            added(0xff, u8::MAX),
            Source::Implicit,
        ];
        assert!(want.is_sorted_by(|a, b| a < b), "{want:?}");
        let mut all = want;
        all.reverse();
        all.sort_unstable();
        assert_eq!(all, want);
        assert!(Source::ALL.is_sorted(), "{:?}", Source::ALL);
    }
}

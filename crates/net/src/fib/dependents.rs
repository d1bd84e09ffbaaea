// SPDX-License-Identifier: Apache-2.0
//! Dependents of an interface, for the log of its link.

use super::list::ListId;
use super::{PathKind, RouteTables};
use graph::SwIfIndex;
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

/// Path lists that are visited at most: the control thread has other work, and the log other lines.
const VISITED: usize = 10_000;

/// Next hops that are named.
const NAMED: usize = 3;

/// Routes whose packets leave by an interface, also by way of other routes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Dependents {
    /// Number of routes.
    pub routes: usize,
    /// Number of tunnels and other objects that follow a route.
    pub followers: usize,
    /// Their next hops.
    pub nexthops: BTreeSet<IpAddr>,
    /// True if there are more than are counted.
    pub more: bool,
}

impl RouteTables {
    /// Counts the dependents of an interface.
    pub fn dependents(&self, sw_if: SwIfIndex) -> Dependents {
        let inner = self.inner();
        let mut found = Dependents::default();
        let mut seen: BTreeSet<ListId> = BTreeSet::new();
        let mut next: Vec<ListId> = inner.lists_of(sw_if).into_iter().collect();
        while let Some(id) = next.pop() {
            if seen.contains(&id) {
                continue;
            }
            if seen.len() == VISITED {
                found.more = true;
                break;
            }
            seen.insert(id);
            let Some(list) = inner.lists.get(id) else { continue };
            found.followers += list.trackers;
            found.routes += list.refs.saturating_sub(list.trackers);
            next.extend(&list.users);
            for path in &list.paths[..] {
                if let PathKind::Neighbor { nexthop, .. } | PathKind::Recursive { nexthop, .. } =
                    path.kind
                {
                    found.nexthops.insert(nexthop);
                }
            }
        }
        found
    }
}

/// `2 routes and 1 tunnel or other follower, by next hops 10.0.0.2, 10.0.0.3`; nothing if there are
/// none.
impl fmt::Display for Dependents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.routes + self.followers == 0 {
            return Ok(());
        }
        let s = |n: usize| if n == 1 { "" } else { "s" };
        let more = if self.more { "more than " } else { "" };
        write!(f, "{more}{} route{}", self.routes, s(self.routes))?;
        if self.followers > 0 {
            write!(f, " and {} tunnel{} or the like", self.followers, s(self.followers))?;
        }
        if self.nexthops.is_empty() {
            return Ok(());
        }
        write!(f, ", by next hop{} ", s(self.nexthops.len()))?;
        let named: Vec<_> = self.nexthops.iter().take(NAMED).map(IpAddr::to_string).collect();
        f.write_str(&named.join(", "))?;
        match self.nexthops.len().saturating_sub(NAMED) {
            0 => Ok(()),
            n => write!(f, " and {n} more"),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Walks over all tables, a few prefixes at a time.

use net::TableIndex;
use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::Prefix;

/// The prefix behind which a walk goes on in a table of its protocol.
#[derive(Clone, Copy, Default, Debug)]
pub struct After {
    pub ip4: Option<Prefix<Ipv4Addr>>,
    pub ip6: Option<Prefix<Ipv6Addr>>,
}

/// A walk that sets routes anew by the objects of these ids.
pub struct Walk {
    changed: HashSet<u32>,
    /// Tables that are left, with true for IPv6; the last one is being walked.
    tables: Vec<(TableIndex, bool)>,
    after: After,
}

/// A walk that removes what is stale.
pub type Sweep = Walk;

impl Walk {
    /// Over these tables of IPv4 and of IPv6.
    pub fn over(changed: HashSet<u32>, [ip4, ip6]: [Vec<TableIndex>; 2]) -> Self {
        let ip4 = ip4.into_iter().map(|table| (table, false));
        let tables = ip4.chain(ip6.into_iter().map(|table| (table, true))).collect();
        Self { changed, tables, after: After::default() }
    }

    /// Calls `f` with at most `n` prefixes of a table behind a prefix; it returns the last one, if
    /// there may be more. Returns true if there are more.
    pub fn step(
        &mut self,
        n: usize,
        f: impl FnOnce(bool, TableIndex, After, usize, &HashSet<u32>) -> After,
    ) -> bool {
        let Some((table, is_v6)) = self.tables.last().copied() else { return false };
        self.after = f(is_v6, table, self.after, n, &self.changed);
        if self.after.ip4.is_none() && self.after.ip6.is_none() {
            self.tables.pop();
        }
        !self.tables.is_empty()
    }
}

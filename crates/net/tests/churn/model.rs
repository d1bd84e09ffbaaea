// SPDX-License-Identifier: Apache-2.0
//! A reference model of forwarding, by the definition: no sharing, no state kept between lookups.

use graph::SwIfIndex;
use net::{AdjIndex, AdjKind, Adjacencies, Fib, Net, Path, PathKind, Source, TableIndex, TableRef};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use sync::Turn;
use wire::Prefix;

/// The final result for packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    Neighbor(u32, IpAddr),
    Table(u32),
    Drop,
    Prohibit,
    NoRoute,
    Unreach,
}

/// Maximum number of adjacencies in the walk for one address.
const DEPTH: usize = 1000;

/// Looks up the results that workers would find for packets to an address, all buckets together;
/// `None` if there is no such table.
pub fn ends<F: Net>(
    fib: &Fib<F>,
    adjs: &Adjacencies,
    table: TableIndex,
    addr: F::Addr,
    turn: &Turn<'_>,
) -> Option<BTreeSet<End>> {
    let (mut left, mut ends) = (vec![fib.adj(table, addr, turn)?], BTreeSet::new());
    let mut seen = 0;
    while let Some(index) = left.pop() {
        seen += 1;
        assert!(seen < DEPTH, "{addr} goes in a circle");
        let adj = adjs
            .get(index, turn)
            .unwrap_or_else(|| panic!("{addr} leads to {index:?}, which isn't there"));
        ends.insert(match adj.kind {
            AdjKind::Rewrite | AdjKind::Incomplete => End::Neighbor(adj.tx_if, adj.nexthop()),
            AdjKind::Lookup => End::Table(adj.table),
            AdjKind::NoRoute => End::NoRoute,
            AdjKind::Unreach => End::Unreach,
            AdjKind::Prohibit => End::Prohibit,
            AdjKind::LoadBalance => {
                let buckets = adjs.buckets(adj, turn);
                assert!(!buckets.is_empty(), "{addr} leads to no bucket");
                left.extend(buckets.iter().copied().collect::<BTreeSet<_>>());
                continue;
            }
            _ => End::Drop,
        });
    }
    Some(ends)
}

/// Each source's paths of a prefix.
type SourcePaths = BTreeMap<Source, Vec<Path>>;

/// Tables, and each source's paths of each prefix there.
pub struct Model<F: Net> {
    pub routes: HashMap<(TableIndex, Prefix<F::Addr>), SourcePaths>,
    /// The ids of the existing tables, by index.
    pub tables: BTreeMap<TableIndex, u32>,
}

impl<F: Net> Model<F> {
    pub fn new() -> Self {
        Self { routes: HashMap::new(), tables: [(TableIndex::DEFAULT, 0)].into() }
    }

    fn cover(&self, table: TableIndex, addr: F::Addr) -> Option<&Vec<Path>> {
        let at = |len| self.routes.get(&(table, Prefix::new(addr, len)?.network()));
        (0..=F::BITS).rev().find_map(at).and_then(|sources| sources.values().next())
    }

    /// The results for packets to an address.
    pub fn ends(
        &self,
        up: &BTreeMap<SwIfIndex, bool>,
        table: TableIndex,
        addr: F::Addr,
    ) -> BTreeSet<End> {
        self.cover(table, addr).map_or([End::NoRoute].into(), |list| self.list(up, list).0)
    }

    /// The results of a path list, and whether recursive paths may follow it. The changes make no
    /// circles.
    fn list(&self, up: &BTreeMap<SwIfIndex, bool>, list: &[Path]) -> (BTreeSet<End>, bool) {
        let mut all: Vec<(u8, BTreeSet<End>, bool)> = Vec::new();
        for path in list {
            let found = match path.kind {
                PathKind::Neighbor { sw_if, nexthop } if up[&sw_if] => {
                    Some(([End::Neighbor(sw_if.0, nexthop)].into(), true))
                }
                PathKind::Fixed(adj) => {
                    let end = if adj == AdjIndex::PROHIBIT { End::Prohibit } else { End::Drop };
                    Some(([end].into(), false))
                }
                PathKind::Lookup(table) => Some(([End::Table(table.index.0)].into(), true)),
                PathKind::Recursive { table, nexthop } => {
                    let next = F::of_ip(nexthop).and_then(|hop| self.cover(table, hop));
                    let followed = next.map(|next| self.list(up, next));
                    followed.filter(|(_, usable)| *usable)
                }
                _ => None,
            };
            all.extend(found.map(|(ends, usable)| (path.preference, ends, usable)));
        }
        let Some(best) = all.iter().map(|(preference, ..)| *preference).min() else {
            return ([End::Unreach].into(), false);
        };
        all.retain(|(preference, ..)| *preference == best);
        let usable = all.iter().any(|(.., usable)| *usable);
        (all.into_iter().flat_map(|(_, ends, _)| ends).collect(), usable)
    }

    /// Returns true if a route of another table leads to this one.
    pub fn is_used(&self, table: TableIndex) -> bool {
        let leads = |path: &Path| match path.kind {
            PathKind::Lookup(TableRef { index: to, .. })
            | PathKind::Recursive { table: to, .. } => table == to,
            _ => false,
        };
        let others = self.routes.iter().filter(|((at, _), _)| *at != table);
        others.flat_map(|(_, sources)| sources.values()).flatten().any(leads)
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `ip4-lookup`, `ip6-lookup`: from the destination to an adjacency.

use crate::family::{Ip, error};
use crate::flow;
use crate::route_counts::RouteCounts;
use buffer::{Buffer, FRAME_SIZE, Flags};
use graph::{Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, Trace, Vector, World};
use net::{Adj, AdjIndex, AdjKind, Adjacencies, Fib, Interfaces, IpMeta, TableIndex, Views};
use simd::Isa;
use stats::CombinedLane;
use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::Arc;
use sync::Turn;
use wire::Address;
use wire::describe::describe;

/// Load-balances and lookups in other tables in a row before a packet counts as looping.
const STEPS: usize = 8;

pub struct Lookup<F: Ip> {
    fib: Arc<Fib<F>>,
    pub(crate) adjacencies: Arc<Adjacencies>,
    pub(crate) interfaces: Arc<Interfaces>,
    /// By adjacency.
    pub(crate) counters: CombinedLane,
    routes: RouteCounts,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
#[allow(
    dead_code,
    reason = "packets go by the adjacency's own node; the picture of the graph shows these"
)]
pub enum To {
    #[dynamic]
    Node(NodeIndex),
    #[next("{ip}-rewrite")]
    Rewrite,
    #[next("{ip4-arp|ip6-discover-neighbor}")]
    Resolve,
    #[next("{ip}-glean")]
    Glean,
    #[next("{ip}-local")]
    Local,
    #[next("{ip}-punt")]
    Punt,
    #[next("ip6-link-local")]
    LinkLocal,
    /// {ip} destination lookup miss
    #[next("{ip}-icmp-error", reason)]
    DstLookupMiss,
    /// {ip} destination unreachable by its route
    #[next("{ip}-icmp-error", reason)]
    Unreachable,
    /// {ip} destination prohibited by its route
    #[next("{ip}-icmp-error", reason)]
    Prohibited,
    /// {ip} drop
    #[drop]
    Drop,
    /// {ip} destination is no host's ({RFC 1812 5.3.7|RFC 4291 2.5})
    #[drop]
    DstMartian,
    /// {ip} routes lead in a circle
    #[drop]
    Loop,
    /// {ip} table is gone
    #[drop]
    NoTable,
}

/// Record of a lookup.
#[derive(Clone, Copy)]
pub struct LookupTrace<F> {
    fib: u32,
    adj: AdjIndex,
    kind: AdjKind,
    tx_if: u32,
    nexthop: IpAddr,
    flow_hash: u32,
    head: Head,
    version: PhantomData<F>,
}

impl<F: Ip> Trace for LookupTrace<F> {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fib {} dpo-idx {} flow hash: {:#010x}", self.fib, self.adj, self.flow_hash)?;
        write!(f, "\n{:?}", self.kind)?;
        if self.tx_if != u32::MAX {
            write!(f, " {} sw_if_index {}", self.nexthop, self.tx_if)?;
        }
        write!(f, "\n{}", describe(self.head.bytes(), F::LAYER))
    }
}

impl<F: Ip> Build for Lookup<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let adjacencies: Arc<Adjacencies> = world.get();
        Self {
            fib: world.get(),
            interfaces: world.get(),
            counters: adjacencies.counters.lane(thread.at()),
            routes: RouteCounts::new(world, thread),
            adjacencies,
        }
    }
}

/// True if all are equal. Without an early exit, so that many are compared at once.
#[inline(always)]
fn all_equal<T: Copy + PartialEq>(all: &[T]) -> bool {
    all.iter().fold(true, |equal, one| equal & (*one == all[0]))
}

/// The table that a packet is looked up in.
#[inline(always)]
pub fn table_of<F: Ip>(b: &Buffer, views: Views<'_>) -> TableIndex {
    if b.flags.contains(Flags::TABLE) {
        TableIndex(b.tx_if)
    } else {
        views.get(b.rx_if as usize).map_or(TableIndex::DEFAULT, |view| F::table_of(&view))
    }
}

/// Result of a lookup: an adjacency that is no load-balance or further lookup, and the table of the
/// last lookup.
struct Match<'t> {
    index: AdjIndex,
    adj: &'t Adj,
    fib: TableIndex,
}

impl<F: Ip> Lookup<F> {
    /// Follows load-balances and further lookups from the adjacency of a route. Counts for the
    /// routes passed, but not for the route itself. Among several paths the flow hash selects:
    /// `flow`, or the packet's own.
    #[inline(always)]
    fn follow<'t>(
        &'t self,
        b: &mut Buffer,
        index: AdjIndex,
        fib: TableIndex,
        flow: Option<u32>,
        turn: &'t Turn<'_>,
    ) -> Option<Match<'t>> {
        let adj = self.adjacencies.get(index, turn)?;
        self.count_via(adj, 1, b.packet_len() as u64, turn);
        if matches!(adj.kind, AdjKind::LoadBalance | AdjKind::Lookup | AdjKind::LookupSource) {
            return self.choose(b, Match { index, adj, fib }, flow, turn);
        }
        Some(Match { index, adj, fib })
    }

    #[inline(always)]
    fn choose<'t>(
        &'t self,
        b: &mut Buffer,
        mut at: Match<'t>,
        flow: Option<u32>,
        turn: &'t Turn<'_>,
    ) -> Option<Match<'t>> {
        let hash = flow.unwrap_or_else(|| flow::hash::<F>(b, 0, self.fib.flow(at.fib, turn)));
        b.flow_hash = hash;
        let bytes = b.packet_len() as u64;
        for step in 0..STEPS {
            match at.adj.kind {
                AdjKind::LoadBalance => {
                    at.index = self.adjacencies.select(at.adj, hash, step as u32, turn)?;
                }
                AdjKind::Lookup | AdjKind::LookupSource => {
                    at.fib = TableIndex(at.adj.table);
                    let by_source = at.adj.kind == AdjKind::LookupSource;
                    let key = if by_source { F::source(b) } else { F::destination(b) };
                    let leaf = self.fib.table(at.fib, turn)?.lookup(key, turn);
                    at.index = AdjIndex(leaf.hop);
                    self.count_to(leaf.route, bytes);
                }
                _ => return Some(at),
            }
            at.adj = self.adjacencies.get(at.index, turn)?;
            self.count_via(at.adj, 1, bytes, turn);
        }
        None
    }

    /// Counts for the route that was looked up.
    #[inline(always)]
    fn count_to(&self, route: u32, bytes: u64) {
        if self.routes.counting() {
            self.routes.to(route, 1, bytes);
        }
    }

    /// Counts for the routes that were followed to an adjacency.
    #[inline(always)]
    pub(crate) fn count_via(&self, adj: &Adj, packets: u64, bytes: u64, turn: &Turn<'_>) {
        if adj.via != 0 && self.routes.counting() {
            self.routes.via(adj.via, packets, bytes, turn);
        }
    }

    /// Stores the result in the packet's metadata, and returns its next node.
    #[inline(always)]
    fn apply(&self, b: &mut Buffer, Match { index, adj, fib }: Match<'_>) -> To {
        self.counters.add(adj.counter as usize, 1, b.packet_len() as u64);
        if adj.kind.forwards() {
            b.set_scratch(IpMeta::of(index, fib.0));
            return To::Node(adj.next);
        }
        refuse::<F>(b, adj.kind, fib)
    }

    #[inline(always)]
    fn find<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        views: Views<'_>,
        cx: &mut Cx<'_, TRACED>,
    ) -> To {
        let fib = table_of::<F>(b, views);
        b.flags.remove(Flags::TABLE);
        let turn = cx.turn;
        let Some(table) = self.fib.table(fib, turn) else { return To::NoTable };
        let leaf = table.lookup(F::destination(b), turn);
        let index = AdjIndex(leaf.hop);
        if TRACED {
            b.flow_hash = 0;
        }
        self.count_to(leaf.route, b.packet_len() as u64);
        let found = self.follow(b, index, fib, None, turn);
        if TRACED {
            let nothing = (fib, index, Adj::default());
            let (fib, adj_index, adj) =
                found.as_ref().map_or(nothing, |f| (f.fib, f.index, *f.adj));
            let record = LookupTrace::<F> {
                fib: fib.0,
                adj: adj_index,
                kind: adj.kind,
                tx_if: adj.tx_if,
                nexthop: adj.nexthop(),
                flow_hash: b.flow_hash,
                head: Head::of(b),
                version: PhantomData,
            };
            cx.trace(b, record);
        }
        match found {
            Some(found) => self.apply(b, found),
            None => To::Loop,
        }
    }
}

/// Forwards packets by a route that a feature follows, for example after it has put a header in
/// front of them.
pub struct Onward<F: Ip>(pub(crate) Lookup<F>);

impl<F: Ip> Onward<F> {
    /// Creates it for a node of this thread.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self(Lookup::build(world, thread))
    }

    /// Returns the next node of a packet that takes this adjacency ([`net::Tracked`]); the packet
    /// starts at its IP header. `None` if it can't be forwarded. Load-balances hash as
    /// configured for the table, and the packet is counted as after a lookup.
    #[inline(always)]
    pub fn go(
        &self,
        b: &mut Buffer,
        adj: AdjIndex,
        table: TableIndex,
        turn: &Turn<'_>,
    ) -> Option<NodeIndex> {
        self.go_with(b, adj, table, None, turn)
    }

    /// As [`Self::go`]; among several paths this hash selects, if there is one, and not the
    /// packet's own.
    #[inline(always)]
    pub fn go_with(
        &self,
        b: &mut Buffer,
        adj: AdjIndex,
        table: TableIndex,
        flow: Option<u32>,
        turn: &Turn<'_>,
    ) -> Option<NodeIndex> {
        Some(self.find(b, adj, table, flow, turn)?.next)
    }

    /// Leaves the packet for the next node of its adjacency, and returns the adjacency.
    #[inline(always)]
    pub(crate) fn find<'t>(
        &'t self,
        b: &mut Buffer,
        adj: AdjIndex,
        table: TableIndex,
        flow: Option<u32>,
        turn: &'t Turn<'_>,
    ) -> Option<&'t Adj> {
        let found =
            self.0.follow(b, adj, table, flow, turn).filter(|found| found.adj.kind.forwards())?;
        let adj = found.adj;
        self.0.apply(b, found);
        Some(adj)
    }
}

/// Returns the next node of a packet that is not forwarded, with its ICMP error if there is one.
#[cold]
#[inline(never)]
fn refuse<F: Ip>(b: &mut Buffer, kind: AdjKind, fib: TableIndex) -> To {
    let (to, says) = match kind {
        AdjKind::Martian => return To::DstMartian,
        AdjKind::NoRoute => (To::DstLookupMiss, F::ERRORS.no_route),
        AdjKind::Unreach => (To::Unreachable, F::ERRORS.unreachable),
        AdjKind::Prohibit => (To::Prohibited, F::ERRORS.prohibited),
        _ => return To::Drop,
    };
    b.set_scratch(error(says, 0).in_table(fib.0));
    to
}

impl<F: Ip> Node for Lookup<F> {
    const NAME: &'static str = "{ip}-lookup";
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    const HOT: bool = true;
    type Next = To;
    type Trace = LookupTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let views = self.interfaces.views(cx.turn);
        self.find(b, views, cx)
    }

    /// All destinations first, so that the loads of the table's cells overlap; and what is the same
    /// for all packets once.
    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        let (n, turn) = (v.len(), cx.turn);
        let views = self.interfaces.views(turn);
        let (mut keys, mut hops) = ([F::key(F::Addr::ZERO); FRAME_SIZE], [0; FRAME_SIZE]);
        let (rx_if, mut bytes, mut differ) = (v.get(0).rx_if, 0, 0);
        for (key, b) in keys.iter_mut().zip(v.range_mut_ahead(0, n)) {
            *key = F::destination(b);
            bytes += b.packet_len() as u64;
            differ |= (b.rx_if ^ rx_if) | (b.flags & Flags::TABLE).bits();
        }
        let fib = table_of::<F>(v.get(0), views);
        // Interfaces may have the same table.
        let in_fib =
            |b: &mut Buffer| !b.flags.contains(Flags::TABLE) && table_of::<F>(b, views) == fib;
        if differ != 0 && !v.iter_mut().all(in_fib) {
            for (b, out) in v.packets() {
                out.go(self.find(b, views, cx));
            }
            return;
        }
        let Some(table) = self.fib.table(fib, turn) else { return v.set_all(To::NoTable) };
        if self.routes.counting() {
            let mut routes = [0; FRAME_SIZE];
            table.leaves::<I>(&keys[..n], &mut hops[..n], &mut routes[..n], turn);
            if all_equal(&routes[..n]) {
                self.routes.to(routes[0], n as u64, bytes);
            } else {
                // A small loop of its own, so that cache misses overlap.
                for (b, route) in v.iter_mut().zip(&routes) {
                    self.routes.to(*route, 1, b.packet_len() as u64);
                }
            }
        } else {
            table.hops::<I>(&keys[..n], &mut hops[..n], turn);
        }
        // Many routes may have the same paths.
        let index = AdjIndex(hops[0]);
        if all_equal(&hops[..n])
            && let Some(adj) = self.adjacencies.get(index, turn).filter(|a| a.kind.forwards())
        {
            for b in v.iter_mut() {
                b.set_scratch(IpMeta::of(index, fib.0));
            }
            v.set_all(To::Node(adj.next));
            self.counters.add(adj.counter as usize, n as u64, bytes);
            self.count_via(adj, n as u64, bytes, turn);
            return;
        }
        for ((b, out), hop) in v.packets().zip(&hops) {
            out.go(match self.follow(b, AdjIndex(*hop), fib, None, turn) {
                Some(found) => self.apply(b, found),
                None => To::Loop,
            });
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! From a destination to the transmit node.

use super::exits::{Exits, Outward};
use super::plan::Plan;
use super::{ETHERNET, To};
use crate::family::{Ip, Words};
use crate::flow;
use crate::headers::BLOCK;
use crate::path_mtu::PathMtus;
use crate::route_counts::RouteCounts;
use buffer::Buffer;
use graph::{Cx, ThreadIndex, Vector, World};
use net::{Adj, AdjIndex, AdjKind, Adjacencies, Fib, IfCounters, IfView, TableIndex};
use simd::Isa;
use stats::{CombinedLane, Lane};
use std::sync::Arc;

/// A group of less than one in so many packets isn't worth being looked for.
const SMALL_GROUP: u32 = 8;

/// What the two protocols do differently.
pub trait Protocol: Ip {
    /// What is judged of a frame's IP header, and the destination; `None` if the frame is too short.
    fn look(b: &Buffer) -> Option<(Words, Self::Key)>;

    /// Takes one from the time to live, writes `ends` in place of the Ethernet header, and gives the length of the IP packet; `None`,
    /// and nothing changed, if it has none left, is longer than `mtu`, or must not leave its link.
    fn hop(b: &mut Buffer, mtu: usize, ends: Option<&Ends>) -> Option<usize>;
}

/// First and last bytes of a layer-2 header.
#[derive(Clone, Copy)]
pub struct Ends([[u8; 8]; 2]);

impl Ends {
    /// Writes a header of Ethernet's length.
    #[inline(always)]
    pub fn write(&self, to: &mut [u8; ETHERNET]) {
        to[..8].copy_from_slice(&self.0[0]);
        to[ETHERNET - 8..].copy_from_slice(&self.0[1]);
    }
}

/// Routes of one protocol, and what is counted for them.
pub struct Ways<F: Protocol> {
    fib: Arc<Fib<F>>,
    adjacencies: Arc<Adjacencies>,
    path_mtus: Arc<PathMtus<F>>,
    outward: Outward,
    received: Lane,
    /// By adjacency.
    counters: CombinedLane,
    routes: RouteCounts,
    /// By interface.
    tx: CombinedLane,
}

/// Where the packets of a plan came in.
#[derive(Clone, Copy)]
pub struct From {
    pub rx_if: u32,
    pub table: u32,
    /// The above is only the last one's.
    pub differ: bool,
}

/// What is done with packets over one adjacency. By value: what is read through a reference has to be read again after every store
/// to a packet.
#[derive(Clone, Copy)]
struct Way {
    to: To,
    tx_if: u32,
    mtu: usize,
    counter: u32,
    via: u32,
    ends: Ends,
    header_len: usize,
}

impl Way {
    /// Changes the packet for its way; `None`, and nothing changed, if the graph shall have it. Gives the bytes of the IP packet.
    #[inline(always)]
    fn take<F: Protocol>(&self, b: &mut Buffer) -> Option<usize> {
        if b.rx_if == self.tx_if {
            return None;
        }
        if self.header_len == ETHERNET {
            let total = F::hop(b, self.mtu, Some(&self.ends))?;
            // What lies behind the packet was padding of the frame.
            b.truncate(ETHERNET + total);
            b.tx_if = self.tx_if;
            return Some(total);
        }
        if b.headroom() + ETHERNET < self.header_len {
            return None;
        }
        let total = F::hop(b, self.mtu, None)?;
        b.truncate(ETHERNET + total);
        b.tx_if = self.tx_if;
        let Ends([first, last]) = self.ends;
        let pulled = b.pull(ETHERNET);
        let pushed = b.push_ends(&first, &last, self.header_len);
        debug_assert!(pulled && pushed);
        Some(total)
    }
}

/// What was found for the packets of a plan.
struct Found<'p, F: Protocol> {
    plan: &'p Plan<F>,
    from: From,
    hops: [u32; BLOCK],
    routes: [u32; BLOCK],
}

/// The numbers of the bits that are set, from the lowest.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = first(self.0);
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

/// The lowest bit of those that are set; 0 if none is.
#[inline(always)]
fn first(bits: u64) -> usize {
    bits.trailing_zeros() as usize % BLOCK
}

impl<F: Protocol> Ways<F> {
    pub fn new(world: &World, thread: ThreadIndex, received: Lane) -> Self {
        let adjacencies = world.get::<Adjacencies>();
        Self {
            fib: world.get(),
            path_mtus: world.get(),
            outward: Outward::new::<F>(world),
            received,
            counters: adjacencies.counters.lane(thread.at()),
            routes: RouteCounts::new(world, thread),
            tx: world.get::<IfCounters>().tx.lane(thread.at()),
            adjacencies,
        }
    }

    /// Bytes of a packet at most: a larger one may not fit on its whole way.
    #[inline(always)]
    fn least<const TRACED: bool>(&self, cx: &Cx<'_, TRACED>) -> usize {
        self.path_mtus.known(cx.turn).least()
    }

    /// What is done with packets over an adjacency that leaves no choice; `None` if the graph does it.
    #[inline(always)]
    fn way<const TRACED: bool>(
        &self,
        adj: &Adj,
        exits: &mut Exits,
        views: &[IfView],
        cx: &Cx<'_, TRACED>,
    ) -> Option<Way> {
        if adj.kind != AdjKind::Rewrite {
            return None;
        }
        Some(Way {
            to: exits.find(adj.tx_if, adj.output, self.outward, views, cx)?,
            tx_if: adj.tx_if,
            mtu: usize::from(adj.mtu).min(self.least(cx)),
            counter: adj.counter,
            via: adj.via,
            ends: Ends(adj.short_rewrite()?),
            header_len: adj.rewrite_len.into(),
        })
    }

    /// What a route leads to: one of several ways by the packet's flow, if there are several.
    #[inline(always)]
    fn adj<'t, const TRACED: bool>(
        &'t self,
        b: &mut Buffer,
        hop: AdjIndex,
        table: u32,
        cx: &Cx<'t, TRACED>,
    ) -> Option<&'t Adj> {
        let adj = self.adjacencies.get(hop, cx.turn)?;
        if adj.kind == AdjKind::LoadBalance { self.choose(b, adj, table, cx) } else { Some(adj) }
    }

    #[inline(always)]
    fn choose<'t, const TRACED: bool>(
        &'t self,
        b: &mut Buffer,
        adj: &Adj,
        table: u32,
        cx: &Cx<'t, TRACED>,
    ) -> Option<&'t Adj> {
        // One that is followed and chosen from is counted in several places: the graph's business.
        if adj.via != 0 || !b.pull(ETHERNET) {
            return None;
        }
        // What lies behind the packet has no ports.
        b.truncate(F::total(F::words(b).0) as usize);
        let hash = flow::hash::<F>(b, self.fib.flow(TableIndex(table), cx.turn));
        let back = b.rewind(ETHERNET);
        debug_assert!(back);
        b.flow_hash = hash;
        let index = *self.adjacencies.buckets(adj, cx.turn).get((hash & adj.table) as usize)?;
        self.adjacencies.get(index, cx.turn)
    }

    /// One packet.
    #[inline(always)]
    pub fn one<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        table: u32,
        views: &[IfView],
        cx: &Cx<'_, TRACED>,
    ) -> Option<To> {
        let (words, key) = F::look(b)?;
        if F::wrong::<true>(words, (b.len() - ETHERNET) as u32) != 0 {
            return None;
        }
        let lpm = self.fib.table(TableIndex(table), cx.turn)?;
        let leaf = lpm.lookup(key, cx.turn);
        let adj = self.adj(b, AdjIndex(leaf.hop), table, cx)?;
        let way = self.way(adj, &mut Exits::new(), views, cx)?;
        let total = way.take::<F>(b)?;
        self.received.add(b.rx_if as usize, 1);
        self.count_over(&way, 1, total as u64);
        if self.routes.counting() {
            self.count_to(leaf.route, &way, 1, total as u64, cx);
        }
        Some(way.to)
    }

    /// All packets of a plan. Those that don't stay as they are.
    #[inline(always)]
    pub fn all<I: Isa>(
        &self,
        plan: &Plan<F>,
        v: &mut Vector<'_, To>,
        from: From,
        exits: &mut Exits,
        views: &[IfView],
        cx: &Cx<'_, false>,
    ) {
        let (n, turn) = (plan.len(), cx.turn);
        if n == 0 {
            return;
        }
        let (mut hops, mut routes) = ([0; BLOCK], [0; BLOCK]);
        let counting = self.routes.counting();
        let Some(lpm) = self.fib.table(TableIndex(from.table), turn) else { return };
        let keys = plan.keys();
        if from.differ {
            for (i, key) in keys.iter().enumerate() {
                let table = self.fib.table(TableIndex(self.table_of(v.get(plan.at(i)), views)), turn);
                if let Some(leaf) = table.map(|table| table.lookup(*key, turn)) {
                    (hops[i], routes[i]) = (leaf.hop, leaf.route);
                }
            }
        } else if keys.iter().fold(true, |same, key| same & (*key == keys[0])) {
            // One flow.
            let leaf = lpm.lookup(keys[0], turn);
            (hops, routes) = ([leaf.hop; BLOCK], [leaf.route; BLOCK]);
        } else if counting {
            lpm.leaves::<I>(keys, &mut hops[..n], &mut routes[..n], turn);
        } else {
            lpm.hops::<I>(keys, &mut hops[..n], turn);
        }
        if counting {
            routes[..n].iter().for_each(|route| self.routes.prefetch(*route));
        }
        let found = Found { plan, from, hops, routes };
        // Packets over one adjacency together, as long as that makes large groups.
        let all = u64::MAX >> (BLOCK - n);
        let mut left = all;
        while left != 0 {
            let hop = hops[first(left)];
            let group = left & simd::equal_words::<I>(&hops, hop);
            if group.count_ones() * SMALL_GROUP < left.count_ones() {
                break;
            }
            left &= !group;
            let hop = AdjIndex(hop);
            let Some(adj) = self.adjacencies.get(hop, turn) else { continue };
            if adj.kind == AdjKind::LoadBalance {
                self.others(&found, group, v, exits, views, cx);
                continue;
            }
            let Some(way) = self.way(adj, exits, views, cx) else { continue };
            if group == all {
                self.together(&way, &found, 0..n, v, cx);
            } else {
                self.together(&way, &found, Bits(group), v, cx);
            }
        }
        if left != 0 {
            self.each(&found, left, v, exits, views, cx);
        }
    }

    /// Packets of a plan that go one way.
    #[inline(always)]
    fn together(
        &self,
        way: &Way,
        found: &Found<'_, F>,
        which: impl Iterator<Item = usize>,
        v: &mut Vector<'_, To>,
        cx: &Cx<'_, false>,
    ) {
        let Found { plan, from, routes, .. } = found;
        let (way, counting) = (*way, self.routes.counting());
        let (mut packets, mut bytes) = (0, 0);
        let one_route = routes[..plan.len()].iter().fold(true, |same, route| same & (*route == routes[0]));
        let one_by_one = from.differ | (counting & !one_route);
        for i in which {
            let at = plan.at(i);
            let b = v.get_mut(at);
            let Some(total) = way.take::<F>(b) else { continue };
            let rx_if = b.rx_if;
            v.set(at, way.to);
            packets += 1;
            bytes += total as u64;
            if one_by_one {
                if from.differ {
                    self.received.add(rx_if as usize, 1);
                }
                if counting & !one_route {
                    self.count_to(routes[i % BLOCK], &way, 1, total as u64, cx);
                }
            }
        }
        if !from.differ {
            self.received.add(from.rx_if as usize, packets);
        }
        if counting & one_route {
            self.count_to(routes[0], &way, packets, bytes, cx);
        }
        self.count_over(&way, packets, bytes);
    }

    /// Packets of a plan that go many ways.
    #[inline(always)]
    fn each(
        &self,
        found: &Found<'_, F>,
        which: u64,
        v: &mut Vector<'_, To>,
        exits: &mut Exits,
        views: &[IfView],
        cx: &Cx<'_, false>,
    ) {
        let Found { plan, from, hops, routes } = found;
        // A small loop of its own, so that what isn't in the cache is waited for together.
        Bits(which).for_each(|i| self.adjacencies.prefetch_ordinary(AdjIndex(hops[i])));
        let (counting, least) = (self.routes.counting(), self.least(cx));
        let (counters, tx) = (self.counters.cells(), self.tx.cells());
        let (mut packets, mut others) = (0, 0);
        for i in Bits(which) {
            let Some(adj) = self.adjacencies.ordinary(AdjIndex(hops[i])) else {
                others |= 1 << i;
                continue;
            };
            let tx_if = adj.tx_if.into();
            let Some(to) = exits.find(tx_if, adj.output, self.outward, views, cx) else { continue };
            let way = Way {
                to,
                tx_if,
                mtu: usize::from(adj.mtu).min(least),
                counter: adj.counter,
                via: adj.via,
                ends: Ends(adj.ends),
                header_len: ETHERNET,
            };
            let at = plan.at(i);
            let b = v.get_mut(at);
            let Some(total) = way.take::<F>(b) else { continue };
            if from.differ {
                self.received.add(b.rx_if as usize, 1);
            }
            packets += 1;
            counters.add(way.counter as usize, 1, total as u64);
            tx.add(way.tx_if as usize, 1, (total + ETHERNET) as u64);
            if counting {
                self.count_to(routes[i], &way, 1, total as u64, cx);
            }
            v.set(at, way.to);
        }
        if !from.differ {
            self.received.add(from.rx_if as usize, packets);
        }
        if others != 0 {
            self.others(found, others, v, exits, views, cx);
        }
    }

    /// Packets of a plan whose adjacency has to be looked at whole.
    #[inline(always)]
    fn others(
        &self,
        found: &Found<'_, F>,
        which: u64,
        v: &mut Vector<'_, To>,
        exits: &mut Exits,
        views: &[IfView],
        cx: &Cx<'_, false>,
    ) {
        let Found { plan, hops, routes, .. } = found;
        let counting = self.routes.counting();
        for i in Bits(which) {
            let at = plan.at(i);
            let b = v.get_mut(at);
            let table = self.table_of(b, views);
            let Some(adj) = self.adj(b, AdjIndex(hops[i]), table, cx) else { continue };
            let Some(way) = self.way(adj, exits, views, cx) else { continue };
            let Some(total) = way.take::<F>(b) else { continue };
            self.received.add(b.rx_if as usize, 1);
            self.count_over(&way, 1, total as u64);
            if counting {
                self.count_to(routes[i], &way, 1, total as u64, cx);
            }
            v.set(at, way.to);
        }
    }

    #[inline(always)]
    fn table_of(&self, b: &Buffer, views: &[IfView]) -> u32 {
        views.get(b.rx_if as usize).map_or(0, |view| F::table_of(view).0)
    }

    /// Counts for the adjacency, and for the interface that packets leave by.
    #[inline(always)]
    fn count_over(&self, way: &Way, packets: u64, bytes: u64) {
        self.counters.add(way.counter as usize, packets, bytes);
        self.tx.add(way.tx_if as usize, packets, bytes + packets * way.header_len as u64);
    }

    /// Counts for the route, and for those that it follows.
    #[inline(always)]
    fn count_to<const TRACED: bool>(
        &self,
        route: u32,
        way: &Way,
        packets: u64,
        bytes: u64,
        cx: &Cx<'_, TRACED>,
    ) {
        self.routes.to(route, packets, bytes);
        if way.via != 0 {
            self.routes.via(way.via, packets, bytes, cx.turn);
        }
    }
}

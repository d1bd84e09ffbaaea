// SPDX-License-Identifier: Apache-2.0
//! `ip4-rx-urpf-strict` and its kind: packets that don't take the super-path, one by one. The
//! others are checked by the stage, many at once.

use crate::accepted::Accepted;
use crate::config::Config;
use buffer::{Buffer, Flags};
use graph::{Build, Configured, Cx, Next, Node, ThreadIndex, Trace, World};
use net::{Adj, AdjIndex, AdjKind, Adjacencies, Fib, Interfaces, Net, TableIndex};
use simd::Isa;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use sync::Turn;
use tables::Lpm;
use wire::{Address, Header, IpHeader};

/// Lookups in other tables, one behind the other, before a route counts as leading in a circle.
const STEPS: usize = 8;

/// With `TX`, on the arc of packets that leave; with `STRICT`, the route has to lead back by the
/// same interface.
pub struct Urpf<F: Net, const TX: bool, const STRICT: bool>(Check<F>);

/// The check that nodes and their stages share, compiled once for all four.
pub struct Check<F: Net> {
    pub(crate) fib: Arc<Fib<F>>,
    adjacencies: Arc<Adjacencies>,
    interfaces: Arc<Interfaces>,
    accepted: Arc<Accepted<F>>,
    /// Packets that leave are checked.
    pub(crate) is_tx: bool,
    is_strict: bool,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next_feature]
    Next,
    /// uRPF Drop
    #[drop]
    #[counter("uRPF Drop")]
    NoRoute,
    /// uRPF Drop
    #[drop]
    #[counter("uRPF Drop")]
    OtherInterface,
    /// {ip} length < header length
    #[drop]
    TooShort,
}

#[derive(Clone, Copy)]
pub struct UrpfTrace {
    source: Option<IpAddr>,
    fib: TableIndex,
    to: To,
}

impl Trace for UrpfTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(source) = self.source else { return f.write_str("not asked") };
        let how = match self.to {
            To::Next => "passes",
            To::NoRoute => "has no route",
            To::OtherInterface => "is reached by another interface",
            To::TooShort => "can't be read",
        };
        write!(f, "source {source} in fib {} {how}", self.fib)
    }
}

impl<F: Net, const TX: bool, const STRICT: bool> Build for Urpf<F, TX, STRICT> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(Check::new(world, TX, STRICT))
    }
}

impl<F: Net> Check<F> {
    pub(crate) fn new(world: &World, is_tx: bool, is_strict: bool) -> Self {
        Self {
            fib: world.get(),
            adjacencies: world.get(),
            interfaces: world.get(),
            accepted: world.get(),
            is_tx,
            is_strict,
        }
    }
}

/// Returns true if a source is valid on its link only, and so needs no route.
#[inline(always)]
pub(crate) fn exempt<F: Net>(src: F::Addr) -> bool {
    F::IS_V6 && src.link_local()
}

/// The source of a packet to check; `Err` if the packet need not or can't be checked.
#[inline(always)]
fn source<F: Net>(b: &Buffer, is_tx: bool) -> Result<F::Addr, To> {
    let at = if is_tx { b.l3_at() } else { 0 };
    let ip = F::Header::view_at(b.data(), at).ok_or(To::TooShort)?;
    let (src, dst) = (ip.src(), ip.dst());
    let to_many = dst.multicast() || !F::IS_V6 && dst == F::Addr::mask(F::BITS);
    let exempt = src == F::Addr::ZERO && to_many || exempt::<F>(src);
    if exempt || is_tx && b.flags.contains(Flags::LOCAL) { Err(To::Next) } else { Ok(src) }
}

impl<F: Net> Check<F> {
    /// The table that sources of packets of an interface are looked up in.
    #[inline(always)]
    pub(crate) fn table_of(&self, sw_if: u32, config: Config, turn: &Turn<'_>) -> TableIndex {
        config.table().unwrap_or_else(|| {
            let view = self.interfaces.views(turn).get(sw_if as usize);
            view.map_or(TableIndex::DEFAULT, |view| F::table_of(&view))
        })
    }

    /// Next node of a packet whose source may not use the default route.
    #[cold]
    #[inline(never)]
    pub(crate) fn without_default(
        &self,
        src: F::Addr,
        fib: TableIndex,
        sw_if: u32,
        turn: &Turn<'_>,
    ) -> To {
        match self.fib.adj(fib, src, turn).filter(|_| !self.fib.is_default(fib, src, turn)) {
            Some(adj) => self.judge(adj, src, fib, sw_if, turn),
            None if self.accepted.has(fib, src, turn) => To::Next,
            None => To::NoRoute,
        }
    }

    /// Next node of a packet, by the adjacency that its source's route leads to.
    #[inline(always)]
    pub(crate) fn judge(
        &self,
        adj: AdjIndex,
        src: F::Addr,
        fib: TableIndex,
        sw_if: u32,
        turn: &Turn<'_>,
    ) -> To {
        if self.leads_back(adj, sw_if, turn) {
            return To::Next;
        }
        self.look_closer(adj, src, fib, sw_if, turn)
    }

    /// Looks up sources. True if all have the same adjacency, and that leads back by the interface.
    #[inline(always)]
    pub(crate) fn look_up<I: Isa>(
        &self,
        routes: &Lpm<F::Key>,
        keys: &[F::Key],
        hops: &mut [u32],
        sw_if: u32,
        turn: &Turn<'_>,
    ) -> bool {
        let hops = &mut hops[..keys.len()];
        routes.hops::<I>(keys, hops, turn);
        let first = hops[0];
        hops.iter().fold(true, |same, hop| same & (*hop == first))
            && self.leads_back(AdjIndex(first), sw_if, turn)
    }

    /// Returns true if an adjacency leads back to any source.
    #[inline(always)]
    fn leads_back(&self, adj: AdjIndex, sw_if: u32, turn: &Turn<'_>) -> bool {
        let adj = self.adjacencies.get(adj, turn);
        adj.is_some_and(|adj| {
            adj.kind as u8 <= AdjKind::Glean as u8 && (!self.is_strict || adj.tx_if == sw_if)
        })
    }

    /// Handles load-balances, routes to another table or none, and accepted prefixes.
    #[cold]
    #[inline(never)]
    fn look_closer(
        &self,
        adj: AdjIndex,
        src: F::Addr,
        fib: TableIndex,
        sw_if: u32,
        turn: &Turn<'_>,
    ) -> To {
        let to = self.follow(adj, src, sw_if, turn, STEPS);
        if to != To::Next && self.accepted.has(fib, src, turn) { To::Next } else { to }
    }

    fn follow(
        &self,
        index: AdjIndex,
        src: F::Addr,
        sw_if: u32,
        turn: &Turn<'_>,
        steps: usize,
    ) -> To {
        if steps == 0 {
            return To::NoRoute;
        }
        let mut to = To::NoRoute;
        self.adjacencies.find_member(index, turn, &mut |adj| {
            match self.of_adjacency(adj, src, sw_if, turn, steps) {
                To::NoRoute => {}
                better => to = better,
            }
            to == To::Next
        });
        to
    }

    /// Returns the next node for an adjacency that isn't a load-balance.
    fn of_adjacency(
        &self,
        adj: &Adj,
        src: F::Addr,
        sw_if: u32,
        turn: &Turn<'_>,
        steps: usize,
    ) -> To {
        match adj.kind {
            AdjKind::Rewrite | AdjKind::Incomplete | AdjKind::Glean
                if !self.is_strict || adj.tx_if == sw_if =>
            {
                To::Next
            }
            AdjKind::Rewrite | AdjKind::Incomplete | AdjKind::Glean => To::OtherInterface,
            AdjKind::Lookup => match self.fib.adj(TableIndex(adj.table), src, turn) {
                Some(next) => self.follow(next, src, sw_if, turn, steps - 1),
                None => To::NoRoute,
            },
            _ => To::NoRoute,
        }
    }

    /// Next node of a packet, and of what source in which table.
    fn decide(
        &self,
        b: &Buffer,
        config: Config,
        turn: &Turn<'_>,
    ) -> (To, Option<F::Addr>, TableIndex) {
        let sw_if = if self.is_tx { b.tx_if } else { b.rx_if };
        let fib = self.table_of(sw_if, config, turn);
        let src = source::<F>(b, self.is_tx);
        let to = match src {
            Err(to) => to,
            Ok(src) if config.deny_default => self.without_default(src, fib, sw_if, turn),
            Ok(src) => match self.fib.adj(fib, src, turn) {
                Some(adj) => self.judge(adj, src, fib, sw_if, turn),
                None => To::NoRoute,
            },
        };
        (to, src.ok(), fib)
    }
}

impl<F: Net, const TX: bool, const STRICT: bool> Configured for Urpf<F, TX, STRICT> {
    type Config = Config;
}

impl<F: Net, const TX: bool, const STRICT: bool> Node for Urpf<F, TX, STRICT> {
    const NAME: &'static str = match (TX, STRICT) {
        (false, true) => "{ip}-rx-urpf-strict",
        (false, false) => "{ip}-rx-urpf-loose",
        (true, true) => "{ip}-tx-urpf-strict",
        (true, false) => "{ip}-tx-urpf-loose",
    };
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = To;
    type Trace = UrpfTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let (to, source, fib) = self.0.decide(b, cx.feature_config::<Self>(b), cx.turn);
        if TRACED {
            cx.trace(b, UrpfTrace { source: source.map(Into::into), fib, to });
        }
        to
    }
}

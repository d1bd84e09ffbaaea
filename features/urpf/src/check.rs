// SPDX-License-Identifier: Apache-2.0
//! `ip4-rx-urpf-strict` and its kind.

use crate::accepted::Accepted;
use crate::config::Config;
use buffer::{Buffer, FRAME_SIZE, Flags};
use graph::{Build, Configured, Cx, Next, Node, ThreadIndex, Trace, Vector, World};
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
pub struct Urpf<F: Net, const TX: bool, const STRICT: bool> {
    pub(crate) fib: Arc<Fib<F>>,
    adjacencies: Arc<Adjacencies>,
    interfaces: Arc<Interfaces>,
    accepted: Arc<Accepted<F>>,
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
        Self::new(world)
    }
}

impl<F: Net, const TX: bool, const STRICT: bool> Urpf<F, TX, STRICT> {
    pub(crate) fn new(world: &World) -> Self {
        Self {
            fib: world.get(),
            adjacencies: world.get(),
            interfaces: world.get(),
            accepted: world.get(),
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
fn source<F: Net, const TX: bool>(b: &Buffer) -> Result<F::Addr, To> {
    let at = if TX { b.l3_at() } else { 0 };
    let ip = F::Header::view_at(b.data(), at).ok_or(To::TooShort)?;
    let (src, dst) = (ip.src(), ip.dst());
    let to_many = dst.multicast() || !F::IS_V6 && dst == F::Addr::mask(F::BITS);
    let exempt = src == F::Addr::ZERO && to_many || exempt::<F>(src);
    if exempt || TX && b.flags.contains(Flags::LOCAL) { Err(To::Next) } else { Ok(src) }
}

impl<F: Net, const TX: bool, const STRICT: bool> Urpf<F, TX, STRICT> {
    /// The interface of the check.
    #[inline(always)]
    fn sw_if(b: &Buffer) -> u32 {
        if TX { b.tx_if } else { b.rx_if }
    }

    /// The table that the packet's source is looked up in.
    #[inline(always)]
    fn table(&self, b: &Buffer, config: Config, turn: &Turn<'_>) -> TableIndex {
        self.table_of(Self::sw_if(b), config, turn)
    }

    /// The same for packets of an interface.
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
            adj.kind as u8 <= AdjKind::Glean as u8 && (!STRICT || adj.tx_if == sw_if)
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
                if !STRICT || adj.tx_if == sw_if =>
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

    /// Next node of a packet of a vector that isn't looked up as a whole. Not inlined: the bodies
    /// of eight nodes for three instruction sets would each hold copies of the lookup.
    #[inline(never)]
    fn decide<const TRACED: bool>(&self, b: &Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let config = cx.feature_config::<Self>(b);
        let fib = self.table(b, config, cx.turn);
        let src = source::<F, TX>(b);
        let to = match src {
            Err(to) => to,
            Ok(src) if config.deny_default => {
                self.without_default(src, fib, Self::sw_if(b), cx.turn)
            }
            Ok(src) => match self.fib.adj(fib, src, cx.turn) {
                Some(adj) => self.judge(adj, src, fib, Self::sw_if(b), cx.turn),
                None => To::NoRoute,
            },
        };
        if TRACED {
            cx.trace(b, UrpfTrace { source: src.ok().map(Into::into), fib, to });
        }
        to
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
        self.decide(b, cx)
    }

    /// All sources are looked up together, so that the loads of the table's cells overlap. Most
    /// vectors are of one interface, from sources behind one next hop. Such a vector is decided
    /// at once.
    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        let (n, turn) = (v.len(), cx.turn);
        let place = |b: &Buffer| (Self::sw_if(b), b.feature);
        let (first, config) = (place(v.get(0)), cx.feature_config::<Self>(v.get(0)));
        let fib = self.table(v.get(0), config, turn);
        let zero = F::key(F::Addr::ZERO);
        let (mut keys, mut hops) = ([zero; FRAME_SIZE], [0; FRAME_SIZE]);
        let (mut one_place, mut all_asked, mut differ) = (true, true, config.deny_default);
        for (key, b) in keys.iter_mut().zip(v.iter()) {
            let src = source::<F, TX>(b);
            if place(b) != first {
                let config = cx.feature_config::<Self>(b);
                differ |= config.deny_default || self.table(b, config, turn) != fib;
                one_place = false;
            }
            all_asked &= src.is_ok();
            *key = src.map_or(zero, F::key);
        }
        let Some(routes) = self.fib.table(fib, turn).filter(|_| !differ) else {
            for (b, out) in v.packets() {
                out.go(self.decide(b, cx));
            }
            return;
        };
        if self.look_up::<I>(routes, &keys[..n], &mut hops, first.0, turn) && one_place && all_asked
        {
            return v.set_all(To::Next);
        }
        for ((b, out), hop) in v.packets().zip(&hops) {
            out.go(match source::<F, TX>(b) {
                Ok(src) => self.judge(AdjIndex(*hop), src, fib, Self::sw_if(b), turn),
                Err(to) => to,
            });
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `ip4-mfib-forward-rpf`, `ip6-mfib-forward-rpf`: accepts packets to a group by interface, and
//! reports them where an entry wants it.

use crate::MfibMeta;
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, World};
use ip::Ip;
use net::mfib::{EntryFlags, ItfFlags, Mroute, Mroutes, Signals};
use net::{AdjKind, Adjacencies, Fib, TableIndex};
use std::fmt;
use std::sync::Arc;
use sync::Turn;
use wire::{Header, IpHeader};

pub struct Rpf<F: Ip> {
    mroutes: Arc<Mroutes>,
    signals: Arc<Signals>,
    fib: Arc<Fib<F>>,
    adjacencies: Arc<Adjacencies>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("{ip}-replicate")]
    Replicate,
    /// {ip} multicast RPF check failed, or no entry is for it but one that says drop
    #[drop]
    #[counter("rpf_failure", of = "{ip}-input")]
    RpfFailure,
    /// {ip} multicast entry is gone
    #[drop]
    Gone,
}

#[derive(Clone, Copy)]
pub struct RpfTrace {
    route: u32,
    rx_if: u32,
    entry: EntryFlags,
    interface: Option<ItfFlags>,
    to: To,
}

impl Trace for RpfTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { route, rx_if, entry, .. } = self;
        write!(f, "entry {route} flags:[{entry}] sw_if_index {rx_if}")?;
        match self.interface {
            Some(flags) => write!(f, " flags:[{flags}]")?,
            None => f.write_str(" not named")?,
        }
        write!(f, ": {}", if self.to == To::Replicate { "accepted" } else { "dropped" })
    }
}

impl<F: Ip> Build for Rpf<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            mroutes: world.get(),
            signals: world.get(),
            fib: world.get(),
            adjacencies: world.get(),
        }
    }
}

/// Bits of a prefix that names flags and scope of an IPv6 group.
const SCOPE: u8 = 16;

/// Returns false for a packet from another node to a group of interface-local scope (RFC 4291 2.7,
/// erratum 3480), unless an entry is for this scope: that is explicit configuration.
#[inline(always)]
fn named<F: Ip>(b: &Buffer, route: &Mroute) -> bool {
    let in_node = F::Header::view(b.data()).is_none_or(|ip| F::stays_in_node(ip.dst()));
    !in_node || route.group.len >= SCOPE
}

impl<F: Ip> Rpf<F> {
    /// Returns true if the sender is a host of the link that the packet came in by.
    #[inline(never)]
    fn is_connected(&self, b: &Buffer, fib: u32, turn: &Turn<'_>) -> bool {
        let Some(source) = F::Header::view(b.data()).map(IpHeader::src) else { return false };
        let found = self.fib.adj(TableIndex(fib), source, turn);
        found.and_then(|index| self.adjacencies.get(index, turn)).is_some_and(|adj| {
            let is_neighbor = matches!(adj.kind, AdjKind::Rewrite | AdjKind::Incomplete)
                && adj.nexthop() == Into::<std::net::IpAddr>::into(source);
            adj.tx_if == b.rx_if && (adj.kind == AdjKind::Glean || is_neighbor)
        })
    }

    #[inline(always)]
    fn judge(
        &self,
        b: &Buffer,
        route: &Mroute,
        fib: u32,
        turn: &Turn<'_>,
    ) -> (Option<ItfFlags>, To) {
        let interface = route.interface(b.rx_if).map(|interface| interface.flags);
        let flags = interface.unwrap_or_default();
        if route.flags.contains(EntryFlags::SIGNAL) != flags.contains(ItfFlags::NEGATE_SIGNAL)
            || route.flags.contains(EntryFlags::CONNECTED) && self.is_connected(b, fib, turn)
        {
            self.signals.report(route, b);
        }
        let may_come = flags.contains(ItfFlags::ACCEPT)
            || route.flags.contains(EntryFlags::ACCEPT_ALL)
            || b.flags.contains(Flags::LOCAL);
        let goes = may_come
            && !route.flags.contains(EntryFlags::DROP)
            && (named::<F>(b, route) || b.flags.contains(Flags::LOCAL));
        (interface, if goes { To::Replicate } else { To::RpfFailure })
    }
}

impl<F: Ip> Node for Rpf<F> {
    const NAME: &'static str = "{ip}-mfib-forward-rpf";
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    const HOT: bool = true;
    type Next = To;
    type Trace = RpfTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let found = b.scratch::<MfibMeta>();
        let Some(route) = self.mroutes.get(found.route(), cx.turn) else { return To::Gone };
        let (interface, to) = self.judge(b, route, found.fib, cx.turn);
        if TRACED {
            let (rx_if, entry) = (b.rx_if, route.flags);
            cx.trace(b, RpfTrace { route: found.route, rx_if, entry, interface, to });
        }
        to
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `ip4-rewrite-mcast`, `ip6-rewrite-mcast`: the packet gets its layer-2 header, with the group's
//! address, and leaves.

use buffer::{Buffer, Flags};
use graph::{ArcIndex, Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use ip::{Ip, RewriteTrace, segment_len};
use net::{Adj, AdjKind, Adjacencies, IpMeta};
use stats::CombinedLane;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::Arc;
use wire::{Header, IpHeader, MacAddr};

pub struct Rewrite<F: Ip> {
    adjacencies: Arc<Adjacencies>,
    /// By adjacency.
    counters: CombinedLane,
    output: ArcIndex,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[dynamic]
    Output(NodeIndex),
    #[next("{ip}-frag")]
    Fragment,
    /// {ip} multicast MTU exceeded
    #[next("{ip}-icmp-error", reason)]
    MtuExceeded,
    /// {ip} multicast MTU exceeded and DF set
    #[drop]
    TooBig,
    /// {ip} multicast {ttl|hop limit} <= 1
    #[drop]
    TimeExpired,
    /// {ip} adjacency is gone
    #[drop]
    NoAdjacency,
    /// {ip} length < {20|40} bytes
    #[drop]
    TooShort,
    /// no room in front of the packet for a layer-2 header
    #[drop]
    NoHeadroom,
}

impl<F: Ip> Build for Rewrite<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let adjacencies: Arc<Adjacencies> = world.get();
        let output = world.arc(&graph::filled("{ip}-output", F::IS_V6)).expect("the parent's arc");
        Self {
            counters: adjacencies.counters.lane(thread.at()),
            adjacencies,
            output,
            version: PhantomData,
        }
    }
}

/// The layer-2 address of a group.
#[inline(always)]
fn mac_of(group: IpAddr) -> MacAddr {
    match group {
        IpAddr::V4(group) => MacAddr::ip4_multicast(group),
        IpAddr::V6(group) => MacAddr::ip6_multicast(group),
    }
}

/// Next node of a packet that is larger than the link's MTU (RFC 1812 5.2.6, RFC 4443 3.2).
#[cold]
#[inline(never)]
fn too_big<F: Ip>(b: &mut Buffer, mtu: u16) -> To {
    if F::may_fragment(b) {
        return To::Fragment;
    }
    if !F::IS_V6 {
        return To::TooBig;
    }
    let (kind, code) = F::ERRORS.too_big;
    let fib = b.scratch::<IpMeta>().fib;
    b.set_scratch(IpMeta::error(kind, code, mtu.into()).in_table(fib));
    To::MtuExceeded
}

impl<F: Ip> Rewrite<F> {
    #[inline(always)]
    fn send<const TRACED: bool>(&self, b: &mut Buffer, adj: &Adj, cx: &Cx<'_, TRACED>) -> To {
        let Some(group) = F::Header::view(b.data()).map(IpHeader::dst) else { return To::TooShort };
        let len =
            if b.flags.contains(Flags::GSO) { segment_len::<F>(b, 0) } else { b.packet_len() };
        if len > adj.mtu.into() {
            return too_big::<F>(b, adj.mtu);
        }
        if !b.flags.contains(Flags::LOCAL) && !F::pass(b) {
            return To::TimeExpired;
        }
        self.counters.add(adj.counter as usize, 1, b.packet_len() as u64);
        b.tx_if = adj.tx_if;
        let features = cx.has_arc(self.output, adj.tx_if);
        if features {
            b.mark_l3();
        }
        if !adj.put(b) {
            return To::NoHeadroom;
        }
        if adj.rewrite_len > 0
            && let Some(mac) = b.bytes_mut::<6>(0)
        {
            *mac = mac_of(group.into()).octets();
        }
        if features {
            return To::Output(cx.start_arc(self.output, adj.tx_if, b).unwrap_or(adj.output));
        }
        To::Output(adj.output)
    }
}

impl<F: Ip> Node for Rewrite<F> {
    const NAME: &'static str = "{ip}-rewrite-mcast";
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    const HOT: bool = true;
    type Next = To;
    type Trace = RewriteTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let index = b.scratch::<IpMeta>().adj();
        let Some(adj) =
            self.adjacencies.get(index, cx.turn).filter(|adj| adj.kind == AdjKind::Multicast)
        else {
            return To::NoAdjacency;
        };
        let to = self.send(b, adj, cx);
        if TRACED {
            let ethernet = adj.rewrite_len > 0 && matches!(to, To::Output(_));
            cx.trace(b, RewriteTrace::<F>::of(b, (index, adj.tx_if, adj.mtu), ethernet));
        }
        to
    }
}

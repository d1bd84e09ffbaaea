// SPDX-License-Identifier: Apache-2.0
//! `arp-proxy`: answers for others (RFC 1027), in ranges that operators gave, on interfaces where
//! they enabled it.

use crate::Arp;
use crate::frame::answer;
use crate::input::ArpTrace;
use crate::ranges::Ranges;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, World};
use ip_neighbor::resolve::Lanes;
use net::Interfaces;
use std::sync::Arc;
use wire::{ArpOp, Header};

pub struct ArpProxy {
    interfaces: Arc<Interfaces>,
    ranges: Arc<Ranges>,
    tx: Lanes,
    drop: NodeIndex,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// Out by the interface that the request came in by.
    #[dynamic]
    Output(NodeIndex),
    #[next_feature]
    Continue,
    /// answers sent.
    #[count]
    RepliesSent,
    /// packet is shorter than an ARP header.
    #[drop]
    TooShort,
    /// request is for a host without a proxy entry.
    #[drop]
    #[counter("l3_dst_address_not_local")]
    NotForUs,
    /// no room for the Ethernet header of the answer.
    #[drop]
    NoHeader,
}

impl Build for ArpProxy {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            interfaces: world.get(),
            ranges: world.get(),
            tx: Lanes::tx::<Arp>(world, thread),
            drop: world.node("error-drop").expect("this node drops there"),
        }
    }
}

impl Node for ArpProxy {
    const NAME: &'static str = "arp-proxy";
    type Next = To;
    type Trace = ArpTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, ArpTrace(Head::of(b)));
        }
        let rx_if = b.rx_if;
        let Some(&arp) = wire::Arp::view(b.data()) else { return To::TooShort };
        let view = self.interfaces.views(cx.turn).get(rx_if as usize).unwrap_or_default();
        // A probe asks whether an address is free on its own link: a proxy doesn't answer it, nor a
        // request of a host for its own address.
        let asks =
            arp.op() == ArpOp::REQUEST && !arp.sender_ip().is_unspecified() && !arp.is_gratuitous();
        if !asks
            || arp.sender_mac == view.mac
            || !self.ranges.has(view.fib4, arp.target_ip(), cx.turn)
        {
            let last = cx.peek_feature(b).is_none_or(|next| next == self.drop);
            return if last { To::NotForUs } else { To::Continue };
        }
        if !answer(b, view.mac, arp.target_ip()) {
            return To::NoHeader;
        }
        self.tx.replies.add(rx_if as usize, 1);
        cx.count(To::RepliesSent, 1);
        b.tx_if = rx_if;
        To::Output(view.output)
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `super-path`: Ethernet, validation, lookup, rewrite and output of the ordinary packet in one
//! node.
//!
//! It stands last on the arc `device-input` of Ethernet interfaces that carry IP. An ordinary
//! packet is one that was received in one piece for our MAC address, whose headers are usual, which
//! all features on its path let pass, and whose route leads to a resolved neighbour over a link
//! that takes it. It goes straight to the driver's transmit node. Any other packet goes on to
//! `ethernet-input` untouched and uncounted: the graph is complete, and always right; this node
//! gives the same results, sooner. Traced packets take the graph, so a trace shows every step.
//!
//! A feature of received packets with a [`net::Check`] is evaluated here, for a block of packets at
//! once. Interfaces with other features of received packets don't have this node. Packets that
//! leave by an interface with features take the graph.

mod choice;
mod exits;
mod gate;
mod owed;
mod plan;
mod protocol;
mod rx;
mod send;
pub mod switch;
mod tags;
mod way;
mod ways;

pub use switch::{OpenSubs, apply, check_last, follow, follow_features, set, show, write_config};

use crate::headers::BLOCK;
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Next, Node, NodeIndex, Prefetch, ThreadIndex, Vector, World};
use net::{IfCounters, Interfaces, Views};
use plan::{Plans, carries};
use rx::{Gates, Rx};
use send::{Ahead, Desk, Means};
use simd::Isa;
use std::sync::Arc;
use tags::{Parsed, give_back, parse, take};
use ways::Ways;
use wire::{Ip4, Ip6};

/// Bytes of the Ethernet header.
const ETHERNET: usize = 14;

/// Packets that take the graph whatever their bytes are.
const ASIDE: Flags = Flags::TRACED
    .with(Flags::LOCAL)
    .with(Flags::GSO)
    .with(Flags::TABLE)
    .with(Flags::L2_BROADCAST)
    .with(Flags::L2_MULTICAST);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// To a driver's transmit node.
    #[dynamic]
    Tx(NodeIndex),
    #[next_feature]
    Aside,
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

/// Number of the lowest set bit; 0 if none is set.
#[inline(always)]
fn first(bits: u64) -> usize {
    bits.trailing_zeros() as usize % BLOCK
}

pub struct SuperPath {
    interfaces: Arc<Interfaces>,
    gates: Gates,
    ip4: Ways<Ip4>,
    ip6: Ways<Ip6>,
    // Here only to be filled anew without being cleared.
    plans: [Plans; 2],
    desks: [Desk; 2],
}

impl Build for SuperPath {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let counters = world.get::<IfCounters>();
        Self {
            interfaces: world.get(),
            gates: Gates::new(world),
            ip4: Ways::new(world, thread, counters.ip4.lane(thread.at())),
            ip6: Ways::new(world, thread, counters.ip6.lane(thread.at())),
            plans: [Plans::new(), Plans::new()],
            desks: [Desk::new(), Desk::new()],
        }
    }
}

impl SuperPath {
    /// Sends a packet of a small vector whose frame has tags.
    #[inline(never)]
    fn tagged<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        tags: Parsed,
        views: Views<'_>,
        cx: &Cx<'_, TRACED>,
    ) -> Option<To> {
        let rx = &Rx::of_run(b, tags, &self.gates, &self.interfaces, cx);
        let len = b.len();
        let to = if take::<Ip4>(b, rx).is_some() {
            self.ip4.one(b, rx, &self.gates.ip4, views, cx)
        } else if take::<Ip6>(b, rx).is_some() {
            self.ip6.one(b, rx, &self.gates.ip6, views, cx)
        } else {
            return None;
        };
        if to.is_none() {
            give_back(b, rx.device, rx.tags.len());
        } else {
            self.ip4.outward.lanes.rx.unicast(rx.rx_if as usize, 1, len as u64);
        }
        to
    }
}

impl Node for SuperPath {
    const NAME: &'static str = "super-path";
    const PREFETCH: Prefetch = Prefetch::Packet;
    const HOT: bool = true;
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let views = self.interfaces.views(cx.turn);
        let rx = Rx::new(b.rx_if, &self.gates, views, cx);
        let to = if rx.has_subs && parse(b) != Parsed::NONE {
            self.tagged(b, parse(b), views, cx)
        } else if carries::<Ip4>(b, &rx) {
            self.ip4.one(b, &rx, &self.gates.ip4, views, cx)
        } else if carries::<Ip6>(b, &rx) {
            self.ip6.one(b, &rx, &self.gates.ip6, views, cx)
        } else {
            None
        };
        to.unwrap_or(To::Aside)
    }

    /// Block by block, so that a block's packets stay in the first-level cache until they leave;
    /// and each step of a block's lookups long before the next, with another block's work in
    /// between: most of what they wait for has come by then. A block is of one interface:
    /// inputs bring several packets each, and few packets together cost less than many that differ.
    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        let Self { interfaces, gates, ip4, ip6, plans: [now, next], desks: [desk4, desk6] } = self;
        let (mut now, mut next) = (now, next);
        let (cx, turn) = (&*cx, cx.turn);
        let views = interfaces.views(turn);
        let means = Means { views, cx, counting: ip4.counting() };
        let gates = &*gates;
        let look = |device| Rx::new(device, gates, views, cx);
        let of_run = |first: &Buffer, tags| Rx::of_run(first, tags, gates, interfaces, cx);
        let n = v.len();
        v.set_all(To::Aside);
        let mut rx = look(v.get(0).rx_if);
        let mut tables = rx.tables;
        let (mut steps4, mut steps6) = (ip4.steps(tables[0], turn), ip6.steps(tables[1], turn));
        now.clear();
        let (mut from, mut more) = (0, true);
        while more {
            let (last4, last6) = (steps4, steps6);
            more = from < n;
            if more {
                from =
                    next.make(v, (from, (from + BLOCK).min(n)), &mut rx, look, of_run, (gates, cx));
                if rx.tables != tables {
                    tables = rx.tables;
                    (steps4, steps6) = (ip4.steps(tables[0], turn), ip6.steps(tables[1], turn));
                }
                ip4.touch(&next.ip4, steps4);
                ip6.touch(&next.ip6, steps6);
            } else {
                next.clear();
            }
            desk4.owed.settle(&ip4.routes);
            desk6.owed.settle(&ip6.routes);
            ip4.arrive::<I>(&mut now.ip4, last4, means.counting);
            ip6.arrive::<I>(&mut now.ip6, last6, means.counting);
            ip4.approach::<I>(&mut next.ip4, steps4);
            ip6.approach::<I>(&mut next.ip6, steps6);
            let (mut ahead4, mut ahead6) =
                (Ahead::new(&next.ip4, steps4), Ahead::new(&next.ip6, steps6));
            ip4.send::<I>(&now.ip4, last4, &mut ahead4, desk4, v, means);
            ip6.send::<I>(&now.ip6, last6, &mut ahead6, desk6, v, means);
            ahead4.all();
            ahead6.all();
            if let Some(off) = now.tags_off {
                off.settle(v, &ip4.outward.lanes);
            }
            std::mem::swap(&mut now, &mut next);
        }
        desk4.owed.settle(&ip4.routes);
        desk6.owed.settle(&ip6.routes);
        desk4.exits.settle(&ip4.outward.lanes);
        desk6.exits.settle(&ip6.outward.lanes);
    }
}

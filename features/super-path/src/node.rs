// SPDX-License-Identifier: Apache-2.0
//! The node `super-path`.

use crate::forwarder::Forwarder;
use crate::plan::{Plans, carries};
use crate::rx::{Door, Gates, Rx};
use crate::send::{Prefetcher, SendContext, SendState};
use crate::tags::{Parsed, parse};
use crate::{DOORS, Packets, To, emit_copy, tx_of};
use buffer::Buffer;
use graph::{Build, Cx, Node, NodeIndex, Prefetch, ThreadIndex, Vector, World};
use ip::headers::BLOCK;
use net::{IfCounters, Interfaces};
use simd::Isa;
use std::sync::Arc;
use wire::{Ip4, Ip6};

/// Sends ordinary packets.
pub struct SuperPath {
    doors: Doors,
    interfaces: Arc<Interfaces>,
    gates: Gates,
    ip4: Forwarder<Ip4>,
    ip6: Forwarder<Ip6>,
    // Here only to be filled anew without being cleared.
    plans: [Plans; 2],
    state4: SendState<Ip4>,
    state6: SendState<Ip6>,
}

/// The nodes of the arcs whose packets begin with their IP header.
struct Doors([(NodeIndex, Door); 4]);

impl Doors {
    fn new(world: &World) -> Self {
        let node = |name| world.node(name).expect("the plugin brings its nodes");
        Self(DOORS.map(|Packets { node: name, door, .. }| (node(name), door)))
    }

    #[inline(always)]
    fn of(&self, node: NodeIndex) -> Door {
        let door = self.0.iter().find(|(of, _)| *of == node);
        door.map_or(Door::Frames, |(_, door)| *door)
    }
}

impl Build for SuperPath {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let counters = world.get::<IfCounters>();
        Self {
            doors: Doors::new(world),
            interfaces: world.get(),
            gates: Gates::new(world, thread),
            ip4: Forwarder::new(world, thread, counters.ip4.lane(thread.at())),
            ip6: Forwarder::new(world, thread, counters.ip6.lane(thread.at())),
            plans: [Plans::new(), Plans::new()],
            state4: SendState::new(world, thread),
            state6: SendState::new(world, thread),
        }
    }
}

impl SuperPath {
    /// Sends a packet of a small vector.
    #[inline(always)]
    fn one(&mut self, b: &mut Buffer, door: Door, cx: &Cx<'_, false>) -> Option<To> {
        let Self { interfaces, gates, ip4, ip6, state4, state6, .. } = self;
        let views = interfaces.views(cx.turn);
        let context = SendContext { views, cx, counting: ip4.counting() };
        let mut rx = Rx::new((b, door), gates, views, cx);
        if rx.has_subs && parse(b) != Parsed::NONE {
            rx = Rx::of_run(b, parse(b), gates, interfaces, cx);
        }
        if rx.moves() {
            self.moved(b, rx, cx)
        } else if carries::<Ip4>(b, &rx) {
            ip4.one(b, &rx, &mut gates.ip4, state4, context)
        } else if carries::<Ip6>(b, &rx) {
            ip6.one(b, &rx, &mut gates.ip6, state6, context)
        } else {
            None
        }
    }

    /// Sends the packets of a vector: block by block, so that a block's packets stay in the first-
    /// level cache until they leave; and each step of a block's lookups long before the next, with
    /// another block's work in between: most of what they wait for has come by then. A block is of
    /// one interface: inputs bring several packets each, and few packets together cost less than
    /// many that differ.
    #[inline(always)]
    fn all<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &Cx<'_, false>) {
        let door = self.doors.of(cx.node());
        let Self { interfaces, gates, ip4, ip6, plans: [now, next], state4, state6, .. } = self;
        let (mut now, mut next) = (now, next);
        let turn = cx.turn;
        let views = interfaces.views(turn);
        let context = SendContext { views, cx, counting: ip4.counting() };
        let look = |first: &Buffer, gates: &Gates| Rx::new((first, door), gates, views, cx);
        let of_run =
            |first: &Buffer, tags, gates: &Gates| Rx::of_run(first, tags, gates, interfaces, cx);
        let n = v.len();
        let mut rx = look(v.get(0), gates);
        let mut tables = rx.tables;
        let (mut steps4, mut steps6) = (ip4.steps(tables[0], turn), ip6.steps(tables[1], turn));
        now.clear();
        let (mut from, mut more) = (0, true);
        while more {
            let (last4, last6) = (steps4, steps6);
            more = from < n;
            if more {
                let block = (from, (from + BLOCK).min(n));
                from = next.make(v, block, &mut rx, |b| look(b, gates), |b, t| of_run(b, t, gates));
                if rx.tables != tables {
                    tables = rx.tables;
                    (steps4, steps6) = (ip4.steps(tables[0], turn), ip6.steps(tables[1], turn));
                }
                ip4.pass_features(&mut next.ip4, &rx, &mut gates.ip4, v, cx);
                ip6.pass_features(&mut next.ip6, &rx, &mut gates.ip6, v, cx);
                ip4.touch(&next.ip4, steps4);
                ip6.touch(&next.ip6, steps6);
            } else {
                next.clear();
            }
            state4.deferred.settle(&ip4.routes);
            state6.deferred.settle(&ip6.routes);
            ip4.arrive::<I>(&mut now.ip4, last4, context.counting);
            ip6.arrive::<I>(&mut now.ip6, last6, context.counting);
            ip4.approach::<I>(&mut next.ip4, steps4);
            ip6.approach::<I>(&mut next.ip6, steps6);
            let (mut ahead4, mut ahead6) =
                (Prefetcher::new(&next.ip4, steps4), Prefetcher::new(&next.ip6, steps6));
            ip4.send::<I>(&now.ip4, last4, &mut ahead4, state4, v, context);
            ip6.send::<I>(&now.ip6, last6, &mut ahead6, state6, v, context);
            ahead4.all();
            ahead6.all();
            ip4.leave(&now.ip4, &gates.ip4, v, cx);
            ip6.leave(&now.ip6, &gates.ip6, v, cx);
            if let Some(moved) = now.moved {
                moved.settle(v, &ip4.outward.lanes);
            }
            std::mem::swap(&mut now, &mut next);
        }
    }

    /// True if frames of the vector have copies to be made.
    #[inline(always)]
    fn mirrors(&self) -> bool {
        self.ip4.mirrors() | self.ip6.mirrors()
    }

    /// Makes the copies of a frame that goes to the transmit node of its interface.
    #[inline(never)]
    fn copy(&mut self, b: &mut Buffer, tx: NodeIndex, cx: &mut Cx<'_, false>) {
        let mirrors = self.ip4.outward.mirrors.iter_mut();
        mirrors.for_each(|mirrors| mirrors.copy_sent(b, tx, emit_copy, cx));
    }

    /// The same for one that gets another start.
    #[inline(never)]
    fn moved(&mut self, b: &mut Buffer, rx: Rx, cx: &Cx<'_, false>) -> Option<To> {
        let Self { interfaces, gates, ip4, ip6, state4, state6, .. } = self;
        let (len, views) = (b.len(), interfaces.views(cx.turn));
        let context = SendContext { views, cx, counting: ip4.counting() };
        let to = if rx.take::<Ip4>(b).is_some() {
            ip4.one(b, &rx, &mut gates.ip4, state4, context)
        } else if rx.take::<Ip6>(b).is_some() {
            ip6.one(b, &rx, &mut gates.ip6, state6, context)
        } else {
            return None;
        };
        match to {
            Some(_) => rx.count_frames(1, len as u64, &ip4.outward.lanes),
            None => rx.give_back(b),
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
        // Traced packets take the graph, and so do those beside them.
        if TRACED || cx.traces_inside() {
            return To::Aside;
        }
        let (door, cx) = (self.doors.of(cx.node()), &mut cx.untraced());
        let to = self.one(b, door, cx).unwrap_or(To::Aside);
        let tx = tx_of(b, &self.interfaces, cx);
        if self.mirrors() && to == To::Node(tx) {
            self.copy(b, tx, cx);
        }
        to
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _: &mut Cx<'_, TRACED>) {
        self.ip4.settle(&mut self.state4);
        self.ip6.settle(&mut self.state6);
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        v.set_all(To::Aside);
        if cx.traces_inside() {
            return;
        }
        self.all::<I>(v, cx);
        if self.mirrors() {
            for i in 0..v.len() {
                let tx = tx_of(v.get(i), &self.interfaces, cx);
                if v.is(i, To::Node(tx)) {
                    self.copy(v.get_mut(i), tx, cx);
                }
            }
        }
    }
}

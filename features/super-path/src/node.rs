// SPDX-License-Identifier: Apache-2.0
//! The node `super-path`.

use crate::To;
use crate::forwarder::Forwarder;
use crate::plan::{Plans, carries};
use crate::rx::{Gates, Rx};
use crate::send::{Prefetcher, SendContext, SendState};
use crate::tags::{Parsed, give_back, parse, take};
use buffer::Buffer;
use graph::{Build, Cx, Node, Prefetch, ThreadIndex, Vector, World};
use ip::headers::BLOCK;
use net::{IfCounters, Interfaces, Views};
use simd::Isa;
use std::sync::Arc;
use wire::{Ip4, Ip6};

/// Sends ordinary packets.
pub struct SuperPath {
    interfaces: Arc<Interfaces>,
    gates: Gates,
    ip4: Forwarder<Ip4>,
    ip6: Forwarder<Ip6>,
    // Here only to be filled anew without being cleared.
    plans: [Plans; 2],
    states: [SendState; 2],
}

impl Build for SuperPath {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let counters = world.get::<IfCounters>();
        Self {
            interfaces: world.get(),
            gates: Gates::new(world),
            ip4: Forwarder::new(world, thread, counters.ip4.lane(thread.at())),
            ip6: Forwarder::new(world, thread, counters.ip6.lane(thread.at())),
            plans: [Plans::new(), Plans::new()],
            states: [SendState::new(), SendState::new()],
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
        if cx.traces_inside() {
            return To::Aside;
        }
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
        v.set_all(To::Aside);
        if cx.traces_inside() {
            return;
        }
        let Self { interfaces, gates, ip4, ip6, plans: [now, next], states: [state4, state6] } =
            self;
        let (mut now, mut next) = (now, next);
        let (cx, turn) = (&*cx, cx.turn);
        let views = interfaces.views(turn);
        let context = SendContext { views, cx, counting: ip4.counting() };
        let gates = &*gates;
        let look = |device| Rx::new(device, gates, views, cx);
        let of_run = |first: &Buffer, tags| Rx::of_run(first, tags, gates, interfaces, cx);
        let n = v.len();
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
            if let Some(off) = now.tags_off {
                off.settle(v, &ip4.outward.lanes);
            }
            std::mem::swap(&mut now, &mut next);
        }
        state4.deferred.settle(&ip4.routes);
        state6.deferred.settle(&ip6.routes);
        state4.exits.settle(&ip4.outward.lanes);
        state6.exits.settle(&ip6.outward.lanes);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The node `super-path`.

use crate::bare::{make_room, take_back};
use crate::forwarder::Forwarder;
use crate::gate::Gate;
use crate::next_hop::Protocol;
use crate::plan::{Plans, carries};
use crate::rx::{Door, Gates, Rx};
use crate::send::{Prefetcher, SendContext, SendState};
use crate::tags::{Parsed, give_back, parse, take};
use crate::{DOORS, Packets, To};
use buffer::Buffer;
use graph::{Build, Cx, Node, NodeIndex, Prefetch, ThreadIndex, Vector, World};
use ip::headers::BLOCK;
use net::{IfCounters, Interfaces, Views};
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
    fn one<F: Protocol>(
        (forwarder, state): (&Forwarder<F>, &mut SendState<F>),
        gate: &mut Gate<F>,
        b: &mut Buffer,
        rx: &Rx,
        (views, cx): (Views<'_>, &Cx<'_, false>),
    ) -> Option<To> {
        forwarder.one(b, rx, (gate, &mut state.local), views, cx)
    }

    /// The same for one whose frame has tags.
    #[inline(never)]
    fn tagged(&mut self, b: &mut Buffer, tags: Parsed, cx: &Cx<'_, false>) -> Option<To> {
        let Self { interfaces, gates, ip4, ip6, state4, state6, .. } = self;
        let rx = &Rx::of_run(b, tags, gates, interfaces, cx);
        let (len, seen) = (b.len(), (interfaces.views(cx.turn), cx));
        let to = if take::<Ip4>(b, rx).is_some() {
            Self::one((ip4, state4), &mut gates.ip4, b, rx, seen)
        } else if take::<Ip6>(b, rx).is_some() {
            Self::one((ip6, state6), &mut gates.ip6, b, rx, seen)
        } else {
            return None;
        };
        if to.is_none() {
            give_back(b, rx.device, rx.tags.len());
        } else {
            ip4.outward.lanes.rx.unicast(rx.rx_if as usize, 1, len as u64);
        }
        to
    }

    /// The same for one that begins with its IP header.
    #[inline(never)]
    fn bare<F: Protocol>(
        (forwarder, state): (&Forwarder<F>, &mut SendState<F>),
        gate: &mut Gate<F>,
        b: &mut Buffer,
        rx: &Rx,
        seen: (Views<'_>, &Cx<'_, false>),
    ) -> Option<To> {
        make_room::<F>(b, rx)?;
        let to = Self::one((forwarder, state), gate, b, rx, seen);
        if to.is_none() {
            take_back(b);
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
        let (door, cx) = (self.doors.of(cx.node()), &cx.untraced());
        let Self { interfaces, gates, ip4, ip6, state4, state6, .. } = self;
        let views = interfaces.views(cx.turn);
        let (rx, seen) = (&Rx::new((b, door), gates, views, cx), (views, cx));
        let Gates { ip4: gate4, ip6: gate6 } = gates;
        let to = if door.is_bare::<Ip4>() {
            Self::bare((ip4, state4), gate4, b, rx, seen)
        } else if door.is_bare::<Ip6>() {
            Self::bare((ip6, state6), gate6, b, rx, seen)
        } else if rx.has_subs && parse(b) != Parsed::NONE {
            self.tagged(b, parse(b), cx)
        } else if carries::<Ip4>(b, rx) {
            Self::one((ip4, state4), gate4, b, rx, seen)
        } else if carries::<Ip6>(b, rx) {
            Self::one((ip6, state6), gate6, b, rx, seen)
        } else {
            None
        };
        to.unwrap_or(To::Aside)
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _: &mut Cx<'_, TRACED>) {
        self.state4.local.forget();
        self.state6.local.forget();
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
        let door = self.doors.of(cx.node());
        let Self { interfaces, gates, ip4, ip6, plans: [now, next], state4, state6, .. } = self;
        let (mut now, mut next) = (now, next);
        let (cx, turn) = (&*cx, cx.turn);
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
            if let Some(off) = now.tags_off {
                off.settle(v, &ip4.outward.lanes);
            }
            if let Some(room) = now.room_made {
                room.settle(v);
            }
            std::mem::swap(&mut now, &mut next);
        }
        state4.deferred.settle(&ip4.routes);
        state6.deferred.settle(&ip6.routes);
        state4.exits.settle(&ip4.outward.lanes);
        state6.exits.settle(&ip6.outward.lanes);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `super-path`: Ethernet, validation, lookup, rewrite and output of the ordinary packet in one node.
//!
//! It stands last on the arc `device-input` of Ethernet interfaces that carry IP. An ordinary packet is one that was received in
//! one piece for our MAC address, whose headers are as most are, whose interfaces have no feature on the way, and whose route leads to
//! a neighbour that is known and whose link takes it. It goes straight to the driver's transmit node. Whatever isn't ordinary goes on to
//! `ethernet-input` untouched and uncounted: the graph is complete, and always right; this node gives what it gives, sooner.
//! Traced packets take the graph, so a trace shows every step.

mod exits;
mod plan;
mod protocol;
mod rx;
mod switch;
mod way;

pub use switch::{follow, say, set, show};

use crate::headers::BLOCK;
use buffer::{Buffer, Flags};
use exits::Exits;
use graph::{Build, Cx, Next, Node, NodeIndex, Prefetch, ThreadIndex, Vector, World};
use net::{IfCounters, Interfaces};
use plan::{Carries, Plans, carries};
use rx::{Rx, Unicast};
use simd::Isa;
use std::sync::Arc;
use way::{From, Ways};
use wire::{Ip4, Ip6};

/// Bytes of the Ethernet header.
const ETHERNET: usize = 14;

/// Packets that take the graph whatever their bytes are.
const ASIDE: Flags = Flags::CHAINED
    .with(Flags::TRACED)
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

pub struct SuperPath {
    interfaces: Arc<Interfaces>,
    unicast: Unicast,
    ip4: Ways<Ip4>,
    ip6: Ways<Ip6>,
    // Here only to be filled anew without being cleared.
    plans: Plans,
}

impl Build for SuperPath {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let counters = world.get::<IfCounters>();
        Self {
            interfaces: world.get(),
            unicast: Unicast::new(world),
            ip4: Ways::new(world, thread, counters.ip4.lane(thread.at())),
            ip6: Ways::new(world, thread, counters.ip6.lane(thread.at())),
            plans: Plans::new(),
        }
    }
}

impl Node for SuperPath {
    const NAME: &'static str = "super-path";
    const PREFETCH: Prefetch = Prefetch::Packet;
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let views = self.interfaces.views(cx.turn);
        let rx = Rx::new(b.rx_if, self.unicast, views, cx);
        let to = match carries(b, &rx) {
            Some(Carries::Ip4) => self.ip4.one(b, rx.tables[0], views, cx),
            Some(Carries::Ip6) => self.ip6.one(b, rx.tables[1], views, cx),
            None => None,
        };
        to.unwrap_or(To::Aside)
    }

    /// Block by block, so that a block's packets stay in the first-level cache until they leave.
    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        let Self { interfaces, unicast, ip4, ip6, plans } = self;
        let views = interfaces.views(cx.turn);
        let look = |rx_if| Rx::new(rx_if, *unicast, views, cx);
        let n = v.len();
        v.set_all(To::Aside);
        let mut rx = look(v.get(0).rx_if);
        let (mut exits4, mut exits6) = (Exits::new(), Exits::new());
        for from in (0..n).step_by(BLOCK) {
            let differ = plans.make(v, from, (from + BLOCK).min(n), &mut rx, look);
            let [from4, from6] = rx.tables.map(|table| From { rx_if: rx.rx_if, table, differ });
            ip4.all::<I>(&plans.ip4, v, from4, &mut exits4, views, cx);
            ip6.all::<I>(&plans.ip6, v, from6, &mut exits6, views, cx);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `ip6-link-local`: a link-local destination is looked up in the table of the link that the packet
//! came in by. A packet of our own names that table itself, or the interface in its `rx_if`.

use crate::family::IpTrace;
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Next, Node, ThreadIndex, World};
use net::Interfaces;
use std::sync::Arc;
use wire::Ip6;

pub struct LinkLocal(Arc<Interfaces>);

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("ip6-lookup")]
    Lookup,
    /// ip6 link-local destination without a link
    #[drop]
    #[counter("Interface is not mapped to an IP6-LL table")]
    NoLink,
}

impl Build for LinkLocal {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

impl Node for LinkLocal {
    const NAME: &'static str = "ip6-link-local";
    const DROP: &'static str = "ip6-drop";
    type Next = To;
    type Trace = IpTrace<Ip6>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IpTrace::<Ip6>::of(b));
        }
        match self.0.views(cx.turn).get(b.rx_if as usize) {
            Some(view) if view.link6 != 0 => {
                b.tx_if = view.link6;
                b.flags.insert(Flags::TABLE);
                To::Lookup
            }
            _ => To::NoLink,
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `ip4-glean`: packets to a host in a connected network who is not a known neighbour yet.

use crate::resolver::{ResolveTrace, Resolver, To};
use crate::waiting::Target;
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Node, ThreadIndex, World};
use net::IpMeta;
use std::net::Ipv4Addr;
use wire::{Header, Ipv4Header};

pub struct Ip4Glean {
    pub resolver: Resolver,
}

impl Build for Ip4Glean {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { resolver: Resolver::new(world, thread) }
    }
}

/// The destination, which is the neighbour.
#[inline(always)]
fn destination(b: &Buffer) -> Option<Ipv4Addr> {
    Ipv4Header::view(b.data()).map(|ip| Ipv4Addr::from(ip.dst))
}

impl Node for Ip4Glean {
    const NAME: &'static str = "ip4-glean";
    const DROP: &'static str = "ip4-drop";
    type Next = To;
    type Trace = ResolveTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let meta: IpMeta = b.scratch();
        let Some(adj) = self.resolver.adjacencies.get(meta.adj(), cx.turn) else { return To::NoAdjacency };
        let Some(ip) = destination(b) else { return To::TooShort };
        let (sw_if, source) = (adj.tx_if, adj.nexthop4());
        let target = Target { sw_if, ip };
        b.tx_if = sw_if;
        let (to, asked) = self.resolver.resolve(target, Some(source).filter(|s| !s.is_unspecified()), cx);
        cx.trace(b, ResolveTrace { target, asked });
        to
    }

    fn keep(&mut self, buffer: Owned, cx: &mut Cx<'_, false>) {
        match destination(&buffer) {
            Some(ip) => self.resolver.keep(Target { sw_if: buffer.tx_if, ip }, buffer, cx),
            None => cx.emit(To::TooShort, buffer),
        }
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        self.resolver.tick(cx);
    }
}

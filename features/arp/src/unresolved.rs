// SPDX-License-Identifier: Apache-2.0
//! `ip4-arp`: packets to a neighbour whose station is not known yet.

use crate::resolver::{ResolveTrace, Resolver, To};
use crate::waiting::Target;
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Node, ThreadIndex, World};
use net::{AdjKind, IpMeta};
use std::net::Ipv4Addr;

pub struct Ip4Arp {
    pub resolver: Resolver,
}

impl Build for Ip4Arp {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { resolver: Resolver::new(world, thread) }
    }
}

impl Node for Ip4Arp {
    const NAME: &'static str = "ip4-arp";
    const DROP: &'static str = "ip4-drop";
    type Next = To;
    type Trace = ResolveTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let meta: IpMeta = b.scratch();
        let Some(adj) = self.resolver.adjacencies.get(meta.adj(), cx.turn) else { return To::NoAdjacency };
        match adj.kind {
            AdjKind::Incomplete => {}
            // It was completed since the lookup.
            AdjKind::Rewrite => return To::Node(adj.next),
            _ => return To::NoAdjacency,
        }
        let target = Target { sw_if: adj.tx_if, ip: adj.nexthop4() };
        // For `keep`: by then the adjacency may stand for another neighbour.
        b.tx_if = target.sw_if;
        b.set_scratch(IpMeta { icmp_rest: target.ip.to_bits(), ..meta });
        let (to, asked) = self.resolver.resolve(target, None, cx);
        cx.trace(b, ResolveTrace { target, asked });
        to
    }

    fn keep(&mut self, buffer: Owned, cx: &mut Cx<'_, false>) {
        let ip = Ipv4Addr::from(buffer.scratch::<IpMeta>().icmp_rest);
        self.resolver.keep(Target { sw_if: buffer.tx_if, ip }, buffer, cx);
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        self.resolver.tick(cx);
    }
}

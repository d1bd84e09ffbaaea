// SPDX-License-Identifier: Apache-2.0
//! `ip4-arp`, `ip6-discover-neighbor`: packets to a neighbour whose MAC address is not known yet.

use super::resolver::{ResolveTrace, Resolver, To};
use super::{Protocol, Target};
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Node, ThreadIndex, World};
use net::{AdjKind, IpMeta};
use wire::Family;

/// The node of a protocol.
pub struct Unresolved<P: Protocol> {
    pub(super) resolver: Resolver<P>,
}

impl<P: Protocol> Build for Unresolved<P> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { resolver: Resolver::for_nexthops(world, thread) }
    }
}

impl<P: Protocol> Node for Unresolved<P> {
    const NAME: &'static str = "{ip4-arp|ip6-discover-neighbor}";
    const V6: Option<bool> = Some(P::Net::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = To;
    type Trace = ResolveTrace<<P::Net as Family>::Addr>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let meta: IpMeta = b.scratch();
        let Some(adj) = self.resolver.adjacencies.get(meta.adj(), cx.turn) else {
            return To::NoAdjacency;
        };
        match adj.kind {
            AdjKind::Incomplete => {}
            // It was completed since the lookup.
            AdjKind::Rewrite => return To::Node(adj.next),
            _ => return To::NoAdjacency,
        }
        let target = Target { sw_if: adj.tx_if, ip: adj.nexthop_as() };
        let (to, asked) = self.resolver.resolve(target, None, b, cx);
        cx.trace(b, ResolveTrace { target, asked });
        to
    }

    fn keep(&mut self, buffer: Owned, cx: &mut Cx<'_, false>) {
        self.resolver.keep(buffer, cx);
    }

    fn tick(&mut self, cx: &mut Cx<'_, false>) {
        self.resolver.tick(cx);
    }
}

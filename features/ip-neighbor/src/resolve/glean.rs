// SPDX-License-Identifier: Apache-2.0
//! `ip4-glean`, `ip6-glean`: packets to a host in a connected network that is not a known neighbour
//! yet.

use super::resolver::{ResolveTrace, Resolver, To};
use super::{Protocol, Target};
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Node, ThreadIndex, World};
use net::IpMeta;
use wire::{Address, Family, Header, IpHeader};

/// The node of a protocol.
pub struct Glean<P: Protocol> {
    pub(super) resolver: Resolver<P>,
}

impl<P: Protocol> Build for Glean<P> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { resolver: Resolver::for_hosts(world, thread) }
    }
}

impl<P: Protocol> Node for Glean<P> {
    const NAME: &'static str = "{ip}-glean";
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
        // The destination is the neighbour.
        let Some(ip) = <P::Net as Family>::Header::view(b.data()).map(|ip| ip.dst()) else {
            return To::TooShort;
        };
        let (sw_if, source) = (adj.tx_if, adj.nexthop_as());
        let target = Target { sw_if, ip };
        let (to, asked) =
            self.resolver.resolve(target, Some(source).filter(|s| *s != Address::ZERO), b, cx);
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

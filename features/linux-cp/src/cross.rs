// SPDX-License-Identifier: Apache-2.0
//! From the host to the wire: `linux-cp-xc-ip4`, `linux-cp-xc-ip6`. Packets keep the Ethernet
//! header and the TTL that the host gave them, and take the output features of the interface.

use crate::adjacencies::HeaderTable;
use crate::header::restore;
use crate::pairs::Pairs;
use buffer::{Buffer, Flags};
use graph::{ArcIndex, Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World, filled};
use ip::{Ip, table_of};
use net::{AdjIndex, Interfaces, IpMeta};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use wire::EtherType;

/// `linux-cp-xc-ip4` or `linux-cp-xc-ip6`.
pub struct Cross<F> {
    pairs: Arc<Pairs>,
    interfaces: Arc<Interfaces>,
    headers: Arc<HeaderTable>,
    output: ArcIndex,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The first output feature of the interface, or its output.
    #[dynamic]
    Output(NodeIndex),
    /// {ip} interface is no mirror
    #[drop]
    NoPair,
    /// {ip} packet of the host has no Ethernet header
    #[drop]
    NoHeader,
}

/// The interface and the adjacency of a packet of the host.
#[derive(Clone, Copy)]
pub struct CrossTrace {
    pub itf: u32,
    pub adj: AdjIndex,
}

impl Trace for CrossTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lcp-xc: itf:{} adj:{}", self.itf, self.adj)
    }
}

impl<F: Ip> Build for Cross<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            pairs: world.get(),
            interfaces: world.get(),
            headers: world.get(),
            output: world.arc(&filled("{ip}-output", F::IS_V6)).unwrap_or_default(),
            version: PhantomData,
        }
    }
}

impl<F: Ip> Node for Cross<F> {
    const NAME: &'static str = "linux-cp-xc-{ip}";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = To;
    type Trace = CrossTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some(peer) = self.pairs.peer(b.rx_if, cx.turn).filter(|peer| peer.is_mirror) else {
            return To::NoPair;
        };
        let views = self.interfaces.views(cx.turn);
        let Some(view) = views.get(peer.other as usize) else { return To::NoPair };
        let table = table_of::<F>(b, views);
        b.mark_l3();
        let own = if F::IS_V6 { EtherType::IP6 } else { EtherType::IP4 };
        if !restore(b, Some(own)) {
            return To::NoHeader;
        }
        let known = self.headers.find(peer.other, b, F::IS_V6, cx.turn);
        let adj = known.unwrap_or(peer.adjacencies[usize::from(F::IS_V6)]);
        if TRACED {
            cx.trace(b, CrossTrace { itf: peer.other, adj });
        }
        b.tx_if = peer.other;
        b.set_scratch(IpMeta::of(adj, table.0));
        b.flags.insert(Flags::LOCAL);
        To::Output(cx.start_arc(self.output, peer.other, b).unwrap_or(view.output))
    }
}

// SPDX-License-Identifier: Apache-2.0
//! From a host's tun to the wire: `linux-cp-xc-l3-ip4`, `linux-cp-xc-l3-ip6`. Packets leave by the
//! peer of a point-to-point interface, or are looked up in the table of the interface.

use crate::cross::CrossTrace;
use crate::pairs::Pairs;
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use ip::Ip;
use net::{AdjIndex, Adjacencies, Interfaces, IpMeta};
use std::marker::PhantomData;
use std::sync::Arc;

/// `linux-cp-xc-l3-ip4` or `linux-cp-xc-l3-ip6`.
pub struct CrossL3<F> {
    pairs: Arc<Pairs>,
    interfaces: Arc<Interfaces>,
    adjacencies: Arc<Adjacencies>,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The node of the peer's adjacency.
    #[dynamic]
    Node(NodeIndex),
    #[next("{ip}-lookup")]
    Lookup,
    /// {ip} interface is no mirror
    #[drop]
    NoPair,
}

impl<F: Ip> Build for CrossL3<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            pairs: world.get(),
            interfaces: world.get(),
            adjacencies: world.get(),
            version: PhantomData,
        }
    }
}

impl<F: Ip> Node for CrossL3<F> {
    const NAME: &'static str = "linux-cp-xc-l3-{ip}";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = To;
    type Trace = CrossTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some(peer) = self.pairs.peer(b.rx_if, cx.turn).filter(|peer| peer.is_mirror) else {
            return To::NoPair;
        };
        let adj = peer.adjacencies[usize::from(F::IS_V6)];
        if TRACED {
            cx.trace(b, CrossTrace { itf: peer.other, adj });
        }
        let Some(view) = self.interfaces.views(cx.turn).get(peer.other as usize) else {
            return To::NoPair;
        };
        let table = F::table_of(&view);
        b.flags.insert(Flags::LOCAL);
        if adj != AdjIndex::NO_ROUTE
            && let Some(adjacency) = self.adjacencies.get(adj, cx.turn)
        {
            b.set_scratch(IpMeta::of(adj, table.0));
            return To::Node(adjacency.next);
        }
        b.tx_if = table.0;
        b.flags.insert(Flags::TABLE);
        To::Lookup
    }
}

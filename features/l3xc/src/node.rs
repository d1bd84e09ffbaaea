// SPDX-License-Identifier: Apache-2.0
//! `l3xc-input-ip4`, `l3xc-input-ip6`: sends packets by the paths of a cross-connect.

use buffer::Buffer;
use graph::{
    Build, ChainStep, Configured, Cx, ErrorIndex, Next, Node, NodeIndex, ThreadIndex, Trace, World,
};
use ip::{Ip, Onward, table_of};
use net::{AdjIndex, Directed, Interfaces, PacketColumns, Stage};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// `l3xc-input-ip4` or `l3xc-input-ip6`.
pub struct Input<F: Ip> {
    onward: Onward<F>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The node of the adjacency.
    #[dynamic]
    Node(NodeIndex),
    /// {ip} packets that were cross-connected
    #[count]
    #[counter("matched")]
    Matched,
    /// {ip} cross-connect has no usable path
    #[drop]
    NoPath,
}

#[derive(Clone, Copy)]
pub struct L3xcTrace {
    adj: AdjIndex,
    flow_hash: u32,
}

impl Trace for L3xcTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lb-index {} flow hash {:#010x}", self.adj, self.flow_hash)
    }
}

impl<F: Ip> Build for Input<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { onward: Onward::new(world, thread), interfaces: world.get() }
    }
}

/// The configuration is the index of the forwarding object of the paths. It stays the same as long
/// as the cross-connect has these paths.
impl<F: Ip> Configured for Input<F> {
    type Config = AdjIndex;
}

impl<F: Ip> Node for Input<F> {
    const NAME: &'static str = "l3xc-input-{ip}";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = To;
    type Trace = L3xcTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let adj = cx.feature_config::<Self>(b);
        if TRACED {
            b.flow_hash = 0;
        }
        // Flows are told apart, and errors answered, as configured for the table of the interface.
        let table = table_of::<F>(b, self.interfaces.views(cx.turn));
        let next = self.onward.go(b, adj, table, cx.turn);
        if TRACED {
            cx.trace(b, L3xcTrace { adj, flow_hash: b.flow_hash });
        }
        match next {
            Some(node) => {
                cx.count(To::Matched, 1);
                To::Node(node)
            }
            None => To::NoPath,
        }
    }
}

/// The same for many packets at once: the super-path forwards them by the paths.
pub struct Direct<F> {
    matched: ErrorIndex,
    of: PhantomData<F>,
}

impl<F: Ip> Build for Direct<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        let node = graph::filled(Input::<F>::NAME, F::IS_V6);
        let matched = world.reason_index(&node, "matched").expect("a counter of the node");
        Self { matched, of: PhantomData }
    }
}

impl<F: Ip> Stage<F> for Direct<F> {
    fn pass(
        &mut self,
        packets: &mut PacketColumns<'_, F>,
        step: ChainStep<'_>,
        _: &Cx<'_, false>,
    ) -> u64 {
        packets.direct(Directed { adj: step.config::<Input<F>>(), counter: self.matched });
        packets.which
    }
}

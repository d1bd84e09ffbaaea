// SPDX-License-Identifier: Apache-2.0
//! `abf-input-ip4`, `abf-input-ip6`: sends packets by the paths of the policy that matches.

use acl::Contexts;
use acl::list::Listed;
use acl::rule::Action;
use buffer::Buffer;
use graph::{Build, Configured, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use ip::{Ip, Onward, table_of};
use net::{AdjIndex, Interfaces};
use std::fmt;
use std::sync::Arc;

/// `abf-input-ip4` or `abf-input-ip6`.
pub struct Input<F: Ip> {
    contexts: Arc<Contexts>,
    onward: Onward<F>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The node of the adjacency.
    #[dynamic]
    Node(NodeIndex),
    #[next_feature]
    Next,
    /// {ip} policy has no usable path
    #[drop]
    NoPath,
    /// {ip} packets that take the paths of a policy
    #[count]
    #[counter("matched")]
    Matched,
    /// {ip} packets that no policy takes
    #[count]
    #[counter("missed")]
    Missed,
}

#[derive(Clone, Copy)]
pub struct AbfTrace(Option<AdjIndex>);

impl Trace for AbfTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(adj) => write!(f, "matched: lb-index {adj}"),
            None => f.write_str("missed"),
        }
    }
}

impl<F: Ip> Build for Input<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { contexts: world.get(), onward: Onward::new(world, thread), interfaces: world.get() }
    }
}

/// The configuration is the number of the lookup context. The value of an ACL there is the index of
/// the forwarding object of its policy's paths.
impl<F: Ip + Listed> Configured for Input<F> {
    type Config = u32;
}

impl<F: Ip + Listed> Node for Input<F> {
    const NAME: &'static str = "abf-input-{ip}";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = To;
    type Trace = AbfTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let context = cx.feature_config::<Self>(b);
        let found = self.contexts.find::<F>(context, b.data(), cx.turn);
        let adj = found.filter(|(hit, _)| hit.action != Action::Deny).map(|(_, adj)| AdjIndex(adj));
        if TRACED {
            cx.trace(b, AbfTrace(adj));
        }
        let Some(adj) = adj else {
            cx.count(To::Missed, 1);
            return To::Next;
        };
        cx.count(To::Matched, 1);
        // Flows are told apart, and errors answered, as configured for the table of the interface.
        let table = table_of::<F>(b, self.interfaces.views(cx.turn));
        self.onward.go(b, adj, table, cx.turn).map_or(To::NoPath, To::Node)
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `ip4-session-redirect`, `ip6-session-redirect`: send packets by the paths of their session.

use crate::acl::Classified;
use buffer::{Buffer, Field};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use ip::{Ip, Onward, table_of};
use net::{AdjIndex, Interfaces};
use std::fmt;
use std::sync::Arc;

/// The node of an IP version.
pub const fn name(v6: bool) -> &'static str {
    if v6 { "ip6-session-redirect" } else { "ip4-session-redirect" }
}

/// A node.
pub struct Redirect<F: Ip> {
    onward: Onward<F>,
    interfaces: Arc<Interfaces>,
    classified: Option<Field<Classified>>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The node of the adjacency.
    #[dynamic]
    Node(NodeIndex),
    /// {ip} packets that took the paths of a session
    #[count]
    Redirected,
    /// {ip} session has no usable path
    #[drop]
    NoPath,
}

#[derive(Clone, Copy)]
pub struct RedirectTrace(AdjIndex);

impl Trace for RedirectTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lb-index {}", self.0)
    }
}

impl<F: Ip> Build for Redirect<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            onward: Onward::new(world, thread),
            interfaces: world.get(),
            classified: world.pool.field(),
        }
    }
}

impl<F: Ip> Node for Redirect<F> {
    const NAME: &'static str = "{ip}-session-redirect";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = To;
    type Trace = RedirectTrace;

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        // Only a redirect leads here, and its session has noted the forwarding object.
        let Some(session) = self.classified.and_then(|field| b.find_field(field)) else {
            return To::NoPath;
        };
        let adj = AdjIndex(session.metadata);
        if TRACED {
            cx.trace(b, RedirectTrace(adj));
        }
        let table = table_of::<F>(b, self.interfaces.views(cx.turn));
        match self.onward.go(b, adj, table, cx.turn) {
            Some(node) => {
                cx.count(To::Redirected, 1);
                To::Node(node)
            }
            None => To::NoPath,
        }
    }
}

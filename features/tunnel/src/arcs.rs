// SPDX-License-Identifier: Apache-2.0
//! The arcs that packets taken out of tunnels pass on the interface of their tunnel. The arc
//! follows from the packet's next node, which stands at the arc's end.

use crate::Onto;
use buffer::Buffer;
use graph::{ArcIndex, Cx, NodeIndex, World};

/// One of the arcs.
struct Input {
    arc: ArcIndex,
    /// The node at its end; none if its plugin is disabled.
    end: Option<NodeIndex>,
}

impl Input {
    fn new(world: &World, arc: &str, end: &str) -> Self {
        let arc = world.arc(arc).expect("an arc of the plugin of interfaces");
        Self { arc, end: world.node(end) }
    }
}

/// The arcs.
pub struct Arcs {
    ethernet: Input,
    ip4: Input,
    ip6: Input,
}

impl Arcs {
    pub fn new(world: &World) -> Self {
        Self {
            ethernet: Input::new(world, "tunnel-input-ethernet", "ethernet-input"),
            ip4: Input::new(world, "tunnel-input-ip4", "ip4-input"),
            ip6: Input::new(world, "tunnel-input-ip6", "ip6-input"),
        }
    }

    /// Starts the arc of a packet on the interface that has received it. Returns the first feature,
    /// or none if there is no feature, or no arc to the packet's next node.
    #[inline(always)]
    pub fn start<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        onto: Onto,
        cx: &Cx<'_, TRACED>,
    ) -> Option<NodeIndex> {
        let input = match onto {
            Onto::Ethernet => &self.ethernet,
            Onto::Ip4 => &self.ip4,
            Onto::Ip6 => &self.ip6,
            Onto::Node(node) => {
                let all = [&self.ethernet, &self.ip4, &self.ip6];
                all.into_iter().find(|input| input.end == Some(node))?
            }
            Onto::NoIp | Onto::Frame => return None,
        };
        cx.start_arc(input.arc, b.rx_if, b)
    }
}

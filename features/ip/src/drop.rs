// SPDX-License-Identifier: Apache-2.0
//! `ip4-drop`, `ip4-punt`: where IPv4's nodes send what they don't forward, with an arc for who wants to see it.

use crate::input::{Ip4Trace, arc};
use buffer::Buffer;
use graph::{ArcIndex, Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, World};

macro_rules! end {
    ($(#[$doc:meta])* $node:ident, $to:ident, $name:tt, $end:tt) => {
        $(#[$doc])*
        pub struct $node(ArcIndex);

        #[derive(Next, Clone, Copy)]
        pub enum $to {
            #[next($end)]
            End,
            #[dynamic]
            Feature(NodeIndex),
        }

        impl Build for $node {
            fn build(world: &World, _: ThreadIndex) -> Self {
                Self(arc(world, $name))
            }
        }

        impl Node for $node {
            const NAME: &'static str = $name;
            type Next = $to;
            type Trace = Ip4Trace;

            #[inline(always)]
            fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> $to {
                if TRACED {
                    cx.trace(b, Ip4Trace(Head::of(b)));
                }
                cx.start_arc(self.0, b.rx_if, b).map_or($to::End, $to::Feature)
            }
        }
    };
}

end! {
    /// Drops.
    Drop, DropTo, "ip4-drop", "error-drop"
}
end! {
    /// Hands to the punt path.
    Punt, PuntTo, "ip4-punt", "error-punt"
}

// SPDX-License-Identifier: Apache-2.0
//! `ip4-drop`, `ip4-punt`, `ip6-drop`, `ip6-punt`: the nodes for packets that aren't forwarded,
//! with an arc for features that see them.

use crate::family::{Ip, IpTrace, arc};
use buffer::Buffer;
use graph::{ArcIndex, Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use std::marker::PhantomData;

macro_rules! end {
    ($(#[$doc:meta])* $node:ident, $to:ident, $name:tt, $end:tt) => {
        $(#[$doc])*
        pub struct $node<F>(ArcIndex, PhantomData<F>);

        #[derive(Next, Clone, Copy)]
        pub enum $to {
            #[next($end)]
            End,
            #[dynamic]
            Feature(NodeIndex),
        }

        impl<F: Ip> Build for $node<F> {
            fn build(world: &World, _: ThreadIndex) -> Self {
                Self(arc::<F>(world, $name), PhantomData)
            }
        }

        impl<F: Ip> Node for $node<F> {
            const NAME: &'static str = $name;
            const V6: Option<bool> = Some(F::IS_V6);
            type Next = $to;
            type Trace = IpTrace<F>;

            #[inline(always)]
            fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> $to {
                if TRACED {
                    cx.trace(b, IpTrace::<F>::of(b));
                }
                cx.start_arc(self.0, b.rx_if, b).map_or($to::End, $to::Feature)
            }
        }
    };
}

end! {
    /// Drops.
    Drop, DropTo, "{ip}-drop", "error-drop"
}
end! {
    /// Hands to the punt path.
    Punt, PuntTo, "{ip}-punt", "error-punt"
}

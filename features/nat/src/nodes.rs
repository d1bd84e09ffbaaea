// SPDX-License-Identifier: Apache-2.0
//! Parts of nodes: the places of those that translate, and the edges of those that lead packets to
//! them, on the thread that has their sessions.

use crate::around::Place;
use graph::Next;

/// The place of a node that translates, as a type.
pub trait At: Send + 'static {
    /// Where the node stands: input or output, and the direction.
    const PLACE: Place;
    /// Names of the node and of its slow path.
    const NAMES: [&'static str; 2];
    /// The nodes that packets go to.
    type To: Next;
}

/// Declares types for places, each with the names and the edges of its nodes.
#[macro_export]
macro_rules! places {
    ($($(#[$doc:meta])* $place:ident: $names:expr => $to:ty;)*) => {
        $(
            $(#[$doc])*
            pub struct $place;

            impl $crate::nodes::At for $place {
                const PLACE: $crate::around::Place = $crate::around::Place::$place;
                const NAMES: [&'static str; 2] = $names;
                type To = $to;
            }
        )*
    };
}

/// Declares `To`, the edges of the nodes that lead to these nodes of each [`Place`].
#[macro_export]
macro_rules! entry_edges {
    ($in2out:tt, $out2in:tt, $output:tt) => {
        #[derive(::graph::Next, Clone, Copy, PartialEq, Eq, Debug)]
        pub enum To {
            #[next($in2out)]
            In2Out,
            #[next($out2in)]
            Out2In,
            #[next($output)]
            Output,
            /// To the thread that has the packet's sessions.
            #[keep]
            Elsewhere,
            /// next in2out
            #[count]
            #[counter("next in2out")]
            NextIn2Out,
            /// next out2in
            #[count]
            #[counter("next out2in")]
            NextOut2In,
            /// same worker
            #[count]
            #[counter("same worker")]
            Same,
            /// do handoff
            #[count]
            #[counter("do handoff")]
            Handoff,
        }

        impl To {
            /// Names of the nodes that translate, by place.
            const NODES: [&'static str; 3] = [$in2out, $out2in, $output];

            const fn of(place: $crate::around::Place) -> Self {
                match place {
                    $crate::around::Place::In2Out => Self::In2Out,
                    $crate::around::Place::Out2In => Self::Out2In,
                    $crate::around::Place::Output => Self::Output,
                }
            }
        }
    };
}

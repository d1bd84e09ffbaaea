// SPDX-License-Identifier: Apache-2.0
//! `ip4-mfib-forward-lookup`: packets to a group.

use crate::input::Ip4Trace;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, ThreadIndex, World};

pub struct Forward;

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("ip4-local")]
    Local,
    /// ip4 multicast is not forwarded
    #[drop]
    NotForwarded,
}

impl Build for Forward {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl Node for Forward {
    const NAME: &'static str = "ip4-mfib-forward-lookup";
    const DROP: &'static str = "ip4-drop";
    type Next = To;
    type Trace = Ip4Trace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, Ip4Trace(Head::of(b)));
        }
        // Groups of the link itself, which routers never forward (RFC 5771 4): routing protocols, IGMP.
        match b.bytes::<3>(16) {
            Some([224, 0, 0]) => To::Local,
            _ => To::NotForwarded,
        }
    }
}

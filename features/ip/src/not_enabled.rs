// SPDX-License-Identifier: Apache-2.0
//! `ip4-not-enabled`: a feature on the arcs of every interface that has no IPv4.

use crate::input::Ip4Trace;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, ThreadIndex, World};

pub struct NotEnabled;

#[derive(Next, Clone, Copy)]
pub enum To {
    /// ip4 is not enabled on this interface
    #[drop]
    NotEnabled,
}

impl Build for NotEnabled {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

impl Node for NotEnabled {
    const NAME: &'static str = "ip4-not-enabled";
    type Next = To;
    type Trace = Ip4Trace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, Ip4Trace(Head::of(b)));
        }
        To::NotEnabled
    }
}

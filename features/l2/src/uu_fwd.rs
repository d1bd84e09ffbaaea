// SPDX-License-Identifier: Apache-2.0
//! `l2-uu-fwd`: frames for the unknown-unicast port.

use crate::bridge::Bridge;
use crate::meta::L2Meta;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, ThreadIndex, World};
use std::sync::Arc;

pub struct L2UuFwd {
    bridge: Arc<Bridge>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// frames sent to the unknown-unicast port
    #[next("l2-output", count)]
    #[counter("L2 UU fwd")]
    Output,
    /// domain has no unknown-unicast port any more
    #[drop]
    Gone,
}

impl Build for L2UuFwd {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { bridge: world.get() }
    }
}

impl Node for L2UuFwd {
    const NAME: &'static str = "l2-uu-fwd";
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let domain = self.bridge.domains.get(b.scratch::<L2Meta>().domain().into(), cx.turn);
        let Some(port) = domain.and_then(|domain| domain.uu_fwd) else { return To::Gone };
        b.tx_if = port;
        To::Output
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `l2-patch`: sends frames by the other device.

use buffer::Buffer;
use graph::{Build, Configured, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::Interfaces;
use std::fmt;
use std::sync::Arc;

pub struct L2Patch {
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The output of the other device.
    #[dynamic]
    Node(NodeIndex),
    /// frames that were patched
    #[count]
    #[counter("L2 patch packets")]
    Patched,
    /// the other device is gone
    #[drop]
    #[counter("L2 patch misconfigured drops")]
    Misconfigured,
}

/// The two devices.
#[derive(Clone, Copy)]
pub struct PatchTrace {
    rx: u32,
    tx: u32,
}

impl Trace for PatchTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L2_PATCH: rx {} tx {}", self.rx, self.tx)
    }
}

/// The device that frames leave by.
impl Configured for L2Patch {
    type Config = u32;
}

impl Build for L2Patch {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { interfaces: world.get() }
    }
}

impl Node for L2Patch {
    const NAME: &'static str = "l2-patch";
    const HOT: bool = true;
    type Next = To;
    type Trace = PatchTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let tx = cx.feature_config::<Self>(b);
        if TRACED {
            cx.trace(b, PatchTrace { rx: b.rx_if, tx });
        }
        let Some(view) = self.interfaces.views(cx.turn).get(tx as usize) else {
            return To::Misconfigured;
        };
        if view.output == NodeIndex::default() {
            return To::Misconfigured;
        }
        b.mark_l2();
        b.tx_if = tx;
        cx.count(To::Patched, 1);
        To::Node(view.output)
    }
}

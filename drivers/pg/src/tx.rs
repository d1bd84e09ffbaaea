// SPDX-License-Identifier: Apache-2.0
//! `pgN-tx`: frees what is sent, or gives it to the capture.

use crate::control::Shared;
use buffer::{Buffer, Owned};
use graph::{Cx, Next, Node, SwIfIndex, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub struct PgTx {
    sw_if: SwIfIndex,
    capturing: Arc<AtomicBool>,
    shared: Arc<Shared>,
}

impl PgTx {
    pub fn new(world: &World, sw_if: SwIfIndex, capturing: Arc<AtomicBool>) -> Self {
        Self { sw_if, capturing, shared: world.get() }
    }
}

#[derive(Next, Clone, Copy)]
pub enum To {
    #[free]
    Sent,
    #[keep]
    Captured,
    /// the writer of the capture is too far behind.
    #[drop]
    CaptureFull,
}

impl Node for PgTx {
    const NAME: &'static str = "pg-tx";
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, _: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
        if self.capturing.load(Ordering::Relaxed) { To::Captured } else { To::Sent }
    }

    fn keep(&mut self, buffer: Owned, cx: &mut Cx<'_, false>) {
        if let Err((_, buffer)) = self.shared.backlog.post(self.sw_if, buffer) {
            cx.emit(To::CaptureFull, buffer);
        }
    }
}

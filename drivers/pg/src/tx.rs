// SPDX-License-Identifier: Apache-2.0
//! `pgN-tx`: frees what is sent, or gives it to the capture, where work that is left in it gets
//! done.

use crate::offload::l3_of;
use crate::state::Shared;
use buffer::{Buffer, Flags, Owned};
use driver::Segmenter;
use graph::{Cx, Next, Node, SwIfIndex, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub struct PgTx {
    sw_if: SwIfIndex,
    /// Packets begin with an IP header.
    ip: bool,
    capturing: Arc<AtomicBool>,
    shared: Arc<Shared>,
}

impl PgTx {
    pub fn new(world: &World, sw_if: SwIfIndex, ip: bool, capturing: Arc<AtomicBool>) -> Self {
        Self { sw_if, ip, capturing, shared: world.get() }
    }

    /// Returns true if the work that is pending in a packet can be done.
    #[cold]
    fn is_sane(&self, b: &Buffer) -> bool {
        if b.flags.contains(Flags::GSO) {
            return l3_of(b.data(), self.ip).is_some_and(|l3| Segmenter::new(b, l3).is_ok());
        }
        usize::from(b.offload.csum_start) + usize::from(b.offload.csum_offset) + 2 <= b.packet_len()
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
    /// checksum or segmentation can't be done for it.
    #[drop]
    BadOffload,
}

impl Node for PgTx {
    const NAME: &'static str = "pg-tx";
    type Next = To;
    type Trace = ();

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
        if !self.capturing.load(Ordering::Relaxed) {
            To::Sent
        } else if b.flags.intersects(Flags::CSUM_PARTIAL | Flags::GSO) && !self.is_sane(b) {
            To::BadOffload
        } else {
            To::Captured
        }
    }

    fn keep(&mut self, buffer: Owned, cx: &mut Cx<'_, false>) {
        if let Err((_, buffer)) = self.shared.backlog.post(self.sw_if, buffer) {
            cx.emit(To::CaptureFull, buffer);
        }
    }
}

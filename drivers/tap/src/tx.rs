// SPDX-License-Identifier: Apache-2.0
//! `INTERFACE-tx`: from buffers to the host.

use crate::TxQueue;
use driver::Loss;
use wire::offload::Offload;

impl driver::TxQueue for TxQueue {
    const NODE: &'static str = "tap-tx";

    #[inline]
    fn send<'d, P: Iterator<Item = &'d [u8]>>(
        &mut self,
        frames: impl Iterator<Item = (Offload, P)>,
        lost: impl FnMut(usize, Loss),
    ) {
        TxQueue::send(self, frames, lost);
    }
}

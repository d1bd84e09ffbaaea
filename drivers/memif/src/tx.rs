// SPDX-License-Identifier: Apache-2.0
//! `INTERFACE-tx`: from buffers into shared memory.

use crate::io::SharedTx;
use driver::Loss;
use wire::offload::Offload;

impl driver::TxQueue for SharedTx {
    const NODE: &'static str = "memif-tx";

    #[inline]
    fn send<'d, P: Iterator<Item = &'d [u8]>>(
        &mut self,
        frames: impl Iterator<Item = (Offload, P)>,
        lost: impl FnMut(usize, Loss),
    ) {
        SharedTx::send(self, frames, lost);
    }
}

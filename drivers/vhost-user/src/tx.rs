// SPDX-License-Identifier: Apache-2.0
//! `INTERFACE-tx`: from buffers into a guest's memory.

use crate::io::Vring;
use driver::Loss;
use std::sync::Arc;
use wire::offload::Offload;

/// A ring by which a guest receives. Several threads may use it.
pub struct VhostTx(pub Arc<Vring>);

impl driver::TxQueue for VhostTx {
    const NODE: &'static str = "vhost-user-tx";

    #[inline]
    fn send<'d, P: Iterator<Item = &'d [u8]>>(
        &mut self,
        frames: impl Iterator<Item = (Offload, P)>,
        mut lost: impl FnMut(usize, Loss),
    ) {
        let mut frames = Some(frames);
        let sent = self.0.with(|queue, is_enabled| match frames.take() {
            Some(frames) if is_enabled => {
                queue.send(frames, &mut lost);
                true
            }
            other => {
                frames = other;
                false
            }
        });
        // Stopped, or disabled by the front-end.
        if sent != Some(true) {
            let left = frames.into_iter().flatten();
            left.enumerate().for_each(|(frame, _)| lost(frame, Loss::Down));
        }
    }
}

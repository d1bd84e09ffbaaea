// SPDX-License-Identifier: Apache-2.0
//! `vhost-user-input`: from a guest's memory into buffers.

use crate::io::{NextPacket, Queue, Vring};
use driver::{Burst, Losses, PollInput};
use graph::InputMode;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

pub type VhostInput = PollInput<VhostRx>;

/// Chains that are looked at in one turn: a guest that makes bad ones available without an end
/// keeps no thread.
const CHAINS: usize = 512;

/// A ring by which a guest sends.
pub struct VhostRx {
    vring: Arc<Vring>,
    /// The interface was up when the queue was made, and hasn't been down since.
    fresh: bool,
    /// It isn't placed on a thread yet.
    new: bool,
}

impl VhostRx {
    /// A queue of an interface that is up or not.
    pub fn new(vring: Arc<Vring>, up: bool) -> Self {
        Self { vring, fresh: up, new: true }
    }
}

#[inline(always)]
fn receive(queue: &mut Queue, burst: &mut Burst<'_>) {
    for _ in 0..CHAINS {
        if burst.room() == 0 {
            break;
        }
        match queue.take_or_rearm() {
            NextPacket::Nothing => break,
            NextPacket::Packet { len, offload } if burst.reserve(len) => {
                queue.copy(burst.parts(len));
                burst.push(len, offload, None);
            }
            NextPacket::Packet { .. } => burst.lose(1),
            NextPacket::Bad => {}
        }
    }
    queue.give_back();
}

impl driver::RxQueue for VhostRx {
    const NODE: &'static str = "vhost-user-input";

    #[inline]
    fn receive(&mut self, burst: &mut Burst<'_>) {
        // A ring that the front-end changes now is polled in the next turn.
        let _ = self.vring.try_with(|queue, is_enabled| match is_enabled {
            true => receive(queue, burst),
            // A guest may go on with what it has sent by a disabled ring.
            false => queue.discard(),
        });
    }

    /// Packets of a guest that has just connected are for this interface.
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.vring.as_fd())
    }

    fn discard(&mut self) {
        if !std::mem::take(&mut self.new) {
            let _ = self.vring.with(|queue, _| queue.discard());
        }
    }

    /// Packets that the guest sent while the interface was down aren't for later.
    fn begin(&mut self) {
        if !std::mem::take(&mut self.fresh) {
            let _ = self.vring.with(|queue, _| queue.discard());
        }
    }

    fn set_mode(&mut self, mode: InputMode) {
        self.vring.set_events(mode != InputMode::Polling);
    }

    fn losses(&mut self) -> Losses {
        let losses = self.vring.with(|queue, _| Losses {
            bad_desc: queue.take_bad(),
            unknown_offload: queue.take_unknown_offload(),
            ..Losses::default()
        });
        losses.unwrap_or_default()
    }

    fn idle(&mut self) {
        self.vring.clear();
    }
}

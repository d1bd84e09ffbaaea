// SPDX-License-Identifier: Apache-2.0
//! `memif-input`: from shared memory into buffers.

use crate::io::RxRing;
use crate::io::rx::NextPacket;
use driver::{Burst, Losses, PollInput};
use graph::InputMode;
use std::os::fd::{AsFd, BorrowedFd};
use wire::offload::Offload;

pub type MemifInput = PollInput<MemifRx>;

/// A receive queue.
pub struct MemifRx {
    ring: RxRing,
    /// The interface was up when the connection was made, and hasn't been down since.
    fresh: bool,
}

impl MemifRx {
    /// A queue of a new connection, of an interface that is up or not.
    pub fn new(ring: RxRing, up: bool) -> Self {
        Self { ring, fresh: up }
    }
}

impl driver::RxQueue for MemifRx {
    const NODE: &'static str = "memif-input";

    #[inline]
    fn receive(&mut self, burst: &mut Burst<'_>) {
        let ring = &mut self.ring;
        let waiting = ring.waiting();
        while burst.room() > 0 {
            let found = ring.look(waiting);
            match found {
                NextPacket::Nothing => break,
                NextPacket::Packet { len, .. } if burst.reserve(len) => {
                    ring.copy(burst.parts(len));
                    burst.push(len, Offload::NONE, None);
                }
                NextPacket::Packet { .. } => burst.lose(1),
                NextPacket::Bad { .. } | NextPacket::Rest { .. } => {}
            }
            ring.take(found);
        }
        ring.give_back();
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.ring.as_fd())
    }

    fn discard(&mut self) {
        self.ring.discard();
    }

    /// Packets that the peer sent while the interface was down aren't for later.
    fn begin(&mut self) {
        if !std::mem::take(&mut self.fresh) {
            self.ring.discard();
        }
    }

    fn set_mode(&mut self, mode: InputMode) {
        self.ring.set_interrupts(mode != InputMode::Polling);
    }

    fn losses(&mut self) -> Losses {
        Losses { bad_desc: self.ring.take_bad(), ..Losses::default() }
    }

    fn idle(&mut self) {
        self.ring.clear_event();
    }
}

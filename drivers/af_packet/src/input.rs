// SPDX-License-Identifier: Apache-2.0
//! `af-packet-input`: from the rings into buffers.

use crate::RxQueue;
use driver::{Burst, Losses, PollInput};
use std::os::fd::{AsFd, BorrowedFd};

pub type AfPacketInput = PollInput<RxQueue>;

/// More than a ring holds.
const ALL: usize = 1 << 20;

impl driver::RxQueue for RxQueue {
    const NODE: &'static str = "af-packet-input";

    #[inline]
    fn receive(&mut self, burst: &mut Burst<'_>) {
        self.recv_while(burst.room(), |frame| {
            let (len, offload) = (frame.len(), frame.offload);
            let tag = frame.vlan.map(|tag| [tag.tpid, tag.tci]);
            if !burst.reserve(len) {
                burst.lose(1);
            } else if frame.read_into(burst.parts(len)) == len {
                // A frame whose rest the socket has lost with the link is left out.
                burst.push(len, offload, tag);
            }
            burst.room() > 0
        });
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.as_fd())
    }

    fn discard(&mut self) {
        self.recv(ALL, |frame| drop(frame));
    }

    fn losses(&mut self) -> Losses {
        let drops = self.take_drops();
        // The kernel counts as long as the socket is open.
        let missed = self.stats().take().map_or(0, |count| count.dropped);
        Losses {
            missed,
            errors: drops.truncated,
            unknown_offload: drops.unknown_offload,
            ..Losses::default()
        }
    }

    fn idle(&mut self) {
        // The link went down: the link monitor reports that; here it only keeps the descriptor
        // readable.
        let _ = self.take_error();
    }
}

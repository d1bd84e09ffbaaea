// SPDX-License-Identifier: Apache-2.0
//! `virtio-input`: from the host into buffers.

use crate::{MAX_FRAME, RxQueue};
use driver::{Burst, Losses, PollInput};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub type VirtioInput = PollInput<TapRx>;

/// More than the host holds.
const ALL: usize = 1 << 20;

/// Bytes to reserve for a frame of the host before it is received: its maximum length + 1.
pub struct Longest(AtomicUsize);

impl Longest {
    /// With segmentation left to us, 64 KiB.
    pub fn new(gso: bool, mtu: u32) -> Arc<Self> {
        let this = Self(AtomicUsize::new(0));
        this.set(gso, mtu);
        Arc::new(this)
    }

    pub fn set(&self, gso: bool, mtu: u32) {
        // An Ethernet header, two tags, and a byte by which a frame that is too long shows.
        const MORE: usize = 14 + 8 + 1;
        let len = if gso { MAX_FRAME + 1 } else { (mtu as usize + MORE).min(MAX_FRAME + 1) };
        self.0.store(len, Ordering::Relaxed);
    }
}

/// A receive queue and how much may come.
pub struct TapRx {
    pub queue: RxQueue,
    pub longest: Arc<Longest>,
}

impl driver::RxQueue for TapRx {
    const NODE: &'static str = "virtio-input";

    #[inline]
    fn receive(&mut self, burst: &mut Burst<'_>) {
        let longest = self.longest.0.load(Ordering::Relaxed);
        while burst.room() > 0 {
            if !burst.reserve(longest) {
                let lost = self.queue.discard(burst.room());
                return burst.lose(lost);
            }
            let Some((offload, len)) = self.queue.recv_into(burst.parts(longest)) else { return };
            burst.push(len, offload, None);
        }
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.queue.as_fd())
    }

    fn discard(&mut self) {
        self.queue.discard(ALL);
    }

    fn losses(&mut self) -> Losses {
        let drops = self.queue.take_drops();
        Losses {
            errors: drops.truncated,
            unknown_offload: drops.unknown_offload,
            ..Losses::default()
        }
    }

    fn idle(&mut self) {
        // The host's end is gone, which the link monitor reports.
        let _ = self.queue.take_error();
    }
}

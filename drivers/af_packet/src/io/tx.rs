// SPDX-License-Identifier: Apache-2.0
//! A transmit queue.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use driver::Loss;
use rustix::io::Errno;
use wire::offload::{Offload, VNET_HDR_LEN};

use super::mmsg::{Batch, Messages};

/// The kernel takes as much contiguous memory as the header length asks for. What it says itself on
/// reception is the length of its first piece, which may be all of 64 KiB.
const MAX_LINEAR: u16 = 256;

/// A transmit queue of a host interface. It belongs to one thread at a time.
pub struct TxQueue {
    fd: OwnedFd,
    messages: Messages,
}

impl TxQueue {
    pub(super) fn new(fd: OwnedFd, messages: Messages) -> Self {
        Self { fd, messages }
    }

    /// Sends frames, each in pieces, by one system call for each 256 of them unless some fail.
    /// `lost` gets the number of each frame, in their order, that wasn't sent. Never waits.
    #[inline(always)]
    pub fn send<'d, P: Iterator<Item = &'d [u8]>>(
        &mut self,
        frames: impl Iterator<Item = (Offload, P)>,
        mut lost: impl FnMut(usize, Loss),
    ) {
        let mut batch = Batch::new(&self.fd, &mut self.messages);
        let (mut sent, mut count) = (0, 0);
        for (offload, parts) in frames {
            if batch.is_full() {
                batch
                    .send(|error, frames| frames.for_each(|frame| lost(sent + frame, loss(error))));
                sent = count;
            }
            batch.push(vnet(offload), parts);
            count += 1;
        }
        batch.send(|error, frames| frames.for_each(|frame| lost(sent + frame, loss(error))));
    }

    /// Begins to collect frames. Nothing is sent, and no frame copied, before [`TxBatch::flush`] or
    /// a full batch.
    #[inline(always)]
    pub fn batch<'d>(&mut self) -> TxBatch<'_, 'd> {
        TxBatch { batch: Batch::new(&self.fd, &mut self.messages), report: TxReport::default() }
    }
}

impl AsFd for TxQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The outcome of a batch: numbers of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TxReport {
    /// Taken by the kernel.
    pub sent: u64,
    /// No room in the socket: the interface is slower than what it gets.
    pub full: u64,
    /// Longer than the interface's MTU and without segmentation offload.
    pub too_long: u64,
    /// The interface is down or gone.
    pub down: u64,
    /// Dropped by the host's queueing discipline, or refused as malformed (too short for an
    /// Ethernet header, offsets beyond the end …).
    pub refused: u64,
}

/// Frames, borrowed for `'d`, that go out together.
pub struct TxBatch<'q, 'd> {
    batch: Batch<'q, 'd>,
    report: TxReport,
}

impl<'d> TxBatch<'_, 'd> {
    /// Adds a frame, which lies in `parts`, one after the other (at most 1,000). Every 256th call
    /// makes a system call.
    #[inline(always)]
    pub fn push(&mut self, offload: Offload, parts: impl IntoIterator<Item = &'d [u8]>) {
        if self.batch.is_full() {
            self.send();
        }
        self.batch.push(vnet(offload), parts);
        self.report.sent += 1;
    }

    /// Sends what was collected, by one system call unless frames fail. Never waits: what can't go
    /// now is dropped, and reported.
    pub fn flush(mut self) -> TxReport {
        self.send();
        self.report
    }

    fn send(&mut self) {
        let report = &mut self.report;
        self.batch.send(|error, frames| {
            let frames = frames.len() as u64;
            report.sent -= frames;
            *match loss(error) {
                Loss::Full => &mut report.full,
                Loss::TooLong => &mut report.too_long,
                Loss::Down => &mut report.down,
                Loss::Refused => &mut report.refused,
            } += frames;
        });
    }
}

#[inline(always)]
fn vnet(mut offload: Offload) -> [u8; VNET_HDR_LEN] {
    if let Some(gso) = &mut offload.gso {
        gso.hdr_len = gso.hdr_len.min(MAX_LINEAR);
    }
    offload.to_vnet()
}

#[cold]
fn loss(error: Errno) -> Loss {
    match error {
        Errno::AGAIN => Loss::Full,
        Errno::MSGSIZE => Loss::TooLong,
        Errno::NETDOWN | Errno::NXIO | Errno::NODEV => Loss::Down,
        _ => Loss::Refused,
    }
}

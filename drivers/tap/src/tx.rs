// SPDX-License-Identifier: Apache-2.0
//! A transmit queue.

use std::{
    io::IoSlice,
    marker::PhantomData,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};

use rustix::io::{Errno, writev};
use wire::offload::Offload;

use crate::MAX_PARTS;

/// A transmit queue of a tap. It belongs to one thread at a time.
pub struct TxQueue {
    fd: Arc<OwnedFd>,
}

impl TxQueue {
    pub(crate) fn new(fd: Arc<OwnedFd>) -> Self {
        Self { fd }
    }

    /// Begins to send frames.
    #[inline(always)]
    pub fn batch<'d>(&mut self) -> TxBatch<'_, 'd> {
        TxBatch { fd: self.fd.as_fd(), report: TxReport::default(), frames: PhantomData }
    }
}

impl AsFd for TxQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What became of the frames of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TxReport {
    /// Taken by the host.
    pub sent: u64,
    /// No room.
    pub full: u64,
    /// The host's interface is down or gone.
    pub down: u64,
    /// Refused as malformed (too short for an Ethernet header, offsets beyond the end …), or in more than
    /// [`MAX_PARTS`] pieces.
    pub refused: u64,
}

/// Frames, borrowed for `'d`, that go out one after the other.
pub struct TxBatch<'q, 'd> {
    fd: BorrowedFd<'q>,
    report: TxReport,
    frames: PhantomData<&'d [u8]>,
}

impl<'d> TxBatch<'_, 'd> {
    /// Sends a frame, which lies in `parts`, one after the other: one system call, in which the host receives it.
    #[inline(always)]
    pub fn push(&mut self, offload: Offload, parts: impl IntoIterator<Item = &'d [u8]>) {
        let vnet = offload.to_vnet();
        let mut slices = [IoSlice::new(&[]); MAX_PARTS + 1];
        slices[0] = IoSlice::new(&vnet);
        let (mut count, mut parts) = (1, parts.into_iter());
        for (slice, part) in slices[1..].iter_mut().zip(&mut parts) {
            *slice = IoSlice::new(part);
            count += 1;
        }
        if count > MAX_PARTS && parts.next().is_some() {
            self.report.refused += 1;
            return;
        }
        loop {
            *match writev(self.fd, &slices[..count]) {
                Ok(_) => &mut self.report.sent,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => &mut self.report.full,
                Err(Errno::IO | Errno::BADFD | Errno::NODEV) => &mut self.report.down,
                Err(_) => &mut self.report.refused,
            } += 1;
            return;
        }
    }

    /// Ends the batch and tells what became of it.
    #[inline(always)]
    pub fn flush(self) -> TxReport {
        self.report
    }
}

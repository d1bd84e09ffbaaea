// SPDX-License-Identifier: Apache-2.0
//! A transmit queue.

use std::{
    io::IoSlice,
    marker::PhantomData,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};

use driver::Loss;
use rustix::io::{Errno, writev};
use wire::offload::Offload;

use super::MAX_PARTS;

/// A transmit queue of a tap. It belongs to one thread at a time; copies of it for other threads go
/// to the same queue of the host.
#[derive(Clone)]
pub struct TxQueue {
    fd: Arc<OwnedFd>,
}

impl TxQueue {
    pub(super) fn new(fd: Arc<OwnedFd>) -> Self {
        Self { fd }
    }

    /// Sends frames, each in pieces, one after the other. `lost` gets the number of each frame, in
    /// their order, that wasn't sent. Never waits.
    #[inline(always)]
    pub fn send<'d, P: Iterator<Item = &'d [u8]>>(
        &mut self,
        frames: impl Iterator<Item = (Offload, P)>,
        mut lost: impl FnMut(usize, Loss),
    ) {
        for (frame, (offload, parts)) in frames.enumerate() {
            if let Err(loss) = send(self.fd.as_fd(), offload, parts) {
                lost(frame, loss);
            }
        }
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

/// The outcome of a batch: numbers of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TxReport {
    /// Taken by the host.
    pub sent: u64,
    /// No room.
    pub full: u64,
    /// The host's interface is down or gone.
    pub down: u64,
    /// Refused as malformed (too short for an Ethernet header, offsets beyond the end …), or in
    /// more than [`MAX_PARTS`] pieces.
    pub refused: u64,
}

/// Frames, borrowed for `'d`, that go out one after the other.
pub struct TxBatch<'q, 'd> {
    fd: BorrowedFd<'q>,
    report: TxReport,
    frames: PhantomData<&'d [u8]>,
}

impl<'d> TxBatch<'_, 'd> {
    /// Sends a frame, which lies in `parts`, one after the other: one system call, in which the
    /// host receives it.
    #[inline(always)]
    pub fn push(&mut self, offload: Offload, parts: impl IntoIterator<Item = &'d [u8]>) {
        *match send(self.fd, offload, parts) {
            Ok(()) => &mut self.report.sent,
            Err(Loss::Full) => &mut self.report.full,
            Err(Loss::Down) => &mut self.report.down,
            Err(Loss::TooLong | Loss::Refused) => &mut self.report.refused,
        } += 1;
    }

    /// Ends the batch and returns its outcome.
    #[inline(always)]
    pub fn flush(self) -> TxReport {
        self.report
    }
}

#[inline(always)]
fn send<'d>(
    fd: BorrowedFd<'_>,
    offload: Offload,
    parts: impl IntoIterator<Item = &'d [u8]>,
) -> Result<(), Loss> {
    let vnet = offload.to_vnet();
    let mut slices = [IoSlice::new(&[]); MAX_PARTS + 1];
    slices[0] = IoSlice::new(&vnet);
    let (mut count, mut parts) = (1, parts.into_iter());
    for (slice, part) in slices[1..].iter_mut().zip(&mut parts) {
        *slice = IoSlice::new(part);
        count += 1;
    }
    if count > MAX_PARTS && parts.next().is_some() {
        return Err(Loss::Refused);
    }
    loop {
        return match writev(fd, &slices[..count]) {
            Ok(_) => Ok(()),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => Err(Loss::Full),
            Err(Errno::IO | Errno::BADFD | Errno::NODEV) => Err(Loss::Down),
            Err(_) => Err(Loss::Refused),
        };
    }
}

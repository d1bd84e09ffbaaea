// SPDX-License-Identifier: Apache-2.0
//! A receive queue.

use std::{
    io::{self, IoSliceMut},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Weak},
};

use rustix::io::{Errno, readv};
use wire::offload::{Offload, VNET_HDR_LEN};

use super::MAX_PARTS;

/// The longest frame that is received: an IP packet of 65,535 bytes, an Ethernet header and two
/// tags.
pub const MAX_FRAME: usize = 65_535 + 14 + 8;

/// A frame that the host sent.
#[derive(Clone, Copy)]
pub struct RxFrame<'a> {
    /// Work that the host left undone.
    pub offload: Offload,
    /// The frame.
    pub data: &'a [u8],
}

/// Frames that were not handed on, since the last [`RxQueue::take_drops`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RxDrops {
    /// Longer than [`MAX_FRAME`], or than the memory given for them.
    pub truncated: u64,
    /// With an unknown kind of segmentation offload.
    pub unknown_offload: u64,
}

/// A receive queue of a tap. It belongs to one thread at a time.
pub struct RxQueue {
    fd: Arc<OwnedFd>,
    /// One byte longer than the longest frame, to detect a longer one.
    scratch: Box<[u8]>,
    drops: RxDrops,
    error: Option<Errno>,
}

impl RxQueue {
    pub(super) fn new(fd: Arc<OwnedFd>) -> Self {
        let scratch = vec![0; MAX_FRAME + 1].into_boxed_slice();
        Self { fd, scratch, drops: RxDrops::default(), error: None }
    }

    /// Tells whether the descriptor, which other queues share, is open still.
    pub fn downgrade(&self) -> Weak<OwnedFd> {
        Arc::downgrade(&self.fd)
    }

    /// Hands at most `max` frames to `f`, in the order in which they came, and returns how many
    /// that were. Makes one system call for each frame, and one more to see that there is none.
    pub fn recv(&mut self, max: usize, mut f: impl FnMut(RxFrame<'_>)) -> usize {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut count = 0;
        while count < max {
            let Some((offload, len)) = self.recv_into([&mut scratch[..]]) else { break };
            f(RxFrame { offload, data: &scratch[..len] });
            count += 1;
        }
        self.scratch = scratch;
        count
    }

    /// Receives one frame into `parts`, one after the other, at most [`MAX_PARTS`]; returns what is
    /// left to do and its length. One byte of the memory has to stay free, else the frame
    /// counts as truncated and the next is taken.
    #[inline(always)]
    pub fn recv_into<'b>(
        &mut self,
        parts: impl IntoIterator<Item = &'b mut [u8]>,
    ) -> Option<(Offload, usize)> {
        let mut vnet = [0; VNET_HDR_LEN];
        let mut slices: [_; MAX_PARTS + 1] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
        slices[0] = IoSliceMut::new(&mut vnet);
        let (mut count, mut room) = (1, 0);
        for (slice, part) in slices[1..].iter_mut().zip(parts) {
            room += part.len();
            *slice = IoSliceMut::new(part);
            count += 1;
        }
        loop {
            let len = match readv(&self.fd, &mut slices[..count]) {
                Ok(len) => len.saturating_sub(VNET_HDR_LEN),
                Err(Errno::AGAIN) => return None,
                Err(Errno::INTR) => continue,
                Err(error) => {
                    self.error = Some(error);
                    return None;
                }
            };
            let header: [u8; VNET_HDR_LEN] = slices[0][..].try_into().unwrap_or_default();
            if len >= room {
                self.drops.truncated += 1;
            } else if let Some(offload) = Offload::from_vnet(header) {
                return Some((offload, len));
            } else {
                self.drops.unknown_offload += 1;
            }
        }
    }

    /// Discards at most `max` frames that wait, and returns their number.
    pub fn discard(&mut self, max: usize) -> usize {
        // A frame that doesn't fit loses its tail.
        let mut vnet = [0; VNET_HDR_LEN];
        (0..max)
            .take_while(|_| {
                loop {
                    match readv(&self.fd, &mut [IoSliceMut::new(&mut vnet)]) {
                        Ok(_) => return true,
                        Err(Errno::INTR) => {}
                        Err(_) => return false,
                    }
                }
            })
            .count()
    }

    /// Returns the drops here since the last call. Frames that the host dropped because its queue
    /// was full are in the host's counters of the interface (`tx_dropped`).
    pub fn take_drops(&mut self) -> RxDrops {
        std::mem::take(&mut self.drops)
    }

    /// Clears and returns the error that ended the last reception, if it wasn't the lack of frames:
    /// the interface is gone.
    pub fn take_error(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), |error| Err(error.into()))
    }
}

impl AsFd for RxQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

// SPDX-License-Identifier: Apache-2.0
//! A receive queue.

use std::{
    io::{self, IoSliceMut},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};

use libc::{TP_STATUS_COPY, TP_STATUS_CSUM_VALID, TP_STATUS_VLAN_TPID_VALID, TP_STATUS_VLAN_VALID};
use rustix::{io::Errno, net::sockopt};
use wire::offload::{Csum, Offload, VNET_HDR_LEN};

use super::{
    ring::{Ring, Slot},
    sys,
};

/// The longest frame that is received: an IP packet of 65,535 bytes, an Ethernet header and two
/// tags.
pub const MAX_FRAME: usize = 65_535 + 14 + 8;

/// Number of pieces that [`RxFrame::read_into`] can put one frame into.
pub const MAX_PARTS: usize = 40;

/// A VLAN tag that the kernel took out of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vlan {
    /// Tag protocol: 0x8100 or 0x88a8.
    pub tpid: u16,
    /// Priority (3 bits), drop eligible (1 bit), VLAN (12 bits).
    pub tci: u16,
}

/// A frame as it came, still in the hands of the kernel.
///
/// A frame that is dropped without being read is gone.
pub struct RxFrame<'a> {
    /// The outermost tag, if the kernel took it out. It belongs between the source address and the
    /// EtherType; lengths in `offload` are without it.
    pub vlan: Option<Vlan>,
    /// Work that the sender left undone.
    pub offload: Offload,
    len: usize,
    /// The frame or, if `rest` is there, its beginning.
    head: &'a [u8],
    /// Too long for the ring: the whole frame waits in the socket.
    rest: Option<PendingFrame<'a>>,
}

struct PendingFrame<'a> {
    fd: BorrowedFd<'a>,
    scratch: &'a mut Box<[u8]>,
}

impl RxFrame<'_> {
    /// Length in bytes, without a tag that was taken out.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "the kernel delivers no empty frame")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Copies the frame into `parts`, one after the other, and returns how many bytes that was:
    /// less than [`len`](Self::len) if they are too short, or if there are more than
    /// [`MAX_PARTS`]. Long frames are copied only this once, from the kernel's own buffers.
    #[inline(always)]
    pub fn read_into<'b>(mut self, parts: impl IntoIterator<Item = &'b mut [u8]>) -> usize {
        if let Some(rest) = self.rest.take() {
            return read_rest(rest.fd, parts);
        }
        let mut left = self.head;
        for part in parts {
            let (now, later) = left.split_at(part.len().min(left.len()));
            part[..now.len()].copy_from_slice(now);
            left = later;
            if left.is_empty() {
                break;
            }
        }
        self.head.len() - left.len()
    }

    /// Calls `f` with the frame in one piece.
    pub fn with_bytes<T>(mut self, f: impl FnOnce(&[u8]) -> T) -> T {
        match self.rest.take() {
            None => f(self.head),
            Some(rest) => {
                let len = read_rest(rest.fd, [&mut rest.scratch[..]]);
                f(&rest.scratch[..len.min(self.len)])
            }
        }
    }
}

impl Drop for RxFrame<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(rest) = self.rest.take() {
            read_rest(rest.fd, []);
        }
    }
}

/// Reads the frame at the head of the socket's queue and returns its length, or that of `parts` if
/// they are shorter.
#[inline(never)]
fn read_rest<'b>(fd: BorrowedFd<'_>, parts: impl IntoIterator<Item = &'b mut [u8]>) -> usize {
    let mut vnet = [0; VNET_HDR_LEN];
    let mut slices: [_; MAX_PARTS + 1] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
    slices[0] = IoSliceMut::new(&mut vnet);
    let mut count = 1;
    for (slice, part) in slices[1..].iter_mut().zip(parts) {
        *slice = IoSliceMut::new(part);
        count += 1;
    }
    loop {
        match rustix::io::readv(fd, &mut slices[..count]) {
            Ok(len) => return len.saturating_sub(VNET_HDR_LEN),
            // The interface went down in the meantime: reported once, before the frames.
            Err(Errno::INTR | Errno::NETDOWN) => {}
            Err(_) => return 0,
        }
    }
}

/// Frames that were not handed on, since the last [`RxQueue::take_drops`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RxDrops {
    /// Longer than [`MAX_FRAME`], or long and without room in the socket.
    pub truncated: u64,
    /// With an unknown kind of segmentation offload.
    pub unknown_offload: u64,
}

/// A receive queue of a host interface. It belongs to one thread at a time.
pub struct RxQueue {
    ring: Ring,
    fd: Arc<OwnedFd>,
    drops: RxDrops,
    scratch: Box<[u8]>,
}

impl RxQueue {
    pub(super) fn new(fd: Arc<OwnedFd>, ring: Ring) -> Self {
        let scratch = vec![0; MAX_FRAME].into_boxed_slice();
        Self { ring, fd, drops: RxDrops::default(), scratch }
    }

    /// Hands at most `max` frames to `f`, in the order in which they came, and returns how many
    /// that were. Makes no system call, but one for each frame that was too long for the ring.
    #[inline(always)]
    pub fn recv(&mut self, max: usize, mut f: impl FnMut(RxFrame<'_>)) -> usize {
        self.recv_while(max, |frame| {
            f(frame);
            true
        })
    }

    /// As [`Self::recv`], but stops behind the first frame for which `f` returns `false`.
    #[inline(always)]
    pub fn recv_while(&mut self, max: usize, mut f: impl FnMut(RxFrame<'_>) -> bool) -> usize {
        let (mut count, mut go_on) = (0, true);
        while go_on && count < max {
            let Some(slot) = self.ring.peek() else { break };
            let queued = slot.status & TP_STATUS_COPY != 0;
            let rest =
                queued.then(|| PendingFrame { fd: self.fd.as_fd(), scratch: &mut self.scratch });
            let (len, offload) = (slot.len as usize, offload(&slot));
            let whole = len <= MAX_FRAME && (queued || slot.data.len() == len);
            let frame = RxFrame {
                vlan: vlan(&slot),
                offload: offload.unwrap_or_default(),
                len,
                head: slot.data,
                rest,
            };
            // Outgoing frames come from kernels that know no PACKET_IGNORE_OUTGOING.
            if whole && offload.is_some() && !slot.outgoing {
                go_on = f(frame);
                count += 1;
            } else {
                self.drops.truncated += u64::from(!whole && !slot.outgoing);
                self.drops.unknown_offload +=
                    u64::from(offload.is_none() && whole && !slot.outgoing);
                drop(frame);
            }
            self.ring.release();
        }
        count
    }

    pub(super) fn shared(&self) -> Arc<OwnedFd> {
        self.fd.clone()
    }

    /// Returns the drops here since the last call. Frames that the kernel dropped because the ring
    /// was full are in [`super::RxStats`].
    pub fn take_drops(&mut self) -> RxDrops {
        std::mem::take(&mut self.drops)
    }

    /// Clears and returns the socket's error. It is there once after the interface went down, and
    /// as long as it is, epoll reports the descriptor: ask after a wake-up without frames.
    pub fn take_error(&self) -> io::Result<()> {
        sockopt::socket_error(&self.fd)?.map_err(io::Error::from)
    }

    /// A handle to this queue's counters for another thread.
    pub fn stats(&self) -> RxStats {
        RxStats(self.fd.clone())
    }
}

impl AsFd for RxQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The kernel's counters of a receive queue.
#[derive(Clone, Debug)]
pub struct RxStats(Arc<OwnedFd>);

/// Frames that reached a receive queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RxCount {
    /// All frames, the dropped ones too.
    pub frames: u64,
    /// Frames that found the ring full.
    pub dropped: u64,
}

impl RxStats {
    /// Returns the counts since the last call.
    pub fn take(&self) -> io::Result<RxCount> {
        let zero = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let stats = sys::get(&self.0, libc::PACKET_STATISTICS, zero)?;
        Ok(RxCount { frames: stats.tp_packets.into(), dropped: stats.tp_drops.into() })
    }
}

#[inline(always)]
fn vlan(slot: &Slot<'_>) -> Option<Vlan> {
    let tpid = if slot.status & TP_STATUS_VLAN_TPID_VALID != 0 { slot.vlan_tpid } else { 0x8100 };
    (slot.status & TP_STATUS_VLAN_VALID != 0).then_some(Vlan { tpid, tci: slot.vlan_tci })
}

#[inline(always)]
fn offload(slot: &Slot<'_>) -> Option<Offload> {
    let mut offload = Offload::from_vnet(slot.vnet)?;
    if offload.csum == Csum::None && slot.status & TP_STATUS_CSUM_VALID != 0 {
        offload.csum = Csum::Valid;
    }
    Some(offload)
}

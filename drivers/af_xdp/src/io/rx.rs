// SPDX-License-Identifier: Apache-2.0
//! The receiving side of a socket: empty buffers go into the fill ring, packets come out of the
//! receive ring in the same buffers.

use super::ring::{Consumer, Producer};
use super::shared::Shared;
use super::sys::{self, Desc, RingMemory};
use super::{CHUNK_OFFSET, offset_of};
use buffer::{Cache, Lent, Owned, SLOT_SIZE};
use driver::{Burst, Losses};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use wire::offload::Offload;

/// Empty buffers below which a packet is given up for its buffer, when there is no other: a device
/// without a buffer would never wake the thread again.
const LOW: usize = 16;
/// Empty buffers that are made ready at once.
const BATCH: u32 = 64;

/// A receive queue.
pub struct RxQueue {
    socket: Arc<Shared>,
    ring: Consumer<Desc>,
    fill: Producer<u64>,
    lent: Lent,
    /// The first segments of a packet whose last one hasn't come.
    begun: Option<Owned>,
    /// The rest of the packet is given up.
    lost: bool,
    /// Descriptors that named no buffer of the device's, or bytes outside of it.
    bad: u64,
    counted: Counts,
}

/// The kernel's counts as they were read last.
#[derive(Clone, Copy, Default)]
struct Counts {
    full: u64,
    empty: u64,
    other: u64,
}

impl RxQueue {
    pub(super) fn new(
        socket: Arc<Shared>,
        ring: RingMemory<Desc>,
        fill: RingMemory<u64>,
        lent: Lent,
    ) -> Self {
        let (ring, fill) = (Consumer::new(ring), Producer::new(fill));
        let (begun, lost, bad, counted) = (None, false, 0, Counts::default());
        let mut this = Self { socket, ring, fill, lent, begun, lost, bad, counted };
        this.first_fill();
        this
    }

    /// Gives the device its first buffers: a packet in them wakes the thread, which gives it more.
    fn first_fill(&mut self) {
        let mut cache = Cache::new(self.lent.pool());
        for _ in 0..BATCH.min(self.fill.room()) {
            let Some(buffer) = cache.alloc() else { break };
            if let Err(buffer) = self.post(buffer) {
                cache.free(buffer);
            }
        }
        self.fill.publish();
    }

    /// Gives the device a buffer. The caller has asked for room.
    fn post(&mut self, buffer: Owned) -> Result<(), Owned> {
        let slot = self.lent.lend(buffer)?;
        self.fill.push((slot + CHUNK_OFFSET) as u64);
        Ok(())
    }

    /// Gives the device as many empty buffers as it has room for.
    #[inline(always)]
    fn refill(&mut self, burst: &mut Burst<'_>) {
        let room = self.fill.room();
        if room < BATCH.min(self.fill.size() / 4) {
            return;
        }
        for _ in 0..room {
            let Some(buffer) = burst.empty() else { break };
            if let Err(buffer) = self.post(buffer) {
                burst.put_back(buffer);
                break;
            }
        }
        self.fill.publish();
        if self.fill.needs_wakeup() {
            sys::wake(self.socket.as_fd());
        }
    }

    /// Takes the packet apart again and gives the device its buffers.
    #[cold]
    fn recycle(&mut self, packet: Owned, burst: &mut Burst<'_>) {
        let mut next = Some(packet);
        while let Some(mut segment) = next {
            next = segment.split_first();
            if self.fill.room() > 0 {
                if let Err(segment) = self.post(segment) {
                    burst.put_back(segment);
                }
            } else {
                burst.put_back(segment);
            }
        }
    }

    /// The buffer that a descriptor names, with the bytes of the packet.
    #[inline(always)]
    fn buffer(&mut self, desc: Desc) -> Option<Result<Owned, Owned>> {
        let offset = offset_of(desc.addr);
        let mut buffer = self.lent.take(offset)?;
        let fits = buffer.set_filled(offset % SLOT_SIZE, desc.len as usize);
        Some(if fits { Ok(buffer) } else { Err(buffer) })
    }

    #[inline(always)]
    pub(super) fn receive(&mut self, burst: &mut Burst<'_>) {
        self.refill(burst);
        let mut waiting = self.ring.waiting();
        while waiting > 0 && burst.room() > 0 {
            waiting -= 1;
            let desc = self.ring.take();
            let more = desc.options & libc::XDP_PKT_CONTD != 0;
            match self.buffer(desc) {
                Some(Ok(buffer)) if !more && self.begun.is_none() && !self.lost => {
                    if self.lent.len() < LOW {
                        self.scarce(buffer, burst);
                    } else {
                        burst.push_filled(buffer, Offload::NONE, None);
                    }
                }
                found => self.segment(found, more, burst),
            }
        }
        self.ring.release();
        self.fill.publish();
        self.refill(burst);
    }

    /// Few buffers are at the device: passes the packet on if there are others for it.
    #[cold]
    fn scarce(&mut self, packet: Owned, burst: &mut Burst<'_>) {
        let segments = packet.segment_count();
        if !burst.reserve(segments * buffer::DATA_SIZE) {
            burst.lose(1);
            return self.recycle(packet, burst);
        }
        burst.push_filled(packet, Offload::NONE, None);
        for _ in 0..segments {
            let Some(empty) = burst.empty() else { break };
            if self.fill.room() == 0 {
                burst.put_back(empty);
            } else if let Err(empty) = self.post(empty) {
                burst.put_back(empty);
            }
        }
    }

    /// A segment of a chain, or a descriptor that is wrong: then the whole packet is given up.
    #[cold]
    fn segment(&mut self, found: Option<Result<Owned, Owned>>, more: bool, burst: &mut Burst<'_>) {
        match found {
            Some(Ok(buffer)) if !self.lost => match &mut self.begun {
                None => self.begun = Some(buffer),
                Some(packet) => {
                    if let Err(buffer) = packet.append_segment(buffer) {
                        self.recycle(buffer, burst);
                        self.lost = true;
                    }
                }
            },
            Some(Ok(buffer)) => self.recycle(buffer, burst),
            Some(Err(buffer)) => {
                self.recycle(buffer, burst);
                self.bad += 1;
                self.lost = true;
            }
            None => {
                self.bad += 1;
                self.lost = true;
            }
        }
        if more {
            return;
        }
        let packet = self.begun.take();
        match (std::mem::take(&mut self.lost), packet) {
            (false, Some(packet)) if packet.packet_len() > buffer::MAX_PACKET => {
                self.bad += 1;
                self.recycle(packet, burst);
            }
            (false, Some(packet)) if self.lent.len() < LOW => self.scarce(packet, burst),
            (false, Some(packet)) => burst.push_filled(packet, Offload::NONE, None),
            (true, Some(packet)) => self.recycle(packet, burst),
            (_, None) => {}
        }
        self.fill.publish();
    }
}

impl AsFd for RxQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl driver::RxQueue for RxQueue {
    const NODE: &'static str = "af_xdp-input";

    #[inline]
    fn receive(&mut self, burst: &mut Burst<'_>) {
        RxQueue::receive(self, burst);
    }

    /// Gives waiting packets' buffers back to the device.
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.as_fd())
    }

    fn discard(&mut self) {
        self.begun = None;
        while self.ring.waiting() > 0 {
            let desc = self.ring.take();
            let (Some(Ok(buffer) | Err(buffer)), true) = (self.buffer(desc), self.fill.room() > 0)
            else {
                continue;
            };
            // One that isn't taken is freed.
            let _ = self.post(buffer);
        }
        self.lost = false;
        self.ring.release();
        self.fill.publish();
    }

    fn begin(&mut self) {
        driver::RxQueue::discard(self);
    }

    fn lent(&self) -> usize {
        self.lent.len() + self.begun.as_ref().map_or(0, |packet| packet.segment_count())
    }

    fn losses(&mut self) -> Losses {
        let bad_desc = std::mem::take(&mut self.bad);
        let Some(now) = self.socket.statistics() else {
            return Losses { bad_desc, ..Losses::default() };
        };
        // A packet without an empty buffer is counted as dropped, too.
        let other = now.rx_dropped.saturating_sub(now.rx_fill_ring_empty_descs);
        let now = Counts {
            full: now.rx_ring_full,
            empty: now.rx_fill_ring_empty_descs,
            other: other + now.rx_invalid_descs,
        };
        let before = std::mem::replace(&mut self.counted, now);
        Losses {
            missed: now.full.saturating_sub(before.full),
            no_buffer: now.empty.saturating_sub(before.empty),
            errors: now.other.saturating_sub(before.other),
            bad_desc,
            ..Losses::default()
        }
    }
}

/// The kernel may write to the buffers until the socket is closed.
impl Drop for RxQueue {
    fn drop(&mut self) {
        let none = Lent::new(self.lent.pool());
        self.socket.keep(std::mem::replace(&mut self.lent, none));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Packets that wait at an interface whose device doesn't cut super-packets, until they have been
//! cut: so many segments a turn, that other packets, interfaces and control have their time.
//!
//! Packets of the same addresses keep their order: packets behind a super-packet wait with it,
//! other flows overtake. The queue is bounded by the thread's share of the buffers
//! ([`Reservation::SEGMENTATION`]) and by segments, so that a packet leaves within some 32 turns;
//! of both, one receive interface takes no more than it leaves for others.

use crate::offload::TxOffloads;
use crate::software::Segmenter;
use crate::tx::TxTo;
use buffer::{Buffer, Flags, Owned, Quota, Reservation};
use graph::{ThreadIndex, World};
use std::collections::VecDeque;
use wire::Ethernet;

/// Segments that may wait.
const SEGMENTS: u32 = 16_384;
/// Packets that may wait.
const PACKETS: usize = 1024;
/// Groups of flows that are kept in order.
const FLOWS: usize = 256;
/// Groups of interfaces that packets come in by.
const SOURCES: usize = 64;

/// A packet that waits to be sent.
pub struct QueuedPacket {
    pub packet: Owned,
    /// Index of the next segment to send.
    pub next: usize,
    /// Number of segments that it is cut into; `None` for a packet that is sent as it is.
    pub cut: Option<usize>,
    /// Its outcome: sent, or the reason why it is dropped.
    pub fate: TxTo,
    flow: u8,
    source: u8,
}

impl QueuedPacket {
    /// Frames that it makes.
    pub fn frames(&self) -> usize {
        self.cut.unwrap_or(1)
    }
}

/// Queue of packets to be cut into segments, of one interface on one thread.
pub struct SegmentQueue {
    pub queue: VecDeque<QueuedPacket>,
    /// Buffers of the packets that wait.
    part: Quota,
    /// Frames that the packets in the queue make.
    frames: u32,
    /// The same, by group of receive interfaces.
    sources: [u32; SOURCES],
    /// Number of packets that wait or are about to, by group of flows.
    flows: [u16; FLOWS],
    /// The sum over all flows.
    marked: u32,
    seed: u64,
}

impl SegmentQueue {
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self {
            queue: VecDeque::with_capacity(PACKETS),
            part: world.pool.share(Reservation::SEGMENTATION, thread.0, world.threads()).quota(),
            frames: 0,
            sources: [0; SOURCES],
            flows: [0; FLOWS],
            marked: 0,
            seed: std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), thread),
        }
    }

    /// Returns true if no packet waits or is about to.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.marked == 0
    }

    /// Returns true if a packet has to wait: to be cut, or behind one that is. The caller then has
    /// to pass it to [`Self::push`].
    #[inline(always)]
    pub fn must_wait(&mut self, b: &Buffer, device: TxOffloads, ip: bool) -> bool {
        let is_super = device.leaves(b);
        (is_super || !self.is_idle()) && self.mark(b, is_super, ip)
    }

    #[inline(never)]
    fn mark(&mut self, b: &Buffer, is_super: bool, ip: bool) -> bool {
        let flow = self.flow(b, ip);
        let waits = is_super || self.flows[flow] > 0;
        self.flows[flow] += u16::from(waits);
        self.marked += u32::from(waits);
        waits
    }

    fn unmark(&mut self, flow: usize) {
        self.flows[flow] -= 1;
        self.marked -= 1;
    }

    /// Takes a packet.
    ///
    /// # Errors
    /// The packet, and why it is dropped.
    pub fn push(&mut self, packet: Owned, ip: bool) -> Result<(), (TxTo, Owned)> {
        let flow = self.flow(&packet, ip);
        let cut = if packet.flags.contains(Flags::GSO) {
            match l3_of(&packet, ip).and_then(|l3| Segmenter::new(&packet, l3).ok()) {
                Some(cut) => Some(cut.count()),
                None => {
                    self.unmark(flow);
                    return Err((TxTo::BadOffload, packet));
                }
            }
        } else {
            None
        };
        let frames = cut.unwrap_or(1) as u32;
        let source = packet.rx_if as usize % SOURCES;
        let many = self.frames + self.sources[source] + 2 * frames > SEGMENTS
            || self.queue.len() >= PACKETS;
        if many || !self.part.take(packet.segment_count()) {
            self.unmark(flow);
            return Err((TxTo::TooMuchToCut, packet));
        }
        self.frames += frames;
        self.sources[source] += frames;
        let held = QueuedPacket {
            packet,
            next: 0,
            cut,
            fate: TxTo::Sent,
            flow: flow as u8,
            source: source as u8,
        };
        self.queue.push_back(held);
        Ok(())
    }

    /// Takes the oldest packet out.
    pub fn pop(&mut self) -> Option<QueuedPacket> {
        let held = self.queue.pop_front()?;
        let frames = held.frames() as u32;
        self.frames -= frames;
        self.sources[usize::from(held.source)] -= frames;
        self.unmark(held.flow.into());
        self.part.give(held.packet.segment_count());
        Some(held)
    }

    /// A number for all packets between two addresses that came in by one interface.
    fn flow(&self, b: &Buffer, ip: bool) -> usize {
        let head = b.data();
        let l3 = l3_of(b, ip).unwrap_or(0);
        let addresses = match head.get(l3).map(|first| first >> 4) {
            Some(4) => head.get(l3 + 12..l3 + 20),
            Some(6) => head.get(l3 + 8..l3 + 40),
            _ => head.get(..12),
        };
        let words = addresses.unwrap_or_default().as_chunks().0.iter();
        let hash = words.fold(self.seed ^ u64::from(b.rx_if), |hash, word: &[u8; 4]| {
            (hash ^ u64::from(u32::from_ne_bytes(*word)))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        });
        (hash >> 8) as usize % FLOWS
    }
}

/// Offset of the IP header in a packet that begins with it or with an Ethernet header.
pub fn l3_of(b: &Buffer, ip: bool) -> Option<usize> {
    if ip { Some(0) } else { Some(Ethernet::l3_at(b.data())?.0) }
}

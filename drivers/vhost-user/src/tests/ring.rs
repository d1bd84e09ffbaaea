// SPDX-License-Identifier: Apache-2.0
//! The guest's side of a virtqueue, in both formats.

use super::peer::{GuestMemory, event};
use crate::io::{Event, Memory};
use crate::proto::Features;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use testkit::Rng;

/// Buffers that a guest uses.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Bytes of a buffer.
    pub buffer: u32,
    /// Descriptors of a chain that it receives into.
    pub chain: u16,
    /// Tables of descriptors are used.
    pub indirect: bool,
}

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;
const AVAIL: u16 = 1 << 7;
const USED: u16 = 1 << 15;

/// Memory of a ring: descriptors, the two other parts, and buffers.
const RING: u64 = 1 << 19;
const PART: [u64; 2] = [0x8000, 0xa000];
const TABLES: u64 = 0x1_0000;
const BUFFERS: u64 = 0x2_0000;

/// A chain that the other end has.
struct Sent {
    id: u16,
    /// Descriptors of the ring.
    slots: u16,
    /// The buffers.
    buffers: Vec<(u64, u32)>,
}

pub struct GuestRing {
    pub index: u32,
    memory: Arc<Memory>,
    size: u16,
    features: Features,
    layout: Layout,
    pub kick: Arc<Event>,
    pub call: Arc<Event>,
    /// Position of the next descriptor, counted without an end.
    next: u64,
    /// Chains made available, for a split ring.
    chains: u16,
    /// Chains that came back; in a packed ring, descriptors.
    done: u64,
    sent: VecDeque<Sent>,
}

impl GuestRing {
    pub fn new(
        memory: Arc<Memory>,
        index: u32,
        size: u16,
        features: Features,
        layout: Layout,
    ) -> Self {
        let (kick, call) = (event(), event());
        let sent = VecDeque::new();
        Self {
            index,
            memory,
            size,
            features,
            layout,
            kick,
            call,
            next: 0,
            chains: 0,
            done: 0,
            sent,
        }
    }

    fn is_packed(&self) -> bool {
        self.features.contains(Features::RING_PACKED)
    }

    /// Offset of something of this ring in the guest's memory.
    fn at(&self, offset: u64) -> u64 {
        u64::from(self.index) * RING + offset
    }

    /// The front-end's addresses of descriptors, the guest's and the device's part.
    pub fn addresses(&self) -> [u64; 3] {
        [0, PART[0], PART[1]].map(|part| GuestMemory::user(self.at(part)))
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        let (mut address, mut left) = (GuestMemory::guest(self.at(offset)), bytes);
        while !left.is_empty() {
            let piece = self.memory.at_guest(address, left.len() as u32).expect("inside");
            let (now, later) = left.split_at(piece.len as usize);
            assert!(self.memory.copy_in(piece, now));
            (address, left) = (address + u64::from(piece.len), later);
        }
    }

    fn read<const N: usize>(&self, offset: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.read_to(GuestMemory::guest(self.at(offset)), &mut bytes);
        bytes
    }

    fn read_to(&self, mut address: u64, mut to: &mut [u8]) {
        while !to.is_empty() {
            let piece = self.memory.at_guest(address, to.len() as u32).expect("inside");
            let (now, later) = to.split_at_mut(piece.len as usize);
            assert!(self.memory.copy_out(piece, now));
            (address, to) = (address + u64::from(piece.len), later);
        }
    }

    fn load16(&self, offset: u64) -> u16 {
        let piece = self.memory.at_guest(GuestMemory::guest(self.at(offset)), 2).expect("inside");
        let region = self.memory.region(piece.region).expect("it is there");
        region.load16(piece.offset, Ordering::Acquire).expect("aligned")
    }

    pub fn store16(&self, offset: u64, value: u16) {
        let piece = self.memory.at_guest(GuestMemory::guest(self.at(offset)), 2).expect("inside");
        let region = self.memory.region(piece.region).expect("it is there");
        region.store16(piece.offset, value, Ordering::Release);
    }

    fn free(&self) -> usize {
        usize::from(self.size) - self.sent.iter().map(|s| usize::from(s.slots)).sum::<usize>()
    }

    /// The guest's address of the buffer of a slot.
    fn buffer(&self, slot: u64) -> u64 {
        GuestMemory::guest(self.at(BUFFERS + slot * u64::from(self.layout.buffer)))
    }

    /// Writes a descriptor of any format.
    pub fn write_desc(&self, offset: u64, address: u64, len: u32, low: u16, high: u16) {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&address.to_le_bytes());
        bytes[8..12].copy_from_slice(&len.to_le_bytes());
        bytes[12..14].copy_from_slice(&low.to_le_bytes());
        bytes[14..].copy_from_slice(&high.to_le_bytes());
        self.write(offset, &bytes);
    }

    /// Makes buffers available as one chain.
    fn push(&mut self, buffers: Vec<(u64, u32)>, writes: bool) {
        let write = if writes { WRITE } else { 0 };
        let size = u64::from(self.size);
        let first = self.next % size;
        let indirect = self.layout.indirect && self.features.contains(Features::INDIRECT_DESC);
        let mut descs = buffers.clone();
        let (mut kind, mut table_kind) = (write, write);
        if indirect {
            let table = TABLES + first * 256;
            assert!(buffers.len() <= 16);
            for (n, (address, len)) in buffers.iter().enumerate() {
                let is_last = n + 1 == buffers.len();
                if self.is_packed() {
                    self.write_desc(table + 16 * n as u64, *address, *len, 0, table_kind);
                } else {
                    table_kind = write | if is_last { 0 } else { NEXT };
                    let next = n as u16 + 1;
                    self.write_desc(table + 16 * n as u64, *address, *len, table_kind, next);
                }
            }
            descs = vec![(GuestMemory::guest(self.at(table)), 16 * buffers.len() as u32)];
            kind = INDIRECT;
        }
        let slots = descs.len() as u16;
        let mut first_flags = 0;
        for (n, (address, len)) in descs.iter().enumerate() {
            let position = self.next + n as u64;
            let slot = position % size;
            let flags = kind | if n + 1 < descs.len() { NEXT } else { 0 };
            if self.is_packed() {
                let wrap = if (position / size).is_multiple_of(2) { AVAIL } else { USED };
                let flags = flags | wrap;
                // The first one is made available last.
                let now = if n == 0 { self.load16(16 * slot + 14) } else { flags };
                self.write_desc(16 * slot, *address, *len, first as u16, now);
                if n == 0 {
                    first_flags = flags;
                }
            } else {
                let next = ((slot + 1) % size) as u16;
                self.write_desc(16 * slot, *address, *len, flags, next);
            }
        }
        if self.is_packed() {
            self.store16(16 * first + 14, first_flags);
        } else {
            let at = PART[0] + 4 + 2 * (u64::from(self.chains) % size);
            self.store16(at, first as u16);
            self.chains = self.chains.wrapping_add(1);
            self.store16(PART[0] + 2, self.chains);
        }
        self.next += u64::from(slots);
        self.sent.push_back(Sent { id: first as u16, slots, buffers });
        fence(Ordering::SeqCst);
        if self.wants_kick() {
            self.kick.raise();
        }
    }

    fn wants_kick(&self) -> bool {
        if self.is_packed() {
            return self.load16(PART[1] + 2) != 1;
        }
        if self.features.contains(Features::EVENT_IDX) {
            let event = self.load16(PART[1] + 4 + 8 * u64::from(self.size));
            return self.chains.wrapping_sub(event).wrapping_sub(1) < 1;
        }
        self.load16(PART[1]) & 1 == 0
    }

    /// Gives all room for packets to the other end.
    pub fn offer(&mut self) {
        let chain = u64::from(self.layout.chain);
        let slots = if self.layout.indirect { 1 } else { self.layout.chain };
        while self.free() >= usize::from(slots) {
            // Buffers of a chain lie apart, the last one in front.
            let first = self.next % u64::from(self.size);
            let buffers = if self.layout.indirect {
                let len = self.layout.buffer / u32::from(self.layout.chain);
                (0..chain).rev().map(|n| (self.buffer(first) + n * u64::from(len), len)).collect()
            } else {
                let slot = |n| (self.next + n) % u64::from(self.size);
                (0..chain).map(|n| (self.buffer(slot(n)), self.layout.buffer)).collect()
            };
            self.push(buffers, true);
        }
    }

    /// Takes the next chain back: its buffers and the bytes that were written to them.
    fn pop(&mut self) -> Option<(Sent, u32)> {
        let size = u64::from(self.size);
        if self.is_packed() {
            let slot = self.done % size;
            let flags = self.load16(16 * slot + 14);
            let wrap = (self.done / size).is_multiple_of(2);
            if (flags & AVAIL != 0) != wrap || (flags & USED != 0) != wrap {
                return None;
            }
            let sent = self.sent.pop_front().expect("a chain that was sent");
            let id = u16::from_le_bytes(self.read(16 * slot + 12));
            assert_eq!(id, sent.id, "in order");
            let len = u32::from_le_bytes(self.read(16 * slot + 8));
            assert_eq!(flags & WRITE != 0, len > 0);
            self.done += u64::from(sent.slots);
            return Some((sent, len));
        }
        if self.load16(PART[1] + 2) == self.done as u16 {
            return None;
        }
        let at = PART[1] + 4 + 8 * (self.done % size);
        let (id, len) = (u32::from_le_bytes(self.read(at)), u32::from_le_bytes(self.read(at + 4)));
        let sent = self.sent.pop_front().expect("a chain that was sent");
        assert_eq!(id, u32::from(sent.id), "in order");
        self.done += 1;
        if self.features.contains(Features::EVENT_IDX) {
            self.store16(PART[0] + 4 + 2 * u64::from(self.size), self.done as u16);
        }
        Some((sent, len))
    }

    /// Sends a packet with this header in several descriptors. False if there is no room.
    pub fn send(&mut self, header: [u8; 12], frame: &[u8]) -> bool {
        while self.pop().is_some() {}
        let header = &header[..self.features.header()];
        let bytes: Vec<_> = header.iter().chain(frame).copied().collect();
        // The header with the first bytes, then pieces of different lengths.
        let room = self.layout.buffer as usize;
        let mut parts = Vec::new();
        let (mut left, mut take) = (&bytes[..], header.len() + 3);
        while !left.is_empty() {
            let (now, later) = left.split_at(take.min(left.len()).min(room));
            parts.push(now);
            (left, take) = (later, room);
        }
        let indirect = self.layout.indirect && self.features.contains(Features::INDIRECT_DESC);
        // The buffers of as many slots are used, also if a table takes one descriptor.
        let (need, used) = (
            if indirect { 1 } else { parts.len() },
            self.sent.iter().map(|s| s.buffers.len()).sum::<usize>(),
        );
        if self.free() < need || used + parts.len() > usize::from(self.size) {
            return false;
        }
        let mut buffers = Vec::new();
        for (n, part) in parts.iter().enumerate() {
            // With tables, slots and buffers count differently: buffers follow those in use.
            let slot =
                (self.next * if indirect { 16 } else { 1 } + n as u64) % u64::from(self.size);
            let offset = BUFFERS + slot * u64::from(self.layout.buffer);
            self.write(offset, part);
            buffers.push((self.buffer(slot), part.len() as u32));
        }
        if indirect && !self.sent.is_empty() {
            // Tables use the same buffers again: one packet at a time.
            return false;
        }
        self.push(buffers, false);
        true
    }

    /// Packets that the other end has not given back.
    pub fn waiting(&mut self) -> usize {
        while self.pop().is_some() {}
        self.sent.len()
    }

    /// Returns true if the other end has nothing of what was sent.
    pub fn is_empty(&mut self) -> bool {
        while self.pop().is_some() {}
        self.sent.is_empty()
    }

    /// Packets that came, each with its header.
    pub fn take(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let (mut packets, header) = (Vec::new(), self.features.header());
        self.call.clear();
        while let Some((sent, len)) = self.pop() {
            let mut bytes = self.bytes(&sent, len);
            if bytes.is_empty() {
                continue;
            }
            let merged = if header == 12 { u16::from_le_bytes([bytes[10], bytes[11]]) } else { 1 };
            assert!(merged == 1 || self.features.contains(Features::MRG_RXBUF));
            for _ in 1..merged {
                let (sent, len) = self.pop().expect("all chains of a packet at once");
                bytes.extend(self.bytes(&sent, len));
            }
            let packet = bytes.split_off(header);
            packets.push((bytes, packet));
        }
        self.offer();
        packets
    }

    /// The first bytes that were written to a chain.
    fn bytes(&self, sent: &Sent, len: u32) -> Vec<u8> {
        let (mut bytes, mut left) = (Vec::new(), len);
        for (address, room) in &sent.buffers {
            let now = left.min(*room);
            let start = bytes.len();
            bytes.resize(start + now as usize, 0);
            self.read_to(*address, &mut bytes[start..]);
            left -= now;
        }
        assert_eq!(left, 0, "more bytes than the chain has");
        bytes
    }
}

impl GuestRing {
    /// Writes anything to the ring, often something that is nearly right.
    pub fn disturb(&self, rng: &mut Rng) {
        let size = usize::from(self.size);
        for _ in 0..4 {
            let (offset, at) = (rng.below(RING as usize) as u64, rng.below(size) as u64);
            let address = match rng.below(20) {
                0 => rng.next(),
                _ => GuestMemory::guest(self.at(offset)),
            };
            let len = if rng.below(20) == 0 { rng.next() as u32 } else { rng.below(3000) as u32 };
            let len = if rng.below(4) == 0 { len & !15 } else { len };
            // Mostly of the ring's direction.
            let mut flags = if self.index.is_multiple_of(2) { WRITE } else { 0 };
            for (flag, chance) in [(WRITE, 12), (NEXT, 3), (INDIRECT, 8), (AVAIL, 2), (USED, 2)] {
                flags ^= if rng.below(chance) == 0 { flag } else { 0 };
            }
            let other = if rng.below(10) == 0 { rng.next() as u16 } else { rng.below(size) as u16 };
            let (low, high) = if self.is_packed() { (other, flags) } else { (flags, other) };
            // In the ring, or where tables may be.
            let table = if rng.below(3) == 0 { offset & !15 } else { 16 * at };
            self.write_desc(table.min(RING - 16), address, len, low, high);
        }
        if rng.below(8) == 0 {
            let wish = [PART[0], PART[1], PART[0] + 2][rng.below(3)];
            self.store16(wish, rng.next() as u16);
        }
        if !self.is_packed() {
            let head = if rng.below(20) == 0 { rng.next() as u16 } else { rng.below(size) as u16 };
            self.store16(PART[0] + 4 + 2 * rng.below(size) as u64, head);
            let used = self.load16(PART[1] + 2);
            let index = if rng.below(30) == 0 {
                rng.next() as u16
            } else {
                used.wrapping_add(rng.below(size) as u16)
            };
            self.store16(PART[0] + 2, index);
        } else {
            let flags = if rng.below(2) == 0 { AVAIL } else { USED };
            let write = if self.index.is_multiple_of(2) { WRITE } else { 0 };
            self.store16(
                16 * rng.below(size) as u64 + 14,
                flags | write | (rng.below(5) == 0) as u16,
            );
        }
    }
}

impl GuestRing {
    /// Sends one buffer as a chain, whatever it is.
    pub fn send_raw(&mut self, address: u64, len: u32, flags: u16) {
        let slot = self.next % u64::from(self.size);
        self.push(vec![(address, len)], false);
        let at = 16 * slot + if self.is_packed() { 14 } else { 12 };
        self.store16(at, self.load16(at) & (AVAIL | USED) | flags);
    }
}

/// For a device that uses chains out of order.
impl GuestRing {
    /// The bytes of a descriptor.
    pub fn desc(&self, slot: u64) -> [u8; 16] {
        self.read(16 * slot)
    }

    /// Gives chains back as the device does, at the start of a split ring.
    pub fn give_back_split(&self, heads: &[u16]) {
        for (n, head) in heads.iter().enumerate() {
            let mut bytes = [0; 8];
            bytes[..2].copy_from_slice(&head.to_le_bytes());
            self.write(PART[1] + 4 + 8 * n as u64, &bytes);
        }
        self.store16(PART[1] + 2, heads.len() as u16);
    }

    /// Chains that were given back since the start of a split ring.
    pub fn given_back_split(&self) -> Vec<u32> {
        let count = u64::from(self.load16(PART[1] + 2));
        (0..count).map(|n| u32::from_le_bytes(self.read(PART[1] + 4 + 8 * n))).collect()
    }
}

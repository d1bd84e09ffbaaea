// SPDX-License-Identifier: Apache-2.0
//! Receive bursts: packets that are copied from a device's memory into buffers, or that a device
//! has written to buffers which it was given empty.

use crate::offload::note;
use buffer::{Buffer, Cache, DATA_SIZE, FRAME_SIZE, Flags, Frame, Owned};
use wire::offload::{Offload, OffloadError};

/// Bytes of one burst, more or less: what is copied in is still in the cache when it is copied out.
const BYTES: u64 = 256 << 10;

/// Frames of packets: Ethernet or IPv4, IPv6, neither; then packets that are dropped, at the index
/// that [`refusal`] gives.
pub(crate) type Frames = [Box<Frame>; 6];

/// Index in [`Frames`] of packets whose offload request is invalid.
pub(crate) const fn refusal(error: OffloadError) -> usize {
    match error {
        OffloadError::Checksum => 3,
        OffloadError::Headers => 4,
        OffloadError::Size => 5,
    }
}

/// Packets that a queue receives in one turn: at most [`FRAME_SIZE`], and about 256 KiB. For each
/// packet: [`Self::reserve`] memory for its maximum length, write it to [`Self::parts`], and
/// [`Self::push`] it with its actual length. A device that fills buffers itself gets them from
/// [`Self::empty`], and [`Self::push_filled`] takes the packets.
pub struct Burst<'a> {
    pub(crate) cache: &'a mut Cache,
    /// Empty at the start.
    pub(crate) frames: &'a mut Frames,
    /// Fresh buffers; the last one is used next.
    pub(crate) spare: &'a mut Vec<Owned>,
    pub(crate) sw_if: u32,
    pub(crate) ip: bool,
    pub(crate) packets: usize,
    pub(crate) bytes: u64,
    pub(crate) no_buffer: u64,
    /// True if at least one packet is dropped for its offload request.
    pub(crate) refused: bool,
    /// Number of empty buffers that the device may still get.
    pub(crate) empties: usize,
    /// Time of the turn.
    pub(crate) now: u64,
}

impl Burst<'_> {
    /// Time of the turn, in nanoseconds of the instance's clock.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Number of packets that it has room for; 0 once it has enough packets or bytes.
    #[inline(always)]
    pub fn room(&self) -> usize {
        if self.bytes >= BYTES { 0 } else { FRAME_SIZE - self.packets }
    }

    /// Sets memory for `len` bytes aside. False if all buffers are in use: [`Self::lose`] the
    /// packet.
    #[inline(always)]
    #[must_use]
    pub fn reserve(&mut self, len: usize) -> bool {
        let n = buffers(len);
        while self.spare.len() < n {
            match self.cache.alloc() {
                Some(buffer) => self.spare.push(buffer),
                None => return false,
            }
        }
        true
    }

    /// Counts packets for which there were no buffers.
    #[cold]
    pub fn lose(&mut self, packets: usize) {
        self.no_buffer += packets as u64;
    }

    /// The memory that was set aside for `len` bytes, piece by piece.
    #[inline(always)]
    pub fn parts(&mut self, len: usize) -> impl Iterator<Item = &mut [u8]> {
        self.spare.iter_mut().rev().take(buffers(len)).map(|buffer| &mut buffer.fresh_area()[..])
    }

    /// Adds the packet whose `len` bytes were written to [`Self::parts`]. `tag` is a VLAN tag
    /// (TPID, TCI) that belongs behind its addresses; `offload`'s offsets are without it, and
    /// it is checked here: a packet that it doesn't fit is dropped by name. The burst has to
    /// have room.
    #[inline(always)]
    pub fn push(&mut self, len: usize, offload: Offload, tag: Option<[u16; 2]>) {
        let Some(mut packet) = self.spare.pop() else { return };
        packet.set_len(len.min(DATA_SIZE));
        if len > DATA_SIZE {
            self.chain(&mut packet, len - DATA_SIZE);
        }
        self.finish(packet, offload, tag);
    }

    /// Takes an empty buffer for the device to fill. `None` if all are in use, or if the device has
    /// as many as it may have.
    #[inline(always)]
    pub fn empty(&mut self) -> Option<Owned> {
        if self.empties == 0 {
            return None;
        }
        let buffer = self.spare.pop().or_else(|| self.cache.alloc())?;
        self.empties -= 1;
        Some(buffer)
    }

    /// Adds a packet that the device has written to buffers of [`Self::empty`], one or a chain. The
    /// rest is as for [`Self::push`]; nothing is copied.
    #[inline(always)]
    pub fn push_filled(&mut self, packet: Owned, offload: Offload, tag: Option<[u16; 2]>) {
        self.empties += packet.segment_count();
        self.finish(packet, offload, tag);
    }

    /// Frees a buffer that the device has returned without a packet.
    #[cold]
    pub fn put_back(&mut self, buffer: Owned) {
        self.empties += buffer.segment_count();
        self.cache.free(buffer);
    }

    #[inline(always)]
    fn finish(&mut self, mut packet: Owned, offload: Offload, tag: Option<[u16; 2]>) {
        packet.rx_if = self.sw_if;
        let fault = if offload.is_left() { check(&packet, offload, self.ip) } else { None };
        match tag {
            None => note(&mut packet, offload),
            Some(tag) => {
                put_tag(&mut packet, tag);
                note(&mut packet, offload.shifted(4));
            }
        }
        let mut kind = if self.ip { begins_with(&mut packet) } else { 0 };
        if let Some(error) = fault {
            (kind, self.refused) = (refusal(error), true);
        }
        self.packets += 1;
        self.bytes += packet.packet_len() as u64;
        let pushed = self.frames[kind].push(packet);
        debug_assert!(pushed.is_ok(), "a packet more than there was room for");
    }

    #[inline(never)]
    fn chain(&mut self, packet: &mut Buffer, mut left: usize) {
        let (n, spare) = (buffers(left), &mut *self.spare);
        let chained = packet.append_segments((0..n).map_while(|_| {
            let mut segment = spare.pop()?;
            segment.set_len(left.min(DATA_SIZE));
            left = left.saturating_sub(DATA_SIZE);
            Some(segment)
        }));
        debug_assert!(chained.is_ok(), "they are fresh buffers of one pool");
        chained.err().into_iter().for_each(|refused| self.cache.free(refused));
    }
}

/// Returns the error in the offload that a packet's sender requests, if any.
#[inline(never)]
fn check(packet: &Buffer, offload: Offload, ip: bool) -> Option<OffloadError> {
    offload.check(packet.data(), packet.packet_len(), ip).err()
}

/// Buffers for this many bytes; at least one.
#[inline(always)]
fn buffers(len: usize) -> usize {
    len.div_ceil(DATA_SIZE).max(1)
}

/// Puts a VLAN tag back where the device took it from.
#[inline(never)]
fn put_tag(packet: &mut Buffer, [tpid, tci]: [u16; 2]) {
    if packet.len() < 12 || packet.push::<4>().is_none() {
        return;
    }
    let bytes = packet.data_mut();
    bytes.copy_within(4..16, 0);
    bytes[12..14].copy_from_slice(&tpid.to_be_bytes());
    bytes[14..16].copy_from_slice(&tci.to_be_bytes());
    packet.flags.insert(Flags::VLAN);
}

/// Index in [`Frames`] for a packet without a link layer.
#[inline(always)]
fn begins_with(packet: &mut Buffer) -> usize {
    packet.mark_l2();
    match packet.data().first().map(|byte| byte >> 4) {
        Some(4) => 0,
        Some(6) => 1,
        _ => 2,
    }
}

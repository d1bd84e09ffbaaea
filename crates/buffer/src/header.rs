// SPDX-License-Identifier: Apache-2.0
//! The buffer itself: metadata of five cache lines, then headroom and data.

use crate::debug_state::{DebugValue, State};
use crate::field::ALL_BYTES;
use crate::meta::{Flags, Offload};
use crate::scratch::{SCRATCH_WORDS, Scratch};
use std::fmt;
use std::ptr::NonNull;

/// Bytes in front of the packet as a driver delivers it.
pub const HEADROOM: usize = 128;
/// Packet bytes that fit into one buffer behind the headroom.
pub const DATA_SIZE: usize = 2048;
/// Headroom and data together.
pub(crate) const AREA: usize = HEADROOM + DATA_SIZE;

/// Names a buffer: its address is the region's base plus 64 times this.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct BufferIndex(pub u32);

impl BufferIndex {
    /// No buffer: the end of a chain.
    pub const NONE: Self = Self(u32::MAX);
}

impl fmt::Debug for BufferIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NONE { f.write_str("none") } else { write!(f, "{:#x}", self.0) }
    }
}

/// Metadata and bytes of one packet, or of one segment of it.
///
/// The bytes in use are `data_offset .. data_offset + len` of the area; both stay within it by
/// construction.
///
/// It has no size that the compiler knows, so it stays where it is: no safe code can move it, or
/// swap it with another one. In what is inlined the length is a constant, and passing it costs
/// nothing.
#[repr(C, align(64))]
pub struct Buffer {
    // -- hot line
    pub(crate) data_offset: u16,
    pub(crate) len: u16,
    /// See [`Flags`].
    pub flags: Flags,
    /// Software interface the packet came in by.
    pub rx_if: u32,
    /// Software interface the packet leaves by, or `u32::MAX`.
    pub tx_if: u32,
    scratch: [u32; SCRATCH_WORDS],
    // Side by side in pairs that `reset` writes as one word.
    pub(crate) next: BufferIndex,
    /// Position in the running feature arc's steps.
    pub feature: u32,
    pub(crate) rest_len: u32,
    /// Reason for the packet's drop, an index of the instance's error table; 0 for none.
    error: u32,
    /// For each field, by its number, whether its value was written.
    pub(crate) fields_set: u32,
    /// Offset of the layer-2 header in the area.
    l2: u16,
    /// Number of tunnels whose headers it has in front, since it was received or decapsulated.
    pub nesting: u8,
    spare: u8,
    // -- cold line
    /// Flow hash, 0 when not computed.
    pub flow_hash: u32,
    /// Trace the packet belongs to, valid with [`Flags::TRACED`].
    pub trace: u32,
    /// Offset of the layer-3 header in the area.
    l3: u16,
    /// Checksum and segmentation state.
    pub offload: Offload,
    pub(crate) refs: std::sync::atomic::AtomicU32,
    pub(crate) pool_id: u32,
    scratch_tag: DebugValue<u32>,
    pub(crate) state: DebugValue<State>,
    _cold: [u8; 31],
    // -- a line of fields and two of rare fields, untouched in packets that have none
    pub(crate) fields: [u8; ALL_BYTES],
    // -- bytes
    /// [`AREA`] bytes, always.
    area: [u8],
}

/// Bytes of the metadata.
pub(crate) const META: usize = std::mem::offset_of!(Buffer, fields) + ALL_BYTES;
const _: () = assert!(std::mem::offset_of!(Buffer, flow_hash) == 64);
const _: () = assert!(std::mem::offset_of!(Buffer, fields) == 128 && META == 320);
/// Bytes from a buffer's address to the packet's first byte as a driver delivers it.
pub const PACKET_OFFSET: usize = META + HEADROOM;

impl Buffer {
    /// Bytes of metadata and area.
    pub(crate) const SIZE: usize = META + AREA;

    /// The buffer that begins at this address.
    #[inline(always)]
    pub(crate) fn at(address: NonNull<u8>) -> NonNull<Self> {
        let buffer = std::ptr::slice_from_raw_parts_mut(address.as_ptr(), AREA) as *mut Self;
        // SAFETY: the address isn't null.
        unsafe { NonNull::new_unchecked(buffer) }
    }

    /// Its bytes, as an array: bounds that are constants need no check.
    #[inline(always)]
    fn area(&self) -> &[u8; AREA] {
        // SAFETY: it has that many.
        unsafe { &*self.area.as_ptr().cast() }
    }

    #[inline(always)]
    fn area_mut(&mut self) -> &mut [u8; AREA] {
        // SAFETY: as above.
        unsafe { &mut *self.area.as_mut_ptr().cast() }
    }

    /// Makes a fresh buffer of this slot: empty, one owner, no flags.
    #[inline(always)]
    pub(crate) fn reset(&mut self) {
        self.data_offset = HEADROOM as u16;
        self.len = 0;
        self.flags = Flags::empty();
        self.tx_if = u32::MAX;
        (self.next, self.feature) = (BufferIndex::NONE, u32::MAX);
        (self.rest_len, self.error) = (0, 0);
        (self.fields_set, self.l2) = (0, HEADROOM as u16);
        (self.nesting, self.spare) = (0, 0);
        self.scratch_tag.note(0);
    }

    /// The packet's bytes in this segment.
    #[inline(always)]
    pub fn data(&self) -> &[u8] {
        let (at, len) = (self.data_offset as usize, self.len as usize);
        debug_assert!(at + len <= AREA);
        // SAFETY: every setter keeps data_offset + len <= AREA.
        unsafe { self.area().get_unchecked(at..at + len) }
    }

    /// The packet's bytes in this segment, to change.
    #[inline(always)]
    pub fn data_mut(&mut self) -> &mut [u8] {
        let (at, len) = (self.data_offset as usize, self.len as usize);
        debug_assert!(at + len <= AREA);
        // SAFETY: every setter keeps data_offset + len <= AREA.
        unsafe { self.area_mut().get_unchecked_mut(at..at + len) }
    }

    /// `N` bytes from offset `at` of the packet, if this segment holds them.
    #[inline(always)]
    pub fn bytes<const N: usize>(&self, at: usize) -> Option<&[u8; N]> {
        self.data().get(at..)?.first_chunk()
    }

    /// `N` bytes from offset `at` of the packet, to change, if this segment holds them.
    #[inline(always)]
    pub fn bytes_mut<const N: usize>(&mut self, at: usize) -> Option<&mut [u8; N]> {
        self.data_mut().get_mut(at..)?.first_chunk_mut()
    }

    /// `N` bytes of the area from the packet's first byte on, whether they belong to the packet or
    /// not.
    ///
    /// For wide loads that mask what they don't need. `N` is at most 64.
    #[inline(always)]
    pub fn window<const N: usize>(&self) -> &[u8; N] {
        const { assert!(N <= 64) };
        let at = (self.data_offset as usize).min(AREA - N);
        self.area()[at..].first_chunk().expect("window lies inside the area")
    }

    /// Bytes in this segment.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if this segment holds no byte.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the whole packet, all segments.
    #[inline(always)]
    pub fn packet_len(&self) -> usize {
        self.len as usize + self.rest_len as usize
    }

    /// Returns true if another segment follows.
    #[inline(always)]
    pub fn is_chained(&self) -> bool {
        self.next != BufferIndex::NONE
    }

    /// Room in front of the packet.
    #[inline(always)]
    pub fn headroom(&self) -> usize {
        self.data_offset as usize
    }

    /// Room behind the packet in this segment.
    #[inline(always)]
    pub fn tailroom(&self) -> usize {
        AREA - self.data_offset as usize - self.len as usize
    }

    /// Takes `n` bytes off the front: returns false, and changes nothing, if this segment is
    /// shorter.
    #[inline(always)]
    #[must_use]
    pub fn pull(&mut self, n: usize) -> bool {
        if n > self.len as usize {
            return false;
        }
        self.data_offset += n as u16;
        self.len -= n as u16;
        if self.flags.intersects(Flags::CSUM_PARTIAL | Flags::GSO) {
            self.shift_offload(-(n as i32));
        }
        true
    }

    /// Puts `N` bytes in front and returns them; `None` if the headroom is used up.
    #[inline(always)]
    pub fn push<const N: usize>(&mut self) -> Option<&mut [u8; N]> {
        if N > self.data_offset as usize {
            return None;
        }
        self.data_offset -= N as u16;
        self.len += N as u16;
        if self.flags.intersects(Flags::CSUM_PARTIAL | Flags::GSO) {
            self.shift_offload(N as i32);
        }
        self.bytes_mut(0)
    }

    /// Puts `n` bytes in front and returns them; `None` if the headroom is used up.
    pub fn push_slice(&mut self, n: usize) -> Option<&mut [u8]> {
        if n > self.data_offset as usize {
            return None;
        }
        self.data_offset -= n as u16;
        self.len += n as u16;
        if self.flags.intersects(Flags::CSUM_PARTIAL | Flags::GSO) {
            self.shift_offload(n as i32);
        }
        Some(&mut self.data_mut()[..n])
    }

    /// Appends room for `n` bytes to this segment and returns it; `None` if it doesn't fit.
    pub fn put(&mut self, n: usize) -> Option<&mut [u8]> {
        if n > self.tailroom() {
            return None;
        }
        let at = self.len as usize;
        self.len += n as u16;
        Some(&mut self.data_mut()[at..])
    }

    /// Empties this segment and writes `bytes` at the usual place; false if they don't fit.
    #[must_use]
    pub fn set_data(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() > DATA_SIZE {
            return false;
        }
        self.data_offset = HEADROOM as u16;
        self.len = bytes.len() as u16;
        self.data_mut().copy_from_slice(bytes);
        true
    }

    /// Puts `len` bytes in front, of which `first` are the first and `last` the last; they may
    /// overlap. False if the headroom is used up. Two stores without a branch on `len`, and no
    /// byte beside is touched.
    ///
    /// # Panics
    /// If `len` isn't from `N` to `2 * N`.
    #[inline(always)]
    #[must_use]
    pub fn push_ends<const N: usize>(
        &mut self,
        first: &[u8; N],
        last: &[u8; N],
        len: usize,
    ) -> bool {
        assert!(N <= len && len <= 2 * N);
        let end = self.data_offset as usize;
        if len > end {
            return false;
        }
        debug_assert!(end <= AREA);
        let start = end - len;
        // SAFETY: N <= len <= end, and every setter keeps data_offset <= AREA.
        unsafe {
            self.area_mut().get_unchecked_mut(start..start + N).copy_from_slice(first);
            self.area_mut().get_unchecked_mut(end - N..end).copy_from_slice(last);
        }
        self.data_offset = start as u16;
        self.len += len as u16;
        if self.flags.intersects(Flags::CSUM_PARTIAL | Flags::GSO) {
            self.shift_offload(len as i32);
        }
        true
    }

    /// Cuts this segment to its first `n` bytes (no-op if it is shorter). Only for packets of one
    /// segment.
    #[inline(always)]
    pub fn truncate(&mut self, n: usize) {
        // Without a branch: short packets in padded frames come mixed with others.
        self.len = (self.len as usize).min(n) as u16;
    }

    /// Room from the usual start of data, for a driver that writes the packet itself; follow with
    /// [`Self::set_len`].
    pub fn fresh_area(&mut self) -> &mut [u8; DATA_SIZE] {
        self.data_offset = HEADROOM as u16;
        self.len = 0;
        self.area_mut()[HEADROOM..].first_chunk_mut().expect("area is headroom and data")
    }

    /// Sets the number of bytes that were written to [`Self::fresh_area`]; clipped to what fits.
    #[inline(always)]
    pub fn set_len(&mut self, n: usize) {
        self.len = n.min(AREA - self.data_offset as usize) as u16;
    }

    /// Moves the checksum's offsets when bytes were put in front (`by > 0`) or taken off.
    #[inline(always)]
    pub fn shift_offload(&mut self, by: i32) {
        self.offload.csum_start = (self.offload.csum_start as i32 + by).max(0) as u16;
    }

    /// Reason for the packet's drop: an index of the instance's error table, 0 for none.
    #[inline(always)]
    pub fn error(&self) -> u32 {
        self.error
    }

    /// Sets the reason for the packet's drop.
    #[inline(always)]
    pub fn set_error(&mut self, error: u32) {
        self.error = error;
    }

    /// Remembers that the layer-2 header starts at the packet's first byte.
    #[inline(always)]
    pub fn mark_l2(&mut self) {
        self.l2 = self.data_offset;
    }

    /// Remembers that the layer-3 header starts at the packet's first byte.
    #[inline(always)]
    pub fn mark_l3(&mut self) {
        self.l3 = self.data_offset;
    }

    /// Bytes from the marked layer-2 header to the packet's first byte: what [`Self::rewind`] puts
    /// back.
    #[inline(always)]
    pub fn l2_len(&self) -> usize {
        (self.data_offset as usize).saturating_sub(self.l2 as usize)
    }

    /// Bytes from the packet's first byte back to the marked layer-3 header.
    #[inline(always)]
    pub fn l3_len(&self) -> usize {
        (self.data_offset as usize).saturating_sub(self.l3 as usize)
    }

    /// Bytes from the packet's first byte on to the marked layer-3 header: those of a layer-2
    /// header in front of it.
    #[inline(always)]
    pub fn l3_at(&self) -> usize {
        (self.l3 as usize).saturating_sub(self.data_offset as usize)
    }

    /// Moves the start of the packet back by `n` bytes, uncovering what stands there (headers
    /// pulled before). False if there is no such room.
    #[must_use]
    #[inline]
    pub fn rewind(&mut self, n: usize) -> bool {
        if n > self.data_offset as usize {
            return false;
        }
        self.data_offset -= n as u16;
        self.len += n as u16;
        if self.flags.intersects(Flags::CSUM_PARTIAL | Flags::GSO) {
            self.shift_offload(n as i32);
        }
        true
    }

    /// The scratch value that the previous node left on this edge.
    ///
    /// # Panics
    /// In debug builds, if no value of this type was written since the buffer was allocated.
    #[inline(always)]
    pub fn scratch<S: Scratch>(&self) -> S {
        self.scratch_tag.check(S::TAG, "scratch of this type was not written");
        S::from_words(self.scratch)
    }

    /// Leaves a scratch value for the next node on this edge.
    #[inline(always)]
    pub fn set_scratch<S: Scratch>(&mut self, value: S) {
        self.scratch[..S::WORDS].copy_from_slice(&value.to_words()[..S::WORDS]);
        self.scratch_tag.note(S::TAG);
    }

    /// Copies what a copy takes over: interfaces, flags, hash, trace, marks of layers, scratch,
    /// fields.
    #[inline(always)]
    pub(crate) fn copy_meta(&mut self, from: &Buffer) {
        self.flags = from.flags;
        self.rx_if = from.rx_if;
        self.tx_if = from.tx_if;
        self.scratch = from.scratch;
        self.scratch_tag = from.scratch_tag;
        self.feature = from.feature;
        self.error = from.error;
        self.flow_hash = from.flow_hash;
        self.trace = from.trace;
        self.l2 = from.l2;
        self.nesting = from.nesting;
        self.l3 = from.l3;
        self.offload = from.offload;
        self.copy_fields(from);
    }

    /// `len` bytes of the area from `offset` on, whether they belong to the packet or not.
    #[inline(always)]
    pub(crate) fn area_at(&self, offset: usize, len: usize) -> &[u8] {
        &self.area()[offset..][..len]
    }

    #[inline(always)]
    pub(crate) fn place(&mut self, offset: usize, len: usize) {
        assert!(offset + len <= AREA, "segment outside of its buffer");
        self.data_offset = offset as u16;
        self.len = len as u16;
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("offset", &self.data_offset)
            .field("len", &self.len)
            .field("rest", &self.rest_len)
            .field("flags", &self.flags)
            .field("rx_if", &self.rx_if)
            .field("tx_if", &self.tx_if)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Packets of several segments, and clones that share a tail.

use crate::cache::Cache;
use crate::header::{Buffer, BufferIndex, DATA_SIZE, State};
use crate::meta::{Flags, Offload};
use crate::pool::{Owned, Pool};
use std::sync::atomic::Ordering;

/// Bytes of a clone's own head at most.
pub const CLONE_HEAD: usize = 256;

/// The head of a packet that is cloned: each clone gets a copy. Made by [`Buffer::split_head`].
pub struct CloneHead {
    bytes: [u8; CLONE_HEAD],
    len: usize,
    /// Where it stood: the marks of layers stay true in the clones.
    offset: usize,
    offload: Offload,
    /// Bytes behind it.
    rest: u32,
}

impl CloneHead {
    /// It is the whole packet: nothing is shared, and the packet is as it was.
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        self.rest == 0
    }
}

/// Bytes of one packet at most: what an IP length and a GSO frame with its Ethernet header need.
pub const MAX_PACKET: usize = 65535 + 64;

/// The segments' bytes of one packet, first to last.
pub struct Segments<'a> {
    at: Option<&'a Buffer>,
}

impl<'a> Iterator for Segments<'a> {
    type Item = &'a [u8];
    fn next(&mut self) -> Option<&'a [u8]> {
        let this = self.at?;
        self.at = this.next_segment();
        Some(this.data())
    }
}

impl Buffer {
    fn pool(&self) -> &'static Pool {
        Pool::of(self)
    }

    fn next_segment(&self) -> Option<&Buffer> {
        if !self.is_chained() {
            return None;
        }
        // SAFETY: a chained buffer's `next` is a segment owned through it; segments behind the head are read-only.
        Some(unsafe { self.pool().ptr(self.next).as_ref() })
    }

    /// The bytes of the whole packet, segment by segment.
    pub fn segments(&self) -> Segments<'_> {
        Segments { at: Some(self) }
    }

    /// Copies bytes `from ..` of the whole packet to `to`; returns how many there were.
    pub fn copy_out(&self, from: usize, to: &mut [u8]) -> usize {
        let (mut skip, mut done) = (from, 0);
        for segment in self.segments() {
            if skip >= segment.len() {
                skip -= segment.len();
                continue;
            }
            let n = (segment.len() - skip).min(to.len() - done);
            to[done..done + n].copy_from_slice(&segment[skip..skip + n]);
            skip = 0;
            done += n;
            if done == to.len() {
                break;
            }
        }
        done
    }

    /// Changes two bytes at offset `at` of the whole packet, wherever they lie; false if they are beyond the end, or
    /// in a segment that is shared.
    #[must_use]
    pub fn write_u16(&mut self, at: usize, value: u16) -> bool {
        if let Some(bytes) = self.bytes_mut::<2>(at) {
            *bytes = value.to_be_bytes();
            return true;
        }
        self.write_byte(at, value.to_be_bytes()[0]) && self.write_byte(at + 1, value.to_be_bytes()[1])
    }

    fn write_byte(&mut self, at: usize, value: u8) -> bool {
        let pool = self.pool();
        let mut skip = at;
        let mut segment: *mut Buffer = self;
        loop {
            // SAFETY: the head is borrowed exclusively; a segment behind it with one reference is owned through it.
            let this = unsafe { &mut *segment };
            if this.refs.load(Ordering::Acquire) != 1 {
                // Shared, and so is all behind it.
                return false;
            }
            if skip < this.len() {
                this.data_mut()[skip] = value;
                return true;
            }
            if !this.is_chained() {
                return false;
            }
            skip -= this.len();
            segment = pool.ptr(this.next).as_ptr();
        }
    }

    /// Takes segments and bytes off the end, until the whole packet has at most `n` bytes.
    pub fn trim_packet(&mut self, n: usize, cache: &mut Cache) {
        if n >= self.packet_len() {
            return;
        }
        if n <= self.len() {
            self.truncate(n);
            if self.is_chained() {
                let tail = self.next;
                self.unchain();
                // SAFETY: the tail was owned through this head, which has just forgotten it.
                drop(unsafe { Owned::from_ptr(self.pool().ptr(tail)) });
            }
            return;
        }
        // The cut lies behind the head: copy what stays into fresh segments, since the tail may be shared.
        let keep = n - self.len();
        let mut bytes = vec![0; keep];
        self.copy_out(self.len(), &mut bytes);
        let tail = self.next;
        self.unchain();
        // SAFETY: as above.
        drop(unsafe { Owned::from_ptr(self.pool().ptr(tail)) });
        let _ = self.append_bytes(&bytes, cache);
    }

    /// Prepares for clones, which have a copy of the first `head` bytes (at most [`CLONE_HEAD`]) of their own and share the rest.
    /// A packet that is longer loses its head, and from the first clone on is read-only: all that its owner does with it is to
    /// free it. A shorter one stays as it is.
    #[inline(always)]
    pub fn split_head(&mut self, head: usize) -> CloneHead {
        let len = head.min(self.len()).min(CLONE_HEAD);
        let mut bytes = [0; CLONE_HEAD];
        bytes[..len].copy_from_slice(&self.data()[..len]);
        let (offset, offload) = (self.headroom(), self.offload);
        let rest = (self.packet_len() - len) as u32;
        if rest > 0 {
            let pulled = self.pull(len);
            debug_assert!(pulled);
        }
        CloneHead { bytes, len, offset, offload, rest }
    }

    /// One more packet like this was before [`Self::split_head`], which gave `head`; `None` if there is no buffer.
    #[inline(always)]
    pub fn clone_with(&mut self, head: &CloneHead, cache: &mut Cache) -> Option<Owned> {
        let mut clone = cache.alloc()?;
        clone.copy_meta(self);
        clone.flags.clear(Flags::CHAINED.with(Flags::SHARED));
        clone.offload = head.offload;
        // A segment may begin beyond the usual headroom, but never so far that a head doesn't fit: it stood there.
        clone.place(head.offset, head.len);
        clone.data_mut().copy_from_slice(&head.bytes[..head.len]);
        if head.rest > 0 {
            // This packet, without its head, is the tail that all share.
            self.refs.fetch_add(1, Ordering::AcqRel);
            clone.flags.set(Flags::CHAINED.with(Flags::SHARED));
            clone.next = self.pool().index_of(self);
            clone.rest_len = head.rest;
        }
        Some(clone)
    }

    fn unchain(&mut self) {
        self.flags.clear(Flags::CHAINED.with(Flags::SHARED));
        self.next = BufferIndex::NONE;
        self.rest_len = 0;
    }

    /// Appends bytes to the whole packet, in this segment's tail room and then in fresh segments; false, with the packet as
    /// it was, if there are not enough buffers or the packet would be longer than 64 KiB.
    #[must_use]
    pub fn append_bytes(&mut self, mut bytes: &[u8], cache: &mut Cache) -> bool {
        if self.packet_len() + bytes.len() > MAX_PACKET {
            return false;
        }
        if !self.is_chained() {
            let n = bytes.len().min(self.tailroom());
            let spare = bytes.len() - n;
            if spare == 0 {
                if let Some(room) = self.put(n) {
                    room.copy_from_slice(bytes);
                }
                return true;
            }
        }
        let mut segments: Vec<Owned> = Vec::new();
        let first = if self.is_chained() { 0 } else { bytes.len().min(self.tailroom()) };
        let (head, rest) = bytes.split_at(first);
        bytes = rest;
        for chunk in bytes.chunks(DATA_SIZE) {
            let Some(mut segment) = cache.alloc() else { return false };
            let ok = segment.set_data(chunk);
            debug_assert!(ok, "chunks are cut to size");
            segments.push(segment);
        }
        if let Some(room) = self.put(first) {
            room.copy_from_slice(head);
        }
        self.append_segments(segments);
        true
    }

    /// Appends a packet of one segment as the last segment of this one.
    pub fn append_segment(&mut self, segment: Owned) {
        self.append_segments([segment]);
    }

    /// Appends packets, in order, with all their segments, as the last segments of this one. Neither this nor they may share
    /// segments ([`Owned::unshare`]).
    pub fn append_segments(&mut self, segments: impl IntoIterator<Item = Owned>) {
        let pool = self.pool();
        let mut last: *mut Buffer = self;
        let mut added = 0;
        for segment in segments {
            debug_assert!(!self.flags.has(Flags::SHARED), "a shared tail is read-only");
            assert!(!segment.flags.has(Flags::SHARED), "a segment that others have");
            assert!(std::ptr::eq(segment.pool(), pool), "segment of another pool");
            added += segment.packet_len() as u32;
            let index = segment.index();
            let _ = segment.into_ptr();
            loop {
                // SAFETY: the head is borrowed exclusively, and owns its segments.
                let this = unsafe { &mut *last };
                if !this.is_chained() {
                    this.flags.set(Flags::CHAINED);
                    this.next = index;
                    break;
                }
                last = pool.ptr(this.next).as_ptr();
            }
        }
        self.rest_len += added;
    }
}

impl Pool {
    fn of(buffer: &Buffer) -> &'static Pool {
        Pool::by_id(buffer.pool_id)
    }
}

impl Owned {
    /// A packet that shares no segment with others: itself, or a copy. Gives it back if buffers run out.
    ///
    /// # Errors
    /// The packet as it was.
    pub fn unshare(self, cache: &mut Cache) -> Result<Owned, Owned> {
        if !self.flags.has(Flags::SHARED) {
            return Ok(self);
        }
        let Some(mut copy) = cache.alloc() else { return Err(self) };
        copy.copy_meta(&self);
        copy.flags.clear(Flags::CHAINED.with(Flags::SHARED));
        // As in a clone, the marks of layers stay true.
        copy.place(self.headroom(), 0);
        for segment in self.segments() {
            if !copy.append_bytes(segment, cache) {
                cache.free(copy);
                return Err(self);
            }
        }
        cache.free(self);
        Ok(copy)
    }
}

const _: () = assert!(State::Free as u8 == 0, "zeroed memory is free buffers");

// SPDX-License-Identifier: Apache-2.0
//! Packets of several segments, some of which several packets may share.

use crate::cache::Cache;
use crate::header::{Buffer, BufferIndex, DATA_SIZE};
use crate::pool::{Owned, Pool};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// Bytes of one packet at most: what an IP length and a GSO frame with its Ethernet header need.
pub const MAX_PACKET: usize = 65535 + 64;

/// The segments' bytes of one packet, first to last.
#[derive(Clone)]
pub struct Segments<'a> {
    at: Option<&'a Buffer>,
}

impl<'a> Iterator for Segments<'a> {
    type Item = &'a [u8];
    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let this = self.at?;
        self.at = this.next_segment();
        Some(this.data())
    }
}

impl Buffer {
    fn pool(&self) -> &'static Pool {
        Pool::by_id(self.pool_id)
    }

    #[inline]
    pub(crate) fn next_segment(&self) -> Option<&Buffer> {
        if !self.is_chained() {
            return None;
        }
        // SAFETY: a chained buffer's `next` is a segment that is owned through it, alone or with
        // others; what is lent of a segment that others own too is read-only.
        Some(unsafe { self.pool().ptr(self.next).as_ref() })
    }

    /// The last segment, if no segment behind the first is shared with other packets.
    fn last_mut(&mut self) -> Option<&mut Buffer> {
        let mut last = NonNull::from(&mut *self);
        if self.is_chained() {
            let pool = self.pool();
            // SAFETY: the head is borrowed exclusively. A segment behind it with one reference is
            // owned through it.
            unsafe {
                while last.as_ref().is_chained() {
                    last = pool.ptr(last.as_ref().next);
                    if !last.as_ref().is_sole() {
                        return None;
                    }
                }
            }
        }
        // SAFETY: as above.
        Some(unsafe { last.as_mut() })
    }

    /// Returns true if one packet alone has this segment. It stays so: only a packet that has the
    /// segment can share it further.
    #[inline(always)]
    pub(crate) fn is_sole(&self) -> bool {
        self.refs.load(Ordering::Acquire) == 1
    }

    /// Returns true if other packets share some of this packet's segments: shared segments can't be
    /// changed.
    pub fn is_shared(&self) -> bool {
        let mut at = self.next_segment();
        while let Some(segment) = at {
            if !segment.is_sole() {
                return true;
            }
            at = segment.next_segment();
        }
        false
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

    /// Changes two bytes at offset `at` of the whole packet, wherever they lie; false if they are
    /// beyond the end, or in a segment that is shared.
    #[must_use]
    pub fn write_u16(&mut self, at: usize, value: u16) -> bool {
        if let Some(bytes) = self.bytes_mut::<2>(at) {
            *bytes = value.to_be_bytes();
            return true;
        }
        // Both or none.
        let [high, low] = value.to_be_bytes();
        let Some(low_byte) = self.byte_mut(at + 1) else { return false };
        *low_byte = low;
        // The byte before it is in the same segment or in one in front.
        self.byte_mut(at).is_some_and(|byte| {
            *byte = high;
            true
        })
    }

    /// The byte at this offset of the whole packet, if there is one and it isn't shared.
    fn byte_mut(&mut self, at: usize) -> Option<&mut u8> {
        let mut skip = at;
        let mut segment = self;
        while skip >= segment.len() {
            skip -= segment.len();
            segment = segment.next_mut()?;
        }
        segment.data_mut().get_mut(skip)
    }

    /// The next segment, unless it is shared.
    fn next_mut(&mut self) -> Option<&mut Buffer> {
        if !self.is_chained() {
            return None;
        }
        // SAFETY: this segment is borrowed exclusively; one behind it with one reference is owned
        // through it.
        let next = unsafe { self.pool().ptr(self.next).as_mut() };
        next.is_sole().then_some(next)
    }

    /// Frees all segments behind the first.
    pub fn drop_segments(&mut self, cache: &mut Cache) {
        if !self.is_chained() {
            return;
        }
        let tail = self.pool().ptr(self.next);
        self.next = BufferIndex::NONE;
        self.rest_len = 0;
        // SAFETY: this packet had a reference on the segment, and has just forgotten it.
        unsafe { cache.free_segments(tail) };
    }

    /// Takes segments and bytes off the end, until the whole packet has at most `n` bytes. False,
    /// with the packet as it was, if the cut lies in segments that other packets have too, and
    /// there are no buffers for a copy of what stays of them.
    #[must_use = "the packet may be as long as before"]
    pub fn trim_packet(&mut self, n: usize, cache: &mut Cache) -> bool {
        if n >= self.packet_len() {
            return true;
        }
        if n <= self.len() {
            self.truncate(n);
            self.drop_segments(cache);
            return true;
        }
        let keep = n - self.len();
        if self.is_shared() {
            return self.trim_shared(keep, cache);
        }
        let (mut left, mut at) = (keep, &mut *self);
        while let Some(segment) = at.next_mut() {
            if left <= segment.len() {
                segment.truncate(left);
                segment.drop_segments(cache);
                break;
            }
            left -= segment.len();
            at = segment;
        }
        self.rest_len = keep as u32;
        true
    }

    /// Replaces the segments behind the first by a copy of their first `keep` bytes.
    #[cold]
    fn trim_shared(&mut self, keep: usize, cache: &mut Cache) -> bool {
        if !cache.pool().owns(NonNull::from(&*self)) {
            return false;
        }
        let Some(mut tail) = cache.alloc() else { return false };
        let mut left = keep;
        for segment in self.segments().skip(1) {
            let n = segment.len().min(left);
            if !tail.append_bytes(&segment[..n], cache) {
                cache.free(tail);
                return false;
            }
            left -= n;
        }
        self.drop_segments(cache);
        let joined = self.append_segment(tail);
        debug_assert!(joined.is_ok(), "a fresh packet of this pool");
        joined.is_ok()
    }

    /// Appends bytes to the whole packet, in the last segment's tail room and then in fresh
    /// segments; false, with the packet as it was, if there are not enough buffers (of its
    /// pool), the packet would be longer than 64 KiB, or others share its segments.
    #[must_use]
    pub fn append_bytes(&mut self, bytes: &[u8], cache: &mut Cache) -> bool {
        if self.packet_len() + bytes.len() > MAX_PACKET {
            return false;
        }
        let (chained, same_pool) = (self.is_chained(), cache.pool().owns(NonNull::from(&*self)));
        let Some(last) = self.last_mut() else { return false };
        let here = bytes.len().min(last.tailroom());
        let (here, rest) = bytes.split_at(here);
        let fresh = match chain_of(rest, cache) {
            _ if rest.is_empty() => None,
            Some(fresh) if same_pool => Some(fresh),
            other => {
                other.into_iter().for_each(|fresh| cache.free(fresh));
                return false;
            }
        };
        if let Some(room) = last.put(here.len()) {
            room.copy_from_slice(here);
        }
        if chained {
            self.rest_len += here.len() as u32;
        }
        let joined = fresh.map_or(Ok(()), |fresh| self.append_segment(fresh));
        debug_assert!(joined.is_ok(), "fresh segments of this pool");
        joined.is_ok()
    }

    /// Appends a packet with all its segments as the last segments of this one.
    ///
    /// # Errors
    /// As [`Self::append_segments`].
    pub fn append_segment(&mut self, segment: Owned) -> Result<(), Owned> {
        self.append_segments([segment])
    }

    /// Appends packets, in order, with all their segments, as the last segments of this one.
    ///
    /// # Errors
    /// The first packet that can't be appended, because it, or this packet, shares segments with
    /// others ([`Owned::unshare`]) or because it is of another pool. Packets before it are part
    /// of this packet by then; packets behind it weren't taken from the iterator.
    pub fn append_segments(
        &mut self,
        segments: impl IntoIterator<Item = Owned>,
    ) -> Result<(), Owned> {
        let pool = self.pool();
        let mut segments = segments.into_iter();
        let Some(mut last) = self.last_mut().map(NonNull::from) else {
            return segments.next().map_or(Ok(()), Err);
        };
        let (mut added, mut result) = (0, Ok(()));
        for mut segment in segments {
            let len = segment.packet_len() as u32;
            let end = segment.last_mut().map(NonNull::from);
            let Some(end) = end.filter(|end| pool.owns(*end)) else {
                result = Err(segment);
                break;
            };
            added += len;
            let first = segment.into_ptr();
            // SAFETY: the head is borrowed exclusively and owns its last segment alone. The handle
            // owned `first`, and is gone.
            unsafe { last.as_mut() }.next = pool.index_of(first);
            last = end;
        }
        self.rest_len += added;
        result
    }
}

/// A chain of fresh segments with these bytes; `None` if there are too few buffers, or no bytes.
fn chain_of(bytes: &[u8], cache: &mut Cache) -> Option<Owned> {
    let mut chain: Option<Owned> = None;
    // From its end on: each segment then gets the rest without a walk.
    for chunk in bytes.chunks(DATA_SIZE).rev() {
        let Some(mut segment) = cache.alloc() else {
            chain.into_iter().for_each(|chain| cache.free(chain));
            return None;
        };
        let ok = segment.set_data(chunk);
        debug_assert!(ok, "chunks are cut to size");
        if let Some(rest) = chain.take() {
            segment.rest_len = rest.packet_len() as u32;
            segment.next = cache.pool().index_of(rest.into_ptr());
        }
        chain = Some(segment);
    }
    chain
}

impl Owned {
    /// A packet that shares no segment with others: itself, or a copy. Gives it back if buffers run
    /// out.
    ///
    /// # Errors
    /// The packet as it was.
    pub fn unshare(self, cache: &mut Cache) -> Result<Owned, Owned> {
        if !self.is_shared() {
            return Ok(self);
        }
        let Some(mut copy) = cache.alloc() else { return Err(self) };
        copy.copy_meta(&self);
        // As in other copies, the marks of layers stay true.
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

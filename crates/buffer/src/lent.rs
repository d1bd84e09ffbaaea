// SPDX-License-Identifier: Apache-2.0
//! Buffers that a device has: it writes to them, or reads them, without a copy.
//!
//! A device names a buffer by an offset in the pool's region. [`Lent`] owns each buffer from when
//! it is lent until the device returns its offset, and refuses an offset that wasn't lent: whatever
//! a device returns, no buffer gets a second owner.

use crate::header::{AREA, Buffer, BufferIndex, META};
use crate::pool::{DRIVER_AREA, Owned, Pool, SLOT_SIZE};
use std::sync::atomic::Ordering;

/// First byte of a slot that belongs to the packet area. A device may write from here on.
pub const AREA_OFFSET: usize = DRIVER_AREA + META;
/// Byte of a slot at which a packet of a driver begins: behind the headroom.
pub const DATA_OFFSET: usize = DRIVER_AREA + crate::PACKET_OFFSET;

/// The set of buffers that a device has, one bit for each slot of the pool.
pub struct Lent {
    pool: &'static Pool,
    bits: Box<[u64]>,
    len: usize,
}

impl Lent {
    /// An empty set, for buffers of this pool.
    pub fn new(pool: &'static Pool) -> Self {
        Self { pool, bits: vec![0; pool.limit().div_ceil(64)].into(), len: 0 }
    }

    /// The pool.
    pub fn pool(&self) -> &'static Pool {
        self.pool
    }

    /// Number of buffers that the device has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the device has no buffer.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes a buffer for the device; returns the offset of its slot in the region.
    ///
    /// # Errors
    /// A buffer of another pool, or a chain: the device gets each segment by itself
    /// ([`Buffer::split_first`]).
    #[inline]
    pub fn lend(&mut self, buffer: Owned) -> Result<usize, Owned> {
        if buffer.is_chained() || buffer.pool_id != self.pool.id() {
            return Err(buffer);
        }
        let slot = (self.pool.index_of(buffer.into_ptr()).0 as usize * 64) / SLOT_SIZE;
        if let Some(word) = self.bits.get_mut(slot / 64) {
            debug_assert_eq!(*word & 1 << (slot % 64), 0, "a buffer has two owners");
            *word |= 1 << (slot % 64);
        }
        self.len += 1;
        Ok(slot * SLOT_SIZE)
    }

    /// Takes the buffer back whose slot holds the byte at `offset` of the region; `None` if the
    /// device doesn't have it.
    #[inline]
    pub fn take(&mut self, offset: usize) -> Option<Owned> {
        let slot = offset / SLOT_SIZE;
        let (word, bit) = (self.bits.get_mut(slot / 64)?, 1 << (slot % 64));
        if *word & bit == 0 {
            return None;
        }
        *word &= !bit;
        self.len -= 1;
        let index = BufferIndex(((slot * SLOT_SIZE + DRIVER_AREA) / 64) as u32);
        // SAFETY: the bit stands for the ownership that `lend` took from a handle, and is cleared.
        Some(unsafe { Owned::from_ptr(self.pool.ptr(index)) })
    }

    /// Takes some buffer back that the device will not return any more.
    pub fn take_any(&mut self) -> Option<Owned> {
        let (at, word) = self.bits.iter().enumerate().find(|(_, word)| **word != 0)?;
        self.take((at * 64 + word.trailing_zeros() as usize) * SLOT_SIZE)
    }
}

/// Returns all buffers: the device has to be stopped by then, or it writes to packets of others.
impl Drop for Lent {
    fn drop(&mut self) {
        while let Some(buffer) = self.take_any() {
            drop(buffer);
        }
    }
}

impl std::fmt::Debug for Lent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lent").field("len", &self.len).finish_non_exhaustive()
    }
}

impl Buffer {
    /// Offset of the segment's first byte in its slot.
    #[inline(always)]
    pub fn slot_offset(&self) -> usize {
        AREA_OFFSET + self.headroom()
    }

    /// Sets the segment's bytes: the `len` bytes that a device wrote at offset `at` of the slot.
    /// False, with the buffer as it was, if they don't lie in the packet area.
    #[inline(always)]
    #[must_use]
    pub fn set_filled(&mut self, at: usize, len: usize) -> bool {
        match at.checked_sub(AREA_OFFSET) {
            Some(start) if start <= AREA && len <= AREA - start => {
                self.place(start, len);
                true
            }
            _ => false,
        }
    }

    /// Takes the segments behind the first off the packet, as a packet of their own. `None` if
    /// there are none, or others share the next one.
    pub fn split_first(&mut self) -> Option<Owned> {
        if !self.is_chained() {
            return None;
        }
        let pool = Pool::by_id(self.pool_id);
        let mut next = pool.ptr(self.next);
        // SAFETY: this packet has a reference on the next segment; with one reference it alone has
        // it, and is borrowed exclusively.
        unsafe {
            if next.as_ref().refs.load(Ordering::Acquire) != 1 {
                return None;
            }
            let segment = next.as_mut();
            segment.rest_len = self.rest_len - u32::from(segment.len);
            (self.next, self.rest_len) = (BufferIndex::NONE, 0);
            // The reference that this packet had is the handle's.
            Some(Owned::from_ptr(next))
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::{Cache, DATA_SIZE};
    use proptest::prelude::*;

    #[suite::test]
    fn a_device_writes_to_the_packet_area_only() {
        let pool = Pool::new(63).expect("a small pool");
        let mut cache = Cache::new(pool);
        let mut b = cache.alloc().expect("a buffer");
        assert_eq!((b.slot_offset(), SLOT_SIZE - AREA_OFFSET), (DATA_OFFSET, AREA));
        for (at, len, fits) in [
            (DATA_OFFSET, DATA_SIZE, true),
            (AREA_OFFSET, AREA, true),
            (AREA_OFFSET - 1, 1, false),
            (DATA_OFFSET, DATA_SIZE + 1, false),
            (SLOT_SIZE, 0, true),
            (SLOT_SIZE + 1, 0, false),
            (0, 0, false),
            (usize::MAX, usize::MAX, false),
            (DATA_OFFSET, usize::MAX, false),
        ] {
            assert_eq!(b.set_filled(at, len), fits, "{at} {len}");
        }
        cache.free(b);
        drop(cache);
        assert_eq!(pool.release(), Ok(()));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        /// Lends chains segment by segment and returns offsets at random, wrong ones too: each
        /// byte is back once.
        #[suite::test]
        fn no_buffer_is_lost_or_has_two_owners(
            sizes in prop::collection::vec(0usize..9000, 1..20),
            offsets in prop::collection::vec(0usize..64 * SLOT_SIZE, 0..200), shared: bool,
        ) {
            let pool = Pool::new(189).expect("a small pool");
            let (mut cache, mut lent) = (Cache::new(pool), Lent::new(pool));
            let mut want = std::collections::BTreeMap::new();
            for (n, size) in sizes.into_iter().enumerate() {
                let Some(mut packet) = cache.alloc() else { break };
                let bytes: Vec<u8> = (0..size).map(|i| (i * 7 + n) as u8).collect();
                if !packet.append_bytes(&bytes, &mut cache) {
                    cache.free(packet);
                    break;
                }
                let mut joined = Vec::new();
                let mut next = Some(packet);
                while let Some(mut segment) = next {
                    next = segment.split_first();
                    prop_assert_eq!(segment.packet_len(), segment.len());
                    joined.extend_from_slice(segment.data());
                    let (at, bytes) = (segment.slot_offset(), segment.data().to_vec());
                    let slot = lent.lend(segment).expect("one segment of this pool");
                    prop_assert!(want.insert(slot, (at, bytes)).is_none(), "a second owner");
                }
                prop_assert_eq!(joined, bytes);
            }
            prop_assert_eq!(lent.len(), want.len());
            for offset in offsets {
                let slot = offset / SLOT_SIZE * SLOT_SIZE;
                match (lent.take(offset), want.remove(&slot)) {
                    (Some(b), Some((at, bytes))) => {
                        prop_assert_eq!((b.slot_offset(), b.data()), (at, &bytes[..]));
                        cache.free(b);
                    }
                    (None, None) => {}
                    (b, _) => prop_assert!(false, "{offset}: {}", b.is_some()),
                }
            }
            prop_assert!(lent.take(usize::MAX).is_none());
            // A chain, and a packet that shares segments, aren't lent as they are.
            if let Some(mut chain) = cache.alloc() {
                if chain.append_bytes(&[1; 5000], &mut cache) {
                    let mut chain = lent.lend(chain).expect_err("a chain");
                    let copy = if shared { chain.duplicate(&mut cache) } else { None };
                    if copy.is_some() {
                        prop_assert!(chain.split_first().is_none());
                    }
                    copy.into_iter().for_each(|copy| cache.free(copy));
                    cache.free(chain);
                } else {
                    cache.free(chain);
                }
            }
            drop(lent);
            drop(cache);
            prop_assert_eq!(pool.release(), Ok(()));
        }
    }
}

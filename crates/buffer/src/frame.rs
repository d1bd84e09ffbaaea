// SPDX-License-Identifier: Apache-2.0
//! A frame: the vector of packets that a node works on.

use crate::debug_state::State;
use crate::header::{Buffer, BufferIndex};
use crate::pool::{Owned, Pool};
use std::ptr::NonNull;

/// Packets of a frame at most.
pub const FRAME_SIZE: usize = 256;

/// Up to 256 packets, owned by the frame. Indices of one pool only; an index is in one frame only.
#[repr(C, align(64))]
pub struct Frame {
    indices: [u32; FRAME_SIZE],
    len: usize,
    /// Some packet of it is traced.
    pub traced: bool,
    base: NonNull<u8>,
    /// From `base` on.
    bytes: usize,
    pool: &'static Pool,
}

// SAFETY: a frame is the only owner of its packets.
unsafe impl Send for Frame {}

impl Frame {
    /// An empty frame for packets of this pool.
    #[inline]
    pub fn new(pool: &'static Pool) -> Box<Self> {
        let (base, bytes) = (pool.base(), pool.bytes());
        Box::new(Self { indices: [0; FRAME_SIZE], len: 0, traced: false, base, bytes, pool })
    }

    /// Packets in it.
    #[inline(always)]
    pub fn len(&self) -> usize {
        // SAFETY: every setter keeps it; telling the compiler saves bounds checks.
        unsafe { std::hint::assert_unchecked(self.len <= FRAME_SIZE) };
        self.len
    }

    /// Returns true if the frame holds no packet.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of packets that still fit.
    #[inline(always)]
    pub fn room(&self) -> usize {
        FRAME_SIZE - self.len()
    }

    /// The names of its packets, in order. Only the first [`Self::len`] entries mean anything.
    #[inline(always)]
    pub fn indices(&self) -> &[u32; FRAME_SIZE] {
        &self.indices
    }

    #[inline(always)]
    fn ptr(&self, i: usize) -> NonNull<Buffer> {
        // SAFETY: entries below `len` are indices that the pool made.
        unsafe { at(self.base, self.indices[i]) }
    }

    /// Packet number `i`.
    ///
    /// # Panics
    /// If there are not that many.
    #[inline(always)]
    pub fn get(&self, i: usize) -> &Buffer {
        assert!(i < self.len());
        // SAFETY: the frame owns the packet.
        unsafe { self.ptr(i).as_ref() }
    }

    /// Packet number `i`, to change.
    ///
    /// # Panics
    /// If there are not that many.
    #[inline(always)]
    pub fn get_mut(&mut self, i: usize) -> &mut Buffer {
        assert!(i < self.len());
        // SAFETY: the frame is the packet's only owner, and is borrowed exclusively.
        unsafe { self.ptr(i).as_mut() }
    }

    /// All packets in order.
    #[inline(always)]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Buffer> {
        let base = self.base;
        // SAFETY: entries below `len` are indices that the pool made; the frame owns the packets.
        self.indices[..self.len()].iter().map(move |i| unsafe { at(base, *i).as_ref() })
    }

    /// All packets in order, to change.
    #[inline(always)]
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Buffer> {
        let base = self.base;
        // SAFETY: as above; the frame is the only owner, is borrowed exclusively, and no index
        // stands in it twice.
        self.indices[..self.len()].iter().map(move |i| unsafe { at(base, *i).as_mut() })
    }

    /// Packets `from .. to` in order, to change (fewer, if there are fewer).
    #[inline(always)]
    pub fn range_mut(
        &mut self,
        from: usize,
        to: usize,
    ) -> impl ExactSizeIterator<Item = &mut Buffer> {
        let base = self.base;
        let to = to.min(self.len());
        // SAFETY: as above.
        self.indices[from.min(to)..to].iter().map(move |i| unsafe { at(base, *i).as_mut() })
    }

    /// Packets `from .. to` in order, to change (fewer, if there are fewer); before each, `fetch`
    /// is called on the address of the packet eight ahead (or of some other packet, at the
    /// end).
    #[inline(always)]
    pub fn range_mut_ahead<F: Fn(*const u8)>(
        &mut self,
        from: usize,
        to: usize,
        fetch: F,
    ) -> impl Iterator<Item = &mut Buffer> {
        const AHEAD: usize = 8;
        let base = self.base;
        let (indices, to) = (&self.indices, to.min(self.len()));
        (from..to).map(move |i| {
            let ahead = indices[(i + AHEAD) & (FRAME_SIZE - 1)];
            fetch(base.as_ptr().wrapping_add((ahead as usize) << 6));
            // SAFETY: as above.
            unsafe { at(base, indices[i]).as_mut() }
        })
    }

    /// The address of packet `i`'s metadata, for prefetching; beyond the end, that of some other
    /// packet or of none. Without a branch: fetching what isn't needed costs less than asking.
    #[inline(always)]
    pub fn prefetch_address(&self, i: usize) -> *const u8 {
        self.base.as_ptr().wrapping_add((self.indices[i & (FRAME_SIZE - 1)] as usize) << 6)
    }

    /// Adds a packet; gives it back if the frame is full.
    ///
    /// # Errors
    /// The packet, if there is no room.
    #[inline(always)]
    pub fn push(&mut self, buffer: Owned) -> Result<(), Owned> {
        if self.len() == FRAME_SIZE {
            return Err(buffer);
        }
        let offset = buffer.address().get().wrapping_sub(self.base.addr().get());
        assert!(offset < self.bytes, "buffer of another pool");
        if buffer.flags.contains(crate::Flags::TRACED) {
            self.traced = true;
        }
        let mut ptr = buffer.into_ptr();
        // SAFETY: the handle owned it, and was given to this frame.
        unsafe { ptr.as_mut() }.state.change(
            State::Owned,
            State::Framed,
            "a buffer in a frame wasn't owned",
        );
        self.indices[self.len] = (offset >> 6) as u32;
        self.len += 1;
        Ok(())
    }

    /// Takes the last packet out.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Owned> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        // SAFETY: the frame owned it, and has just forgotten it.
        Some(unsafe { leave(self.ptr(self.len)) })
    }

    /// Takes all packets out, in order. Packets that the caller doesn't take from the iterator are
    /// dropped.
    pub fn drain(&mut self) -> impl Iterator<Item = Owned> {
        let to = self.len();
        self.len = 0;
        self.traced = false;
        Drain { frame: self, from: 0, to }
    }

    /// Appends all packets of `from`, which must fit, and leaves it empty.
    #[inline(always)]
    pub fn append(&mut self, from: &mut Frame) {
        assert!(from.len() <= self.room());
        self.check_pool(from.pool);
        let n = from.len();
        self.indices[self.len..self.len + n].copy_from_slice(&from.indices[..n]);
        self.len += n;
        self.traced |= from.traced;
        from.len = 0;
        from.traced = false;
    }

    /// Moves the first `n` packets of `from` to the end of this, and closes the gap.
    pub fn append_first(&mut self, from: &mut Frame, n: usize) {
        assert!(n <= self.room() && n <= from.len());
        self.check_pool(from.pool);
        self.indices[self.len..self.len + n].copy_from_slice(&from.indices[..n]);
        self.len += n;
        self.traced |= from.traced;
        from.indices.copy_within(n..from.len, 0);
        from.len -= n;
    }

    /// Moves packet `i` of `from` to the end of this. The caller moves every packet of `from`
    /// exactly once and then calls [`Frame::emptied`] on it.
    ///
    /// # Safety
    /// The caller does so: between the first call and `emptied`, `from` names packets that it no
    /// longer owns.
    #[inline(always)]
    pub unsafe fn take_one(&mut self, from: &Frame, i: usize) {
        let at = self.len();
        assert!(at < FRAME_SIZE && i < from.len());
        self.check_pool(from.pool);
        self.indices[at] = from.indices[i];
        self.len = at + 1;
    }

    /// Makes room for `count` raw indices to be selected from `from`: gives the source, the target,
    /// and where in the target they go. No closure does the selecting: one would be compiled
    /// for the lowest instruction set, whatever its caller's.
    ///
    /// # Safety
    /// The caller appends `count` entries of the source at that place at once, each packet of
    /// `from` is selected exactly once over all calls, and [`Frame::emptied`] follows.
    #[inline(always)]
    pub unsafe fn take_selected<'a>(
        &'a mut self,
        from: &'a Frame,
        count: usize,
    ) -> (&'a [u32; FRAME_SIZE], &'a mut [u32; FRAME_SIZE], usize) {
        let at = self.len();
        assert!(at + count <= FRAME_SIZE);
        self.check_pool(from.pool);
        self.len = at + count;
        (&from.indices, &mut self.indices, at)
    }

    /// Forgets the packets: every one has got another owner.
    ///
    /// # Safety
    /// Every packet was taken by [`Self::take_one`] or [`Self::take_selected`].
    #[inline(always)]
    pub unsafe fn emptied(&mut self) {
        self.len = 0;
        self.traced = false;
    }

    #[inline(always)]
    pub(crate) fn check_pool(&self, pool: &'static Pool) {
        assert!(std::ptr::eq(self.pool, pool), "buffer of another pool");
    }

    #[inline(always)]
    pub(crate) fn extend_raw(&mut self, indices: &[u32]) {
        let at = self.len();
        self.indices[at..at + indices.len()].copy_from_slice(indices);
        self.len = at + indices.len();
    }

    #[inline(always)]
    pub(crate) fn take_raw(&mut self) -> &[u32] {
        let n = self.len();
        self.len = 0;
        self.traced = false;
        &self.indices[..n]
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        for buffer in self.drain() {
            drop(buffer);
        }
    }
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.indices[..self.len].iter().map(|i| BufferIndex(*i))).finish()
    }
}

/// The buffer that an index names.
///
/// # Safety
/// The index was made by the pool that begins at `base`.
#[inline(always)]
unsafe fn at(base: NonNull<u8>, index: u32) -> NonNull<Buffer> {
    // SAFETY: as the caller says; so it lies in the pool's region.
    Buffer::at(unsafe { base.add((index as usize) << 6) })
}

/// The packets that a frame had, on their way to other owners.
struct Drain<'a> {
    frame: &'a Frame,
    from: usize,
    to: usize,
}

impl Iterator for Drain<'_> {
    type Item = Owned;

    #[inline(always)]
    fn next(&mut self) -> Option<Owned> {
        if self.from == self.to {
            return None;
        }
        self.from += 1;
        // SAFETY: the frame owned it and has forgotten it; each is taken once.
        Some(unsafe { leave(self.frame.ptr(self.from - 1)) })
    }
}

impl Drop for Drain<'_> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

/// # Safety
/// The caller owned the buffer by its frame, which has forgotten it.
#[inline(always)]
unsafe fn leave(mut ptr: NonNull<Buffer>) -> Owned {
    // SAFETY: as the caller says.
    unsafe {
        ptr.as_mut().state.change(
            State::Framed,
            State::Owned,
            "a frame held an index that isn't its own",
        );
        Owned::from_ptr(ptr)
    }
}

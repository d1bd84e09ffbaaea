// SPDX-License-Identifier: Apache-2.0
//! The pool: one region of slots, carved as they are needed, up to a limit.

use crate::asan;
use crate::debug_state::State;
use crate::field::Fields;
use crate::header::{Buffer, BufferIndex};
use crate::share::Shares;
use crossbeam_queue::ArrayQueue;
use mem::Region;
use std::io;
use std::num::NonZero;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Bytes of a slot: driver area, metadata, headroom, data; an odd number of cache lines.
pub const SLOT_SIZE: usize = 2624;
pub(crate) const DRIVER_AREA: usize = 128;
const _: () = assert!(SLOT_SIZE.is_multiple_of(64) && (SLOT_SIZE / 64) % 2 == 1);
const _: () = assert!(DRIVER_AREA + Buffer::SIZE == SLOT_SIZE);

/// Indices that travel between a thread's cache and the depot at once.
pub(crate) const MAGAZINE: usize = 63;

/// One magazine in so many is kept for packets of the router's own.
const RESERVE: usize = 64;

#[derive(Clone, Copy)]
pub(crate) struct Magazine {
    pub n: u32,
    pub indices: [u32; MAGAZINE],
}

const MAX_POOLS: usize = 256;
static POOLS: [AtomicPtr<Pool>; MAX_POOLS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MAX_POOLS];

/// All buffers of one instance.
///
/// A pool lives as long as the process: handles and frames name buffers without counting
/// references. An instance that ends gives its pool back ([`Pool::release`]), and the next one of
/// the same limit takes it over.
pub struct Pool {
    region: Region,
    id: u32,
    limit: u32,
    carved: AtomicU32,
    /// Full magazines, so that all that can be have room.
    depot: ArrayQueue<Magazine>,
    loose: Mutex<Magazine>,
    idle: std::sync::atomic::AtomicBool,
    pub(crate) failures: AtomicU64,
    pub(crate) shares: Shares,
    pub(crate) fields: Fields,
}

/// Fill level of a pool; all in buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolStats {
    /// Maximum number of buffers.
    pub limit: usize,
    /// Number carved so far; a slot is carved before its first use.
    pub carved: usize,
    /// Number of carved buffers that lie in the common depot.
    pub depot: usize,
    /// Number that lies beside the depot, in a magazine that isn't full.
    pub loose: usize,
    /// Allocations that were refused because all were in use.
    pub failures: u64,
}

impl Pool {
    /// A pool of up to `limit` buffers. Memory is reserved, and committed as buffers are first
    /// used.
    ///
    /// # Errors
    /// The operating system's, if the region can't be reserved; `OutOfMemory` with more than 256
    /// pools in a process.
    pub fn new(limit: usize) -> io::Result<&'static Pool> {
        let limit = limit.max(MAGAZINE).next_multiple_of(MAGAZINE);
        for slot in &POOLS {
            let pool = slot.load(Ordering::Acquire);
            if pool.is_null() {
                continue;
            }
            // SAFETY: a registered pool is never freed.
            let pool = unsafe { &*pool };
            if pool.limit as usize == limit && pool.idle.swap(false, Ordering::AcqRel) {
                pool.failures.store(0, Ordering::Relaxed);
                pool.fields.clear();
                return Ok(pool);
            }
        }
        let bytes = limit * SLOT_SIZE;
        if bytes >> 6 >= u32::MAX as usize {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a buffer pool holds at most 256 GiB",
            ));
        }
        let region = Region::new("buffers", bytes)?;
        let mut pool = Box::new(Pool {
            region,
            id: 0,
            limit: limit as u32,
            carved: AtomicU32::new(0),
            depot: ArrayQueue::new(limit / MAGAZINE),
            loose: Mutex::new(Magazine { n: 0, indices: [0; MAGAZINE] }),
            idle: std::sync::atomic::AtomicBool::new(false),
            failures: AtomicU64::new(0),
            shares: Shares::default(),
            fields: Fields::default(),
        });
        for (id, slot) in POOLS.iter().enumerate() {
            pool.id = id as u32;
            let raw: *mut Pool = &mut *pool;
            if slot
                .compare_exchange(std::ptr::null_mut(), raw, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
            {
                return Ok(Box::leak(pool));
            }
        }
        Err(io::Error::new(
            io::ErrorKind::OutOfMemory,
            "256 buffer pools are in use in this process",
        ))
    }

    /// The pool with this number, if a buffer says so.
    #[inline(always)]
    pub(crate) fn by_id(id: u32) -> &'static Pool {
        let pool = POOLS[id as usize % MAX_POOLS].load(Ordering::Acquire);
        assert!(!pool.is_null(), "buffer of no pool");
        // SAFETY: a registered pool is never freed.
        unsafe { &*pool }
    }

    /// Gives the pool back for the next instance. All caches must have been dropped before.
    ///
    /// # Errors
    /// The number of buffers that are still in use: they have leaked, and the pool isn't used
    /// again.
    pub fn release(&'static self) -> Result<(), usize> {
        let stats = self.stats();
        match stats.carved.saturating_sub(stats.depot + stats.loose) {
            0 => {
                self.idle.store(true, Ordering::Release);
                Ok(())
            }
            leaked => Err(leaked),
        }
    }

    /// Fill level of the pool. While threads run, a snapshot of moving numbers.
    pub fn stats(&self) -> PoolStats {
        PoolStats {
            limit: self.limit as usize,
            carved: self.carved.load(Ordering::Relaxed) as usize,
            depot: self.depot.len() * MAGAZINE,
            loose: self.loose.lock().expect("no panic inside").n as usize,
            failures: self.failures.load(Ordering::Relaxed),
        }
    }

    /// Commits the memory of the first `buffers` slots now, in the largest pages that can be had:
    /// the last-in-first-out caches use these most. Takes some milliseconds for each MiB, on
    /// the caller's thread.
    ///
    /// # Errors
    /// The system's, such as too little memory; the buffers work all the same.
    pub fn commit(&self, buffers: usize) -> io::Result<mem::PageKind> {
        let bytes = buffers.min(self.limit as usize) * SLOT_SIZE;
        self.region.collapse(0..bytes.min(self.region.len()))
    }

    /// The memory behind the buffers: its descriptor is what AF_XDP, memif and vhost share.
    pub fn region(&self) -> &Region {
        &self.region
    }

    #[inline(always)]
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.region.base()
    }

    #[inline(always)]
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Maximum number of buffers.
    pub fn limit(&self) -> usize {
        self.limit as usize
    }

    /// Fresh or recycled indices for a cache, but for one in [`RESERVE`], which stay for packets of
    /// the router's own.
    pub(crate) fn take(&self) -> Option<Magazine> {
        let uncarved =
            self.limit.saturating_sub(self.carved.load(Ordering::Relaxed)) as usize / MAGAZINE;
        let reserve = self.limit as usize / MAGAZINE / RESERVE;
        if reserve > 0 && self.depot.len() + uncarved <= reserve { None } else { self.take_any() }
    }

    /// A full magazine if there is one, else newly carved slots.
    pub(crate) fn take_any(&self) -> Option<Magazine> {
        if let Some(magazine) = self.depot.pop() {
            return Some(magazine);
        }
        let first = self
            .carved
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
                (n + MAGAZINE as u32 <= self.limit).then_some(n + MAGAZINE as u32)
            })
            .ok();
        let Some(first) = first else {
            // A packet thread never waits for a lock; the few buffers that lie there are no loss.
            let mut loose = self.loose.try_lock().ok()?;
            if loose.n > 0 {
                return Some(std::mem::replace(
                    &mut *loose,
                    Magazine { n: 0, indices: [0; MAGAZINE] },
                ));
            }
            return None;
        };
        let mut magazine = Magazine { n: MAGAZINE as u32, indices: [0; MAGAZINE] };
        for (i, index) in magazine.indices.iter_mut().enumerate() {
            let at = (first as usize + MAGAZINE - 1 - i) * SLOT_SIZE + DRIVER_AREA;
            *index = (at >> 6) as u32;
            // SAFETY: the slot lies inside the region, was carved for this call only, and all-zero
            // bytes are a valid Buffer.
            let buffer = unsafe { self.ptr(BufferIndex(*index)).as_mut() };
            buffer.pool_id = self.id;
            buffer.refs = AtomicU32::new(1);
            buffer.next = BufferIndex::NONE;
            asan::poison(self.base().as_ptr().wrapping_add(at - DRIVER_AREA), SLOT_SIZE);
        }
        Some(magazine)
    }

    /// Takes a full magazine back.
    pub(crate) fn give(&self, magazine: Magazine) {
        debug_assert_eq!(magazine.n as usize, MAGAZINE);
        if self.depot.push(magazine).is_err() {
            debug_assert!(false, "depot is sized for all magazines");
        }
    }

    /// Takes one index back without a cache: the slow path, for handles that are dropped on the
    /// control side.
    pub(crate) fn give_loose(&self, index: u32) {
        let mut loose = self.loose.lock().expect("no panic inside");
        let at = loose.n as usize;
        loose.indices[at] = index;
        loose.n += 1;
        if loose.n as usize == MAGAZINE {
            self.give(*loose);
            loose.n = 0;
        }
    }

    /// Bytes of the region.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> usize {
        self.region.len()
    }

    /// Returns true if the buffer is of this pool.
    #[inline(always)]
    pub(crate) fn owns(&self, buffer: NonNull<Buffer>) -> bool {
        buffer.addr().get().wrapping_sub(self.base().addr().get()) < self.bytes()
    }

    /// The name of a buffer of this pool.
    #[inline(always)]
    pub(crate) fn index_of(&self, buffer: NonNull<Buffer>) -> BufferIndex {
        BufferIndex(((buffer.addr().get() - self.base().addr().get()) >> 6) as u32)
    }

    #[inline(always)]
    pub(crate) fn ptr(&self, index: BufferIndex) -> NonNull<Buffer> {
        debug_assert!(((index.0 as usize) << 6) + Buffer::SIZE <= self.region.len());
        // SAFETY: indices are made by `take` only, from offsets inside the region.
        Buffer::at(unsafe { self.region.base().add((index.0 as usize) << 6) })
    }

    /// Makes a buffer that comes out of a free list fit for use: empty, one owner.
    ///
    /// # Safety
    /// The index was in the caller's free list, and is no longer.
    #[inline(always)]
    pub(crate) unsafe fn revive(&self, index: u32, state: State) -> NonNull<Buffer> {
        let mut ptr = self.ptr(BufferIndex(index));
        asan::unpoison(ptr);
        // SAFETY: nobody else has it.
        let buffer = unsafe { ptr.as_mut() };
        buffer.state.change(State::Free, state, "a free buffer has an owner");
        buffer.reset();
        ptr
    }

    /// Notes that a buffer goes to a free list. No code without debug assertions or
    /// AddressSanitizer.
    ///
    /// # Safety
    /// The caller owned the buffer, in this state.
    #[inline(always)]
    pub(crate) unsafe fn retire(&self, mut buffer: NonNull<Buffer>, state: State) {
        // SAFETY: as the caller says.
        unsafe { buffer.as_mut() }.state.change(state, State::Free, "a buffer is freed twice");
        asan::poison(buffer.as_ptr().cast(), Buffer::SIZE);
    }
}

// SAFETY: the region is plain memory whose buffers are reached through their owners only; the rest
// is synchronised.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("id", &self.id)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// A buffer with one owner: this handle. Dropping it gives the whole chain back, on the slow path;
/// threads that have a [`Cache`](crate::Cache) free through that.
pub struct Owned {
    /// The address of its [`Buffer`].
    address: NonNull<u8>,
}

// SAFETY: the handle is the buffer's only owner.
unsafe impl Send for Owned {}
// SAFETY: a shared handle gives shared access only.
unsafe impl Sync for Owned {}

impl Owned {
    /// # Safety
    /// The caller owns the buffer, and gives it up to the handle.
    #[inline(always)]
    pub(crate) unsafe fn from_ptr(ptr: NonNull<Buffer>) -> Self {
        Self { address: ptr.cast() }
    }

    #[inline(always)]
    pub(crate) fn address(&self) -> NonZero<usize> {
        self.address.addr()
    }

    #[inline(always)]
    pub(crate) fn into_ptr(self) -> NonNull<Buffer> {
        Buffer::at(std::mem::ManuallyDrop::new(self).address)
    }
}

impl Deref for Owned {
    type Target = Buffer;
    #[inline(always)]
    fn deref(&self) -> &Buffer {
        // SAFETY: the handle owns the buffer.
        unsafe { Buffer::at(self.address).as_ref() }
    }
}

impl DerefMut for Owned {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Buffer {
        // SAFETY: the handle is the only owner.
        unsafe { Buffer::at(self.address).as_mut() }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let (pool, next, ptr) = (Pool::by_id(self.pool_id), self.next, Buffer::at(self.address));
        // SAFETY: the handle owns the first segment alone and has a reference on the next one. Both
        // end here.
        unsafe {
            pool.retire(ptr, State::Owned);
            pool.give_loose(pool.index_of(ptr).0);
            if next != BufferIndex::NONE {
                release_segments(pool.ptr(next));
            }
        }
    }
}

impl std::fmt::Debug for Owned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

/// Ends a reference on a segment, and gives to `free` the segment and those behind it, as far as
/// this was their last reference.
///
/// # Safety
/// The caller has the reference, the segment is of this pool, and the caller forgets it.
#[inline(always)]
pub(crate) unsafe fn end_segments(pool: &Pool, mut at: NonNull<Buffer>, mut free: impl FnMut(u32)) {
    loop {
        // SAFETY: the caller has a reference. A segment's link doesn't change while packets share
        // it.
        let this = unsafe { at.as_ref() };
        if !this.is_sole() {
            if this.refs.fetch_sub(1, Ordering::AcqRel) != 1 {
                // Others still need this segment and all behind it.
                return;
            }
            this.refs.store(1, Ordering::Relaxed);
        }
        let next = this.next;
        // SAFETY: this was the last reference.
        unsafe { pool.retire(at, State::Owned) };
        free(pool.index_of(at).0);
        if next == BufferIndex::NONE {
            return;
        }
        at = pool.ptr(next);
    }
}

/// The same without a cache.
///
/// # Safety
/// The caller has the reference, and forgets it.
#[cold]
pub(crate) unsafe fn release_segments(at: NonNull<Buffer>) {
    // SAFETY: as the caller says.
    unsafe {
        let pool = Pool::by_id(at.as_ref().pool_id);
        end_segments(pool, at, |i| pool.give_loose(i));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Quiescent-state-based reclamation.
//!
//! Time is a count of grace periods, the *epoch*. A reader announces the epoch at which its turn
//! began, and 0 when the turn ends. Control unlinks an object, fences, and advances the epoch from
//! `e` to `e + 1`; the object may be freed when no announcement in `1..=e` is left:
//!
//! * A turn that announced more than `e` loaded the epoch after control advanced it (acquire reads
//!   from release), so it can't find the object any more.
//! * A turn whose announcement control doesn't see has its fence after control's, so what it loads
//!   afterwards is at least as new as the unlink. This is the store-load ordering that only a full
//!   fence gives; it is the whole cost of a turn.
//! * A turn that control sees to have ended released all its reads with the store of 0.
//!
//! Between two turns a reader is offline without doing anything: a sleeping worker never holds back
//! reclamation, and a thread that is reader and control at once can't wait for itself.

use crate::platform::{AtomicU64, Mutex, Ordering, fence, lock};
use crossbeam_utils::CachePadded;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Announced by a reader that is between turns.
const OFFLINE: u64 = 0;

type Deferred = Box<dyn FnOnce() + Send>;

/// A boxed value that isn't claimed to be unaliased until it is dropped, as a `Box` would be.
struct Owned<T>(*mut T);

// SAFETY: owns a `T`.
unsafe impl<T: Send> Send for Owned<T> {}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: `retire_raw` demands a boxed value that is ours, and this runs after the grace
        // period or when there are no readers any more.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

struct Readers {
    seen: Vec<Arc<CachePadded<AtomicU64>>>,
    /// The highest epoch found to have passed. A reader may announce an epoch that it loaded long
    /// ago, and this doesn't undo what was already found out.
    passed: u64,
}

/// A reclamation domain: its readers, and what waits to be freed. Shared by `Arc`; control may use
/// it from any thread.
pub struct Qsbr {
    epoch: CachePadded<AtomicU64>,
    readers: Mutex<Readers>,
    retired: Mutex<VecDeque<(u64, Deferred)>>,
}

impl Qsbr {
    /// A domain without readers.
    #[allow(clippy::new_ret_no_self)]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            epoch: CachePadded::new(AtomicU64::new(OFFLINE + 1)),
            readers: Mutex::new(Readers { seen: Vec::new(), passed: OFFLINE }),
            retired: Mutex::new(VecDeque::new()),
        })
    }

    /// Makes the calling thread, or the one that the result is sent to, a reader. It starts
    /// offline.
    pub fn register(self: &Arc<Self>) -> Reader {
        let seen = Arc::new(CachePadded::new(AtomicU64::new(OFFLINE)));
        lock(&self.readers).seen.push(seen.clone());
        Reader { domain: self.clone(), seen, one_thread: PhantomData }
    }

    /// Frees `value` after a grace period. The caller has unlinked it: no reader can find it any
    /// more. (Readers that still hold references would be aliased by the `Box`: unsafe code
    /// retires a pointer with [`Self::retire_fn`].)
    pub fn retire<T: Send + 'static>(&self, value: Box<T>) {
        self.retire_fn(Box::new(move || drop(value)));
    }

    /// Frees what `value` points to after a grace period; until then readers may hold references to
    /// it.
    ///
    /// # Safety
    /// `value` was made by `Box::into_raw`, and nobody else will free it or make a reference to it
    /// for a reader whose turn begins after this.
    pub(crate) unsafe fn retire_raw<T: Send + 'static>(&self, value: *mut T) {
        let owned = Owned(value);
        self.retire_fn(Box::new(move || drop(owned)));
    }

    /// Calls `f` on the thread that collects, after a grace period.
    pub fn retire_fn(&self, f: Box<dyn FnOnce() + Send>) {
        let mut retired = lock(&self.retired);
        // Under the lock, so that the queue stays ordered by epoch.
        let epoch = self.advance();
        retired.push_back((epoch, f));
    }

    /// Ends the current epoch and returns its number. What was unlinked before is free when
    /// [`Self::passed`] it.
    fn advance(&self) -> u64 {
        fence(Ordering::SeqCst);
        self.epoch.fetch_add(1, Ordering::AcqRel)
    }

    /// The last epoch such that no turn in progress began in it or before.
    fn passed(&self) -> u64 {
        let mut readers = lock(&self.readers);
        // Acquire: puts the fences of all threads that advanced the epoch up to here before the
        // scan.
        let mut oldest = self.epoch.load(Ordering::Acquire);
        for seen in &readers.seen {
            let seen = seen.load(Ordering::Acquire);
            if seen != OFFLINE {
                oldest = oldest.min(seen);
            }
        }
        readers.passed = readers.passed.max(oldest - 1);
        readers.passed
    }

    /// Frees what all readers have passed and returns how many objects that were. For control,
    /// about once per turn of its own loop; never waits. Destructors and `retire_fn` functions
    /// run here, without any lock of ours held.
    pub fn collect(&self) -> usize {
        let due: Vec<Deferred> = {
            let mut retired = lock(&self.retired);
            if retired.is_empty() {
                return 0;
            }
            let passed = self.passed();
            let n = retired.partition_point(|(epoch, _)| *epoch <= passed);
            retired.drain(..n).map(|(_, free)| free).collect()
        };
        let n = due.len();
        due.into_iter().for_each(|free| free());
        n
    }

    /// Number of retired objects that wait for [`Self::collect`].
    pub fn pending(&self) -> usize {
        lock(&self.retired).len()
    }

    /// Starts a grace period: when the ticket is over, every turn that is now in progress has
    /// ended.
    pub fn grace(self: &Arc<Self>) -> GraceTicket {
        GraceTicket { epoch: self.advance(), domain: self.clone() }
    }

    /// Blocks until a grace period that starts now is over; `false` if it isn't within `timeout`.
    /// For control, outside of its own turn (within one it can only time out).
    #[must_use = "false means that readers may still see what was unlinked"]
    pub fn wait(&self, timeout: Duration) -> bool {
        let epoch = self.advance();
        let start = Instant::now();
        let mut pause = Duration::from_micros(1);
        while self.passed() < epoch {
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return false;
            }
            // A turn takes microseconds; a worker that was preempted in one takes milliseconds.
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(1));
        }
        true
    }
}

impl Drop for Qsbr {
    fn drop(&mut self) {
        // Readers hold an `Arc` of the domain: none is left, so no reader can see a retired object.
        let retired = std::mem::take(&mut *lock(&self.retired));
        retired.into_iter().for_each(|(_, free)| free());
    }
}

impl fmt::Debug for Qsbr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Qsbr").field("pending", &self.pending()).finish_non_exhaustive()
    }
}

/// The right of one thread to read what the domain's [`crate::Snapshot`]s and [`crate::Slots`]
/// publish. Register one per worker; it may be moved to its thread.
pub struct Reader {
    domain: Arc<Qsbr>,
    seen: Arc<CachePadded<AtomicU64>>,
    /// Not `Sync`: one thread's announcement.
    one_thread: PhantomData<std::cell::Cell<()>>,
}

impl Reader {
    /// Begins a turn of the worker's loop: one load, one store and one full fence. Dropping the
    /// [`Turn`] is the quiescent point.
    #[inline(always)]
    pub fn turn(&mut self) -> Turn<'_> {
        let epoch = self.domain.epoch.load(Ordering::Acquire);
        // Release: a scan that sees this announcement also has the reads of the turns before it
        // behind it.
        self.seen.store(epoch, Ordering::Release);
        // Our announcement before our reads, for all threads.
        fence(Ordering::SeqCst);
        Turn { domain: Arc::as_ptr(&self.domain), seen: &self.seen, one_thread: PhantomData }
    }

    /// Marks this reader offline until its next turn. Only a turn that was leaked by `mem::forget`
    /// makes this necessary; an ordinary reader is offline between turns.
    pub fn offline(&mut self) {
        self.seen.store(OFFLINE, Ordering::Release);
    }

    /// The domain this reader is registered with.
    pub fn domain(&self) -> &Arc<Qsbr> {
        &self.domain
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        lock(&self.domain.readers).seen.retain(|seen| !Arc::ptr_eq(seen, &self.seen));
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("seen", &self.seen.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

/// One turn of a reader's loop. What is read with it lives at least as long as it does.
pub struct Turn<'r> {
    domain: *const Qsbr,
    seen: &'r AtomicU64,
    /// Neither `Send` nor `Sync`: it speaks for the reader's thread.
    one_thread: PhantomData<*const ()>,
}

impl Turn<'_> {
    /// Returns true if this is a turn of a reader of `domain`. One compare: both keep their domain
    /// alive, so its address identifies it.
    #[inline(always)]
    pub fn is_of(&self, domain: &Arc<Qsbr>) -> bool {
        std::ptr::eq(self.domain, Arc::as_ptr(domain))
    }

    /// Where the reader announces its turns: another address for each reader that is there.
    #[inline(always)]
    pub(crate) fn reader(&self) -> *const AtomicU64 {
        self.seen
    }

    /// Panics unless [`Self::is_of`]: what lets safe code pass any turn to any structure.
    #[inline(always)]
    pub(crate) fn check(&self, domain: &Arc<Qsbr>) {
        if !self.is_of(domain) {
            foreign();
        }
    }
}

#[cold]
#[inline(never)]
fn foreign() -> ! {
    panic!("turn of another reclamation domain");
}

impl Drop for Turn<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.seen.store(OFFLINE, Ordering::Release);
    }
}

impl fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("epoch", &self.seen.load(Ordering::Relaxed)).finish()
    }
}

/// A grace period in progress. See [`Qsbr::grace`].
#[derive(Debug, Clone)]
pub struct GraceTicket {
    epoch: u64,
    domain: Arc<Qsbr>,
}

impl GraceTicket {
    /// Returns true if every turn that was in progress when the ticket was drawn has ended. Never
    /// goes back to `false`.
    pub fn is_over(&self) -> bool {
        self.domain.passed() >= self.epoch
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Shares of the pool: limits and counts of the buffers that are held for longer than the turn in
//! which they came, by purpose.
//!
//! A packet that is forwarded leaves in the turn in which it came, and isn't counted here. Whatever
//! keeps packets (fragments that wait for others, packets that wait for a neighbour's answer,
//! queues) takes its buffers from a [`Share`] first: a fixed part of the pool's limit,
//! divided among the threads. All shares together are three quarters of the pool; so however many
//! packets are held, a quarter is left for packets on their way and for free buffers in the
//! threads' caches. Several users of one share (nodes, queues of interfaces) have a [`Quota`] each,
//! which may hold as much as is left for the others.

use crate::chain::Segments;
use crate::header::Buffer;
use crate::pool::Pool;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};

/// A reservation: buffers of the pool for packets that wait for one purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// As `show buffers verbose` names it.
    pub name: &'static str,
    /// Parts of the pool, in 64ths.
    parts: usize,
}

impl Reservation {
    /// Fragments that wait for others.
    pub const REASSEMBLY: Self = Self { name: "reassembly", parts: 12 };
    /// Packets that wait for a neighbour's answer.
    pub const NEIGHBORS: Self = Self { name: "unresolved neighbors", parts: 4 };
    /// Packets queued for clients' sockets.
    pub const PUNT: Self = Self { name: "punt sockets", parts: 4 };
    /// Packets queued for the file of a capture.
    pub const CAPTURE: Self = Self { name: "captures", parts: 4 };
    /// Packets in handoff rings to other threads.
    pub const HANDOFF: Self = Self { name: "handoff", parts: 8 };
    /// Packets that wait at an interface to be cut into segments.
    pub const SEGMENTATION: Self = Self { name: "segmentation", parts: 8 };
    /// Empty buffers that drivers and their devices have ready for what they receive next.
    pub const RECEIVE: Self = Self { name: "receive queues", parts: 5 };
    /// Packets that devices haven't finished sending.
    pub const TRANSMIT: Self = Self { name: "transmit queues", parts: 3 };

    const ALL: [Self; 8] = [
        Self::REASSEMBLY,
        Self::NEIGHBORS,
        Self::PUNT,
        Self::CAPTURE,
        Self::HANDOFF,
        Self::SEGMENTATION,
        Self::RECEIVE,
        Self::TRANSMIT,
    ];
}

const WHOLE: usize = 64;
const _: () = {
    let (mut i, mut sum) = (0, 0);
    while i < Reservation::ALL.len() {
        sum += Reservation::ALL[i].parts;
        i += 1;
    }
    assert!(sum <= WHOLE * 3 / 4, "a quarter of the pool is held by nobody");
};

/// The share of a reservation, on one thread or on all together: its limit and its current use.
#[derive(Debug)]
pub struct Share {
    reservation: Reservation,
    thread: Option<u16>,
    limit: u32,
    held: AtomicU32,
    most: AtomicU32,
    refused: AtomicU64,
}

/// State of a share as [`Pool::shares`] reports it; in buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShareStats {
    /// Name of the [`Reservation`].
    pub name: &'static str,
    /// The thread that holds them; `None` for a share that serves all threads.
    pub thread: Option<u16>,
    /// Number held now.
    pub held: u32,
    /// Maximum number held at once since the start.
    pub most: u32,
    /// Number that may be held.
    pub limit: u32,
    /// Packets that were refused, or let go to make room.
    pub refused: u64,
}

/// The shares of a pool. A share without users is forgotten.
#[derive(Debug, Default)]
pub(crate) struct Shares(Mutex<Vec<Weak<Share>>>);

impl Pool {
    /// The share of a reservation on one of `threads` threads; the same one for all callers.
    ///
    /// # Panics
    /// Never: nothing panics while the list is locked.
    pub fn share(&self, reservation: Reservation, thread: u16, threads: usize) -> Arc<Share> {
        self.find_share(reservation, Some(thread), threads)
    }

    /// The share of a reservation that serves all threads.
    ///
    /// # Panics
    /// Never, as [`Self::share`].
    pub fn common_share(&self, reservation: Reservation) -> Arc<Share> {
        self.find_share(reservation, None, 1)
    }

    fn find_share(
        &self,
        reservation: Reservation,
        thread: Option<u16>,
        threads: usize,
    ) -> Arc<Share> {
        let mut shares = self.shares.0.lock().expect("no panic inside");
        shares.retain(|share| share.strong_count() > 0);
        let there = shares
            .iter()
            .filter_map(Weak::upgrade)
            .find(|s| s.reservation == reservation && s.thread == thread);
        there.unwrap_or_else(|| {
            let limit = (self.limit() * reservation.parts / (WHOLE * threads.max(1))).max(1) as u32;
            let (held, most, refused) = Default::default();
            let share = Arc::new(Share { reservation, thread, limit, held, most, refused });
            shares.push(Arc::downgrade(&share));
            share
        })
    }

    /// All shares, by name and thread.
    ///
    /// # Panics
    /// Never, as [`Self::share`].
    pub fn shares(&self) -> Vec<ShareStats> {
        let shares = self.shares.0.lock().expect("no panic inside");
        let mut all: Vec<_> =
            shares.iter().filter_map(Weak::upgrade).map(|share| share.stats()).collect();
        all.sort_unstable_by_key(|share| (share.name, share.thread));
        all
    }
}

impl Share {
    /// Takes room for a packet of so many buffers; false if there isn't enough.
    #[must_use = "without room the packet is dropped"]
    pub fn take(&self, n: usize) -> bool {
        let held = self.held.fetch_add(n as u32, Relaxed) + n as u32;
        if held > self.limit {
            self.held.fetch_sub(n as u32, Relaxed);
            self.refuse();
            return false;
        }
        self.note(held);
        true
    }

    /// Gives room back.
    pub fn give(&self, n: usize) {
        self.held.fetch_sub(n as u32, Relaxed);
    }

    /// Counts a packet that found no room, or was let go to make some.
    #[cold]
    pub fn refuse(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Returns true if more than a quarter of the limit is held: a caller that brings more should
    /// pause.
    pub fn is_filling(&self) -> bool {
        self.held.load(Relaxed) > self.limit / 4
    }

    /// Number of buffers that it may hold.
    pub fn limit(&self) -> usize {
        self.limit as usize
    }

    /// Number of buffers that it holds.
    pub fn held(&self) -> usize {
        self.held.load(Relaxed) as usize
    }

    /// Number of buffers that it may still take.
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.held.load(Relaxed)) as usize
    }

    /// A part for one of several users.
    pub fn quota(self: &Arc<Self>) -> Quota {
        Quota { share: self.clone(), held: 0 }
    }

    fn note(&self, held: u32) {
        if held > self.most.load(Relaxed) {
            self.most.fetch_max(held, Relaxed);
        }
    }

    fn stats(&self) -> ShareStats {
        ShareStats {
            name: self.reservation.name,
            thread: self.thread,
            held: self.held.load(Relaxed),
            most: self.most.load(Relaxed),
            limit: self.limit,
            refused: self.refused.load(Relaxed),
        }
    }
}

/// The quota of one of several users of a share: never more than is left for the others, so one
/// alone gets half, and each new one always finds some.
#[derive(Debug)]
pub struct Quota {
    share: Arc<Share>,
    held: u32,
}

impl Quota {
    /// Takes room for a packet of so many buffers; false if there isn't enough.
    #[must_use = "without room the packet is dropped"]
    pub fn take(&mut self, n: usize) -> bool {
        self.charge(n);
        if self.is_over() {
            self.give(n);
            self.share.refuse();
            return false;
        }
        self.share.note(self.share.held.load(Relaxed));
        true
    }

    /// Takes room that there may not be: then [`Self::is_over`], and something has to go.
    pub fn charge(&mut self, n: usize) {
        self.held += n as u32;
        self.share.held.fetch_add(n as u32, Relaxed);
    }

    /// Returns true if it has more than is left for the others.
    pub fn is_over(&self) -> bool {
        self.held + self.share.held.load(Relaxed) > self.share.limit
    }

    /// Number of buffers that may still be added before [`Self::is_over`].
    pub fn room(&self) -> usize {
        self.share.limit.saturating_sub(self.held + self.share.held.load(Relaxed)) as usize / 2
    }

    /// Counts a packet that is let go to make room.
    pub fn refuse(&self) {
        self.share.refuse();
    }

    /// Records the share's level in its maximum, for callers of [`Self::charge`], once there is
    /// room.
    pub fn settle(&self) {
        self.share.note(self.share.held.load(Relaxed));
    }

    /// Gives room back.
    pub fn give(&mut self, n: usize) {
        debug_assert!(n as u32 <= self.held, "more is given back than was taken");
        self.held -= n as u32;
        self.share.give(n);
    }

    /// Sets the number of buffers that it has, where that is decided elsewhere.
    pub fn set(&mut self, n: usize) {
        self.give(self.held());
        self.charge(n);
        self.settle();
    }

    /// Number of buffers that the whole share may still take.
    pub fn left(&self) -> usize {
        self.share.room()
    }

    /// Number of buffers that it has.
    pub fn held(&self) -> usize {
        self.held as usize
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        self.share.give(self.held as usize);
    }
}

impl Buffer {
    /// Number of buffers that the packet takes. A segment that several packets share counts for
    /// each of them.
    #[inline]
    pub fn segment_count(&self) -> usize {
        if self.is_chained() { Segments::count(self.segments()) } else { 1 }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::Cache;

    #[suite::test]
    fn shares_are_parts_of_the_limit() {
        let pool = Pool::new(6363).expect("a small pool");
        let limit = pool.limit();
        let share = pool.share(Reservation::REASSEMBLY, 1, 2);
        assert_eq!(share.limit(), limit * 12 / 128);
        assert!(Arc::ptr_eq(&share, &pool.share(Reservation::REASSEMBLY, 1, 2)), "one for all");
        assert!(!Arc::ptr_eq(&share, &pool.share(Reservation::REASSEMBLY, 0, 2)));
        let punt = pool.common_share(Reservation::PUNT);
        assert!(punt.take(punt.limit()) && !punt.take(1));
        punt.give(10);
        assert!(!punt.take(11) && punt.take(10));
        let stats = |name| pool.shares().into_iter().filter(|s| s.name == name).collect::<Vec<_>>();
        let n = punt.limit() as u32;
        let want = ShareStats {
            name: "punt sockets",
            thread: None,
            held: n,
            most: n,
            limit: n,
            refused: 2,
        };
        assert_eq!(stats("punt sockets"), [want]);
        punt.give(n as usize);
        drop(punt);
        assert!(stats("punt sockets").is_empty(), "its users are gone");
        drop(share);
        assert_eq!(pool.release(), Ok(()));
    }

    #[suite::test]
    fn one_part_leaves_room_for_others() {
        let pool = Pool::new(6363).expect("a small pool");
        let share = pool.common_share(Reservation::REASSEMBLY);
        let mut parts: Vec<_> = (0..10).map(|_| share.quota()).collect();
        let mut last = usize::MAX;
        for quota in &mut parts {
            while quota.take(1) {}
            assert!(quota.held() > 0 && quota.held() <= last, "{}", quota.held());
            last = quota.held();
        }
        assert_eq!(parts[0].held(), share.limit() / 2);
        parts[0].charge(32);
        assert!(parts[0].is_over());
        drop(parts);
        assert_eq!(share.held(), 0);
        drop(share);
        assert_eq!(pool.release(), Ok(()));
    }

    #[suite::test]
    fn packets_count_by_their_segments() {
        let pool = Pool::new(630).expect("a small pool");
        let mut cache = Cache::new(pool);
        let mut b = cache.alloc().expect("a buffer");
        assert_eq!(b.segment_count(), 1);
        assert!(b.append_bytes(&[1; 9000], &mut cache));
        assert_eq!(b.segment_count(), 5);
        drop(b);
        drop(cache);
        assert_eq!(pool.release(), Ok(()));
    }

    #[suite::test]
    fn own_packets_find_buffers_when_others_find_none() {
        let pool = Pool::new(8064).expect("a pool");
        let mut cache = Cache::new(pool);
        let all: Vec<_> = std::iter::from_fn(|| cache.alloc()).collect();
        let own: Vec<_> = std::iter::from_fn(|| cache.alloc_own()).collect();
        assert_eq!((all.len(), own.len()), (8064 - 126, 126));
        assert!(cache.alloc().is_none(), "what is kept for own packets isn't taken by others");
        drop((all, own));
        drop(cache);
        assert_eq!(pool.release(), Ok(()));
    }
}

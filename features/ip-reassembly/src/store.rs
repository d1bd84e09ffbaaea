// SPDX-License-Identifier: Apache-2.0
//! The datagrams that a node collects on one thread: the part that full and shallow reassembly
//! share.

use crate::fragment::Fragments;
use crate::placement::{Key, Placement};
use crate::state::{Kind, Limits, Reassembly};
use buffer::{Owned, Quota, Reservation};
use graph::{Cx, Next, ThreadIndex, World};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tables::{AgeList, Sessions};

/// Datagrams ended at most for one fragment, and in one tick. A fragment adds one datagram at most,
/// so a surplus shrinks.
pub const AT_ONCE: usize = 16;
pub const AT_A_TICK: usize = 1024;
/// Empty lists of fragments kept at most, so that a new datagram allocates nothing.
const SPARE: usize = 64;

/// All datagrams.
const ALL: AgeList = AgeList::new(0, 0);
/// Datagrams that hold fragments, by the age of the first one held.
const HOLDING_SET: usize = 1;
const HOLDING: AgeList = AgeList::new(HOLDING_SET, 0);

/// A fragment that waits.
pub trait Waiting {
    /// The packet.
    fn into_packet(self) -> Owned;
    /// The packet, borrowed.
    fn packet(&self) -> &Owned;
    /// Bytes of the fragment, as `show` prints them.
    fn bytes(&self) -> usize;
}

/// Reasons to abandon a datagram. Each is counted once per datagram; its other fragments are
/// dropped as [`Self::GIVEN_UP`].
pub trait AbandonReason: Next + Copy {
    /// A fragment of a datagram that has ended.
    const GIVEN_UP: Self;
    /// It was ended to make room for another datagram.
    const LIMIT_REACHED: Self;
    /// Its timeout has passed.
    const TIMEOUT: Self;
}

/// A datagram of which fragments wait.
pub trait Datagram: Default {
    type Part: Waiting;
    type To: AbandonReason;
    /// An empty datagram that reuses this list's memory. Its first fragment came at `since`.
    fn new(since: u64, parts: Vec<Self::Part>) -> Self;
    /// The time in nanoseconds when its first fragment came.
    fn since(&self) -> u64;
    fn parts(&self) -> &Vec<Self::Part>;
    fn parts_mut(&mut self) -> &mut Vec<Self::Part>;
    /// From now on its fragments are dropped.
    fn give_up(&mut self);
}

/// Returns the number of buffers that these fragments occupy.
pub fn buffers(parts: &[impl Waiting]) -> usize {
    parts.iter().map(|part| part.packet().segment_count()).sum()
}

/// A datagram that is being collected, for `show`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingDatagram {
    /// The thread that collects it.
    pub thread: ThreadIndex,
    /// Source, destination, identification.
    pub key: (IpAddr, IpAddr, u32),
    /// Index of the route table of the interface that its fragments came in by.
    pub fib: u32,
    /// IPv4's protocol; 0 for IPv6.
    pub protocol: u8,
    /// Fragments that wait, and their bytes.
    pub fragments: (usize, usize),
    /// Milliseconds since the first fragment came.
    pub age_ms: u64,
}

/// All datagrams of a node on one thread.
pub struct Store<F: Fragments, D: Datagram> {
    pub placement: Placement,
    /// Their timeout may change at any time and is the same for all, so the oldest ends first.
    pub table: Sessions<Key<F::Addr>, D, 2>,
    reassembly: Arc<Reassembly<F>>,
    kind: Kind,
    /// Empty lists of ended datagrams, for new ones.
    spare: Vec<Vec<D::Part>>,
    /// Buffers of the fragments that wait here, counted against the thread's share for reassembly.
    pub kept: Quota,
}

impl<F: Fragments, D: Datagram> Store<F, D> {
    pub fn new(world: &World, thread: ThreadIndex, kind: Kind) -> Self {
        let placement = Placement::new(world, thread);
        let seed = RandomState::new().hash_one(thread);
        let table = Sessions::new(seed, u32::MAX, 1);
        let kept = world.pool.share(Reservation::REASSEMBLY, thread.0, world.threads()).quota();
        Self { placement, table, reassembly: world.get(), kind, spare: Vec::new(), kept }
    }

    /// Returns the configured limits.
    pub fn limits(&self) -> &Limits {
        self.reassembly.of(self.kind)
    }

    /// Returns true if shallow reassembly holds fragments until the first and the last have come,
    /// instead of the first alone.
    pub fn is_extended(&self) -> bool {
        self.reassembly.extended.load(Ordering::Relaxed)
    }

    /// Drops all fragments of a datagram: the first for `first`, the others as
    /// [`AbandonReason::GIVEN_UP`].
    fn release(&mut self, at: u32, first: D::To, cx: &mut Cx<'_, false>) {
        let Some(datagram) = self.table.get_mut(at) else { return };
        let parts = datagram.parts_mut();
        self.kept.give(buffers(parts));
        let mut why = first;
        for part in parts.drain(..) {
            cx.emit(std::mem::replace(&mut why, D::To::GIVEN_UP), part.into_packet());
        }
        self.set_empty(at);
    }

    /// Charges the buffers of a fragment that a datagram holds now.
    pub fn hold(&mut self, at: u32, buffers: usize) {
        self.kept.charge(buffers);
        self.set_holding(at);
    }

    /// Records that a datagram holds fragments.
    pub fn set_holding(&mut self, at: u32) {
        if !self.table.is_listed(at, HOLDING_SET) {
            self.table.renew(at, HOLDING);
        }
    }

    /// Records that a datagram holds no fragments any more.
    pub fn set_empty(&mut self, at: u32) {
        self.table.withdraw(at, HOLDING_SET);
    }

    /// Removes a datagram without fragments from the table.
    pub fn forget(&mut self, at: u32) {
        if let Some(mut datagram) = self.table.remove(at) {
            self.limits().end(self.placement.thread);
            let parts = std::mem::take(datagram.parts_mut());
            debug_assert!(parts.is_empty());
            if parts.capacity() > 0 && self.spare.len() < SPARE {
                self.spare.push(parts);
            }
        }
    }

    /// Counts why a datagram ends if fragments wait; without any, it was counted when it was given
    /// up.
    pub fn count(&self, at: u32, why: D::To, cx: &mut Cx<'_, false>) {
        cx.count(
            why,
            self.table.get(at).is_some_and(|datagram| !datagram.parts().is_empty()).into(),
        );
    }

    /// Drops a datagram's fragments and removes it from the table.
    pub fn remove(&mut self, at: u32, cx: &mut Cx<'_, false>) {
        self.release(at, D::To::GIVEN_UP, cx);
        self.forget(at);
    }

    /// Removes a datagram to make room.
    fn displace(&mut self, at: u32, cx: &mut Cx<'_, false>) {
        self.release(at, D::To::LIMIT_REACHED, cx);
        self.forget(at);
    }

    /// Counts why a datagram ends, and removes it.
    pub fn end(&mut self, at: u32, why: D::To, cx: &mut Cx<'_, false>) {
        self.count(at, why, cx);
        self.remove(at, cx);
    }

    /// Drops the datagram's fragments, and those still to come until its timeout. The fragment that
    /// ended it carries the reason.
    pub fn give_up(&mut self, at: u32, cx: &mut Cx<'_, false>) {
        self.release(at, D::To::GIVEN_UP, cx);
        if let Some(datagram) = self.table.get_mut(at) {
            datagram.give_up();
        }
    }

    fn is_late(&self, at: u32, now: u64) -> bool {
        self.table.get(at).is_some_and(|d| now >= d.since() + self.limits().timeout())
    }

    /// Returns the oldest datagram, if its timeout has passed.
    pub fn expired(&self, now: u64) -> Option<u32> {
        self.table.oldest(ALL).filter(|at| self.is_late(*at, now))
    }

    /// Finds the datagram of a key, or adds one, for which the oldest may have to go. `None` if the
    /// limit is 0.
    pub fn datagram(&mut self, key: Key<F::Addr>, cx: &mut Cx<'_, false>) -> Option<u32> {
        if let Some(at) = self.table.find(&key) {
            if !self.is_late(at, cx.now()) {
                return Some(at);
            }
            // Its timeout has passed, but `expire` ends only so many at once.
            self.end(at, D::To::TIMEOUT, cx);
        }
        let limit = self.limits().datagrams();
        if limit == 0 {
            return None;
        }
        // After the limit was lowered there are too many: some go with each fragment.
        for _ in 0..AT_ONCE {
            let Some(oldest) = self.table.oldest(ALL).filter(|_| self.table.len() >= limit) else {
                break;
            };
            self.displace(oldest, cx);
        }
        let parts = self.spare.pop().unwrap_or_default();
        let at = self.table.insert_untimed(key, D::new(cx.now(), parts))?;
        self.table.renew(at, ALL);
        self.limits().begin(self.placement.thread);
        Some(at)
    }

    /// Removes the oldest datagrams that hold fragments until the others fit the thread's share of
    /// buffers. Datagrams without fragments stay: they would free none.
    pub fn make_room(&mut self, cx: &mut Cx<'_, false>) {
        // The longest packet has 32 segments, and each datagram frees one at least.
        for _ in 0..2 * AT_ONCE {
            let Some(oldest) = self.table.oldest(HOLDING).filter(|_| self.kept.is_over()) else {
                break;
            };
            self.kept.refuse();
            self.displace(oldest, cx);
        }
        self.kept.settle();
    }

    /// Returns the datagrams under way here.
    pub fn list(&self, now: u64) -> Vec<PendingDatagram> {
        let under_way = |(_, key, datagram): (u32, &Key<F::Addr>, &D)| PendingDatagram {
            thread: self.placement.thread,
            key: (key.src.into(), key.dst.into(), key.id),
            fib: key.fib,
            protocol: key.protocol,
            fragments: (datagram.parts().len(), datagram.parts().iter().map(Waiting::bytes).sum()),
            age_ms: now.saturating_sub(datagram.since()) / 1_000_000,
        };
        self.table.iter(ALL).map(under_way).collect()
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Datagrams under way in one node on one thread: what both kinds of reassembly do alike.

use crate::fragment::Fragments;
use crate::place::Place;
use crate::state::{Kind, Knobs, Reassembly};
use crate::table::{Key, Table};
use buffer::{Holder, Owned, Part};
use graph::{Cx, Next, ThreadIndex, World};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Datagrams that one fragment may end, and that one tick may: the rest follows. A fragment adds one datagram at most.
pub const AT_ONCE: usize = 16;
pub const AT_A_TICK: usize = 1024;
/// Lists of fragments that are kept for their memory.
const SPARE: usize = 64;

/// A fragment that waits.
pub trait Waiting {
    /// The packet.
    fn into_packet(self) -> Owned;
    /// The packet, to look at.
    fn packet(&self) -> &Owned;
    /// Its bytes, as `show` counts them.
    fn bytes(&self) -> usize;
}

/// Reasons to abandon a datagram. Each is counted once per datagram; its other fragments are dropped as [`Self::GIVEN_UP`].
pub trait Ends: Next + Copy {
    /// A fragment of a datagram that has ended.
    const GIVEN_UP: Self;
    /// It made room for another one.
    const LIMIT_REACHED: Self;
    /// It waited too long.
    const TIMEOUT: Self;
}

/// A datagram of which fragments wait.
pub trait Datagram {
    type Part: Waiting;
    type To: Ends;
    /// An empty one, with the memory of another.
    fn with(parts: Vec<Self::Part>) -> Self;
    fn parts(&self) -> &Vec<Self::Part>;
    fn parts_mut(&mut self) -> &mut Vec<Self::Part>;
    /// What still comes of it is dropped.
    fn give_up(&mut self);
}

/// Buffers that these fragments take.
pub fn buffers(parts: &[impl Waiting]) -> usize {
    parts.iter().map(|part| part.packet().segment_count()).sum()
}

/// What `show` tells of a datagram under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// The thread that has it.
    pub thread: ThreadIndex,
    /// Source, destination, identification.
    pub key: (IpAddr, IpAddr, u32),
    /// Index of the table that its fragments came in for.
    pub fib: u32,
    /// IPv4's protocol; 0 for IPv6.
    pub protocol: u8,
    /// Fragments that are there, and their bytes.
    pub fragments: (usize, usize),
    /// Milliseconds since the first one came.
    pub age_ms: u64,
}

/// All datagrams of a node.
pub struct Store<F: Fragments, D: Datagram> {
    pub place: Place,
    pub table: Table<F::Addr, D>,
    reassembly: Arc<Reassembly<F>>,
    kind: Kind,
    /// Kept for their memory.
    spare: Vec<Vec<D::Part>>,
    /// Buffers of fragments that are here: this node's part of what all reassembly on the thread may hold.
    pub kept: Part,
}

impl<F: Fragments, D: Datagram> Store<F, D> {
    pub fn new(world: &World, thread: ThreadIndex, kind: Kind) -> Self {
        let place = Place::new(world, thread);
        let table = Table::new(place.seed);
        let kept = world.pool.share(Holder::REASSEMBLY, thread.0, world.threads()).part();
        Self { place, table, reassembly: world.get(), kind, spare: Vec::new(), kept }
    }

    /// The limits.
    pub fn knobs(&self) -> &Knobs {
        self.reassembly.of(self.kind)
    }

    /// Shallow reassembly lets fragments go once the first and the last have come.
    pub fn is_extended(&self) -> bool {
        self.reassembly.extended.load(Ordering::Relaxed)
    }

    /// Lets go of all fragments of a datagram, of the first one under a reason of its own.
    fn release(&mut self, at: u32, first: D::To, cx: &mut Cx<'_, false>) {
        let Some(datagram) = self.table.get_mut(at) else { return };
        let parts = datagram.parts_mut();
        self.kept.give(buffers(parts));
        let mut why = first;
        for part in parts.drain(..) {
            cx.emit(std::mem::replace(&mut why, D::To::GIVEN_UP), part.into_packet());
        }
        self.table.set_holding(at, false);
    }

    /// Accounts for a fragment of `buffers` that a datagram holds now.
    pub fn hold(&mut self, at: u32, buffers: usize) {
        self.kept.charge(buffers);
        self.table.set_holding(at, true);
    }

    /// Forgets a datagram that has no fragments here any more.
    pub fn forget(&mut self, at: u32) {
        if let Some(mut datagram) = self.table.remove(at) {
            self.knobs().end(self.place.thread);
            let parts = std::mem::take(datagram.parts_mut());
            debug_assert!(parts.is_empty());
            if parts.capacity() > 0 && self.spare.len() < SPARE {
                self.spare.push(parts);
            }
        }
    }

    /// Counts how a datagram ends, if it has fragments that wait: otherwise it has ended before.
    pub fn count(&self, at: u32, why: D::To, cx: &mut Cx<'_, false>) {
        cx.count(why, self.table.get(at).is_some_and(|datagram| !datagram.parts().is_empty()).into());
    }

    /// Forgets a datagram and lets go of its fragments.
    pub fn remove(&mut self, at: u32, cx: &mut Cx<'_, false>) {
        self.release(at, D::To::GIVEN_UP, cx);
        self.forget(at);
    }

    /// Removes a datagram for want of room.
    fn displace(&mut self, at: u32, cx: &mut Cx<'_, false>) {
        self.release(at, D::To::LIMIT_REACHED, cx);
        self.forget(at);
    }

    /// Counts how a datagram ends, and removes it.
    pub fn end(&mut self, at: u32, why: D::To, cx: &mut Cx<'_, false>) {
        self.count(at, why, cx);
        self.remove(at, cx);
    }

    /// Drops the datagram's fragments, and those still to come until its timeout. The fragment that ended it carries the reason.
    pub fn give_up(&mut self, at: u32, cx: &mut Cx<'_, false>) {
        self.release(at, D::To::GIVEN_UP, cx);
        if let Some(datagram) = self.table.get_mut(at) {
            datagram.give_up();
        }
    }

    fn is_late(&self, since: u64, now: u64) -> bool {
        now >= since + self.knobs().timeout()
    }

    /// The oldest datagram, if its timeout has passed.
    pub fn expired(&self, now: u64) -> Option<u32> {
        self.table.oldest().filter(|(_, since)| self.is_late(*since, now)).map(|(at, _)| at)
    }

    /// The datagram of a key; a new one if there is none, for which the oldest may have to go. `None` if there may be none at all.
    pub fn datagram(&mut self, key: Key<F::Addr>, cx: &mut Cx<'_, false>) -> Option<u32> {
        if let Some(at) = self.table.find(&key) {
            if !self.table.since(at).is_some_and(|since| self.is_late(since, cx.now())) {
                return Some(at);
            }
            // Its turn to be ended hasn't come yet.
            self.end(at, D::To::TIMEOUT, cx);
        }
        let limit = self.knobs().datagrams();
        if limit == 0 {
            return None;
        }
        // With a limit that was lowered, a surplus shrinks from fragment to fragment.
        for _ in 0..AT_ONCE {
            let Some((oldest, _)) = self.table.oldest().filter(|_| self.table.len() >= limit) else { break };
            self.displace(oldest, cx);
        }
        self.knobs().begin(self.place.thread);
        let parts = self.spare.pop().unwrap_or_default();
        Some(self.table.insert(key, cx.now(), D::with(parts)))
    }

    /// Lets the oldest that hold fragments go until the rest has room, of which each fragment takes as many buffers as it has segments.
    /// Datagrams that hold none stay: they would give nothing back.
    pub fn make_room(&mut self, cx: &mut Cx<'_, false>) {
        // A longest packet has 32 segments, and each datagram gives back one at least.
        for _ in 0..2 * AT_ONCE {
            let Some(oldest) = self.table.oldest_holding().filter(|_| self.kept.is_over()) else { break };
            self.kept.refuse();
            self.displace(oldest, cx);
        }
        self.kept.settle();
    }

    /// What is under way here.
    pub fn list(&self, now: u64) -> Vec<UnderWay> {
        let under_way = |(key, since, datagram): (&Key<F::Addr>, u64, &D)| UnderWay {
            thread: self.place.thread,
            key: (key.src.into(), key.dst.into(), key.id),
            fib: key.fib,
            protocol: key.protocol,
            fragments: (datagram.parts().len(), datagram.parts().iter().map(Waiting::bytes).sum()),
            age_ms: now.saturating_sub(since) / 1_000_000,
        };
        self.table.iter().map(under_way).collect()
    }
}

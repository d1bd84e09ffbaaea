// SPDX-License-Identifier: Apache-2.0
//! Packets that go on to a node on another thread: one ring for each pair of threads.
//!
//! Packets for a thread gather until there are [`BATCH`] of them or the turn ends, and go into the
//! ring together: they are counted, published and taken out at once, and become frames of their
//! nodes. Packets from one thread to another stay in order.

use crate::core::Core;
use crate::counters::{CONGESTION, HANDED};
use crate::{NodeIndex, ThreadIndex};
use buffer::{FRAME_SIZE, Owned, Pool, Reservation, Share};
use stats::{Lane, Registry};
use std::sync::Arc;
use sync::Waker;
use sync::spsc::{Consumer, Producer, ring};

/// Packets that a ring holds.
const RING: usize = 1024;
/// Packets that gather for a thread.
const BATCH: usize = 64;

/// A packet in a ring.
struct Handoff {
    node: NodeIndex,
    /// Buffers of the packet: the receiver gives them back to the share without a look at it.
    segments: u32,
    buffer: Owned,
}

/// The ring to another thread.
struct Outlet {
    ring: Producer<Handoff>,
    waker: Arc<Waker>,
    gathered: Vec<Handoff>,
}

/// One thread's ends of the rings.
pub(crate) struct Handoffs {
    /// By thread; none to itself.
    to: Vec<Option<Outlet>>,
    /// With the shares of the threads that they are from.
    from: Vec<(Consumer<Handoff>, Arc<Share>)>,
    /// The share of the pool for packets that this thread hands over.
    share: Arc<Share>,
    congestion: Lane,
    handed: Lane,
    /// Threads for which something was gathered this turn, a bit each.
    used: u64,
}

/// The rings between all pairs of these threads.
pub(crate) fn rings(wakers: &[Arc<Waker>], stats: &Registry, pool: &Pool) -> Vec<Handoffs> {
    let n = wakers.len();
    let share = |thread: usize| pool.share(Reservation::HANDOFF, thread as u16, n);
    let mut all: Vec<Handoffs> = (0..n)
        .map(|thread| Handoffs {
            to: (0..n).map(|_| None).collect(),
            from: Vec::new(),
            share: share(thread),
            congestion: stats.simple(CONGESTION).lane(thread),
            handed: stats.simple(HANDED).lane(thread),
            used: 0,
        })
        .collect();
    for from in 0..n {
        for to in (0..n).filter(|to| *to != from) {
            let (producer, consumer) = ring(RING);
            let (waker, gathered) = (wakers[to].clone(), Vec::with_capacity(BATCH));
            all[from].to[to] = Some(Outlet { ring: producer, waker, gathered });
            all[to].from.push((consumer, share(from)));
        }
    }
    all
}

impl Handoffs {
    /// Returns true if packets from another thread wait.
    pub fn waiting(&mut self) -> bool {
        self.from.iter_mut().any(|(ring, _)| !ring.is_empty())
    }
}

impl Core {
    #[inline]
    pub(crate) fn handoff(&mut self, thread: ThreadIndex, node: NodeIndex, buffer: Owned) {
        if thread == self.thread {
            return self.inject(node, buffer);
        }
        let handoffs = &mut self.handoffs;
        let Some(Some(outlet)) = handoffs.to.get_mut(thread.at()) else {
            handoffs.congestion.add(thread.at(), 1);
            return self.cache.free(buffer);
        };
        let segments = buffer.segment_count() as u32;
        outlet.gathered.push(Handoff { node, segments, buffer });
        handoffs.used |= 1 << (thread.0 & 63);
        if outlet.gathered.len() == BATCH {
            self.send_gathered(thread.at());
        }
    }

    /// Puts the packets that were gathered for a thread into its ring. Packets that the share or
    /// the ring has no room for are dropped.
    fn send_gathered(&mut self, thread: usize) {
        let handoffs = &mut self.handoffs;
        let Some(Some(Outlet { ring, gathered, .. })) = handoffs.to.get_mut(thread) else { return };
        let share = &handoffs.share;
        let (n, segments) = (gathered.len(), |handoff: &Handoff| handoff.segments as usize);
        // Counted before the packets are published: the other thread may give them back at once.
        let sum = gathered.iter().map(segments).sum();
        let allowed = if sum <= share.room() && share.take(sum) {
            n
        } else {
            let some = gathered.iter().take_while(|handoff| share.take(segments(handoff))).count();
            // The first packet without room was counted as refused.
            (some + 1..n).for_each(|_| share.refuse());
            some
        };
        let mut packets = gathered.drain(..);
        let sent = ring.push_batch(&mut packets.by_ref().take(allowed));
        handoffs.handed.add(thread, sent as u64);
        if sent < n {
            handoffs.congestion.add(thread, (n - sent) as u64);
            for (at, handoff) in (sent..).zip(packets) {
                if at < allowed {
                    share.give(segments(&handoff));
                }
                self.cache.free(handoff.buffer);
            }
        }
    }

    /// Takes the packets that other threads handed over.
    #[inline(always)]
    pub(crate) fn receive_handoffs(&mut self) -> usize {
        if self.handoffs.from.is_empty() {
            return 0;
        }
        let mut from = std::mem::take(&mut self.handoffs.from);
        let mut n = 0;
        for (ring, share) in &mut from {
            if !ring.is_empty() {
                n += self.receive_from(ring, share);
            }
        }
        self.handoffs.from = from;
        n
    }

    /// Takes at most a frame's packets out of a ring; those for one node in a row are one frame.
    fn receive_from(&mut self, ring: &mut Consumer<Handoff>, share: &Share) -> usize {
        let mut frame = self.spare();
        let (mut to, mut segments) = (None, 0);
        let n = ring.pop_batch(FRAME_SIZE, |handoff| {
            if let Some(node) = to.replace(handoff.node)
                && node != handoff.node
            {
                self.send_frame(node, &mut frame);
            }
            segments += handoff.segments as usize;
            // There is room: a frame has as many as are taken.
            let _ = frame.push(handoff.buffer);
        });
        share.give(segments);
        if let Some(node) = to {
            self.send_frame(node, &mut frame);
        }
        self.give_spare(frame);
        n
    }

    /// Sends what was gathered this turn, and wakes the threads that get it, if they sleep: at most
    /// one call each a turn.
    #[inline(always)]
    pub(crate) fn send_handoffs(&mut self) {
        if self.handoffs.used != 0 {
            self.send_all_gathered();
        }
    }

    #[inline(never)]
    fn send_all_gathered(&mut self) {
        let used = std::mem::take(&mut self.handoffs.used);
        for thread in 0..self.handoffs.to.len() {
            if used >> (thread & 63) & 1 == 1 {
                self.send_gathered(thread);
                if let Some(outlet) = &self.handoffs.to[thread] {
                    outlet.waker.wake();
                }
            }
        }
    }
}

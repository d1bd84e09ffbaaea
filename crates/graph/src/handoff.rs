// SPDX-License-Identifier: Apache-2.0
//! Packets that go on to a node on another thread: one ring for each pair of threads.

use crate::core::Core;
use crate::counters::{CONGESTION, HANDED};
use crate::{NodeIndex, ThreadIndex};
use buffer::{Owned, Pool, Reservation, Share};
use stats::{Lane, Registry};
use std::sync::Arc;
use sync::Waker;
use sync::spsc::{Consumer, Producer, ring};

/// Packets that a ring holds.
const RING: usize = 1024;

type Handoff = (NodeIndex, Owned);

/// One thread's ends of the rings.
pub(crate) struct Handoffs {
    /// By thread; none to itself.
    to: Vec<Option<(Producer<Handoff>, Arc<Waker>)>>,
    /// With the shares of the threads that they are from.
    from: Vec<(Consumer<Handoff>, Arc<Share>)>,
    /// The share of the pool for packets that this thread hands over.
    share: Arc<Share>,
    congestion: Lane,
    handed: Lane,
    /// Threads that have got something this turn, a bit each.
    wake: u64,
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
            wake: 0,
        })
        .collect();
    for from in 0..n {
        for to in (0..n).filter(|to| *to != from) {
            let (producer, consumer) = ring(RING);
            all[from].to[to] = Some((producer, wakers[to].clone()));
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
        let Some(Some((producer, _))) = handoffs.to.get_mut(thread.at()) else {
            handoffs.congestion.add(thread.at(), 1);
            return self.cache.free(buffer);
        };
        // Counted before: the other thread may give it back at once.
        let buffers = buffer.segment_count();
        if !handoffs.share.take(buffers) {
            handoffs.congestion.add(thread.at(), 1);
            return self.cache.free(buffer);
        }
        match producer.push((node, buffer)) {
            Ok(()) => {
                handoffs.handed.add(thread.at(), 1);
                handoffs.wake |= 1 << (thread.0 & 63);
            }
            Err((_, buffer)) => {
                handoffs.share.give(buffers);
                handoffs.congestion.add(thread.at(), 1);
                self.cache.free(buffer);
            }
        }
    }

    /// Takes the packets that other threads handed over; wakes the threads that have got packets
    /// from here.
    #[inline(always)]
    pub(crate) fn receive_handoffs(&mut self) -> usize {
        if self.handoffs.from.is_empty() {
            return 0;
        }
        let mut n = 0;
        for i in 0..self.handoffs.from.len() {
            for _ in 0..buffer::FRAME_SIZE {
                let (ring, share) = &mut self.handoffs.from[i];
                let Some((node, buffer)) = ring.pop() else { break };
                share.give(buffer.segment_count());
                self.inject(node, buffer);
                n += 1;
            }
        }
        n
    }

    /// Wakes the threads that have got something this turn, if they sleep: at most one call each a
    /// turn.
    #[inline(always)]
    pub(crate) fn wake_others(&mut self) {
        let mut wake = std::mem::take(&mut self.handoffs.wake);
        while wake != 0 {
            let thread = wake.trailing_zeros() as usize;
            wake &= wake - 1;
            for (i, to) in self.handoffs.to.iter().enumerate() {
                if i & 63 == thread
                    && let Some((_, waker)) = to
                {
                    waker.wake();
                }
            }
        }
    }
}

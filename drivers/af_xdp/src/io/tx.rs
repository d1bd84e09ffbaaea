// SPDX-License-Identifier: Apache-2.0
//! The sending side of a socket: buffers go into the transmit ring, and come back by the completion
//! ring.

use super::ring::{Consumer, Producer};
use super::shared::Shared;
use super::sys::{self, Desc, RingMemory};
use buffer::{Cache, Lent, Owned};
use driver::{Handed, Loss};
use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

/// Segments of a packet: the kernel takes `MAX_SKB_FRAGS` (17) behind the first, or one less.
const SEGMENTS: usize = 16;
/// Time for which a socket that is closed waits for packets on their way.
const PATIENCE: Duration = Duration::from_millis(20);

/// The sending side.
pub struct Side {
    socket: Arc<Shared>,
    ring: Producer<Desc>,
    done: Consumer<u64>,
    lent: Lent,
    segments: usize,
    /// The last system call said that the device is down.
    down: bool,
}

impl Side {
    pub(super) fn new(
        socket: Arc<Shared>,
        ring: RingMemory<Desc>,
        done: RingMemory<u64>,
        lent: Lent,
    ) -> Self {
        let (ring, done) = (Producer::new(ring), Consumer::new(done));
        Self { socket, ring, done, lent, segments: 1, down: false }
    }

    pub(super) fn set_multi_buffer(&mut self, on: bool) {
        self.segments = if on { SEGMENTS } else { 1 };
    }

    /// Takes back the buffers that the device is done with. An address that it doesn't have is
    /// none.
    #[inline(always)]
    pub(super) fn reclaim(&mut self, mut free: impl FnMut(Owned)) {
        let waiting = self.done.waiting();
        for _ in 0..waiting {
            let offset = super::offset_of(self.done.take());
            if let Some(buffer) = self.lent.take(offset) {
                free(buffer);
            }
        }
        self.done.release();
    }

    /// Moves packets to the ring, as many as fit; returns their number.
    #[inline(always)]
    pub(super) fn post(&mut self, packets: &mut VecDeque<Owned>, cache: &mut Cache) -> usize {
        let size = self.ring.size() as usize;
        // Each buffer at the device needs a place in the completion ring.
        let mut room = (self.ring.room() as usize).min(size.saturating_sub(self.lent.len()));
        let mut moved = 0;
        while let Some(packet) = packets.front() {
            let segments = packet.segment_count();
            if segments > room {
                break;
            }
            let Some(packet) = packets.pop_front() else { break };
            room -= segments;
            moved += 1;
            self.push(packet, cache);
        }
        self.ring.publish();
        moved
    }

    #[inline(always)]
    fn push(&mut self, packet: Owned, cache: &mut Cache) {
        let mut last: Option<Desc> = None;
        let mut next = Some(packet);
        while let Some(mut segment) = next {
            next = segment.split_first();
            let (at, len) = (segment.slot_offset(), segment.len() as u32);
            if len == 0 {
                // The kernel takes no descriptor without bytes.
                cache.free(segment);
                continue;
            }
            match self.lent.lend(segment) {
                Ok(slot) => {
                    let desc = Desc { addr: (slot + at) as u64, len, options: 0 };
                    if let Some(before) = last.replace(desc) {
                        self.ring.push(Desc { options: libc::XDP_PKT_CONTD, ..before });
                    }
                }
                Err(segment) => cache.free(segment),
            }
        }
        last.into_iter().for_each(|last| self.ring.push(last));
    }

    /// Lets the kernel send what is in the ring: some dozens of packets a call.
    #[inline(always)]
    fn kick(&mut self) {
        self.down = false;
        let mut left = self.ring.pending();
        while left > 0 && self.ring.needs_wakeup() {
            self.socket.kicks.fetch_add(1, Ordering::Relaxed);
            let result = sys::kick(self.socket.as_fd());
            let now = self.ring.pending();
            match result.as_ref().err().and_then(std::io::Error::raw_os_error) {
                // Not all in one call, or the device's own queue is full.
                None | Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR) => {}
                Some(_) => {
                    self.socket.failures.fetch_add(1, Ordering::Relaxed);
                    self.down = true;
                    return;
                }
            }
            if now >= left {
                return;
            }
            left = now;
        }
    }

    fn hand_over(&mut self, packets: &mut VecDeque<Owned>, cache: &mut Cache) -> Handed {
        self.reclaim(|buffer| cache.free(buffer));
        loop {
            let moved = self.post(packets, cache);
            self.kick();
            self.reclaim(|buffer| cache.free(buffer));
            if packets.is_empty() || moved == 0 {
                break;
            }
        }
        Handed {
            lent: self.lent.len(),
            again: self.ring.pending() > 0 && !self.down,
            loss: if self.down { Loss::Down } else { Loss::Full },
        }
    }
}

/// Packets that the device is still sending get a moment; what it never finishes is kept until the
/// socket is closed.
impl Drop for Side {
    fn drop(&mut self) {
        let step = Duration::from_millis(1);
        let mut waited = Duration::ZERO;
        self.reclaim(drop);
        while !self.lent.is_empty() && waited < PATIENCE && !self.down {
            sleep(step);
            waited += step;
            self.reclaim(drop);
        }
        let none = Lent::new(self.lent.pool());
        self.socket.keep(std::mem::replace(&mut self.lent, none));
    }
}

/// The sending sides of a netdev's sockets, to make the queues of threads.
#[derive(Clone)]
pub struct Sides {
    all: Vec<Arc<Mutex<Side>>>,
    multi_buffer: bool,
}

impl Sides {
    pub(super) fn new(all: Vec<Arc<Mutex<Side>>>, multi_buffer: bool) -> Self {
        Self { all, multi_buffer }
    }

    /// Number of transmit queues.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The usual queues of so many threads: of `n` queues, thread `t` has number `t % n`.
    pub fn usual(&self, threads: usize) -> Vec<Option<u16>> {
        (0..threads).map(|thread| Some((thread % self.len().max(1)) as u16)).collect()
    }

    /// The queue of each thread, by its number.
    pub fn queues(&self, numbers: &[Option<u16>]) -> Vec<Option<TxQueue>> {
        TxQueue::of(self, numbers)
    }
}

/// A transmit queue of one thread. Threads share a socket if the netdev has fewer queues than there
/// are threads: then a thread takes the lock once for a vector.
pub struct TxQueue {
    side: Arc<Mutex<Side>>,
    segments: usize,
    /// Threads that share it.
    sharers: usize,
}

impl TxQueue {
    /// A queue for each thread that has one.
    fn of(sides: &Sides, queues: &[Option<u16>]) -> Vec<Option<Self>> {
        let queue = |queue: Option<u16>| {
            let side = sides.all.get(usize::from(queue?))?.clone();
            let segments = if sides.multi_buffer { SEGMENTS } else { 1 };
            let sharers = queues.iter().filter(|other| **other == queue).count();
            Some(Self { side, segments, sharers })
        };
        queues.iter().map(|number| queue(*number)).collect()
    }

    #[cfg(feature = "tests")]
    pub fn simulated(side: Arc<Mutex<Side>>) -> Self {
        Self { side, segments: SEGMENTS, sharers: 1 }
    }
}

impl driver::TxQueue for TxQueue {
    const NODE: &'static str = "af_xdp-tx";
    const OWNS: bool = true;

    fn most_segments(&self) -> usize {
        self.segments
    }

    #[inline]
    fn hand_over(&mut self, packets: &mut VecDeque<Owned>, cache: &mut Cache) -> Handed {
        let handed = self.side.lock().expect("no panic inside").hand_over(packets, cache);
        Handed { lent: handed.lent.div_ceil(self.sharers), ..handed }
    }
}

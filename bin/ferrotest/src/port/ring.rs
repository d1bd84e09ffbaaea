// SPDX-License-Identifier: Apache-2.0
//! In-process port: frames pass from one thread to another through a ring. Nothing but the tester
//! is measured with it.

use sync::spsc::{Consumer, Producer, ring};

use super::{Rx, Taken, Tx};

/// Longest frame.
const ROOM: usize = 1598;

/// Frames of one exchange with the ring.
const BATCH: usize = 32;

/// Memory of a frame. Its size is an odd number of cache lines, so that the beginnings of frames
/// are spread over all sets of the cache.
struct Slot {
    len: u16,
    bytes: [u8; ROOM],
}

/// Sending end.
pub struct RingTx {
    full: Producer<Box<Slot>>,
    free: Consumer<Box<Slot>>,
}

/// Receiving end.
pub struct RingRx {
    full: Consumer<Box<Slot>>,
    free: Producer<Box<Slot>>,
}

/// A connection for `frames` frames in flight.
pub fn connection(frames: usize) -> (RingTx, RingRx) {
    let (full_in, full_out) = ring(frames.clamp(BATCH, 1 << 16));
    let (mut free_in, free_out) = ring(full_in.capacity());
    while free_in.push(Box::new(Slot { len: 0, bytes: [0; ROOM] })).is_ok() {}
    (RingTx { full: full_in, free: free_out }, RingRx { full: full_out, free: free_in })
}

impl Tx for RingTx {
    #[inline]
    fn send<'d>(&mut self, _now: u64, mut frames: impl Iterator<Item = &'d [u8]>) -> Taken {
        let mut taken = Taken::default();
        loop {
            let mut slots: [Option<Box<Slot>>; BATCH] = [const { None }; BATCH];
            let wanted = frames.size_hint().1.unwrap_or(BATCH).min(BATCH);
            let mut count = 0;
            self.free.pop_batch(wanted, |mut slot| {
                if let Some(frame) = frames.next() {
                    let len = frame.len().min(ROOM);
                    slot.bytes[..len].copy_from_slice(&frame[..len]);
                    slot.len = len as u16;
                }
                slots[count] = Some(slot);
                count += 1;
            });
            // As many slots as the ring has room for exist.
            taken.sent += self.full.push_batch(&mut slots.iter_mut().map_while(Option::take));
            if count < BATCH {
                return taken;
            }
        }
    }
}

impl Rx for RingRx {
    #[inline]
    fn receive(&mut self, _now: u64, max: usize, mut f: impl FnMut(&[u8])) -> usize {
        let mut total = 0;
        while total < max {
            let mut slots: [Option<Box<Slot>>; BATCH] = [const { None }; BATCH];
            let mut count = 0;
            self.full.pop_batch((max - total).min(BATCH), |slot| {
                f(&slot.bytes[..usize::from(slot.len).min(ROOM)]);
                slots[count] = Some(slot);
                count += 1;
            });
            self.free.push_batch(&mut slots.iter_mut().map_while(Option::take));
            total += count;
            if count < BATCH {
                break;
            }
        }
        total
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn frames_pass_in_order_and_a_full_ring_takes_no_more() {
        let (mut tx, mut rx) = connection(64);
        let frames: Vec<Vec<u8>> = (0..100_u8).map(|n| vec![n; 60 + usize::from(n)]).collect();
        for _ in 0..5 {
            let taken = tx.send(0, frames.iter().map(Vec::as_slice));
            assert_eq!(taken, Taken { sent: 64, refused: 0 });
            assert_eq!(tx.send(0, frames.iter().map(Vec::as_slice)).sent, 0);
            let mut got = Vec::new();
            assert_eq!(rx.receive(0, 40, |frame| got.push(frame.to_vec())), 40);
            assert_eq!(rx.receive(0, 40, |frame| got.push(frame.to_vec())), 24);
            assert_eq!(got, frames[..64]);
            assert_eq!(rx.receive(0, 40, |_| ()), 0);
        }
    }
}

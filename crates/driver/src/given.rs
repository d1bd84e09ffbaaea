// SPDX-License-Identifier: Apache-2.0
//! Packets whose buffers a device takes over, and gives back when it has sent them.
//!
//! The device gets packets in the shape that it can send: checksums are complete, super-packets are
//! cut, and a chain of too many or of shared segments is copied. The buffers that it has are
//! counted in the thread's share ([`Reservation::TRANSMIT`]).

use crate::feed::Pieces;
use crate::tx::{Handed, TxQueue, TxTo};
use buffer::{Cache, DATA_SIZE, FRAME_SIZE, Flags, Owned, Quota, Reservation};
use graph::{Cx, ThreadIndex, World};
use std::collections::VecDeque;
use wire::offload::Offload;

/// Calls in a row for which a device that asks for more is called again within the turn.
const PATIENCE: u32 = 256;

/// Packets on their way to a device, on one thread.
pub struct Given {
    /// Packets that the device can send, for its next call.
    pub ready: VecDeque<Owned>,
    /// Number of their buffers.
    buffers: usize,
    /// Buffers that the device has.
    lent: Quota,
    patience: u32,
}

impl Given {
    pub fn new(world: &World, thread: ThreadIndex, used: bool) -> Self {
        Self {
            ready: VecDeque::with_capacity(if used { FRAME_SIZE } else { 0 }),
            buffers: 0,
            lent: world.pool.share(Reservation::TRANSMIT, thread.0, world.threads()).quota(),
            patience: PATIENCE,
        }
    }

    /// Takes a packet for the next call; copies it if the device can't send it as it is.
    ///
    /// # Errors
    /// The packet, and why it is dropped.
    #[inline(always)]
    pub fn add(
        &mut self,
        mut packet: Owned,
        most: usize,
        cache: &mut Cache,
    ) -> Result<(), (TxTo, Owned)> {
        let mut segments = 1;
        if packet.is_chained() {
            (packet, segments) = fit(packet, most, cache)?;
        }
        self.buffers += segments;
        if self.buffers > self.lent.left() {
            self.lent.refuse();
            self.buffers -= segments;
            return Err((TxTo::QueueFull, packet));
        }
        self.ready.push_back(packet);
        Ok(())
    }

    /// Makes packets of frames in pieces. `lost` gets the number of each frame that became none.
    pub fn copy<'d>(
        &mut self,
        frames: impl Iterator<Item = (Offload, Pieces<'d>)>,
        most: usize,
        cache: &mut Cache,
        mut lost: impl FnMut(usize, TxTo),
    ) {
        for (i, (_, pieces)) in frames.enumerate() {
            let made = copied(pieces, cache).map(|copy| self.add(copy, most, cache));
            match made {
                Some(Ok(())) => {}
                Some(Err((why, copy))) => {
                    cache.free(copy);
                    lost(i, why);
                }
                None => lost(i, TxTo::NoBuffer),
            }
        }
    }

    /// Calls the device; returns why packets are dropped that are still here then.
    pub fn hand_over<Q: TxQueue>(&mut self, queue: &mut Q, cx: &mut Cx<'_, false>) -> TxTo {
        let before = self.lent.held();
        let Handed { lent, again, loss } = queue.hand_over(&mut self.ready, cx.cache());
        self.buffers = 0;
        if lent != before {
            self.lent.set(lent);
        }
        if !again || lent < before {
            self.patience = PATIENCE;
        }
        // A device that makes no progress is called with the next packets, or in a second.
        if again && self.patience > 0 {
            self.patience -= 1;
            cx.again();
        }
        loss.into()
    }

    /// Notes that the device is gone.
    pub fn closed(&mut self) {
        self.lent.set(0);
    }
}

/// The packet as at most `most` segments that no other packet has, and their number.
#[inline(never)]
fn fit(packet: Owned, most: usize, cache: &mut Cache) -> Result<(Owned, usize), (TxTo, Owned)> {
    let count = packet.segment_count();
    if count <= most && !packet.is_shared() {
        return Ok((packet, count));
    }
    let count = packet.packet_len().div_ceil(DATA_SIZE);
    if count > most {
        return Err((TxTo::TooLong, packet));
    }
    let Some(mut copy) = copied(packet.segments(), cache) else {
        return Err((TxTo::NoBuffer, packet));
    };
    (copy.rx_if, copy.tx_if) = (packet.rx_if, packet.tx_if);
    if packet.flags.contains(Flags::TRACED) {
        copy.flags.insert(Flags::TRACED);
        copy.trace = packet.trace;
    }
    cache.free(packet);
    Ok((copy, count))
}

/// A packet of fresh buffers with these bytes; `None` if there are too few.
fn copied<'d>(pieces: impl Iterator<Item = &'d [u8]>, cache: &mut Cache) -> Option<Owned> {
    let mut packet = cache.alloc()?;
    for piece in pieces {
        if !packet.append_bytes(piece, cache) {
            cache.free(packet);
            return None;
        }
    }
    Some(packet)
}

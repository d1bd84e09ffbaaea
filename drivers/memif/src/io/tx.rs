// SPDX-License-Identifier: Apache-2.0
//! A ring that this end sends by: frames are copied into buffers of the shared memory.

use super::ring::NEXT;
use super::{Buffers, Desc, Event, NO_INTERRUPT, Regions, Ring, Role};
use driver::Loss;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex};
use wire::offload::Offload;

/// A piece of a frame that was copied, but not published.
#[derive(Clone, Copy)]
struct Piece {
    region: u16,
    offset: u32,
    room: u32,
    len: u32,
}

/// The sending side of a ring.
pub struct TxRing {
    ring: Ring,
    regions: Regions,
    /// A client's own buffers; a server takes those that the client offers.
    own: Option<Buffers>,
    role: Role,
    /// Index of the next descriptor. It is never read back from shared memory.
    next: u16,
    event: Arc<Event>,
    pieces: Vec<Piece>,
}

impl TxRing {
    /// `own` are the client's buffers, and `None` for the server.
    pub fn new(ring: Ring, regions: Regions, own: Option<Buffers>, event: Arc<Event>) -> Self {
        let role = if own.is_some() { Role::Client } else { Role::Server };
        let next = if own.is_some() { 0 } else { ring.tail() };
        let pieces = Vec::with_capacity(64);
        Self { ring, regions, own, role, next, event, pieces }
    }

    /// Index of the next descriptor.
    #[cfg(feature = "tests")]
    pub fn next(&self) -> u16 {
        self.next
    }

    /// Descriptors that may be filled. None if the peer's index is impossible.
    #[inline(always)]
    fn room(&self) -> u16 {
        let size = self.ring.size();
        match self.role {
            Role::Client => size.saturating_sub(self.next.wrapping_sub(self.ring.tail())),
            Role::Server => {
                Some(self.ring.head().wrapping_sub(self.next)).filter(|n| *n <= size).unwrap_or(0)
            }
        }
    }

    /// The buffer of a descriptor: region, offset and bytes.
    #[inline(always)]
    fn buffer(&self, index: u16) -> Option<Piece> {
        if let Some(own) = &self.own {
            let offset = own.offset(self.ring.slot(index));
            return Some(Piece { region: 0, offset, room: own.size, len: 0 });
        }
        let Desc { region, len: room, offset, .. } = self.ring.desc(index);
        let memory = self.regions.get(usize::from(region))?;
        let fits = room > 0 && memory.holds(offset as usize, room as usize);
        fits.then_some(Piece { region, offset, room, len: 0 })
    }

    /// Sends frames, each in pieces. `lost` gets the number of each frame, in their order, that
    /// wasn't sent. All are published by one store at the end, and the peer gets at most one
    /// event.
    #[inline(always)]
    pub fn send<'d, P: Iterator<Item = &'d [u8]>>(
        &mut self,
        frames: impl Iterator<Item = (Offload, P)>,
        mut lost: impl FnMut(usize, Loss),
    ) {
        let (first, mut room) = (self.next, self.room());
        for (frame, (_, parts)) in frames.enumerate() {
            if let Err(loss) = self.put(parts, first, &mut room) {
                lost(frame, loss);
            }
        }
        self.publish(first);
    }

    #[inline(always)]
    fn publish(&mut self, first: u16) {
        if self.next == first {
            return;
        }
        match self.role {
            Role::Client => self.ring.set_head(self.next),
            Role::Server => self.ring.set_tail(self.next),
        }
        // The receiver writes its flag, then looks at the index; here it is the other way round. So
        // one of both sees the other's.
        fence(Ordering::SeqCst);
        if self.ring.flags() & NO_INTERRUPT == 0 {
            self.event.raise();
        }
    }

    /// Copies a frame behind those that were put before. Descriptors are written once all of it has
    /// found room, so that a frame without room changes nothing.
    #[inline(always)]
    fn put<'d>(
        &mut self,
        parts: impl Iterator<Item = &'d [u8]>,
        first: u16,
        room: &mut u16,
    ) -> Result<(), Loss> {
        self.pieces.clear();
        for mut part in parts {
            while !part.is_empty() {
                let full = self.pieces.last().is_none_or(|piece| piece.len == piece.room);
                if full {
                    let used = self.pieces.len();
                    if used >= usize::from(*room) {
                        // The peer's index may have moved meanwhile; frames that aren't published
                        // yet lie in between.
                        *room = self.room();
                        if used >= usize::from(*room) {
                            let empty = self.next == first && *room == self.ring.size();
                            return Err(if empty { Loss::TooLong } else { Loss::Full });
                        }
                    }
                    let piece =
                        self.buffer(self.next.wrapping_add(used as u16)).ok_or(Loss::Refused)?;
                    self.pieces.push(piece);
                }
                let Some(piece) = self.pieces.last_mut() else { return Err(Loss::Refused) };
                let len = part.len().min((piece.room - piece.len) as usize);
                let (now, later) = part.split_at(len);
                let memory = self.regions.get(usize::from(piece.region)).ok_or(Loss::Refused)?;
                if !memory.copy_in(piece.offset as usize + piece.len as usize, now) {
                    return Err(Loss::Refused);
                }
                piece.len += len as u32;
                part = later;
            }
        }
        let count = self.pieces.len();
        if count == 0 {
            return Err(Loss::Refused);
        }
        for (n, piece) in self.pieces.iter().enumerate() {
            let Piece { region, offset, len, .. } = *piece;
            let flags = if n + 1 < count { NEXT } else { 0 };
            self.ring
                .set_desc(self.next.wrapping_add(n as u16), Desc { flags, region, len, offset });
        }
        self.next = self.next.wrapping_add(count as u16);
        *room -= count as u16;
        Ok(())
    }
}

/// A sending ring that several threads use, if there are fewer rings than threads.
#[derive(Clone)]
pub struct SharedTx(Arc<Mutex<TxRing>>);

impl SharedTx {
    /// A ring for so many threads.
    pub fn new(ring: TxRing) -> Self {
        Self(Arc::new(Mutex::new(ring)))
    }

    /// As [`TxRing::send`]. A thread waits while another one sends its vector by the same ring.
    #[inline(always)]
    pub fn send<'d, P: Iterator<Item = &'d [u8]>>(
        &mut self,
        frames: impl Iterator<Item = (Offload, P)>,
        lost: impl FnMut(usize, Loss),
    ) {
        let mut ring = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        ring.send(frames, lost);
    }
}

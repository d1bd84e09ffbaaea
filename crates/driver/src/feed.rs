// SPDX-License-Identifier: Apache-2.0
//! The frames of one call of a device: packets as they are, or segments of packets that wait.

use crate::offload;
use crate::segment_queue::{SegmentQueue, l3_of};
use crate::software::{Range, Segmenter, pieces};
use crate::tx::{Loss, TxTo};
use buffer::{Buffer, FRAME_SIZE};
use wire::gso::MAX_HEADERS;
use wire::offload::Offload;

/// The packets of one call.
pub struct Feed<'d, F> {
    pub packet: &'d F,
    pub n: usize,
    pub next: usize,
    pub fates: &'d mut [TxTo; FRAME_SIZE],
    /// Index of the packet of each frame.
    pub owners: [u8; FRAME_SIZE],
    pub frames: usize,
}

impl<'a: 'd, 'd, F: Fn(usize) -> &'a Buffer> Iterator for Feed<'d, F> {
    type Item = (Offload, Pieces<'d>);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        while self.next < self.n {
            let i = self.next;
            self.next += 1;
            if self.fates[i] != TxTo::Sent {
                continue;
            }
            let b = (self.packet)(i);
            self.owners[self.frames] = i as u8;
            self.frames += 1;
            return Some((offload::left(b), Pieces { headers: None, rest: pieces(b) }));
        }
        None
    }
}

impl<F> Feed<'_, F> {
    /// Notes the packets that were lost.
    #[cold]
    pub fn lose(&mut self, losses: &[Option<Loss>; FRAME_SIZE]) {
        for (owner, loss) in self.owners[..self.frames].iter().zip(losses) {
            if let Some(loss) = loss {
                self.fates[usize::from(*owner)] = (*loss).into();
            }
        }
    }
}

/// The frames of one call for packets that wait: segments, and packets behind them.
pub struct SegmentFeed<'d, H> {
    pub hold: &'d SegmentQueue,
    pub headers: H,
    /// Number of packets that are done.
    pub entry: usize,
    /// Index of the next segment of the current packet.
    pub next: usize,
    pub cut: Option<Segmenter<'d>>,
    /// Index of the packet of each frame.
    pub owners: [u8; FRAME_SIZE],
    pub frames: usize,
    pub ip: bool,
}

impl<'d, H: Iterator<Item = &'d mut [u8; MAX_HEADERS]>> Iterator for SegmentFeed<'d, H> {
    type Item = (Offload, Pieces<'d>);

    fn next(&mut self) -> Option<Self::Item> {
        let held = self.hold.queue.get(self.entry)?;
        let headers = self.headers.next()?;
        let b: &'d Buffer = &held.packet;
        let frame = if held.cut.is_some() {
            if self.cut.is_none() {
                self.cut = Segmenter::resume(b, l3_of(b, self.ip)?, self.next).ok();
            }
            let (len, rest) = self.cut.as_mut()?.next(headers)?;
            (Offload::NONE, Pieces { headers: Some(&headers[..len]), rest })
        } else {
            (offload::left(b), Pieces { headers: None, rest: pieces(b) })
        };
        self.owners[self.frames] = self.entry as u8;
        self.frames += 1;
        self.next += 1;
        if self.next == held.frames() {
            (self.entry, self.next, self.cut) = (self.entry + 1, 0, None);
        }
        Some(frame)
    }
}

/// A frame in pieces.
pub struct Pieces<'d> {
    headers: Option<&'d [u8]>,
    rest: Range<'d>,
}

impl<'d> Iterator for Pieces<'d> {
    type Item = &'d [u8];

    #[inline(always)]
    fn next(&mut self) -> Option<&'d [u8]> {
        self.headers.take().or_else(|| self.rest.next())
    }
}

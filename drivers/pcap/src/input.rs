// SPDX-License-Identifier: Apache-2.0
//! `pcap-input`: from the window of a replay into buffers.

use crate::replay::{Chunk, Ends, Progress};
use driver::{Burst, Losses, PollInput};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::offload::Offload;

pub type PcapInput = PollInput<PcapRx>;

/// The receive queue of a replay.
pub struct PcapRx {
    ends: Ends,
    progress: Arc<Progress>,
    /// The chunk that is sent, the number of its next packet, and the offset of its bytes.
    chunk: Option<(Chunk, usize, usize)>,
    /// Time of the first packet.
    start: Option<u64>,
    /// Skipped packets that were reported.
    reported: u64,
}

impl PcapRx {
    /// A queue of a replay that was started.
    pub fn new(ends: Ends, progress: Arc<Progress>) -> Self {
        Self { ends, progress, chunk: None, start: None, reported: 0 }
    }

    /// Makes a chunk with packets the current one; false if there is none yet, or none any more.
    #[inline(always)]
    fn advance(&mut self) -> bool {
        loop {
            match &self.chunk {
                Some((chunk, n, at)) if chunk.packet(*n, *at).is_some() => return true,
                Some((chunk, ..)) if chunk.last => {
                    self.finish();
                    return false;
                }
                _ => {}
            }
            if let Some((chunk, ..)) = self.chunk.take() {
                // There is room for all chunks.
                let _ = self.ends.empty.push(chunk);
            }
            match self.ends.full.pop() {
                Some(chunk) => self.chunk = Some((chunk, 0, 0)),
                None => return false,
            }
        }
    }

    /// Reports the end, once.
    #[cold]
    fn finish(&self) {
        if !self.progress.done.swap(true, Ordering::AcqRel) {
            self.progress.signal.raise();
        }
    }
}

impl driver::RxQueue for PcapRx {
    const NODE: &'static str = "pcap-input";

    #[inline]
    fn receive(&mut self, burst: &mut Burst<'_>) {
        let now = burst.now();
        while burst.room() > 0 && self.advance() {
            // The first packet is due when it is read.
            let start = *self.start.get_or_insert(now);
            let Some((chunk, n, at)) = &mut self.chunk else { return };
            let Some((due, bytes)) = chunk.packet(*n, *at) else { return };
            if now.saturating_sub(start) < due {
                return;
            }
            if burst.reserve(bytes.len()) {
                let mut rest = bytes;
                for part in burst.parts(bytes.len()) {
                    let (head, tail) = rest.split_at(rest.len().min(part.len()));
                    part[..head.len()].copy_from_slice(head);
                    rest = tail;
                }
                burst.push(bytes.len(), Offload::default(), None);
            } else {
                burst.lose(1);
            }
            (*n, *at) = (*n + 1, *at + bytes.len());
        }
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn discard(&mut self) {}

    fn losses(&mut self) -> Losses {
        let skipped = self.progress.skipped.load(Ordering::Relaxed);
        let errors = skipped - std::mem::replace(&mut self.reported, skipped);
        Losses { errors, ..Losses::default() }
    }
}

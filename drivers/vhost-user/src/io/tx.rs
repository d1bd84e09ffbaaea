// SPDX-License-Identifier: Apache-2.0
//! Packets that a guest receives: copied into buffers that it makes available.

use super::chain::Used;
use super::queue::MAX_HEADER;
use super::{Piece, Queue};
use driver::Loss;
use wire::offload::{Offload, VNET_HDR_LEN};

/// The chain that is filled.
#[derive(Clone, Copy, Default)]
struct Chain {
    /// Index of the piece that is filled.
    piece: usize,
    /// Bytes of it that are filled.
    filled: usize,
    /// Bytes of the chain that are filled.
    len: u32,
}

impl Queue {
    /// Sends frames, each in pieces. `lost` gets the number of each frame, in their order, that
    /// wasn't sent. All are given to the guest at the end, and it gets at most one event.
    #[inline(always)]
    pub fn send<'d, P: Iterator<Item = &'d [u8]>>(
        &mut self,
        frames: impl Iterator<Item = (Offload, P)>,
        mut lost: impl FnMut(usize, Loss),
    ) {
        for (frame, (offload, parts)) in frames.enumerate() {
            if let Err(loss) = self.put(offload, parts) {
                lost(frame, loss);
            }
        }
        self.give_back();
    }

    /// Copies a frame. One without room leaves everything as it was.
    #[inline(always)]
    fn put<'d>(
        &mut self,
        offload: Offload,
        parts: impl Iterator<Item = &'d [u8]>,
    ) -> Result<(), Loss> {
        let (next, first) = (self.next(), self.used.len());
        let result = self.fill(offload, parts, first);
        match result {
            Ok(()) => {}
            // The guest gets a chain that isn't valid back, and those in front of it, empty.
            Err(Loss::Refused) => {
                self.used.iter_mut().skip(first).for_each(|chain| chain.len = 0);
                self.bad += 1;
            }
            Err(_) => self.rewind(next, first),
        }
        result
    }

    #[inline(always)]
    fn fill<'d>(
        &mut self,
        offload: Offload,
        parts: impl Iterator<Item = &'d [u8]>,
        first: usize,
    ) -> Result<(), Loss> {
        let mut chain = self.begin()?;
        self.reserve_header(&mut chain)?;
        for mut part in parts {
            while !part.is_empty() {
                let Some(piece) = self.pieces.list().get(chain.piece).copied() else {
                    self.end(chain);
                    if !self.config.mergeable {
                        return Err(Loss::TooLong);
                    }
                    chain = self.begin()?;
                    continue;
                };
                let len = part.len().min(piece.len as usize - chain.filled);
                let (now, later) = part.split_at(len);
                let to = Piece { offset: piece.offset + chain.filled, ..piece };
                if !self.memory.copy_in(to, now) {
                    return Err(Loss::Refused);
                }
                chain.len += len as u32;
                chain.filled += len;
                if chain.filled == piece.len as usize {
                    (chain.piece, chain.filled) = (chain.piece + 1, 0);
                }
                part = later;
            }
        }
        self.end(chain);
        self.write_header(offload, self.used.len() - first)
    }

    /// Takes an empty chain.
    #[inline(always)]
    fn begin(&mut self) -> Result<Chain, Loss> {
        match self.find(true) {
            None => Err(Loss::Full),
            // A chain without a byte holds nothing.
            Some(is_good) if !is_good || self.pieces.len() == 0 => Err(Loss::Refused),
            Some(_) => Ok(Chain::default()),
        }
    }

    /// Notes how many bytes of the chain were written.
    #[inline(always)]
    fn end(&mut self, chain: Chain) {
        if let Some(Used { len, .. }) = self.used.last_mut() {
            *len = chain.len;
        }
    }

    /// Sets the memory of the header aside: its contents are known at the end only.
    #[inline(always)]
    fn reserve_header(&mut self, chain: &mut Chain) -> Result<(), Loss> {
        self.head.clear();
        let mut left = self.config.header;
        while left > 0 {
            let piece = self.pieces.list().get(chain.piece).copied().ok_or(Loss::Refused)?;
            let len = left.min(piece.len as usize);
            self.head.push(Piece { len: len as u32, ..piece });
            left -= len;
            if len == piece.len as usize {
                chain.piece += 1;
            } else {
                chain.filled = len;
            }
        }
        chain.len = self.config.header as u32;
        Ok(())
    }

    /// Writes the header: what is left to do, and the number of chains (Virtual I/O Device 1.3,
    /// 5.1.6.3.2).
    #[inline(always)]
    fn write_header(&mut self, mut offload: Offload, chains: usize) -> Result<(), Loss> {
        if let Some(gso) = &mut offload.gso {
            // A guest that doesn't know it gets the same segments without the mark.
            gso.ecn &= self.config.ecn;
        }
        let mut header = [0; MAX_HEADER];
        header[..VNET_HDR_LEN].copy_from_slice(&offload.to_vnet());
        // A ring has at most 32768 chains.
        header[VNET_HDR_LEN..].copy_from_slice(&(chains as u16).to_le_bytes());
        let mut at = 0;
        for piece in &self.head {
            let end = (at + piece.len as usize).min(MAX_HEADER);
            if !self.memory.copy_in(*piece, &header[at..end]) {
                return Err(Loss::Refused);
            }
            at = end;
        }
        Ok(())
    }
}

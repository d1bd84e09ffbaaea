// SPDX-License-Identifier: Apache-2.0
//! A ring of descriptors in shared memory.
//!
//! | offset | field | written by |
//! |---|---|---|
//! | 0 | cookie, 4 bytes | client, once |
//! | 4 | flags, 2 bytes | the receiver |
//! | 6 | head, 2 bytes | client |
//! | 64 | tail, 2 bytes | server |
//! | 128 | descriptors of 16 bytes | both |
//!
//! A descriptor: flags (2 bytes), region (2), length (4), offset (4), metadata (4). All in the byte
//! order of the host.

use super::Region;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// First word of each ring.
pub const COOKIE: u32 = 0x3E3_1F20;
/// Bytes in front of the descriptors.
pub const HEADER: usize = 128;
/// Bytes of a descriptor.
pub const DESC: usize = 16;
/// The largest ring has two to this power descriptors: with more, a full ring couldn't be told from
/// an empty one.
pub const MAX_LOG2: u8 = 15;
/// Flag of a ring: its receiver wants no event.
pub const NO_INTERRUPT: u16 = 1;
/// Flag of a descriptor: the packet goes on in the next one.
pub const NEXT: u16 = 1;

const FLAGS: usize = 4;
const HEAD: usize = 6;
const TAIL: usize = 64;

/// A descriptor as it was read once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Desc {
    /// [`NEXT`].
    pub flags: u16,
    /// Index of the region.
    pub region: u16,
    /// Bytes of the buffer.
    pub len: u32,
    /// Where the buffer begins in the region.
    pub offset: u32,
}

/// A ring that lies inside of its region.
#[derive(Clone)]
pub struct Ring {
    memory: Arc<Region>,
    at: usize,
    log2: u8,
}

impl Ring {
    /// The ring at this offset, if it is aligned and lies inside.
    pub fn new(memory: Arc<Region>, offset: u32, log2: u8) -> Option<Self> {
        let at = offset as usize;
        let fits = log2 <= MAX_LOG2 && memory.holds(at, Self::bytes(log2));
        (fits && at.is_multiple_of(4)).then_some(Self { memory, at, log2 })
    }

    /// Bytes of a ring.
    pub const fn bytes(log2: u8) -> usize {
        HEADER + (DESC << log2)
    }

    /// Descriptors.
    #[inline(always)]
    pub fn size(&self) -> u16 {
        1 << self.log2
    }

    /// Marks the memory as a ring.
    pub fn init(&self) {
        self.memory.store32(self.at, COOKIE);
        self.set_flags(0);
        self.set_head(0);
        self.set_tail(0);
    }

    /// Returns true if the client has marked it as a ring.
    pub fn is_marked(&self) -> bool {
        self.memory.load32(self.at) == Some(COOKIE)
    }

    /// The receiver's flags.
    #[inline(always)]
    pub fn flags(&self) -> u16 {
        self.memory.load16(self.at + FLAGS, Ordering::Relaxed).unwrap_or(0)
    }

    /// Sets the receiver's flags.
    pub fn set_flags(&self, flags: u16) {
        self.memory.store16(self.at + FLAGS, flags, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The client's index.
    #[inline(always)]
    pub fn head(&self) -> u16 {
        self.memory.load16(self.at + HEAD, Ordering::Acquire).unwrap_or(0)
    }

    /// Publishes what the client has written.
    #[inline(always)]
    pub fn set_head(&self, head: u16) {
        self.memory.store16(self.at + HEAD, head, Ordering::Release);
    }

    /// The server's index.
    #[inline(always)]
    pub fn tail(&self) -> u16 {
        self.memory.load16(self.at + TAIL, Ordering::Acquire).unwrap_or(0)
    }

    /// Publishes what the server has written.
    #[inline(always)]
    pub fn set_tail(&self, tail: u16) {
        self.memory.store16(self.at + TAIL, tail, Ordering::Release);
    }

    /// Which descriptor an index stands for.
    #[inline(always)]
    pub fn slot(&self, index: u16) -> usize {
        usize::from(index & (self.size() - 1))
    }

    /// Reads the descriptor of an index, each field once.
    #[inline(always)]
    pub fn desc(&self, index: u16) -> Desc {
        let at = self.at + HEADER + DESC * self.slot(index);
        let word = |n: usize| self.memory.load32(at + 4 * n).unwrap_or(0).to_ne_bytes();
        let [a, b, c, d] = word(0);
        Desc {
            flags: u16::from_ne_bytes([a, b]),
            region: u16::from_ne_bytes([c, d]),
            len: u32::from_ne_bytes(word(1)),
            offset: u32::from_ne_bytes(word(2)),
        }
    }

    /// Writes the descriptor of an index.
    #[inline(always)]
    pub fn set_desc(&self, index: u16, desc: Desc) {
        let at = self.at + HEADER + DESC * self.slot(index);
        let ([a, b], [c, d]) = (desc.flags.to_ne_bytes(), desc.region.to_ne_bytes());
        self.memory.store32(at, u32::from_ne_bytes([a, b, c, d]));
        self.memory.store32(at + 4, desc.len);
        self.memory.store32(at + 8, desc.offset);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Chains of descriptors: what both formats of virtqueues have in common.

use super::{Memory, Pieces};

/// The chain goes on in another descriptor.
pub const NEXT: u16 = 1;
/// The device writes the buffer; otherwise it reads it.
pub const WRITE: u16 = 2;
/// The buffer is a table of descriptors.
pub const INDIRECT: u16 = 4;

/// Bytes of a descriptor.
pub const DESC: usize = 16;

/// Descriptors of an indirect table at most, and of a chain.
pub const MAX_CHAIN: u16 = 1024;

/// A descriptor as it was read once. The last four bytes mean different things in each format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Desc {
    /// The guest's address of the buffer.
    pub address: u64,
    /// Its length in bytes.
    pub len: u32,
    /// Bytes 12 and 13: flags (split) or the buffer's id (packed).
    pub low: u16,
    /// Bytes 14 and 15: the next descriptor (split) or flags (packed).
    pub high: u16,
}

impl Desc {
    /// The descriptor of two words.
    #[inline(always)]
    pub fn of([address, rest]: [u64; 2]) -> Self {
        let rest = u64::from_le(rest);
        Self {
            address: u64::from_le(address),
            len: rest as u32,
            low: (rest >> 32) as u16,
            high: (rest >> 48) as u16,
        }
    }
}

/// A chain that the guest has made available and gets back when it was used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Used {
    /// Its number.
    pub id: u16,
    /// Descriptors of the ring that it takes, in a packed ring.
    pub slots: u16,
    /// Bytes that were written to it.
    pub len: u32,
}

/// The next chain of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// The guest has none available.
    Nothing,
    /// One whose memory is in the pieces.
    Chain(Used),
    /// One that isn't valid.
    Bad(Used),
}

impl Found {
    pub fn new(is_good: bool, used: Used) -> Self {
        if is_good { Self::Chain(used) } else { Self::Bad(used) }
    }
}

/// The indirect table of a descriptor, if its length can be that of one.
#[derive(Clone, Copy)]
pub struct Indirect {
    address: u64,
    /// Descriptors.
    pub count: u16,
}

impl Indirect {
    #[inline(always)]
    pub fn new(address: u64, len: u32) -> Option<Self> {
        let count = len / DESC as u32;
        let fits = len.is_multiple_of(DESC as u32) && (1..=u32::from(MAX_CHAIN)).contains(&count);
        fits.then_some(Self { address, count: count as u16 })
    }

    /// A descriptor of the table; `None` outside of the table or of the guest's memory.
    #[inline(always)]
    pub fn desc(&self, memory: &Memory, index: u16) -> Option<Desc> {
        if index >= self.count {
            return None;
        }
        let address = self.address.checked_add(u64::from(index) * DESC as u64)?;
        let piece = memory.at_guest(address, DESC as u32).filter(|p| p.len == DESC as u32)?;
        let region = memory.region(piece.region)?;
        Some(Desc::of([region.load64(piece.offset)?, region.load64(piece.offset + 8)?]))
    }
}

/// Adds a buffer to the pieces of a chain, if its direction is the ring's.
#[inline(always)]
#[must_use]
pub fn add(pieces: &mut Pieces, memory: &Memory, desc: Desc, flags: u16, writes: bool) -> bool {
    (flags & WRITE != 0) == writes && pieces.add(memory, desc.address, desc.len)
}

/// Returns true if the other end wants an event: `event` is the index behind which it wants one,
/// and the index has moved from `old` to `new` (Virtual I/O Device 1.3, 2.7.10 and 2.8.21.3.1).
#[inline(always)]
pub fn needs_event(event: u16, new: u16, old: u16) -> bool {
    new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn an_event_is_wanted_once_its_index_is_passed() {
        for (event, old, new, wanted) in [
            (5, 4, 5, false),
            (5, 5, 6, true),
            (5, 3, 9, true),
            (5, 6, 9, false),
            (65_535, 65_534, 1, true),
            (0, 65_535, 0, false),
            (0, 65_535, 1, true),
            (7, 7, 7, false),
        ] {
            assert_eq!(needs_event(event, new, old), wanted, "{event} {old} {new}");
        }
    }

    #[suite::test]
    fn descriptors_are_little_endian() {
        let bytes: [u8; 16] = std::array::from_fn(|n| n as u8);
        let (a, b) = bytes.split_at(8);
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
        let desc = Desc::of([word(a), word(b)]);
        assert_eq!((desc.address, desc.len), (0x0706_0504_0302_0100, 0x0b0a_0908));
        assert_eq!((desc.low, desc.high), (0x0d0c, 0x0f0e));
        assert!(Indirect::new(0, 0).is_none() && Indirect::new(0, 17).is_none());
        assert!(Indirect::new(0, 16 * 1025).is_none() && Indirect::new(0, 16 * 1024).is_some());
    }
}

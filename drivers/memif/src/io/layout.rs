// SPDX-License-Identifier: Apache-2.0
//! The memory that a client makes: one region with all rings to the server, those from the server,
//! and the buffers of each ring in the same order.

use super::Ring;

/// The rings and buffers of a client's region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Rings from client to server.
    pub s2m: u16,
    /// Rings from server to client.
    pub m2s: u16,
    /// Size of each ring.
    pub log2: u8,
    /// Bytes of a buffer.
    pub buffer: u32,
}

/// The buffers of a client's ring: a fixed one for each descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffers {
    /// Offset of the first in region 0.
    pub first: u32,
    /// Bytes of each.
    pub size: u32,
}

impl Buffers {
    /// Where that of a descriptor begins.
    #[inline(always)]
    pub fn offset(&self, slot: usize) -> u32 {
        // The layout fits in 32 bits.
        self.first.wrapping_add((slot as u32).wrapping_mul(self.size))
    }
}

impl Layout {
    fn rings(&self) -> u64 {
        u64::from(self.s2m) + u64::from(self.m2s)
    }

    fn buffers_at(&self) -> u64 {
        (self.rings() * Ring::bytes(self.log2) as u64).next_multiple_of(64)
    }

    fn buffers_of_ring(&self) -> u64 {
        u64::from(self.buffer) << self.log2
    }

    /// Bytes of the region, if descriptors can name all of them: offsets have 32 bits.
    pub fn len(&self) -> Option<usize> {
        let len = self.buffers_at() + self.rings() * self.buffers_of_ring();
        u32::try_from(len).ok().map(|len| len as usize)
    }

    /// Where a ring begins; those to the server come first.
    pub fn ring(&self, number: u16) -> u32 {
        (u64::from(number) * Ring::bytes(self.log2) as u64) as u32
    }

    /// The buffers of a ring.
    pub fn buffers(&self, number: u16) -> Buffers {
        let first = self.buffers_at() + u64::from(number) * self.buffers_of_ring();
        Buffers { first: first as u32, size: self.buffer }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn parts_follow_each_other() {
        let layout = Layout { s2m: 2, m2s: 3, log2: 10, buffer: 2048 };
        assert_eq!((layout.ring(0), layout.ring(1), layout.ring(4)), (0, 16_512, 66_048));
        assert_eq!(layout.buffers(0).first, 82_560);
        assert_eq!(layout.buffers(1).first - layout.buffers(0).first, 1024 * 2048);
        assert_eq!(layout.buffers(4).offset(1023) + 2048, layout.len().expect("it fits") as u32);
        assert_eq!(Layout { s2m: 255, m2s: 255, log2: 15, buffer: 2048 }.len(), None);
    }
}

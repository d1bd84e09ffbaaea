// SPDX-License-Identifier: Apache-2.0
//! Keys and entries, as words.

/// A MAC address in a bridge domain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MacKey(pub(super) u64);

impl MacKey {
    /// Domain indices are below this.
    pub const MAX_DOMAINS: u16 = 1 << 15;

    /// The key of an address in the domain with this index, of which the lower 15 bits count.
    #[inline(always)]
    pub const fn new([a, b, c, d, e, f]: [u8; 6], domain: u16) -> Self {
        Self::of_word(u64::from_be_bytes([a, b, c, d, e, f, 0, 0]), domain)
    }

    /// The key of an address in the upper 48 bits of a word, as big-endian bytes are read; the
    /// lower ones don't count.
    #[inline(always)]
    pub const fn of_word(word: u64, domain: u16) -> Self {
        Self(word & !0xffff | ((domain & (Self::MAX_DOMAINS - 1)) as u64) << 1)
    }

    /// The address.
    #[inline(always)]
    pub const fn mac(self) -> [u8; 6] {
        let [a, b, c, d, e, f, ..] = self.0.to_be_bytes();
        [a, b, c, d, e, f]
    }

    /// The domain's index.
    #[inline(always)]
    pub const fn domain(self) -> u16 {
        self.0 as u16 >> 1
    }

    /// Returns true if the address is zero. Tables don't hold it.
    #[inline(always)]
    pub const fn is_zero(self) -> bool {
        self.0 >> 16 == 0
    }

    /// A hash: the parts of a product of 128 bits, combined. Without the seeds nobody can find
    /// addresses with equal hashes.
    #[inline(always)]
    pub(super) const fn hash(self, [mask, factor]: [u64; 2]) -> u64 {
        let product = ((self.0 >> 1) ^ mask) as u128 * factor as u128;
        let parts = product as u64 ^ (product >> 64) as u64;
        parts ^ parts >> 32
    }
}

/// A table's entry for an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct MacEntry {
    /// The port, below 2²⁴.
    pub port: u32,
    /// Flags that the owner defines. Not all bits may be set.
    pub flags: u8,
    /// The owner's generation number, for flushing.
    pub generation: u16,
    /// The owner's time of last use.
    pub stamp: u16,
}

impl MacEntry {
    /// Ports are below this.
    pub const MAX_PORTS: u32 = 1 << 24;

    /// The entry as a word: equal entries have equal words.
    #[inline(always)]
    pub const fn word(self) -> u64 {
        (self.port & (Self::MAX_PORTS - 1)) as u64
            | (self.flags as u64) << 24
            | (self.generation as u64) << 32
            | (self.stamp as u64) << 48
    }

    #[inline(always)]
    pub(super) const fn of(word: u64) -> Self {
        Self {
            port: word as u32 & (Self::MAX_PORTS - 1),
            flags: (word >> 24) as u8,
            generation: (word >> 32) as u16,
            stamp: (word >> 48) as u16,
        }
    }
}

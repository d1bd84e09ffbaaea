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
        Self(u64::from_be_bytes([a, b, c, d, e, f, 0, 0]) | ((domain & (Self::MAX_DOMAINS - 1)) as u64) << 1)
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

    /// Whether the address is zero. Tables don't hold it.
    #[inline(always)]
    pub const fn is_zero(self) -> bool {
        self.0 >> 16 == 0
    }

    /// Two independent hashes, in the upper and in the lower half (the finalizer of MurmurHash3).
    #[inline(always)]
    pub(super) const fn hash(self, seed: u64) -> u64 {
        let mut h = (self.0 >> 1) ^ seed;
        h = (h ^ h >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h = (h ^ h >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        h ^ h >> 33
    }
}

/// What a table knows of an address.
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

    #[inline(always)]
    pub(super) const fn word(self) -> u64 {
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

// SPDX-License-Identifier: Apache-2.0
//! The internet checksum: RFC 1071, incremental update RFC 1624.
//!
//! A [`Sum`] holds words as the machine loads them. The one's complement sum doesn't depend on byte
//! order (RFC 1071 §2B), so bytes are swapped once, when a sum becomes a field.

use core::ops::{Add, AddAssign};

/// A one's complement sum on its way: add what the checksum covers, then [`Sum::finish`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Nothing added yet.
    pub const ZERO: Self = Self(0);

    /// The sum over `bytes`; an odd last byte is padded with a zero.
    #[inline(always)]
    pub fn of(bytes: &[u8]) -> Self {
        let (blocks, rest) = bytes.as_chunks::<64>();
        let mut sum = if blocks.is_empty() { 0 } else { sum_blocks(blocks) };
        let (words, rest) = rest.as_chunks::<8>();
        for word in words {
            let word = u64::from_ne_bytes(*word);
            sum += (word & 0xffff_ffff) + (word >> 32);
        }
        let mut rest = rest;
        if let Some((word, tail)) = rest.split_first_chunk() {
            sum += u64::from(u32::from_ne_bytes(*word));
            rest = tail;
        }
        if let Some((word, tail)) = rest.split_first_chunk() {
            sum += u64::from(u16::from_ne_bytes(*word));
            rest = tail;
        }
        if let [last] = rest {
            sum += u64::from(u16::from_ne_bytes([*last, 0]));
        }
        Self(sum)
    }

    /// The sum over `parts` as if they lay one behind the other.
    #[inline]
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut offset = 0;
        parts.into_iter().fold(Self::ZERO, |sum, part| {
            let at = offset;
            offset += part.len();
            sum + Self::of(part).at(at)
        })
    }

    /// This sum, of bytes that begin `offset` bytes into what is being summed: odd offsets exchange
    /// the two bytes of every word.
    #[inline(always)]
    pub fn at(self, offset: usize) -> Self {
        if offset & 1 == 0 { self } else { Self(u64::from(self.fold().swap_bytes())) }
    }

    /// With a 16-bit value of host order added.
    #[inline(always)]
    pub fn with_u16(self, value: u16) -> Self {
        self + Self(u64::from(value.to_be()))
    }

    /// With a 32-bit value of host order added.
    #[inline(always)]
    pub fn with_u32(self, value: u32) -> Self {
        self + Self(u64::from(value.to_be()))
    }

    /// With `bytes` added, which must begin at an even offset.
    #[inline(always)]
    pub fn with(self, bytes: &[u8]) -> Self {
        self + Self::of(bytes)
    }

    #[inline(always)]
    fn fold(self) -> u16 {
        // adding a number to itself with its halves exchanged leaves the end-around sum of both
        // halves in the upper one
        let sum = (self.0.wrapping_add(self.0.rotate_left(32)) >> 32) as u32;
        (sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16
    }

    /// The sum as 16 bits of host order, not complemented: what a "partial" checksum field holds.
    #[inline(always)]
    pub fn partial(self) -> u16 {
        u16::from_be(self.fold())
    }

    /// The checksum: the complement of the sum, host order.
    #[inline(always)]
    pub fn finish(self) -> u16 {
        !self.partial()
    }

    /// The checksum for a field where 0 means "none" (UDP): 0 becomes 0xffff.
    #[inline(always)]
    pub fn finish_udp(self) -> u16 {
        match self.finish() {
            0 => 0xffff,
            checksum => checksum,
        }
    }

    /// A sum over bytes that contain their checksum: are they intact?
    #[inline(always)]
    pub fn is_valid(self) -> bool {
        self.fold() == 0xffff
    }
}

impl Add for Sum {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let (sum, carry) = self.0.overflowing_add(other.0);
        Self(sum + u64::from(carry))
    }
}

impl AddAssign for Sum {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Halves of 64-bit words in sixteen independent lanes: the compiler makes vectors of it, and no
/// lane can overflow below 2^32 blocks.
#[inline(always)]
fn sum_blocks(blocks: &[[u8; 64]]) -> u64 {
    let mut low = [0u64; 8];
    let mut high = [0u64; 8];
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        for ((low, high), word) in low.iter_mut().zip(&mut high).zip(words) {
            let word = u64::from_ne_bytes(*word);
            *low += word & 0xffff_ffff;
            *high += word >> 32;
        }
    }
    low.iter().sum::<u64>() + high.iter().sum::<u64>()
}

/// The checksum after `removed` was replaced by `added` (RFC 1624, equation 3). Both begin at an
/// even offset of what the checksum covers.
#[inline(always)]
pub fn update(checksum: u16, removed: Sum, added: Sum) -> u16 {
    let kept = Sum::ZERO.with_u16(!checksum);
    !(kept + Sum(u64::from(!removed.fold())) + added).partial()
}

/// [`update`] for UDP: an absent checksum (0) stays absent, and a computed one is never 0.
#[inline(always)]
pub fn update_udp(checksum: u16, removed: Sum, added: Sum) -> u16 {
    match (checksum, update(checksum, removed, added)) {
        (0, _) => 0,
        (_, 0) => 0xffff,
        (_, updated) => updated,
    }
}

/// The checksum after a 16-bit field went from `old` to `new`.
#[inline(always)]
pub fn update16(checksum: u16, old: u16, new: u16) -> u16 {
    update(checksum, Sum::ZERO.with_u16(old), Sum::ZERO.with_u16(new))
}

/// The checksum after a 32-bit field (an IPv4 address) went from `old` to `new`.
#[inline(always)]
pub fn update32(checksum: u16, old: u32, new: u32) -> u16 {
    update(checksum, Sum::ZERO.with_u32(old), Sum::ZERO.with_u32(new))
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071 as it is told: add 16-bit words of network order, fold, complement.
    fn naive(bytes: &[u8]) -> u16 {
        let mut sum = 0u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[suite::test]
    fn example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::of(&bytes).partial(), 0xddf2);
        assert_eq!(Sum::of(&bytes).finish(), !0xddf2);
    }

    #[suite::test]
    fn example_of_rfc_1624() {
        // §4: HC = 0xDD2F, m = 0x5555, m' = 0x3285; equation 3 gives 0x0000 where equation 2 fails
        assert_eq!(update16(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[suite::test]
    fn all_ones_of_any_length() {
        for len in 0..300 {
            let bytes = vec![0xff; len];
            assert_eq!(Sum::of(&bytes).finish(), naive(&bytes), "{len}");
        }
        assert_eq!((Sum(u64::MAX) + Sum(u64::MAX)).fold(), 0xffff);
    }

    proptest! {
        #[suite::test]
        fn same_as_naive(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            prop_assert_eq!(Sum::of(&bytes).finish(), naive(&bytes));
        }

        #[suite::test]
        fn parts_of_any_length(parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..90), 0..8)) {
            let sum = Sum::of_parts(parts.iter().map(Vec::as_slice));
            prop_assert_eq!(sum.finish(), naive(&parts.concat()));
        }

        #[suite::test]
        fn integers(a: u16, b: u32) {
            let bytes = [&a.to_be_bytes()[..], &b.to_be_bytes()].concat();
            prop_assert_eq!(Sum::ZERO.with_u16(a).with_u32(b).finish(), naive(&bytes));
        }

        #[suite::test]
        fn update_is_recomputation(mut bytes in proptest::collection::vec(any::<u8>(), 8..80), at: usize, new: u32) {
            bytes[0] |= 1; // a packet is never all zeros
            let before = naive(&bytes);
            let at = (2 + at % (bytes.len() - 5)) & !1;
            let old = u32::from_be_bytes(*bytes[at..].first_chunk().unwrap());
            let mut after = bytes.clone();
            after[at..at + 4].copy_from_slice(&new.to_be_bytes());
            prop_assert_eq!(update32(before, old, new), naive(&after));
            let (removed, added) = (Sum::of(&bytes[at..]), Sum::of(&after[at..]));
            prop_assert_eq!(update(before, removed, added), naive(&after));
            let mut half = bytes.clone();
            half[at..at + 2].copy_from_slice(&(new as u16).to_be_bytes());
            prop_assert_eq!(update16(before, (old >> 16) as u16, new as u16), naive(&half));
        }

        #[suite::test]
        fn udp_zero_is_special(checksum: u16, old: u16, new: u16) {
            let updated = update_udp(checksum, Sum::ZERO.with_u16(old), Sum::ZERO.with_u16(new));
            prop_assert_eq!(updated == 0, checksum == 0);
        }

        #[suite::test]
        fn a_packet_with_its_checksum_is_valid(mut bytes in proptest::collection::vec(any::<u8>(), 20..90), flip: u16) {
            bytes[10..12].fill(0);
            bytes[0] |= 1;
            let checksum = Sum::of(&bytes).finish();
            bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
            prop_assert!(Sum::of(&bytes).is_valid());
            let bit = usize::from(flip) % (bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!Sum::of(&bytes).is_valid());
        }
    }
}

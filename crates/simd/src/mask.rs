// SPDX-License-Identifier: Apache-2.0
//! Sets of up to 256 packets of a frame: bit `i % 64` of word `i / 64` stands for packet `i`.

/// The first `n` packets (all 256 if `n` is larger).
#[inline(always)]
pub fn first_n(n: usize) -> [u64; 4] {
    core::array::from_fn(|w| match n.saturating_sub(w * 64) {
        0 => 0,
        rest @ 1..64 => (1 << rest) - 1,
        _ => !0,
    })
}

/// The lowest packet of the set.
#[inline(always)]
pub fn first_set(mask: &[u64; 4]) -> Option<usize> {
    (0..4).find(|&w| mask[w] != 0).map(|w| w * 64 + mask[w].trailing_zeros() as usize)
}

/// Number of packets in the set.
#[inline(always)]
pub fn count(mask: &[u64; 4]) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
}

/// Returns true if the set is empty.
#[inline(always)]
pub fn is_empty(mask: &[u64; 4]) -> bool {
    mask[0] | mask[1] | mask[2] | mask[3] == 0
}

/// Intersection of both sets.
#[inline(always)]
pub fn and(a: &[u64; 4], b: &[u64; 4]) -> [u64; 4] {
    core::array::from_fn(|w| a[w] & b[w])
}

/// Union of both sets.
#[inline(always)]
pub fn or(a: &[u64; 4], b: &[u64; 4]) -> [u64; 4] {
    core::array::from_fn(|w| a[w] | b[w])
}

/// Packets in `a` and not in `b`.
#[inline(always)]
pub fn and_not(a: &[u64; 4], b: &[u64; 4]) -> [u64; 4] {
    core::array::from_fn(|w| a[w] & !b[w])
}

/// The packets of the set, ascending.
#[inline(always)]
pub fn bits(mask: &[u64; 4]) -> Bits {
    Bits { mask: *mask, word: 0 }
}

/// Iterator of [`bits`].
#[derive(Clone, Debug)]
pub struct Bits {
    mask: [u64; 4],
    word: usize,
}

impl Iterator for Bits {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while let Some(rest) = self.mask.get_mut(self.word) {
            if *rest != 0 {
                let bit = rest.trailing_zeros() as usize;
                *rest &= *rest - 1;
                return Some(self.word * 64 + bit);
            }
            self.word += 1;
        }
        None
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[suite::test]
        fn as_sets(a in any::<[u64; 4]>(), b in any::<[u64; 4]>(), sparse in any::<[u8; 4]>()) {
            let a: [u64; 4] = core::array::from_fn(|w| if sparse[w] & 1 == 0 { 0 } else { a[w] });
            let set = |m: &[u64; 4]| (0..256).filter(|i| m[i / 64] >> (i % 64) & 1 == 1).collect::<BTreeSet<_>>();
            prop_assert_eq!(bits(&a).collect::<Vec<_>>(), set(&a).into_iter().collect::<Vec<_>>());
            prop_assert_eq!(first_set(&a), set(&a).first().copied());
            prop_assert_eq!(count(&a), set(&a).len());
            prop_assert_eq!(is_empty(&a), set(&a).is_empty());
            prop_assert_eq!(set(&and(&a, &b)), &set(&a) & &set(&b));
            prop_assert_eq!(set(&or(&a, &b)), &set(&a) | &set(&b));
            prop_assert_eq!(set(&and_not(&a, &b)), &set(&a) - &set(&b));
        }
    }

    #[suite::test]
    fn first_n_at_every_length() {
        for n in 0..=256 {
            assert!(bits(&first_n(n)).eq(0..n), "{n}");
        }
        assert_eq!(first_n(1000), [!0; 4]);
        assert_eq!(first_set(&[0; 4]), None);
    }
}

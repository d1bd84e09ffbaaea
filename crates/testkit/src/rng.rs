// SPDX-License-Identifier: Apache-2.0
//! Reproducible random numbers.

/// xorshift64* (Vigna 2016, "An experimental exploration of Marsaglia's xorshift generators,
/// scrambled"): the same seed gives the same numbers on every machine, for ever.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Starts from `seed`; any value will do.
    pub fn new(seed: u64) -> Self {
        // zero is the one state that never changes
        Self(if seed == 0 { 0x9e37_79b9_7f4a_7c15 } else { seed })
    }

    /// 64 random bits.
    #[allow(clippy::should_implement_trait)] // an endless iterator would only need unwrapping
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`; 0 if `n` is 0. (The bias of n / 2^32 doesn't matter to a test.)
    pub fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 32) as usize * n) >> 32
    }

    /// True once in `n` on average.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn reproducible_and_in_range() {
        let (mut a, mut b) = (Rng::new(7), Rng::new(7));
        assert!((0..100).all(|_| a.next() == b.next()));
        assert_ne!(Rng::new(1).next(), Rng::new(2).next());
        assert_ne!(Rng::new(0).next(), 0);
        let mut seen = [0; 10];
        for _ in 0..10_000 {
            seen[a.below(10)] += 1;
        }
        assert!(seen.iter().all(|&n| (800..1200).contains(&n)), "{seen:?}");
        assert_eq!(a.below(0), 0);
        let mut bytes = [0; 13];
        a.fill(&mut bytes);
        assert_ne!(bytes[8..], [0; 5]);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Hashes of keys that depend on a secret.

use crate::fold;

/// 2⁶⁴ divided by the golden ratio, and the fraction of the square root of 2.
const ODD: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0x6a09_e667_f3bc_c909];

/// Mixes the words of a key into a hash. A sender that doesn't know the seed can't make keys whose
/// hashes are alike: the seed gives both the first state and the factor of all multiplications.
#[derive(Clone, Copy, Debug)]
pub struct Mixer {
    state: u64,
    factor: u64,
}

impl Mixer {
    /// Returns the mixer of a seed.
    pub const fn new(seed: u64) -> Self {
        let state = fold(seed ^ ODD[0], ODD[1]);
        Self { state, factor: fold(seed ^ ODD[1], state | 1) | 1 }
    }

    /// Returns this mixer with one more word.
    #[inline(always)]
    #[must_use]
    pub const fn add(self, word: u64) -> Self {
        Self { state: fold(self.state ^ word, self.factor), ..self }
    }

    /// Returns this mixer with the bytes of an address: 4 or 16.
    #[inline(always)]
    #[must_use]
    pub fn add_bytes(mut self, bytes: &[u8]) -> Self {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self = self.add(u64::from_le_bytes(word));
        }
        self
    }

    /// Returns the hash of all words. All its bits are equally good.
    #[inline(always)]
    pub const fn hash(self) -> u64 {
        fold(self.state ^ ODD[0], self.factor)
    }
}

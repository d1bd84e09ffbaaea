// SPDX-License-Identifier: Apache-2.0
//! Choice among weighted entries in constant time: alias tables (Walker 1977, Vose 1991).

/// A table of weights.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AliasTable {
    /// For each entry, the part of its column that is its own, of [`WHOLE`], and the entry that has
    /// the rest.
    columns: Vec<(u32, u32)>,
}

/// A whole column.
const WHOLE: u64 = 1 << 32;

impl AliasTable {
    /// Makes the table of these weights; without any that isn't 0, all entries are alike.
    pub fn new(weights: &[u32]) -> Self {
        let n = weights.len() as u64;
        let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        let part = |weight: u32| {
            if total == 0 {
                WHOLE
            } else {
                (u128::from(weight) * u128::from(n) * u128::from(WHOLE) / u128::from(total)) as u64
            }
        };
        let mut parts: Vec<u64> = weights.iter().map(|weight| part(*weight)).collect();
        let mut columns: Vec<_> = (0..n as u32).map(|at| (u32::MAX, at)).collect();
        let (mut small, mut large): (Vec<_>, Vec<_>) =
            (0..parts.len()).partition(|at| parts[*at] < WHOLE);
        while let (Some(low), Some(high)) = (small.pop(), large.last().copied()) {
            columns[low] = (parts[low] as u32, high as u32);
            parts[high] -= WHOLE - parts[low];
            if parts[high] < WHOLE {
                large.pop();
                small.push(high);
            }
        }
        Self { columns }
    }

    /// Returns the entry of a random number; `None` if there are none.
    #[inline(always)]
    pub fn pick(&self, random: u64) -> Option<u32> {
        let n = self.columns.len() as u64;
        let at = ((random >> 32) * n) >> 32;
        let (own, other) = *self.columns.get(at as usize)?;
        Some(if own == u32::MAX || (random as u32) < own { at as u32 } else { other })
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use tables::Mixer;

    /// Entries come as often as their weights say, and those of weight 0 don't.
    #[suite::test]
    fn entries_come_by_their_weights() {
        for weights in [&[1_u32][..], &[70, 30], &[1, 0, 255, 3], &[10; 7], &[1, 2, 3, 4, 5, 0]] {
            let table = AliasTable::new(weights);
            let mut counts = vec![0_u32; weights.len()];
            for n in 0..100_000 {
                let at = table.pick(Mixer::new(3).add(n).hash()).expect("an entry");
                counts[at as usize] += 1;
            }
            let total: u32 = weights.iter().sum();
            for (count, weight) in counts.iter().zip(weights) {
                let want = f64::from(*weight) / f64::from(total);
                let is = f64::from(*count) / 100_000.0;
                assert!((want - is).abs() < 0.01, "{weights:?}: {counts:?}");
                assert!(*weight > 0 || *count == 0, "{weights:?}: {counts:?}");
            }
        }
        assert_eq!(AliasTable::new(&[]).pick(7), None);
        assert_eq!(AliasTable::new(&[0, 0]).pick(u64::MAX), Some(1));
    }
}

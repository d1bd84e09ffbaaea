// SPDX-License-Identifier: Apache-2.0
//! Turns the weights of an ECMP group into numbers of buckets.

/// Maximum number of buckets, for any number of paths.
const MAX_BUCKETS: usize = 1 << 12;

/// Number of buckets of each path: their sum is a power of two, and the shares are within 1/16 of
/// the weights' shares (or as near as [`MAX_BUCKETS`] allows). Every path gets at least one while
/// there are enough.
pub(super) fn spread(weights: &[u32]) -> Vec<usize> {
    let total: u64 = weights.iter().map(|w| u64::from(*w).max(1)).sum();
    let mut size = weights.len().next_power_of_two();
    loop {
        let counts = apportion(weights, total, size);
        // A path may be off by 1/16 of its due share.
        let near = counts.iter().zip(weights).all(|(count, weight)| {
            let due = u64::from(*weight).max(1) * size as u64;
            let got = *count as u64 * total;
            got.abs_diff(due) * 16 <= due
        });
        if near || size >= MAX_BUCKETS {
            return counts;
        }
        size *= 2;
    }
}

/// Largest-remainder method, with at least one bucket for each path.
fn apportion(weights: &[u32], total: u64, size: usize) -> Vec<usize> {
    let due = |w: &u32| u64::from(*w).max(1) * size as u64;
    let mut counts: Vec<usize> =
        weights.iter().map(|w| ((due(w) / total) as usize).max(1)).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    // Largest remainder first.
    order.sort_by_key(|i| {
        std::cmp::Reverse(due(&weights[*i]) as i64 - (counts[*i] as u64 * total) as i64)
    });
    let mut used: usize = counts.iter().sum();
    for i in order.iter().cycle() {
        if used >= size {
            break;
        }
        counts[*i] += 1;
        used += 1;
    }
    while used > size {
        let Some(most) = counts.iter_mut().max() else { break };
        *most -= 1;
        used -= 1;
    }
    counts
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[suite::test]
    fn equal_and_unequal() {
        assert_eq!(spread(&[1]), [1]);
        assert_eq!(spread(&[1, 1]), [1, 1]);
        assert_eq!(spread(&[3, 1]), [3, 1]);
        assert_eq!(spread(&[1, 1, 1]).iter().sum::<usize>(), 32);
        assert_eq!(spread(&[0, 0]), [1, 1]);
    }

    proptest! {
        #[suite::test]
        fn nobody_goes_without_and_shares_are_near(weights in prop::collection::vec(0u32..=255, 1..64)) {
            let counts = spread(&weights);
            let size: usize = counts.iter().sum();
            prop_assert!(size.is_power_of_two() && size <= MAX_BUCKETS);
            prop_assert!(counts.iter().all(|c| *c >= 1));
            let total: f64 = weights.iter().map(|w| f64::from((*w).max(1))).sum();
            for (count, weight) in counts.iter().zip(&weights) {
                let want = f64::from((*weight).max(1)) / total;
                let got = *count as f64 / size as f64;
                prop_assert!((got - want).abs() <= want / 16.0 + 1.0 / size as f64, "{} of {}: {got} for {want}", count, size);
            }
        }
    }
}

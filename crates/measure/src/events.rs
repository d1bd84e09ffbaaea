// SPDX-License-Identifier: Apache-2.0
//! Times of events: recovery from overload, reset, and reconfiguration.

/// Recovery time (RFC 2544, 26.5): from the reduction of the load to the last lost frame, both in
/// seconds on the same clock. 0 if no frame was lost after the reduction.
///
/// `lost` are the times at which the lost frames were sent.
pub fn recovery_time(reduced_at: f64, lost: &[f64]) -> f64 {
    let last = lost.iter().copied().filter(|t| t.is_finite()).fold(reduced_at, f64::max);
    last - reduced_at
}

/// Reset time by timestamps (RFC 6201): the longest gap between two consecutive arrivals,
/// less the interval at which frames are sent. `arrivals` are in ascending order, in seconds.
/// None if fewer than two frames arrived.
pub fn reset_time_by_timestamps(arrivals: &[f64], interval: f64) -> Option<f64> {
    let gaps = arrivals.windows(2).map(|pair| pair[1] - pair[0]);
    let longest = gaps.fold(None, |most: Option<f64>, gap| Some(most.map_or(gap, |m| m.max(gap))));
    longest.map(|gap| (gap - interval).max(0.0))
}

/// Reset time by frame loss (RFC 6201), and the time for which a change of the
/// configuration blocked traffic: lost frames / offered rate, in seconds. None unless the rate is
/// positive.
pub fn time_by_loss(lost: u64, rate: f64) -> Option<f64> {
    (rate > 0.0 && rate.is_finite()).then(|| lost as f64 / rate)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn recovery_ends_with_the_last_lost_frame() {
        assert_eq!(recovery_time(60.0, &[59.0, 60.25, 60.125]), 0.25);
        assert_eq!(recovery_time(60.0, &[1.0, 59.9]), 0.0);
        assert_eq!(recovery_time(60.0, &[]), 0.0);
    }

    #[suite::test]
    fn a_reset_is_the_longest_gap() {
        let mut arrivals: Vec<f64> = (0..1000).map(|i| f64::from(i) * 0.001).collect();
        arrivals.drain(300..800);
        let by_time = reset_time_by_timestamps(&arrivals, 0.001).unwrap();
        let by_loss = time_by_loss(500, 1000.0).unwrap();
        assert!((by_time - 0.5).abs() < 1e-9);
        assert_eq!(by_loss, 0.5);
        assert_eq!(reset_time_by_timestamps(&[1.0], 0.1), None);
        assert_eq!(time_by_loss(1, 0.0), None);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Statistics of repeated measurements, and figures derived from them.

use serde::{Deserialize, Serialize};

/// Statistics of a series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Median: the middle value, or the mean of the two middle ones.
    pub median: f64,
    /// Least value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of a sample (divisor n − 1); 0 for one value.
    pub stdev: f64,
    /// (max − min) / median · 100 %, in per cent. None if the median is 0.
    pub dispersion: Option<f64>,
    /// 1st percentile.
    pub p1: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Interval that holds the median with a probability of at least 95 %. None if there are too
    /// few values: fewer than six.
    pub median_ci95: Option<(f64, f64)>,
}

impl Summary {
    /// Statistics of the values; None if there is none. Values that aren't finite are left out.
    pub fn of(values: &[f64]) -> Option<Summary> {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let n = sorted.len();
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares = sorted.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        let median = median_of(&sorted);
        let interval = median_ranks(n, 0.95).map(|(low, high)| (sorted[low - 1], sorted[high - 1]));
        Some(Summary {
            n,
            median,
            min,
            max,
            mean,
            stdev: if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 },
            dispersion: dispersion(min, max, median),
            p1: percentile_of(&sorted, 1.0),
            p99: percentile_of(&sorted, 99.0),
            median_ci95: interval,
        })
    }
}

fn median_of(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    match n % 2 {
        1 => sorted[n / 2],
        _ => sorted[n / 2 - 1].midpoint(sorted[n / 2]),
    }
}

/// Percentile of sorted values by linear interpolation between the neighbouring ranks.
fn percentile_of(sorted: &[f64], percent: f64) -> f64 {
    let at = percent / 100.0 * (sorted.len() - 1) as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64)
}

/// (max − min) / median · 100 %. None if the median is 0.
pub fn dispersion(min: f64, max: f64, median: f64) -> Option<f64> {
    (median != 0.0).then(|| (max - min) / median * 100.0)
}

/// Ranks, counted from 1, of the order statistics that enclose the median of the distribution
/// with at least this probability: the number of values below the median is binomial with p = ½.
/// None if even the extremes don't.
pub fn median_ranks(n: usize, confidence: f64) -> Option<(usize, usize)> {
    let tail = (1.0 - confidence) / 2.0;
    // Probability of exactly k values below the median, from logarithms: ½ⁿ underflows early.
    let mut log = -(n as f64) * std::f64::consts::LN_2;
    let mut below = log.exp();
    if n == 0 || below > tail {
        return None;
    }
    let mut rank = 1;
    for k in 1..n.div_ceil(2) {
        log += ((n - k + 1) as f64 / k as f64).ln();
        below += log.exp();
        if below > tail {
            break;
        }
        rank = k + 1;
    }
    Some((rank, n + 1 - rank))
}

/// Relative scale-up S(n) = P(n) / (n · P(1)). None if it isn't defined.
pub fn scale_up(one: f64, cores: u32, many: f64) -> Option<f64> {
    ratio(many, f64::from(cores) * one)
}

/// Rate relative to the rate of half as many cores.
pub fn relative_to_half(half: f64, rate: f64) -> Option<f64> {
    ratio(rate, half)
}

/// Clocks that cores at `hz` spend on each packet: cores · hz / rate.
pub fn clocks_per_packet(cores: f64, hz: f64, packets_per_second: f64) -> Option<f64> {
    ratio(cores * hz, packets_per_second)
}

/// Packets per second of CPU time.
pub fn packets_per_cpu_second(packets: u64, cpu_seconds: f64) -> Option<f64> {
    ratio(packets as f64, cpu_seconds)
}

fn ratio(over: f64, under: f64) -> Option<f64> {
    let value = over / under;
    (under > 0.0 && value.is_finite()).then_some(value)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn rounds(value: Option<f64>, digits: i32, expected: f64) {
        let value = value.expect("defined");
        let scale = 10f64.powi(digits);
        assert_eq!((value * scale).round() / scale, expected, "{value}");
    }

    /// Known answers: Kosák and Lencse, 2025.
    #[suite::test]
    fn published_answers() {
        rounds(dispersion(442_352.0, 443_848.0, 442_782.0), 2, 0.34);
        rounds(scale_up(442_782.0, 12, 3_923_150.0), 4, 0.7384);
        rounds(scale_up(728_805.0, 16, 6_505_859.0), 4, 0.5579);
    }

    #[suite::test]
    fn a_known_series() {
        let s = Summary::of(&[4.0, 1.0, 3.0, 2.0, f64::NAN]).unwrap();
        assert_eq!((s.n, s.median, s.min, s.max, s.mean), (4, 2.5, 1.0, 4.0, 2.5));
        rounds(Some(s.stdev), 6, 1.290994);
        rounds(s.dispersion, 6, 120.0);
        rounds(Some(s.p1), 6, 1.03);
        rounds(Some(s.p99), 6, 3.97);
        assert_eq!(s.median_ci95, None);
        assert_eq!(Summary::of(&[]), None);
        let one = Summary::of(&[5.0]).unwrap();
        assert_eq!((one.median, one.stdev, one.p1, one.p99), (5.0, 0.0, 5.0, 5.0));
        assert_eq!(Summary::of(&[0.0, 0.0]).unwrap().dispersion, None);
    }

    /// Ranks of the tables of order statistics (Conover, Practical Nonparametric Statistics).
    #[suite::test]
    fn ranks_of_the_median() {
        assert_eq!(median_ranks(5, 0.95), None);
        assert_eq!(median_ranks(6, 0.95), Some((1, 6)));
        assert_eq!(median_ranks(8, 0.95), Some((1, 8)));
        assert_eq!(median_ranks(9, 0.95), Some((2, 8)));
        assert_eq!(median_ranks(10, 0.95), Some((2, 9)));
        assert_eq!(median_ranks(20, 0.95), Some((6, 15)));
        assert_eq!(median_ranks(100, 0.95), Some((40, 61)));
        assert!(median_ranks(100_000, 0.95).is_some());
    }

    #[suite::test]
    fn derived_figures() {
        assert_eq!(clocks_per_packet(1.0, 3e9, 1e7), Some(300.0));
        assert_eq!(clocks_per_packet(1.0, 3e9, 0.0), None);
        assert_eq!(packets_per_cpu_second(1000, 0.5), Some(2000.0));
        assert_eq!(relative_to_half(4.0, 7.0), Some(1.75));
        assert_eq!(scale_up(0.0, 2, 1.0), None);
    }
}

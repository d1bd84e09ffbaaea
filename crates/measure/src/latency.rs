// SPDX-License-Identifier: Apache-2.0
//! Latency of frames, as an HDR histogram in nanoseconds, and the delay variation that follows.

use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Largest latency that is recorded in full, one minute; longer ones are recorded as this.
const LONGEST_NS: u64 = 60_000_000_000;

/// Decimal digits that the histogram keeps of each value.
const DIGITS: u8 = 3;

/// Histogram of latencies in nanoseconds, with three significant digits.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency {
    histogram: Histogram<u64>,
}

impl Default for Latency {
    fn default() -> Latency {
        Latency::new()
    }
}

impl Latency {
    /// Empty histogram.
    pub fn new() -> Latency {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        Latency { histogram: histogram.expect("constant bounds are in order") }
    }

    /// Records one latency. Values above one minute are recorded as one minute, 0 as 1 ns.
    pub fn record(&mut self, nanoseconds: u64) {
        self.record_many(nanoseconds, 1);
    }

    /// Records the same latency `n` times.
    pub fn record_many(&mut self, nanoseconds: u64, n: u64) {
        let _ = self.histogram.record_n(nanoseconds.clamp(1, LONGEST_NS), n);
    }

    /// Adds the latencies of another histogram, for instance of another thread.
    pub fn merge(&mut self, other: &Latency) {
        let _ = self.histogram.add(&other.histogram);
    }

    /// Number of latencies.
    pub fn n(&self) -> u64 {
        self.histogram.len()
    }

    /// True if no latency was recorded.
    pub fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    /// Latency that `percent` of the frames don't exceed, in nanoseconds; 0 if there is none.
    pub fn percentile(&self, percent: f64) -> u64 {
        if self.is_empty() { 0 } else { self.histogram.value_at_percentile(percent) }
    }

    /// Typical latency by RFC 8219, 7.2: the median.
    pub fn typical(&self) -> u64 {
        self.percentile(50.0)
    }

    /// Worst-case latency by RFC 8219, 7.2: the 99.9th percentile.
    pub fn worst_case(&self) -> u64 {
        self.percentile(99.9)
    }

    /// Least latency; 0 if there is none.
    pub fn min(&self) -> u64 {
        if self.is_empty() { 0 } else { self.histogram.min() }
    }

    /// Largest latency; 0 if there is none.
    pub fn max(&self) -> u64 {
        if self.is_empty() { 0 } else { self.histogram.max() }
    }

    /// Mean in nanoseconds; 0 if there is none.
    pub fn mean(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.histogram.mean() }
    }

    /// Standard deviation in nanoseconds; 0 if there is none.
    pub fn stdev(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.histogram.stdev() }
    }

    /// Packet delay variation by RFC 8219, 7.3.1: D99.9 − Dmin.
    pub fn pdv(&self) -> u64 {
        self.worst_case() - self.min().min(self.worst_case())
    }

    /// Recorded values with their counts, in ascending order: the highest value of each cell of
    /// the histogram that isn't empty.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        let cells = self.histogram.iter_recorded();
        cells.map(|c| (c.value_iterated_to(), c.count_since_last_iteration())).collect()
    }
}

/// JSON form: a summary for readers, and the cells from which a program restores the histogram.
#[derive(Serialize, Deserialize)]
struct Form {
    n: u64,
    min_ns: u64,
    median_ns: u64,
    mean_ns: f64,
    stdev_ns: f64,
    p90_ns: u64,
    p99_ns: u64,
    p99_9_ns: u64,
    max_ns: u64,
    buckets: Vec<(u64, u64)>,
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = Form {
            n: self.n(),
            min_ns: self.min(),
            median_ns: self.typical(),
            mean_ns: self.mean(),
            stdev_ns: self.stdev(),
            p90_ns: self.percentile(90.0),
            p99_ns: self.percentile(99.0),
            p99_9_ns: self.worst_case(),
            max_ns: self.max(),
            buckets: self.buckets(),
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Latency, D::Error> {
        let form = Form::deserialize(deserializer)?;
        let mut latency = Latency::new();
        for (value, n) in form.buckets {
            latency.record_many(value, n);
        }
        Ok(latency)
    }
}

/// Exact delays of the frames of one stream in the order in which they were sent, in nanoseconds.
/// Delay variation needs the order, which a histogram doesn't keep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delays {
    /// Delay of each frame that arrived.
    pub nanoseconds: Vec<u64>,
}

impl Delays {
    /// Histogram of the delays.
    pub fn latency(&self) -> Latency {
        let mut latency = Latency::new();
        self.nanoseconds.iter().for_each(|&d| latency.record(d));
        latency
    }

    /// Delay that `percent` of the frames don't exceed: the nearest rank, as siitperf takes it.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let mut sorted = self.nanoseconds.clone();
        sorted.sort_unstable();
        // 99.9 isn't exact in binary: a rank that is whole but for rounding stays whole.
        let rank = (percent / 100.0 * sorted.len() as f64 - 1e-6).ceil().max(1.0) as usize;
        sorted.get(rank.min(sorted.len()).checked_sub(1)?).copied()
    }

    /// Packet delay variation by RFC 8219, 7.3.1: D99.9 − Dmin. None without delays.
    pub fn pdv(&self) -> Option<u64> {
        Some(self.percentile(99.9)? - self.nanoseconds.iter().min()?)
    }

    /// Least, median and largest difference of consecutive delays, the three values that
    /// RFC 8219, 7.3.2, demands. None with fewer than two delays.
    pub fn ipdv_summary(&self) -> Option<Ipdv> {
        let mut sorted = self.ipdv();
        sorted.sort_unstable();
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        Some(Ipdv { min, median: sorted[(sorted.len() - 1) / 2], max })
    }

    /// Differences of the delays of consecutive frames (RFC 8219, 7.3.2; RFC 5481, 4.1).
    pub fn ipdv(&self) -> Vec<i64> {
        let difference = |pair: &[u64]| (pair[1] as i64).wrapping_sub(pair[0] as i64);
        self.nanoseconds.windows(2).map(difference).collect()
    }
}

/// Inter-packet delay variation of a stream, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipdv {
    /// Least difference; negative when a frame overtook the delay of the one before.
    pub min: i64,
    /// Median.
    pub median: i64,
    /// Largest difference.
    pub max: i64,
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn delays_have_exact_variation() {
        let delays = Delays { nanoseconds: (1..=1000).map(|i| i * 10).rev().collect() };
        assert_eq!(delays.percentile(50.0), Some(5000));
        assert_eq!(delays.percentile(99.9), Some(9990));
        assert_eq!(delays.pdv(), Some(9980));
        assert!(delays.ipdv().iter().all(|&d| d == -10));
        assert_eq!(delays.ipdv().len(), 999);
        let mixed = Delays { nanoseconds: vec![5, 9, 3, 3] };
        assert_eq!(mixed.ipdv_summary(), Some(Ipdv { min: -6, median: 0, max: 4 }));
        assert_eq!(Delays::default().ipdv_summary(), None);
        assert_eq!(Delays::default().pdv(), None);
        assert_eq!(Delays { nanoseconds: vec![7] }.pdv(), Some(0));
    }

    #[suite::test]
    fn a_histogram_survives_json() {
        let mut latency = Latency::new();
        (1..=100_000u64).for_each(|i| latency.record(i));
        latency.record(u64::MAX);
        latency.record(0);
        assert_eq!(latency.n(), 100_002);
        let text = serde_json::to_string(&latency).unwrap();
        let back: Latency = serde_json::from_str(&text).unwrap();
        assert_eq!(back.buckets(), latency.buckets());
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
        assert!(latency.typical().abs_diff(50_000) <= 50);
        assert!(latency.worst_case().abs_diff(99_900) <= 100);
    }

    #[suite::test]
    fn an_empty_histogram_has_zeros() {
        let empty = Latency::new();
        assert_eq!((empty.n(), empty.typical(), empty.pdv(), empty.min()), (0, 0, 0, 0));
        assert_eq!((empty.mean(), empty.stdev()), (0.0, 0.0));
        let text = serde_json::to_string(&empty).unwrap();
        assert_eq!(serde_json::from_str::<Latency>(&text).unwrap(), empty);
    }
}

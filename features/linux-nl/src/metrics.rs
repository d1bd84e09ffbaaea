// SPDX-License-Identifier: Apache-2.0
//! Metrics of the kernel, of 32 bits, as preferences of paths, of 8: the order is kept.

use std::collections::BTreeMap;

/// Preferences of the metrics that have come so far. They don't change until [`Metrics::spread`].
#[derive(Clone, Debug)]
pub struct Metrics(BTreeMap<u32, u8>);

impl Default for Metrics {
    fn default() -> Self {
        Self(BTreeMap::from([(0, 0), (u32::MAX, u8::MAX)]))
    }
}

impl Metrics {
    /// The preference of a metric; `None` if there is none left between those of the next metrics:
    /// then all have to be [`spread`](Self::spread).
    pub fn preference(&mut self, metric: u32) -> Option<u8> {
        if let Some(known) = self.0.get(&metric) {
            return Some(*known);
        }
        let below = self.0.range(..metric).next_back().map_or(0, |(_, preference)| *preference);
        let above = self.0.range(metric..).next().map_or(u8::MAX, |(_, preference)| *preference);
        // A small metric is its own preference: that is what people expect to see.
        let own = u8::try_from(metric).ok().filter(|own| below < *own && *own < above);
        let between = below + (above - below) / 2;
        let preference = own.or_else(|| (between > below).then_some(between))?;
        self.0.insert(metric, preference);
        Some(preference)
    }

    /// Gives all metrics, and this one, preferences with room between them. Routes have to be set
    /// anew. Of more than 254 metrics the highest have the same preference.
    pub fn spread(&mut self, metric: u32) {
        self.0.insert(metric, 0);
        let gaps = (self.0.len() - 1).max(1);
        for (at, preference) in self.0.values_mut().enumerate() {
            let even = if gaps <= u8::MAX.into() { at * usize::from(u8::MAX) / gaps } else { at };
            *preference = even.min(u8::MAX.into()) as u8;
        }
    }

    /// The metric of a preference.
    pub fn metric(&self, preference: u8) -> u32 {
        let of = self.0.iter().find(|(_, known)| **known == preference);
        of.map_or(preference.into(), |(metric, _)| *metric)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn the_order_of_metrics_is_kept() {
        let mut metrics = Metrics::default();
        let of = [1024, 20, 0, 110, 20, 256, 4_000_000_000, 100];
        let preferences: Vec<_> = of.iter().filter_map(|m| metrics.preference(*m)).collect();
        assert_eq!(preferences.len(), of.len());
        assert_eq!((preferences[1], preferences[3], preferences[7]), (20, 110, 100));
        for (a, pa) in of.iter().zip(&preferences) {
            for (b, pb) in of.iter().zip(&preferences) {
                assert_eq!(a.cmp(b), pa.cmp(pb), "{a} {b}");
            }
        }
    }

    #[suite::test]
    fn metrics_that_are_close_are_spread() {
        let mut metrics = Metrics::default();
        let full = (1000..).find(|metric| metrics.preference(*metric).is_none()).expect("full");
        metrics.spread(full);
        let all: Vec<_> = (1000..=full).filter_map(|m| metrics.preference(m)).collect();
        assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
        assert_eq!(metrics.metric(all[0]), 1000);
    }
}

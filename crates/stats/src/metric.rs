// SPDX-License-Identifier: Apache-2.0
//! Metrics: values of a segment, with names, labels and units for monitoring systems. Owners of
//! counters declare them.

mod series;

pub use series::{SERIES, Sample, Series, Snapshot};

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, but for `clear`. Its samples' names end in `_total`.
    Counter,
    /// It goes up and down.
    Gauge,
    /// It carries only labels; its samples' names end in `_info`.
    Info,
}

/// A metric. Its name, labels and unit are a contract with dashboards and alert rules.
#[derive(Debug)]
pub struct Metric {
    /// Without the exporter's prefix, unit and suffix.
    pub name: &'static str,
    /// Its unit, if it isn't just a number of things: the end of the name.
    pub unit: Option<&'static str>,
    /// Its kind.
    pub kind: Kind,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// Its description, in one sentence.
    pub help: &'static str,
    /// True if its values are thousandths of the unit.
    pub thousandths: bool,
    /// Fills in its series.
    pub fill: fn(&mut Series<'_>),
}

impl Metric {
    const fn new(
        kind: Kind,
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
        fill: fn(&mut Series<'_>),
    ) -> Metric {
        Metric { name, unit: None, kind, labels, help, thousandths: false, fill }
    }

    /// A metric that only grows.
    pub const fn counter(
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
        fill: fn(&mut Series<'_>),
    ) -> Metric {
        Metric::new(Kind::Counter, name, labels, help, fill)
    }

    /// A metric that goes up and down.
    pub const fn gauge(
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
        fill: fn(&mut Series<'_>),
    ) -> Metric {
        Metric::new(Kind::Gauge, name, labels, help, fill)
    }

    /// A metric that is all labels.
    pub const fn info(
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
        fill: fn(&mut Series<'_>),
    ) -> Metric {
        Metric::new(Kind::Info, name, labels, help, fill)
    }

    /// The same, in this unit.
    pub const fn unit(mut self, unit: &'static str) -> Metric {
        self.unit = Some(unit);
        self
    }

    /// The same, from a counter of thousandths of the unit.
    pub const fn thousandths(mut self) -> Metric {
        self.thousandths = true;
        self
    }
}

// SPDX-License-Identifier: Apache-2.0
//! A scrape's snapshot of the stats segment, and the series that metrics take from it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use crate::{Reader, Value};

/// Series of one metric at most: further series are counted only. Series at zero go first.
pub const SERIES: usize = 20_000;

/// A value of a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// In the order of the metric's labels.
    pub labels: Vec<String>,
    /// Its present value.
    pub value: u64,
}

/// A copy of what the metrics need of the segment.
#[derive(Debug)]
pub struct Snapshot {
    stats: BTreeMap<String, Value>,
}

impl Snapshot {
    /// Reads the entries of the segment whose names are `wanted`.
    ///
    /// # Errors
    /// As [`Reader::read`].
    pub fn read(reader: &Reader, wanted: impl Fn(&str) -> bool) -> io::Result<Self> {
        let all = reader.read(wanted)?;
        Ok(Self { stats: all.into_iter().map(|stat| (stat.name, stat.value)).collect() })
    }

    /// A scalar or gauge.
    pub fn value(&self, name: &str) -> Option<u64> {
        match self.stats.get(name)? {
            Value::Scalar(n) | Value::Gauge(n) => Some(*n),
            _ => None,
        }
    }

    /// Entries below a prefix, without it.
    fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let from = self.stats.range(prefix.to_string()..);
        from.map_while(move |(name, value)| Some((name.strip_prefix(prefix)?, value)))
    }

    fn names(&self, name: &str) -> &[String] {
        match self.stats.get(name) {
            Some(Value::Names(names)) => names,
            _ => &[],
        }
    }
}

/// The sum over threads of a column.
fn sum(value: &Value, column: usize, bytes: bool) -> u64 {
    match value {
        Value::Simple(rows) => rows.iter().filter_map(|row| row.get(column)).sum(),
        Value::Combined(rows) => {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| if bytes { cell.1 } else { cell.0 }).sum()
        }
        _ => 0,
    }
}

/// A thread as the label `worker`: `main`, which carries packets where there are no workers, then
/// `wk_0` and so on.
fn worker(thread: usize) -> String {
    thread.checked_sub(1).map_or("main".into(), |worker| format!("wk_{worker}"))
}

/// The series of a metric, as they are found.
#[derive(Debug)]
pub struct Series<'a> {
    from: &'a Snapshot,
    /// The samples found.
    pub samples: Vec<Sample>,
}

impl<'a> Series<'a> {
    /// None yet.
    pub fn new(from: &'a Snapshot) -> Self {
        Self { from, samples: Vec::new() }
    }

    /// Keeps to the limit; gives how many didn't.
    pub fn limit(&mut self) -> u64 {
        let over = self.samples.len().saturating_sub(SERIES);
        if over > 0 {
            self.samples.sort_by_key(|sample| Reverse(sample.value != 0));
            self.samples.truncate(SERIES);
        }
        over as u64
    }

    /// Adds a sample.
    pub fn push(&mut self, labels: impl IntoIterator<Item = impl Into<String>>, value: u64) {
        let labels = labels.into_iter().map(Into::into).collect();
        self.samples.push(Sample { labels, value });
    }

    /// A scalar or gauge, with these labels.
    pub fn scalar(&mut self, name: &str, labels: &[&str]) {
        if let Some(value) = self.from.value(name) {
            self.push(labels.iter().copied(), value);
        }
    }

    /// A row of a value for each thread, by `worker`.
    pub fn by_thread(&mut self, name: &str) {
        if let Some(Value::Simple(rows)) = self.from.stats.get(name) {
            for (thread, value) in rows.iter().flatten().enumerate() {
                self.push([worker(thread)], *value);
            }
        }
    }

    /// A vector by receiving thread, summed over the senders, by `worker`.
    pub fn by_receiver(&mut self, name: &str) {
        if let Some(value @ Value::Simple(rows)) = self.from.stats.get(name) {
            for thread in 0..rows.len() {
                self.push([worker(thread)], sum(value, thread, false));
            }
        }
    }

    /// A vector by interface: `interface`, then these labels. Of a combined one its packets, or its
    /// bytes.
    pub fn by_interface(&mut self, name: &str, bytes: bool, labels: &[&str]) {
        let Some(value) = self.from.stats.get(name) else { return };
        for (i, interface) in self.from.names("/if/names").iter().enumerate() {
            if !interface.is_empty() {
                self.push([interface.as_str()].iter().chain(labels).copied(), sum(value, i, bytes));
            }
        }
    }

    /// The same, of interfaces that have counted anything.
    pub fn by_active_interface(&mut self, name: &str, labels: &[&str]) {
        let first = self.samples.len();
        self.by_interface(name, false, labels);
        let new = self.samples.split_off(first);
        self.samples.extend(new.into_iter().filter(|sample| sample.value != 0));
    }

    /// A node counter: `node` and `worker`, where the node has run.
    pub fn by_node(&mut self, name: &str) {
        let stats = &self.from.stats;
        let (Some(Value::Simple(rows)), Some(Value::Simple(calls))) =
            (stats.get(name), stats.get("/sys/node/calls"))
        else {
            return;
        };
        for (thread, (row, calls)) in rows.iter().zip(calls).enumerate() {
            for (i, node) in self.from.names("/sys/node/names").iter().enumerate() {
                if let (Some(value), Some(1..)) = (row.get(i), calls.get(i)) {
                    self.push([node.clone(), worker(thread)], *value);
                }
            }
        }
    }

    /// Ways out of nodes: `node`, `reason`, `severity` (`error` where packets are lost, else
    /// `info`), and the `text` that `show errors` has for it.
    pub fn by_reason(&mut self) {
        let from = self.from;
        let [names, severities, texts] =
            ["names", "severities", "texts"].map(|part| from.names(&format!("/sys/error/{part}")));
        for (name, (severity, text)) in names.iter().zip(severities.iter().zip(texts)) {
            let value = from.stats.get(&format!("/err/{name}"));
            if let (Some((node, reason)), Some(value)) = (name.split_once('/'), value) {
                self.push([node, reason, severity, text], value.total());
            }
        }
    }

    /// Entries below a prefix: the rest of the name, before these labels.
    pub fn by_part(&mut self, prefix: &str, labels: &[&str]) {
        for (part, value) in self.from.below(prefix) {
            self.push([part].iter().chain(labels).copied(), value.total());
        }
    }

    /// `/PREFIX/WHAT/STATE`: labels `WHAT` and `STATE`, of these states.
    pub fn by_state(&mut self, prefix: &str, states: &[&str]) {
        for (name, value) in self.from.below(prefix) {
            if let Some((what, state)) = name.rsplit_once('/')
                && states.contains(&state)
            {
                self.push([what, state], value.total());
            }
        }
    }

    /// A vector by interface and kind, where it has counted anything: `interface`, these labels,
    /// then the kind, which is the name's next part below the prefix.
    pub fn by_interface_and_part(&mut self, prefix: &str, labels: &[&str]) {
        let from = self.from;
        for (part, _) in from.below(prefix) {
            let labels: Vec<_> = labels.iter().copied().chain([part]).collect();
            self.by_active_interface(&format!("{prefix}{part}"), &labels);
        }
    }

    /// A name for each interface: `interface`, these labels, and the name.
    pub fn by_interface_name(&mut self, name: &str, labels: &[&str]) {
        let from = self.from;
        for (interface, name) in from.names("/if/names").iter().zip(from.names(name)) {
            if !interface.is_empty() && !name.is_empty() {
                self.push(
                    [interface.as_str()].iter().chain(labels).copied().chain([name.as_str()]),
                    1,
                );
            }
        }
    }
}

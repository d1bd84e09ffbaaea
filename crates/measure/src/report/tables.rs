// SPDX-License-Identifier: Apache-2.0
//! Tables of a report.

use std::collections::BTreeMap;

use super::format::{PERCENTILES, digits, percent, rounded, unit_name, value};
use super::labels::{Attribute, Labels, parameters, size, text};
use super::{Table, grouped, nanoseconds, significant};
use crate::stats::{Summary, clocks_per_packet, packets_per_cpu_second};
use crate::{Measurement, Outcome, Results, Series};

/// Cells that name a measurement: device and traffic.
const WHERE: [&str; 7] =
    ["Device", "Family", "Size with FCS", ">Cores", ">Address pairs", "Directions", "Parameters"];

fn place(m: &Measurement, labels: &Labels) -> Vec<String> {
    let shown = |attribute, cell: String| match labels.differ(attribute) {
        true => cell,
        false => String::new(),
    };
    vec![
        m.device.clone(),
        m.family.to_string(),
        size(m.size),
        shown(Attribute::Cores, m.cores.to_string()),
        shown(Attribute::Flows, grouped(m.flows as f64)),
        shown(Attribute::Directions, text(m, Attribute::Directions)),
        shown(Attribute::Parameters, parameters(m)),
    ]
}

fn columns<'a>(further: &[&'a str]) -> Vec<&'a str> {
    WHERE.iter().chain(further).copied().collect()
}

fn all_labels(results: &Results) -> Labels {
    Labels::of(results.measurements.iter())
}

fn marks(m: &Measurement) -> String {
    let mut texts: Vec<String> = m.marks.iter().map(ToString::to_string).collect();
    match &m.outcome {
        Outcome::Done => {}
        Outcome::Interrupted => texts.push("interrupted".into()),
        Outcome::Failed { reason } => texts.push(format!("failed: {reason}")),
    }
    let invalid = m.invalid_trials();
    if invalid > 0 {
        let s = if invalid == 1 { "" } else { "s" };
        texts.push(format!("{invalid} invalid trial{s}"));
    }
    texts.join("; ")
}

/// Statistics of every series, in the columns of the papers.
pub(super) fn series(results: &Results) -> Table {
    let labels = all_labels(results);
    let head = columns(&[
        "Figure",
        "~Marks",
        ">n",
        ">Median",
        ">95 % interval",
        ">Minimum",
        ">Maximum",
        ">Dispersion",
        ">Median, total",
    ]);
    let caption = "Results. Rates are frames/s per direction; the total is over all directions. \
                   The dispersion is (maximum − minimum) / median.";
    let mut table = Table::new(caption, &head);
    for m in &results.measurements {
        if m.series.is_empty() && (m.outcome != Outcome::Done || !m.marks.is_empty()) {
            let mut row = place(m, &labels);
            row.extend([m.mode.to_string(), marks(m)]);
            table.row(row);
        }
        for s in &m.series {
            let mut row = place(m, &labels);
            row.extend([name(m, s), marks(m)]);
            let v = |x: f64| value(x, &s.unit);
            if let Some(Summary { n, median, min, max, dispersion, median_ci95, .. }) = s.summary()
            {
                let interval = median_ci95.map(|(low, high)| format!("{} – {}", v(low), v(high)));
                let total = s.unit == "pps" && m.directions.len() > 1;
                let total = total.then(|| v(median * m.directions.len() as f64));
                row.extend([n.to_string(), v(median)]);
                row.push(interval.unwrap_or("–".into()));
                row.extend([v(min), v(max)]);
                row.push(dispersion.map_or("–".into(), |d| format!("{d:.2} %")));
                row.push(total.unwrap_or_default());
            } else {
                row.push("0".into());
            }
            table.row(row);
        }
    }
    table.without_empty_columns()
}

/// Further statistics of every series.
pub(super) fn spread(results: &Results) -> Table {
    let labels = all_labels(results);
    let head =
        ["Figure", ">n", ">Mean", ">Standard deviation", ">1st percentile", ">99th percentile"];
    let mut table = Table::new("Further statistics of the results.", &columns(&head));
    for m in &results.measurements {
        for s in &m.series {
            let Some(Summary { n, mean, stdev, p1, p99, .. }) = s.summary() else { continue };
            let mut row = place(m, &labels);
            row.extend([name(m, s), n.to_string()]);
            row.extend([mean, stdev].map(|x| value(x, &s.unit)));
            let percentile = |x| match n >= PERCENTILES {
                true => value(x, &s.unit),
                false => "–".into(),
            };
            row.extend([p1, p99].map(percentile));
            table.row(row);
        }
    }
    table.without_empty_columns()
}

/// Mode and figure with its unit.
pub(super) fn name(m: &Measurement, s: &Series) -> String {
    let (mode, unit) = (m.mode.name(), unit_name(&s.unit));
    let name = if s.name == mode { mode.to_string() } else { format!("{mode}: {}", s.name) };
    if unit.is_empty() { name } else { format!("{name}, {unit}") }
}

/// Devices compared: the ratio of their medians to that of the first device.
pub(super) fn comparison(results: &Results) -> Table {
    let labels = all_labels(results);
    let mut table = Table::new(
        "Comparison of devices. A ratio is above 1 if the value is larger than that of the \
         reference. Intervals are the 95 % intervals of the medians.",
        &["Traffic", "Figure", "Reference", ">Median", "Device", ">Median", ">Ratio", "Intervals"],
    );
    let mut first: BTreeMap<(String, String), (&Measurement, Summary)> = BTreeMap::new();
    for m in &results.measurements {
        let traffic = labels.label(m, &[Attribute::Device]);
        let traffic = if traffic == m.device { String::new() } else { traffic };
        for s in &m.series {
            let Some(summary) = s.summary() else { continue };
            let key = (traffic.clone(), name(m, s));
            match first.get(&key) {
                None => drop(first.insert(key, (m, summary))),
                Some((reference, _)) if reference.device == m.device => {}
                Some((reference, r)) => {
                    let ratio = summary.median / r.median;
                    let digits = digits(r.n.min(summary.n));
                    let ratio =
                        if ratio.is_finite() { significant(ratio, digits) } else { "–".into() };
                    let overlap = match (r.median_ci95, summary.median_ci95) {
                        (Some(a), Some(b)) if a.0 <= b.1 && b.0 <= a.1 => "overlap",
                        (Some(_), Some(_)) => "apart",
                        _ => "too few repeats",
                    };
                    table.row([
                        traffic.clone(),
                        key.1,
                        reference.device.clone(),
                        value(r.median, &s.unit),
                        m.device.clone(),
                        value(summary.median, &s.unit),
                        ratio,
                        overlap.into(),
                    ]);
                }
            }
        }
    }
    table.without_empty_columns()
}

/// Bounds of MLRsearch.
pub(super) fn bounds(results: &Results) -> Table {
    let labels = all_labels(results);
    let mut table = Table::new(
        "Bounds of the searches, in frames/s per direction. A result without one of the bounds is \
         irregular (RFC 9971).",
        &columns(&[
            "Goal",
            ">Loss ratio",
            ">Lower bound",
            ">Upper bound",
            ">Conditional throughput",
            "Result",
        ]),
    );
    for m in &results.measurements {
        for b in &m.bounds {
            let rate = |r: Option<f64>| r.map_or("–".into(), grouped);
            let regular = b.lower.is_some() && b.upper.is_some();
            let mut row = place(m, &labels);
            row.extend([
                b.goal.clone(),
                percent(b.loss_ratio),
                rate(b.lower),
                rate(b.upper),
                rate(b.conditional_throughput),
                if regular { "regular" } else { "irregular" }.into(),
            ]);
            table.row(row);
        }
    }
    table.without_empty_columns()
}

/// Loss by rate.
pub(super) fn loss(results: &Results) -> Table {
    let labels = all_labels(results);
    let head = [">Offered, frames/s per direction", ">Lost", ">Forwarded, frames/s"];
    let mut table = Table::new("Frame loss by offered rate.", &columns(&head));
    for m in &results.measurements {
        for p in &m.loss {
            let mut row = place(m, &labels);
            row.extend([grouped(p.rate), percent(p.loss_ratio), grouped(p.forwarding_rate)]);
            table.row(row);
        }
    }
    table.without_empty_columns()
}

/// Latency by load.
pub(super) fn latency(results: &Results) -> Table {
    let labels = all_labels(results);
    let mut table = Table::new(
        "Latency. The median is the typical latency, the 99.9th percentile the worst case \
         (RFC 8219, 7.2); PDV is the 99.9th percentile less the minimum (7.3.1).",
        &columns(&[
            "Load",
            "Direction",
            ">Frames/s per direction",
            ">Frames",
            ">Minimum",
            ">Median",
            ">90 %",
            ">99 %",
            ">99.9 %",
            ">Maximum",
            ">PDV",
        ]),
    );
    for m in &results.measurements {
        for at in &m.latency {
            let l = &at.latency;
            let mut row = place(m, &labels);
            row.push(at.load.clone());
            row.push(at.direction.map_or("both".into(), |d| d.to_string()));
            row.extend([grouped(at.rate), grouped(l.n() as f64)]);
            let percentiles = [l.percentile(90.0), l.percentile(99.0), l.worst_case()];
            let values = [l.min(), l.typical()].into_iter().chain(percentiles);
            let values = values.chain([l.max(), l.pdv()]);
            row.extend(values.map(|ns| nanoseconds(ns as f64)));
            table.row(row);
        }
    }
    table.without_empty_columns()
}

/// CPU time and energy.
pub(super) fn cost(results: &Results) -> Table {
    let labels = all_labels(results);
    let mut table = Table::new(
        "Cost of forwarding. Only frames that were delivered count. Clocks are of all threads of \
         the device, whatever they did, and of cores that other threads may share: they don't \
         compare with clocks of a processor that does nothing else.",
        &columns(&[
            ">CPU-seconds",
            ">Frames",
            ">Clocks per frame",
            ">Frames per CPU-second",
            ">CPU-seconds per million frames",
            ">Wh",
            ">Frames per Wh",
            ">Bytes per Wh",
            "Energy from",
        ]),
    );
    for m in &results.measurements {
        if m.cpu.is_none() && m.energy.is_none() {
            continue;
        }
        let mut row = place(m, &labels);
        let number = |n: Option<f64>, digits| n.map_or(String::new(), |n| significant(n, digits));
        let whole = |n: Option<f64>| n.map_or(String::new(), grouped);
        let cpu = m.cpu.as_ref();
        let per_second = cpu.and_then(|c| packets_per_cpu_second(c.packets, c.cpu_seconds));
        row.extend([
            number(cpu.map(|c| c.cpu_seconds), 4),
            whole(cpu.map(|c| c.packets as f64)),
            clocks(m).map_or(String::new(), |clocks| {
                let repeats = m.series.iter().map(|s| s.values.len()).max().unwrap_or(0);
                rounded(clocks, digits(repeats))
            }),
            whole(per_second),
            number(per_second.filter(|r| *r > 0.0).map(|r| 1e6 / r), 4),
        ]);
        let energy = m.energy.as_ref();
        let per_hour = |count: u64, hours: f64| (hours > 0.0).then(|| count as f64 / hours);
        row.extend([
            number(energy.map(|e| e.watt_hours), 4),
            whole(energy.and_then(|e| per_hour(e.packets, e.watt_hours))),
            whole(energy.and_then(|e| per_hour(e.bytes, e.watt_hours))),
            energy.map_or(String::new(), |e| e.source.clone()),
        ]);
        table.row(row);
    }
    table.without_empty_columns()
}

/// Limits of the tester.
pub(super) fn selftests(results: &Results) -> Table {
    let head = [
        "Port",
        "Size with FCS",
        ">n",
        ">Median, frames/s per direction",
        ">Minimum",
        ">Maximum",
        ">Tester-bound above",
        ">Latency",
    ];
    let mut table = Table::new(
        "Self-test: the tester's ports connected to each other, before the first repeat and after \
         each. A repeat is judged by the lower of the two rates around it: results above 1/1.2 of \
         it are tester-bound, from the rate in this table on at the latest.",
        &head,
    );
    let mut of: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for s in &results.selftests {
        of.entry((s.port.clone(), s.size)).or_default().push(s);
    }
    for ((port, bytes), samples) in of {
        let rates: Vec<_> = samples.iter().map(|s| s.rate).collect();
        let Some(Summary { n, median, min, max, .. }) = Summary::of(&rates) else { continue };
        let latency = samples.iter().map(|s| s.latency_ns).max().unwrap_or(0);
        let mut row = vec![port, size(bytes), n.to_string()];
        row.extend([median, min, max, max / crate::RESERVE].map(grouped));
        row.push(nanoseconds(latency as f64));
        table.row(row);
    }
    table
}

/// Counts of all trials, by measurement.
pub(super) fn counts(results: &Results) -> Table {
    let labels = all_labels(results);
    let mut table = Table::new(
        "Frames of all trials, invalid ones included, counted by their signatures.",
        &columns(&[
            "Mode",
            ">Trials",
            ">Invalid",
            ">Sent",
            ">Received",
            ">Lost",
            ">Late",
            ">Duplicated",
            ">Reordered",
            ">Changed",
        ]),
    );
    for m in results.measurements.iter().filter(|m| !m.trials.is_empty()) {
        let sum = |count: fn(&crate::Counts) -> u64| {
            let counts = m.trials.iter().flat_map(|t| &t.directions);
            grouped(counts.map(count).map(|n| n as f64).sum())
        };
        let mut row = place(m, &labels);
        row.push(m.mode.to_string());
        row.push(m.trials.len().to_string());
        row.push(m.invalid_trials().to_string());
        row.extend([sum(|c| c.sent), sum(|c| c.received), sum(|c| c.lost), sum(|c| c.late)]);
        row.extend([sum(|c| c.duplicated), sum(|c| c.reordered), sum(|c| c.changed)]);
        table.row(row);
    }
    table.without_empty_columns()
}

/// Trials that aren't valid, with all reasons.
pub(super) fn invalid(results: &Results) -> Table {
    let labels = all_labels(results);
    let head = [
        "Measurement",
        "Mode",
        ">Repeat",
        ">At, s",
        ">Frames/s per direction",
        ">Duration, s",
        "~Reasons",
    ];
    let mut table = Table::new("Trials that aren't valid, with the reasons.", &head);
    for m in &results.measurements {
        for t in m.trials.iter().filter(|t| !t.valid()) {
            let reasons: Vec<String> = t.faults.iter().map(ToString::to_string).collect();
            table.row([
                labels.label(m, &[]),
                m.mode.to_string(),
                (u64::from(t.repeat) + 1).to_string(),
                format!("{:.1}", t.at),
                grouped(t.rate),
                significant(t.duration, 4),
                reasons.join("; "),
            ]);
        }
    }
    table
}

/// Expressions of `--assert`.
pub(super) fn asserts(results: &Results) -> Table {
    let mut table =
        Table::new("Assertions.", &["Expression", "Measurement", ">Actual value", "Result"]);
    for a in &results.asserts {
        let actual = a.actual.map_or("none".into(), |v| significant(v, 6));
        let holds = if a.holds { "holds" } else { "FAILS" };
        table.row([a.expression.as_str(), &a.measurement, &actual, holds]);
    }
    table
}

/// Traffic and procedure: a row for each fact, or one for each measurement that has another value.
pub(super) fn method(results: &Results) -> Table {
    let mut table =
        Table::new("Traffic and procedure of the measurements.", &["Fact", "Of", "~Value"]);
    let labels = all_labels(results);
    let mut names: Vec<&str> = Vec::new();
    let all = results.measurements.iter().flat_map(|m| &m.method);
    for (name, _) in all {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in names {
        // Values in their order, each with the measurements that have it.
        let mut values: Vec<(&str, Vec<String>)> = Vec::new();
        for m in &results.measurements {
            let Some((_, value)) = m.method.iter().find(|(other, _)| other == name) else {
                continue;
            };
            let label = labels.label(m, &[Attribute::Device]);
            let label =
                if label == m.device { m.mode.to_string() } else { format!("{}, {label}", m.mode) };
            match values.iter_mut().find(|(other, _)| other == value) {
                Some((_, of)) if of.contains(&label) => {}
                Some((_, of)) => of.push(label),
                None => values.push((value, vec![label])),
            }
        }
        let is_common = values.len() == 1;
        for (value, of) in values {
            let of = if is_common { String::new() } else { of.join("; ") };
            table.row([name.to_string(), of, value.to_string()]);
        }
    }
    table.without_empty_columns()
}

/// Machine and software.
pub(super) fn environment(results: &Results) -> Table {
    let mut table = Table::new("Environment of the run.", &["Fact", "~Value"]);
    let devices: BTreeMap<_, _> = results
        .measurements
        .iter()
        .filter(|m| !m.description.is_empty())
        .map(|m| (format!("Device {}", m.device), m.description.clone()))
        .collect();
    for (name, value) in devices.into_iter().chain(results.environment.rows()) {
        table.row([name, value]);
    }
    table
}

/// Clocks of the device for each frame that it forwarded.
pub(super) fn clocks(m: &Measurement) -> Option<f64> {
    let cpu = m.cpu.as_ref()?;
    let per_second = packets_per_cpu_second(cpu.packets, cpu.cpu_seconds)?;
    clocks_per_packet(1.0, cpu.hz, per_second).filter(|clocks| *clocks > 0.0)
}

// SPDX-License-Identifier: Apache-2.0
//! Latency: percentiles, and histograms.

use super::lines::{self, Axis, Lines, Point, linear, logarithmic};
use super::{Figure, marks, slug};
use crate::report::labels::{Attribute, Labels};
use crate::report::nanoseconds;
use crate::{Latency, LatencyAt, Measurement, Results};

/// One histogram with its label.
type Row<'a> = (String, &'a Latency);

/// Cells of the histogram's figure in a decade.
const CELLS: i32 = 20;

/// Two figures for each kind of traffic: percentiles and histograms of all devices and loads.
pub(super) fn figures(results: &Results) -> Result<Vec<Figure>, String> {
    let with: Vec<&Measurement> = results
        .measurements
        .iter()
        .filter(|m| m.latency.iter().any(|l| !l.latency.is_empty()))
        .collect();
    let labels = Labels::of(with.iter().copied());
    let mut groups: Vec<(String, Vec<&Measurement>)> = Vec::new();
    for m in with {
        let group = match labels.label(m, &[Attribute::Device]) {
            // The label falls back to the device, which isn't part of the group.
            label if label == m.device => String::new(),
            label => label,
        };
        match groups.iter_mut().find(|(g, _)| *g == group) {
            Some((_, list)) => list.push(m),
            None => groups.push((group, vec![m])),
        }
    }
    let mut figures = Vec::new();
    for (group, list) in groups {
        let mut rows: Vec<Row> = Vec::new();
        for m in &list {
            for at in m.latency.iter().filter(|l| !l.latency.is_empty()) {
                rows.push((label(m, at, list.len() > 1), &at.latency));
            }
        }
        let marks = marks(list.iter().copied());
        figures.push(percentiles(&group, &marks, &rows)?);
        figures.push(histogram(&group, &marks, &rows)?);
    }
    Ok(figures)
}

fn label(m: &Measurement, at: &LatencyAt, several: bool) -> String {
    let direction = at.direction.map(|d| format!(", {d}")).unwrap_or_default();
    let device = if several { format!("{}, ", m.device) } else { String::new() };
    format!("{device}{}{direction}", at.load)
}

fn titled(what: &str, group: &str) -> String {
    if group.is_empty() { what.to_string() } else { format!("{what}, {group}") }
}

fn percentiles(group: &str, marks: &str, rows: &[Row<'_>]) -> Result<Figure, String> {
    let most = rows.iter().map(|(_, l)| l.n()).max().unwrap_or(1);
    // One decade more than the number of frames can show is empty.
    let decades = (most as f64).log10().ceil().clamp(1.0, 5.0);
    let line = |(label, latency): &Row<'_>| {
        let reach = (latency.n() as f64).log10().min(decades);
        let steps = (reach * 20.0).ceil().max(1.0) as i32;
        let point = |i: i32| {
            let x = f64::from(i) / f64::from(steps) * reach;
            Point::new(x, latency.percentile(100.0 - 100.0 / 10f64.powf(x)) as f64 / 1e3)
        };
        (label.clone(), (0..=steps).map(point).collect::<Vec<_>>())
    };
    let lines: Vec<_> = rows.iter().map(line).collect();
    let ticks = ["0", "90", "99", "99.9", "99.99", "99.999"];
    let ticks = ticks.iter().zip(0..).take(decades as usize + 1);
    let mut ticks: Vec<_> = ticks.map(|(name, at)| (f64::from(at), name.to_string())).collect();
    ticks.insert(1, (2f64.log10(), "50".into()));
    let title = titled("Latency by percentile", group);
    let spec = Lines {
        title: title.clone(),
        marks: marks.into(),
        x: Axis { name: "percentile of frames".into(), from: 0.0, to: decades, log: false, ticks },
        y: microseconds(rows),
        lines,
        markers: false,
    };
    let word = |(label, l): &Row<'_>| {
        let (typical, worst) = (l.typical() as f64, l.worst_case() as f64);
        format!(
            "{label}: median {}, 99.9th percentile {}",
            nanoseconds(typical),
            nanoseconds(worst)
        )
    };
    let words: Vec<_> = rows.iter().map(word).collect();
    Ok(Figure {
        name: slug(&format!("latency percentiles {group}")),
        title,
        caption: format!(
            "Latency that a share of the frames doesn't exceed{}. The median is the typical \
             latency, the 99.9th percentile the worst case (RFC 8219, 7.2).",
            if group.is_empty() { String::new() } else { format!(" ({group})") }
        ),
        description: format!("Line chart. {}.", words.join("; ")),
        drawing: lines::draw(&spec)?,
    })
}

/// Logarithmic axis that holds all latencies.
fn microseconds(rows: &[Row<'_>]) -> Axis {
    let least = rows.iter().map(|(_, l)| l.min()).min().unwrap_or(1).max(1);
    let most = rows.iter().map(|(_, l)| l.max()).max().unwrap_or(1).max(1);
    logarithmic("latency, µs", least as f64 / 1e3, most as f64 / 1e3)
}

fn histogram(group: &str, marks: &str, rows: &[Row<'_>]) -> Result<Figure, String> {
    let mut x = microseconds(rows);
    let mut most = 0.0f64;
    let mut lines = Vec::new();
    for (label, latency) in rows {
        let cells = cells(latency);
        let mut points = Vec::new();
        let edge = |cell: i32| 10f64.powf(f64::from(cell) / f64::from(CELLS)) / 1e3;
        let (first, last) = (cells[0].0, cells[cells.len() - 1].0);
        points.push(Point::new(edge(first), 0.0));
        for cell in first..=last {
            let share = cells.iter().find(|(c, _)| *c == cell).map_or(0.0, |(_, n)| *n);
            most = most.max(share * 100.0);
            points.push(Point::new(edge(cell), share * 100.0));
            points.push(Point::new(edge(cell + 1), share * 100.0));
        }
        points.push(Point::new(edge(last + 1), 0.0));
        x.from = x.from.min(edge(first));
        x.to = x.to.max(edge(last + 1));
        lines.push((label.clone(), points));
    }
    let title = titled("Latency histogram", group);
    let spec = Lines {
        title: title.clone(),
        marks: marks.into(),
        x,
        y: linear("frames, %", most),
        lines,
        markers: false,
    };
    let word = |(label, l): &Row<'_>| {
        let (min, max) = (l.min() as f64, l.max() as f64);
        format!("{label}: from {} to {}", nanoseconds(min), nanoseconds(max))
    };
    let words: Vec<_> = rows.iter().map(word).collect();
    Ok(Figure {
        name: slug(&format!("latency histogram {group}")),
        title,
        caption: format!(
            "Share of the frames by latency, {CELLS} cells in each decade{}.",
            if group.is_empty() { String::new() } else { format!(" ({group})") }
        ),
        description: format!("Histogram. {}.", words.join("; ")),
        drawing: lines::draw(&spec)?,
    })
}

/// Share of the frames in each cell of equal width on a logarithmic scale; never empty for a
/// histogram with values.
fn cells(latency: &Latency) -> Vec<(i32, f64)> {
    let mut cells: Vec<(i32, f64)> = Vec::new();
    for (value, n) in latency.buckets() {
        let cell = ((value.max(1) as f64).log10() * f64::from(CELLS)).floor() as i32;
        let share = n as f64 / latency.n() as f64;
        match cells.last_mut() {
            Some((last, sum)) if *last == cell => *sum += share,
            _ => cells.push((cell, share)),
        }
    }
    cells
}

// SPDX-License-Identifier: Apache-2.0
//! Rates: bars that compare devices, and lines over cores, sizes, flows and other parameters.

use std::collections::{BTreeMap, BTreeSet};

use super::bars::{self, Bar, Groups};
use super::chart::scale;
use super::lines::{self, Axis, Lines, Point, linear, logarithmic};
use super::{Figure, marks, slug};
use crate::report::labels::{Attribute, Labels};
use crate::report::over::Over;
use crate::stats::Summary;
use crate::{Mark, Measurement, Mode, Results};

/// Measurement with the statistics of one of its series.
type Row<'a> = (&'a Measurement, Summary);

/// Figures of all series of rates.
pub(super) fn figures(results: &Results) -> Result<Vec<Figure>, String> {
    let mut figures = Vec::new();
    for (mode, name) in series_names(results) {
        let rows: Vec<Row> = results
            .measurements
            .iter()
            .filter(|m| m.mode == mode)
            .filter_map(|m| Some((m, m.series(&name)?.summary()?)))
            .collect();
        let overs = Over::of(&rows.iter().map(|(m, _)| *m).collect::<Vec<_>>());
        let devices: BTreeSet<_> = rows.iter().map(|(m, _)| &m.device).collect();
        // A curve over one quantity has all that bars of one device would show.
        if devices.len() > 1 || overs.len() != 1 {
            figures.push(comparison(&name, mode, &rows)?);
        }
        for over in overs {
            figures.push(curve(&name, mode, &rows, &over)?);
        }
    }
    Ok(figures)
}

/// Modes and series whose unit is a rate, in the order in which they were measured.
fn series_names(results: &Results) -> Vec<(Mode, String)> {
    let mut names: Vec<(Mode, String)> = Vec::new();
    for m in &results.measurements {
        for series in m.series.iter().filter(|s| s.unit == "pps" && s.summary().is_some()) {
            let name = (m.mode, series.name.clone());
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Interval of the median; with too few repeats for one, from minimum to maximum.
fn interval(summary: &Summary) -> Option<(f64, f64)> {
    let Summary { min, max, .. } = *summary;
    summary.median_ci95.or((summary.n > 1).then_some((min, max)))
}

/// Sentence about the intervals for a caption.
fn about_intervals(rows: &[Row<'_>]) -> &'static str {
    let few = rows.iter().any(|(_, s)| s.median_ci95.is_none() && s.n > 1);
    let many = rows.iter().any(|(_, s)| s.median_ci95.is_some());
    match (many, few) {
        (true, false) => "Lines show the 95 % interval of the median.",
        (false, true) => {
            "Lines show the range from minimum to maximum: too few repeats for a 95 % interval."
        }
        (true, true) => {
            "Lines show the 95 % interval of the median, or the range with fewer than six repeats."
        }
        (false, false) => "One repeat each: no interval.",
    }
}

/// Series name as the title has it: `ndr` in capitals, others with a capital.
fn title_of(name: &str) -> String {
    match name {
        "ndr" | "pdr" | "mrr" => name.to_ascii_uppercase(),
        _ => {
            let name = name.replace('_', " ");
            let mut letters = name.chars();
            let first = letters.next().map(|c| c.to_uppercase().to_string());
            first.unwrap_or_default() + letters.as_str()
        }
    }
}

/// Mode and series, once if they have one name.
fn named(mode: Mode, name: &str) -> String {
    if mode.name() == name { name.to_string() } else { format!("{mode} {name}") }
}

fn comparison(name: &str, mode: Mode, rows: &[Row<'_>]) -> Result<Figure, String> {
    let labels = Labels::of(rows.iter().map(|(m, _)| *m));
    let mut devices: Vec<String> = Vec::new();
    let mut groups: Vec<(String, Vec<Option<Bar>>)> = Vec::new();
    let largest = rows.iter().map(|(_, s)| s.max).fold(0.0, f64::max);
    let (factor, unit) = scale(largest, "pps");
    for (m, summary) in rows {
        if !devices.contains(&m.device) {
            devices.push(m.device.clone());
        }
        let device = devices.iter().position(|d| *d == m.device).unwrap_or(0);
        let label = labels.label(m, &[Attribute::Device]);
        let found = groups
            .iter()
            .position(|(l, bars)| *l == label && bars.get(device).is_none_or(Option::is_none));
        let at = found.unwrap_or_else(|| {
            groups.push((label, Vec::new()));
            groups.len() - 1
        });
        let bars = &mut groups[at].1;
        bars.resize(bars.len().max(device + 1), None);
        bars[device] = Some(Bar {
            value: summary.median * factor,
            interval: interval(summary).map(|(low, high)| (low * factor, high * factor)),
            hollow: is_bound(m),
        });
    }
    let common = rows.first().map(|(m, _)| labels.common(m, &[])).unwrap_or_default();
    let figure = title_of(name);
    let title = if devices.len() > 1 { format!("{figure} by device") } else { figure.clone() };
    let words: Vec<String> = rows
        .iter()
        .map(|(m, s)| format!("{}: {} {unit}", labels.label(m, &[]), short(s.median * factor)))
        .collect();
    let hollow = about_hollow(rows, "bars");
    let caption = format!("{figure}, median ({mode}; {common}). {}{hollow}", about_intervals(rows));
    let spec = Groups {
        title: title.clone(),
        marks: marks(rows.iter().map(|(m, _)| *m)),
        axis: unit,
        series: devices,
        groups,
    };
    Ok(Figure {
        name: slug(&format!("{} by device", named(mode, name))),
        title,
        caption,
        description: format!("Bar chart. {}.", words.join("; ")),
        drawing: bars::draw(&spec)?,
    })
}

/// True if the result may show the tester rather than the device.
fn is_bound(m: &Measurement) -> bool {
    m.marks.iter().any(|mark| matches!(mark, Mark::TesterBound | Mark::AboveLimit))
}

/// Sentence on the results that are drawn hollow, for a caption.
fn about_hollow(rows: &[Row<'_>], shapes: &str) -> String {
    match rows.iter().any(|(m, _)| is_bound(m)) {
        true => format!(" Hollow {shapes} are tester-bound."),
        false => String::new(),
    }
}

fn short(value: f64) -> String {
    crate::report::significant(value, 4)
}

fn curve(name: &str, mode: Mode, rows: &[Row<'_>], over: &Over) -> Result<Figure, String> {
    let labels = Labels::of(rows.iter().map(|(m, _)| *m));
    let largest = rows.iter().map(|(_, s)| s.max).fold(0.0, f64::max);
    let (factor, unit) = scale(largest, "pps");
    let mut found: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    for (m, summary) in rows {
        let Some(x) = over.value(m) else { continue };
        let line = over.line(&labels, m);
        if !order.contains(&line) {
            order.push(line.clone());
        }
        let interval = interval(summary).map(|(low, high)| (low * factor, high * factor));
        let (y, hollow) = (summary.median * factor, is_bound(m));
        found.entry(line).or_default().push(Point { x, y, interval, hollow });
    }
    let lines: Vec<(String, Vec<Point>)> = order
        .into_iter()
        .filter_map(|line| {
            let mut points = found.remove(&line)?;
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            Some((line, points))
        })
        .collect();
    let figure = title_of(name);
    let title = format!("{figure} by {}", over.name());
    let point = |p: &Point| format!("{} at {}", short(p.y), short(p.x));
    let line = |(label, points): &(String, Vec<Point>)| {
        let points: Vec<_> = points.iter().map(point).collect();
        format!("{label}: {}", points.join(", "))
    };
    let words: Vec<_> = lines.iter().map(line).collect();
    let description = format!("Line chart over {}, in {unit}. {}.", over.name(), words.join("; "));
    let spec = Lines {
        title: title.clone(),
        marks: marks(rows.iter().map(|(m, _)| *m)),
        x: x_axis(over, &lines),
        y: linear(unit, largest * factor * 1.02),
        lines,
        markers: true,
    };
    Ok(Figure {
        name: slug(&format!("{} by {}", named(mode, name), over.name())),
        title,
        caption: format!(
            "{figure}, median, over {}. {}{}",
            over.name(),
            about_intervals(rows),
            about_hollow(rows, "points")
        ),
        description,
        drawing: lines::draw(&spec)?,
    })
}

/// Axis with a mark at each value that was measured, as far as they have room.
fn x_axis(over: &Over, lines: &[(String, Vec<Point>)]) -> Axis {
    let mut values: Vec<f64> = lines.iter().flat_map(|(_, p)| p.iter().map(|p| p.x)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let (&first, &last) = match (values.first(), values.last()) {
        (Some(first), Some(last)) => (first, last),
        _ => (&0.0, &1.0),
    };
    let log = first > 0.0 && last / first > 30.0;
    if log {
        return logarithmic(over.axis(), first, last);
    }
    let to = last * 1.04;
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for value in values {
        // A label takes about a sixteenth of the axis.
        if ticks.last().is_none_or(|(before, _)| value - before >= to / 16.0) {
            ticks.push((value, short(value)));
        }
    }
    Axis { name: over.axis(), from: 0.0, to, log: false, ticks }
}

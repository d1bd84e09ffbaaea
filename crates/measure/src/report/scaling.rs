// SPDX-License-Identifier: Apache-2.0
//! Table of rates as cores, flows or other numbers grow.

use super::format::{digits, rounded};
use super::labels::Labels;
use super::over::Over;
use super::tables::{clocks, name};
use super::{Table, grouped};
use crate::stats::{relative_to_half, scale_up};
use crate::{Measurement, Results};

/// Value of the quantity, median, clocks per frame where they are known, and repeats.
type Point = (f64, f64, Option<f64>, usize);

/// Rates by the quantities in which the measurements of a run differ.
pub(super) fn scaling(results: &Results) -> Table {
    let all: Vec<&Measurement> = results.measurements.iter().collect();
    let labels = Labels::of(all.iter().copied());
    let mut table = Table::new(
        "Scaling with cores, flows and other numbers n. S(n) = P(n) / (n · P(1)). Clocks are those \
         of the device's threads, where its CPU time is known.",
        &[
            "Measurement",
            "Figure",
            "Over",
            ">n",
            ">Median",
            ">Relative to first",
            ">Relative to half",
            ">S(n)",
            ">Clocks per frame",
        ],
    );
    for over in Over::of(&all).into_iter().filter(|over| *over != Over::Size) {
        for (label, figure, points) in lines(&all, &labels, &over) {
            let first = points.first().map_or(f64::NAN, |point| point.1);
            let at = |n: f64| points.iter().find(|point| point.0 == n).map(|point| point.1);
            for &(n, rate, clocks, repeats) in &points {
                let shown = digits(repeats);
                let ratio =
                    |r: Option<f64>, digits| r.map_or("–".into(), |r| format!("{r:.digits$}"));
                let one = at(1.0).filter(|_| n > 1.0 && n <= f64::from(u32::MAX));
                table.row([
                    label.clone(),
                    figure.clone(),
                    over.name().into(),
                    grouped(n),
                    grouped(rate),
                    ratio(Some(rate / first).filter(|r| r.is_finite()), shown.min(3)),
                    ratio(at(n / 2.0).and_then(|half| relative_to_half(half, rate)), shown.min(3)),
                    ratio(one.and_then(|one| scale_up(one, n as u32, rate)), shown),
                    clocks.map_or(String::new(), |clocks| rounded(clocks, shown)),
                ]);
            }
        }
    }
    table.without_empty_columns()
}

/// Label, figure and points of each line with at least two values of the quantity, in their order.
fn lines(all: &[&Measurement], labels: &Labels, over: &Over) -> Vec<(String, String, Vec<Point>)> {
    let mut lines: Vec<(String, String, Vec<Point>)> = Vec::new();
    for &m in all {
        let Some(n) = over.value(m) else { continue };
        for s in m.series.iter().filter(|s| s.unit == "pps" || s.unit == "1/s") {
            let Some(summary) = s.summary() else { continue };
            let (label, figure) = (over.line(labels, m), name(m, s));
            let at = lines.iter().position(|line| (&line.0, &line.1) == (&label, &figure));
            let at = at.unwrap_or_else(|| {
                lines.push((label, figure, Vec::new()));
                lines.len() - 1
            });
            let points = &mut lines[at].2;
            if points.iter().all(|point| point.0 != n) {
                points.push((n, summary.median, clocks(m), summary.n));
            }
        }
    }
    lines.retain(|(_, _, points)| points.len() > 1);
    lines.iter_mut().for_each(|(_, _, points)| points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    lines
}

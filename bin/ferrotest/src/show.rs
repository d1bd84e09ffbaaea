// SPDX-License-Identifier: Apache-2.0
//! The figures of a run on a terminal.

use std::io::{self, Write};

use measure::report::significant;
use measure::{Outcome, Results, Series};

/// Writes the figures of a run; the first lines say what makes them doubtful.
///
/// # Errors
/// Of the writer.
pub fn figures(results: &Results, out: &mut impl Write) -> io::Result<()> {
    let doubts = [results.environment.shares_cores(), results.mostly_invalid()];
    for doubt in doubts.into_iter().flatten() {
        writeln!(out, "note: {doubt}")?;
    }
    writeln!(
        out,
        "{:<11} {:<16} {:<8} {:>7}  {:<26} {:<8} {:>12} {:>12} {:>12} {:>3}",
        "mode",
        "device",
        "family",
        "size, B",
        "figure",
        "unit",
        "median",
        "minimum",
        "maximum",
        "n"
    )?;
    for measurement in &results.measurements {
        for series in &measurement.series {
            let Some(summary) = series.summary() else { continue };
            let (unit, number) = form(series);
            writeln!(
                out,
                "{:<11} {:<16} {:<8} {:>7}  {:<26} {:<8} {:>12} {:>12} {:>12} {:>3}",
                measurement.mode.name(),
                measurement.device,
                measurement.family.to_string(),
                measurement.size.to_string(),
                series.name,
                unit,
                number(summary.median),
                number(summary.min),
                number(summary.max),
                summary.n
            )?;
        }
        if let Outcome::Failed { reason } = &measurement.outcome {
            writeln!(out, "  failed: {reason}")?;
        }
        let mut texts: Vec<_> = measurement.marks.iter().map(ToString::to_string).collect();
        let invalid = measurement.invalid_trials();
        if invalid > 0 {
            texts.push(format!("invalid trials: {invalid} of {}", measurement.trials.len()));
        }
        if !texts.is_empty() {
            writeln!(out, "  marks: {}", texts.join(", "))?;
        }
    }
    limits(results, out)
}

/// Unit of a series as it is shown, and how its values are written in it.
fn form(series: &Series) -> (&'static str, fn(f64) -> String) {
    match series.unit.as_str() {
        "pps" => ("frames/s", |value| format!("{value:.0}")),
        "frames" => ("frames", |value| format!("{value:.0}")),
        "1/s" => ("1/s", |value| format!("{value:.0}")),
        "ns" => ("us", |value| format!("{:.1}", value / 1e3)),
        "s" => ("ms", |value| format!("{:.3}", value * 1e3)),
        "ratio" => ("%", |value| significant(value * 100.0, 3)),
        _ => ("", |value| format!("{value:.6}")),
    }
}

/// Writes the tester's own limits.
fn limits(results: &Results, out: &mut impl Write) -> io::Result<()> {
    let mut shown = Vec::new();
    for test in &results.selftests {
        let key = (&test.port, test.size);
        if shown.contains(&key) {
            continue;
        }
        shown.push(key);
        let same = results.selftests.iter().filter(|other| (&other.port, other.size) == key);
        let rates: Vec<_> = same.map(|other| other.rate).collect();
        let (low, high) = (
            rates.iter().copied().fold(f64::INFINITY, f64::min),
            rates.iter().copied().fold(0.0, f64::max),
        );
        writeln!(
            out,
            "tester itself over {} ports, {} bytes: {low:.0} to {high:.0} frames/s per direction in \
             {} self-tests; tester-bound above 1/{} of it",
            test.port,
            test.size,
            rates.len(),
            measure::RESERVE
        )?;
    }
    Ok(())
}

// SPDX-License-Identifier: Apache-2.0
//! Loss by rate.

use super::chart::scale;
use super::lines::{self, Lines, Point, linear};
use super::{Figure, marks};
use crate::report::labels::Labels;
use crate::{Measurement, Results};

/// Figure of the loss curves, if there is one.
pub(super) fn figures(results: &Results) -> Result<Option<Figure>, String> {
    let with: Vec<&Measurement> =
        results.measurements.iter().filter(|m| m.loss.len() > 1).collect();
    if with.is_empty() {
        return Ok(None);
    }
    let labels = Labels::of(with.iter().copied());
    let points = || with.iter().flat_map(|m| &m.loss);
    let (factor, unit) = scale(points().map(|p| p.rate).fold(0.0, f64::max), "pps");
    let line = |m: &&Measurement| {
        let mut points: Vec<_> =
            m.loss.iter().map(|p| Point::new(p.rate * factor, p.loss_ratio * 100.0)).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        (labels.label(m, &[]), points)
    };
    let lines: Vec<_> = with.iter().map(line).collect();
    let words: Vec<_> = with
        .iter()
        .map(|m| {
            let clean = m.loss.iter().filter(|p| p.loss_ratio == 0.0).map(|p| p.rate);
            let worst = m.loss.iter().map(|p| p.loss_ratio).fold(0.0, f64::max);
            let label = labels.label(m, &[]);
            let clean = clean.fold(0.0, f64::max) * factor;
            format!(
                "{label}: no loss up to {} {unit}, at most {} lost",
                crate::report::significant(clean, 4),
                crate::report::format::percent(worst)
            )
        })
        .collect();
    let title = "Frame loss by offered rate".to_string();
    let most = points().map(|p| p.loss_ratio * 100.0).fold(0.0, f64::max);
    let spec = Lines {
        title: title.clone(),
        marks: marks(with.iter().copied()),
        x: linear(
            format!("offered rate, {unit}"),
            points().map(|p| p.rate * factor).fold(0.0, f64::max),
        ),
        y: linear("lost frames, %", if most > 0.0 { most } else { 1.0 }),
        lines,
        markers: true,
    };
    Ok(Some(Figure {
        name: "loss-by-rate".into(),
        title,
        caption: "Frame loss rate over the offered rate (RFC 2544, 26.3).".into(),
        description: format!("Line chart. {}.", words.join("; ")),
        drawing: lines::draw(&spec)?,
    }))
}

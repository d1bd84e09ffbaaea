// SPDX-License-Identifier: Apache-2.0
//! Groups of horizontal bars with intervals.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::chart::{self, GRID, INK, SOFT, colour, head, head_height, text, ticks};
use super::shortened;
use crate::report::significant;

/// One bar: its value, and the interval around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bar {
    pub(super) value: f64,
    pub(super) interval: Option<(f64, f64)>,
    /// True if the value shows the tester rather than the device: the bar is hollow.
    pub(super) hollow: bool,
}

/// Bars in groups, one bar for each series.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Groups {
    pub(super) title: String,
    pub(super) marks: String,
    /// Name of the axis.
    pub(super) axis: String,
    pub(super) series: Vec<String>,
    /// Label of a group, and a bar for each series that has one there.
    pub(super) groups: Vec<(String, Vec<Option<Bar>>)>,
}

const WIDTH: i32 = 800;
const BAR: i32 = 18;
const GAP: i32 = 14;
const AXIS: i32 = 46;

/// Draws the bars as an element `svg`.
pub(super) fn draw(spec: &Groups) -> Result<String, String> {
    let legend: &[String] = if spec.series.len() > 1 { &spec.series } else { &[] };
    let rows = |bars: &[Option<Bar>]| bars.iter().flatten().count() as i32;
    let body: i32 = spec.groups.iter().map(|(_, bars)| rows(bars) * BAR + GAP).sum();
    let height = head_height(WIDTH, &spec.marks, legend) + body + GAP + AXIS;
    let mut svg = String::new();
    {
        let size = (WIDTH as u32, height as u32);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let area = head(&root, &spec.title, &spec.marks, legend)?;
        body_of(&area, spec, body + GAP)?;
        root.present().map_err(|e| e.to_string())?;
    }
    Ok(svg)
}

fn body_of(area: &chart::Area<'_>, spec: &Groups, body: i32) -> Result<(), String> {
    let bars = || spec.groups.iter().flat_map(|(_, bars)| bars.iter().flatten());
    let reach = |b: &Bar| b.interval.map_or(b.value, |(_, high)| high.max(b.value));
    let ticks = ticks(bars().map(reach).fold(0.0, f64::max));
    let most = ticks[ticks.len() - 1];
    let labels = spec.groups.iter().map(|(label, _)| chart::width_of(&shortened(label, 36)));
    let left = labels.max().unwrap_or(0).max(40) + 24;
    // Room for the number after the longest bar.
    let right = WIDTH - 84;
    let x = |value: f64| left + ((right - left) as f64 * (value / most).clamp(0.0, 1.0)) as i32;
    let line = |points: Vec<(i32, i32)>, style: ShapeStyle| {
        area.draw(&PathElement::new(points, style)).map_err(|e| e.to_string())
    };
    let put = |content: String, at: (i32, i32), style: TextStyle<'static>| {
        area.draw(&Text::new(content, at, style)).map_err(|e| e.to_string())
    };
    for value in ticks {
        let style = if value == 0.0 { INK } else { GRID };
        line(vec![(x(value), 0), (x(value), body)], style.stroke_width(1))?;
        put(significant(value, 3), (x(value), body + 12), text(12, SOFT, HPos::Center))?;
    }
    put(spec.axis.clone(), (left.midpoint(right), body + 32), text(13, INK, HPos::Center))?;
    let mut y = GAP;
    for (label, bars) in &spec.groups {
        let rows = bars.iter().flatten().count() as i32;
        let middle = y + rows * BAR / 2;
        put(shortened(label, 36), (left - 10, middle), text(13, INK, HPos::Right))?;
        for (at, bar) in bars.iter().enumerate() {
            let Some(bar) = bar else { continue };
            let corners = [(left, y + 2), (x(bar.value).max(left + 1), y + BAR - 2)];
            let style = if bar.hollow { colour(at).stroke_width(2) } else { colour(at).filled() };
            area.draw(&Rectangle::new(corners, style)).map_err(|e| e.to_string())?;
            let mut end = x(bar.value);
            if let Some((low, high)) = bar.interval {
                let centre = y + BAR / 2;
                let ink = INK.stroke_width(1);
                line(vec![(x(low), centre), (x(high), centre)], ink)?;
                for bound in [low, high] {
                    line(vec![(x(bound), centre - 4), (x(bound), centre + 4)], ink)?;
                }
                end = end.max(x(high));
            }
            let number = significant(bar.value, 4);
            put(number, (end + 8, y + BAR / 2), text(12, INK, HPos::Left))?;
            y += BAR;
        }
        y += GAP;
    }
    Ok(())
}

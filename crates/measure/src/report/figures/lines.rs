// SPDX-License-Identifier: Apache-2.0
//! Lines over a linear or logarithmic axis.

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::chart::{self, GRID, INK, SOFT, colour, dashed, head, head_height, text};

/// Point of a line with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) interval: Option<(f64, f64)>,
    /// True if the value shows the tester rather than the device: its marker is hollow.
    pub(super) hollow: bool,
}

impl Point {
    /// Point without an interval.
    pub(super) fn new(x: f64, y: f64) -> Point {
        Point { x, y, interval: None, hollow: false }
    }
}

/// Axis with its marks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) from: f64,
    pub(super) to: f64,
    /// True for a logarithmic axis: `from` is positive.
    pub(super) log: bool,
    /// Positions of the marks with their labels.
    pub(super) ticks: Vec<(f64, String)>,
}

/// Lines with their axes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lines {
    pub(super) title: String,
    pub(super) marks: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Label and points of each line, in ascending order of x.
    pub(super) lines: Vec<(String, Vec<Point>)>,
    /// True if points are marked.
    pub(super) markers: bool,
}

/// Mapping of values to pixels, for the chart's coordinate system.
#[derive(Clone)]
struct Scale {
    from: f64,
    to: f64,
    log: bool,
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let place = |v: f64| if self.log { v.max(self.from).ln() } else { v };
        let span = place(self.to) - place(self.from);
        let share = if span > 0.0 { (place(*value) - place(self.from)) / span } else { 0.0 };
        limit.0 + (f64::from(limit.1 - limit.0) * share.clamp(0.0, 1.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        // Marks are drawn from the axis.
        Vec::new()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.from..self.to
    }
}

const WIDTH: i32 = 800;
const CHART: i32 = 340;
const LEFT: u32 = 76;
const BOTTOM: u32 = 52;

/// Draws the lines as an element `svg`.
pub(super) fn draw(spec: &Lines) -> Result<String, String> {
    let labels: Vec<String> = spec.lines.iter().map(|(label, _)| label.clone()).collect();
    let legend: &[String] = if labels.len() > 1 { &labels } else { &[] };
    let height = head_height(WIDTH, &spec.marks, legend) + CHART;
    let mut svg = String::new();
    {
        let size = (WIDTH as u32, height as u32);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let area = head(&root, &spec.title, &spec.marks, legend)?;
        body(&area, spec).map_err(|e| e.to_string())?;
        root.present().map_err(|e| e.to_string())?;
    }
    Ok(svg)
}

type Failure = DrawingAreaErrorKind<std::io::Error>;

fn body(area: &chart::Area<'_>, spec: &Lines) -> Result<(), Failure> {
    let scale = |axis: &Axis| Scale { from: axis.from, to: axis.to, log: axis.log };
    let chart = ChartBuilder::on(area)
        .margin_top(8)
        .margin_right(28)
        .set_label_area_size(LabelAreaPosition::Left, LEFT)
        .set_label_area_size(LabelAreaPosition::Bottom, BOTTOM)
        .build_cartesian_2d(scale(&spec.x), scale(&spec.y))?;
    let plot = chart.plotting_area();
    axes(area, plot, spec)?;
    for (at, (_, points)) in spec.lines.iter().enumerate() {
        let style = colour(at).stroke_width(2);
        let path = points.iter().map(|p| (p.x, p.y));
        if dashed(at) {
            let series = DashedLineSeries::new(path, 7, 4, style);
            for element in series {
                plot.draw(&element)?;
            }
        } else if points.len() > 1 {
            plot.draw(&PathElement::new(path.collect::<Vec<_>>(), style))?;
        }
        for point in points {
            if let Some((low, high)) = point.interval {
                let ends = vec![(point.x, low), (point.x, high)];
                plot.draw(&PathElement::new(ends, colour(at).stroke_width(1)))?;
                for bound in [low, high] {
                    let cap = EmptyElement::at((point.x, bound))
                        + PathElement::new(vec![(-4, 0), (4, 0)], colour(at).stroke_width(1));
                    plot.draw(&cap)?;
                }
            }
            if spec.markers {
                let style =
                    if point.hollow { colour(at).stroke_width(2) } else { colour(at).filled() };
                plot.draw(&Circle::new((point.x, point.y), 4, style))?;
            }
        }
    }
    Ok(())
}

fn axes(
    area: &chart::Area<'_>,
    plot: &DrawingArea<SVGBackend<'_>, Cartesian2d<Scale, Scale>>,
    spec: &Lines,
) -> Result<(), Failure> {
    let (x, y) = (&spec.x, &spec.y);
    let origin = area.get_base_pixel();
    // Pixels of the whole area, in which labels stand beside the plot.
    let pixel = |at: (f64, f64)| {
        let (px, py) = plot.map_coordinate(&at);
        (px - origin.0, py - origin.1)
    };
    for (value, label) in &x.ticks {
        let ends = vec![(*value, y.from), (*value, y.to)];
        plot.draw(&PathElement::new(ends, GRID.stroke_width(1)))?;
        let (px, py) = pixel((*value, y.from));
        area.draw(&Text::new(label.clone(), (px, py + 13), text(12, SOFT, HPos::Center)))?;
    }
    for (value, label) in &y.ticks {
        let ends = vec![(x.from, *value), (x.to, *value)];
        plot.draw(&PathElement::new(ends, GRID.stroke_width(1)))?;
        let (px, py) = pixel((x.from, *value));
        area.draw(&Text::new(label.clone(), (px - 8, py), text(12, SOFT, HPos::Right)))?;
    }
    let frame = vec![(x.from, y.to), (x.from, y.from), (x.to, y.from)];
    plot.draw(&PathElement::new(frame, INK.stroke_width(1)))?;
    let (left, bottom) = pixel((x.from, y.from));
    let (right, top) = pixel((x.to, y.to));
    let below = (left.midpoint(right), bottom + 36);
    area.draw(&Text::new(x.name.clone(), below, text(13, INK, HPos::Center)))?;
    let upright = text(13, INK, HPos::Center).transform(FontTransform::Rotate270);
    area.draw(&Text::new(y.name.clone(), (14, top.midpoint(bottom)), upright))
}

/// Linear axis from 0 to a round number, with marks at its steps.
pub(super) fn linear(name: impl Into<String>, largest: f64) -> Axis {
    let ticks: Vec<_> = chart::ticks(largest);
    let to = ticks[ticks.len() - 1];
    let ticks = ticks.into_iter().map(|v| (v, crate::report::significant(v, 3))).collect();
    Axis { name: name.into(), from: 0.0, to, log: false, ticks }
}

/// Logarithmic axis with a mark at each power of ten, and between them if there are few.
pub(super) fn logarithmic(name: impl Into<String>, least: f64, largest: f64) -> Axis {
    let least = if least > 0.0 && least.is_finite() { least } else { 1.0 };
    let largest = if largest.is_finite() { largest.max(least * 1.01) } else { least * 10.0 };
    let steps: &[f64] = match (largest / least).log10() {
        decades if decades < 3.0 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let (low, high) = (least.log10().floor() as i32, largest.log10().ceil() as i32);
    let all = (low..=high).flat_map(|p| steps.iter().map(move |s| s * 10f64.powi(p)));
    let all: Vec<f64> = all.collect();
    let from = all.iter().copied().filter(|v| *v <= least * 1.0001).fold(f64::MIN, f64::max);
    let to = all.iter().copied().filter(|v| *v >= largest * 0.9999).fold(f64::MAX, f64::min);
    let (from, to) =
        (if from > 0.0 { from } else { least }, if to < f64::MAX { to } else { largest });
    let ticks = all.iter().filter(|v| **v >= from * 0.9999 && **v <= to * 1.0001);
    let ticks = ticks.map(|v| (*v, crate::report::significant(*v, 3))).collect();
    Axis { name: name.into(), from, to, log: true, ticks }
}

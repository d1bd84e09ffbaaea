// SPDX-License-Identifier: Apache-2.0
//! Look of all charts: colours, title, legend, axes.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::shortened;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Text and axes.
pub(super) const INK: RGBColor = RGBColor(0x1f, 0x23, 0x28);
/// Secondary text.
pub(super) const SOFT: RGBColor = RGBColor(0x59, 0x63, 0x6e);
/// Lines of the grid.
pub(super) const GRID: RGBColor = RGBColor(0xd8, 0xde, 0xe4);

/// Colours of series that readers with any colour vision tell apart (Okabe and Ito), with the
/// colours that stand for them on dark screens.
const SERIES: [(RGBColor, &str); 7] = [
    (RGBColor(0x00, 0x72, 0xb2), "#58A6FF"),
    (RGBColor(0xd5, 0x5e, 0x00), "#FF8C42"),
    (RGBColor(0x00, 0x9e, 0x73), "#3FCFA0"),
    (RGBColor(0xa2, 0x4d, 0x8a), "#E59AC9"),
    (RGBColor(0x8a, 0x6d, 0x00), "#E3B341"),
    (RGBColor(0x4b, 0x52, 0x9c), "#A5A9F5"),
    (RGBColor(0x6e, 0x3b, 0x1a), "#D2A07A"),
];

/// Colour of the series with this number.
pub(super) fn colour(at: usize) -> RGBColor {
    SERIES[at % SERIES.len()].0
}

/// True for series whose colour another series has already: they are drawn with dashes.
pub(super) fn dashed(at: usize) -> bool {
    at >= SERIES.len()
}

/// Rules of a page's style sheet that give the drawings their colours for dark screens.
pub(in crate::report) fn dark_rules() -> String {
    let named = [(INK, "#E6EDF3"), (SOFT, "#9AA5B1"), (GRID, "#30363D")];
    let rule = |(RGBColor(r, g, b), dark): &(RGBColor, &str)| {
        let light = format!("#{r:02X}{g:02X}{b:02X}");
        format!("svg [fill=\"{light}\"]{{fill:{dark}}}svg [stroke=\"{light}\"]{{stroke:{dark}}}")
    };
    let rules: String = named.iter().chain(&SERIES).map(rule).collect();
    format!("@media screen and (prefers-color-scheme:dark){{{rules}}}")
}

/// Style of text of this size.
pub(super) fn text(size: i32, colour: RGBColor, horizontal: HPos) -> TextStyle<'static> {
    // The library reduces sizes by this factor.
    let font = ("sans-serif", f64::from(size) * 1.24).into_font();
    font.color(&colour).pos(Pos::new(horizontal, VPos::Center))
}

/// Width of a text of size 13 in pixels, roughly: the drawing has no font to ask.
pub(super) fn width_of(text: &str) -> i32 {
    text.chars().count() as i32 * 15 / 2
}

/// Title, marks and legend at the top of the figure; the rest is left for the chart.
pub(super) fn head<'a>(
    area: &Area<'a>,
    title: &str,
    marks: &str,
    legend: &[String],
) -> Result<Area<'a>, String> {
    let (width, _) = area.dim_in_pixel();
    let width = width as i32;
    let put = |text_at: &str, at: (i32, i32), style: TextStyle<'static>| {
        area.draw(&Text::new(text_at.to_string(), at, style)).map_err(|e| e.to_string())
    };
    let bold = ("sans-serif", 16.0 * 1.24, FontStyle::Bold).into_font().color(&INK);
    let bold = bold.pos(Pos::new(HPos::Left, VPos::Center));
    put(&shortened(title, 84), (16, 18), bold)?;
    let mut bottom = 34;
    if !marks.is_empty() {
        put(&shortened(marks, 110), (16, 38), text(12, SOFT, HPos::Left))?;
        bottom = 50;
    }
    let mut x = 16;
    let mut y = bottom + 8;
    for (at, label) in legend.iter().enumerate() {
        let label = shortened(label, 90);
        let needed = 34 + width_of(&label);
        if x > 16 && x + needed > width - 8 {
            (x, y) = (16, y + 20);
        }
        let line = colour(at).stroke_width(3);
        let (from, to) = ((x, y), (x + 18, y));
        let key =
            if dashed(at) { vec![[from, (x + 7, y)], [(x + 11, y), to]] } else { vec![[from, to]] };
        for part in key {
            area.draw(&PathElement::new(part.to_vec(), line)).map_err(|e| e.to_string())?;
        }
        put(&label, (x + 24, y), text(13, INK, HPos::Left))?;
        x += needed;
    }
    if !legend.is_empty() {
        bottom = y + 14;
    }
    Ok(area.split_vertically(bottom).1)
}

/// Height of `head`.
pub(super) fn head_height(width: i32, marks: &str, legend: &[String]) -> i32 {
    let mut bottom = if marks.is_empty() { 34 } else { 50 };
    if !legend.is_empty() {
        let (mut x, mut y) = (16, bottom + 8);
        for label in legend {
            let needed = 34 + width_of(&shortened(label, 90));
            if x > 16 && x + needed > width - 8 {
                (x, y) = (16, y + 20);
            }
            x += needed;
        }
        bottom = y + 14;
    }
    bottom
}

/// Factor and unit for the largest of the values, so that an axis has short numbers.
pub(super) fn scale(largest: f64, unit: &str) -> (f64, String) {
    match unit {
        "pps" if largest >= 1e6 => (1e-6, "million frames/s per direction".into()),
        "pps" if largest >= 1e4 => (1e-3, "thousand frames/s per direction".into()),
        "pps" => (1.0, "frames/s per direction".into()),
        "ns" if largest >= 1e6 => (1e-6, "ms".into()),
        "ns" if largest >= 1e3 => (1e-3, "µs".into()),
        unit => (1.0, unit.into()),
    }
}

/// Marks of an axis from 0 to at least the value: multiples of 1, 2, 2.5 or 5 times ten to n, six
/// steps at most.
pub(super) fn ticks(largest: f64) -> Vec<f64> {
    let largest = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
    let power = 10f64.powf((largest / 6.0).log10().floor());
    let enough = |step: &f64| step * 6.0 >= largest * (1.0 - 1e-12);
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|s| s * power).find(enough);
    let step = step.unwrap_or(power * 10.0);
    let n = (largest / step - 1e-9).ceil().clamp(1.0, 6.0) as i32;
    (0..=n).map(|i| f64::from(i) * step).collect()
}

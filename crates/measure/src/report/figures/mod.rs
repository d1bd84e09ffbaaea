// SPDX-License-Identifier: Apache-2.0
//! Figures of a report, as SVG.

mod bars;
mod chart;
mod latency;
mod lines;
mod loss;
mod rates;

use crate::{Measurement, Results};

pub(super) use chart::dark_rules;

/// Figure: a drawing with its texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name for files, of letters, digits and hyphens; each figure of a run has its own.
    pub name: String,
    /// Title, which the drawing shows.
    pub title: String,
    /// Caption below the drawing.
    pub caption: String,
    /// Description for readers who don't see the drawing.
    pub description: String,
    /// Element `svg` without title and background.
    drawing: String,
}

impl Figure {
    /// Element `svg` with title and description, for a page that has a background of its own.
    pub fn svg(&self) -> String {
        let Figure { name, title, description, drawing, .. } = self;
        let (title, description) =
            (super::escape::escape(title), super::escape::escape(description));
        let attributes =
            format!("<svg role=\"img\" aria-labelledby=\"{name}-title {name}-description\" ");
        let texts = format!(
            "<title id=\"{name}-title\">{title}</title>\
             <desc id=\"{name}-description\">{description}</desc>"
        );
        // XML has no form for control characters, which labels may have.
        let drawing: String = drawing.chars().filter(|c| !c.is_control() || *c == '\n').collect();
        let body = drawing.trim_end().replacen("<svg ", &attributes, 1);
        body.replacen(">\n", &format!(">\n{texts}\n"), 1)
    }

    /// File of its own, with a white background.
    pub fn to_svg(&self) -> String {
        let background = "</desc><rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>";
        let svg = self.svg().replacen("</desc>", background, 1);
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{svg}\n")
    }
}

/// Name of lower-case letters, digits and hyphens.
pub(super) fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

/// All figures that the results have data for.
pub fn figures(results: &Results) -> Result<Vec<Figure>, String> {
    let mut figures = rates::figures(results)?;
    figures.extend(loss::figures(results)?);
    figures.extend(latency::figures(results)?);
    // Two groups may have one name, for instance `a b` and `a-b`.
    for at in 0..figures.len() {
        let same = figures[..at].iter().filter(|f| f.name == figures[at].name).count();
        if same > 0 {
            figures[at].name = format!("{}-{at}", figures[at].name);
        }
    }
    Ok(figures)
}

/// Marks of the measurements, once each, for the line below a title.
fn marks<'a>(measurements: impl Iterator<Item = &'a Measurement>) -> String {
    let mut texts: Vec<String> = Vec::new();
    for mark in measurements.flat_map(|m| &m.marks) {
        let text = mark.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.join("; ")
}

/// Text without its last part if it is longer than a line of a figure has room for.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_string();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

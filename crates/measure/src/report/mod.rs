// SPDX-License-Identifier: Apache-2.0
//! Reports: one document of sections, tables and figures, printed as HTML or as Markdown, and the
//! files beside it.
//!
//! | file | made by |
//! |---|---|
//! | `result.json` | [`Results::to_json`] |
//! | `report.html` | [`html()`] |
//! | `report.md` | [`markdown()`] |
//! | `series.csv` | [`series_csv`] |
//! | `rate.csv` | [`rate_csv`], in the form of siitperf's scripts |
//! | `NAME.svg` | [`Figure::to_svg`] of each of [`figures()`] |
//! | `NAME.png` | `Figure::to_png`, with the feature `png` |

mod build;
mod csv;
mod escape;
mod figures;
mod format;
mod html;
mod labels;
mod markdown;
mod over;
#[cfg(feature = "png")]
mod png;
mod scaling;
mod tables;
#[cfg(feature = "tests")]
pub(crate) mod tests;
mod text;

pub use csv::{rate_csv, series_csv};
pub use figures::{Figure, figures};
pub use format::{duration, grouped, nanoseconds, significant, unix_time};
#[cfg(feature = "png")]
pub use png::Fonts;

use crate::Results;

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
    /// Left, with lines that wrap.
    Wide,
}

/// Table with a caption.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    caption: String,
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Table without rows. A column whose name begins with `>` is aligned to the right; cells of a
    /// column whose name begins with `~` are long texts, which wrap.
    pub fn new(caption: impl Into<String>, columns: &[&str]) -> Table {
        let column = |name: &&str| match (name.strip_prefix('>'), name.strip_prefix('~')) {
            (Some(name), _) => (name.to_string(), Align::Right),
            (_, Some(name)) => (name.to_string(), Align::Wide),
            _ => (name.to_string(), Align::Left),
        };
        let columns = columns.iter().map(column).collect();
        Table { caption: caption.into(), columns, rows: Vec::new() }
    }

    /// Adds a row. Missing cells are empty.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let mut row: Vec<String> = cells.into_iter().map(Into::into).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Removes the columns that are empty in all rows.
    fn without_empty_columns(mut self) -> Table {
        for column in (0..self.columns.len()).rev() {
            if self.rows.iter().all(|row| row[column].is_empty()) {
                self.columns.remove(column);
                self.rows.iter_mut().for_each(|row| drop(row.remove(column)));
            }
        }
        self
    }
}

/// Part of a report.
#[derive(Debug, Clone, PartialEq)]
enum Block {
    Heading(String),
    Text(String),
    /// Text that must not be overlooked.
    Warning(String),
    Table(Table),
    Figure(Figure),
}

/// Title and parts of a report.
#[derive(Debug, Clone, PartialEq)]
struct Document {
    title: String,
    blocks: Vec<Block>,
}

/// Report in one HTML file: no script, no reference to other files, legible on light and dark
/// screens and on paper. `published` are tables of other hardware, for orientation.
pub fn html(results: &Results, published: &[Table]) -> Result<String, String> {
    Ok(html::render(&build::document(results, published, &figures(results)?)))
}

/// Report in Markdown. Figures are references to `NAME.svg` beside it.
pub fn markdown(results: &Results, published: &[Table]) -> Result<String, String> {
    Ok(markdown::render(&build::document(results, published, &figures(results)?)))
}

// SPDX-License-Identifier: Apache-2.0
//! Tables as plain text, for a terminal.

use std::fmt;

use super::{Align, Table};

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = |text: &str| text.chars().count();
        let cells = |at: usize| self.rows.iter().filter_map(move |row| row.get(at));
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, (name, _))| cells(at).map(|c| length(c)).fold(length(name), usize::max))
            .collect();
        writeln!(f, "{}", self.caption)?;
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(String::as_str).collect());
        for row in std::iter::once(names).chain(rows) {
            let mut line = String::new();
            for ((cell, (_, align)), &width) in row.iter().zip(&self.columns).zip(&widths) {
                let pad = " ".repeat(width - length(cell));
                let (left, right) = match align {
                    Align::Right => (pad.as_str(), ""),
                    Align::Left | Align::Wide => ("", pad.as_str()),
                };
                line.push_str(&format!("{left}{cell}{right}  "));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn columns_are_aligned() {
        let mut table = Table::new("Rates.", &["Device", ">Rate"]);
        table.row(["linux", "9"]);
        table.row(["a", "1,000"]);
        assert_eq!(table.to_string(), "Rates.\nDevice   Rate\nlinux       9\na       1,000\n");
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Markdown form of a report.

use std::fmt::Write as _;

use super::{Align, Block, Document, Table};

/// Text with the characters escaped that Markdown, and HTML within it, give a meaning.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\n' | '\r' => escaped.push(' '),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

fn table(out: &mut String, number: usize, table: &Table) {
    let _ = writeln!(out, "**Table {number}.** {}\n", escape(&table.caption));
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    out.push_str(&line(table.columns.iter().map(|(name, _)| escape(name)).collect()));
    let rule = |align: &Align| if *align == Align::Right { "---:" } else { "---" }.to_string();
    out.push_str(&line(table.columns.iter().map(|(_, align)| rule(align)).collect()));
    for row in &table.rows {
        out.push_str(&line(row.iter().map(|cell| escape(cell)).collect()));
    }
    out.push('\n');
}

/// Document as Markdown.
pub(super) fn render(document: &Document) -> String {
    let mut out = format!("# {}\n\n", escape(&document.title));
    let (mut tables, mut figures) = (0, 0);
    for block in &document.blocks {
        match block {
            Block::Heading(text) => {
                let _ = writeln!(out, "## {}\n", escape(text));
            }
            Block::Text(text) => {
                let _ = writeln!(out, "{}\n", escape(text));
            }
            Block::Warning(text) => {
                let _ = writeln!(out, "> **Note:** {}\n", escape(text));
            }
            Block::Table(t) => {
                tables += 1;
                table(&mut out, tables, t);
            }
            Block::Figure(f) => {
                figures += 1;
                let alt = escape(&f.description);
                let caption = escape(&f.caption);
                let _ = writeln!(out, "![{alt}]({}.svg)\n", f.name);
                let _ = writeln!(out, "**Figure {figures}.** {caption}\n");
            }
        }
    }
    out
}

// SPDX-License-Identifier: Apache-2.0
//! HTML form of a report.

use std::fmt::Write as _;

use super::escape::escape;
use super::figures::{dark_rules, slug};
use super::{Align, Block, Document, Table};

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1f2328;--soft:#59636e;--line:#d0d7de;--band:#f6f8fa;--page:#fff;\
--warn:#fff1d6;--edge:#bf8700}\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa5b1;--line:#3d444d;--band:#161b22;\
--page:#0d1117;--warn:#33260a;--edge:#d29922}}\
*{box-sizing:border-box}\
body{margin:0 auto;max-width:72rem;padding:2rem 1.25rem 4rem;background:var(--page);color:var(--ink);\
font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif}\
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .75rem}\
h2{font-size:1.25rem;margin:2.5rem 0 .75rem;padding-bottom:.25rem;border-bottom:1px solid var(--line)}\
p{max-width:46rem}\
.warning{background:var(--warn);border-left:4px solid var(--edge);padding:.5rem .9rem;max-width:none}\
.scroll{overflow-x:auto;margin:1rem 0 1.5rem}\
table{border-collapse:collapse;font-size:.8rem;font-variant-numeric:tabular-nums;min-width:40%}\
caption{caption-side:top;text-align:left;color:var(--soft);padding:0 0 .4rem;font-size:.88rem}\
caption span{display:block;max-width:min(58rem,calc(100vw - 2.5rem))}\
thead th{border-top:2px solid var(--ink);border-bottom:1px solid var(--ink);font-weight:600;\
vertical-align:bottom}\
th,td{padding:.28rem .55rem;text-align:left;vertical-align:top}\
td{white-space:nowrap}td.r,th.r{text-align:right}td.w{white-space:normal;min-width:10rem}\
tbody tr:nth-child(even){background:var(--band)}\
tbody tr:last-child td{border-bottom:2px solid var(--ink)}\
figure{margin:1.5rem 0 2rem}\
figure svg{display:block;width:100%;height:auto;max-width:52rem}\
figure svg text{font-family:inherit}\
figcaption{color:var(--soft);font-size:.9rem;max-width:50rem;margin-top:.4rem}\
@media print{body{max-width:none;padding:0;font-size:11pt}h2{break-after:avoid}\
figure,tr{break-inside:avoid}.scroll{overflow:visible}}";

fn table(out: &mut String, number: usize, table: &Table) {
    let class = |align: &Align| match align {
        Align::Left => "",
        Align::Right => " class=\"r\"",
        Align::Wide => " class=\"w\"",
    };
    let caption = escape(&table.caption);
    // A region that scrolls can be reached by keyboard, and has a name.
    let _ = write!(
        out,
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Table {number}\">\
         <table><caption><span>Table {number}. {caption}</span></caption><thead><tr>"
    );
    for (name, align) in &table.columns {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(align), escape(name));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (cell, (_, align)) in row.iter().zip(&table.columns) {
            let _ = write!(out, "<td{}>{}</td>", class(align), escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// Document as one HTML file.
pub(super) fn render(document: &Document) -> String {
    let title = escape(&document.title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}{}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n",
        dark_rules()
    );
    let (mut tables, mut figures) = (0, 0);
    for block in &document.blocks {
        match block {
            Block::Heading(text) => {
                let _ = writeln!(out, "<h2 id=\"{}\">{}</h2>", slug(text), escape(text));
            }
            Block::Text(text) => {
                let _ = writeln!(out, "<p>{}</p>", escape(text));
            }
            Block::Warning(text) => {
                let _ = writeln!(out, "<p class=\"warning\">{}</p>", escape(text));
            }
            Block::Table(t) => {
                tables += 1;
                table(&mut out, tables, t);
            }
            Block::Figure(f) => {
                figures += 1;
                let _ = writeln!(
                    out,
                    "<figure>\n{}\n<figcaption>Figure {figures}. {}</figcaption>\n</figure>",
                    f.svg(),
                    escape(&f.caption)
                );
            }
        }
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

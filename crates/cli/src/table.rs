// SPDX-License-Identifier: Apache-2.0
//! Tables: one value that prints as aligned columns and as a JSON array of objects.

use serde_json::{Map, Value};
use std::borrow::Cow;

#[derive(Debug, Clone)]
struct Column {
    title: Cow<'static, str>,
    key: Cow<'static, str>,
    right: bool,
    min_width: usize,
}

/// One field of a row: what a person reads and what a program reads.
#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    json: Value,
}

impl Cell {
    /// A cell whose text and JSON value differ (a rate with its unit, a time, a list).
    pub fn new(text: impl Into<String>, json: impl Into<Value>) -> Self {
        Self { text: text.into(), json: json.into() }
    }

    /// A cell shown by `Display` and given to programs as that string.
    pub fn show(value: impl std::fmt::Display) -> Self {
        value.to_string().into()
    }

    /// No value: blank in text, `null` in JSON.
    pub fn empty() -> Self {
        Self { text: String::new(), json: Value::Null }
    }
}

impl From<String> for Cell {
    fn from(s: String) -> Self {
        Self { json: Value::from(s.as_str()), text: s }
    }
}

impl From<&str> for Cell {
    fn from(s: &str) -> Self {
        s.to_string().into()
    }
}

impl From<bool> for Cell {
    fn from(b: bool) -> Self {
        Self::new(if b { "yes" } else { "no" }, b)
    }
}

macro_rules! number_cells {
    ($($t:ty)*) => { $(impl From<$t> for Cell {
        fn from(n: $t) -> Self {
            Self { text: n.to_string(), json: Value::from(n) }
        }
    })* };
}
number_cells!(u8 u16 u32 u64 usize i32 i64 f64);

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(o: Option<T>) -> Self {
        o.map_or_else(Self::empty, Into::into)
    }
}

/// Columns and rows.
///
/// ```
/// use cli::Table;
/// let mut t = Table::new().right("Count").left("Node").left("Reason");
/// t.row([3u64.into(), "ip4-input".into(), "ttl expired".into()]);
/// assert_eq!(t.render(), "Count  Node       Reason\n    3  ip4-input  ttl expired\n");
/// assert_eq!(t.to_json().to_string(), r#"[{"count":3,"node":"ip4-input","reason":"ttl expired"}]"#);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    gap: Option<usize>,
}

impl Table {
    /// A table without columns.
    pub fn new() -> Self {
        Self::default()
    }

    fn column(mut self, title: Cow<'static, str>, right: bool) -> Self {
        let key = key_of(&title).into();
        self.columns.push(Column { title, key, right, min_width: 0 });
        self
    }

    /// Adds a column set flush left.
    pub fn left(self, title: impl Into<Cow<'static, str>>) -> Self {
        self.column(title.into(), false)
    }

    /// Adds a column set flush right (numbers).
    pub fn right(self, title: impl Into<Cow<'static, str>>) -> Self {
        self.column(title.into(), true)
    }

    /// Names the JSON key of the last column; without it the key is the title in snake case.
    pub fn key(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        if let Some(c) = self.columns.last_mut() {
            c.key = key.into();
        }
        self
    }

    /// Makes the last column at least `width` characters wide.
    pub fn min_width(mut self, width: usize) -> Self {
        if let Some(c) = self.columns.last_mut() {
            c.min_width = width;
        }
        self
    }

    /// Sets the number of spaces between columns (2 by default).
    pub fn gap(mut self, spaces: usize) -> Self {
        self.gap = Some(spaces);
        self
    }

    /// Adds a row; missing cells are empty, cells beyond the last column are ignored.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) -> &mut Self {
        let mut row: Vec<Cell> = cells.into_iter().take(self.columns.len()).collect();
        row.resize_with(self.columns.len(), Cell::empty);
        self.rows.push(row);
        self
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Header and rows, each line ended by a newline, no trailing blanks.
    pub fn render(&self) -> String {
        let width = |s: &str| s.chars().count();
        let mut widths: Vec<usize> = self.columns.iter().map(|c| width(&c.title).max(c.min_width)).collect();
        for row in &self.rows {
            for (w, cell) in widths.iter_mut().zip(row) {
                *w = (*w).max(width(&cell.text));
            }
        }
        let gap = self.gap.unwrap_or(2);
        let mut out = String::with_capacity(
            (self.rows.len() + 1) * (widths.iter().sum::<usize>() + gap * widths.len() + 1),
        );
        let mut line = |texts: &mut dyn Iterator<Item = &str>| {
            let start = out.len();
            for (i, text) in texts.enumerate() {
                let pad = widths[i] - width(text);
                let (before, after) = if self.columns[i].right { (pad, 0) } else { (0, pad) };
                let before = before + if i == 0 { 0 } else { gap };
                out.extend(std::iter::repeat_n(' ', before));
                out.push_str(text);
                out.extend(std::iter::repeat_n(' ', after));
            }
            out.truncate(start + out[start..].trim_end_matches(' ').len());
            out.push('\n');
        };
        line(&mut self.columns.iter().map(|c| c.title.as_ref()));
        for row in &self.rows {
            line(&mut row.iter().map(|c| c.text.as_str()));
        }
        out
    }

    /// One object a row, keys in the order of the columns.
    pub fn to_json(&self) -> Value {
        let object = |row: &Vec<Cell>| {
            let fields = self.columns.iter().zip(row).map(|(c, cell)| (c.key.to_string(), cell.json.clone()));
            Value::Object(fields.collect::<Map<_, _>>())
        };
        Value::Array(self.rows.iter().map(object).collect())
    }
}

/// `Vectors/Call` becomes `vectors_call`.
fn key_of(title: &str) -> String {
    let mut key = String::with_capacity(title.len());
    for c in title.chars() {
        if c.is_alphanumeric() {
            key.extend(c.to_lowercase());
        } else if !key.is_empty() && !key.ends_with('_') {
            key.push('_');
        }
    }
    key.truncate(key.trim_end_matches('_').len());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_pads_and_trims() {
        let mut t = Table::new()
            .left("Name")
            .right("Idx")
            .left("MTU (L3/IP4/IP6/MPLS)")
            .min_width(24)
            .left("Counter");
        t.row(["local0".into(), 0u32.into(), "0/0/0/0".into()]);
        t.row([
            "host-eth0".into(),
            10u32.into(),
            Cell::new("9000/0/0/0", vec![9000, 0, 0, 0]),
            "drops".into(),
        ]);
        let text = t.render();
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "Name       Idx  MTU (L3/IP4/IP6/MPLS)     Counter",
                "local0       0  0/0/0/0",
                "host-eth0   10  9000/0/0/0                drops"
            ]
        );
        let json = t.to_json();
        assert_eq!(json[0]["mtu_l3_ip4_ip6_mpls"], "0/0/0/0");
        assert_eq!(json[1]["mtu_l3_ip4_ip6_mpls"][0], 9000);
        assert!(json[0]["counter"].is_null());
    }

    #[test]
    fn keys_keep_their_order_and_can_be_named() {
        let mut t = Table::new().left("B").left("A").key("zz").gap(1);
        t.row(["é".into(), true.into(), "too many".into()]);
        assert_eq!(t.to_json().to_string(), r#"[{"b":"é","zz":true}]"#);
        assert_eq!(t.render(), "B A\né yes\n");
    }
}

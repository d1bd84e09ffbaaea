// SPDX-License-Identifier: Apache-2.0
//! Tables: one value that prints as aligned columns and as a JSON array of objects.

use crate::{Output, Result, Writer, list};
use serde_json::{Map, Value};
use std::borrow::Cow;

#[derive(Debug, Clone)]
struct Column {
    title: Cow<'static, str>,
    key: Cow<'static, str>,
    right: bool,
    min_width: usize,
}

/// One field of a row: text for people and a value for programs.
#[derive(Debug, Clone)]
pub struct Cell(Content);

#[derive(Debug, Clone)]
enum Content {
    Empty,
    Bool(bool),
    Text(String),
    Number(Value),
    Both(String, Value),
}

impl Cell {
    /// A cell whose text and JSON value differ (a rate with its unit, a time, a list).
    pub fn new(text: impl Into<String>, json: impl Into<Value>) -> Self {
        Self(Content::Both(text.into(), json.into()))
    }

    /// A cell shown by `Display` and given to programs as that string.
    pub fn show(value: impl std::fmt::Display) -> Self {
        value.to_string().into()
    }

    /// No value: blank in text, `null` in JSON.
    pub fn empty() -> Self {
        Self(Content::Empty)
    }

    fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Content::Empty => "".into(),
            Content::Bool(b) => (if *b { "yes" } else { "no" }).into(),
            Content::Text(text) | Content::Both(text, _) => text.into(),
            Content::Number(n) => n.to_string().into(),
        }
    }
}

impl From<Cell> for Value {
    fn from(cell: Cell) -> Self {
        match cell.0 {
            Content::Empty => Value::Null,
            Content::Bool(b) => b.into(),
            Content::Text(text) => text.into(),
            Content::Number(json) | Content::Both(_, json) => json,
        }
    }
}

impl From<String> for Cell {
    fn from(s: String) -> Self {
        Self(Content::Text(s))
    }
}

impl From<&str> for Cell {
    fn from(s: &str) -> Self {
        s.to_string().into()
    }
}

impl From<bool> for Cell {
    fn from(b: bool) -> Self {
        Self(Content::Bool(b))
    }
}

impl From<f64> for Cell {
    fn from(n: f64) -> Self {
        Self::new(n.to_string(), n)
    }
}

macro_rules! number_cells {
    ($($t:ty)*) => { $(impl From<$t> for Cell {
        fn from(n: $t) -> Self {
            Self(Content::Number(n.into()))
        }
    })* };
}
number_cells!(u8 u16 u32 u64 usize i32 i64);

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(o: Option<T>) -> Self {
        o.map_or_else(Self::empty, Into::into)
    }
}

/// Centres a value in a column, as `%=` of VPP's formats does: an odd space goes in front.
pub fn centre(value: impl std::fmt::Display, width: usize) -> String {
    let value = value.to_string();
    let left = width.saturating_sub(value.len()).div_ceil(2);
    format!("{:left$}{value:<1$}", "", width.saturating_sub(left))
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

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Header and rows, each line ended by a newline, no trailing blanks.
    pub fn render(&self) -> String {
        let (mut layout, mut out) = (self.layout(), String::new());
        layout.lines = self
            .rows
            .iter()
            .map(|row| row.iter().map(|c| c.text().into_owned()).collect())
            .collect();
        layout.render(&mut out);
        out
    }

    /// One object a row, keys in the order of the columns.
    pub fn to_json(&self) -> Value {
        let object = |row: &Vec<Cell>| {
            let fields = self
                .columns
                .iter()
                .zip(row)
                .map(|(c, cell)| (c.key.to_string(), cell.clone().into()));
            Value::Object(fields.collect::<Map<_, _>>())
        };
        Value::Array(self.rows.iter().map(object).collect())
    }

    /// The columns, for rows that come one by one.
    pub(crate) fn layout(&self) -> Layout {
        Layout {
            columns: self.columns.clone(),
            gap: self.gap.unwrap_or(2),
            widths: self.columns.iter().map(|c| c.title.chars().count().max(c.min_width)).collect(),
            head: true,
            lines: Vec::new(),
        }
    }

    /// An answer with a row for each item that has one: a table that grows. [`crate::columns`]
    /// declares the columns with their cells.
    pub fn rows<W: 'static, T, const N: usize>(
        self,
        items: impl IntoIterator<Item = T, IntoIter: 'static>,
        mut row: impl FnMut(&W, T) -> Option<[Cell; N]> + 'static,
    ) -> Output {
        self.list(items, move |w: &W, item, out: &mut Writer| {
            row(w, item).into_iter().for_each(|cells| out.row(cells));
            Ok(())
        })
    }

    /// An answer with a row, or several, for each item: a table that grows. See [`Output::list`].
    pub fn list<W: 'static, T>(
        self,
        items: impl IntoIterator<Item = T, IntoIter: 'static>,
        row: impl FnMut(&W, T, &mut Writer) -> Result<()> + 'static,
    ) -> Output {
        list::of_table(self, items, row)
    }
}

/// Columns whose rows come part by part: each part is as wide as it and the parts before it need.
#[derive(Debug)]
pub(crate) struct Layout {
    columns: Vec<Column>,
    gap: usize,
    widths: Vec<usize>,
    /// The head is still to be written.
    head: bool,
    lines: Vec<Vec<String>>,
}

impl Layout {
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|c| c.key.as_ref())
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.lines.push(
            cells.into_iter().take(self.columns.len()).map(|c| c.text().into_owned()).collect(),
        );
    }

    /// Number of rows held back until [`Self::render`].
    pub fn waiting(&self) -> usize {
        self.lines.len()
    }

    /// Writes the rows added since the last call.
    pub fn render(&mut self, out: &mut String) {
        let width = |s: &str| s.chars().count();
        for line in &self.lines {
            for (w, text) in self.widths.iter_mut().zip(line) {
                *w = (*w).max(width(text));
            }
        }
        let all: usize = self.widths.iter().sum::<usize>() + self.gap * self.widths.len() + 1;
        out.reserve((self.lines.len() + 1) * all);
        let mut put = |texts: &mut dyn Iterator<Item = &str>| {
            let start = out.len();
            for (i, text) in texts.enumerate() {
                let pad = self.widths[i] - width(text);
                let (before, after) = if self.columns[i].right { (pad, 0) } else { (0, pad) };
                let before = before + if i == 0 { 0 } else { self.gap };
                out.extend(std::iter::repeat_n(' ', before));
                out.push_str(text);
                out.extend(std::iter::repeat_n(' ', after));
            }
            out.truncate(start + out[start..].trim_end_matches(' ').len());
            out.push('\n');
        };
        if std::mem::take(&mut self.head) {
            put(&mut self.columns.iter().map(|c| c.title.as_ref()));
        }
        for line in self.lines.drain(..) {
            put(&mut line.iter().map(String::as_str));
        }
    }
}

/// A table with a row for each item ([`Output::list`]). Each column stands beside its cell, of
/// which text and JSON are made: the title, the side if that is `right`, and what else [`Table`]
/// knows of a column. `let`s may stand in front; `?` leaves out an item without a row.
///
/// ```
/// use cli::Command;
/// struct World { names: Vec<&'static str> }
/// static CLI: &[Command<World>] = cli::commands! {
///     /// All names
///     "show names" => |w, _| Ok(cli::columns!(0..w.names.len(), |w: &World, i| {
///         // It may be gone.
///         let name = *w.names.get(i)?;
///         "Name" => name,
///         "Letters" right.key("length") => name.len(),
///     }));
/// };
/// # let world = World { names: vec!["ann"] };
/// # let tree = cli::Tree::new(CLI).unwrap();
/// assert_eq!(tree.answer(&world, "show names").unwrap(), "Name  Letters\nann         3\n");
/// ```
#[macro_export]
macro_rules! columns {
    (@column $table:ident, $title:literal) => { $table.left($title) };
    (@column $table:ident, $title:literal $side:ident $($more:tt)*) => {
        $table.$side($title)$($more)*
    };
    ($items:expr, |$world:tt: &$World:ty, $item:pat_param| {
        $(let $name:pat = $value:expr;)*
        $($title:literal $($side:ident $(.$more:ident($argument:expr))*)? => $cell:expr),+ $(,)?
    }) => {{
        let table = $crate::Table::new();
        $(let table =
            $crate::columns!(@column table, $title $($side $(.$more($argument))*)?);)+
        table.rows($items, move |$world: &$World, $item| {
            $(let $name = $value;)*
            Some([$($crate::Cell::from($cell)),+])
        })
    }};
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

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
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

    #[suite::test]
    fn keys_keep_their_order_and_can_be_named() {
        let mut t = Table::new().left("B").left("A").key("zz").gap(1);
        t.row(["é".into(), true.into(), "too many".into()]);
        assert_eq!(t.to_json().to_string(), r#"[{"b":"é","zz":true}]"#);
        assert_eq!(t.render(), "B A\né yes\n");
    }
}

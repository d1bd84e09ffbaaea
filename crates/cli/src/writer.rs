// SPDX-License-Identifier: Apache-2.0
//! Writes a long answer row by row, in the one form that was asked for.

use crate::Table;
use crate::list::SLICE;
use crate::table::{Cell, Layout};
use serde_json::Value;
use std::fmt::Write as _;

/// The output for the rows of a long answer: as text or as JSON, never both. Methods of the other
/// form do nothing, and the closures that they take aren't called.
///
/// | in text | in JSON |
/// |---|---|
/// | [`Writer::text`] | [`Writer::value`], [`Writer::field`] |
/// | | [`Writer::object`], [`Writer::array`], [`Writer::end`] |
/// | | [`Writer::string`], [`Writer::piece`], [`Writer::end`] |
/// | [`Writer::table`], [`Writer::row`], [`Writer::text_row`] | [`Writer::row`] |
#[derive(Debug)]
pub struct Writer {
    json: bool,
    out: String,
    /// Closing brackets of the open values; true if a value has an element already.
    open: Vec<(char, bool)>,
    /// Opening bracket of the whole answer in JSON, until it is written.
    root: Option<char>,
    table: Option<Layout>,
    rows: usize,
}

impl Writer {
    /// A writer of an answer that is a JSON array.
    pub(crate) fn array_of(json: bool) -> Self {
        Self::new(json, '[')
    }

    /// A writer of an answer that is a JSON object.
    pub(crate) fn object_of(json: bool) -> Self {
        Self::new(json, '{')
    }

    fn new(json: bool, root: char) -> Self {
        let root = json.then_some(root);
        Self { json, out: String::new(), open: Vec::new(), root, table: None, rows: 0 }
    }

    /// Returns true if JSON was asked for. Rows rarely need to know: only the form asked for is
    /// written.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Number of bytes that wait to be sent.
    pub(crate) fn len(&self) -> usize {
        self.out.len()
    }

    /// Number of rows so far.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Notes that an item was written.
    pub(crate) fn count(&mut self) {
        self.rows += 1;
    }

    /// Takes the text written since the last call. Rows of a table are held back until there are
    /// [`SLICE`] of them or something else follows, so that the width of the columns doesn't
    /// depend on when slices end.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Closes all open values.
    pub(crate) fn finish(&mut self) {
        self.flush();
        if self.json {
            self.begin();
            while !self.open.is_empty() {
                self.end();
            }
            self.out.push('\n');
        }
    }

    /// Returns true if anything was written, even if it is sent already.
    pub(crate) fn has_begun(&self) -> bool {
        if self.json { self.root.is_none() } else { self.rows > 0 || !self.out.is_empty() }
    }

    /// Adds text: whole lines, ended by newlines; what `add` gives, the `Ok` of `writeln!` for
    /// instance, is of no interest. Nothing in JSON.
    pub fn text<R>(&mut self, add: impl FnOnce(&mut String) -> R) {
        if !self.json {
            self.flush();
            let _ = add(&mut self.out);
        }
    }

    /// Adds an element to the array that is open. Nothing in text.
    pub fn value<V: Into<Value>>(&mut self, value: impl FnOnce() -> V) {
        if self.json {
            self.element();
            self.put(&value().into());
        }
    }

    /// Adds a member to the object that is open. Nothing in text.
    pub fn field(&mut self, key: &str, value: impl Into<Value>) {
        if self.json {
            self.key(key);
            self.put(&value.into());
        }
    }

    /// Opens an object: an element of the array that is open. Nothing in text.
    pub fn object(&mut self) {
        if self.json {
            self.element();
            self.bracket('{');
        }
    }

    /// Opens an array: an element of the array that is open. Nothing in text.
    pub fn array_in(&mut self) {
        if self.json {
            self.element();
            self.bracket('[');
        }
    }

    /// Opens an array: a member of the object that is open. Nothing in text.
    pub fn array(&mut self, key: &str) {
        if self.json {
            self.key(key);
            self.bracket('[');
        }
    }

    /// Opens an object: a member of the object that is open. Nothing in text.
    pub fn object_in(&mut self, key: &str) {
        if self.json {
            self.key(key);
            self.bracket('{');
        }
    }

    /// Opens a long string, which is written in pieces: a member of the object that is open.
    /// Nothing in text.
    pub fn string(&mut self, key: &str) {
        if self.json {
            self.key(key);
            self.out.push('"');
            self.open.push(('"', false));
        }
    }

    /// Adds to the string that is open. Nothing in text.
    pub fn piece(&mut self, text: &str) {
        if matches!(self.open.last(), Some(('"', _))) {
            let quoted = Value::from(text).to_string();
            self.out.push_str(&quoted[1..quoted.len() - 1]);
        }
    }

    /// Closes the object, array or string that was opened last. Nothing in text.
    pub fn end(&mut self) {
        if let Some((bracket, filled)) = self.open.pop() {
            if filled {
                self.newline();
            }
            self.out.push(bracket);
        }
    }

    /// Begins a table of these columns: its head, which is written even if no row follows.
    pub fn table(&mut self, columns: &Table) {
        self.flush();
        self.table = Some(columns.layout());
    }

    /// Adds a row to the table: a line, or an object in the array that is open.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let Some(mut table) = self.table.take() else { return };
        if self.json {
            self.object();
            for (key, cell) in table.keys().zip(cells) {
                self.field(key, cell);
            }
            self.end();
        } else {
            table.row(cells);
            if table.waiting() >= SLICE {
                table.render(&mut self.out);
            }
        }
        self.table = Some(table);
    }

    /// Adds a row in text only, where programs are given another value than the cells. Nothing in
    /// JSON.
    pub fn text_row<I: IntoIterator<Item = Cell>>(&mut self, cells: impl FnOnce() -> I) {
        if !self.json {
            self.row(cells());
        }
    }

    fn flush(&mut self) {
        if let Some(table) = self.table.as_mut().filter(|_| !self.json) {
            table.render(&mut self.out);
        }
    }

    fn begin(&mut self) {
        if let Some(root) = self.root.take() {
            self.bracket(root);
        }
    }

    fn bracket(&mut self, bracket: char) {
        self.out.push(bracket);
        self.open.push((if bracket == '[' { ']' } else { '}' }, false));
    }

    /// Begins an element of the innermost open value.
    fn element(&mut self) {
        self.begin();
        if let Some((_, filled)) = self.open.last_mut() {
            if std::mem::replace(filled, true) {
                self.out.push(',');
            }
            self.newline();
        }
    }

    fn key(&mut self, key: &str) {
        self.element();
        self.put_str(key);
        self.out.push_str(": ");
    }

    fn newline(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", self.open.len()));
    }

    fn put(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.put_str(text),
            Value::Array(all) => {
                self.bracket('[');
                for one in all {
                    self.element();
                    self.put(one);
                }
                self.end();
            }
            Value::Object(all) => {
                self.bracket('{');
                for (key, one) in all {
                    self.key(key);
                    self.put(one);
                }
                self.end();
            }
            // Writing to a String can't fail.
            plain => drop(write!(self.out, "{plain}")),
        }
    }

    fn put_str(&mut self, text: &str) {
        // Most texts need no escape.
        if text.bytes().all(|b| matches!(b, b' '..=b'~') && b != b'"' && b != b'\\') {
            self.out.push('"');
            self.out.push_str(text);
            self.out.push('"');
        } else {
            let _ = write!(self.out, "{}", Value::from(text));
        }
    }
}

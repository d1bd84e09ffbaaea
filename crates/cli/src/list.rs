// SPDX-License-Identifier: Apache-2.0
//! Answers that grow with a table: made and sent in slices, while everything else goes on.

use crate::{Output, Result, Table, Writer};
use std::any::Any;
use std::time::{Duration, Instant};

/// Items of one slice.
pub const SLICE: usize = 256;
/// A slice ends sooner when it has taken that long,
pub(crate) const TIME: Duration = Duration::from_millis(2);
/// or has so many bytes.
const BYTES: usize = 64 << 10;

/// Calls `step` until it returns false, at most [`SLICE`] times and for the time of a slice.
/// Returns false if `step` did.
pub fn slice(mut step: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    for _ in 0..SLICE {
        if !step() {
            return false;
        }
        if start.elapsed() >= TIME {
            break;
        }
    }
    true
}

/// The rows of a long answer, one after the other.
pub(crate) trait Rows<W> {
    /// Writes the next item; false if there is none.
    fn next(&mut self, world: &W, out: &mut Writer) -> Result<bool>;
}

struct Items<I, F> {
    items: I,
    row: F,
    table: Option<Table>,
}

impl<W, T, I, F> Rows<W> for Items<I, F>
where
    I: Iterator<Item = T>,
    F: FnMut(&W, T, &mut Writer) -> Result<()>,
{
    fn next(&mut self, world: &W, out: &mut Writer) -> Result<bool> {
        if let Some(columns) = self.table.take() {
            out.table(&columns);
        }
        let Some(item) = self.items.next() else { return Ok(false) };
        (self.row)(world, item, out).map(|()| true)
    }
}

/// Rows without items of their own.
struct Steps<F>(F);

impl<W, F: FnMut(&W, &mut Writer) -> Result<bool>> Rows<W> for Steps<F> {
    fn next(&mut self, world: &W, out: &mut Writer) -> Result<bool> {
        (self.0)(world, out)
    }
}

/// A long answer before its form, text or JSON, is known.
pub struct List {
    /// A `Box<dyn Rows<W>>`.
    rows: Box<dyn Any>,
    /// True if it is a JSON object, not an array.
    is_object: bool,
}

impl std::fmt::Debug for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("List")
    }
}

fn output<W: 'static, T>(
    items: impl IntoIterator<Item = T, IntoIter: 'static>,
    row: impl FnMut(&W, T, &mut Writer) -> Result<()> + 'static,
    table: Option<Table>,
    is_object: bool,
) -> Output {
    boxed(Items { items: items.into_iter(), row, table }, is_object)
}

fn boxed<W: 'static>(rows: impl Rows<W> + 'static, is_object: bool) -> Output {
    let rows: Box<dyn Rows<W>> = Box::new(rows);
    Output::List(List { rows: Box::new(rows), is_object })
}

pub(crate) fn of_table<W: 'static, T>(
    table: Table,
    items: impl IntoIterator<Item = T, IntoIter: 'static>,
    row: impl FnMut(&W, T, &mut Writer) -> Result<()> + 'static,
) -> Output {
    output(items, row, Some(table), false)
}

impl Output {
    /// An answer that grows with a table. `items` is asked for the next item when the client has
    /// room for it, and `row` writes the item in the form that was asked for; in JSON the whole
    /// is an array. Everything else goes on in between, so an item is a key, or an entry of a
    /// table that is read a piece at a time ([`pieces`]): what is there all the time is shown once,
    /// whatever is added and removed meanwhile. Filters stand in `row`: an iterator that skips a
    /// million entries holds control up.
    ///
    /// ```
    /// use cli::{Command, Output, Tree, Writer};
    /// use std::fmt::Write as _;
    /// struct World { names: Vec<&'static str> }
    /// static CLI: &[Command<World>] = &[Command {
    ///     path: "show names",
    ///     usage: "",
    ///     help: "All names",
    ///     run: |w, _| Ok(Output::list(0..w.names.len(), |w: &World, i: usize, out: &mut Writer| {
    ///         // It may be gone.
    ///         let Some(name) = w.names.get(i) else { return Ok(()) };
    ///         out.text(|text| writeln!(text, "[{i}] {name}"));
    ///         out.value(|| serde_json::json!({ "index": i, "name": name }));
    ///         Ok(())
    ///     })),
    /// }];
    /// let (tree, world) = (Tree::new(CLI).unwrap(), World { names: vec!["a", "b"] });
    /// assert_eq!(tree.answer(&world, "show names").unwrap(), "[0] a\n[1] b\n");
    /// ```
    pub fn list<W: 'static, T>(
        items: impl IntoIterator<Item = T, IntoIter: 'static>,
        row: impl FnMut(&W, T, &mut Writer) -> Result<()> + 'static,
    ) -> Self {
        output(items, row, None, false)
    }

    /// As [`Output::list`], where the whole is a JSON object: `row` adds members, and arrays with
    /// elements of their own.
    pub fn record<W: 'static, T>(
        items: impl IntoIterator<Item = T, IntoIter: 'static>,
        row: impl FnMut(&W, T, &mut Writer) -> Result<()> + 'static,
    ) -> Self {
        output(items, row, None, true)
    }

    /// As [`Output::list`], where the world is needed to find the next item: `step` writes one, if
    /// there is one, and returns true to go on.
    pub fn list_while<W: 'static>(
        step: impl FnMut(&W, &mut Writer) -> Result<bool> + 'static,
    ) -> Self {
        boxed(Steps(step), false)
    }

    /// As [`Output::record`], made as [`Output::list_while`] is.
    pub fn record_while<W: 'static>(
        step: impl FnMut(&W, &mut Writer) -> Result<bool> + 'static,
    ) -> Self {
        boxed(Steps(step), true)
    }
}

/// Entries of a table that may change meanwhile, read a slice at a time: `read` gives at most so
/// many behind a key (from the start: `None`), in order, and `key` an entry's key.
///
/// ```
/// let table = std::collections::BTreeMap::from_iter((0..1000).map(|n| (n, n * n)));
/// let behind = move |after: Option<i32>, n| {
///     let from = after.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
///     table.range((from, std::ops::Bound::Unbounded)).map(|(k, v)| (*k, *v)).take(n).collect()
/// };
/// assert_eq!(cli::pieces(behind, |(k, _)| *k).map(|(_, v)| v).last(), Some(999 * 999));
/// ```
pub fn pieces<T, K: Clone>(
    mut read: impl FnMut(Option<K>, usize) -> Vec<T>,
    key: impl Fn(&T) -> K,
) -> impl Iterator<Item = T> {
    let (mut piece, mut last) = (Vec::new().into_iter(), None);
    std::iter::from_fn(move || {
        if piece.as_slice().is_empty() {
            let next = read(last.clone(), SLICE);
            last = Some(key(next.last()?));
            piece = next.into_iter();
        }
        piece.next()
    })
}

/// A long answer in progress.
pub(crate) struct Listing {
    list: List,
    out: Writer,
    /// Items that are shown at most, and the command that shows all.
    most: Option<(usize, String)>,
    /// Bytes so far.
    bytes: usize,
}

/// Freed memory goes back to the system behind an answer of so many bytes.
const LARGE: usize = 4 << 20;

impl Listing {
    pub fn new(list: List, json: bool, most: Option<(usize, String)>) -> Self {
        let out = if list.is_object { Writer::object_of(json) } else { Writer::array_of(json) };
        Self { list, out, most, bytes: 0 }
    }

    /// Makes the next slice: its text, and how the answer ended, if it did.
    pub fn slice<W: 'static>(
        &mut self,
        world: &W,
        cancelled: bool,
    ) -> (String, Option<Result<()>>) {
        let ended = if cancelled {
            Some(Err(crate::Error::failed("cancelled")))
        } else {
            self.go_on(world)
        };
        match &ended {
            None => {}
            // Nothing but the error is reported.
            Some(Err(_)) if !self.out.has_begun() => return (String::new(), ended),
            Some(_) => self.out.finish(),
        }
        let text = self.out.take();
        self.bytes += text.len();
        if ended.is_some() && self.bytes >= LARGE {
            mem::trim_heap();
        }
        (text, ended)
    }

    fn go_on<W: 'static>(&mut self, world: &W) -> Option<Result<()>> {
        let Some(rows) = self.list.rows.downcast_mut::<Box<dyn Rows<W>>>() else {
            return Some(Err(crate::Error::failed("an answer of another world")));
        };
        let start = Instant::now();
        for _ in 0..SLICE {
            if let Some((n, line)) = self.most.as_ref().filter(|(n, _)| self.out.rows() >= *n) {
                self.out.text(|text| *text += &format!("… the first {n}: `{line}' shows all\n"));
                return Some(Ok(()));
            }
            match rows.next(world, &mut self.out) {
                Ok(true) => self.out.count(),
                Ok(false) => return Some(Ok(())),
                Err(error) => return Some(Err(error)),
            }
            if self.out.len() >= BYTES || start.elapsed() >= TIME {
                break;
            }
        }
        None
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `show statistics segment`: the entries of the stats directory.

use cli::{Cell, Error, Matches, Output, OutputPiece, Sequence, Step, Table, Tree, Writer};
use graph::World;
use serde_json::{Value as Json, json};
use stats::{Kind, Reader, RingRow, Value};
use std::collections::BTreeMap;

/// Entries of the directory that are read in one turn.
const SLICE: u32 = 256;

fn failed(e: std::io::Error) -> Error {
    Error::failed(format!("the stats segment can't be read: {e}"))
}

pub fn show(world: &World, m: &Matches) -> Result<Output, Error> {
    Ok(Output::sequence(Gather {
        reader: Some(Reader::new(&world.stats).map_err(failed)?),
        part: if m.has("name") { m.str("name").to_string() } else { String::new() },
        verbose: m.flag("verbose"),
        next: 0,
        found: BTreeMap::new(),
    }))
}

/// Entries by name: index, and what they are.
type Entries = BTreeMap<String, (u32, Kind)>;

/// Gathers the entries whose name holds `part`, in slices: they are shown by name, and lie in the
/// order in which they were made.
struct Gather {
    /// `None` once all are gathered.
    reader: Option<Reader>,
    part: String,
    verbose: bool,
    next: u32,
    found: Entries,
}

impl Sequence<World> for Gather {
    fn next(
        &mut self,
        _: &Tree<World>,
        world: &World,
        _: Option<cli::Result<Vec<OutputPiece>>>,
    ) -> Step {
        let Some(reader) = self.reader.take() else { return Step::Done(Output::empty()) };
        let indices = self.next..self.next + SLICE;
        self.next = indices.end;
        match reader.index(indices) {
            Err(e) => Step::Failed(failed(e)),
            Ok(Some(entries)) => {
                let wanted = entries.into_iter().filter(|(_, name, _)| name.contains(&self.part));
                self.found.extend(wanted.map(|(index, name, kind)| (name, (index, kind))));
                self.reader = Some(reader);
                Step::More(String::new())
            }
            Ok(None) => {
                let found = std::mem::take(&mut self.found);
                Step::Done(if self.verbose { values(world, reader, found) } else { names(found) })
            }
        }
    }
}

fn names(found: Entries) -> Output {
    let table = Table::new().left("Name").min_width(32).left("Type");
    table.list(found, |_: &World, (name, (_, kind)), out: &mut Writer| {
        out.row([name.into(), kind.name().into()]);
        Ok(())
    })
}

fn values(world: &World, reader: Reader, found: Entries) -> Output {
    let (epoch, entries) = (reader.epoch(), found.len());
    let parts = found.into_iter().flat_map(move |(name, (index, _))| parts(&reader, index, name));
    let mut name = String::new();
    // The row behind those of the threads is control's.
    let threads = world.threads();
    let writer = move |row: usize| if row == threads { Cell::from("control") } else { row.into() };
    Output::record(
        [Part::Head].into_iter().chain(parts),
        move |_: &World, part, out: &mut Writer| {
            let none = || Cell::from("");
            let named = || Cell::from(name.as_str());
            match part {
                Part::Head => {
                    out.text(|text| *text += &format!("epoch {epoch}, {entries} entries\n"));
                    let table =
                        Table::new().left("Name").min_width(32).right("Thread").right("Index");
                    out.table(&table.right("Value").right("Bytes"));
                    out.field("epoch", epoch);
                    out.object_in("stats");
                }
                Part::Scalar(name, value) => {
                    out.text_row(|| {
                        [Cell::from(name.as_str()), none(), none(), Cell::show(&value), none()]
                    });
                    out.field(&name, value);
                }
                Part::Vector(of) => {
                    out.array(&of);
                    name = of;
                }
                Part::Thread => out.array_in(),
                Part::Simple(thread, i, n) => {
                    if n != 0 {
                        out.text_row(|| [named(), writer(thread), i.into(), n.into(), none()]);
                    }
                    out.value(|| n);
                }
                Part::Combined(thread, i, (packets, bytes)) => {
                    if (packets, bytes) != (0, 0) {
                        out.text_row(|| {
                            [named(), writer(thread), i.into(), packets.into(), bytes.into()]
                        });
                    }
                    out.value(|| json!({ "packets": packets, "bytes": bytes }));
                }
                Part::Name(i, text) => {
                    out.text_row(|| [named(), none(), i.into(), text.as_str().into(), none()]);
                    out.value(|| text);
                }
                Part::Histogram(name, rows) => {
                    for (thread, row) in rows.iter().enumerate() {
                        let bins = row.get(1..).unwrap_or_default();
                        for (i, n) in bins.iter().enumerate().filter(|(_, n)| **n != 0) {
                            let values = values_of_bin(row[0], i, bins.len());
                            let named = Cell::from(name.as_str());
                            out.text_row(|| {
                                [named, thread.into(), values.into(), (*n).into(), none()]
                            });
                        }
                    }
                    let row = |r: &Vec<u64>| json!({ "min_exp": r.first(), "bins": r.get(1..) });
                    out.field(&name, rows.iter().map(row).collect::<Json>());
                }
                Part::Ring(name, rows) => {
                    for (thread, row) in rows.iter().enumerate() {
                        let cells = || {
                            [
                                Cell::from(name.as_str()),
                                writer(thread),
                                none(),
                                row.sequence.into(),
                                none(),
                            ]
                        };
                        out.text_row(cells);
                    }
                    let row = |r: &RingRow| json!({ "sequence": r.sequence, "entries": r.entries, "schema": r.schema });
                    out.field(&name, rows.iter().map(row).collect::<Json>());
                }
                Part::End => out.end(),
            }
            Ok(())
        },
    )
}

/// The values that bin `i` of `bins` counts: those with this highest power of two, and in the first
/// and last bin all below or above.
fn values_of_bin(lowest: u64, i: usize, bins: usize) -> String {
    let exponent = lowest.saturating_add(i as u64);
    match i {
        0 if bins == 1 => "all".into(),
        0 => format!("<2^{}", exponent.saturating_add(1)),
        _ if i + 1 == bins => format!(">=2^{exponent}"),
        _ => format!("2^{exponent}"),
    }
}

/// An element of the values in the segment.
enum Part {
    Head,
    Scalar(String, Json),
    Vector(String),
    Thread,
    Simple(usize, usize, u64),
    Combined(usize, usize, (u64, u64)),
    Name(usize, String),
    /// By thread: the exponent of the first bin, then the counts of the bins.
    Histogram(String, Vec<Vec<u64>>),
    Ring(String, Vec<RingRow>),
    /// Of a thread's cells, or of a vector.
    End,
}

/// One value, read when its turn comes.
fn parts(reader: &Reader, index: u32, name: String) -> Box<dyn Iterator<Item = Part>> {
    fn vector<T: 'static>(
        name: String,
        threads: Vec<Vec<T>>,
        part: fn(usize, usize, T) -> Part,
    ) -> Box<dyn Iterator<Item = Part>> {
        let cells = threads.into_iter().enumerate().flat_map(move |(thread, cells)| {
            let cells = cells.into_iter().enumerate().map(move |(i, n)| part(thread, i, n));
            [Part::Thread].into_iter().chain(cells).chain([Part::End])
        });
        Box::new([Part::Vector(name)].into_iter().chain(cells).chain([Part::End]))
    }
    // It may have gone, or the segment changes all the time: then it isn't shown.
    let Ok(Some(value)) = reader.at(index, &name) else { return Box::new(std::iter::empty()) };
    match value {
        Value::Scalar(n) | Value::Gauge(n) => Box::new([Part::Scalar(name, json!(n))].into_iter()),
        Value::Simple(threads) => vector(name, threads, Part::Simple),
        Value::Combined(threads) => vector(name, threads, Part::Combined),
        Value::Names(names) => {
            let names = names.into_iter().enumerate().map(|(i, text)| Part::Name(i, text));
            Box::new([Part::Vector(name)].into_iter().chain(names).chain([Part::End]))
        }
        Value::Histogram(rows) => Box::new([Part::Histogram(name, rows)].into_iter()),
        Value::Ring(rows) => Box::new([Part::Ring(name, rows)].into_iter()),
        Value::Other(kind) => Box::new([Part::Scalar(name, json!(kind.name()))].into_iter()),
    }
}

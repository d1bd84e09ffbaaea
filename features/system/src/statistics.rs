// SPDX-License-Identifier: Apache-2.0
//! `show statistics segment`: what stands in the stats directory.

use cli::{Cell, Error, Matches, Output, Table, Writer};
use graph::World;
use serde_json::{Value as Json, json};
use stats::{Reader, RingRow, Value};

fn failed(e: std::io::Error) -> Error {
    Error::failed(format!("the stats segment can't be read: {e}"))
}

pub fn show(world: &World, m: &Matches) -> Result<Output, Error> {
    let reader = Reader::new(&world.stats).map_err(failed)?;
    let part = if m.has("name") { m.str("name") } else { "" };
    let wanted = |name: &str| name.contains(part);
    let mut list = reader.index().map_err(failed)?;
    list.retain(|(_, name, _)| wanted(name));
    list.sort_by(|(_, a, _), (_, b, _)| a.cmp(b));
    if !m.flag("verbose") {
        let table = Table::new().left("Name").min_width(32).left("Type");
        return Ok(table.list(list, |_: &World, (_, name, kind), out: &mut Writer| {
            out.row([name.into(), kind.name().into()]);
            Ok(())
        }));
    }
    let (epoch, entries) = (reader.epoch(), list.len());
    let parts = list.into_iter().flat_map(move |(index, name, _)| parts(&reader, index, name));
    let mut name = String::new();
    // The row behind those of the threads is control's.
    let threads = world.threads();
    let writer = move |row: usize| if row == threads { Cell::from("control") } else { row.into() };
    Ok(Output::record([Part::Head].into_iter().chain(parts), move |_: &World, part, out: &mut Writer| {
        let none = || Cell::from("");
        let named = || Cell::from(name.as_str());
        match part {
            Part::Head => {
                out.text(|text| *text += &format!("epoch {epoch}, {entries} entries\n"));
                let table = Table::new().left("Name").min_width(32).right("Thread").right("Index");
                out.table(&table.right("Value").right("Bytes"));
                out.field("epoch", epoch);
                out.object_in("stats");
            }
            Part::Scalar(name, value) => {
                out.text_row(|| [Cell::from(name.as_str()), none(), none(), Cell::show(&value), none()]);
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
                    out.text_row(|| [named(), writer(thread), i.into(), packets.into(), bytes.into()]);
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
                        out.text_row(|| [named, thread.into(), values.into(), (*n).into(), none()]);
                    }
                }
                let row = |r: &Vec<u64>| json!({ "min_exp": r.first(), "bins": r.get(1..) });
                out.field(&name, rows.iter().map(row).collect::<Json>());
            }
            Part::Ring(name, rows) => {
                for (thread, row) in rows.iter().enumerate() {
                    let cells =
                        || [Cell::from(name.as_str()), writer(thread), none(), row.sequence.into(), none()];
                    out.text_row(cells);
                }
                let row =
                    |r: &RingRow| json!({ "sequence": r.sequence, "entries": r.entries, "schema": r.schema });
                out.field(&name, rows.iter().map(row).collect::<Json>());
            }
            Part::End => out.end(),
        }
        Ok(())
    }))
}

/// The values that bin `i` of `bins` counts: those with this highest power of two, and in the first and last bin all below or above.
fn values_of_bin(lowest: u64, i: usize, bins: usize) -> String {
    let exponent = lowest.saturating_add(i as u64);
    match i {
        0 if bins == 1 => "all".into(),
        0 => format!("<2^{}", exponent.saturating_add(1)),
        _ if i + 1 == bins => format!(">=2^{exponent}"),
        _ => format!("2^{exponent}"),
    }
}

/// What the values of the segment consist of.
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

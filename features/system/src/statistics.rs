// SPDX-License-Identifier: Apache-2.0
//! `show statistics segment`: what stands in the stats directory.

use cli::{Cell, Error, Matches, Output, Table};
use graph::World;
use serde_json::{Value as Json, json};
use stats::{Reader, Stat, Value};

fn failed(e: std::io::Error) -> Error {
    Error::failed(format!("the stats segment can't be read: {e}"))
}

pub fn show(world: &World, m: &Matches) -> Result<Output, Error> {
    let reader = Reader::new(&world.stats).map_err(failed)?;
    let part = if m.has("name") { m.str("name") } else { "" };
    let wanted = |name: &str| name.contains(part);
    if !m.flag("verbose") {
        let mut table = Table::new().left("Name").min_width(32).left("Type");
        let mut list = reader.list().map_err(failed)?;
        list.retain(|(name, _)| wanted(name));
        list.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (name, kind) in list {
            table.row([name.into(), kind.name().into()]);
        }
        return Ok(table.into());
    }
    let mut all = reader.read(wanted).map_err(failed)?;
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let mut table =
        Table::new().left("Name").min_width(32).right("Thread").right("Index").right("Value").right("Bytes");
    for stat in &all {
        rows(&mut table, stat, world.threads());
    }
    let text = format!("epoch {}, {} entries\n{}", reader.epoch(), all.len(), table.render());
    let stats: serde_json::Map<_, _> = all.into_iter().map(|s| (s.name, value(s.value))).collect();
    Ok(Output::both(text, json!({ "epoch": reader.epoch(), "stats": stats })))
}

/// A line for a value; of a counter, for each cell that isn't 0. The row behind those of the threads is control's.
fn rows(table: &mut Table, stat: &Stat, threads: usize) {
    let name = || Cell::from(stat.name.as_str());
    let none = || Cell::from("");
    let writer = |row: usize| if row == threads { Cell::from("control") } else { row.into() };
    match &stat.value {
        Value::Scalar(n) | Value::Gauge(n) => {
            table.row([name(), none(), none(), (*n).into(), none()]);
        }
        Value::Simple(rows) => {
            for (row, i, n) in cells(rows).filter(|(_, _, n)| **n != 0) {
                table.row([name(), writer(row), i.into(), (*n).into(), none()]);
            }
        }
        Value::Combined(rows) => {
            for (row, i, (packets, bytes)) in cells(rows).filter(|(_, _, n)| **n != (0, 0)) {
                table.row([name(), writer(row), i.into(), (*packets).into(), (*bytes).into()]);
            }
        }
        Value::Names(names) => {
            for (i, text) in names.iter().enumerate() {
                table.row([name(), none(), i.into(), text.as_str().into(), none()]);
            }
        }
        Value::Other(kind) => {
            table.row([name(), none(), none(), kind.name().into(), none()]);
        }
    }
}

fn cells<T>(rows: &[Vec<T>]) -> impl Iterator<Item = (usize, usize, &T)> {
    rows.iter().enumerate().flat_map(|(t, row)| row.iter().enumerate().map(move |(i, n)| (t, i, n)))
}

fn value(value: Value) -> Json {
    match value {
        Value::Scalar(n) | Value::Gauge(n) => json!(n),
        Value::Simple(threads) => json!(threads),
        Value::Combined(threads) => {
            let cell = |(packets, bytes): &(u64, u64)| json!({ "packets": packets, "bytes": bytes });
            threads.iter().map(|row| row.iter().map(cell).collect::<Json>()).collect()
        }
        Value::Names(names) => json!(names),
        Value::Other(kind) => json!(kind.name()),
    }
}

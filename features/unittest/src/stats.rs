// SPDX-License-Identifier: Apache-2.0
//! `test stats …`: rings and histograms in the stats segment, filled for readers to be tried with.

use ::stats::{Reader, RingShape, Value};
use cli::{Error, Matches, Output, Task, TaskState};
use graph::World;
use std::time::Duration;

pub fn show_schema(w: &World, m: &Matches) -> Result<Output, Error> {
    let (schema, version) = schema(w, m)?;
    Ok(Output::text(format!("Ring Buffer Schema (version {version}):\n{schema}\n")))
}

pub fn test_schema(w: &World, m: &Matches) -> Result<Output, Error> {
    let (schema, version) = schema(w, m)?;
    let (name, size) = (m.str("name"), schema.len());
    Ok(Output::text(format!(
        "Schema found in ring buffer '{name}': {size} bytes, version {version}\n{schema}\n"
    )))
}

pub fn clear_histogram(w: &World, m: &Matches) -> Result<Output, Error> {
    let name = m.str("name");
    if w.stats.remove_histogram(name) {
        Ok(Output::text(format!("Cleared histogram '{name}'\n")))
    } else {
        Err(Error::not_found(format!("Histogram '{name}' not found")).at(m.span("name")))
    }
}

/// Schema of a ring entry.
const SCHEMA: &str = "ring_test = { seq: uint64, timestamp: float64 }";
const VERSION: u32 = 1;

/// Steps of a poll.
const AT_ONCE: u32 = 1000;

/// Calls `each` `count` times, once per interval, then prints what `said` makes of the number of
/// calls.
struct Paced<F, S> {
    /// Gets the sequence number, and the time that it is due.
    each: F,
    done: u32,
    count: u32,
    interval: Duration,
    started: Option<Duration>,
    said: S,
}

impl<F: FnMut(u32, Duration), S: Fn(u32) -> String> Task for Paced<F, S> {
    fn poll(&mut self, now: Duration) -> TaskState {
        let started = *self.started.get_or_insert(now);
        for _ in 0..AT_ONCE {
            let due = started + self.interval * self.done;
            if self.done >= self.count || due > now {
                break;
            }
            (self.each)(self.done, due);
            self.done += 1;
        }
        if self.done < self.count {
            return TaskState::Pending;
        }
        TaskState::Done(Output::text((self.said)(self.done)))
    }

    fn cancel(&mut self) {
        self.count = self.done;
    }

    fn wake_at(&self) -> Option<Duration> {
        self.started.map(|started| started + self.interval * self.done)
    }
}

impl<F: FnMut(u32, Duration) + 'static, S: Fn(u32) -> String + 'static> Paced<F, S> {
    fn start(m: &Matches, said: S, each: F) -> Result<Output, Error> {
        let interval = Duration::from_micros(m.req::<u32>("interval")?.into());
        let count = m.req("count")?;
        Ok(Output::task(Self { each, done: 0, count, interval, started: None, said }))
    }
}

fn no_room(m: &Matches) -> Error {
    Error::failed(format!(
        "the stats segment has no room for it, or something else named {}",
        m.str("name")
    ))
    .at(m.span("name"))
}

pub fn ring(w: &World, m: &Matches) -> Result<Output, Error> {
    let (name, size) = (m.str("name"), m.opt::<u32>("size")?.unwrap_or(16));
    let shape = RingShape {
        threads: 1,
        words: 2,
        entries: size as usize,
        schema: SCHEMA,
        schema_version: VERSION,
    };
    let ring = w.stats.ring(name, &shape).ok_or_else(|| no_room(m))?;
    let (name, entries) = (name.to_string(), ring.entries());
    let said =
        move |n| format!("Generated {n} messages to ring buffer '{name}' (ring size {entries})\n");
    Paced::start(m, said, move |i, due| ring.push(0, &[i.into(), due.as_secs_f64().to_bits()]))
}

pub fn histogram(w: &World, m: &Matches) -> Result<Output, Error> {
    let name = m.str("name");
    let (lowest, bins) =
        (m.opt::<u32>("lowest")?.unwrap_or(0), m.opt::<u32>("bins")?.unwrap_or(16));
    let histogram = w.stats.histogram(name, lowest, bins as usize).ok_or_else(|| no_room(m))?;
    let (name, lowest, bins) = (name.to_string(), histogram.lowest(), histogram.bins());
    let said = move |n| {
        format!("Generated {n} histogram entries for '{name}' (min_exp={lowest}, bins={bins})\n")
    };
    Paced::start(m, said, move |i, _| {
        // Small, medium, large and very large ones in turn.
        let (from, span) = [(0, 16), (16, 240), (256, 3840), (4096, 10_000)][i as usize % 4];
        histogram.count(0, u64::from(from + i % span));
    })
}

/// Read from the segment, as another process would.
fn schema(w: &World, m: &Matches) -> Result<(String, u32), Error> {
    let name = m.str("name");
    let failed = |e: std::io::Error| Error::failed(format!("the stats segment can't be read: {e}"));
    match Reader::new(&w.stats).and_then(|reader| reader.get(name)).map_err(failed)? {
        Some(Value::Ring(rows)) => match rows.into_iter().next() {
            Some(row) if !row.schema.is_empty() => Ok((row.schema, row.schema_version)),
            _ => Err(Error::failed(format!("No schema found in ring buffer '{name}'"))
                .at(m.span("name"))),
        },
        _ => Err(Error::not_found(format!("Ring buffer '{name}' not found")).at(m.span("name"))),
    }
}

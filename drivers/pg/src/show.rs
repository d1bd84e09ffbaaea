// SPDX-License-Identifier: Apache-2.0
//! `show packet-generator …`.

use crate::state::Shared;
use crate::stream::{Source, Stream};
use cli::{Error, Matches, Output, OutputPiece, Sequence, Step, Tree};
use graph::{Replies, World};
use net::Interfaces;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Limit of a wait for threads.
const PATIENCE: Duration = Duration::from_millis(50);

type Answer = Box<dyn FnOnce(&World) -> Result<Output, Error> + Send>;

/// Waits for two turns of every thread, the second of which is behind a whole one: packets that
/// were ordered before the command are sent then, and are in their captures. Where turns take long,
/// the answer doesn't: streams keep the threads busy.
struct Settled {
    turns: u8,
    since: Instant,
    turn: Replies<()>,
    answer: Option<Answer>,
}

impl Sequence<World> for Settled {
    fn next(
        &mut self,
        _: &Tree<World>,
        world: &World,
        _: Option<Result<Vec<OutputPiece>, Error>>,
    ) -> Step {
        let in_time = self.since.elapsed() < PATIENCE;
        if self.turn.poll().is_none() && in_time {
            return Step::More(String::new());
        }
        self.turns -= 1;
        if self.turns > 0 && in_time {
            self.turn = world.query(|_| ());
            return Step::More(String::new());
        }
        let output = self.answer.take().map_or(Ok(Output::empty()), |answer| answer(world));
        output.map_or_else(Step::Failed, Step::Done)
    }
}

fn settled(
    world: &World,
    answer: impl FnOnce(&World) -> Result<Output, Error> + Send + 'static,
) -> Output {
    let (turn, answer) = (world.query(|_| ()), Some(Box::new(answer) as Answer));
    Output::sequence::<World>(Settled { turns: 2, since: Instant::now(), turn, answer })
}

fn parameters(world: &World, stream: &Stream) -> String {
    let spec = &stream.spec;
    let mut out = format!("limit {}, ", spec.limit);
    if spec.rate > 0.0 {
        out += &format!("rate {:.2e} pps, ", spec.rate);
    }
    if spec.queue > 0 {
        let lost = stream.lost.load(Ordering::Relaxed);
        out += &format!("queue {}, lost {lost}, ", spec.queue);
    }
    match &spec.source {
        Source::Packets(all) => out += &format!("pcap of {} packets, ", all.len()),
        Source::Template(_) => out += &format!("size {}-{}, ", spec.size.0, spec.size.1),
    }
    out += &format!(
        "interface {}, node {}, worker {}",
        world.get::<Interfaces>().name(spec.interface),
        world.node_name(spec.node),
        spec.thread
    );
    out
}

pub fn streams(w: &World, _: &Matches) -> Result<Output, Error> {
    let shared = w.get::<Shared>();
    // A caller that sees `No' reads the capture file next: flags are read before what streams sent
    // is written out.
    let rows: Vec<_> =
        shared.streams().into_iter().map(|s| (s.enabled.load(Ordering::Acquire), s)).collect();
    Ok(settled(w, move |w| {
        shared.write_out(w.clock.now());
        Ok(cli::columns!(rows, |w: &World, (enabled, stream)| {
            "Name" => stream.spec.name.clone(),
            "Enabled" => if enabled { "Yes" } else { "No" },
            "Count" right => stream.sent.load(Ordering::Relaxed),
            "Parameters" => parameters(w, &stream),
        }))
    }))
}

pub fn interface(w: &World, m: &Matches) -> Result<Output, Error> {
    let name = m.str("interface").to_string();
    w.get::<Shared>().mode(w, &name)?;
    Ok(settled(w, move |w| row_of(w, name)))
}

fn row_of(w: &World, name: String) -> Result<Output, Error> {
    let shared = w.get::<Shared>();
    let (sw_if, mode) = shared.mode(w, &name)?;
    shared.write_out(w.clock.now());
    let capture = shared.captures().into_iter().find(|c| c.0 == sw_if);
    let capture = capture.map_or((String::new(), 0, None), |(_, file, n, why)| (file, n, why));
    let (offloads, filters) = (shared.offloads(sw_if).words(), shared.filters(sw_if));
    Ok(cli::columns!([capture], |_: &World, (file, packets, failure)| {
        "Name" => name.clone(),
        "Mode" => format!("{mode:?}").to_lowercase(),
        "Offloads" => offloads.clone(),
        "MAC filter" => if filters { "on" } else { "off" },
        "Capture" => file,
        "Packets" right => packets,
        "Failure" => failure.unwrap_or_default(),
    }))
}

// SPDX-License-Identifier: Apache-2.0
//! `show runtime`: what each thread's nodes did, and what it cost.

use crate::control::Since;
use crate::{Rate, Rates};
use cli::{Cell, Error, Matches, Output, Table};
use graph::{InputMode, NodeIndex, NodeInfo, ThreadInfo, World, counters};
use serde_json::{Value, json};
use std::fmt::Write;

/// One node or process on one thread.
struct Line {
    index: Option<NodeIndex>,
    name: String,
    state: &'static str,
    calls: u64,
    vectors: u64,
    suspends: u64,
    clocks: u64,
}

impl Line {
    fn ran(&self) -> bool {
        self.calls + self.suspends > 0
    }

    /// Clocks for each packet; for each call, or each run of a process, where there are no packets.
    fn per_packet(&self) -> f64 {
        let n = [self.vectors, self.calls, self.suspends].into_iter().find(|n| *n > 0);
        n.map_or(0.0, |n| self.clocks as f64 / n as f64)
    }

    fn per_call(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.vectors as f64 / self.calls as f64 }
    }
}

/// Packets per second.
#[derive(Default)]
struct Flow {
    received: f64,
    sent: f64,
    dropped: f64,
    punted: f64,
}

struct Block {
    id: usize,
    thread: ThreadInfo,
    lcore: usize,
    seconds: f64,
    rate: Rate,
    flow: Flow,
    /// The part of its time that the thread spent in nodes.
    busy: f64,
    lines: Vec<Line>,
}

/// How the operator wants it.
struct Form {
    time: bool,
    verbose: bool,
    summary: bool,
}

pub fn show(world: &World, m: &Matches) -> Result<Output, Error> {
    let form = Form { time: m.flag("time"), verbose: m.flag("verbose"), summary: m.flag("summary") };
    let mut blocks = blocks(world);
    // What its inputs wait for, only a thread knows.
    let asked = world.ask(|rt| rt.input_modes().collect::<Vec<_>>());
    Ok(asked.then(move |answers| {
        for (block, modes) in blocks.iter_mut().zip(answers) {
            let asleep = block.thread.asleep;
            for line in &mut block.lines {
                let mode = modes.iter().flatten().find(|(input, _)| Some(*input) == line.index);
                if let Some((_, mode)) = mode {
                    line.state = state(*mode, asleep);
                }
            }
            block.lines.retain(|line| form.verbose || line.ran());
        }
        let text: Vec<_> = blocks.iter().map(|b| b.text(&form)).collect();
        let json = blocks.iter().map(Block::json).collect();
        Ok(Output::both(text.join("---------------\n"), Value::Array(json)))
    }))
}

fn state(mode: InputMode, asleep: bool) -> &'static str {
    match mode {
        InputMode::Disabled => "disabled",
        InputMode::Polling => "polling",
        InputMode::Interrupt => "interrupt wa",
        // It polls while packets come.
        InputMode::Adaptive if asleep => "interrupt wa",
        InputMode::Adaptive => "polling",
    }
}

fn blocks(world: &World) -> Vec<Block> {
    let (nodes, rates) = (world.nodes(), world.get::<Rates>().now(world));
    let (seconds, clocks) = world.get::<Since>().elapsed();
    let block = |(id, (thread, rate)): (usize, (ThreadInfo, Rate))| {
        let mut lines = lines(world, &nodes, id);
        let flow = Flow::of(&nodes, &lines, seconds);
        let spent: u64 = lines.iter().map(|line| line.clocks).sum();
        if id == 0 {
            lines.extend(world.processes.list().into_iter().map(|p| Line {
                index: None,
                name: p.name.to_string(),
                state: p.state,
                calls: 0,
                vectors: 0,
                suspends: p.runs,
                clocks: p.clocks,
            }));
        }
        lines.sort_by(|a, b| a.name.cmp(&b.name));
        let lcore = thread.core.or_else(|| crate::threads::processor(&thread)).unwrap_or(0);
        Block { id, thread, lcore, seconds, rate, flow, busy: spent as f64 / clocks.max(1) as f64, lines }
    };
    world.thread_list().into_iter().zip(rates).enumerate().map(block).collect()
}

fn lines(world: &World, nodes: &[NodeInfo], thread: usize) -> Vec<Line> {
    let counter = |name| world.stats.simple(name);
    let (calls, vectors, clocks) =
        (counter(counters::CALLS), counter(counters::VECTORS), counter(counters::CLOCKS));
    let line = |n: &NodeInfo| Line {
        index: Some(n.index),
        name: n.name.to_string(),
        state: if n.input { "disabled" } else { "active" },
        calls: calls.of_thread(thread, n.index.at()),
        vectors: vectors.of_thread(thread, n.index.at()),
        suspends: 0,
        clocks: clocks.of_thread(thread, n.index.at()),
    };
    // Packets to a node that nobody brings are freed there: that is a node's work too.
    let all = nodes.iter().map(|n| (n.missing, line(n)));
    all.filter(|(missing, line)| !missing || line.calls > 0).map(|(_, line)| line).collect()
}

impl Flow {
    /// What came in by inputs, left by transmit nodes, and ended in the nodes that drop and punt.
    fn of(nodes: &[NodeInfo], lines: &[Line], seconds: f64) -> Self {
        let inputs: Vec<_> = nodes.iter().filter(|n| n.input).map(|n| n.index).collect();
        let outputs: Vec<_> = nodes.iter().filter(|n| n.transmits()).map(|n| n.index).collect();
        let rate = |of: &dyn Fn(&Line) -> bool| {
            let vectors: u64 = lines.iter().filter(|line| of(line)).map(|line| line.vectors).sum();
            vectors as f64 / seconds.max(1e-9)
        };
        Self {
            received: rate(&|line| line.index.is_some_and(|i| inputs.contains(&i))),
            sent: rate(&|line| line.index.is_some_and(|i| outputs.contains(&i))),
            dropped: rate(&|line| line.name == "error-drop"),
            punted: rate(&|line| line.name == "error-punt"),
        }
    }
}

impl Block {
    fn text(&self, form: &Form) -> String {
        let (t, f) = (&self.thread, &self.flow);
        let mut text = format!("Thread {} {} (lcore {})\n", self.id, t.name, self.lcore);
        // Writing to a String can't fail.
        let _ = writeln!(
            text,
            "Time {:.1}, 10 sec internal node vector rate {:.2} loops/sec {:.2}",
            self.seconds, self.rate.vector, self.rate.loops
        );
        let _ = writeln!(
            text,
            "  vector rates in {:.4e}, out {:.4e}, drop {:.4e}, punt {:.4e}, busy {:.1} %",
            f.received,
            f.sent,
            f.dropped,
            f.punted,
            self.busy * 100.0
        );
        if form.summary {
            return text;
        }
        let unit = if form.time { simd::tsc_hz() as f64 } else { 1.0 };
        let mut table = Table::new()
            .left("Name")
            .min_width(32)
            .left("State")
            .min_width(12)
            .right("Calls")
            .min_width(12)
            .right("Vectors")
            .min_width(14)
            .right("Suspends")
            .min_width(10)
            .right(if form.time { "Packet-Time" } else { "Packet-Clocks" })
            .right("Vectors/Call");
        for line in &self.lines {
            table.row([
                line.name.as_str().into(),
                line.state.into(),
                line.calls.into(),
                line.vectors.into(),
                line.suspends.into(),
                Cell::show(format_args!("{:.2e}", line.per_packet() / unit)),
                Cell::show(format_args!("{:.2}", line.per_call())),
            ]);
        }
        text + &table.render()
    }

    fn json(&self) -> Value {
        let line = |l: &Line| {
            json!({
                "name": l.name,
                "state": l.state,
                "calls": l.calls,
                "vectors": l.vectors,
                "suspends": l.suspends,
                "clocks": l.clocks,
                "packet_clocks": l.per_packet(),
                "vectors_call": l.per_call(),
            })
        };
        json!({
            "thread": self.id,
            "name": self.thread.name,
            "lcore": self.lcore,
            "time": self.seconds,
            "internal_node_vector_rate": self.rate.vector,
            "loops_sec": self.rate.loops,
            "in": self.flow.received,
            "out": self.flow.sent,
            "drop": self.flow.dropped,
            "punt": self.flow.punted,
            "busy": self.busy,
            "nodes": self.lines.iter().map(line).collect::<Vec<_>>(),
        })
    }
}

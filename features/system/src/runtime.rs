// SPDX-License-Identifier: Apache-2.0
//! `show runtime`: calls, packets and clocks of each thread's nodes.

use crate::control::RuntimeStart;
use crate::{Rate, Rates};
use cli::{Cell, Error, Matches, Output, Table, Writer};
use graph::{InputMode, LongestCall, NodeIndex, NodeInfo, ThreadInfo, World, counters};
use serde_json::json;
use stats::Simple;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// One node or process on one thread.
struct Line {
    name: String,
    state: &'static str,
    calls: u64,
    vectors: u64,
    suspends: u64,
    clocks: u64,
    longest: LongestCall,
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

    /// Clocks for each packet of the longest call.
    fn longest_per_packet(&self) -> f64 {
        let LongestCall { clocks, vectors } = self.longest;
        if vectors == 0 { 0.0 } else { clocks as f64 / vectors as f64 }
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
    state: ThreadState,
    /// Calls, vectors, clocks.
    counters: [Arc<Simple>; 3],
    flow: Flow,
    /// Clocks that the thread spent in nodes,
    spent: u64,
    /// of so many.
    clocks: u64,
    lines: Vec<Line>,
}

/// State read from a graph thread: the mode of its inputs, and the longest call of each node.
type ThreadState = (Vec<(NodeIndex, InputMode)>, HashMap<NodeIndex, LongestCall>);

/// The form of the output that the operator wants.
struct OutputOptions {
    max: bool,
    time: bool,
    verbose: bool,
    summary: bool,
}

pub fn show(world: &World, m: &Matches) -> Result<Output, Error> {
    let [max, time, verbose, summary] =
        ["max", "time", "verbose", "summary"].map(|word| m.flag(word));
    let form = OutputOptions { max, time, verbose, summary };
    let rates = world.get::<Rates>().now(world);
    let threads: Vec<_> = world.thread_list().into_iter().zip(rates).collect();
    let nodes = || world.node_indices();
    // Nodes, and the processes of control with thread 0.
    let most = nodes().count() + world.processes.list().len();
    let nodes: Vec<NodeIndex> = nodes().collect();
    let state = world
        .query(|rt| -> ThreadState { (rt.input_modes().collect(), rt.longest_calls().collect()) });
    Ok(state.then(move |answers| {
        let blocks = threads.into_iter().zip(answers).enumerate();
        let parts = blocks.flat_map(move |(id, ((thread, rate), state))| {
            let begin = Part::Thread(id, thread, rate, state.unwrap_or_default());
            // Its nodes are read first: the head says what they did together, and they stand in
            // order.
            let (read, lines) =
                (nodes.clone().into_iter().map(Part::Read), (0..most).map(Part::Line));
            [begin].into_iter().chain(read).chain([Part::Head]).chain(lines).chain([Part::End])
        });
        let mut now = None;
        Ok(Output::list(parts, move |world: &World, part, out: &mut Writer| {
            if let Part::Thread(id, thread, rate, state) = part {
                now = Some(Block::new(world, id, thread, rate, state));
            } else if let Some(block) = &mut now {
                block.part(world, part, &form, out);
            }
            Ok(())
        }))
    }))
}

enum Part {
    Thread(usize, ThreadInfo, Rate, ThreadState),
    Read(NodeIndex),
    Head,
    Line(usize),
    End,
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

impl Flow {
    /// Adds a node's packets: received by inputs, sent by transmit nodes, dropped, or punted.
    fn add(&mut self, node: &NodeInfo, vectors: f64) {
        for (counts, to) in [
            (node.input, &mut self.received),
            (node.transmits(), &mut self.sent),
            (*node.name == *"error-drop", &mut self.dropped),
            (*node.name == *"error-punt", &mut self.punted),
        ] {
            if counts {
                *to += vectors;
            }
        }
    }
}

impl Block {
    fn new(world: &World, id: usize, thread: ThreadInfo, rate: Rate, state: ThreadState) -> Self {
        let lcore = thread.core.or_else(|| crate::threads::processor(&thread)).unwrap_or(0);
        let (seconds, clocks) = world.get::<RuntimeStart>().elapsed();
        let counters =
            [counters::CALLS, counters::VECTORS, counters::CLOCKS].map(|c| world.stats.simple(c));
        let (flow, lines) = (Flow::default(), Vec::new());
        Self { id, thread, lcore, seconds, clocks, rate, state, counters, flow, spent: 0, lines }
    }

    fn part(&mut self, world: &World, part: Part, form: &OutputOptions, out: &mut Writer) {
        match part {
            Part::Thread(..) => {}
            Part::Read(index) => self.read(world, index, form),
            Part::Head => {
                self.processes(world, form);
                self.lines.sort_by(|a, b| a.name.cmp(&b.name));
                self.head(form, out);
            }
            Part::Line(i) => {
                if let Some(line) = self.lines.get(i) {
                    line.write(form, out);
                }
            }
            Part::End => {
                out.end();
                out.end();
            }
        }
    }

    fn read(&mut self, world: &World, index: NodeIndex, form: &OutputOptions) {
        let Some(node) = world.node_info(index) else { return };
        let [calls, vectors, clocks] =
            self.counters.each_ref().map(|counter| counter.of_thread(self.id, index.at()));
        // Packets to a missing node are freed there: that is a node's work too.
        if node.missing && calls == 0 {
            return;
        }
        self.flow.add(&node, vectors as f64 / self.seconds.max(1e-9));
        self.spent += clocks;
        let mode = self.state.0.iter().find(|(input, _)| *input == index);
        let state = match mode {
            Some((_, mode)) => state(*mode, self.thread.asleep),
            None if node.input => "disabled",
            None => "active",
        };
        let longest = self.state.1.get(&index).copied().unwrap_or_default();
        let line = Line {
            name: node.name.to_string(),
            state,
            calls,
            vectors,
            suspends: 0,
            clocks,
            longest,
        };
        if form.verbose || line.ran() {
            self.lines.push(line);
        }
    }

    /// Control's, which stand with the first thread.
    fn processes(&mut self, world: &World, form: &OutputOptions) {
        if self.id > 0 {
            return;
        }
        let lines = world.processes.list().into_iter().map(|p| Line {
            name: p.name.to_string(),
            state: p.state,
            calls: 0,
            vectors: 0,
            suspends: p.runs,
            clocks: p.clocks,
            longest: LongestCall::default(),
        });
        self.lines.extend(lines.filter(|line| form.verbose || line.ran()));
    }

    fn head(&self, form: &OutputOptions, out: &mut Writer) {
        let (t, f, rate) = (&self.thread, &self.flow, &self.rate);
        let busy = self.spent as f64 / self.clocks.max(1) as f64;
        out.text(|text| {
            if self.id > 0 {
                text.push_str("---------------\n");
            }
            writeln!(text, "Thread {} {} (lcore {})", self.id, t.name, self.lcore)?;
            writeln!(
                text,
                "Time {:.1}, 10 sec internal node vector rate {:.2} loops/sec {:.2}",
                self.seconds, rate.vector, rate.loops
            )?;
            writeln!(
                text,
                "  vector rates in {:.4e}, out {:.4e}, drop {:.4e}, punt {:.4e}, busy {:.1} %",
                f.received,
                f.sent,
                f.dropped,
                f.punted,
                busy * 100.0
            )
        });
        out.object();
        out.field("thread", self.id);
        out.field("name", t.name.as_str());
        out.field("lcore", self.lcore);
        out.field("time", self.seconds);
        out.field("internal_node_vector_rate", rate.vector);
        out.field("loops_sec", rate.loops);
        out.field("in", f.received);
        out.field("out", f.sent);
        out.field("drop", f.dropped);
        out.field("punt", f.punted);
        out.field("busy", busy);
        out.array("nodes");
        if form.summary {
            return;
        }
        let table = Table::new().left("Name").min_width(32);
        if form.max {
            let table = [
                "Max Node Clocks",
                "Vectors at Max",
                "Max Clocks",
                "Avg Clocks",
                "Avg Vectors/Call",
            ]
            .into_iter()
            .fold(table, Table::right);
            return out.table(&table);
        }
        let table = table
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
        out.table(&table);
    }
}

impl Line {
    fn write(&self, form: &OutputOptions, out: &mut Writer) {
        if form.max && !form.summary {
            out.text_row(|| {
                [
                    self.name.as_str().into(),
                    Cell::show(format_args!("{:.2e}", self.longest.clocks as f64)),
                    self.longest.vectors.into(),
                    Cell::show(format_args!("{:.2e}", self.longest_per_packet())),
                    Cell::show(format_args!("{:.2e}", self.per_packet())),
                    Cell::show(format_args!("{:.2}", self.per_call())),
                ]
            });
        } else if !form.summary {
            // Nanoseconds, as VPP's.
            let unit = if form.time { simd::tsc_hz() as f64 / 1e9 } else { 1.0 };
            out.text_row(|| {
                [
                    self.name.as_str().into(),
                    self.state.into(),
                    self.calls.into(),
                    self.vectors.into(),
                    self.suspends.into(),
                    Cell::show(format_args!("{:.2e}", self.per_packet() / unit)),
                    Cell::show(format_args!("{:.2}", self.per_call())),
                ]
            });
        }
        out.value(|| {
            json!({
                "name": self.name,
                "state": self.state,
                "calls": self.calls,
                "vectors": self.vectors,
                "suspends": self.suspends,
                "clocks": self.clocks,
                "packet_clocks": self.per_packet(),
                "vectors_call": self.per_call(),
                "max_node_clocks": self.longest.clocks,
                "vectors_at_max": self.longest.vectors,
            })
        });
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `show trace`: the path of each packet, node by node.

use crate::brief;
use crate::control::{Filters, NodeFilter, layer};
use crate::stamp::{Format, Stamp};
use cli::{Error, Matches, Output, Writer};
use graph::{InputTrace, Record, Replies, TraceLog, World};
use msg::Pending;
use net::{IfKind, Interfaces};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use wire::describe::{Layer, describe};

/// Default number of packets shown of each thread.
const MAX: usize = 50;

/// Records of a thread, and how many more found no room.
struct Log {
    records: Vec<Record>,
    lost: u64,
}

/// A record, and the thread that wrote it.
type Step = (usize, Record);

/// State for printing records.
struct View {
    /// By index.
    nodes: Vec<Arc<str>>,
    /// By index.
    threads: Vec<String>,
    interfaces: Arc<Interfaces>,
    passed: Option<NodeFilter>,
    stamp: Stamp,
    /// From 1970 to the start.
    start: Duration,
    max: usize,
    /// Only what each node decided or changed.
    brief: bool,
}

impl View {
    fn new(world: &World, max: usize, brief: bool) -> Self {
        Self {
            nodes: world.node_names(),
            threads: world.thread_list().into_iter().map(|t| t.name).collect(),
            interfaces: world.get(),
            passed: world.get::<Filters>().get().passed,
            stamp: world.get::<Format>().get(),
            start: world.clock.start_time(),
            max,
            brief,
        }
    }
}

/// Asks all threads for their records.
fn logs(world: &World) -> Replies<Log> {
    world.query(|rt| {
        let log = rt.trace();
        Log { records: log.records().copied().collect(), lost: log.lost() }
    })
}

pub fn show(world: &World, m: &Matches) -> Result<Output, Error> {
    let view = View::new(world, m.get("max").unwrap_or(MAX), m.flag("brief"));
    Ok(logs(world).then(move |logs| Ok(view.show(logs))))
}

/// The traces there are, to be printed one by one.
pub struct Traces {
    view: View,
    /// By thread.
    packets: Vec<Vec<Vec<Step>>>,
}

impl Traces {
    /// Asks for them; `f` answers with them.
    pub fn query<R: 'static>(
        world: &World,
        f: impl FnOnce(Traces) -> Result<R, Error> + 'static,
    ) -> Box<dyn Pending<World, R>> {
        let view = View::new(world, usize::MAX, false);
        logs(world).reply(move |logs| {
            let mut packets = view.packets(logs);
            let by_thread = |thread| packets.remove(&thread).unwrap_or_default();
            let packets = (0..view.threads.len()).map(by_thread).collect();
            f(Traces { view, packets })
        })
    }

    /// Number of packets that came in, by thread.
    pub fn counts(&self) -> Vec<usize> {
        self.packets.iter().map(Vec::len).collect()
    }

    /// A packet's path, as `show trace` prints it.
    pub fn text(&self, thread: usize, position: usize) -> String {
        let mut text = String::new();
        if let Some(steps) = self.packets.get(thread).and_then(|packets| packets.get(position)) {
            self.view.packet(&mut text, steps);
        }
        text
    }
}

/// An element of the output of `show trace`.
enum Part {
    /// A thread, and its packets.
    Thread(usize, usize),
    Packet(usize, Vec<Step>),
    End(usize, usize),
}

impl View {
    /// An answer whose packets are described when their turn comes.
    fn show(self, logs: Vec<Option<Log>>) -> Output {
        let lost: Vec<u64> = logs.iter().map(|log| log.as_ref().map_or(0, |l| l.lost)).collect();
        let silent: Vec<bool> = logs.iter().map(Option::is_none).collect();
        let (mut packets, max) = (self.packets(logs), self.max);
        let parts = (0..self.threads.len()).flat_map(move |thread| {
            let mine = packets.remove(&thread).unwrap_or_default();
            let of = mine.len();
            let shown =
                mine.into_iter().take(max).enumerate().map(|(i, steps)| Part::Packet(i + 1, steps));
            [Part::Thread(thread, of)].into_iter().chain(shown).chain([Part::End(thread, of)])
        });
        Output::list(parts, move |_: &World, part, out: &mut Writer| {
            match part {
                Part::Thread(thread, of) => {
                    let name = &self.threads[thread];
                    out.text(|text| {
                        writeln!(
                            text,
                            "------------------- Start of thread {thread} {name} -------------------"
                        )?;
                        match (silent[thread], of) {
                            (true, _) => writeln!(text, "The thread doesn't answer"),
                            (false, 0) => writeln!(text, "No packets in trace buffer"),
                            _ => Ok(()),
                        }
                    });
                    out.object();
                    out.field("thread", thread);
                    out.field("name", name.as_str());
                    out.array("packets");
                }
                Part::Packet(number, steps) => {
                    out.text(|text| {
                        writeln!(text, "Packet {number}{}", if self.brief { "" } else { "\n" })?;
                        self.packet(text, &steps);
                        writeln!(text)
                    });
                    out.value(|| self.packet_json(number, &steps));
                }
                Part::End(thread, of) => {
                    let (shown, lost) = (of.min(max), lost[thread]);
                    out.text(|text| {
                        if shown < of {
                            writeln!(
                                text,
                                "Limiting display to {shown} of {of} packets. To display more specify max."
                            )?;
                        }
                        if lost > 0 { writeln!(text, "{lost} records did not fit") } else { Ok(()) }
                    });
                    out.end();
                    out.field("of", of);
                    out.field("lost", lost);
                    out.end();
                }
            }
            Ok(())
        })
    }

    /// The packets that are to be shown, by the thread that they came in on, each with its records
    /// in the order of time.
    fn packets(&self, logs: Vec<Option<Log>>) -> BTreeMap<usize, Vec<Vec<Step>>> {
        let mut traces: BTreeMap<u32, Vec<Step>> = BTreeMap::new();
        for (thread, log) in logs.into_iter().enumerate() {
            for record in log.into_iter().flat_map(|log| log.records) {
                traces.entry(record.trace).or_default().push((thread, record));
            }
        }
        let mut packets: BTreeMap<usize, Vec<Vec<Step>>> = BTreeMap::new();
        let mut left = self.passed.map_or(usize::MAX, |p| p.count);
        for (trace, mut steps) in traces {
            let passed = |p: NodeFilter| steps.iter().any(|(_, r)| r.node == p.node) == p.include;
            if left == 0 || !self.passed.is_none_or(passed) {
                continue;
            }
            left -= 1;
            // Stable: records of one thread stay in the order in which they were written.
            steps.sort_by_key(|(_, record)| record.time);
            packets.entry(TraceLog::thread_of(trace).at()).or_default().push(steps);
        }
        packets
    }

    fn node(&self, record: &Record) -> &str {
        self.nodes.get(record.node.at()).map_or("unknown", |name| name)
    }

    fn visits(&self, steps: &[Step]) -> Vec<brief::Visit<'_>> {
        brief::visits(steps.iter().map(|(_, record)| (self.node(record), self.detail(record))))
    }

    fn packet(&self, text: &mut String, steps: &[Step]) {
        if self.brief {
            return brief::write(text, &self.visits(steps));
        }
        let mut on = steps.first().map(|(thread, _)| *thread);
        for (thread, record) in steps {
            let time = self.stamp.text(Duration::from_nanos(record.time), self.start);
            let _ = writeln!(text, "{time}: {}", self.node(record));
            if on.replace(*thread) != Some(*thread) {
                let _ = writeln!(text, "  on thread {thread} {}", self.threads[*thread]);
            }
            for line in self.detail(record).lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
    }

    fn packet_json(&self, number: usize, steps: &[Step]) -> Value {
        if self.brief {
            let node = |v: brief::Visit<'_>| json!({ "node": v.node, "news": v.news });
            let nodes: Vec<_> = self.visits(steps).into_iter().map(node).collect();
            return json!({ "packet": number, "nodes": nodes });
        }
        let node = |(thread, record): &Step| {
            json!({
                "time": record.time as f64 / 1e9,
                "node": self.node(record),
                "thread": thread,
                "detail": self.detail(record).lines().collect::<Vec<_>>(),
            })
        };
        json!({ "packet": number, "nodes": steps.iter().map(node).collect::<Vec<_>>() })
    }

    /// The text of a record. An input's record holds the packet's first bytes, which are printed as
    /// headers.
    fn detail(&self, record: &Record) -> String {
        let Some(input) = record.get::<InputTrace>() else { return record.to_string() };
        let (bytes, length) = (input.head.bytes(), input.len);
        let to = self.nodes.get(input.to.at()).map_or("", |name| name);
        let kind = self.interfaces.get(input.rx_if).map(|i| i.kind);
        let layer = match layer(to) {
            Layer::Ethernet if kind.is_ok_and(IfKind::is_ip) => Layer::Ip,
            layer => layer,
        };
        format!(
            "{}, {length} bytes, next {to}\n{}",
            self.interfaces.name(input.rx_if),
            describe(bytes, layer)
        )
    }
}

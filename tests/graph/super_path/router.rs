// SPDX-License-Identifier: Apache-2.0
//! Two routers, one with super-paths and one without, that get the same.

use super::{INTERFACES, own_mac};
use buffer::Buffer;
use daemon::plugins;
use graph::counters::ERRORS;
use graph::drive::Bench;
use graph::{Cx, Next, Node, Plugin, SwIfIndex, World};
use net::drive::ethernet;
use net::{Adjacencies, IfCounters, Interfaces, Routes};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Packets by the interfaces that they come in or leave by.
pub type Packets = Vec<(u32, Vec<u8>)>;
pub type Sent = Arc<Mutex<Packets>>;

/// Notes what an interface sends.
struct Record(Sent);

#[derive(Next, Clone, Copy)]
enum RecordTo {
    #[free]
    Sent,
}

impl Node for Record {
    const NAME: &'static str = "record-tx";
    type Next = RecordTo;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> RecordTo {
        let bytes = b.segments().flatten().copied().collect();
        self.0.lock().expect("no panic inside").push((b.tx_if, bytes));
        RecordTo::Sent
    }
}

pub struct Router {
    pub bench: Bench,
    pub sent: Sent,
}
/// Routes, adjacencies and counters of theirs whose number matters; those behind are added up.
const NUMBERED: usize = 400;
const NUMBERS: usize = 12_000;

impl Router {
    pub fn with(super_path: bool, configure: impl FnOnce(&mut Bench)) -> Self {
        Self::of(&[], super_path, configure)
    }

    /// With more plugins than the daemon's.
    pub fn of(
        more: &[&'static Plugin],
        super_path: bool,
        configure: impl FnOnce(&mut Bench),
    ) -> Self {
        let mut bench = Bench::new(quiet(more));
        let sent = create_interfaces(&bench.world);
        configure(&mut bench);
        bench
            .cli(if super_path { "set super-path on" } else { "set super-path off" })
            .expect("switched");
        bench.settle();
        Self { bench, sent }
    }

    /// As a driver does.
    pub fn send(&mut self, frames: &[(u32, Vec<u8>)]) {
        let bench = &mut self.bench;
        bench.rt.receive();
        for (rx_if, frame) in frames {
            bench.arrive(SwIfIndex(*rx_if), frame);
        }
        // Time enough for as many errors as there are packets.
        bench.world.clock.adjust(10_000_000);
        bench.settle();
        bench.world.qsbr.collect();
    }

    /// The packets that it has sent, in their order.
    pub fn take_in_order(&self) -> Packets {
        std::mem::take(&mut *self.sent.lock().expect("no panic inside"))
    }

    pub fn take_sent(&self) -> Packets {
        without_numbers(self.take_in_order())
    }

    /// Packets that took the node.
    pub fn through(&self, node: &str) -> u64 {
        through(&self.bench.world, node)
    }
}

/// Plugins of the daemon without features that act at times of their own, and more.
pub fn quiet(more: &[&'static Plugin]) -> &'static [&'static Plugin] {
    let all = plugins::ALL.iter().chain(more).copied();
    all.filter(|p| !["ip6-nd", "ip-reassembly"].contains(&p.name)).collect::<Vec<_>>().leak()
}

/// Makes interfaces that are up, and returns the list of packets that they send.
pub fn create_interfaces(world: &Arc<World>) -> Sent {
    let (interfaces, all) = (world.get::<Interfaces>(), Sent::default());
    for i in 1..=INTERFACES {
        let (new, sent) = (ethernet(format!("e{i}"), own_mac(i)), all.clone());
        let tx = move |_: &_, _, _| Record(sent.clone());
        let sw_if = interfaces.create(world, new, tx).expect("created");
        assert_eq!(sw_if, SwIfIndex(i));
        interfaces.set_admin(world, sw_if, true).expect("up");
    }
    all
}

/// Packets in an order that is always the same. The router's own errors are numbered as they are
/// made, whose order doesn't matter: these numbers are left out.
pub fn without_numbers(mut sent: Packets) -> Packets {
    for (_, frame) in &mut sent {
        let is_tag = |at: usize| matches!(frame.get(at..at + 2), Some([0x81, 0] | [0x88, 0xa8]));
        let ip = 14 + (12..).step_by(4).take_while(|at| is_tag(*at)).count() * 4;
        if frame.len() >= ip + 20
            && frame[ip - 2..ip] == [8, 0]
            && frame[ip + 8..ip + 10] == [255, 1]
        {
            frame[ip + 4..ip + 6].fill(0);
            frame[ip + 10..ip + 12].fill(0);
        }
    }
    sent.sort_unstable();
    sent
}

/// Everything that is counted but by nodes.
pub fn counted(world: &World) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    let errors = world.stats.simple(ERRORS);
    for (i, reason) in world.reasons().into_iter().enumerate() {
        all.insert(format!("{}: {}", reason.node, reason.text), errors.sum(i));
    }
    let counters = world.get::<IfCounters>();
    for i in 0..world.get::<Interfaces>().max() {
        for (name, counter) in counters.simple() {
            all.insert(format!("{name} {i}"), counter.sum(i));
        }
        for (name, counter) in counters.combined() {
            let (packets, bytes) = counter.sum(i);
            all.insert(format!("{name} packets {i}"), packets);
            all.insert(format!("{name} bytes {i}"), bytes);
        }
    }
    let (routes, adjacencies) = (world.get::<Routes>(), world.get::<Adjacencies>());
    for (name, counter) in
        [("to", &routes.to), ("via", &routes.via), ("adjacency", &adjacencies.counters)]
    {
        let mut sums: Vec<_> = (0..NUMBERS).map(|i| counter.sum(i)).collect();
        let rest = sums.drain(NUMBERED..).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        sums.push(rest);
        for (i, (packets, bytes)) in sums.into_iter().enumerate() {
            all.insert(format!("{name} packets {i}"), packets);
            all.insert(format!("{name} bytes {i}"), bytes);
        }
    }
    all
}

/// Packets that took a node.
pub fn through(world: &World, node: &str) -> u64 {
    let index = world.node(node).unwrap_or_else(|| panic!("no node is named {node}"));
    world.stats.simple(graph::counters::VECTORS).sum(index.at())
}

/// Fails if routers have counted different numbers, except in counters whose name has this text.
#[track_caller]
pub fn same_counts([with, without]: [&World; 2], except: Option<&str>, when: &str) {
    let (with, without) = (counted(with), counted(without));
    let is_compared = |name: &str| except.is_none_or(|except| !name.contains(except));
    let differ: Vec<_> = with
        .iter()
        .filter(|(name, n)| without[*name] != **n && is_compared(name))
        .map(|(name, n)| format!("{name}: {n} and {}", without[name]))
        .collect();
    assert!(differ.is_empty(), "{differ:#?}, {when}");
}

/// Commands, one after the other.
#[track_caller]
pub fn lines(bench: &mut Bench, lines: &[&str]) {
    for line in lines {
        bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    }
}
/// Fails if the routers sent different packets, and shows a few of the differences.
#[track_caller]
pub fn same(with: &[(u32, Vec<u8>)], without: &[(u32, Vec<u8>)], when: &str) {
    let show = |all: &[(u32, Vec<u8>)], others: &[(u32, Vec<u8>)]| {
        let only = all.iter().filter(|p| !others.contains(p)).take(3);
        only.map(|(tx_if, bytes)| format!("to {tx_if}: {:02x?}", &bytes[..bytes.len().min(80)]))
            .collect::<Vec<_>>()
    };
    if with != without {
        let (more, less) = (show(with, without), show(without, with));
        panic!(
            "{when}: only with the super-path {more:#?}, only without {less:#?} ({} and {})",
            with.len(),
            without.len()
        );
    }
}

/// The two routers.
pub struct Pair {
    pub with: Router,
    pub without: Router,
    changes: usize,
}

impl Pair {
    /// The routers that `make` makes with super-paths, and without.
    pub fn new(make: impl Fn(bool) -> Router) -> Self {
        Self { with: make(true), without: make(false), changes: 0 }
    }

    /// Sends frames to both, and fails if they don't send the same packets, as `read` gives them.
    #[track_caller]
    pub fn pass(&mut self, frames: &Packets, read: impl Fn(&Router) -> Packets, when: &str) {
        self.with.send(frames);
        self.without.send(frames);
        same(&read(&self.with), &read(&self.without), when);
    }

    /// Has both run commands.
    #[track_caller]
    pub fn run(&mut self, commands: &[&str]) {
        for router in [&mut self.with, &mut self.without] {
            lines(&mut router.bench, commands);
            router.bench.settle();
        }
    }

    /// Makes the next of these changes, or takes the last one back; returns the command.
    #[track_caller]
    pub fn change(&mut self, all: &[[&'static str; 2]]) -> &'static str {
        let line = all[self.changes / 2 % all.len()][self.changes % 2];
        self.changes += 1;
        self.run(&[line]);
        line
    }

    /// Fails if they have counted different numbers, except in counters whose name has this text.
    #[track_caller]
    pub fn same_counts(&self, except: Option<&str>, when: &str) {
        same_counts([&self.with.bench.world, &self.without.bench.world], except, when);
    }

    /// Numbers of packets that took a node.
    pub fn through(&self, node: &str) -> [u64; 2] {
        [&self.with, &self.without].map(|router| router.through(node))
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Interfaces that come and go, and many of them at once: what they take, and that they give it back.

use daemon::plugins;
use graph::drive::Bench;
use graph::{MAX_NODES, World};
use net::Interfaces;
use stats::Reader;

/// All commands, read once.
struct Console {
    bench: Bench,
    tree: cli::Tree<World>,
}

impl Console {
    fn new() -> Self {
        let bench = Bench::new(plugins::ALL);
        let tree = cli::Tree::new(plugins::ALL.iter().flat_map(|p| p.cli)).expect("fits together");
        Self { bench, tree }
    }

    fn run(&mut self, line: &str) -> Result<String, cli::Error> {
        self.tree.execute(&self.bench.world, line).map(|outcome| outcome.output.to_text())
    }

    /// A turn of the thread and of control.
    fn turn(&mut self) {
        while self.bench.rt.turn(true) > 0 || self.bench.rt.is_busy() {}
        let _ = self.bench.world.processes.run(&self.bench.world);
        self.bench.world.qsbr.collect();
    }

    fn ok(&mut self, line: &str) -> String {
        self.run(line).unwrap_or_else(|e| panic!("{line}: {e}"))
    }

    /// Nodes, names of them, reasons and entries of the stats directory.
    fn state(&self) -> [usize; 4] {
        let world = &self.bench.world;
        let listed = Reader::new(&world.stats).and_then(|reader| reader.list()).expect("readable").len();
        [world.nodes().len(), world.node_names().len(), world.reasons().len(), listed]
    }
}

/// Resident memory of this process, in KiB, after what is free was given back.
fn resident() -> u64 {
    mem::trim_heap();
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("there");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn churn(times: u32) {
    let mut console = Console::new();
    let mut number = 1_u32;
    let mut cycle = |console: &mut Console, times: u32| {
        for _ in 0..times {
            // All numbers, in no order.
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            console.ok(&format!("create loopback interface instance {number}"));
            console.ok(&format!("set interface state loop{number} up"));
            console.ok(&format!("delete loopback interface intfc loop{number}"));
            console.turn();
        }
    };
    cycle(&mut console, 500);
    let (state, memory) = (console.state(), resident());
    cycle(&mut console, times);
    assert_eq!(console.state(), state, "nodes, names, reasons, entries of the directory");
    let grown = resident().saturating_sub(memory);
    assert!(grown < 4096, "{grown} KiB more after {times} interfaces that are gone");
}

#[test]
fn interfaces_that_go_leave_nothing_behind() {
    churn(20_000);
}

#[test]
#[ignore = "long: a million interfaces are made and deleted, some minutes"]
fn long_a_million_interfaces_leave_nothing_behind() {
    churn(1_000_000);
}

/// Interfaces of drivers take the same path; their nodes have reasons of their own.
#[test]
fn generator_interfaces_leave_nothing_behind() {
    let mut console = Console::new();
    let mut state = None;
    for i in 0..2000 {
        console.ok(&format!("create packet-generator interface pg{i}"));
        console.ok(&format!("set interface ip address pg{i} 10.0.0.1/24"));
        console.ok(&format!("set interface state pg{i} up"));
        console.turn();
        console.ok(&format!("delete packet-generator interface pg{i}"));
        console.turn();
        if i == 100 {
            state = Some(console.state());
        }
    }
    assert_eq!(Some(console.state()), state);
}

#[test]
fn memory_of_many_interfaces_is_linear() {
    const N: u32 = 10_000;
    let mut console = Console::new();
    // What grows in large steps of its own.
    for _ in 0..1000 {
        console.ok("create loopback interface");
    }
    console.turn();
    let add = |console: &mut Console| {
        let before = resident();
        for i in 0..N {
            console.ok("create loopback interface");
            if i % 64 == 0 {
                console.turn();
            }
        }
        console.turn();
        resident().saturating_sub(before)
    };
    let (first, second) = (add(&mut console), add(&mut console));
    assert!(second < first + first / 2, "{first} KiB for {N} interfaces, {second} KiB for as many again");
    // With their counters and the counters' names.
    let each = (first + second) * 1024 / u64::from(2 * N);
    assert!(each < 12 * 1024, "{each} bytes an interface");
}

#[test]
fn one_interface_too_many_is_an_error() {
    let mut console = Console::new();
    let error = loop {
        match console.run("create loopback interface") {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!((error.code(), error.to_string()), (-162, format!("too many nodes, {MAX_NODES} at most")));
    let made = console.bench.world.get::<Interfaces>().list().len();
    assert!(made > 30_000, "{made} interfaces");
    // The daemon goes on, and another one takes the place of one that goes.
    console.turn();
    assert!(console.run("create loopback interface").is_err());
    console.ok("delete loopback interface intfc loop7");
    console.turn();
    assert_eq!(console.ok("create loopback interface").trim(), "loop7");
    console.ok("set interface state loop7 up");
    let interfaces = console.bench.world.get::<Interfaces>();
    let loop7 = interfaces.find("loop7").and_then(|sw_if| interfaces.get(sw_if)).expect("there");
    assert!(loop7.admin_up);
}

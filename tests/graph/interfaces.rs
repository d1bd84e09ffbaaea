// SPDX-License-Identifier: Apache-2.0
//! Interfaces that come and go, and many of them at once: their memory, and that it is freed.

use daemon::plugins;
use graph::World;
use graph::drive::Bench;
use net::{Interfaces, RouteTables};
use stats::{Reader, Space};
use std::time::Instant;
use testkit::pkt;

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

    /// Nodes, names of them, reasons, entries of the stats directory, and routes with those of
    /// links.
    fn state(&self) -> [usize; 5] {
        let world = &self.bench.world;
        let listed =
            Reader::new(&world.stats).and_then(|reader| reader.list()).expect("readable").len();
        let [routes, ..] = world.get::<RouteTables>().usage();
        [world.nodes().len(), world.node_names().len(), world.reasons().len(), listed, routes.used]
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
        console.ok(&format!("set interface ip address pg{i} 2001:db8::1/64"));
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

/// Bonds whose members leave, are deleted, or are there when the bond is deleted, each in another
/// mode.
#[test]
fn bonds_that_go_leave_nothing_behind() {
    let mut console = Console::new();
    for port in 0..3 {
        console.ok(&format!("create packet-generator interface pg{port}"));
        console.ok(&format!("set interface state pg{port} up"));
    }
    let cycle = |console: &mut Console, times: usize| {
        for i in 0..times {
            let mode =
                ["lacp load-balance l34", "active-backup", "xor", "broadcast", "round-robin"]
                    [i % 5];
            console.ok(&format!("create bond mode {mode} id {}", i % 7));
            let bond = format!("BondEthernet{}", i % 7);
            for line in [
                "create packet-generator interface pg9",
                &format!("bond add {bond} pg9"),
                "set interface state pg9 up",
                &format!("set interface state {bond} up"),
                &format!("bond add {bond} pg0"),
                &format!("bond add {bond} pg1 passive long-timeout"),
                &format!("set interface ip address {bond} 10.0.0.1/24"),
                "bond del pg0",
                "delete packet-generator interface pg9",
            ] {
                console.ok(line);
            }
            if i % 3 == 0 {
                console.turn();
            }
            console.ok(&format!("delete bond {bond}"));
            console.turn();
        }
    };
    cycle(&mut console, 500);
    let (state, memory) = (console.state(), resident());
    cycle(&mut console, 10_000);
    assert_eq!(console.state(), state, "nodes, names, reasons, entries of the directory");
    let grown = resident().saturating_sub(memory);
    assert!(grown < 4096, "{grown} KiB more after 10,000 bonds that are gone");
    for line in ["show bond", "show lacp"] {
        assert!(!console.ok(line).contains("BondEthernet"), "{line}");
    }
}

#[test]
fn memory_of_many_interfaces_is_linear() {
    const N: u32 = 10_000;
    let mut console = Console::new();
    // Allocates structures that grow in large steps, before the measurement.
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
    assert!(
        second < first + first / 2,
        "{first} KiB for {N} interfaces, {second} KiB for as many again"
    );
    // With their counters and the counters' names.
    let each = (first + second) * 1024 / u64::from(2 * N);
    assert!(each < 12 * 1024, "{each} bytes an interface");
}

/// A packet of each version between the hosts behind two new interfaces, by the super-path and by
/// the graph: what comes out.
fn forwarded(console: &mut Console) -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().expect("a directory");
    for port in 1..=2 {
        for line in [
            format!("create packet-generator interface pg{port} hw-addr 02:fe:00:00:00:0{port}"),
            format!("set interface state pg{port} up"),
            format!("set interface ip address pg{port} 10.{port}.0.1/24"),
            format!("set interface ip address pg{port} 2001:db8:{port}::1/64"),
            format!("set ip neighbor pg{port} 10.{port}.0.2 02:aa:00:00:00:0{port} static"),
            format!("set ip neighbor pg{port} 2001:db8:{port}::2 02:aa:00:00:00:0{port} static"),
        ] {
            console.ok(&line);
        }
    }
    // Addresses of IPv6 are in use once no duplicate is detected.
    console.bench.world.clock.adjust(5_000_000_000);
    console.turn();
    let from = console.bench.world.get::<Interfaces>().find("pg1").expect("there");
    let ether = pkt::ether("02:aa:00:00:00:01", "02:fe:00:00:00:01");
    let frames = [
        ether.clone().ip4("10.1.0.2", "10.2.0.2").ttl(9).udp(7, 9).payload_len(20).build(),
        ether.ip6("2001:db8:1::2", "2001:db8:2::2").ttl(9).udp(7, 9).payload_len(20).build(),
    ];
    let mut out = Vec::new();
    for way in ["on", "off"] {
        let file = dir.path().join(way);
        console.ok(&format!("set super-path {way}"));
        console.turn();
        console.ok(&format!("packet-generator capture pg2 pcap {}", file.display()));
        for frame in &frames {
            console.bench.arrive(from, frame);
        }
        console.turn();
        console.ok("packet-generator capture pg2 disable");
        // Reports of groups come when they are due, and may come between the two.
        let forwarded = |frame: &Vec<u8>| frame.starts_with(&[0x02, 0xaa]);
        out.extend(fixture::read_pcap(&file).into_iter().filter(forwarded));
    }
    out
}

/// Indices of their nodes need more than 16 bits, which compact records of adjacencies don't have.
#[test]
fn packets_pass_by_interfaces_with_high_numbers() {
    let few = forwarded(&mut Console::new());
    let ether = pkt::ether("02:fe:00:00:00:02", "02:aa:00:00:00:02");
    let sent = [
        ether.clone().ip4("10.1.0.2", "10.2.0.2").ttl(8).udp(7, 9).payload_len(20).build(),
        ether.ip6("2001:db8:1::2", "2001:db8:2::2").ttl(8).udp(7, 9).payload_len(20).build(),
    ];
    assert_eq!(few, [&sent[..], &sent[..]].concat());
    let mut console = Console::new();
    for made in 1..=33_000 {
        console.ok("create loopback interface");
        if made % 64 == 0 {
            console.turn();
        }
    }
    assert_eq!(forwarded(&mut console), few);
    let node = console.bench.world.node("pg2-tx").expect("there");
    assert!(node.at() > 0xffff, "{node}");
}

#[test]
#[ignore = "long: as many interfaces as there is room for, 2 GB of memory"]
fn long_one_interface_too_many_is_an_error() {
    const MOST: usize = Space::Interface.capacity() - 1;
    let mut console = Console::new();
    let (mut began, before) = (Instant::now(), resident());
    for made in 1..=MOST {
        console.ok("create loopback interface");
        if made % 64 == 0 {
            console.turn();
        }
        if made % 10_000 == 0 {
            let each = (resident() - before) * 1024 / made as u64;
            println!(
                "{made} interfaces: {:.2} s for the last 10,000, {each} bytes each",
                began.elapsed().as_secs_f64()
            );
            began = Instant::now();
        }
    }
    let error = console.run("create loopback interface").expect_err("no room");
    assert_eq!(
        (error.code(), error.to_string()),
        (-162, format!("too many interfaces, {MOST} at most"))
    );
    // The daemon goes on, and another one takes the place of one that goes.
    console.turn();
    assert!(console.run("create loopback interface").is_err());
    console.ok("delete loopback interface intfc loop7");
    console.turn();
    assert_eq!(console.ok("create loopback interface").trim(), "loop7");
    for name in ["loop7", &format!("loop{}", MOST - 1)] {
        console.ok(&format!("set interface state {name} up"));
        let interfaces = console.bench.world.get::<Interfaces>();
        let made = interfaces.find(name).and_then(|sw_if| interfaces.get(sw_if)).expect("there");
        assert!(made.admin_up);
    }
}

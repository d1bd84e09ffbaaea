// SPDX-License-Identifier: Apache-2.0
//! Every published counter can move. Traffic and commands move most of them; each other counter is
//! in its plugin's `unmoved`, with the reason and the test that moves it. A new counter that is
//! neither moved nor there fails the test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use daemon::plugins;
use graph::drive::Bench;
use net::{IfCounters, Interfaces};
use stats::{Reader, Value};
use testkit::mutate::Mutator;
use testkit::pkt;
use wire::Icmp6Type;

use crate::exceptions::{self, Exception};
use crate::{mutated, mutated6};

/// Counters of the framework that this test doesn't move. Those of features are in the plugins'
/// lists.
const STILL: &[Exception] = &[
    ("/nodes/*/suspends", "no node of the graph waits; VPP's readers expect the name"),
    ("/sys/node/suspends", "no node of the graph waits; VPP's readers expect the name"),
    ("/nodes/*", "a column of `/sys/node/…`, which move here, of a node that got no packet"),
    (
        "/interfaces/*",
        "a column of `/if/…`, for which there are lines of their own, of an interface that had nothing of it",
    ),
    ("/if/mpls", "MPLS isn't built; VPP's readers expect the name"),
    ("/if/rx-error", "frames that a device's queue refuses: crates/driver/src/tests/rx.rs"),
    ("/if/tx-error", "frames that a device refuses: crates/driver/src/tests/tx.rs"),
    (
        "/if/rx-miss",
        "a device's full queue: crates/driver/src/tests/rx.rs, and of the generator drivers/pg/src/tests.rs",
    ),
    ("/sys/control/refused", "a thread that is stuck: crates/graph/src/tests/stuck.rs"),
    ("/sys/handoff/*", "two threads: features/system and features/trace hand packets over"),
    ("/sys/num_worker_threads", "this instance has no worker"),
];

/// Reasons of nodes, which tests/graph/reasons.rs walks and [`every_reason_is_returned_somewhere`]
/// looks for in the sources.
pub const REASONS: &str = "/err/";

/// A router with the configuration of the tests of broken packets, and what else counts something.
struct Walk {
    bench: Bench,
    reader: Reader,
    before: BTreeMap<String, Value>,
    moved: BTreeSet<String>,
    streams: u32,
}

impl Walk {
    fn new() -> Self {
        let bench = Bench::new(plugins::ALL);
        let reader = Reader::new(&bench.world.stats).expect("a segment");
        let mut walk =
            Self { bench, reader, before: BTreeMap::new(), moved: BTreeSet::new(), streams: 0 };
        walk.look();
        for line in mutated::CONFIGURATION.iter().chain(mutated6::CONFIGURATION) {
            walk.run(line);
        }
        walk
    }

    fn values(&self) -> BTreeMap<String, Value> {
        let all = self.reader.read(|_| true).expect("readable");
        all.into_iter().map(|stat| (stat.name, stat.value)).collect()
    }

    /// Notes the counters that have moved since the last call. A new counter has moved if it
    /// isn't 0.
    fn look(&mut self) {
        let now = self.values();
        for (name, value) in &now {
            let moved = match self.before.get(name) {
                Some(before) => before.total() != value.total(),
                None => value.total() != 0,
            };
            let named =
                matches!(value, Value::Names(names) if names.iter().any(|name| !name.is_empty()));
            if moved || named {
                self.moved.insert(name.clone());
            }
        }
        self.before = now;
    }

    fn run(&mut self, line: &str) {
        self.bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        self.bench.settle();
        self.look();
    }

    /// Injects frames by an interface of the packet generator, each with its count, all in one
    /// turn.
    fn streams(&mut self, interface: &str, frames: &[(&Vec<u8>, u64)]) {
        for (frame, times) in frames {
            self.streams += 1;
            let (n, len) = (self.streams, frame.len());
            let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
            let line = format!(
                "packet-generator new {{ name s{n} limit {times} size {len}-{len} interface {interface} data {{ hex 0x{hex} }} }}"
            );
            self.bench.cli(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        self.bench.cli("packet-generator enable-stream").expect("there are streams");
        // Until all have sent all.
        while self.bench.rt.turn(true) > 0 {}
        self.bench.settle();
        self.bench.cli("packet-generator delete").expect("there are streams");
        self.bench.settle();
        self.look();
    }

    /// The same, once each.
    fn arrive(&mut self, interface: &str, frames: &[Vec<u8>]) {
        for frames in frames.chunks(64) {
            let once: Vec<_> =
                frames.iter().filter(|f| !f.is_empty()).map(|frame| (frame, 1)).collect();
            self.streams(interface, &once);
        }
    }

    /// Time goes by.
    fn wait(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.bench.world.clock.adjust(1_000_000_000);
            self.bench.settle();
        }
        self.look();
    }
}

#[test]
fn every_published_counter_moves() {
    let mut walk = Walk::new();
    for line in [
        "create loopback interface",
        "set interface ip address loop0 10.9.0.1/24",
        "set interface state loop0 up",
        "ip mroute add 239.1.1.1 via pg0 Accept",
        "ip mroute add 239.1.1.1 via pg1 Forward",
        "ip mroute add ff0e::1 via pg0 Accept",
        "ip mroute add ff0e::1 via pg1 Forward",
        "ip route add 10.7.0.0/16 via 10.3.0.1",
        "udp encap add id 0 10.0.2.1 10.3.0.1 4000 4001",
        "ip route add 10.6.0.0/16 via udp-encap 0",
    ] {
        walk.run(line);
    }
    let ether = |to| pkt::ether("02:aa:00:00:00:01", to);
    let frames = [mutated::bases(), mutated6::bases()].concat();
    walk.arrive("pg0", &frames);
    walk.arrive(
        "pg0",
        &[
            ether("02:fe:00:00:00:01")
                .ip4("10.0.1.2", "10.7.0.1")
                .udp(1, 2)
                .payload_len(20)
                .build(),
            ether("02:fe:00:00:00:01")
                .ip4("10.0.1.2", "10.6.0.1")
                .udp(1, 2)
                .payload_len(20)
                .build(),
            ether("01:00:5e:01:01:01")
                .ip4("10.0.1.2", "239.1.1.1")
                .udp(1, 2)
                .payload_len(20)
                .build(),
            ether("33:33:00:00:00:01")
                .ip6("2001:db8:1::2", "ff0e::1")
                .udp(1, 2)
                .payload_len(20)
                .build(),
        ],
    );
    // A neighbour sends a solicitation, an answer, and an unsolicited advertisement.
    let discovery = |to_mac, to, kind, flags, target: &str, option: u8| {
        let target = target.parse::<std::net::Ipv6Addr>().expect("an address").octets();
        let body = [&target[..], &[option, 1, 2, 0xaa, 0, 0, 0, 1]].concat();
        let mut bytes = ether(to_mac)
            .ip6("2001:db8:1::2", to)
            .icmp6(Icmp6Type(kind), 0, flags)
            .payload(&body)
            .build();
        // RFC 4861 7.1: the hop limit proves that it comes from the link.
        bytes[14 + 7] = 255;
        bytes
    };
    let (us, router) = ("2001:db8:1::1", "02:fe:00:00:00:01");
    walk.arrive(
        "pg0",
        &[
            discovery("33:33:ff:00:00:01", "ff02::1:ff00:1", 135, 0, us, 1),
            discovery(router, us, 136, 0x6000_0000, "2001:db8:1::2", 2),
            discovery("33:33:00:00:00:01", "ff02::1", 136, 0x2000_0000, "2001:db8:1::2", 2),
        ],
    );
    walk.wait(12);
    let mut mutator = Mutator::new(7);
    let mut frame = Vec::new();
    let mut broken = Vec::new();
    for _ in 0..400 {
        mutator.next_frame(&frames, &mut frame);
        broken.push(frame.clone());
    }
    walk.arrive("pg0", &broken);
    // The neighbour that didn't answer comes back.
    let back = pkt::arp_reply("02:aa:00:00:00:99", "10.0.2.99", "02:fe:00:00:00:02", "10.0.2.1");
    walk.arrive("pg1", &[back.pad_to(60).build()]);
    // All buffers are in use.
    let cache = walk.bench.rt.cache();
    let held: Vec<_> = std::iter::from_fn(|| cache.alloc()).collect();
    walk.arrive("pg0", &frames[..1]);
    walk.wait(12);
    drop(held);
    walk.wait(12);
    // Addresses are announced as their interface comes up.
    walk.run("set arp announce on");
    walk.run("set ip6 nd announce on");
    for line in ["set interface state pg1 down", "set interface state pg1 up"] {
        walk.run(line);
    }
    walk.wait(2);
    add_up(&walk.bench);

    let all: BTreeSet<String> = walk.before.keys().cloned().collect();
    let still = all.difference(&walk.moved).map(String::as_str);
    let still = still.filter(|name| !name.starts_with(REASONS));
    let of_plugins = exceptions::of_plugins(|p| p.unmoved);
    let known: Vec<_> = of_plugins
        .filter(|(pattern, _)| !pattern.starts_with(REASONS))
        .chain(STILL.iter().copied())
        .collect();
    exceptions::cover(&known, still, "counters that didn't move");
}

/// Packets and bytes of an interface by what `show interface` calls them.
fn casts(bench: &Bench, interface: &str) -> BTreeMap<&'static str, (u64, u64)> {
    let sw_if = bench.world.get::<Interfaces>().find(interface).expect("there");
    let counters = bench.world.get::<IfCounters>();
    counters.combined().into_iter().map(|(name, counter)| (name, counter.sum(sw_if.at()))).collect()
}

/// The kinds of destinations add up.
#[track_caller]
fn add_up(bench: &Bench) {
    for interface in bench.world.get::<Interfaces>().list() {
        let all = casts(bench, &interface.name);
        for direction in ["rx", "tx"] {
            let kinds = ["unicast", "multicast", "broadcast"]
                .map(|kind| all[&*format!("{direction}-{kind}")]);
            let sum = kinds.iter().fold((0, 0), |(n, bytes), kind| (n + kind.0, bytes + kind.1));
            assert_eq!(sum, all[direction], "{} {direction}: {all:?}", interface.name);
        }
    }
}

#[test]
fn packets_are_counted_by_their_destinations() {
    for path in ["set super-path on", "set super-path off", "trace add pg-input 10000"] {
        let mut walk = Walk::new();
        for line in [
            path,
            "ip mroute add 239.1.1.1 via pg0 Accept",
            "ip mroute add 239.1.1.1 via pg1 Forward",
        ] {
            walk.run(line);
        }
        // Unsolicited messages about new addresses have been sent by then.
        walk.wait(30);
        let ether = |to| pkt::ether("02:aa:00:00:00:01", to);
        let one = ether("02:fe:00:00:00:01")
            .ip4("10.0.1.2", "10.0.2.2")
            .udp(1, 2)
            .payload_len(100)
            .build();
        let six = ether("02:fe:00:00:00:01")
            .ip6("2001:db8:1::2", "3000::1")
            .udp(1, 2)
            .payload_len(80)
            .build();
        let group = ether("01:00:5e:01:01:01")
            .ip4("10.0.1.2", "239.1.1.1")
            .udp(1, 2)
            .payload_len(60)
            .build();
        let all = ether("ff:ff:ff:ff:ff:ff")
            .ip4("10.0.1.2", "10.0.1.255")
            .udp(1, 2)
            .payload_len(40)
            .build();
        let unknown = ether("02:fe:00:00:00:01").ip4("10.0.1.2", "10.0.2.77").udp(1, 2).build();
        let unknown6 =
            ether("02:fe:00:00:00:01").ip6("2001:db8:1::2", "2001:db8:2::77").udp(1, 2).build();
        let (before0, before1) = (casts(&walk.bench, "pg0"), casts(&walk.bench, "pg1"));
        // One after the other, in small vectors and in large ones; all together in the last round.
        let sizes = [(1, 1, 1, 1), (5, 3, 2, 1), (100, 90, 30, 20)];
        let (mut sent, mut sent6, mut groups, mut alls) = (0, 0, 0, 0);
        for (n, n6, n_groups, n_all) in sizes {
            let together = [(&one, n), (&six, n6), (&group, n_groups), (&all, n_all)];
            (sent, sent6, groups, alls) = (sent + n, sent6 + n6, groups + n_groups, alls + n_all);
            walk.streams("pg0", &together);
        }
        add_up(&walk.bench);
        let diff = |before: &BTreeMap<_, (u64, u64)>,
                    now: &BTreeMap<&'static str, (u64, u64)>,
                    name: &'static str| {
            (now[name].0 - before[name].0, now[name].1 - before[name].1)
        };
        let (now0, now1) = (casts(&walk.bench, "pg0"), casts(&walk.bench, "pg1"));
        let bytes = |n: u64, frame: &[u8]| n * frame.len() as u64;
        let unicast = (sent + sent6, bytes(sent, &one) + bytes(sent6, &six));
        assert_eq!(diff(&before0, &now0, "rx-unicast"), unicast, "{path}");
        assert_eq!(
            diff(&before0, &now0, "rx-multicast"),
            (groups, bytes(groups, &group)),
            "{path}"
        );
        assert_eq!(diff(&before0, &now0, "rx-broadcast"), (alls, bytes(alls, &all)), "{path}");
        assert_eq!(diff(&before1, &now1, "tx-unicast"), unicast, "{path}");
        assert_eq!(
            diff(&before1, &now1, "tx-multicast"),
            (groups, bytes(groups, &group)),
            "{path}"
        );
        assert_eq!(diff(&before1, &now1, "tx-broadcast"), (0, 0), "{path}");
        // Questions for neighbours: to all, and to a group.
        walk.streams("pg0", &[(&unknown, 1), (&unknown6, 1)]);
        let last = casts(&walk.bench, "pg1");
        assert_eq!(diff(&now1, &last, "tx-broadcast").0, 1, "{path}");
        assert_eq!(diff(&now1, &last, "tx-multicast").0, 1, "{path}");
        add_up(&walk.bench);
    }
}

/// The sources of a package, without its tests.
fn sources(dir: &Path, text: &mut String) {
    for entry in
        std::fs::read_dir(dir).expect("readable").map(|entry| entry.expect("readable").path())
    {
        let name = entry.file_name().expect("a name").to_string_lossy().into_owned();
        if name.starts_with("tests") {
            continue;
        } else if entry.is_dir() {
            sources(&entry, text);
        } else if name.ends_with(".rs") {
            *text += &std::fs::read_to_string(&entry).expect("readable");
        }
    }
}

/// The counted variants of the enums that name a node's edges.
fn counted(text: &str) -> Vec<(String, String)> {
    let (mut all, mut within, mut marked) = (Vec::new(), None::<String>, false);
    let mut derived = false;
    for line in text.lines() {
        let words = line.trim();
        if words.starts_with("#[derive(") {
            let list = words.trim_start_matches("#[derive(").trim_end_matches(")]");
            derived = list.split(',').any(|name| name.trim() == "Next");
        } else if let Some((_, rest)) =
            words.split_once("enum ").filter(|_| derived && within.is_none())
        {
            within = Some(rest.trim_end_matches(['{', ' ']).to_string());
            derived = false;
        } else if let Some(name) = &within {
            match words {
                "}" if !line.starts_with(' ') => within = None,
                _ if words.starts_with("#[") => {
                    marked |= ["#[drop", "#[punt"].iter().any(|mark| words.starts_with(mark))
                        || words.contains("count");
                }
                _ if words.starts_with("//") => {}
                _ => {
                    let variant = words.split(['(', ',']).next().unwrap_or_default();
                    if std::mem::take(&mut marked) && !variant.is_empty() {
                        all.push((name.clone(), variant.to_string()));
                    }
                }
            }
        }
    }
    all
}

/// The variant of counters that VPP's readers expect by the name `no error`, and that no code
/// moves: packets without a fault aren't counted there.
const NO_ERROR: &str = "NoError";

/// The framework counts what a node returns, so a counter below `/err` stands still for good only
/// if no code of its package returns its edge.
#[test]
fn every_reason_is_returned_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut reasons, mut never) = (0, Vec::new());
    for group in ["crates", "features", "drivers"] {
        for package in std::fs::read_dir(root.join(group)).expect("there") {
            let dir = package.expect("readable").path();
            let mut text = String::new();
            sources(&dir.join("src"), &mut text);
            // Code that macros of the tunnels write there.
            let mut code = text.clone();
            for (macros, file) in [("::cuts!(", "segment"), ("::from_decap_error!(", "decap")] {
                if text.contains(macros) {
                    let file = root.join("features/tunnel/src").join(file).with_extension("rs");
                    code += &std::fs::read_to_string(file).expect("there");
                }
            }
            for (edges, variant) in counted(&text) {
                reasons += 1;
                let returned = code.match_indices(&format!("::{variant}")).any(|(at, found)| {
                    let behind = code[at + found.len()..].chars().next();
                    !behind.is_some_and(|c| c.is_alphanumeric() || c == '_')
                });
                if !returned && variant != NO_ERROR {
                    never.push(format!("{}: {edges}::{variant}", dir.display()));
                }
            }
        }
    }
    assert!(reasons > 150, "{reasons} reasons were found in the sources");
    assert!(never.is_empty(), "declared, published, and never returned: {never:#?}");
}

// SPDX-License-Identifier: Apache-2.0
//! Every counter below `/err` of features' nodes is reached by a frame of the tables here, or its
//! plugin's `unmoved` has the cause and the test that reaches it. A new reason that has neither
//! fails the test.

mod bonds;
mod ip;
mod l2;
mod link;
mod reassembly;
mod span;

use std::collections::{BTreeMap, BTreeSet};

use buffer::Buffer;
use daemon::plugins;
use graph::drive::Bench;
use graph::{Reason, filled};
use net::{AdjIndex, Interfaces, IpMeta};
use testkit::pkt::{self, Packet};

use crate::exceptions::{self, Exception};
use crate::published::REASONS;
use crate::{mutated, mutated6};

const HOST: &str = "02:aa:00:00:00:01";
const ROUTER: &str = "02:fe:00:00:00:01";

/// One of the two families. Texts for both have `{of IPv4|of IPv6}` and `{ip}`, as names of nodes
/// do.
#[derive(Clone, Copy)]
struct Family {
    v6: bool,
}

const FAMILIES: [Family; 2] = [Family { v6: false }, Family { v6: true }];

/// The router, a host on its link, and a network behind a neighbour of the other link.
const US: &str = "{10.0.1.1|2001:db8:1::1}";
const HIM: &str = "{10.0.1.2|2001:db8:1::2}";
const FAR: &str = "{10.3.0.1|3000::1}";

impl Family {
    fn text(self, both: &str) -> String {
        filled(both, self.v6)
    }

    /// From the host to the router.
    fn packet(self, from: &str, to: &str) -> Packet {
        let (ether, from, to) = (pkt::ether(HOST, ROUTER), self.text(from), self.text(to));
        if self.v6 { ether.ip6(&*from, &*to) } else { ether.ip4(&*from, &*to) }
    }

    fn udp(self, to: &str) -> Packet {
        self.packet(HIM, to).udp(1234, 4321).payload_len(40)
    }
}

/// The frame with other bytes at an offset.
fn with(mut frame: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    frame[at..at + bytes.len()].copy_from_slice(bytes);
    frame
}

/// A router with the configuration of the tests of broken packets, and an interface that is up
/// without an address.
struct Walk {
    bench: Bench,
    reached: BTreeSet<String>,
    wrong: Vec<String>,
}

fn name(reason: &Reason) -> String {
    format!("{}/{}", reason.node, reason.reason)
}

impl Walk {
    fn new() -> Self {
        let mut walk =
            Self { bench: Bench::new(plugins::ALL), reached: BTreeSet::new(), wrong: Vec::new() };
        let more = ["create packet-generator interface pg2", "set interface state pg2 up"];
        for line in mutated::CONFIGURATION.iter().chain(mutated6::CONFIGURATION).chain(&more) {
            walk.run(line);
        }
        walk
    }

    fn run(&mut self, line: &str) {
        self.bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        self.bench.settle();
    }

    fn counts(&self) -> BTreeMap<String, u64> {
        let errors = self.bench.world.stats.simple(graph::counters::ERRORS);
        self.bench
            .world
            .reasons()
            .iter()
            .enumerate()
            .map(|(i, r)| (name(r), errors.sum(i)))
            .collect()
    }

    fn wait(&mut self, nanoseconds: u64) {
        self.bench.world.clock.adjust(nanoseconds);
        self.bench.settle();
    }

    /// Runs `f`, which has to move the counter.
    fn moves(&mut self, counter: &str, f: impl FnOnce(&mut Self)) {
        let before = self.counts();
        f(self);
        self.bench.settle();
        let now = self.counts();
        let moved: Vec<_> = now.iter().filter(|(name, n)| before.get(*name) != Some(n)).collect();
        let by = now.get(counter).zip(before.get(counter)).map(|(now, before)| now - before);
        if by.is_some_and(|by| by > 0) {
            self.reached.insert(counter.to_string());
        } else {
            self.wrong.push(format!("{counter} moved by {by:?}; what moved: {moved:?}"));
        }
        // Later: rate limits don't take part.
        self.wait(20_000_000);
    }

    /// Packets come to a node, as if they had come in by an interface.
    fn at(
        &mut self,
        counter: &str,
        node: &str,
        rx: &str,
        packets: &[Vec<u8>],
        prepare: impl Fn(&mut Buffer),
    ) {
        let rx_if = self.bench.world.get::<Interfaces>().find(rx).expect("there").0;
        self.moves(counter, |walk| {
            for packet in packets {
                walk.bench.send(node, packet, |b| {
                    b.rx_if = rx_if;
                    prepare(b);
                });
            }
        });
    }

    /// Frames come in by `pg0`; the last one moves the counter.
    fn frames(&mut self, counter: &str, frames: &[Vec<u8>]) {
        self.at(counter, "ethernet-input", "pg0", frames, |_| {});
    }

    fn frame(&mut self, counter: &str, frame: Vec<u8>) {
        self.frames(counter, &[frame]);
    }

    /// A packet comes to a node without the nodes in front of it, which let none such through; by
    /// an adjacency.
    fn inject_to(&mut self, counter: &str, packet: &[u8], adj: AdjIndex) {
        let node = counter.split('/').next().unwrap_or_default().to_string();
        self.at(counter, &node, "pg0", &[packet.to_vec()], |b| b.set_scratch(IpMeta::of(adj, 0)));
    }

    /// As [`Self::inject_to`], by no neighbour's adjacency.
    fn inject(&mut self, counter: &str, packet: &[u8]) {
        self.inject_to(counter, packet, AdjIndex::DROP);
    }
}

/// Reasons that nodes of many features have, and no frame here reaches. Those of one feature are in
/// its plugin's list.
const ELSEWHERE: &[Exception] = &[
    ("/err/none/none", "stands for no reason"),
    ("/err/graph/no_node", "a node that isn't there: crates/graph/src/tests/nodes.rs"),
    ("/err/*/busy", "control doesn't run for longer than its queue holds: tests/graph/buffers.rs"),
    ("/err/*/no_buffers", "no buffer is left, the reserve included"),
    ("/err/*-input*/no_buffer", "no buffer is left for a copy of a shared packet"),
    ("/err/*/gone", "an entry is removed below a packet on its way"),
    ("/err/*/no_headroom", "a device's buffers have more than a layer-2 header of room in front"),
];

/// An adjacency that isn't there.
const GONE: AdjIndex = AdjIndex(u32::MAX);

#[test]
fn every_reason_is_reached() {
    let (mut reached, mut wrong) = (BTreeSet::new(), Vec::new());
    let mut all = BTreeSet::new();
    for table in [
        link::ethernet,
        link::llc,
        link::patches,
        link::arp,
        link::discovery,
        ip::packets,
        ip::groups,
        ip::features,
        reassembly::full,
        reassembly::shallow,
        l2::switching,
        l2::termination,
        span::mirroring,
        bonds::bonds,
    ] {
        let mut walk = Walk::new();
        let mut names = BTreeSet::new();
        for name in walk.bench.world.reasons().iter().filter(|r| !r.reason.is_empty()).map(name) {
            assert!(names.insert(name.clone()), "{name} stands twice in the statistics");
        }
        all.append(&mut names);
        table(&mut walk);
        reached.append(&mut walk.reached);
        wrong.append(&mut walk.wrong);
    }
    assert!(wrong.is_empty(), "frames that miss their counter: {wrong:#?}");
    let left: Vec<_> = all.difference(&reached).map(|name| format!("{REASONS}{name}")).collect();
    let of_plugins = exceptions::of_plugins(|p| p.unmoved);
    let known: Vec<_> = of_plugins
        .filter(|(pattern, _)| pattern.starts_with(REASONS))
        .chain(ELSEWHERE.iter().copied())
        .collect();
    exceptions::cover(&known, left.iter().map(String::as_str), "reasons without a frame");
}

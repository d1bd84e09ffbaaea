// SPDX-License-Identifier: Apache-2.0
mod api_and_cli;
mod forward;
mod many;
mod reports;

use crate::PLUGIN;
use ::graph::counters::VECTORS;
use ::graph::drive::Bench;
use ::graph::{Plugin, SwIfIndex};
use net::Interfaces;
use net::drive::{Recorded, Recorder, ethernet};
use testkit::pkt::{self, Packet};
use wire::MacAddr;

static PLUGINS: &[&Plugin] =
    &[&interface::PLUGIN, &ethernet::PLUGIN, &fib::PLUGIN, &ip::PLUGIN, &PLUGIN];

fn run(bench: &mut Bench, line: &str) -> String {
    bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

/// An instance whose interfaces `t1` to `tn`, numbered so, have 10.0.i.1/24 and 2001:db8:i::1/64.
fn bench(n: u8) -> Bench {
    let mut bench = Bench::new(PLUGINS);
    for i in 1..=n {
        let new = ethernet(format!("t{i}"), MacAddr([2, 0, 0, 0, 0, i]));
        let sw_if = bench
            .world
            .get::<Interfaces>()
            .create(&bench.world, new, |world, _, sw_if| Recorder::new(world, sw_if))
            .expect("created");
        assert_eq!(sw_if.0, u32::from(i));
        run(&mut bench, &format!("set interface state t{i} up"));
        run(&mut bench, &format!("set interface ip address t{i} 10.0.{i}.1/24"));
        run(&mut bench, &format!("set interface ip address t{i} 2001:db8:{i:x}::1/64"));
    }
    bench
}

const HOST: &str = "02:aa:00:00:00:01";

/// A packet of a host to a group.
fn packet(source: &str, group: &str) -> Packet {
    match (group.parse(), source.parse()) {
        (Ok(group), Ok(source)) => {
            let source: std::net::Ipv4Addr = source;
            pkt::ether(HOST, MacAddr::ip4_multicast(group)).ip4(source, group)
        }
        _ => {
            let (group, source): (std::net::Ipv6Addr, std::net::Ipv6Addr) =
                (group.parse().expect("a group"), source.parse().expect("a sender"));
            pkt::ether(HOST, MacAddr::ip6_multicast(group)).ip6(source, group)
        }
    }
}

/// Frames sent when a frame comes in, by interface.
fn sent(bench: &mut Bench, rx_if: u32, frame: &[u8]) -> Vec<(u32, Vec<u8>)> {
    bench.send("ethernet-input", frame, |b| b.rx_if = rx_if);
    let mut all = bench.world.get::<Recorded>().take();
    all.sort();
    all
}

/// Interfaces by which a frame leaves.
fn ways(bench: &mut Bench, rx_if: u32, frame: &[u8]) -> Vec<u32> {
    sent(bench, rx_if, frame).into_iter().map(|(tx_if, _)| tx_if).collect()
}

/// Number of packets that a node has processed.
fn seen(bench: &Bench, node: &str) -> u64 {
    bench.world.stats.simple(VECTORS).sum(bench.index(node).at())
}

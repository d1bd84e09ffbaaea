// SPDX-License-Identifier: Apache-2.0
mod doors;
mod forward;
mod many;
mod reports;

use crate::PLUGIN;
use ::graph::counters::VECTORS;
use ::graph::drive::Bench;
use ::graph::{Cx, Next, Node, Plugin, Shared, SwIfIndex, World};
use buffer::Buffer;
use net::drive::Nowhere;
use net::{IfKind, Interfaces, NewInterface};
use std::sync::{Arc, Mutex};
use testkit::pkt::{self, Packet};
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &ip::PLUGIN, &PLUGIN];

/// A driver that keeps what it sends.
struct Tx {
    sw_if: u32,
    captured: Arc<Captured>,
}

/// Interface and bytes of every frame.
#[derive(Default)]
struct Captured(Mutex<Vec<(u32, Vec<u8>)>>);

impl Shared for Captured {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

#[derive(Next, Clone, Copy)]
enum To {
    #[free]
    Sent,
}

impl Node for Tx {
    const NAME: &'static str = "test-tx";
    type Next = To;
    type Trace = ();
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
        let bytes = b.segments().flatten().copied().collect();
        self.captured.0.lock().expect("no panic").push((self.sw_if, bytes));
        To::Sent
    }
}

fn run(bench: &mut Bench, line: &str) -> String {
    bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

/// An instance whose interfaces `t1` to `tn`, numbered so, have 10.0.i.1/24 and 2001:db8:i::1/64.
fn bench(n: u8) -> Bench {
    let mut bench = Bench::new(PLUGINS);
    for i in 1..=n {
        let new = NewInterface {
            name: format!("t{i}"),
            kind: IfKind::Ethernet,
            device: Arc::new(Nowhere),
            mac: MacAddr([2, 0, 0, 0, 0, i]),
            mtu: 1500,
            link_up: true,
        };
        let make = |world: &World, _, sw_if: SwIfIndex| Tx { sw_if: sw_if.0, captured: world.get() };
        let sw_if = bench.world.get::<Interfaces>().create(&bench.world, new, make).expect("created");
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

/// What leaves when a frame comes in, by interface.
fn sent(bench: &mut Bench, rx_if: u32, frame: &[u8]) -> Vec<(u32, Vec<u8>)> {
    bench.send("ethernet-input", frame, |b| b.rx_if = rx_if);
    let mut all = std::mem::take(&mut *bench.world.get::<Captured>().0.lock().expect("no panic"));
    all.sort();
    all
}

/// By which interfaces something leaves.
fn ways(bench: &mut Bench, rx_if: u32, frame: &[u8]) -> Vec<u32> {
    sent(bench, rx_if, frame).into_iter().map(|(tx_if, _)| tx_if).collect()
}

/// How many packets a node has seen.
fn seen(bench: &Bench, node: &str) -> u64 {
    bench.world.stats.simple(VECTORS).sum(bench.index(node).0.into())
}

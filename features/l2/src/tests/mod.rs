// SPDX-License-Identifier: Apache-2.0
mod api;
mod broken;
mod bvi;
mod domain;
mod fib;
mod flood;
mod learn;
mod mac_events;
mod mode;
mod tags;
mod termination;
mod topology;

use crate::PLUGIN;
use graph::drive::Bench;
use graph::{Plugin, SwIfIndex, World};
use net::drive::{Recorded, Recorder, ethernet};
use net::{IfCounters, Interfaces};
use std::sync::Arc;
use wire::MacAddr;

const SECOND: u64 = 1_000_000_000;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &ip_neighbor::PLUGIN,
    &arp::PLUGIN,
    &PLUGIN,
];

/// An instance with ports `p0`, `p1`, … that are up and keep what they send.
struct Rig {
    bench: Bench,
    sent: Arc<Recorded>,
    ports: Vec<SwIfIndex>,
}

/// The address of port number `i`.
fn port_mac(i: usize) -> MacAddr {
    MacAddr([2, 0xfe, 0, 0, 0, i as u8])
}

/// The address of a host.
fn host(n: u8) -> MacAddr {
    MacAddr([2, 0xaa, 0, 0, 0, n])
}

/// A frame whose payload differs with `n` in each byte.
fn frame_to(src: MacAddr, dst: MacAddr, n: u8) -> Vec<u8> {
    let payload = (0..100u8).map(|i| i.wrapping_mul(7).wrapping_add(n));
    let header = [dst.octets(), src.octets()].concat();
    header.into_iter().chain([0x88, 0xb5]).chain(payload).collect()
}

/// A frame from one host to another.
fn frame(src: u8, dst: u8, n: u8) -> Vec<u8> {
    frame_to(host(src), host(dst), n)
}

impl Rig {
    fn new(ports: usize) -> Self {
        let mut bench = Bench::new(PLUGINS);
        bench.settle();
        let world = bench.world.clone();
        world.declare::<Recorded>();
        let mut rig = Self { sent: world.get(), bench, ports: Vec::new() };
        for i in 0..ports {
            rig.add_port(i);
        }
        rig
    }

    /// Ports that are members of domain 1.
    fn bridged(ports: usize) -> Self {
        let mut rig = Self::new(ports);
        rig.cli("create bridge-domain 1");
        for i in 0..ports {
            rig.cli(&format!("set interface l2 bridge p{i} 1"));
        }
        rig
    }

    fn add_port(&mut self, i: usize) {
        let world = self.world();
        let new = ethernet(format!("p{i}"), port_mac(i));
        let sw_if = world.get::<Interfaces>().create(&world, new, |w, _, sw_if| Recorder::new(w, sw_if));
        self.ports.push(sw_if.expect("created"));
        self.cli(&format!("set interface state p{i} up"));
    }

    fn world(&self) -> Arc<World> {
        self.bench.world.clone()
    }

    #[track_caller]
    fn cli(&mut self, line: &str) -> String {
        let said = self.bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        self.bench.settle();
        said
    }

    #[track_caller]
    fn refused(&mut self, line: &str) -> (i32, String) {
        let error = self.bench.cli(line).expect_err(line);
        (error.code(), error.to_string())
    }

    /// Frames come in by a port, as a driver brings them.
    fn receive_all(&mut self, port: usize, frames: &[Vec<u8>]) {
        for frame in frames {
            self.bench.arrive(self.ports[port], frame);
        }
        self.bench.settle();
    }

    /// What is sent, by number of the port, when a frame comes in by one.
    fn pass(&mut self, port: usize, frame: &[u8]) -> Vec<(usize, Vec<u8>)> {
        self.receive_all(port, &[frame.to_vec()]);
        self.sent()
    }

    /// What was sent since the last call, sorted.
    fn sent(&self) -> Vec<(usize, Vec<u8>)> {
        let number = |sw_if: u32| self.ports.iter().position(|port| port.0 == sw_if).expect("a port");
        let mut sent: Vec<_> = self.sent.take().into_iter().map(|(sw_if, b)| (number(sw_if), b)).collect();
        sent.sort();
        sent
    }

    fn seconds(&mut self, n: u64) {
        for _ in 0..n {
            self.bench.world.clock.adjust(SECOND);
            self.bench.settle();
        }
    }

    fn count(&self, node: &str, reason: &str) -> u64 {
        self.bench.count(node, reason)
    }

    /// Packets of an interface, received and sent.
    fn packets(&self, sw_if: SwIfIndex) -> (u64, u64) {
        let counters = self.bench.world.get::<IfCounters>();
        (counters.rx.sum(sw_if.at()).0, counters.tx.sum(sw_if.at()).0)
    }
}

/// A frame at each of these ports.
fn at(ports: &[usize], frame: &[u8]) -> Vec<(usize, Vec<u8>)> {
    ports.iter().map(|port| (*port, frame.to_vec())).collect()
}

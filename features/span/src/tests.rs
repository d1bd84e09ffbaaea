// SPDX-License-Identifier: Apache-2.0
mod control;
mod device;
mod switched;

use crate::PLUGIN;
use graph::drive::Bench;
use graph::{Plugin, SwIfIndex, World};
use net::Interfaces;
use net::drive::{Recorded, Recorder, ethernet};
use std::sync::Arc;
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[&interface::PLUGIN, &ethernet::PLUGIN, &ip::PLUGIN, &l2::PLUGIN, &PLUGIN];

const Q: u16 = 0x8100;
const AD: u16 = 0x88a8;

/// An instance with ports `p0`, `p1`, … that are up and keep what they send.
struct Rig {
    bench: Bench,
    sent: Arc<Recorded>,
    ports: Vec<SwIfIndex>,
}

/// A frame whose bytes differ with `n`.
fn frame(len: usize, n: u8) -> Vec<u8> {
    let header = [2, 0xaa, 0, 0, 0, 2, 2, 0xaa, 0, 0, 0, 1, 0x88, 0xb5];
    let payload = (0..len.saturating_sub(header.len())).map(|i| (i * 31 % 251) as u8 ^ n);
    header.into_iter().chain(payload).collect()
}

/// A frame with tags (protocol, TCI).
fn tagged(tags: &[(u16, u16)], frame: &[u8]) -> Vec<u8> {
    let tags = tags.iter().flat_map(|(kind, tci)| [*kind, *tci]).flat_map(u16::to_be_bytes);
    frame[..12].iter().copied().chain(tags).chain(frame[12..].iter().copied()).collect()
}

/// A frame at each of these ports.
fn at(ports: &[usize], frame: &[u8]) -> Vec<(usize, Vec<u8>)> {
    ports.iter().map(|port| (*port, frame.to_vec())).collect()
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

    /// Adds port `i`; there is none of this number, or it was deleted.
    fn add_port(&mut self, i: usize) {
        let world = self.world();
        let new = ethernet(format!("p{i}"), MacAddr([2, 0xfe, 0, 0, 0, i as u8]));
        let sw_if = world.get::<Interfaces>().create(&world, new, |w, _, sw_if| Recorder::new(w, sw_if));
        let sw_if = sw_if.expect("created");
        match self.ports.get_mut(i) {
            Some(port) => *port = sw_if,
            None => self.ports.push(sw_if),
        }
        self.cli(&format!("set interface state p{i} up"));
    }

    fn delete_port(&mut self, i: usize) {
        let world = self.world();
        world.get::<Interfaces>().delete(&world, self.ports[i]).expect("deleted");
        self.bench.settle();
    }

    fn world(&self) -> Arc<World> {
        self.bench.world.clone()
    }

    #[track_caller]
    fn cli(&mut self, line: &str) -> String {
        let answer = self.bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        self.bench.settle();
        answer
    }

    /// Makes a sub-interface that is up.
    fn sub(&mut self, line: &str) {
        let name = self.cli(&format!("create sub-interfaces {line}"));
        self.cli(&format!("set interface state {} up", name.trim_end()));
    }

    /// What is sent, by port, when frames come in by one.
    fn pass_all(&mut self, port: usize, frames: &[Vec<u8>]) -> Vec<(usize, Vec<u8>)> {
        for frame in frames {
            self.bench.arrive(self.ports[port], frame);
        }
        self.bench.settle();
        self.sent()
    }

    fn pass(&mut self, port: usize, frame: &[u8]) -> Vec<(usize, Vec<u8>)> {
        self.pass_all(port, &[frame.to_vec()])
    }

    /// What was sent since the last call, sorted.
    fn sent(&self) -> Vec<(usize, Vec<u8>)> {
        let number = |sw_if: u32| self.ports.iter().position(|port| port.0 == sw_if).expect("a port");
        let mut sent: Vec<_> = self.sent.take().into_iter().map(|(sw_if, b)| (number(sw_if), b)).collect();
        sent.sort();
        sent
    }

    /// Frames of which a node made copies.
    fn mirrored(&self, node: &str) -> u64 {
        self.bench.count(node, "SPAN incoming packets processed")
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Several workers: each flow has its sessions on one, whichever receives its packets.

use super::*;
use crate::control::Control;
use crate::key::{spread, spread_of};
use graph::{Runtime, SwIfIndex, World, WorldConfig};
use net::drive::{Recorded, Recorder, ethernet};
use net::{Addresses, Interfaces};
use std::sync::Arc;
use wire::{Ip4, MacAddr};

const WORKERS: usize = 3;

struct Threads {
    world: Arc<World>,
    threads: Vec<Runtime>,
    ports: Vec<SwIfIndex>,
}

impl Threads {
    fn new(lines: &[&str]) -> Self {
        let config = WorldConfig { threads: WORKERS + 1, buffers: 4096, ..WorldConfig::default() };
        let (world, threads) = World::new(&config, PLUGINS).expect("an instance");
        let mut this = Self { world, threads, ports: Vec::new() };
        for i in 0..2 {
            this.add_port(i);
        }
        let control = this.world.get::<Control>();
        let options = crate::control::Enabled { inside: 0, outside: 0, sessions: 0 };
        control.enable(&this.world, options).expect("enabled");
        lines.iter().for_each(|line| this.cli(line));
        this.turns();
        this
    }

    fn add_port(&mut self, i: u8) {
        let world = &self.world;
        let interfaces = world.get::<Interfaces>();
        let new = ethernet(format!("p{i}"), MacAddr([2, 0xfe, 0, 0, 0, i]));
        let make = |world: &World, _, sw_if| Recorder::new(world, sw_if);
        let sw_if = interfaces.create(world, new, make).expect("created");
        interfaces.set_admin(world, sw_if, true).expect("up");
        let prefix = format!("10.0.{i}.1/24").parse().expect("a prefix");
        world.get::<Addresses<Ip4>>().add(world, sw_if, prefix).expect("added");
        for host in 2..40 {
            let peer = Neighbor::new(sw_if, Ipv4Addr::new(10, 0, i, host).into(), peer_mac(0));
            let peer = Neighbor { is_static: true, ..peer };
            world.get::<Neighbors>().set(world, peer).expect("set");
        }
        self.ports.push(sw_if);
    }

    fn cli(&mut self, line: &str) {
        let tree = ::cli::Tree::new(PLUGIN.cli).expect("commands");
        tree.execute(&self.world, line).unwrap_or_else(|e| panic!("{line}: {e}"));
    }

    fn turns(&mut self) {
        for _ in 0..4 {
            self.world.processes.run(&self.world);
            self.threads.iter_mut().for_each(|rt| _ = rt.turn(true));
        }
    }

    /// Receives a packet on a thread; returns what has left.
    fn pass(&mut self, thread: usize, port: usize, packet: &Packet) -> Vec<Seen> {
        let input = self.world.node("ip4-input").expect("there");
        let rt = &mut self.threads[thread];
        let mut b = rt.cache().alloc().expect("a buffer");
        assert!(b.set_data(&packet.build()[ETHERNET..]));
        b.rx_if = self.ports[port].0;
        rt.inject(input, b);
        self.turns();
        let number = |sw_if: u32| self.ports.iter().position(|port| port.0 == sw_if);
        let all = self.world.get::<Recorded>().take();
        all.into_iter()
            .map(|(sw_if, frame)| seen(&(number(sw_if).expect("a port"), frame)))
            .collect()
    }

    /// Sessions of a thread.
    fn sessions(&self, thread: usize) -> u64 {
        self.world.stats.simple("/nat44-ed/total-sessions").of_thread(thread, 0)
    }

    fn count(&self, node: &str, reason: &str) -> u64 {
        let errors = self.world.stats.simple(::graph::counters::ERRORS);
        let all = self.world.reasons().into_iter().enumerate();
        all.filter(|(_, r)| &*r.node == node && r.reason == reason)
            .map(|(i, _)| errors.sum(i))
            .sum()
    }
}

/// The worker of a user, by VPP's formula.
fn worker(user: Ipv4Addr) -> usize {
    1 + (spread_of(user).wrapping_add(spread(0)) as usize) % WORKERS
}

#[suite::test]
fn flows_have_one_worker() {
    let mut all =
        Threads::new(&["set interface nat44 in p0 out p1", "nat44 add address 192.0.2.7"]);
    let block = (65_536 - 1024) / WORKERS as u16 as usize;
    for n in 0..30 {
        let user = Ipv4Addr::new(10, 0, 0, 2 + n as u8);
        let before = all.sessions(worker(user));
        let ask = pkt::ether(peer_mac(0), port_mac(0)).ip4(user, "10.0.1.2").udp(5000, 53);
        let left = all.pass(1 + n % WORKERS, 0, &ask);
        assert_eq!(left.len(), 1, "{user}");
        assert_eq!(all.sessions(worker(user)), before + 1, "{user}");
        let port = usize::from(left[0].from.1);
        assert_eq!((port - 1024) / block, worker(user) - 1, "{user} has {port}");
        for thread in 1..=WORKERS {
            let answer = packet(1, "10.0.1.2", PUBLIC).udp(53, left[0].from.1);
            let back = all.pass(thread, 1, &answer);
            assert_eq!(back.len(), 1);
            assert_eq!(back[0].to, (user, 5000));
        }
    }
    assert_eq!((0..=WORKERS).map(|thread| all.sessions(thread)).sum::<u64>(), 30);
    assert_eq!(all.sessions(0), 0, "the main thread has none");
    let same = all.count("nat44-out2in-worker-handoff", "same worker");
    let handed = all.count("nat44-out2in-worker-handoff", "do handoff");
    assert_eq!((same, handed), (30, 60));
}

/// Between two users, both directions find the session, whoever has a mapping.
#[suite::test]
fn users_reach_each_other_on_any_worker() {
    for static_client in [false, true] {
        let mut all =
            Threads::new(&["set interface nat44 in p0 out p1", "nat44 add address 192.0.2.7"]);
        all.cli("nat44 add static mapping udp local 10.0.0.30 53 external 192.0.2.7 53");
        if static_client {
            for n in 2..8 {
                all.cli(&format!(
                    "nat44 add static mapping local 10.0.0.{n} external 192.0.2.1{n}"
                ));
            }
        }
        for n in 2..8 {
            let user = Ipv4Addr::new(10, 0, 0, n);
            let ask = pkt::ether(peer_mac(0), port_mac(0)).ip4(user, PUBLIC).udp(5000, 53);
            let left = all.pass(1 + usize::from(n) % WORKERS, 0, &ask);
            assert_eq!((left.len(), left[0].to), (1, end("10.0.0.30", 53)), "{user}");
            for thread in 1..=WORKERS {
                let (to, port) = left[0].from;
                let answer =
                    pkt::ether(peer_mac(0), port_mac(0)).ip4("10.0.0.30", to).udp(53, port);
                let back = all.pass(thread, 0, &answer);
                assert_eq!(back.len(), 1, "{user}");
                assert_eq!((back[0].from, back[0].to), (end(PUBLIC, 53), (user, 5000)));
            }
        }
    }
}

/// The main thread's packets, and fewer workers.
#[suite::test]
fn workers_are_chosen() {
    let mut all = Threads::new(&[
        "set nat workers 0,2",
        "set interface nat44 in p0 out p1",
        "nat44 add address 192.0.2.7",
    ]);
    for n in 0..20 {
        let user = Ipv4Addr::new(10, 0, 0, 2 + n);
        let ask = pkt::ether(peer_mac(0), port_mac(0)).ip4(user, "10.0.1.2").icmp_echo(5000, 53);
        assert_eq!(all.pass(usize::from(n) % 4, 0, &ask).len(), 1);
    }
    assert_eq!((all.sessions(0), all.sessions(2)), (0, 0));
    assert_eq!(all.sessions(1) + all.sessions(3), 20);
    let control = all.world.get::<Control>();
    assert_eq!(control.set_workers(&all.world, 8).expect_err("no such").code(), -89);
    assert_eq!(control.workers(&all.world), [1, 3]);
}

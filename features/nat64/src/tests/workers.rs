// SPDX-License-Identifier: Apache-2.0
//! Several workers: each user has its bindings on one, whichever receives its packets.

use super::*;
use crate::control::Control;
use crate::key::spread_of;
use graph::{Runtime, SwIfIndex, World, WorldConfig};
use net::drive::{Recorded, Recorder, ethernet};
use net::{Addresses, Interfaces};
use std::sync::Arc;
use wire::{Ip4, Ip6, MacAddr};

const WORKERS: usize = 3;

struct Threads {
    world: Arc<World>,
    threads: Vec<Runtime>,
    ports: Vec<SwIfIndex>,
}

impl Threads {
    fn new() -> Self {
        let config = WorldConfig { threads: WORKERS + 1, buffers: 4096, ..WorldConfig::default() };
        let (world, threads) = World::new(&config, PLUGINS).expect("an instance");
        let mut this = Self { world, threads, ports: Vec::new() };
        (0..2).for_each(|i| this.add_port(i));
        for line in [
            "nat64 plugin enable",
            "set interface nat64 in p0",
            "set interface nat64 out p1",
            "nat64 add pool address 192.0.2.7",
        ] {
            this.cli(line);
        }
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
        let (four, six) = (format!("10.0.{i}.1/24"), format!("2001:db8:{i}::1/64"));
        let addresses = (world.get::<Addresses<Ip4>>(), world.get::<Addresses<Ip6>>());
        addresses.0.add(world, sw_if, four.parse().expect("a prefix")).expect("added");
        addresses.1.add(world, sw_if, six.parse().expect("a prefix")).expect("added");
        for host in 2..60_u16 {
            let peers: [IpAddr; 2] = [
                Ipv4Addr::new(10, 0, i, host as u8).into(),
                Ipv6Addr::new(0x2001, 0xdb8, i.into(), 0, 0, 0, 0, host).into(),
            ];
            for peer in peers {
                let peer = Neighbor::new(sw_if, peer, peer_mac(0));
                let peer = Neighbor { is_static: true, ..peer };
                world.get::<Neighbors>().set(world, peer).expect("set");
            }
        }
        self.ports.push(sw_if);
    }

    fn cli(&mut self, line: &str) {
        let tree = ::cli::Tree::new(PLUGIN.cli).expect("commands");
        let (mut runner, mut said) = (::cli::Runner::default(), Vec::new());
        runner.line(&tree, &self.world, line, false, &mut said);
        for _ in 0..1000 {
            let now = std::time::Duration::from_nanos(self.world.clock.now());
            if let Some(result) = runner.poll(&tree, &self.world, now, &mut said) {
                return result.unwrap_or_else(|e| panic!("{line}: {e}"));
            }
            self.turns();
        }
        panic!("`{line}' doesn't end");
    }

    fn turns(&mut self) {
        for _ in 0..6 {
            self.world.processes.run(&self.world);
            self.threads.iter_mut().for_each(|rt| _ = rt.turn(true));
        }
    }

    /// Receives a packet on a thread; returns what has left.
    fn pass(&mut self, thread: usize, port: usize, packet: &Packet) -> Vec<Seen> {
        let bytes = &packet.build()[ETHERNET..];
        let input = if bytes[0] >> 4 == 4 { "ip4-input" } else { "ip6-input" };
        let input = self.world.node(input).expect("there");
        let rt = &mut self.threads[thread];
        let mut b = rt.cache().alloc().expect("a buffer");
        assert!(b.set_data(bytes));
        b.rx_if = self.ports[port].0;
        rt.inject(input, b);
        self.turns();
        let number = |sw_if: u32| self.ports.iter().position(|port| port.0 == sw_if);
        let all = self.world.get::<Recorded>().take();
        all.into_iter()
            .map(|(sw_if, frame)| seen(&(number(sw_if).expect("a port"), frame)))
            .collect()
    }

    fn bindings(&self, thread: usize) -> u64 {
        self.world.stats.simple("/nat64/total-bibs").of_thread(thread, 0)
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
fn worker(user: Ipv6Addr) -> usize {
    1 + spread_of(user) as usize % WORKERS
}

fn user(host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host)
}

/// CRC-32C without first and last complement, of two addresses.
#[suite::test]
fn the_hash_is_the_processors() {
    // The check value of CRC-32C is that of "123456789" with both complements; without them it is
    // linear, so single bytes can be checked by hand: 0x80 as the last byte is the polynomial.
    let last = |byte: u8| {
        let mut octets = [0; 16];
        octets[15] = byte;
        spread_of(octets.into())
    };
    assert_eq!((last(0), last(0x80)), (0, 0x82f6_3b78));
    assert_eq!(last(0x81), last(0x80) ^ last(1));
}

#[suite::test]
fn users_have_one_worker() {
    let mut all = Threads::new();
    let block = 64_512 / WORKERS;
    for n in 0..30_u16 {
        let (user, thread) = (user(2 + n), worker(user(2 + n)));
        let before = all.bindings(thread);
        let from = user.to_string();
        let left = all.pass(1 + usize::from(n) % WORKERS, 0, &of_user(&from, HOST6).udp(5, 53));
        assert_eq!(left.len(), 1, "{user}");
        assert_eq!(all.bindings(thread), before + 1, "{user}");
        let port = left[0].from.1;
        assert_eq!((usize::from(port) - 1024) / block, thread - 1, "{user} has {port}");
        for thread in 1..=WORKERS {
            let back = all.pass(thread, 1, &of_world(HOST, PUBLIC).udp(53, port));
            assert_eq!((back.len(), back[0].to), (1, (user.into(), 5)));
        }
    }
    assert_eq!(all.bindings(0), 0, "the main thread has none");
    let node = "nat64-out2in-handoff";
    assert_eq!((all.count(node, "same worker"), all.count(node, "do handoff")), (30, 60));
}

/// A user reaches another one whose bindings are on another worker, and hears of errors.
#[suite::test]
fn users_reach_each_other_on_any_worker() {
    let mut all = Threads::new();
    let mut crossed = 0;
    for n in 0..8_u16 {
        let (client, server) = (user(2 + n), user(40 + n));
        let line = format!("nat64 add static bib {server} 53 192.0.2.7 {} udp", 100 + n);
        all.cli(&line);
        crossed += usize::from(worker(client) != worker(server));
        let far = "64:ff9b::192.0.2.7";
        let ask = of_user(&client.to_string(), far).udp(5, 100 + n);
        let left = all.pass(1 + usize::from(n) % WORKERS, 0, &ask);
        assert_eq!((left.len(), left[0].to), (1, (server.into(), 53)));
        for thread in 1..=WORKERS {
            let answer = of_user(&server.to_string(), far).udp(53, left[0].from.1);
            let back = all.pass(thread, 0, &answer);
            assert_eq!((back.len(), back[0].to), (1, (client.into(), 5)));
            assert_eq!(back[0].from, end(far, 100 + n));
        }
    }
    assert!(crossed > 2, "{crossed}");
}

/// A static binding has a port of the worker of its user, or one that no worker has.
#[suite::test]
fn static_bindings_are_on_the_worker_of_their_user() {
    let mut all = Threads::new();
    let control = all.world.get::<Control>();
    for n in 0..6_u16 {
        let (server, thread) = (user(2 + n), worker(user(2 + n)));
        let block = 1024 + (thread as u16 - 1) * 21_504;
        let other = 1024 + (thread as u16 % WORKERS as u16) * 21_504;
        let name = crate::control::StaticName { vrf: 0, addr: server, port: 80, protocol: 6 };
        let end = |port| crate::key::End::new(Ipv4Addr::new(192, 0, 2, 7), port);
        let wrong = control.set_static(&all.world, (name, end(other + n)), true);
        assert_eq!(wrong.err().expect("refused").code(), -8);
        for port in [block + n, 80 + n] {
            let line =
                |del: &str| format!("nat64 add static bib {server} 80 192.0.2.7 {port} tcp{del}");
            all.cli(&line(""));
            for at in 1..=WORKERS {
                let left = all.pass(at, 1, &syn(of_world(HOST, PUBLIC), 4000 + at as u16, port));
                assert_eq!((left.len(), left[0].to), (1, (server.into(), 80)));
            }
            all.cli(&line(" del"));
        }
    }
}

/// Protocols without ports find their worker by the address.
#[suite::test]
fn other_protocols_find_their_worker() {
    let mut all = Threads::new();
    all.cli("nat64 add pool address 192.0.2.8 - 192.0.2.9");
    for n in 0..3_u16 {
        let from = user(2 + n);
        let out = of_user(&from.to_string(), HOST6).gre().payload("some bytes");
        let left = all.pass(1, 0, &out);
        assert_eq!(left.len(), 1);
        for thread in 1..=WORKERS {
            let to = left[0].from.0.to_string();
            let back = all.pass(thread, 1, &of_world(HOST, &to).gre().payload("more bytes"));
            assert_eq!((back.len(), back[0].to.0), (1, from.into()));
        }
    }
}

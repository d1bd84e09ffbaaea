// SPDX-License-Identifier: Apache-2.0
//! For tests of the kinds: packets as they have left, and instances with several threads.

use crate::log::{DOMAIN, Log, SOURCE_PORT, StreamName};
use crate::packet::ports_of;
use cli::{Command, Runner, Tree};
use graph::counters::ERRORS;
use graph::{Plugin, Runtime, SwIfIndex, World, WorldConfig};
use net::drive::{Recorded, Recorder, Rig, ethernet, peer_mac, port_mac};
use net::{Addresses, Interfaces, Neighbor, Neighbors};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use wire::l4::{self, Verdict};
use wire::{Header, Ip4, Ip6, IpHeader, IpProtocol, Ipv4Header};

#[cfg(feature = "tests")]
mod rig;
#[cfg(feature = "tests")]
pub use rig::*;

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;

/// The fields of a sent packet that translation changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Number of the port that it has left by.
    pub port: usize,
    /// Source address and port.
    pub from: (Ipv4Addr, u16),
    /// Destination address and port.
    pub to: (Ipv4Addr, u16),
}

/// Reads a frame that has left by a port.
///
/// # Panics
/// If one of its checksums is wrong.
pub fn seen((port, frame): &(usize, Vec<u8>)) -> Seen {
    let bytes = &frame[ETHERNET..];
    let ip = Ipv4Header::view(bytes).expect("an IP header");
    assert!(Ipv4Header::checksum_ok_at(bytes), "IP checksum of {bytes:02x?}");
    if !ip.is_fragment()
        && matches!(ip.protocol, IpProtocol::TCP | IpProtocol::UDP | IpProtocol::ICMP)
    {
        let verdict = l4::verify(bytes);
        assert!(
            matches!(verdict, Ok(Verdict::Valid | Verdict::Absent)),
            "{verdict:?}: {bytes:02x?}"
        );
    }
    let l4 = ports_of(bytes).unwrap_or_default();
    Seen { port: *port, from: (ip.src(), l4.src_port), to: (ip.dst(), l4.dst_port) }
}

/// An instance with a main thread and workers, whose ports N have 10.0.N.1/24, 2001:db8:N::1/64 and
/// neighbours.
pub struct Threads {
    /// The instance.
    pub world: Arc<World>,
    threads: Vec<Runtime>,
    ports: Vec<SwIfIndex>,
    commands: &'static [Command<World>],
}

impl Threads {
    /// An instance with so many workers and two ports.
    ///
    /// # Panics
    /// If there is no such instance, or a line fails.
    pub fn new(
        plugins: &'static [&'static Plugin],
        commands: &'static [Command<World>],
        workers: usize,
        lines: &[&str],
    ) -> Self {
        let config = WorldConfig { threads: workers + 1, buffers: 4096, ..WorldConfig::default() };
        let (world, threads) = World::new(&config, plugins).expect("an instance");
        let mut this = Self { world, threads, ports: Vec::new(), commands };
        (0..2).for_each(|i| this.add_port(i));
        lines.iter().for_each(|line| this.cli(line));
        this.turns();
        this
    }

    fn add_port(&mut self, i: u8) {
        let world = &self.world;
        let interfaces = world.get::<Interfaces>();
        let new = ethernet(format!("p{i}"), port_mac(i.into()));
        let make = |world: &World, _, sw_if| Recorder::new(world, sw_if);
        let sw_if = interfaces.create(world, new, make).expect("created");
        interfaces.set_admin(world, sw_if, true).expect("up");
        let prefix = format!("10.0.{i}.1/24").parse().expect("a prefix");
        world.get::<Addresses<Ip4>>().add(world, sw_if, prefix).expect("added");
        let prefix = format!("2001:db8:{i}::1/64").parse().expect("a prefix");
        world.get::<Addresses<Ip6>>().add(world, sw_if, prefix).expect("added");
        for host in 2..60 {
            let (net, last) = (u16::from(i), u16::from(host));
            let peers: [IpAddr; 2] = [
                Ipv4Addr::new(10, 0, i, host).into(),
                Ipv6Addr::new(0x2001, 0xdb8, net, 0, 0, 0, 0, last).into(),
            ];
            for peer in peers {
                let peer = Neighbor::new(sw_if, peer, peer_mac(0));
                let peer = Neighbor { is_static: true, ..peer };
                world.get::<Neighbors>().set(world, peer).expect("set");
            }
        }
        self.ports.push(sw_if);
    }

    /// Runs a command to its end.
    ///
    /// # Panics
    /// If it fails, or doesn't end.
    pub fn cli(&mut self, line: &str) {
        let tree = Tree::new(self.commands).expect("commands");
        let (mut runner, mut output) = (Runner::default(), Vec::new());
        runner.line(&tree, &self.world, line, false, &mut output);
        for _ in 0..1000 {
            let now = Duration::from_nanos(self.world.clock.now());
            if let Some(result) = runner.poll(&tree, &self.world, now, &mut output) {
                return result.unwrap_or_else(|e| panic!("{line}: {e}"));
            }
            self.turns();
        }
        panic!("`{line}' doesn't end");
    }

    /// Lets all threads do what there is to do.
    pub fn turns(&mut self) {
        for _ in 0..6 {
            self.world.processes.run(&self.world);
            self.threads.iter_mut().for_each(|rt| _ = rt.turn(true));
        }
    }

    /// Receives a frame on a thread; returns what has left.
    ///
    /// # Panics
    /// If there is no buffer, or a checksum is wrong.
    pub fn pass(&mut self, thread: usize, port: usize, frame: &[u8]) -> Vec<Seen> {
        self.frames(thread, port, frame).iter().map(seen).collect()
    }

    /// As [`Self::pass`], for either IP version; returns the frames, each with its port.
    ///
    /// # Panics
    /// If there is no buffer.
    pub fn frames(&mut self, thread: usize, port: usize, frame: &[u8]) -> Vec<(usize, Vec<u8>)> {
        let is_v6 = frame[ETHERNET] >> 4 == 6;
        let input = if is_v6 { "ip6-input" } else { "ip4-input" };
        let input = self.world.node(input).expect("there");
        let rt = &mut self.threads[thread];
        let mut b = rt.cache().alloc().expect("a buffer");
        assert!(b.set_data(&frame[ETHERNET..]));
        b.rx_if = self.ports[port].0;
        rt.inject(input, b);
        self.turns();
        let number = |sw_if: u32| self.ports.iter().position(|port| port.0 == sw_if);
        let all = self.world.get::<Recorded>().take();
        all.into_iter().map(|(sw_if, frame)| (number(sw_if).expect("a port"), frame)).collect()
    }

    /// Packets of all threads that a node has counted for a reason.
    pub fn count(&self, node: &str, reason: &str) -> u64 {
        let errors = self.world.stats.simple(ERRORS);
        let all = self.world.reasons().into_iter().enumerate();
        all.filter(|(_, r)| &*r.node == node && r.reason == reason)
            .map(|(i, _)| errors.sum(i))
            .sum()
    }
}

/// The collector of logs, a neighbour behind port 1 that nothing else uses.
pub const COLLECTOR: &str = "10.0.1.89";

/// Logs that a collector has received.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Logs {
    /// Messages of syslog, from the kind on: `SADD [nsess …]`.
    pub messages: Vec<String>,
    /// Ids of templates.
    pub templates: Vec<u16>,
    /// Records of IPFIX behind the time, each with the id of its template.
    pub records: Vec<(u16, Vec<u8>)>,
}

impl Logs {
    /// The events of records.
    pub fn events(&self) -> Vec<u8> {
        self.records.iter().map(|(_, record)| record[0]).collect()
    }
}

/// Switches both logs on, of an instance whose ports have 10.0.N.1/24.
///
/// # Panics
/// If that fails.
pub fn log_all(rig: &mut Rig) {
    for line in [
        "set ipfix exporter collector 10.0.1.89 src 10.0.0.1 template-interval 86400 path-mtu 1400",
        "set syslog sender collector 10.0.1.89 src 10.0.0.1 max-msg-size 1000",
    ] {
        rig.cli(line);
    }
    let stream = StreamName { domain: DOMAIN, source_port: SOURCE_PORT };
    let world = rig.world();
    world.get::<Log>().set_ipfix(&world, Some(stream)).expect("on");
}

/// Reads the logs among frames that have left, in the order in which they have.
///
/// # Panics
/// If one of them is malformed.
pub fn logs(frames: &[(u32, Vec<u8>)]) -> Logs {
    let collector = COLLECTOR.parse::<Ipv4Addr>().expect("an address");
    let mut logs = Logs::default();
    for (_, frame) in frames {
        let ip = Ipv4Header::view(&frame[ETHERNET..]);
        if !ip.is_some_and(|ip| ip.dst() == collector && ip.protocol == IpProtocol::UDP) {
            continue;
        }
        let udp = &frame[ETHERNET + 20..];
        match u16::from_be_bytes([udp[2], udp[3]]) {
            514 => {
                let line = std::str::from_utf8(&udp[8..]).expect("text");
                let behind = line.splitn(6, ' ').nth(5).expect("a header");
                assert!(line.starts_with("<134>1 ") && line.contains("Z 10.0.0.1 NAT "), "{line}");
                logs.messages.push(behind.to_string());
            }
            4739 => logs.read(&udp[8..]),
            _ => {}
        }
    }
    logs
}

impl Logs {
    /// Reads a message of IPFIX with one set, whose templates are those of NAT from 256 on.
    fn read(&mut self, message: &[u8]) {
        /// Bytes of the time in front of each record.
        const TIME: usize = 8;
        let half = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
        assert_eq!((half(0), usize::from(half(2)), half(18)), (10, message.len(), half(2) - 16));
        let (set, content) = (half(16), &message[20..]);
        if set == 2 {
            let at = self.templates.len();
            self.templates.push(half(20));
            assert!(half(20) as usize >= 256 && at < 7);
            return;
        }
        let lengths = [8 + 18, 8 + 5, 8 + 9, 8 + 9, 8 + 30, 8 + 54, 8 + 13];
        let len = lengths[usize::from(set - 256)];
        assert_eq!(content.len() % len, 0, "of template {set}");
        self.records.extend(content.chunks(len).map(|record| (set, record[TIME..].to_vec())));
    }
}

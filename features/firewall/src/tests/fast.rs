// SPDX-License-Identifier: Apache-2.0
//! Connections, datagrams and queries between zones, with the fast path and without: the same bytes
//! and the same counters.
//!
//! A packet's effect on its session depends on the packets before it. So packets that leave the
//! fast path in front of the firewall (fragments), or that are about sessions of others (errors),
//! are the last ones of a vector here.

use super::*;
use graph::counters::{ERRORS, VECTORS};
use std::collections::BTreeMap;
use testkit::Rng;
use wire::{Icmp4Type, Icmp6Type, TcpFlags};

const FRAMES: usize = 60_000;
const SEED: u64 = 20_261_203;
/// Frames after which rules change.
const CHANGE_EVERY: usize = 2_000;
const FLOWS: usize = 240;

const ZONES: &[&str] = &[
    "set ip icmp error-rate 1000000 burst 65535",
    "set ip6 icmp error-rate 1000000 burst 65535",
    "firewall zone other",
    "set interface firewall zone p2 other",
    "firewall policy from lan to wan default accept",
    "firewall rule from lan to wan 10 drop proto udp dport 5",
    "firewall rule from lan to wan 20 reject dport 6",
    "firewall policy from wan to lan",
    "firewall rule from wan to lan 10 accept proto tcp dport 1001-1009",
    "firewall policy from lan to other default accept loose",
];

/// Changes that come into force together, and how they are taken back.
const CHANGES: &[[&str; 2]] = &[
    [
        "firewall draft rule from lan to wan 30 drop proto udp sport 1003-1100",
        "firewall draft rule from lan to wan 30 del",
    ],
    [
        "firewall draft rule from lan to wan 31 drop proto tcp sport 1000-1120",
        "firewall draft rule from lan to wan 31 del",
    ],
    [
        "firewall draft policy from lan to other default drop",
        "firewall draft policy from lan to other default accept",
    ],
];

/// A flow between the neighbour of `p0` and another one.
struct Flow {
    v6: bool,
    ports: [u16; 2],
    interfaces: [usize; 2],
    protocol: usize,
    /// The next sequence numbers of TCP.
    next: [u32; 2],
}

impl Flow {
    fn new(n: usize) -> Self {
        Self {
            v6: n % 4 == 3,
            ports: [1000 + n as u16, [80, 6, 5, 53][n / 8 % 4]],
            interfaces: [0, if n % 4 == 2 { 2 } else { 1 }],
            protocol: n / 4 % 3,
            next: [n as u32 * 1000, n as u32 * 5000],
        }
    }

    /// A packet from an end, without its upper layer.
    fn ip(&self, from: usize) -> Packet {
        from_to(self.v6, self.interfaces[from], self.interfaces[1 - from])
    }

    fn frame(&mut self, rng: &mut Rng) -> (usize, Vec<u8>) {
        let from = rng.below(2);
        let (ip, [here, there]) = (self.ip(from), [self.ports[from], self.ports[1 - from]]);
        let packet = match (self.protocol, self.v6, from) {
            (0, ..) => self.segment(ip.tcp(here, there), from, rng),
            (1, ..) => ip.udp(here, there).payload_len(rng.below(60)),
            (_, true, 0) => ip.icmp6_echo(self.ports[0], 1),
            (_, true, _) => ip.icmp6(Icmp6Type::ECHO_REPLY, 0, u32::from(self.ports[0]) << 16 | 1),
            (_, false, 0) => ip.icmp_echo(self.ports[0], 1),
            (_, false, _) => ip.icmp_echo_reply(self.ports[0], 1),
        };
        (self.interfaces[from], packet.build())
    }

    /// Mostly the next segment of a connection, and else any.
    fn segment(&mut self, tcp: Packet, from: usize, rng: &mut Rng) -> Packet {
        let (seq, ack) = (self.next[from], self.next[1 - from]);
        let len = rng.below(60) as u32;
        let (flags, seq, ack, len) = match rng.below(20) {
            0 | 1 if from == 0 => (TcpFlags::SYN, seq, 0, 0),
            0 | 1 => (TcpFlags::SYN | TcpFlags::ACK, seq, ack, 0),
            2 if rng.one_in(3) => (TcpFlags::FIN | TcpFlags::ACK, seq, ack, 0),
            3 if rng.one_in(3) => (TcpFlags::RST, seq, 0, 0),
            4 => (TcpFlags::RST, seq.wrapping_add(rng.below(100_000) as u32), 0, 0),
            5 => (TcpFlags::ACK, seq.wrapping_add(rng.below(100_000) as u32), ack, len),
            6 => (TcpFlags::ACK, seq, ack.wrapping_add(rng.below(100_000) as u32), len),
            7 => (TcpFlags::FIN | TcpFlags::SYN, seq, ack, 0),
            _ => (TcpFlags::ACK, seq, ack, len),
        };
        if seq == self.next[from] {
            let counted = u32::from(flags.contains(TcpFlags::SYN));
            self.next[from] = seq.wrapping_add(len + counted);
        }
        tcp.segment(flags, seq, ack).window(1000).payload_len(len as usize)
    }

    /// An error that quotes a packet of the other direction, or a fragment.
    fn odd(&mut self, error: bool, rng: &mut Rng) -> Option<(usize, Vec<u8>)> {
        if self.v6 {
            return None;
        }
        if error {
            let (port, quoted) = self.frame(rng);
            let from = usize::from(port == self.interfaces[0]);
            let error = self.ip(from).icmp(Icmp4Type::UNREACHABLE, 1, 0);
            return Some((self.interfaces[from], error.payload(&quoted[14..42]).build()));
        }
        let from = rng.below(2);
        let [here, there] = [self.ports[from], self.ports[1 - from]];
        let ip = self.ip(from).id(here);
        let packet = match rng.one_in(2) {
            true => ip.fragment(0, true).udp(here, there).payload_len(40),
            false => ip.fragment(48, false).protocol(wire::IpProtocol::UDP).payload_len(40),
        };
        Some((self.interfaces[from], packet.build()))
    }
}

/// Frames by port.
type Frames = Vec<(usize, Vec<u8>)>;

/// Sends frames to a router, and returns those that it sends, without what two routers number.
fn send(rig: &mut Rig, frames: &Frames) -> Frames {
    for (port, frame) in frames {
        rig.bench.arrive(rig.ports[*port], frame);
    }
    rig.bench.world.clock.adjust(10_000_000);
    rig.bench.settle();
    let mut sent = rig.sent();
    for (_, frame) in &mut sent {
        // The router's own errors have numbers of each instance.
        if frame[12..14] == [8, 0] && frame[22..24] == [255, 1] {
            frame[18..20].fill(0);
            frame[24..26].fill(0);
        }
    }
    sent.sort();
    sent
}

/// Runs commands, and lets the sweep judge all sessions again.
fn change(rig: &mut Rig, lines: &[&str]) {
    lines.iter().for_each(|line| _ = rig.cli(line));
    rig.seconds(2);
}

/// All that nodes have counted.
fn counted(rig: &Rig) -> BTreeMap<String, u64> {
    let world = rig.world();
    let errors = world.stats.simple(ERRORS);
    let reasons = world.reasons().into_iter().enumerate();
    let of = |(i, reason): (usize, graph::Reason)| {
        (format!("{} {}", reason.node, reason.text), errors.sum(i))
    };
    reasons.map(of).collect()
}

/// Packets that visited a node.
fn through(rig: &Rig, node: &str) -> u64 {
    let world = rig.world();
    let node = world.node(node).expect("a node");
    world.stats.simple(VECTORS).sum(node.at())
}

#[suite::test]
fn sessions_pass_without_the_node_as_they_pass_it() {
    let mut rigs = [zones(false), zones(true)];
    for rig in &mut rigs {
        rig.bench.world.clock.stop();
        change(rig, ZONES);
    }
    let rng = &mut Rng::new(SEED);
    let mut flows: Vec<_> = (0..FLOWS).map(Flow::new).collect();
    let (mut sent, mut on) = (0, [false; CHANGES.len()]);
    while sent < FRAMES {
        let most = if rng.one_in(3) { 7 } else { 250 };
        let n = 1 + rng.below(most);
        let few = if rng.one_in(4) { 4 } else { FLOWS };
        let first = rng.below(FLOWS - few + 1);
        let mut frames: Vec<_> = (0..n).map(|_| flows[first + rng.below(few)].frame(rng)).collect();
        if rng.one_in(3) {
            let errors = rng.one_in(2);
            frames.extend((0..4).filter_map(|_| flows[rng.below(FLOWS)].odd(errors, rng)));
        }
        let when = format!("vector of {} frames, {sent} before it", frames.len());
        let [fast, slow] = &mut rigs;
        let (fast, slow) = (send(fast, &frames), send(slow, &frames));
        let only = |some: &Frames, others: &Frames| -> Frames {
            some.iter().filter(|frame| !others.contains(frame)).take(2).cloned().collect()
        };
        let differ = (only(&fast, &slow), only(&slow, &fast));
        assert!(fast == slow, "other bytes: {when}: {differ:02x?}");
        let was = sent / CHANGE_EVERY;
        sent += frames.len();
        if sent / CHANGE_EVERY > was {
            let which = rng.below(CHANGES.len());
            on[which] ^= true;
            let line = CHANGES[which][usize::from(!on[which])];
            let mut lines = vec!["firewall begin", line, "firewall commit"];
            if rng.one_in(8) {
                lines.push("clear firewall sessions");
            }
            rigs.iter_mut().for_each(|rig| change(rig, &lines));
            assert_eq!(counted(&rigs[0]), counted(&rigs[1]), "{when}");
        }
    }
    let [fast, slow] = &rigs;
    for node in ["ip4-firewall-output", "ip6-firewall-output"] {
        let (few, all) = (through(fast, node), through(slow, node));
        assert!(few < all * 3 / 4, "{few} of {all} packets visited {node}");
    }
    for reason in [
        "session",
        "new",
        "policy",
        "rejected",
        "reset",
        "icmp_error",
        "tcp_flags",
        "tcp_window",
        "tcp_reset",
        "no_session",
    ] {
        assert!(fast.count(OUT, reason) > 0, "no packet was counted as {reason}");
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Malformed packets: none stops the router, none is lost uncounted.

use std::collections::BTreeMap;

use daemon::plugins;
use graph::counters::ERRORS;
use graph::drive::Bench;
use net::Interfaces;
use testkit::mutate::Mutator;
use testkit::pkt::{self, Packet};

use crate::tally::{Tallier, Tally};

/// Number of frames, and the seed of all that is random.
const FRAMES: u64 = 1_000_000;
const SEED: u64 = 20_260_701;

/// Packets that may wait for neighbours on a thread, and fragments for further ones.
const WAITING: i64 = 1024 + 4 * 600;

const HOST: &str = "02:aa:00:00:00:01";
const ROUTER: &str = "02:fe:00:00:00:01";

pub const CONFIGURATION: &[&str] = &[
    "create packet-generator interface pg0 hw-addr 02:fe:00:00:00:01",
    "create packet-generator interface pg1 hw-addr 02:fe:00:00:00:02",
    "set interface state pg0 up",
    "set interface state pg1 up",
    "set interface ip address pg0 10.0.1.1/24",
    "set interface ip address pg1 10.0.2.1/24",
    "set interface mtu packet 1400 pg1",
    "create sub-interfaces pg0 7",
    "create sub-interfaces pg0 8 dot1q 8 inner-dot1q 9 exact-match",
    "create sub-interfaces pg0 9 dot1ad 9 inner-dot1q any",
    "create sub-interfaces pg1 7 dot1ad 7 inner-dot1q 8 exact-match",
    "set interface state pg0.7 up",
    "set interface state pg0.8 up",
    "set interface state pg0.9 up",
    "set interface state pg1.7 up",
    "set interface ip address pg0.7 10.7.1.1/24",
    "set interface ip address pg0.8 10.8.1.1/24",
    "set interface ip address pg1.7 10.7.2.1/24",
    "set ip neighbor pg0.7 10.7.1.2 02:aa:00:00:00:71 static",
    "set ip neighbor pg1.7 10.7.2.2 02:aa:00:00:00:72 static",
    "set ip neighbor pg0 10.0.1.2 02:aa:00:00:00:01 static",
    "set ip neighbor pg1 10.0.2.2 02:aa:00:00:00:02 static",
    // Through a neighbour that answers, one that doesn't, back where it came from, and nowhere.
    "ip route add 10.3.0.0/16 via 10.0.2.2 pg1",
    "ip route add 10.4.0.0/16 via 10.0.2.99 pg1",
    "ip route add 10.5.0.0/16 via 10.0.1.7 pg0",
    "ip route add 10.6.0.0/16 via drop",
];

/// Good packets, of every kind that the router handles.
pub fn bases() -> Vec<Vec<u8>> {
    let ether = || pkt::ether(HOST, ROUTER);
    let ip = |to: &'static str| ether().ip4("10.0.1.2", to);
    let udp = |packet: Packet| packet.udp(1234, 4321).payload_len(40);
    vec![
        pkt::arp_request(HOST, "10.0.1.2", "10.0.1.1").pad_to(60).build(),
        pkt::arp_request(HOST, "10.0.1.2", "10.0.1.77").pad_to(60).build(),
        pkt::arp_request("02:aa:00:00:00:07", "10.0.1.7", "10.0.1.7").pad_to(60).build(),
        pkt::arp_reply("02:aa:00:00:00:08", "10.0.1.8", ROUTER, "10.0.1.1").pad_to(60).build(),
        udp(ip("10.0.2.2")).build(),
        udp(ip("10.3.1.2")).build(),
        udp(ip("10.4.0.9")).build(),
        udp(ip("10.5.0.9")).build(),
        udp(ip("10.6.0.9")).build(),
        udp(ip("192.0.2.1")).build(),
        udp(ip("10.0.1.1")).build(),
        udp(ip("10.0.2.1")).build(),
        udp(ip("10.0.1.255")).build(),
        udp(ip("255.255.255.255")).build(),
        udp(ip("10.0.2.77")).build(),
        udp(ip("10.0.2.2").ttl(1)).build(),
        udp(ip("10.0.2.2").options([7, 7, 4, 0, 0, 0, 0, 0])).build(),
        udp(ip("10.0.2.2").options([131, 7, 4, 10, 0, 2, 2, 0])).build(),
        udp(ip("10.0.1.1").options([148, 4, 0, 0])).build(),
        ip("10.0.2.2").tcp(1, 2).options([2, 4, 5, 0xb4]).payload_len(500).build(),
        ip("10.0.1.1").tcp(1, 22).build(),
        ip("10.0.1.1").icmp_echo(1, 2).payload_len(56).build(),
        ip("10.0.2.1").icmp_echo(1, 3).payload_len(1300).build(),
        ip("10.0.2.2").icmp_echo(1, 4).payload_len(56).build(),
        ip("10.0.2.2").icmp_echo(1, 5).payload_len(1460).build(),
        ip("10.0.2.2").icmp_echo(1, 6).payload_len(6000).build(),
        ip("10.0.2.2").df().icmp_echo(1, 7).payload_len(1460).build(),
        udp(ip("10.0.2.2").fragment(0, true)).build(),
        udp(ip("10.0.1.1").fragment(100, false)).build(),
        ether().vlan(6).ip4("10.0.1.2", "10.0.2.2").udp(1, 2).build(),
        ether().vlan(7).ip4("10.7.1.2", "10.0.2.2").udp(1, 2).build(),
        ether().vlan(7).ip4("10.7.1.2", "10.7.2.2").tcp(1, 2).payload_len(800).build(),
        ether().vlan(7).ip4("10.7.1.2", "10.7.1.1").icmp_echo(1, 8).build(),
        ether().vlan(8).vlan(9).ip4("10.8.1.2", "10.0.2.2").udp(1, 2).build(),
        ether().vlan(8).vlan(9).vlan(10).ip4("10.8.1.2", "10.0.2.2").udp(1, 2).build(),
        ether().qinq(9).vlan(9).ip4("10.8.1.2", "10.0.2.2").udp(1, 2).build(),
        udp(ip("10.7.2.2")).build(),
        ether().ip6("2001:db8::2", "2001:db8:1::2").udp(1, 2).build(),
        pkt::ether(HOST, "ff:ff:ff:ff:ff:ff").ip4("10.0.1.2", "10.0.2.2").udp(1, 2).build(),
        pkt::ether(HOST, "01:00:5e:00:00:01").ip4("10.0.1.2", "224.0.0.1").udp(1, 2).build(),
        pkt::ether(HOST, "02:fe:00:00:00:99").ip4("10.0.1.2", "10.0.2.2").udp(1, 2).build(),
    ]
}

/// A router in this process, to which frames are sent as if they came in by `pg0`.
pub struct Rig {
    /// The router.
    pub bench: Bench,
    rx_if: u32,
    input: graph::NodeIndex,
    tallier: Tallier,
    came: u64,
}

impl Rig {
    /// With further configuration.
    pub fn new(more: &[&str]) -> Self {
        let mut bench = Bench::new(plugins::ALL);
        for line in CONFIGURATION.iter().chain(more) {
            bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        bench.settle();
        let interfaces = bench.world.get::<Interfaces>();
        let rx_if = interfaces.find("pg0").expect("it was made").0;
        let input = bench.index("ethernet-input");
        let tallier = Tallier::new(&bench.world, interfaces.list().len());
        Self { bench, rx_if, input, tallier, came: 0 }
    }

    /// Frames come in, and the graph runs until nothing waits.
    pub fn send(&mut self, frames: &[Vec<u8>]) {
        for frame in frames {
            let mut b = self.bench.buffer(frame);
            b.rx_if = self.rx_if;
            self.bench.rt.inject(self.input, b);
        }
        self.came += frames.len() as u64;
        // Ten milliseconds later: timers and rate limits are part of this.
        self.bench.world.clock.adjust(10_000_000);
        self.bench.settle();
        self.bench.world.qsbr.collect();
    }

    /// Holds the sums against each other.
    #[track_caller]
    fn check(&self, before: &Tally) -> Tally {
        let now = self.tallier.read();
        let (was, held) = (before.held(self.came), now.held(self.came));
        assert!(
            (0..=WAITING).contains(&held),
            "{held} packets are held: {now:#?}, before {before:#?} {was}"
        );
        assert_eq!(
            now.dropped,
            now.reasons + now.answers,
            "each drop under one name: {now:#?}, before {before:#?}"
        );
        assert_eq!(now.lost, 0, "a node that isn't there got packets");
        now
    }

    /// Packets by the reasons that the graph counted them under.
    pub fn reasons(&self) -> BTreeMap<String, u64> {
        let errors = self.bench.world.stats.simple(ERRORS);
        let reasons = self.bench.world.reasons().into_iter().enumerate();
        reasons.map(|(i, r)| (format!("{}: {}", r.node, r.text), errors.sum(i))).collect()
    }
}

/// Sends `count` frames, most of them broken, in vectors of every size, and waits until no packet
/// is held any more. `mend` repairs a broken frame so that it gets further. Returns the tally,
/// which was checked after each vector.
pub fn send_all(rig: &mut Rig, bases: &[Vec<u8>], count: u64, mend: fn(&mut [u8])) -> Tally {
    let mut mutator = Mutator::new(SEED);
    let mut frames: Vec<Vec<u8>> = vec![Vec::new(); 256];
    let mut tally = rig.check(&Tally::default());
    while rig.came < count {
        // Singly, so that a fault can be seen where it happens, in small vectors, and in large
        // ones.
        let n = match mutator.rng().below(4) {
            0 => 1,
            1 => 1 + mutator.rng().below(7),
            _ => 1 + mutator.rng().below(256),
        };
        let n = n.min((count - rig.came) as usize);
        for frame in &mut frames[..n] {
            // One in eight is good.
            if mutator.rng().one_in(8) {
                frame.clone_from(mutator.rng().pick(bases));
            } else {
                mutator.next_frame(bases, frame);
                mend(frame);
            }
        }
        rig.send(&frames[..n]);
        tally = rig.check(&tally);
    }
    // Unresolved neighbours and incomplete datagrams time out.
    for _ in 0..8 {
        rig.bench.world.clock.adjust(1_000_000_000);
        rig.bench.settle();
    }
    let end = rig.check(&tally);
    assert_eq!(end.held(rig.came), 0, "{end:#?}");
    println!("{end:#?}");
    end
}

#[test]
fn a_million_mutated_frames() {
    let mut rig = Rig::new(&[]);
    let end = send_all(&mut rig, &bases(), FRAMES, |_| {});
    let reasons = rig.reasons();
    let (seen, unseen): (Vec<_>, Vec<_>) = reasons.iter().partition(|(_, n)| **n > 0);
    for (reason, n) in &seen {
        println!("{n:>8}  {reason}");
    }
    println!("never: {:#?}", unseen.iter().map(|(reason, _)| reason).collect::<Vec<_>>());
    // The mutator reaches far into the graph.
    for (what, n) in [
        ("sent", end.sent),
        ("dropped", end.dropped),
        ("noted", end.noted),
        ("cut", end.fragmented),
    ] {
        assert!(n > FRAMES / 1000, "only {n} were {what}");
    }
    assert!(seen.len() > 40, "{} reasons", seen.len());
}

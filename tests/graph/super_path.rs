// SPDX-License-Identifier: Apache-2.0
//! The super-path gives what the graph gives: two routers, one with and one without it, get the
//! same frames and the same commands, and have to send the same bytes and count the same.

use graph::{SwIfIndex, World};
use net::{Addresses, Fib, Neighbor, Neighbors, Path, PathKind, Source, TableIndex};
use router::{Pair, Router, lines};
use std::net::Ipv6Addr;
use testkit::mutate::Mutator;
use testkit::pkt::{self, Packet};
use wire::{Ip6, MacAddr};

mod bvi;
mod enabled;
mod features;
mod order;
mod router;
mod stage;
mod tagged;
mod threads;
mod tunnels;

const FRAMES: usize = 1_000_000;
const SEED: u64 = 20_261_121;
const INTERFACES: u32 = 5;
/// Frames after which both routers are changed.
const CHANGE_EVERY: usize = 10_000;

/// The last two have the same.
fn own_mac(i: u32) -> MacAddr {
    MacAddr([2, 0xfe, 0, 0, 0, i.min(INTERFACES - 1) as u8])
}

/// Networks of two stations each, so that no time passes with questions for neighbours.
const CONFIGURATION: &[&str] = &[
    "ip table add 7",
    "set ip icmp error-rate 1000000 burst 65535",
    "set ip6 icmp error-rate 1000000 burst 65535",
    "set interface ip address e1 10.0.1.1/30",
    "set interface ip address e2 10.0.2.1/30",
    "set interface ip address e3 10.0.3.1/30",
    "set interface ip address e4 10.0.4.1/30",
    "set ip neighbor e1 10.0.1.2 02:aa:00:00:00:01 static",
    "set ip neighbor e2 10.0.2.2 02:aa:00:00:00:02 static",
    "set ip neighbor e3 10.0.3.2 02:aa:00:00:00:03 static",
    "set ip neighbor e4 10.0.4.2 02:aa:00:00:00:04 static",
    "set interface mtu packet 1400 e3",
    "create sub-interfaces e1 7",
    "create sub-interfaces e3 7",
    "set interface state e1.7 up",
    "set interface state e3.7 up",
    "set interface ip address e1.7 10.7.1.1/30",
    "set interface ip address e3.7 10.7.3.1/30",
    "set ip neighbor e1.7 10.7.1.2 02:aa:00:00:00:71 static",
    "set ip neighbor e3.7 10.7.3.2 02:aa:00:00:00:73 static",
    "ip route add 33.0.0.0/8 via 10.7.3.2 e3.7",
    "ip route add 20.0.0.0/8 via 10.0.2.2 e2",
    "ip route add 20.1.0.0/16 via 10.0.3.2 e3",
    "ip route add 20.1.2.3/32 via 10.0.4.2 e4",
    "ip route add 21.0.0.0/8 via 10.0.2.2 e2 via 10.0.3.2 e3 weight 3 via 10.0.4.2 e4",
    "ip route add 22.0.0.0/8 via 20.0.0.1",
    "ip route add 23.0.0.0/8 via 22.0.0.1 via 21.0.0.1",
    "ip route add 24.0.0.0/8 via drop",
    "ip route add 25.0.0.0/8 via unreach",
    "ip route add 26.0.0.0/8 via prohibit",
    "ip route add 27.0.0.0/8 via 10.0.1.2 e1",
    "ip route add 29.0.0.0/8 via 10.0.2.2 e2 via 10.0.3.2 e3",
    "ip route add 30.0.0.0/8 via 29.0.0.1",
    "ip route add 31.0.0.0/8 via 30.0.0.1 via 29.0.0.1 via 20.0.0.1 via 10.0.4.2 e4",
    "ip route add 32.0.0.0/8 via 21.0.0.1",
    "set interface ip table e5 7",
    "enable ip4 interface e5",
    "ip route add 20.0.0.0/8 table 7 via 10.0.4.2 e4",
    // Routes to sources, and reverse path checks.
    "ip route add 10.9.0.0/16 via 10.0.1.2 e1 via 10.0.2.2 e2",
    "ip route add 10.8.0.0/16 via 10.0.3.2 e3",
    "set urpf ip4 rx strict e1",
    "set urpf ip6 rx strict e1",
    "set urpf ip4 rx loose e4",
];

/// Choices of IPv6.
const CONFIGURATION6: &[&str] = &[
    "ip route add 3005::/16 via 2001:db8:2::2 e2 via 2001:db8:3::2 e3",
    "ip route add 3006::/16 via 3005::1",
    "ip route add 2001:db8:9::/48 via 2001:db8:1::2 e1 via 2001:db8:2::2 e2",
    "ip route add 2001:db8:8::/48 via 2001:db8:3::2 e3",
];

/// Done to both, and taken back by the next one.
const CHANGES: &[[&str; 2]] = &[
    ["set ip route-counters off", "set ip route-counters on"],
    ["set interface state e2 down", "set interface state e2 up"],
    ["set interface mtu packet 600 e4", "set interface mtu packet 1500 e4"],
    ["ip route add 0.0.0.0/0 via 10.0.4.2 e4", "ip route del 0.0.0.0/0 via 10.0.4.2 e4"],
    [
        "set ip neighbor e3 10.0.3.2 02:aa:00:00:00:44 static",
        "set ip neighbor e3 10.0.3.2 02:aa:00:00:00:33 static",
    ],
    [
        "set interface mac address e1 02:fe:00:00:00:77",
        "set interface mac address e1 02:fe:00:00:00:01",
    ],
    [
        "ip route add 21.0.0.0/8 table 7 via 10.0.2.2 e2",
        "ip route del 21.0.0.0/8 table 7 via 10.0.2.2 e2",
    ],
    [
        "set interface feature e2 pcap-capture arc interface-output",
        "set interface feature e2 pcap-capture arc interface-output disable",
    ],
    ["ip path-mtu 20.1.0.1 100", "ip path-mtu 20.1.0.1 del"],
    ["ip path-mtu 10.0.2.2 300", "ip path-mtu 10.0.2.2 del"],
    [
        "set interface ip directed-broadcast e2 enable",
        "set interface ip directed-broadcast e2 disable",
    ],
    ["set urpf ip4 rx strict e3", "set urpf ip4 rx off e3"],
    ["set urpf ip4 rx loose deny-default e2", "set urpf ip4 rx off e2"],
    ["set urpf ip6 rx strict e2", "set urpf ip6 rx off e2"],
    ["set urpf ip6 rx loose e3 table 0", "set urpf ip6 rx off e3"],
    ["set urpf ip4 rx strict e5 table 0", "set urpf ip4 rx off e5"],
    ["set urpf-accept add 10.8.8.0/24", "set urpf-accept del 10.8.8.0/24"],
    // A feature without a check beside one that has a check.
    [
        "set interface feature e1 ip4-source-and-port-range-check-rx arc ip4-unicast",
        "set interface feature e1 ip4-source-and-port-range-check-rx arc ip4-unicast disable",
    ],
    [
        "set ip flow-hash table 0 src dst sport dport proto reverse",
        "set ip flow-hash table 0 src dst sport dport proto",
    ],
    ["set ip6 flow-hash table 0 src sport", "set ip6 flow-hash table 0 src dst sport dport proto"],
    [
        "set ip neighbor e2 10.0.2.2 02:aa:00:00:00:22 static",
        "set ip neighbor e2 10.0.2.2 02:aa:00:00:00:02 static",
    ],
    // Tables of another structure.
    [
        "ip route add count 600 28.0.0.0/24 via 10.0.2.2 e2",
        "ip route del count 600 28.0.0.0/24 via 10.0.2.2 e2",
    ],
    [
        "ip route add count 9000 3004::/48 via 2001:db8:3::2 e3",
        "ip route del count 9000 3004::/48 via 2001:db8:3::2 e3",
    ],
];

fn make(super_path: bool) -> Router {
    Router::with(super_path, |bench| {
        lines(bench, CONFIGURATION);
        six(&bench.world);
        lines(bench, CONFIGURATION6);
    })
}

/// IPv6 as IPv4.
fn six(world: &World) {
    let neighbor = |i: u32| Ipv6Addr::new(0x2001, 0xdb8, i as u16, 0, 0, 0, 0, 2);
    for i in 1..=INTERFACES {
        let own = format!("2001:db8:{i}::3/127").parse().expect("a prefix");
        world.get::<Addresses<Ip6>>().add(world, SwIfIndex(i), own).expect("added");
        let mac = MacAddr([2, 0xaa, 0, 0, 0, i as u8]);
        let known =
            Neighbor { is_static: true, ..Neighbor::new(SwIfIndex(i), neighbor(i).into(), mac) };
        world.get::<Neighbors>().set(world, known).expect("set");
    }
    let via =
        |i: u32| Path::new(PathKind::Neighbor { sw_if: SwIfIndex(i), nexthop: neighbor(i).into() });
    for (prefix, paths) in [
        ("3000::/16", vec![via(2)]),
        ("3000:1::/32", vec![via(3)]),
        ("3000:1::5/128", vec![via(4)]),
        ("3001::/16", vec![via(2), via(3), via(4)]),
        ("3002::/16", vec![Path::new(PathKind::Fixed(net::AdjIndex::PROHIBIT))]),
        ("3003::/16", vec![via(1)]),
    ] {
        let prefix = prefix.parse().expect("a prefix");
        world
            .get::<Fib<Ip6>>()
            .set(world, TableIndex::DEFAULT, prefix, Source::Cli, &paths)
            .expect("set");
    }
}

/// Good packets for the router's interface `i`.
fn bases(i: u32) -> Vec<Vec<u8>> {
    let host = MacAddr([2, 0xaa, 0, 0, 0, i as u8]);
    let ip = |to: &'static str| pkt::ether(host, own_mac(i)).ip4("10.9.9.9", to);
    let ip6 = |to: &'static str| pkt::ether(host, own_mac(i)).ip6("2001:db8:9::9", to);
    let udp = |packet: Packet| packet.udp(1234, 4321).payload_len(40);
    let mut all = Vec::new();
    for to in [
        "20.0.0.1", "20.1.0.1", "20.1.2.3", "21.1.2.3", "21.3.2.1", "22.0.0.9", "23.0.0.9",
        "10.0.2.3",
    ]
    .into_iter()
    .chain(["29.1.1.1", "29.2.3.4", "30.0.0.9", "31.0.0.9", "31.1.2.3", "32.0.0.9", "33.0.0.9"])
    {
        all.push(udp(ip(to)).build());
        all.push(ip(to).tcp(1, 2).payload_len(500).build());
    }
    for to in ["25.0.0.1", "26.0.0.1", "27.0.0.1", "10.0.2.2", "10.0.1.1", "99.9.9.9", "224.0.0.5"]
    {
        all.push(udp(ip(to)).build());
    }
    for to in
        ["3000::1", "3000:1::1", "3000:1::5", "3001::1", "3001::2", "3002::1", "3003::1", "4000::1"]
    {
        all.push(udp(ip6(to)).build());
    }
    // Only at times are there routes to these addresses.
    for to in ["28.0.0.1", "28.1.7.1"] {
        all.push(udp(ip(to)).build());
    }
    for to in
        ["3004::1", "3004:0:1234::1", "3004:0:2327::1", "3005::1", "3005::77", "3006::1", "3006::2"]
    {
        all.push(udp(ip6(to)).build());
    }
    all.extend([
        udp(ip("20.0.0.1").ttl(1)).build(),
        udp(ip6("3000::1").ttl(1)).build(),
        udp(ip("20.0.0.1").options([7, 7, 4, 0, 0, 0, 0, 0])).build(),
        ip("20.0.0.1").udp(1, 2).pad_to(60).build(),
        ip("20.1.0.1").df().icmp_echo(1, 7).payload_len(1460).build(),
        ip("20.1.0.1").icmp_echo(1, 7).payload_len(1460).build(),
        ip("20.0.0.1").icmp_echo(1, 7).payload_len(4000).build(),
        udp(ip("20.0.0.1").fragment(100, false)).build(),
        pkt::ether(host, own_mac(i)).vlan(7).ip4("10.9.9.9", "20.0.0.1").udp(1, 2).build(),
        pkt::ether(host, own_mac(i))
            .vlan(7)
            .ip4("10.9.9.9", "33.0.0.1")
            .udp(1, 2)
            .payload_len(900)
            .build(),
        pkt::ether(host, own_mac(i)).vlan(7).ip4("10.7.1.2", "10.7.1.1").icmp_echo(1, 8).build(),
        pkt::ether(host, own_mac(i)).vlan(8).ip4("10.9.9.9", "20.0.0.1").udp(1, 2).build(),
        pkt::ether(host, "ff:ff:ff:ff:ff:ff").ip4("10.9.9.9", "20.0.0.1").udp(1, 2).build(),
        pkt::ether(host, own_mac(9)).ip4("10.9.9.9", "20.0.0.1").udp(1, 2).build(),
    ]);
    all
}

/// Packets of each protocol to the router's interface `i` that the super-path may take, for vectors
/// that have nothing else.
fn ordinary(i: u32) -> [Vec<Vec<u8>>; 2] {
    let ether = || pkt::ether(MacAddr([2, 0xaa, 0, 0, 0, i as u8]), own_mac(i));
    let to4 = [
        "20.0.0.1", "20.1.0.1", "20.1.2.3", "22.0.0.9", "27.0.0.1", "28.0.0.1", "29.1.1.1",
        "30.0.0.9", "33.0.0.9",
    ];
    let to6 =
        ["3000::1", "3000:1::1", "3000:1::5", "3003::1", "3004:0:1234::1", "3005::1", "3006::1"];
    let ip4 = ["10.9.9.9", "10.8.8.8"]
        .into_iter()
        .flat_map(|from| to4.map(|to| ether().ip4(from, to).udp(1234, 4321)));
    let ip6 = ["2001:db8:9::9", "2001:db8:8::8"]
        .into_iter()
        .flat_map(|from| to6.map(|to| ether().ip6(from, to).udp(1234, 4321)));
    // As long as they are, padded, and too long for some.
    let lengths = |packet: Packet| {
        let long = packet.clone().payload_len(1400).build();
        [packet.clone().payload_len(40).build(), packet.pad_to(90).build(), long]
    };
    [ip4.flat_map(lengths).collect(), ip6.flat_map(lengths).collect()]
}

#[test]
fn same_bytes_same_counters_with_and_without() {
    let mut pair = Pair::new(make);
    let mut mutator = Mutator::new(SEED);
    let bases: Vec<_> = (1..=INTERFACES).map(bases).collect();
    let ordinary: Vec<_> = (1..=INTERFACES).map(ordinary).collect();
    let mut sent = 0;
    while sent < FRAMES {
        let n = match mutator.rng().below(4) {
            0 => 1,
            1 => 1 + mutator.rng().below(7),
            _ => 1 + mutator.rng().below(256),
        };
        // One interface as a driver's frame, several as a busy turn brings them, one flow.
        let (one_if, one_flow) = (mutator.rng().one_in(2), mutator.rng().one_in(4));
        let mut rx_if = 1 + mutator.rng().below(INTERFACES as usize) as u32;
        let mut at = mutator.rng().below(80);
        // Nothing but ordinary packets, of which most are short.
        let calm = mutator.rng().one_in(3).then(|| mutator.rng().below(2));
        let mut frames = Vec::new();
        for _ in 0..n {
            if !one_if {
                rx_if = 1 + mutator.rng().below(INTERFACES as usize) as u32;
            }
            if let Some(protocol) = calm {
                let all = &ordinary[rx_if as usize - 1][protocol];
                let at = mutator.rng().below(all.len());
                let long = at % 3 == 2 && !mutator.rng().one_in(100);
                frames.push((rx_if, all[if long { at - 1 } else { at }].clone()));
                continue;
            }
            let bases = &bases[rx_if as usize - 1];
            if !one_flow {
                at = mutator.rng().below(bases.len());
            }
            let mut frame = bases[at % bases.len()].clone();
            if mutator.rng().one_in(3) {
                mutator.next_frame(bases, &mut frame);
            }
            frames.push((rx_if, frame));
        }
        let when = format!("vector of {n}, {sent} frames before it");
        pair.pass(&frames, Router::take_sent, &when);
        let was = sent / CHANGE_EVERY;
        sent += n;
        if sent / CHANGE_EVERY > was {
            let line = pair.change(CHANGES);
            pair.same_counts(None, &format!("after {sent} frames and `{line}'"));
        }
    }
    // Both did what they are for.
    let [short, none] = pair.through("super-path");
    let [long, all] = pair.through("ethernet-input");
    assert_eq!((short, none, all), (sent as u64, 0, sent as u64));
    assert!(long < short * 3 / 4, "{long} of {short} packets took the graph");
    // Packets that a check accepts don't visit the node.
    for node in ["ip4-rx-urpf-strict", "ip6-rx-urpf-strict", "ip4-rx-urpf-loose"] {
        let [few, all] = pair.through(node);
        assert!(0 < few && few < all * 3 / 4, "{few} of {all} packets visited {node}");
    }
}

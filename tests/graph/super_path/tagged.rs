// SPDX-License-Identifier: Apache-2.0
//! Packets that come in or leave by sub-interfaces take the super-path, and it gives what the graph
//! gives.

use super::router::{Pair, Router};
use super::{FRAMES, INTERFACES, own_mac};
use graph::SwIfIndex;
use graph::drive::Bench;
use net::{Addresses, Neighbor, Neighbors, Path, PathKind, Source, TableIndex};
use std::net::{Ipv4Addr, Ipv6Addr};
use testkit::mutate::Mutator;
use testkit::pkt::{self, Packet};
use wire::{EtherType, Ip6, MacAddr};

const SEED: u64 = 20_261_126;
/// Frames between two changes of the configuration.
const CHANGE_EVERY: usize = 1_000;

/// Sub-interfaces that route: the number of their parent, their own number, the words that say
/// which frames they take.
const SUBS: &[(u32, u32, &str)] = &[
    (1, 7, ""),
    (1, 8, ""),
    (1, 9, "dot1ad 9 inner-dot1q 90 exact-match"),
    (1, 10, "dot1q 10 inner-dot1q 100 exact-match"),
    (2, 7, ""),
    (2, 4094, ""),
    (3, 7, ""),
    (3, 9, "dot1ad 9 exact-match"),
    // The device itself has no address.
    (4, 7, ""),
    (5, 7, ""),
];

/// Interfaces that route, by the number of their networks.
fn routers() -> impl Iterator<Item = (u32, String)> {
    let devices = [1, 2, 3, 5].map(|i| (i, format!("e{i}")));
    let subs = SUBS.iter().zip(11..).map(|((parent, id, _), net)| (net, format!("e{parent}.{id}")));
    devices.into_iter().chain(subs)
}

fn host6(net: u32) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, net as u16, 0, 0, 0, 0, 2)
}

/// Every interface has a neighbour of each protocol, and a route over it; two routes have several
/// paths.
fn configure(bench: &mut Bench) {
    let mut line =
        |line: &str| bench.cli(line).map(|_| ()).unwrap_or_else(|e| panic!("{line}: {e}"));
    line("set ip icmp error-rate 1000000 burst 65535");
    line("set ip6 icmp error-rate 1000000 burst 65535");
    line("ip table add 7");
    line("create bridge-domain 5 learn 0");
    for (parent, id, words) in SUBS {
        line(&format!("create sub-interfaces e{parent} {id} {words}"));
        line(&format!("set interface state e{parent}.{id} up"));
    }
    // Without an address; switched; not exact.
    for (words, name) in [
        ("e1 20", "e1.20"),
        ("e1 21", "e1.21"),
        ("e2 21", "e2.21"),
        ("e3 22 dot1q 22 inner-dot1q any", "e3.22"),
        ("e2 23 default", "e2.23"),
    ] {
        line(&format!("create sub-interfaces {words}"));
        line(&format!("set interface state {name} up"));
    }
    line("set interface l2 bridge e1.21 5");
    line("set interface l2 bridge e2.21 5");
    line("set interface ip table e5.7 7");
    for (net, name) in routers() {
        line(&format!("set interface ip address {name} 10.0.{net}.1/30"));
        line(&format!("set ip neighbor {name} 10.0.{net}.2 02:aa:00:00:00:{net:02x} static"));
        line(&format!("ip route add 20.{net}.0.0/16 via 10.0.{net}.2 {name}"));
    }
    line("ip route add 21.0.0.0/8 via 10.0.2.2 e2 via 10.0.11.2 e1.7 via 10.0.17.2 e3.7");
    line("ip route add 22.0.0.0/8 via 10.0.13.2 e1.9 via 10.0.15.2 e2.7");
    line("ip route add 23.0.0.0/8 via 21.0.0.1");
    line("ip route add 20.0.0.0/8 table 7 via 10.0.15.2 e2.7");
    line("ip route add 10.9.0.0/16 via 10.0.11.2 e1.7 via 10.0.2.2 e2 via 10.0.15.2 e2.7");
    line("ip route add 10.8.0.0/16 via 10.0.17.2 e3.7");
    line("set interface mtu packet 1300 e3.7");
    line("set urpf ip4 rx strict e2.7");
    line("set urpf ip6 rx loose e1.8");
    six(bench);
}

fn six(bench: &Bench) {
    let world = &bench.world;
    let mut paths = Vec::new();
    for (net, name) in routers() {
        let sw_if = world.get::<net::Interfaces>().find(&name).expect("an interface");
        let own = format!("2001:db8:{net:x}::3/127").parse().expect("a prefix");
        world.get::<Addresses<Ip6>>().add(world, sw_if, own).expect("added");
        let mac = MacAddr([2, 0xaa, 0, 0, 0, net as u8]);
        let known = Neighbor { is_static: true, ..Neighbor::new(sw_if, host6(net).into(), mac) };
        world.get::<Neighbors>().set(world, known).expect("set");
        let path = Path::new(PathKind::Neighbor { sw_if, nexthop: host6(net).into() });
        let prefix = format!("3000:{net:x}::/32").parse().expect("a prefix");
        let fib = world.get::<net::Fib<Ip6>>();
        fib.set(world, TableIndex::DEFAULT, prefix, Source::Cli, std::slice::from_ref(&path))
            .expect("set");
        paths.push(path);
    }
    let prefix = "3001::/16".parse().expect("a prefix");
    let some: Vec<_> = paths.into_iter().step_by(3).collect();
    world
        .get::<net::Fib<Ip6>>()
        .set(world, TableIndex::DEFAULT, prefix, Source::Cli, &some)
        .expect("set");
}

/// Commands, and those that take them back. Any of them may be in force together.
const CHANGES: &[[&[&str]; 2]] = &[
    [&["set interface state e1.7 down"], &["set interface state e1.7 up"]],
    [&["set interface state e3.7 down"], &["set interface state e3.7 up"]],
    [&["set interface state e1 down"], &["set interface state e1 up"]],
    [&["set interface state e2 down"], &["set interface state e2 up"]],
    [&["set interface state e4 down"], &["set interface state e4 up"]],
    [&["set ip route-counters off"], &["set ip route-counters on"]],
    // The device, and its sub-interfaces with it, forward other frames.
    [
        &["set interface mac address e1 02:fe:00:00:00:77"],
        &["set interface mac address e1 02:fe:00:00:00:01"],
    ],
    // Features of packets that leave by a sub-interface; those of its parent don't see them.
    [
        &["set interface feature e1.7 pcap-capture arc interface-output"],
        &["set interface feature e1.7 pcap-capture arc interface-output disable"],
    ],
    [
        &["set interface feature e3 pcap-capture arc interface-output"],
        &["set interface feature e3 pcap-capture arc interface-output disable"],
    ],
    [&["set urpf ip4 tx loose e2.7"], &["set urpf ip4 tx off e2.7"]],
    [&["set urpf ip6 tx loose e1.9"], &["set urpf ip6 tx off e1.9"]],
    // Features of received packets, with a check and without one.
    [&["set urpf ip4 rx strict e1.7"], &["set urpf ip4 rx off e1.7"]],
    [&["set urpf ip4 rx loose deny-default e1.9"], &["set urpf ip4 rx off e1.9"]],
    [&["set urpf ip6 rx strict e1.7"], &["set urpf ip6 rx off e1.7"]],
    [&["set urpf ip4 rx strict e1"], &["set urpf ip4 rx off e1"]],
    [
        &["set interface feature e1.8 ip4-source-and-port-range-check-rx arc ip4-unicast"],
        &["set interface feature e1.8 ip4-source-and-port-range-check-rx arc ip4-unicast disable"],
    ],
    [
        &["set interface feature e1 ip4-source-and-port-range-check-rx arc ip4-unicast"],
        &["set interface feature e1 ip4-source-and-port-range-check-rx arc ip4-unicast disable"],
    ],
    [
        &["set interface feature e1 pcap-capture arc device-input"],
        &["set interface feature e1 pcap-capture arc device-input disable"],
    ],
    [&["set interface mtu packet 600 e1.9"], &["set interface mtu packet 1500 e1.9"]],
    [&["set interface mtu packet 1000 e2"], &["set interface mtu packet 1500 e2"]],
    // A sub-interface is switched for a time, and a device that has one.
    [&["set interface l2 bridge e1.8 5"], &["set interface l3 e1.8"]],
    [&["set interface l2 bridge e5 5"], &["set interface l3 e5"]],
    [&["set interface l3 e1.21"], &["set interface l2 bridge e1.21 5"]],
    // Another one takes the frames of a VLAN.
    [&["create sub-interfaces e2 30"], &["delete sub-interface e2.30"]],
    [
        &[
            "create sub-interfaces e3 31",
            "set interface state e3.31 up",
            "enable ip4 interface e3.31",
        ],
        &["delete sub-interface e3.31"],
    ],
    [
        &["set ip neighbor e3.7 10.0.17.2 02:aa:00:00:00:44 static"],
        &["set ip neighbor e3.7 10.0.17.2 02:aa:00:00:00:11 static"],
    ],
    [&["ip path-mtu 20.17.0.1 100"], &["ip path-mtu 20.17.0.1 del"]],
    [
        &["set ip flow-hash table 0 src sport"],
        &["set ip flow-hash table 0 src dst sport dport proto"],
    ],
    [
        &["set interface ip address del e2.4094 10.0.16.1/30"],
        &[
            "set interface ip address e2.4094 10.0.16.1/30",
            "set ip neighbor e2.4094 10.0.16.2 02:aa:00:00:00:10 static",
        ],
    ],
];

fn ether(i: u32) -> Packet {
    pkt::ether(MacAddr([2, 0xaa, 0, 0, 0, i as u8]), own_mac(i))
}

/// The headers in front of packets for a device and its sub-interfaces that route, up to the tags.
fn routed(i: u32) -> Vec<Packet> {
    let subs =
        SUBS.iter().filter(|(parent, ..)| *parent == i).map(|(_, id, words)| match (*id, *words) {
            (9, words) if words.contains("inner") => ether(i).qinq(9).vlan(90).pcp(6),
            (9, _) => ether(i).qinq(9),
            (10, _) => ether(i).vlan(10).vlan(100),
            (id, _) => ether(i).vlan(id as u16).pcp(id as u8 % 8),
        });
    std::iter::once(ether(i)).chain(subs).collect()
}

/// Headers with other tags, most of which a device without sub-interfaces drops: priorities alone,
/// unknown VLANs, more tags or less than are asked for, sub-interfaces that don't route.
fn others(i: u32) -> Vec<Packet> {
    let mut all = vec![ether(i).vlan(0), ether(i).qinq(0).pcp(3), ether(i).vlan(0).vlan(7)];
    all.extend([7, 8, 10, 20, 21, 30, 31, 99].map(|id| ether(i).vlan(id)));
    all.extend([
        ether(i).qinq(9),
        ether(i).vlan(9).vlan(90),
        ether(i).qinq(10).vlan(100),
        ether(i).vlan(7).vlan(1),
    ]);
    all.extend([
        ether(i).vlan(22).vlan(5),
        ether(i).qinq(9).vlan(90).vlan(1),
        ether(i).qinq(7),
        ether(i).vlan(7).vlan(0),
    ]);
    // For another host.
    all.push(pkt::ether(MacAddr([2, 0xaa, 0, 0, 0, i as u8]), own_mac(9)).vlan(7));
    all
}

/// Packets behind these headers.
fn packets(stack: &Packet) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for from in ["10.9.9.9", "10.8.8.8"] {
        let nets = routers().map(|(net, _)| Ipv4Addr::new(20, net as u8, 0, 1));
        let to = nets
            .chain(["21.1.2.3", "21.3.2.1", "22.0.0.9", "23.0.0.9"].map(|ip| ip.parse().unwrap()));
        all.extend(to.map(|to| stack.clone().ip4(from, to).udp(1234, 4321)));
    }
    for from in ["2001:db8:b::2", "2001:db8:9999::1"] {
        let nets = routers().map(|(net, _)| Ipv6Addr::new(0x3000, net as u16, 0, 0, 0, 0, 0, 1));
        let to = nets.chain(["3001::1", "3001::2", "3001::3"].map(|ip| ip.parse().unwrap()));
        all.extend(to.map(|to| stack.clone().ip6(from, to).udp(1234, 4321)));
    }
    let lengths = |packet: Packet| {
        let long = packet.clone().payload_len(1350).build();
        [packet.clone().payload_len(40).build(), packet.pad_to(110).build(), long]
    };
    let mut all: Vec<_> = all.into_iter().flat_map(lengths).collect();
    let ip = |to: &'static str| stack.clone().ip4("10.9.9.9", to);
    all.extend([
        ip("20.17.0.1").ttl(1).udp(1, 2).build(),
        ip("99.9.9.9").udp(1, 2).build(),
        ip("10.0.11.1").icmp_echo(1, 8).build(),
        ip("10.0.11.2").udp(1, 2).build(),
        ip("20.17.0.1").options([7, 7, 4, 0, 0, 0, 0, 0]).udp(1, 2).build(),
        ip("20.17.0.1").df().icmp_echo(1, 7).payload_len(1460).build(),
        ip("20.17.0.1").icmp_echo(1, 7).payload_len(4000).build(),
        ip("20.17.0.1").bad_checksum().udp(1, 2).build(),
        ip("224.0.0.5").udp(1, 2).build(),
    ]);
    all
}

#[test]
fn same_bytes_same_counters_with_tags() {
    let mut pair = Pair::new(|super_path| Router::with(super_path, configure));
    let mut mutator = Mutator::new(SEED);
    let frames = |stacks: fn(u32) -> Vec<Packet>| -> Vec<Vec<Vec<Vec<u8>>>> {
        (1..=INTERFACES).map(|i| stacks(i).iter().map(packets).collect()).collect()
    };
    let (routed, others) = (frames(routed), frames(others));
    let mut on = vec![false; CHANGES.len()];
    let mut sent = 0;
    while sent < FRAMES {
        let n = match mutator.rng().below(4) {
            0 => 1 + mutator.rng().below(9),
            _ => 1 + mutator.rng().below(256),
        };
        // Packets of one interface mostly follow each other, and so do those of one VLAN and those
        // of one flow.
        let [change_if, change_tags, change_flow] = [(); 3].map(|()| 1 + mutator.rng().below(40));
        let (mut rx_if, mut stack, mut at) = (0, 0, 0);
        let calm = !mutator.rng().one_in(3);
        let mut frames = Vec::new();
        for i in 0..n {
            let rng = mutator.rng();
            if i == 0 || rng.one_in(change_if) {
                rx_if = rng.below(INTERFACES as usize);
            }
            if i == 0 || rng.one_in(change_tags) {
                stack = rng.below(4 * others[rx_if].len());
            }
            let bases = match others[rx_if].get(stack) {
                Some(other) => other,
                None => &routed[rx_if][stack % routed[rx_if].len()],
            };
            if i == 0 || rng.one_in(change_flow) {
                // The last ones are unusual, and one in three is too long for some links.
                at = if calm { rng.below(bases.len() - 9) } else { rng.below(bases.len()) };
                if calm && at % 3 == 2 && !rng.one_in(50) {
                    at -= 1;
                }
            }
            let mut frame = bases[at].clone();
            if !calm && rng.one_in(4) {
                mutator.next_frame(bases, &mut frame);
            }
            frames.push((rx_if as u32 + 1, frame));
        }
        let in_force = CHANGES.iter().zip(&on).filter(|(_, on)| **on).map(|(change, _)| change[0]);
        let when =
            format!("vector of {n}, {sent} frames before it, {:?}", in_force.collect::<Vec<_>>());
        pair.pass(&frames, Router::take_sent, &when);
        let was = sent / CHANGE_EVERY;
        sent += n;
        if sent / CHANGE_EVERY == was {
            continue;
        }
        pair.same_counts(None, &when);
        // Few are in force at a time, or nothing would be left to be taken.
        let in_force: Vec<_> = (0..on.len()).filter(|i| on[*i]).collect();
        let at = match in_force.get(mutator.rng().below(6)) {
            Some(at) => *at,
            None => mutator.rng().below(CHANGES.len()),
        };
        pair.run(CHANGES[at][usize::from(on[at])]);
        on[at] = !on[at];
    }
    // Both did what they are for, though a third of the frames have tags that no sub-interface that
    // routes takes.
    let [few, all] = pair.through("ethernet-input");
    assert_eq!((all, pair.through("super-path")[1]), (sent as u64, 0));
    assert!(few < all * 3 / 4, "{few} of {all} packets took the graph");
    // Packets that a check accepts don't visit the node.
    for node in ["ip4-rx-urpf-strict", "ip6-rx-urpf-loose"] {
        let [few, all] = pair.through(node);
        assert!(0 < few && few < all * 9 / 10, "{few} of {all} packets visited {node}");
    }
}

/// Frames leave by the super-path, whatever tags they come with and whatever tags they get.
#[test]
fn takes_frames_with_tags() {
    let mut router = Router::with(true, configure);
    let ins =
        [vec![], vec![(EtherType::VLAN, 8)], vec![(EtherType::QINQ, 9), (EtherType::VLAN, 90)]];
    // The interface, its number and tags.
    let outs = [("e2", 2, vec![]), ("e2.7", 15, vec![7]), ("e1.10", 14, vec![10, 100])];
    for n in [1, 7, 8, 64, 100, 256] {
        for tags in &ins {
            for (name, net, put) in &outs {
                let stack = tags.iter().fold(
                    pkt::ether("02:aa:00:00:00:01", own_mac(1)),
                    |stack, (tpid, id)| {
                        if *tpid == EtherType::QINQ { stack.qinq(*id) } else { stack.vlan(*id) }
                    },
                );
                let frames4 = |i: usize| {
                    let packet = stack.clone().ip4("10.9.9.9", Ipv4Addr::new(20, *net as u8, 0, 1));
                    packet.udp(i as u16, 7).payload_len(40).build()
                };
                let frames6 = |i: usize| {
                    let to = Ipv6Addr::new(0x3000, *net as u16, 0, 0, 0, 0, 0, 1);
                    stack.clone().ip6("2001:db8:b::2", to).udp(i as u16, 7).payload_len(40).build()
                };
                let graph = router.through("ethernet-input");
                for v6 in [false, true] {
                    let frames: Vec<_> =
                        (0..n).map(|i| (1, if v6 { frames6(i) } else { frames4(i) })).collect();
                    router.send(&frames);
                    let sent = std::mem::take(&mut *router.sent.lock().expect("no panic inside"));
                    let tx_if = router
                        .bench
                        .world
                        .get::<net::Interfaces>()
                        .find(name)
                        .expect("an interface");
                    assert_eq!(sent.len(), n, "{tags:?} to {name}");
                    for ((to, after), (_, before)) in sent.iter().zip(&frames) {
                        assert_eq!(SwIfIndex(*to), tx_if);
                        let tags_after: Vec<u8> = put
                            .iter()
                            .flat_map(|id| [[0x81, 0], u16::to_be_bytes(*id)])
                            .flatten()
                            .collect();
                        let (head, rest) = after.split_at(12);
                        assert_eq!(head[..6], [2, 0xaa, 0, 0, 0, *net as u8]);
                        assert_eq!(rest[..tags_after.len()], tags_after);
                        // All but TTL and checksum.
                        let ip = &before[14 + 4 * tags.len()..];
                        assert_eq!(rest[tags_after.len()..][2..][20..], ip[20..]);
                    }
                }
                assert_eq!(router.through("ethernet-input"), graph, "{n} with {tags:?} to {name}");
            }
        }
    }
}

/// The output of the commands about devices and their sub-interfaces.
#[test]
fn in_use_where_a_sub_interface_is_open() {
    let mut bench = Router::with(true, configure).bench;
    let mut says = |line: &str, want: &[&str]| {
        if !line.is_empty() {
            bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        let shown = bench.cli("show super-path").expect("shown");
        let shown: Vec<_> =
            shown.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for want in want {
            assert!(shown.iter().any(|line| line == want), "{line}: {want} in {shown:#?}");
        }
    };
    let closed = "ip4-unicast: ip4-not-enabled, ip6-unicast: ip6-not-enabled";
    says("", &["e1 yes", "e1.7 yes", &format!("e4 yes {closed}"), "e4.7 yes"]);
    says("", &[&format!("e1.20 no {closed}"), "e1.21 no l2-input: tagged frames"]);
    says("set interface l2 bridge e5 5", &["e5.7 no device-input: not in use on e5"]);
    says("set interface l3 e5", &["e5 yes", "e5.7 yes"]);
    says(
        "set interface feature e1.7 pcap-capture arc interface-output",
        &["e1.7 yes interface-output: pcap-capture"],
    );
    // The device's own packets keep the node there.
    says("delete sub-interface e5.7", &["e5 yes"]);
    says("delete sub-interface e4.7", &[&format!("e4 no {closed}")]);
    says("create sub-interfaces e4 7", &[&format!("e4 no {closed}")]);
    says(
        "enable ip6 interface e4.7",
        &[&format!("e4 yes {closed}"), "e4.7 yes ip4-unicast: ip4-not-enabled"],
    );
    says("delete sub-interface e4.7", &[&format!("e4 no {closed}")]);
    says(
        "set super-path off",
        &["e1 no", "e1.7 no interface-output: pcap-capture, device-input: not in use on e1"],
    );
    says("set super-path on", &["e1 yes", "e1.7 yes interface-output: pcap-capture"]);
}

// SPDX-License-Identifier: Apache-2.0
//! Packets into and out of tunnels, with the fast path and without.

use super::own_mac;
use super::router::{Packets, Pair, Router, lines};
use net::Interfaces;
use testkit::mutate::Mutator;
use testkit::pkt::{self, Packet};
use wire::MacAddr;
use wire::checksum::Sum;

const FRAMES: usize = 150_000;
const SEED: u64 = 20_261_129;
/// Frames after which both routers are changed.
const CHANGE_EVERY: usize = 5_000;

/// Tunnels to one host behind `e2`: of IP, of frames that are routed, and of frames that are
/// bridged with `e5`.
const CONFIGURATION: &[&str] = &[
    "set ip icmp error-rate 1000000 burst 65535",
    "set interface ip address e1 10.0.1.1/30",
    "set interface ip address e2 10.0.2.1/30",
    "set interface ip address e3 10.0.3.1/30",
    "set ip neighbor e1 10.0.1.2 02:aa:00:00:00:01 static",
    "set ip neighbor e2 10.0.2.2 02:aa:00:00:00:02 static",
    "set ip neighbor e3 10.0.3.2 02:aa:00:00:00:03 static",
    "ip route add 20.0.0.0/8 via 10.0.3.2 e3",
    "ip route add 10.9.0.0/16 via 10.0.1.2 e1",
    "create ipip tunnel src 10.0.2.1 dst 10.0.2.2",
    "create gre tunnel src 10.0.2.1 dst 10.0.2.2",
    "create gre tunnel src 10.0.2.1 dst 10.0.2.2 teb",
    "create vxlan tunnel src 10.0.2.1 dst 10.0.2.2 vni 13",
    "create vxlan tunnel src 10.0.2.1 dst 10.0.2.2 vni 14",
    "set interface state ipip0 up",
    "set interface state gre0 up",
    "set interface state gre1 up",
    "set interface ip address ipip0 10.40.0.1/30",
    "set interface ip address gre0 10.41.0.1/30",
    "set interface ip address gre1 10.42.0.1/30",
    "set interface ip address vxlan_tunnel0 10.43.0.1/30",
    "set ip neighbor gre1 10.42.0.2 02:aa:00:00:00:42 static",
    "set ip neighbor vxlan_tunnel0 10.43.0.2 02:aa:00:00:00:43 static",
    "ip route add 40.0.0.0/8 via ipip0",
    "ip route add 41.0.0.0/8 via gre0",
    "ip route add 42.0.0.0/8 via 10.42.0.2 gre1",
    "ip route add 43.0.0.0/8 via 10.43.0.2 vxlan_tunnel0",
    "ip route add 44.0.0.0/8 via ipip0 via 10.43.0.2 vxlan_tunnel0",
    // Over IPv6.
    "set interface ip address e2 2001:db8:2::1/126",
    "set ip neighbor e2 2001:db8:2::2 02:aa:00:00:00:02 static",
    "create ipip tunnel src 2001:db8:2::1 dst 2001:db8:2::2",
    "create vxlan tunnel src 2001:db8:2::1 dst 2001:db8:2::2 vni 15",
    "set interface state ipip1 up",
    "set interface ip address ipip1 10.45.0.1/30",
    "set interface ip address vxlan_tunnel2 10.46.0.1/30",
    "set ip neighbor vxlan_tunnel2 10.46.0.2 02:aa:00:00:00:46 static",
    "ip route add 45.0.0.0/8 via ipip1",
    "ip route add 46.0.0.0/8 via 10.46.0.2 vxlan_tunnel2",
    "set interface l2 bridge vxlan_tunnel1 5",
    "set interface l2 bridge e5 5",
];

/// Done to both, and taken back by the next one.
const CHANGES: &[[&str; 2]] = &[
    ["set interface mtu packet 600 e2", "set interface mtu packet 1500 e2"],
    ["set interface state ipip0 down", "set interface state ipip0 up"],
    ["set interface mtu packet 500 gre0", "set interface mtu packet 1400 gre0"],
    [
        "set interface feature e2 pcap-capture arc interface-output",
        "set interface feature e2 pcap-capture arc interface-output disable",
    ],
    [
        "set ip neighbor e2 10.0.2.2 02:aa:00:00:00:22 static",
        "set ip neighbor e2 10.0.2.2 02:aa:00:00:00:02 static",
    ],
    ["ip path-mtu 10.0.2.2 300", "ip path-mtu 10.0.2.2 del"],
    ["set urpf ip4 rx strict vxlan_tunnel0", "set urpf ip4 rx off vxlan_tunnel0"],
    ["set interface state e3 down", "set interface state e3 up"],
    ["set ip route-counters off", "set ip route-counters on"],
];

/// Datagrams of tunnels don't come to us by the route, but by a feature of `e2`.
const BYPASS: &[&str] = &[
    "set interface ip vxlan-bypass e2",
    "set interface ip6 vxlan-bypass e2",
    "set interface ip geneve-bypass e2",
    "create geneve tunnel local 10.0.2.1 remote 10.0.2.2 vni 16",
    "set interface l2 bridge geneve_tunnel0 6",
    "set interface l2 bridge e4 6",
    // The nodes left out change the order in which ports learn.
    "l2fib add 02:aa:00:00:00:51 5 e5 static",
    "l2fib add 02:aa:00:00:00:52 5 vxlan_tunnel1 static",
    "l2fib add 02:aa:00:00:00:53 6 geneve_tunnel0 static",
    "l2fib add 02:aa:00:00:00:54 6 e4 static",
    "set urpf ip4 rx loose e2",
];
/// The same as [`CHANGES`].
const BYPASS_CHANGES: &[[&str; 2]] = &[
    ["set interface state vxlan_tunnel1 down", "set interface state vxlan_tunnel1 up"],
    ["set interface l2 learn vxlan_tunnel1 disable", "set interface l2 learn vxlan_tunnel1"],
    ["set urpf ip4 rx strict vxlan_tunnel0", "set urpf ip4 rx off vxlan_tunnel0"],
    ["set interface l2 xconnect vxlan_tunnel1 e5", "set interface l2 bridge vxlan_tunnel1 5"],
    ["set interface ip vxlan-bypass e2 del", "set interface ip vxlan-bypass e2"],
];

/// Frames of the interfaces that they come in by.
fn bases(router: &Router) -> Packets {
    let world = &router.bench.world;
    let interfaces = world.get::<Interfaces>();
    let mac = |name: &str| {
        let sw_if = interfaces.find(name).unwrap_or_else(|why| panic!("{name}: {why}"));
        interfaces.get(sw_if).expect("there").mac
    };
    let host = |i: u8| MacAddr([2, 0xaa, 0, 0, 0, i]);
    let mut all = Vec::new();
    // Long ones have to be fragmented, or are too long.
    for len in [18, 500, 1300, 1440] {
        let end = |packet: Packet| packet.udp(1234, 4321).payload_len(len).build();
        for to in ["40", "41", "42", "43", "44", "45", "46"].map(|net| format!("{net}.1.2.3")) {
            let to = to.as_str();
            let ip = || pkt::ether(host(1), own_mac(1)).ip4("10.9.9.9", to);
            all.extend(
                [end(ip()), end(ip().df()), end(ip().ttl(1)), end(ip().ttl(2))].map(|f| (1, f)),
            );
        }
        // Out of tunnels: on to a station, to us, nowhere.
        for to in ["20.0.0.1", "10.0.3.1", "99.9.9.9", "40.0.0.1"] {
            let outer = || pkt::ether(host(2), own_mac(2)).ip4("10.0.2.2", "10.0.2.1");
            let vxlan = |vni| outer().udp(1000, 4789).vxlan(vni);
            let outer6 = || pkt::ether(host(2), own_mac(2)).ip6("2001:db8:2::2", "2001:db8:2::1");
            all.push((2, end(outer6().ip4("45.0.0.9", to))));
            let frame6 = outer6().udp(1000, 4789).vxlan(15);
            all.push((2, end(frame6.ether(host(0x46), mac("vxlan_tunnel2")).ip4("46.0.0.9", to))));
            all.push((2, end(outer().ip4("40.0.0.9", to))));
            all.push((2, end(outer().gre().ip4("41.0.0.9", to))));
            all.push((2, end(outer().gre().ether(host(0x42), mac("gre1")).ip4("42.0.0.9", to))));
            let routed = |vni| vxlan(vni).ether(host(0x43), mac("vxlan_tunnel0"));
            all.push((2, end(routed(13).ip4("43.0.0.9", to))));
            all.push((2, end(routed(13).ip4("10.9.9.9", to))));
            all.push((2, end(routed(99).ip4("43.0.0.9", to))));
            all.push((2, end(vxlan(14).ether(host(0x52), host(0x51)).ip4("1.0.0.1", to))));
            all.push((2, end(vxlan(14).ether(host(0x52), MacAddr([0xff; 6])).ip4("1.0.0.1", to))));
            let geneve = outer().udp(1000, 6081).payload([0, 0, 0x65, 0x58, 0, 0, 16, 0]);
            all.push((2, end(geneve.ether(host(0x53), host(0x54)).ip4("1.0.0.3", to))));
            all.push((5, end(pkt::ether(host(0x51), host(0x52)).ip4("1.0.0.2", to))));
            all.push((4, end(pkt::ether(host(0x54), host(0x53)).ip4("1.0.0.2", to))));
        }
    }
    all
}

/// Numbers of outer packets and of their fragments, and of our errors in tunnels, follow the order
/// in which nodes handle them, which differs, or are random.
fn without_numbers(router: &Router) -> Packets {
    /// Where IP headers stand: that of the outer packet, and those in IPIP, GRE, GRE with frames
    /// and VXLAN.
    const OVER_4: [usize; 5] = [14, 34, 38, 52, 64];
    /// The same over IPv6, in IPIP and VXLAN.
    const OVER_6: [usize; 2] = [54, 84];
    const FROM_6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let mut sent = router.take_sent();
    for (_, frame) in &mut sent {
        let (v4, v6) = (
            frame.get(26..30) == Some(&[10, 0, 2, 1]),
            frame.get(22..38) == Some(FROM_6.as_slice()),
        );
        let headers: &[usize] = match (v4, v6) {
            (true, _) => &OVER_4,
            (_, true) => &OVER_6,
            _ => continue,
        };
        if v6 && frame[20] == 44 {
            frame[58..62].fill(0);
            continue;
        }
        // Of the router's own errors, the sums aren't there any more.
        if v4 && frame[22..24] != [255, 1] {
            assert!(Sum::of(&frame[14..34]).is_valid(), "{:02x?}", &frame[..34]);
        }
        for &at in headers {
            let is_ours = at == 14 || frame.get(at + 8..at + 10) == Some(&[255, 1]);
            if is_ours && frame.get(at) == Some(&0x45) && frame.len() >= at + 20 {
                frame[at + 4..at + 6].fill(0);
                frame[at + 10..at + 12].fill(0);
                if at == 84 {
                    // The sum of the datagram that the error is in.
                    frame[60..62].fill(0);
                }
            }
        }
    }
    sent.sort_unstable();
    sent
}

#[test]
fn same_bytes_same_counters_with_tunnels() {
    same_bytes_same_counters(&[], CHANGES);
}

#[test]
fn same_bytes_same_counters_with_bypassed_tunnels() {
    let pair = same_bytes_same_counters(BYPASS, BYPASS_CHANGES);
    for node in ["ip4-vxlan-bypass", "vxlan4-input", "ip6-vxlan-bypass", "ip4-geneve-bypass"] {
        let [few, all] = pair.through(node);
        assert!(few < all * 3 / 4, "{few} of {all} packets visited {node}");
    }
}

fn same_bytes_same_counters(more: &[&str], changes: &[[&'static str; 2]]) -> Pair {
    let mut pair = Pair::new(|fast| {
        Router::with(fast, |bench| {
            lines(bench, CONFIGURATION);
            lines(bench, more);
        })
    });
    let bases = bases(&pair.with);
    let mut mutator = Mutator::new(SEED);
    let mut sent = 0;
    while sent < FRAMES {
        let most = if mutator.rng().one_in(2) { 8 } else { 256 };
        let n = 1 + mutator.rng().below(most);
        let one_flow = mutator.rng().one_in(3);
        let mut at = mutator.rng().below(bases.len());
        let mut frames = Vec::new();
        for _ in 0..n {
            if !one_flow {
                at = mutator.rng().below(bases.len());
            }
            let (rx_if, mut frame) = bases[at].clone();
            if mutator.rng().one_in(8) {
                let same_if: Vec<_> =
                    bases.iter().filter(|(i, _)| *i == rx_if).map(|(_, f)| f.clone()).collect();
                mutator.next_frame(&same_if, &mut frame);
            }
            frames.push((rx_if, frame));
        }
        let when = format!("vector of {n}, {sent} frames before it");
        pair.pass(&frames, without_numbers, &when);
        let was = sent / CHANGE_EVERY;
        sent += n;
        if sent / CHANGE_EVERY > was {
            let line = pair.change(changes);
            // Stations' times are of each router's own clock.
            let when = format!("after {sent} frames and `{line}'");
            pair.same_counts(Some("time of last use"), &when);
        }
    }
    // The fast path was taken.
    for node in ["ip4-rewrite", "ethernet-input", "l2-fwd"] {
        let [few, all] = pair.through(node);
        assert!(few < all * 3 / 4, "{few} of {all} packets visited {node}");
    }
    pair
}

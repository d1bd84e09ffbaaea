// SPDX-License-Identifier: Apache-2.0
//! Packets between bridge domains and routes, with the fast path and without: frames to a BVI are
//! routed, routed packets are switched.

use super::own_mac;
use super::router::{Packets, Pair, Router, lines};
use testkit::mutate::Mutator;
use testkit::pkt::{self, Packet};
use wire::MacAddr;

const FRAMES: usize = 150_000;
const SEED: u64 = 20_261_201;
/// Frames after which both routers are changed.
const CHANGE_EVERY: usize = 4_000;

const BVI: [MacAddr; 2] = [MacAddr([2, 0xbb, 0, 0, 0, 1]), MacAddr([2, 0xbb, 0, 0, 0, 2])];

/// Two domains: one of `e1`, `e2` and a VXLAN tunnel behind `e3`, one of `e4`; `e3` and `e5` route.
/// All hosts of the networks are known as neighbours, but not all stations to the domains.
const CONFIGURATION: &[&str] = &[
    "set ip icmp error-rate 1000000 burst 65535",
    "set ip6 icmp error-rate 1000000 burst 65535",
    "create loopback interface mac 02:bb:00:00:00:01",
    "create loopback interface mac 02:bb:00:00:00:02",
    "set interface state loop0 up",
    "set interface state loop1 up",
    "set interface ip address e3 10.0.3.1/30",
    "set interface ip address e5 10.0.5.1/30",
    "set ip neighbor e3 10.0.3.2 02:aa:00:00:00:03 static",
    "set ip neighbor e5 10.0.5.2 02:aa:00:00:00:05 static",
    "create vxlan tunnel src 10.0.3.1 dst 10.0.3.2 vni 7",
    "set interface l2 bridge e1 1",
    "set interface l2 bridge e2 1 3",
    "set interface l2 bridge vxlan_tunnel0 1",
    "set interface l2 bridge loop0 1 bvi",
    "set interface l2 bridge e4 2",
    "set interface l2 bridge loop1 2 bvi",
    "set interface ip address loop0 10.1.0.1/29",
    "set interface ip address loop1 10.2.0.1/29",
    "set interface ip address loop0 2001:db8:1::3/127",
    "set ip neighbor loop0 10.1.0.2 02:aa:00:00:01:02 static",
    "set ip neighbor loop0 10.1.0.3 02:aa:00:00:01:03 static",
    "set ip neighbor loop0 10.1.0.4 02:aa:00:00:01:04 static",
    "set ip neighbor loop0 10.1.0.5 02:aa:00:00:01:05 static",
    "set ip neighbor loop0 10.1.0.6 02:aa:00:00:01:06 static",
    "set ip neighbor loop0 2001:db8:1::2 02:aa:00:00:01:02 static",
    "set ip neighbor loop1 10.2.0.2 02:aa:00:00:02:02 static",
    "set ip neighbor loop1 10.2.0.3 02:aa:00:00:02:03 static",
    "set ip neighbor loop1 10.2.0.4 02:aa:00:00:02:04 static",
    "set ip neighbor loop1 10.2.0.5 02:aa:00:00:02:05 static",
    "set ip neighbor loop1 10.2.0.6 02:aa:00:00:02:06 static",
    // The nodes left out change the order in which ports learn.
    "l2fib add 02:aa:00:00:01:02 1 e1 static",
    "l2fib add 02:aa:00:00:01:03 1 e2 static",
    "l2fib add 02:aa:00:00:01:05 1 vxlan_tunnel0 static",
    "l2fib add 02:aa:00:00:01:06 1 filter",
    "l2fib add 02:aa:00:00:02:02 2 e4 static",
    "ip route add 20.0.0.0/8 via 10.0.5.2 e5",
    "ip route add 21.0.0.0/8 via 10.1.0.2 loop0 via 10.1.0.3 loop0 via 10.2.0.2 loop1",
    "ip route add 22.0.0.0/8 via 10.1.0.3 loop0",
    "ip route add 3000::/16 via 2001:db8:1::2 loop0",
];

/// Done to both, and taken back by the next one.
const CHANGES: &[[&str; 2]] = &[
    ["set interface state e2 down", "set interface state e2 up"],
    ["set interface l2 learn loop0 disable", "set interface l2 learn loop0"],
    ["set interface l2 learn e1 disable", "set interface l2 learn e1"],
    ["set interface l2 forward loop0 disable", "set interface l2 forward loop0"],
    ["set bridge-domain learn 1 disable", "set bridge-domain learn 1"],
    ["set bridge-domain forward 1 disable", "set bridge-domain forward 1"],
    ["set interface state loop0 down", "set interface state loop0 up"],
    ["set interface mtu packet 600 loop0", "set interface mtu packet 9000 loop0"],
    ["set interface l2 tag-rewrite e1 push dot1q 9", "set interface l2 tag-rewrite e1 disable"],
    [
        "set interface feature e2 pcap-capture arc interface-output",
        "set interface feature e2 pcap-capture arc interface-output disable",
    ],
    [
        "set interface feature loop0 pcap-capture arc interface-output",
        "set interface feature loop0 pcap-capture arc interface-output disable",
    ],
    ["set urpf ip4 rx strict loop0", "set urpf ip4 rx off loop0"],
    ["set urpf ip4 tx loose loop0", "set urpf ip4 tx off loop0"],
    ["l2fib del 02:aa:00:00:01:03 1", "l2fib add 02:aa:00:00:01:03 1 e2 static"],
    ["set interface span e1 destination e4 both", "set interface span e1 disable"],
    [
        "set interface mac address loop1 02:bb:00:00:00:77",
        "set interface mac address loop1 02:bb:00:00:00:02",
    ],
    ["set ip route-counters off", "set ip route-counters on"],
    ["set interface l3 loop1", "set interface l2 bridge loop1 2 bvi"],
];

/// Frames of the interfaces that they come in by.
fn bases() -> Packets {
    let host = |net: u8, i: u8| MacAddr([2, 0xaa, 0, 0, net, i]);
    let mut all = Vec::new();
    for len in [18, 500, 1300] {
        let end = |packet: Packet| packet.udp(1234, 4321).payload_len(len).build();
        for to in ["20.0.0.1", "21.0.0.1", "21.1.2.3", "22.0.0.1", "10.1.0.2", "10.1.0.3"]
            .into_iter()
            .chain(["10.1.0.4", "10.1.0.5", "10.1.0.6", "10.2.0.2", "10.2.0.4", "10.1.0.1"])
            .chain(["99.9.9.9", "10.0.3.2"])
        {
            let from = |mac, own, rx_if, ip: &'static str| {
                let packet = || pkt::ether(mac, own).ip4(ip, to);
                [end(packet()), end(packet().ttl(1)), end(packet().df())].map(|f| (rx_if, f))
            };
            all.extend(from(host(1, 2), BVI[0], 1, "10.1.0.2"));
            all.extend(from(host(1, 3), BVI[0], 2, "10.1.0.3"));
            all.extend(from(host(2, 2), BVI[1], 4, "10.2.0.2"));
            all.extend(from(host(0, 3), own_mac(3), 3, "10.9.9.9"));
            all.extend(from(host(0, 5), own_mac(5), 5, "20.0.0.9"));
            let vxlan = pkt::ether(host(0, 3), own_mac(3)).ip4("10.0.3.2", "10.0.3.1");
            let inner = vxlan.udp(1000, 4789).vxlan(7).ether(host(1, 5), BVI[0]);
            all.push((3, end(inner.ip4("10.1.0.5", to))));
        }
        let ip6 = |from, to| pkt::ether(from, to);
        all.push((1, end(ip6(host(1, 2), BVI[0]).ip6("2001:db8:1::2", "3000::1"))));
        all.push((5, end(ip6(host(0, 5), own_mac(5)).ip6("2001:db8:9::2", "3000::1"))));
        // Switched, tagged, to a group, to the other domain's BVI.
        let v4 = |from, to| pkt::ether(from, to).ip4("10.1.0.2", "10.1.0.3");
        all.push((1, end(v4(host(1, 2), host(1, 3)))));
        all.push((2, end(v4(host(1, 3), host(1, 2)))));
        all.push((1, end(v4(host(1, 2), host(1, 9)))));
        all.push((1, end(v4(host(1, 2), BVI[1]))));
        all.push((1, end(v4(host(1, 2), MacAddr([0xff; 6])))));
        all.push((1, end(pkt::ether(host(1, 2), BVI[0]).vlan(5).ip4("10.1.0.2", "20.0.0.1"))));
    }
    all
}

/// Numbers of outer packets of the tunnel, and of our errors inside, follow the order in which
/// nodes handle them.
fn without_numbers(router: &Router) -> Packets {
    /// Offset of the IP header in VXLAN.
    const INNER: usize = 64;
    let mut sent = router.take_sent();
    for (_, frame) in &mut sent {
        if frame.get(26..30) != Some(&[10, 0, 3, 1]) {
            continue;
        }
        let is_error = frame.get(INNER + 8..INNER + 10) == Some(&[255, 1]);
        for at in [14, INNER].into_iter().take(1 + usize::from(is_error)) {
            frame[at + 4..at + 6].fill(0);
            frame[at + 10..at + 12].fill(0);
        }
    }
    sent.sort_unstable();
    sent
}

#[test]
fn same_bytes_same_counters_with_bvis() {
    let mut pair = Pair::new(|fast| Router::with(fast, |bench| lines(bench, CONFIGURATION)));
    let bases = bases();
    let mut mutator = Mutator::new(SEED);
    let mut sent = 0;
    while sent < FRAMES {
        let most = if mutator.rng().one_in(2) { 8 } else { 256 };
        let n = 1 + mutator.rng().below(most);
        // One interface in order, one flow, or anything.
        let (one_flow, one_if) = (mutator.rng().one_in(3), mutator.rng().one_in(2));
        let first = mutator.rng().below(bases.len());
        let mut at = first;
        let mut frames = Vec::new();
        while frames.len() < n {
            if !one_flow || mutator.rng().one_in(64) {
                at = mutator.rng().below(bases.len());
            }
            let (rx_if, mut frame) = bases[at].clone();
            if one_if && rx_if != bases[first].0 {
                at = first;
                continue;
            }
            if mutator.rng().one_in(16) {
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
            let line = pair.change(CHANGES);
            // Stations' times are of each router's own clock.
            let when = format!("after {sent} frames and `{line}'");
            pair.same_counts(Some("time of last use"), &when);
        }
    }
    // Frames to the BVIs and packets from them took the fast path.
    for node in ["ethernet-input", "l2-input", "l2-fwd", "loop0-tx", "ip4-input"] {
        let [few, all] = pair.through(node);
        assert!(few < all * 3 / 4, "{few} of {all} packets visited {node}");
    }
}

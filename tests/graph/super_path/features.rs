// SPDX-License-Identifier: Apache-2.0
//! Features of received packets and of packets that leave, any of them together, with the fast path
//! and without.

use super::router::{Pair, Router, lines};
use super::{CONFIGURATION, INTERFACES, bases, ordinary, six};
use testkit::mutate::Mutator;

const FRAMES: usize = 400_000;
const SEED: u64 = 20_261_202;
/// Frames after which a feature is switched on or off.
const CHANGE_EVERY: usize = 4_000;

/// Tables and sessions of the features.
pub const TABLES: &[&str] = &[
    "set ip source-and-port-range-check vrf 9 10.9.0.0/16 range 1 - 5000",
    "svs table add ip4 table-id 70",
    "svs table add ip6 table-id 70",
    "svs route add 10.9.9.0/24 table-id 70 src-table-id 7",
    "svs route add 10.8.0.0/16 table-id 70 src-table-id 0",
    "ip6 table add 7",
    "svs route add 2001:db8:9::/48 table-id 70 src-table-id 7",
    "classify table mask l3 ip4 dst proto acl-miss-next permit",
    "classify session table-index 0 match l3 ip4 dst 20.0.0.1 proto 17 acl-hit-next deny",
    "classify session table-index 0 match l3 ip4 dst 20.1.0.1 proto 17 action set-ip4-fib-id 7",
    "classify session table-index 0 match l3 ip4 dst 22.0.0.9 proto 17 acl-hit-next permit",
    "classify table mask l2 src proto l3 ip4 ttl current-data-flag 1 current-data-offset -14 \
     acl-miss-next permit",
    "classify table mask l3 ip6 dst acl-miss-next permit",
    "classify session table-index 2 match l3 ip6 dst 3000::1 acl-hit-next deny",
    "set acl-plugin acl permit+reflect proto udp dport 0-40000, deny proto tcp dport 0-100, \
     permit, permit+reflect src ::/0 dst ::/0 proto tcp, permit src ::/0 dst ::/0",
    "set acl-plugin acl deny src 10.9.9.0/24, permit, deny src ::/0 dst ::/0 proto 17 sport 7, \
     permit src ::/0 dst ::/0",
    "set acl-plugin acl deny proto udp sport 0-2000, permit proto icmp sport 0-8",
    "set acl-plugin counters enable",
    "nat66 plugin enable",
    "nat66 add static mapping local 2001:db8:9::9 external 2001:db8:77::9",
    "nat66 add static mapping local 2001:db8:8::8 external 2001:db8:77::8",
];

/// Features, on and off. Those that stay the same beside each other.
pub const FEATURES: &[[&str; 2]] = &[
    [
        "set interface ip source-and-port-range-check e1 udp-out-vrf 9 tcp-out-vrf 9",
        "set interface ip source-and-port-range-check e1 udp-out-vrf 9 tcp-out-vrf 9 del",
    ],
    [
        "set interface ip source-and-port-range-check e3 udp-in-vrf 9",
        "set interface ip source-and-port-range-check e3 udp-in-vrf 9 del",
    ],
    [
        "set interface tcp-mss-clamp e1 ip4 enable ip4-mss 500 ip6 rx ip6-mss 600",
        "set interface tcp-mss-clamp e1 ip4 disable ip6 disable",
    ],
    [
        "set interface tcp-mss-clamp e2 ip4 tx ip4-mss 400 ip6 tx ip6-mss 400",
        "set interface tcp-mss-clamp e2 ip4 disable ip6 disable",
    ],
    ["svs enable ip4 table-id 70 e2", "svs enable disable ip4 table-id 70 e2"],
    ["svs enable ip6 table-id 70 e2", "svs enable disable ip6 table-id 70 e2"],
    [
        "set interface input acl intfc e1 ip4-table 0",
        "set interface input acl intfc e1 ip4-table 0 del",
    ],
    [
        "set interface input acl intfc e4 ip4-table 1",
        "set interface input acl intfc e4 ip4-table 1 del",
    ],
    [
        "set interface input acl intfc e1.7 ip4-table 0",
        "set interface input acl intfc e1.7 ip4-table 0 del",
    ],
    [
        "set interface output acl intfc e3 ip4-table 0",
        "set interface output acl intfc e3 ip4-table 0 del",
    ],
    [
        "set interface output acl intfc e4 ip4-table 1",
        "set interface output acl intfc e4 ip4-table 1 del",
    ],
    [
        "set interface output acl intfc e2 ip6-table 2",
        "set interface output acl intfc e2 ip6-table 2 del",
    ],
    ["set acl-plugin interface e1 input acl 0", "set acl-plugin interface e1 input acl 0 del"],
    ["set acl-plugin interface e1 output acl 2", "set acl-plugin interface e1 output acl 2 del"],
    ["set acl-plugin interface e2 input acl 1", "set acl-plugin interface e2 input acl 1 del"],
    ["set acl-plugin interface e3 output acl 0", "set acl-plugin interface e3 output acl 0 del"],
    [
        "set acl-plugin interface e3.7 output acl 1",
        "set acl-plugin interface e3.7 output acl 1 del",
    ],
    ["set interface nat66 in e1", "set interface nat66 in e1 del"],
    ["set interface nat66 out e2", "set interface nat66 out e2 del"],
    ["set interface nat66 out e3", "set interface nat66 out e3 del"],
    ["l3xc add e4 via 10.0.3.2 e3", "l3xc del e4"],
    ["set urpf ip4 tx loose e2", "set urpf ip4 tx off e2"],
    ["set urpf ip6 tx strict e3", "set urpf ip6 tx off e3"],
    ["set urpf ip4 tx strict e4", "set urpf ip4 tx off e4"],
    ["set urpf ip6 tx loose e2", "set urpf ip6 tx off e2"],
    ["set urpf ip4 rx off e1", "set urpf ip4 rx strict e1"],
    ["set interface span e2 destination e5 both", "set interface span e2 disable"],
    ["set interface span e3 destination e5 tx", "set interface span e3 disable"],
    ["set interface span e1 destination e2 tx", "set interface span e1 disable"],
    [
        "set interface feature e4 pcap-capture arc interface-output",
        "set interface feature e4 pcap-capture arc interface-output disable",
    ],
    [
        "set interface tcp-mss-clamp e1.7 ip4 rx ip4-mss 300",
        "set interface tcp-mss-clamp e1.7 ip4 disable",
    ],
    [
        "set interface tcp-mss-clamp e3.7 ip4 tx ip4-mss 300",
        "set interface tcp-mss-clamp e3.7 ip4 disable",
    ],
    ["set interface state e4 down", "set interface state e4 up"],
    ["disable ip6 interface e3", "enable ip6 interface e3"],
    ["set interface mtu packet 600 e2", "set interface mtu packet 1500 e2"],
];

#[test]
fn same_bytes_same_counters_with_features() {
    let mut pair = Pair::new(|fast| {
        Router::with(fast, |bench| {
            lines(bench, CONFIGURATION);
            six(&bench.world);
            lines(bench, TABLES);
        })
    });
    let mut mutator = Mutator::new(SEED);
    let bases: Vec<_> = (1..=INTERFACES).map(bases).collect();
    let ordinary: Vec<_> = (1..=INTERFACES).map(ordinary).collect();
    let (mut sent, mut on) = (0, vec![false; FEATURES.len()]);
    while sent < FRAMES {
        let most = if mutator.rng().one_in(3) { 7 } else { 256 };
        let n = 1 + mutator.rng().below(most);
        let (one_if, one_flow) = (mutator.rng().one_in(2), mutator.rng().one_in(4));
        let calm = mutator.rng().one_in(2).then(|| mutator.rng().below(2));
        let mut rx_if = mutator.rng().below(INTERFACES as usize);
        let mut at = mutator.rng().below(80);
        let mut frames = Vec::new();
        for _ in 0..n {
            if !one_if {
                rx_if = mutator.rng().below(INTERFACES as usize);
            }
            if !one_flow {
                at = mutator.rng().below(80);
            }
            let all = calm.map_or(&bases[rx_if], |protocol| &ordinary[rx_if][protocol]);
            let mut frame = all[at % all.len()].clone();
            if calm.is_none() && mutator.rng().one_in(4) {
                mutator.next_frame(all, &mut frame);
            }
            frames.push((rx_if as u32 + 1, frame));
        }
        let when = || {
            let on = FEATURES.iter().zip(&on).filter(|(_, on)| **on).map(|([line, _], _)| line);
            format!("vector of {n}, {sent} frames before it, {:#?}", on.collect::<Vec<_>>())
        };
        pair.pass(&frames, Router::take_sent, &when());
        let was = sent / CHANGE_EVERY;
        sent += n;
        if sent / CHANGE_EVERY > was {
            let change = mutator.rng().below(FEATURES.len());
            on[change] ^= true;
            let line = FEATURES[change][usize::from(!on[change])];
            pair.run(&[line]);
            pair.same_counts(None, &format!("after {sent} frames and `{line}'"));
        }
    }
    // Nodes that the fast path spares packets, whatever features they pass.
    for node in [
        "ethernet-input",
        "ip4-input",
        "ip4-lookup",
        "ip4-rewrite",
        "ip6-rewrite",
        "acl-plugin-in-ip4-fa",
    ] {
        let [few, all] = pair.through(node);
        assert!(few < all * 3 / 4, "{few} of {all} packets visited {node}");
    }
    // Denied packets, and those that make sessions, visit the nodes of features. The last two
    // groups have neighbours on the arc that have no stage.
    for (nodes, tenths) in [
        (&["acl-plugin-out-ip4-fa"][..], 9),
        (&["tcp-mss-clamping-ip4-out", "tcp-mss-clamping-ip6-out"], 9),
        (
            &["ip4-tx-urpf-loose", "ip4-tx-urpf-strict", "ip6-tx-urpf-loose", "ip6-tx-urpf-strict"],
            10,
        ),
        (&["span-output"], 10),
    ] {
        let visits = nodes.iter().map(|node| pair.through(node));
        let [few, all] = visits.fold([0; 2], |[a, b], [few, all]| [a + few, b + all]);
        assert!(few < all * tenths / 10, "{few} of {all} packets visited {nodes:?}");
    }
    for node in ["super-path-ip4-passed", "super-path-ip6-passed", "tcp-mss-clamping-ip4-in"] {
        let [with, _] = pair.through(node);
        assert!(with > 0, "no packet visited {node}");
    }
}

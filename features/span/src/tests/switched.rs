// SPDX-License-Identifier: Apache-2.0
//! Copies at layer 2.

use super::*;

/// Sub-interface p0.100 and p1 are connected with each other, and p2 is alone in domain 55.
fn crossed(ports: usize) -> Rig {
    let mut rig = rig(ports);
    sub(&mut rig, "p0 100");
    rig.cli("set interface l2 xconnect p0.100 p1");
    rig.cli("set interface l2 xconnect p1 p0.100");
    rig.cli("set interface l2 bridge p2 55");
    rig
}

#[suite::test]
fn received_and_sent_frames_are_copied_to_a_switched_interface() {
    let mut rig = crossed(3);
    for (word, received, sent) in [("rx", true, false), ("tx", false, true), ("both", true, true)] {
        rig.cli(&format!("set interface span p0.100 l2 destination p2 {word}"));
        for (n, len) in [14, 255, 257, 1514, 5000].into_iter().enumerate() {
            let frame = tagged(&[(Q, 100)], &frame(len, n as u8));
            let ports = |other, copied| if copied { vec![other, 2] } else { vec![other] };
            assert_eq!(
                rig.pass(0, &frame),
                at(&ports(1, received), &frame),
                "{word}: {len} bytes received"
            );
            assert_eq!(
                rig.pass(1, &frame),
                at(&ports(0, sent), &frame),
                "{word}: {len} bytes sent"
            );
        }
    }
    assert_eq!((mirrored(&rig, "span-l2-input"), mirrored(&rig, "span-l2-output")), (10, 10));
    // The frames of the device itself are others.
    let untagged = frame(100, 0);
    rig.cli("set interface l2 xconnect p0 p1");
    assert_eq!(rig.pass(0, &untagged), at(&[1], &untagged));
    rig.cli("set interface span p0.100 disable l2");
    let frame = tagged(&[(Q, 100)], &frame(100, 0));
    assert_eq!((rig.pass(0, &frame), rig.pass(1, &frame)), (at(&[1], &frame), at(&[0], &frame)));
}

#[suite::test]
fn many_destinations_take_no_more_buffers_than_there_are() {
    let mut rig = crossed(102);
    let frames: Vec<_> = (0..200).map(|n| tagged(&[(Q, 100)], &frame(300, n))).collect();
    assert!(rig.world().pool.limit() < frames.len() * 100);
    for port in 2..102 {
        rig.cli(&format!("set interface l2 bridge p{port} 55"));
        rig.cli(&format!("set interface span p0.100 l2 destination p{port} both"));
    }
    let ports: Vec<_> = (2..102).collect();
    for (from, to, node) in [(0, 1, "span-l2-input"), (1, 0, "span-l2-output")] {
        let mut want: Vec<_> =
            frames.iter().flat_map(|f| [at(&[to], f), at(&ports, f)].concat()).collect();
        want.sort();
        assert!(rig.pass_all(from, &frames) == want, "{node}");
        assert_eq!(
            (rig.count(node, "no_buffer"), rig.count(node, "again") > 0),
            (0, true),
            "{node}"
        );
    }
}

/// Received frames are copied as they came in, sent ones as they leave. The destination rewrites
/// tags of both.
#[suite::test]
fn tags_are_rewritten_for_the_port_and_for_the_destination() {
    let mut rig = crossed(3);
    sub(&mut rig, "p2 300");
    sub(&mut rig, "p2 33 dot1ad 400 inner-dot1q 500 exact-match");
    for (sub, count) in [("p2.300", 1), ("p2.33", 2)] {
        rig.cli(&format!("set interface l2 bridge {sub} 7"));
        rig.cli(&format!("set interface l2 tag-rewrite {sub} pop {count}"));
        rig.cli(&format!("set interface span p0.100 l2 destination {sub}"));
    }
    rig.cli("set interface l2 tag-rewrite p0.100 pop 1");
    let plain = frame(500, 4);
    let own = tagged(&[(Q, 100)], &plain);
    let copies = [tagged(&[(Q, 300)], &own), tagged(&[(AD, 400), (Q, 500)], &own)];
    let mut want = [at(&[1], &plain), at(&[2], &copies[0]), at(&[2], &copies[1])].concat();
    want.sort();
    assert_eq!(rig.pass(0, &own), want);
    let mut want = [at(&[0], &own), at(&[2], &copies[0]), at(&[2], &copies[1])].concat();
    want.sort();
    assert_eq!(rig.pass(1, &plain), want);
}

/// Received frames are copied whether they are forwarded or not; sent ones only if the EFP filter
/// lets them leave.
#[suite::test]
fn frames_are_copied_in_front_of_the_input_features_and_behind_the_filter() {
    let mut rig = crossed(3);
    rig.cli("set interface l2 efp-filter p0.100");
    rig.cli("set interface span p0.100 l2 destination p2");
    let (own, other) = (tagged(&[(Q, 100)], &frame(60, 4)), tagged(&[(Q, 101)], &frame(60, 5)));
    assert_eq!(rig.pass(1, &own), at(&[0, 2], &own));
    assert_eq!(rig.pass(1, &other), []);
    assert_eq!(rig.bench.count("l2-efp-filter", "L2 EFP filter post-rewrite drops"), 1);
    rig.cli("set interface l2 bridge p0.100 8");
    assert_eq!(rig.pass(0, &own), at(&[2], &own), "there is no other member");
}

#[suite::test]
fn each_port_that_a_flood_leaves_by_is_mirrored() {
    let mut rig = rig(5);
    for port in ["p0", "p1", "p2"] {
        rig.cli(&format!("set interface l2 bridge {port} 1"));
        rig.cli(&format!("set interface span {port} l2 destination p3"));
    }
    rig.cli("set interface l2 bridge p3 2");
    rig.cli("set interface l2 bridge p4 2");
    let mut frame = frame(700, 0);
    frame[0] = 0xff;
    assert_eq!(rig.pass(0, &frame), at(&[1, 2, 3, 3, 3], &frame));
    assert_eq!((mirrored(&rig, "span-l2-input"), mirrored(&rig, "span-l2-output")), (1, 2));
    // Copies aren't learned from, and don't reach other members.
    assert!(!rig.cli("show l2fib bd_id 2").contains("02:aa"));
}

#[suite::test]
fn copies_are_not_copied_again_and_keep_their_split_horizon_group() {
    let mut rig = crossed(4);
    rig.cli("set interface l2 bridge p3 55");
    for line in ["p1 l2 destination p2", "p2 l2 destination p3", "p2 destination p3"] {
        rig.cli(&format!("set interface span {line}"));
    }
    let frame = tagged(&[(Q, 100)], &frame(100, 0));
    assert_eq!(rig.pass(0, &frame), at(&[1, 2], &frame));
    for port in ["p1 9 5", "p2 55 5"] {
        rig.cli(&format!("set interface l2 bridge {port}"));
    }
    rig.cli("set interface l2 bridge p0 9");
    assert_eq!(rig.pass(1, &frame), at(&[0], &frame));
    assert_eq!(rig.bench.count("l2-output", "L2 split horizon drops"), 1);
    rig.cli("set interface l2 bridge p2 55 6");
    assert_eq!(rig.pass(1, &frame), at(&[0, 2], &frame));
}

#[suite::test]
fn feature_bitmaps_have_the_bits_of_mirroring() {
    let mut rig = crossed(3);
    let world = rig.world();
    let (bridge, port) = (world.get::<l2::Bridge>(), rig.ports[1]);
    let bits = || {
        bridge
            .bitmaps(&world, port)
            .map(|(input, output)| (input.bits(), output))
            .expect("switched")
    };
    for (word, want) in
        [("rx", (1 << 19 | 2, 1)), ("tx", (2, 3)), ("both", (1 << 19 | 2, 3)), ("disable", (2, 1))]
    {
        rig.cli(&format!("set interface span p1 l2 destination p2 {word}"));
        assert_eq!(bits(), want, "{word}");
    }
}

/// Settings hold in every interface mode, and copies need a switched destination.
#[suite::test]
fn mirroring_outlives_the_mode_of_both_ends() {
    let mut rig = crossed(3);
    rig.cli("set interface l3 p2");
    rig.cli("set interface span p0.100 l2 destination p2");
    let frame = tagged(&[(Q, 100)], &frame(100, 0));
    assert_eq!(rig.pass(0, &frame), at(&[1], &frame));
    assert_eq!(
        rig.bench.count("l2-output-bad-intf", "L2 output to interface not in L2 mode or deleted"),
        1
    );
    rig.cli("set interface l2 xconnect p2 p1");
    assert_eq!(rig.pass(0, &frame), at(&[1, 2], &frame));
    rig.cli("set interface l3 p0.100");
    assert_eq!(rig.pass(0, &frame), []);
    rig.cli("set interface l2 xconnect p0.100 p1");
    assert_eq!(rig.pass(0, &frame), at(&[1, 2], &frame));
}

/// Mirrors that come and go.
const CHANGES: [&str; 14] = [
    "set interface span p0 l2 destination p4 rx",
    "set interface span p0 l2 destination p5 both",
    "set interface span p0 disable l2",
    "set interface span p1 l2 destination p4 tx",
    "set interface span p1 disable l2",
    "set interface span p2 l2 destination p0 both",
    "set interface span p2 disable l2",
    "set interface span p2 destination p5 both",
    "set interface span p2 disable",
    "set interface span p7 destination p4 tx",
    "set interface span p6 l2 destination p4 both",
    "set interface span p6 disable l2",
    "set interface state p5 down",
    "set interface state p5 up",
];

/// Frames of bridged and cross-connected ports, some of one split-horizon group with the
/// destination.
#[suite::test]
fn the_super_path_copies_what_the_nodes_copy() {
    let mut rigs = ["on", "off"].map(|state| {
        let mut rig = rig(8);
        for line in ["p0 1", "p1 1 2", "p2 1", "p3 1 2", "p4 7 2", "p5 7"] {
            rig.cli(&format!("set interface l2 bridge {line}"));
        }
        rig.cli("set interface l2 xconnect p6 p7");
        rig.cli("set interface l2 xconnect p7 p6");
        rig.cli(&format!("set super-path {state}"));
        rig
    });
    let mut rng = testkit::Rng::new(20_261_130);
    for round in 0..2_000 {
        if rng.one_in(8) {
            let line = rng.pick(&CHANGES);
            rigs.iter_mut().for_each(|rig| drop(rig.cli(line)));
        }
        let port = *rng.pick(&[0, 1, 2, 3, 6, 7]);
        let most = if rng.one_in(2) { 7 } else { 200 };
        let frames: Vec<_> = (0..1 + rng.below(most))
            .map(|n| {
                let mut frame = frame(20 + rng.below(300), n as u8);
                frame[5] = rng.below(4) as u8 * 8;
                frame[11] = port as u8 * 8;
                frame
            })
            .collect();
        let [fast, graph] = rigs.each_mut().map(|rig| rig.pass_all(port, &frames));
        assert!(fast == graph, "round {round}: {} frames of p{port}", frames.len());
    }
    for node in ["span-l2-input", "span-l2-output", "span-output"] {
        let [fast, graph] = rigs.each_ref().map(|rig| {
            let visits = rig.world().stats.simple(graph::counters::VECTORS);
            (mirrored(rig, node), visits.sum(rig.world().node(node).expect("a node").at()))
        });
        assert_eq!(fast.0, graph.0, "{node}");
        assert!(graph.0 > 1_000 && fast.1 < graph.1 / 2, "{node}: {fast:?} {graph:?}");
    }
}

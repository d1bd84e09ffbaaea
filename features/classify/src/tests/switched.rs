// SPDX-License-Identifier: Apache-2.0
//! ACLs and classification of switched frames.

use super::*;
use l2::Features;
use net::drive::at;

fn host(n: u8) -> MacAddr {
    MacAddr([2, 0xbb, 0, 0, 0, n])
}

/// A frame from one host to another, with an Ethernet type and bytes that differ with `n`.
fn frame(from: u8, to: u8, kind: u16, n: u8) -> Vec<u8> {
    let header = [host(to).octets(), host(from).octets()].concat();
    header
        .into_iter()
        .chain(kind.to_be_bytes())
        .chain((0..60).map(|i: u8| i.wrapping_mul(7) ^ n))
        .collect()
}

/// Ports that are members of domain 1, with host N behind port N.
fn bridged(ports: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, ports);
    for i in 0..ports {
        rig.cli(&format!("set interface l2 bridge p{i} 1"));
    }
    for i in 0..ports {
        rig.pass(i, &frame(i as u8, 99, 0x88b5, 0));
    }
    rig
}

#[suite::test]
fn acls_let_frames_pass_or_drop_them() {
    for direction in ["input", "output"] {
        let mut rig = bridged(3);
        let (port, node) =
            (if direction == "input" { "p0" } else { "p1" }, format!("l2-{direction}-acl"));
        rig.cli("classify table mask l2 src acl-miss-next deny");
        rig.cli(&format!("classify session table-index 0 match l2 src {}", host(0)));
        rig.cli(&format!("set interface {direction} acl intfc {port} l2-table 0"));
        let counts = |rig: &Rig| {
            let names = ["hits", "misses", "session deny drops", "table-miss drops"];
            names.map(|name| rig.count(&node, &format!("{direction} ACL {name}")))
        };
        assert_eq!(rig.pass(0, &frame(0, 1, 0x88b5, 1)), at(&[1], &frame(0, 1, 0x88b5, 1)));
        assert_eq!(counts(&rig), [1, 0, 0, 0]);
        assert_eq!(rig.pass(0, &frame(7, 1, 0x88b5, 2)), [], "no session");
        rig.cli(&format!(
            "classify session table-index 0 match l2 src {} acl-hit-next deny",
            host(8)
        ));
        assert_eq!(rig.pass(0, &frame(8, 1, 0x88b5, 2)), []);
        assert_eq!(counts(&rig), [2, 1, 1, 1]);
        assert_eq!(rig.count(&node, &format!("valid {direction} ACL packets")), 3);
        // Other ports have none; floods pass an output ACL at its port.
        let others = if direction == "input" { vec![0, 1] } else { vec![0] };
        assert_eq!(rig.pass(2, &frame(7, 99, 0x88b5, 3)), at(&others, &frame(7, 99, 0x88b5, 3)));
        // The source of a frame that is denied on input isn't learned.
        let fib = rig.cli("show l2fib all");
        let learned = fib.contains(&host(8).to_string());
        assert_eq!(learned, direction == "output", "{fib}");
        rig.cli(&format!("set interface {direction} acl intfc {port} l2-table 0 del"));
        assert_eq!(rig.pass(0, &frame(8, 1, 0x88b5, 4)), at(&[1], &frame(8, 1, 0x88b5, 4)));
    }
}

/// A client switches the ACL of a port by its bit; its table stays.
#[suite::test]
fn clients_switch_acls_by_their_bits() {
    for (direction, port, bits) in
        [("input", 0, (Features::ACL, 0)), ("output", 1, (Features::empty(), 1 << 4))]
    {
        let mut rig = bridged(2);
        let (world, sw_if, other) = (rig.world(), rig.ports[port], rig.ports[1 - port]);
        let bridge = world.get::<l2::Bridge>();
        let bitmaps = || bridge.bitmaps(&world, sw_if).expect("bridged");
        let without = bitmaps();
        rig.cli("classify table mask l2 src acl-miss-next deny");
        rig.cli(&format!("set interface {direction} acl intfc p{port} l2-table 0"));
        let with = bitmaps();
        assert_eq!(with, (without.0 | bits.0, without.1 | bits.1));
        let (there, back) = (frame(0, 1, 0x88b5, 1), frame(1, 0, 0x88b5, 1));
        assert_eq!(rig.pass(0, &there), []);
        bridge.set_bitmaps(&world, sw_if, bits, false).expect("switched");
        assert_eq!((bitmaps(), rig.pass(0, &there)), (without, at(&[1], &there)));
        bridge.set_bitmaps(&world, sw_if, bits, true).expect("switched");
        assert_eq!((bitmaps(), rig.pass(0, &there)), (with, vec![]));
        // Without a table, frames go on.
        bridge.set_bitmaps(&world, other, bits, true).expect("switched");
        assert_eq!(rig.pass(1, &back), at(&[0], &back));
        for unknown in [
            (Features::from_bits_retain(1 << 15), 0),
            (Features::empty(), 1 << 12),
            (Features::VTR, 0),
        ] {
            let refused = bridge.set_bitmaps(&world, sw_if, unknown, true).expect_err("no feature");
            assert_eq!(refused.code(), -9, "{refused}");
        }
        assert_eq!(bitmaps(), with);
    }
}

/// IPv4, IPv6 and all other frames have tables of their own, and a frame without a table goes on.
#[suite::test]
fn classification_knows_what_frames_carry() {
    for direction in ["input", "output"] {
        let mut rig = bridged(2);
        let (port, node) =
            (if direction == "input" { "p0" } else { "p1" }, format!("l2-{direction}-classify"));
        for (table, kind) in ["0800", "86dd", "88b5"].into_iter().enumerate() {
            rig.cli(&format!(
                "classify table mask hex {}ff l2-{direction}-miss-next drop",
                "00".repeat(14)
            ));
            // The first byte behind the header: that of `frame(…, 1)`.
            rig.cli(&format!(
                "classify session table-index {table} match hex {}01",
                "00".repeat(14)
            ));
            assert!(kind.len() == 4);
        }
        let set = format!("set interface l2 {direction} classify intfc {port}");
        rig.cli(&format!("{set} ip4-table 0 ip6-table 1"));
        let mut passes =
            |kind, n| rig.pass(0, &frame(0, 1, kind, n)) == at(&[1], &frame(0, 1, kind, n));
        for (kind, n, want) in [
            (0x0800, 1, true),
            (0x0800, 2, false),
            (0x86dd, 1, true),
            (0x86dd, 2, false),
            (0x88b5, 1, true),
            (0x88b5, 2, true),
        ] {
            assert_eq!(passes(kind, n), want, "{direction} {kind:x} {n}");
        }
        assert_eq!((hits(&rig, 0, 0), hits(&rig, 1, 0), hits(&rig, 2, 0)), (1, 1, 0));
        rig.cli(&format!("{set} other-table 2"));
        let mut passes = |kind, n| rig.pass(0, &frame(0, 1, kind, n)).len() == 1;
        assert_eq!([passes(0x0800, 2), passes(0x88b5, 1), passes(0x88b5, 2)], [true, true, false]);
        assert_eq!(rig.count(&node, "L2 Classify Drops"), 3);
        assert_eq!(
            (rig.count(&node, "Classify hits"), rig.count(&node, "Classify misses")),
            (3, 3)
        );
        rig.cli(&set);
        assert_eq!(rig.pass(0, &frame(0, 1, 0x88b5, 2)).len(), 1);
    }
}

/// Classification comes before the ACL, both before rewriting of received tags and behind that of
/// sent ones.
#[suite::test]
fn features_run_in_the_order_of_their_bits() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.cli("create sub-interfaces p0 5");
    rig.cli("set interface state p0.5 up");
    for port in ["p0.5", "p1"] {
        rig.cli(&format!("set interface l2 bridge {port} 1"));
    }
    rig.cli("set interface l2 tag-rewrite p0.5 pop 1");
    rig.cli("classify table mask l2 tag1 src acl-miss-next deny");
    rig.cli("classify table mask l2 proto src acl-miss-next deny");
    rig.cli("classify table mask l2 dst");
    for (port, table) in [("p0.5", 0), ("p1", 1)] {
        for direction in ["input", "output"] {
            rig.cli(&format!("set interface {direction} acl intfc {port} l2-table {table}"));
            rig.cli(&format!("set interface l2 {direction} classify intfc {port} other-table 2"));
        }
    }
    for n in 0..2 {
        rig.cli(&format!("classify session table-index 0 match l2 tag1 5 src {}", host(n)));
        rig.cli(&format!("classify session table-index 1 match l2 proto 0x88b5 src {}", host(n)));
    }
    let plain = |from, to, n| frame(from, to, 0x88b5, n);
    let tagged = |from, to, n| {
        let plain = plain(from, to, n);
        [&plain[..12], &[0x81, 0, 0, 5], &plain[12..]].concat()
    };
    assert_eq!(rig.pass(0, &tagged(0, 1, 1)), at(&[1], &plain(0, 1, 1)));
    assert_eq!(rig.pass(1, &plain(1, 0, 2)), at(&[0], &tagged(1, 0, 2)));
    let misses = |rig: &Rig, node| rig.count(node, "Classify misses");
    assert_eq!((misses(&rig, "l2-input-classify"), misses(&rig, "l2-output-classify")), (2, 2));
    // A source that the ACLs don't know: the frame was classified before.
    assert_eq!(rig.pass(0, &tagged(7, 1, 3)), []);
    assert_eq!((misses(&rig, "l2-input-classify"), misses(&rig, "l2-output-classify")), (3, 2));
    rig.cli("set interface input acl intfc p0.5 l2-table 0 del");
    assert_eq!(rig.pass(0, &tagged(7, 1, 3)), []);
    assert_eq!((misses(&rig, "l2-input-classify"), misses(&rig, "l2-output-classify")), (4, 3));
    assert_eq!(rig.count("l2-output-acl", "output ACL table-miss drops"), 1);
    // The EFP filter stands between them: it drops what the sub-interface wouldn't receive.
    rig.cli("set interface l2 efp-filter p0.5");
    assert_eq!(rig.pass(1, &plain(1, 0, 4)), at(&[0], &tagged(1, 0, 4)));
    assert_eq!(rig.count("l2-efp-filter", "L2 EFP filter packets"), 1);
}

/// Numbers of next nodes are VPP's; those of nodes that a frame has passed, or that aren't built,
/// drop.
#[suite::test]
fn sessions_send_frames_to_numbered_nodes() {
    let mut rig = bridged(3);
    rig.cli("classify table mask l2 src");
    rig.cli("set interface input acl intfc p0 l2-table 0");
    rig.cli("set interface l2 input classify intfc p1 other-table 0");
    let set = |rig: &mut Rig, number: u16| {
        rig.cli(&format!(
            "classify session table-index 0 match l2 src {} acl-hit-next {number}",
            host(0)
        ));
    };
    let unicast = frame(0, 2, 0x88b5, 1);
    // l2-flood; l2-fwd; feature-bitmap-drop; l2-rw (isn't built); l2-input-acl and
    // l2-input-classify (have seen it).
    for (number, ports) in
        [(3, vec![1, 2]), (6, vec![2]), (1, vec![]), (7, vec![]), (11, vec![]), (15, vec![])]
    {
        set(&mut rig, number);
        assert_eq!(rig.pass(0, &unicast), at(&ports, &unicast), "{number}");
    }
    assert_eq!(rig.count("l2-input-acl", "absent"), 3);
    assert_eq!(rig.count("feature-bitmap-drop", "L2 feature forwarding disabled"), 1);
    // Classification has three more in front: to the routed interface's nodes, behind the header.
    rig.cli(&format!(
        "classify session table-index 0 match l2 src {} l2-input-hit-next ip4 advance 14",
        host(1)
    ));
    rig.pass(1, &frame(1, 2, 0x88b5, 1));
    assert!(rig.bench.drops() > 0);
    rig.cli(&format!(
        "classify session table-index 0 match l2 src {} l2-input-hit-next 1",
        host(1)
    ));
    assert_eq!(
        (rig.pass(1, &frame(1, 2, 0x88b5, 1)), rig.count("l2-input-classify", "absent")),
        (vec![], 1)
    );
    rig.cli(&format!(
        "classify session table-index 0 match l2 src {} l2-input-hit-next 9",
        host(1)
    ));
    assert_eq!(rig.pass(1, &frame(1, 2, 0x88b5, 1)), at(&[2], &frame(1, 2, 0x88b5, 1)), "l2-fwd");
}

/// Cross-connects pass the same features, and short frames change nothing.
#[suite::test]
fn cross_connects_and_short_frames() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.cli("set interface l2 xconnect p0 p1");
    rig.cli("set interface l2 xconnect p1 p0");
    rig.cli("classify table mask l2 src acl-miss-next deny");
    rig.cli(&format!("classify session table-index 0 match l2 src {}", host(0)));
    rig.cli("set interface input acl intfc p0 l2-table 0");
    rig.cli("set interface output acl intfc p1 l2-table 0");
    rig.cli("set interface l2 input classify intfc p0 other-table 0");
    rig.cli("set interface l2 output classify intfc p1 other-table 0");
    assert_eq!(rig.pass(0, &frame(0, 1, 0x88b5, 1)), at(&[1], &frame(0, 1, 0x88b5, 1)));
    assert_eq!(rig.pass(0, &frame(1, 1, 0x88b5, 1)), []);
    assert_eq!(rig.pass(0, &frame(0, 1, 0x88b5, 1)[..14]), at(&[1], &frame(0, 1, 0x88b5, 1)[..14]));
    rig.cli("set interface l3 p0");
    rig.cli("set interface l3 p1");
    rig.cli("set interface l2 xconnect p0 p1");
    assert_eq!(rig.pass(0, &frame(1, 1, 0x88b5, 1)), [], "the ACL outlives the mode");
}

/// Clients read the bits of features.
#[suite::test]
fn feature_bitmaps_have_the_bits() {
    let mut rig = bridged(1);
    rig.cli("classify table mask l2 src");
    let world = rig.world();
    let bits =
        |rig: &Rig| world.get::<l2::Bridge>().bitmaps(&world, rig.ports[0]).expect("bridged");
    let before = bits(&rig);
    rig.cli("set interface input acl intfc p0 l2-table 0");
    rig.cli("set interface output acl intfc p0 l2-table 0");
    rig.cli("set interface l2 input classify intfc p0 other-table 0");
    rig.cli("set interface l2 output classify intfc p0 other-table 0");
    let (input, output) = bits(&rig);
    assert_eq!(
        ((input ^ before.0).bits(), output ^ before.1),
        (1 << 14 | 1 << 18, 1 << 4 | 1 << 10)
    );
}

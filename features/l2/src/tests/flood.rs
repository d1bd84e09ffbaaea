// SPDX-License-Identifier: Apache-2.0
//! Floods: groups, unknown unicast, split-horizon groups.

use super::*;
use testkit::pkt;
use wire::offload::{Csum, Offload};

const GROUP: MacAddr = MacAddr([1, 0, 0x5e, 1, 2, 3]);

/// Long frames share the part behind their head; the bytes of each copy are the whole frame's.
#[suite::test]
fn each_copy_of_a_group_frame_has_all_bytes() {
    let mut rig = bridged(5);
    for dst in [MacAddr::BROADCAST, GROUP] {
        for len in [14, 60, 255, 256, 257, 1514, 5000, 9018] {
            let mut frame = frame_to(host(1), dst, 3);
            frame.resize_with(len.max(14), Default::default);
            for (i, byte) in frame.iter_mut().enumerate().skip(14) {
                *byte = (i * 31 % 251) as u8;
            }
            assert_eq!(rig.pass(1, &frame), at(&[0, 2, 3, 4], &frame), "{len} bytes");
        }
    }
    assert_eq!(rig.bench.drops(), 0);
}

/// A sender on this host may leave the checksum to the device. The copies share the bytes behind
/// their head, so it is finished before.
#[suite::test]
fn copies_of_a_frame_with_a_partial_checksum_have_the_right_one() {
    let mut rig = bridged(4);
    let ether = pkt::ether(host(1), MacAddr::BROADCAST);
    let want = ether.ip4("10.0.0.1", "10.0.0.255").udp(1, 2).payload_len(1000).build();
    assert_eq!(wire::l4::verify(&want[14..]), Ok(wire::l4::Verdict::Valid));
    let mut frame = want.clone();
    let (start, offset) = wire::l4::set_partial(&mut frame[14..]).expect("UDP");
    assert_ne!(frame, want);
    let csum = Csum::Partial { start: 14 + start as u16, offset: offset as u16 };
    let rx_if = rig.ports[1].0;
    rig.bench.send("ethernet-input", &frame, |b| {
        b.rx_if = rx_if;
        driver::note(b, Offload { csum, gso: None });
    });
    rig.bench.settle();
    assert_eq!(rig.sent(), at(&[0, 2, 3], &want));
}

/// A vector of broadcasts to many ports makes more copies than are made at once. None is lost as
/// long as there are buffers.
#[suite::test]
fn many_copies_are_made_in_portions() {
    let mut rig = bridged(30);
    let frames: Vec<_> = (0..60).map(|n| frame_to(host(1), MacAddr::BROADCAST, n)).collect();
    rig.receive_all(0, &frames);
    let others: Vec<usize> = (1..30).collect();
    let mut want: Vec<_> = frames.iter().flat_map(|frame| at(&others, frame)).collect();
    want.sort();
    assert_eq!(rig.sent(), want);
    assert!(rig.count("l2-flood", "again") > 0, "the test reaches the limit");
    assert_eq!(rig.count("l2-flood", "L2 replication failures"), 0);
}

#[suite::test]
fn a_split_horizon_group_keeps_frames_apart() {
    let mut rig = rig(4);
    rig.cli("create bridge-domain 1");
    for (port, shg) in [(0, " 5"), (1, " 5"), (2, " 6"), (3, "")] {
        rig.cli(&format!("set interface l2 bridge p{port} 1{shg}"));
    }
    let group = frame_to(host(1), GROUP, 0);
    assert_eq!(rig.pass(0, &group), at(&[2, 3], &group));
    assert_eq!(rig.pass(3, &group), at(&[0, 1, 2], &group), "group 0 is none");
    rig.pass(1, &frame(2, 99, 0));
    assert_eq!(rig.pass(0, &frame(3, 2, 0)), [], "known, but in the same group");
    assert_eq!(rig.count("l2-output", "L2 split horizon drops"), 1);
    let to = frame(4, 2, 1);
    assert_eq!(rig.pass(2, &to), at(&[1], &to));
}

#[suite::test]
fn unknown_unicast_is_dropped_where_it_is_not_flooded() {
    let mut rig = bridged(2);
    rig.cli("set bridge-domain uu-flood 1 disable");
    assert_eq!(rig.pass(0, &frame(1, 2, 0)), []);
    assert_eq!(rig.count("l2-fwd", "L2 forward misses"), 1);
    let group = frame_to(host(1), GROUP, 0);
    assert_eq!(rig.pass(0, &group), at(&[1], &group), "groups are flooded");
    let known = frame(2, 1, 0);
    assert_eq!(rig.pass(1, &known), at(&[0], &known));
}

#[suite::test]
fn groups_are_dropped_where_they_are_not_flooded() {
    let mut rig = bridged(2);
    rig.cli("set bridge-domain flood 1 disable");
    assert_eq!(rig.pass(0, &frame_to(host(1), GROUP, 0)), []);
    assert_eq!(rig.count("feature-bitmap-drop", "L2 feature forwarding disabled"), 1);
    let unknown = frame(1, 2, 0);
    assert_eq!(rig.pass(0, &unknown), at(&[1], &unknown));
    rig.cli("set bridge-domain flood 1");
    rig.cli("set interface l2 flood p0 disable");
    assert_eq!(rig.pass(0, &frame_to(host(1), GROUP, 0)), []);
    rig.cli("set interface l2 uu-flood p0 disable");
    assert_eq!(rig.pass(0, &frame(1, 2, 0)), []);
}

#[suite::test]
fn unknown_unicast_goes_to_its_port_alone() {
    let mut rig = bridged(4);
    rig.cli("set interface l2 bridge p3 1 uu-fwd");
    let unknown = frame(1, 2, 0);
    assert_eq!(rig.pass(0, &unknown), at(&[3], &unknown));
    assert_eq!(rig.count("l2-uu-fwd", "L2 UU fwd"), 1);
    rig.cli("set bridge-domain uu-flood 1 disable");
    assert_eq!(rig.pass(0, &unknown), at(&[3], &unknown));
    rig.cli("set bridge-domain uu-flood 1");
    assert_eq!(
        rig.pass(3, &frame(9, 8, 0)),
        at(&[0, 1, 2], &frame(9, 8, 0)),
        "from there it is flooded"
    );
    let group = frame_to(host(1), GROUP, 0);
    assert_eq!(rig.pass(0, &group), at(&[1, 2], &group), "groups don't go there");
    let back = frame(5, 9, 0);
    assert_eq!(rig.pass(0, &back), at(&[3], &back), "9 was learned there");
    rig.cli("set interface l3 p3");
    assert_eq!(rig.pass(0, &unknown), at(&[1, 2], &unknown));
}

#[suite::test]
fn arp_requests_can_go_to_the_unknown_unicast_port_alone() {
    let mut rig = bridged(3);
    let arp =
        testkit::pkt::arp_request("02:aa:00:00:00:01", "10.0.0.1", "10.0.0.2").pad_to(60).build();
    rig.cli("set bridge-domain arp-ufwd 1");
    assert_eq!(rig.pass(0, &arp), at(&[1, 2], &arp), "there is no such port");
    rig.cli("set interface l2 bridge p2 1 uu-fwd");
    assert_eq!(rig.pass(0, &arp), at(&[2], &arp));
    let group = frame_to(host(1), GROUP, 0);
    assert_eq!(rig.pass(0, &group), at(&[1], &group));
}

#[suite::test]
fn a_lonely_port_floods_to_nobody() {
    let mut rig = bridged(1);
    assert_eq!(rig.pass(0, &frame(1, 2, 0)), []);
    assert_eq!(rig.pass(0, &frame_to(host(1), GROUP, 0)), []);
    assert_eq!(rig.count("l2-flood", "L2 replication complete"), 2);
}

#[suite::test]
fn domain_0_drops() {
    let mut rig = rig(2);
    rig.cli("set interface l2 bridge p0 0");
    rig.cli("set interface l2 bridge p1 0");
    assert_eq!(rig.pass(0, &frame(1, 2, 0)), []);
    assert_eq!(rig.count("feature-bitmap-drop", "L2 feature forwarding disabled"), 1);
    assert_eq!(rig.cli("show bridge-domain"), "no bridge-domains in use\n");
}

#[suite::test]
fn a_port_that_is_down_sends_nothing_and_others_do() {
    let mut rig = bridged(3);
    rig.cli("set interface state p1 down");
    let group = frame_to(host(1), GROUP, 0);
    assert_eq!(rig.pass(0, &group), at(&[2], &group));
    assert_eq!(rig.count("p1-output", "interface is down"), 1);
    rig.bench.arrive(rig.ports[1], &frame(5, 6, 0));
    rig.bench.settle();
    assert_eq!(rig.sent(), []);
    assert_eq!(rig.count("ethernet-input", "subinterface down"), 1);
}

// SPDX-License-Identifier: Apache-2.0
//! Learning, forwarding, moving.

use super::*;

#[suite::test]
fn unknown_unicast_is_flooded_and_known_unicast_goes_to_one_port() {
    let mut rig = bridged(4);
    let first = frame(1, 2, 1);
    assert_eq!(rig.pass(0, &first), at(&[1, 2, 3], &first), "2 is unknown; nothing goes back");
    let back = frame(2, 1, 2);
    assert_eq!(rig.pass(2, &back), at(&[0], &back), "1 was learned");
    let again = frame(1, 2, 3);
    assert_eq!(rig.pass(0, &again), at(&[2], &again), "2 was learned");
    assert_eq!(
        (rig.count("l2-learn", "L2 learn misses"), rig.count("l2-fwd", "L2 forward hits")),
        (2, 2)
    );
    assert_eq!(rig.count("l2-fwd", "L2 forward packets"), 3);
    assert_eq!(rig.bench.drops(), 0);
}

/// One vector of many frames takes the staged path of the nodes.
#[suite::test]
fn a_vector_is_forwarded_as_its_frames_are_one_by_one() {
    let mut rig = bridged(3);
    for n in 0..60 {
        rig.receive_all(usize::from(n % 2), &[frame(n, 200, n)]);
    }
    rig.sent();
    let mut frames = Vec::new();
    let mut want = Vec::new();
    for n in 0..60u8 {
        let frame = frame(100, n, n);
        want.push((usize::from(n % 2), frame.clone()));
        frames.push(frame);
    }
    rig.receive_all(2, &frames);
    want.sort();
    assert_eq!(rig.sent(), want);
    let group: Vec<_> = (0..60).map(|n| frame_to(host(100), MacAddr::BROADCAST, n)).collect();
    rig.receive_all(2, &group);
    let mut want: Vec<_> = group.iter().flat_map(|frame| at(&[0, 1], frame)).collect();
    want.sort();
    assert_eq!(rig.sent(), want);
}

#[suite::test]
fn a_move_is_learned_at_once() {
    let mut rig = bridged(3);
    rig.pass(0, &frame(1, 9, 0));
    let to = frame(2, 1, 1);
    assert_eq!(rig.pass(2, &to), at(&[0], &to));
    rig.pass(1, &frame(1, 9, 2));
    assert_eq!(rig.pass(2, &to), at(&[1], &to));
    assert_eq!(rig.count("l2-learn", "L2 mac moves"), 1);
    let entry = rig.world().get::<crate::Bridge>().entry(1, host(1), 0).expect("learned");
    assert_eq!(
        (entry.sw_if, entry.is_static, entry.is_provisioned),
        (Some(rig.ports[1]), false, false)
    );
}

#[suite::test]
fn a_static_entry_does_not_move() {
    let mut rig = bridged(3);
    rig.cli(&format!("l2fib add {} 1 p0 static", host(1)));
    assert_eq!(rig.pass(1, &frame(1, 9, 0)), []);
    assert_eq!(rig.count("l2-learn", "L2 mac move violations"), 1);
    let to = frame(2, 1, 1);
    assert_eq!(rig.pass(2, &to), at(&[0], &to));
    let from = frame(1, 9, 2);
    assert_eq!(rig.pass(0, &from), at(&[1, 2], &from), "at its own port it may send");
}

#[suite::test]
fn an_operators_entry_that_is_not_static_may_move_and_counts_then() {
    let mut rig = bridged(3);
    rig.cli(&format!("l2fib add {} 1 p0", host(1)));
    let bridge = rig.world().get::<crate::Bridge>();
    assert_eq!(bridge.learned().0, 0);
    rig.pass(1, &frame(1, 9, 0));
    let to = frame(2, 1, 1);
    assert_eq!(rig.pass(2, &to), at(&[1], &to));
    assert_eq!(bridge.learned().0, 2, "1 and 2");
    rig.cli("l2fib flush-mac all");
    assert_eq!(bridge.learned().0, 0);
    assert_eq!(rig.pass(2, &to), at(&[0, 1], &to), "flushed, as other learned ones");
}

#[suite::test]
fn a_filter_drops_from_and_to_an_address() {
    let mut rig = bridged(2);
    rig.cli(&format!("l2fib add {} 1 filter", host(7)));
    assert_eq!(rig.pass(0, &frame(1, 7, 0)), []);
    assert_eq!(rig.count("l2-fwd", "Filter Mac Drop"), 1);
    for dst in [host(1), MacAddr::BROADCAST] {
        assert_eq!(rig.pass(1, &frame_to(host(7), dst, 0)), []);
    }
    assert_eq!(rig.count("l2-learn", "L2 filter mac drops"), 2);
    rig.cli(&format!("l2fib del {} 1", host(7)));
    let to = frame(1, 7, 1);
    assert_eq!(rig.pass(0, &to), at(&[1], &to));
}

#[suite::test]
fn a_frame_is_not_sent_back_where_it_came_from() {
    let mut rig = bridged(2);
    rig.pass(0, &frame(1, 9, 0));
    rig.pass(0, &frame(2, 9, 0));
    assert_eq!(rig.pass(0, &frame(1, 2, 0)), []);
    assert_eq!(rig.count("l2-fwd", "Reflection Drop"), 1);
}

#[suite::test]
fn groups_and_the_zero_address_are_not_learned() {
    let mut rig = bridged(2);
    for src in [MacAddr([1, 0, 0x5e, 0, 0, 1]), MacAddr::ZERO] {
        let frame = frame_to(src, host(9), 0);
        assert_eq!(rig.pass(0, &frame), at(&[1], &frame));
    }
    assert_eq!(rig.world().get::<crate::Bridge>().entry_count(), 0);
    let zero = frame_to(host(1), MacAddr::ZERO, 0);
    assert_eq!(rig.pass(0, &zero), at(&[1], &zero), "unknown");
}

#[suite::test]
fn learning_stops_at_the_limit_and_frames_are_still_forwarded() {
    let mut rig = bridged(2);
    rig.cli("set bridge-domain learn-limit 1 3");
    for n in 1..=5 {
        let frame = frame(n, 99, n);
        assert_eq!(rig.pass(0, &frame), at(&[1], &frame));
    }
    let bridge = rig.world().get::<crate::Bridge>();
    let info = bridge.domain_info(&rig.world(), 1).expect("there");
    assert_eq!((info.learned, rig.count("l2-learn", "L2 not learned due to limit")), ((3, 3), 2));
    rig.cli("l2fib flush-mac bridge-domain 1");
    rig.pass(0, &frame(5, 99, 0));
    assert!(bridge.entry(1, host(5), 0).is_some(), "there is room again");
    rig.cli("set bridge-domain default-learn-limit 1");
    rig.cli("create bridge-domain 2");
    assert_eq!(bridge.domain_info(&rig.world(), 2).expect("there").learned, (0, 1));
}

/// A port that sends ever new sources gets as many entries as it leaves for others.
#[suite::test]
fn a_port_with_many_addresses_leaves_room_for_others() {
    let mut rig = bridged(3);
    let world = rig.world();
    let bridge = world.get::<crate::Bridge>();
    bridge.learned.set_limit(20);
    for n in 1..=40 {
        rig.pass(0, &frame(n, 99, n));
    }
    assert_eq!(
        (bridge.learned().0, rig.count("l2-learn", "L2 not learned due to limit")),
        (10, 30)
    );
    rig.pass(1, &frame(200, 99, 0));
    let to = frame(201, 200, 0);
    assert_eq!(rig.pass(2, &to), at(&[1], &to), "learned on another port");
    // Addresses that leave the port make room again there.
    rig.pass(1, &frame(1, 99, 0));
    rig.pass(1, &frame(2, 99, 0));
    rig.cli("l2fib flush-mac interface p1");
    rig.pass(0, &frame(41, 99, 0));
    assert!(bridge.entry(1, host(41), 0).is_some());
}

#[suite::test]
fn learning_and_forwarding_can_be_switched_off() {
    let mut rig = bridged(3);
    rig.cli("set bridge-domain learn 1 disable");
    rig.pass(0, &frame(1, 9, 0));
    let to = frame(2, 1, 1);
    assert_eq!(rig.pass(1, &to), at(&[0, 2], &to), "not learned");
    rig.cli("set bridge-domain learn 1");
    rig.cli("set interface l2 learn p0 disable");
    rig.pass(0, &frame(1, 9, 0));
    assert_eq!(rig.pass(1, &to), at(&[0, 2], &to), "not learned on p0");
    rig.cli("set interface l2 learn p0");
    rig.pass(0, &frame(1, 9, 0));
    assert_eq!(rig.pass(1, &to), at(&[0], &to));
    rig.cli("set bridge-domain forward 1 disable");
    assert_eq!(rig.pass(1, &to), at(&[0, 2], &to), "unicast is flooded");
    rig.cli("set bridge-domain forward 1");
    rig.cli("set interface l2 forward p1 disable");
    assert_eq!(rig.pass(1, &to), at(&[0, 2], &to));
}

#[suite::test]
fn the_same_address_is_another_one_in_another_domain() {
    let mut rig = bridged(4);
    rig.cli("set interface l2 bridge p2 2");
    rig.cli("set interface l2 bridge p3 2");
    rig.pass(0, &frame(1, 9, 0));
    rig.pass(2, &frame(1, 9, 0));
    let to = frame(2, 1, 0);
    assert_eq!(rig.pass(1, &to), at(&[0], &to));
    assert_eq!(rig.pass(3, &to), at(&[2], &to));
}

/// A table that has no room grows at once, not when control looks at it next: half a million
/// addresses are learned in no time.
#[suite::test]
fn the_table_grows_while_addresses_come_fast() {
    let mut rig = bridged(2);
    rig.cli("set bridge-domain flood 1 disable");
    rig.cli("set bridge-domain uu-flood 1 disable");
    let source = |n: u32| {
        let [a, b, c, d] = n.to_be_bytes();
        MacAddr([2, a, b, c, d, 1])
    };
    let bridge = rig.world().get::<crate::bridge::Bridge>();
    const ALL: u32 = 500_000;
    // Vectors that came before control had seen that there is no room.
    let mut late = 0;
    for first in (0..ALL).step_by(2048) {
        let frames: Vec<_> =
            (first..first + 2048).map(|n| frame_to(source(n), host(1), 0)).collect();
        rig.receive_all(0, &frames);
        while bridge.entry_count() < (first + 2048) as usize {
            late += 1;
            assert!(late < 64, "{first}: the table doesn't grow");
            rig.receive_all(0, &frames);
        }
    }
}

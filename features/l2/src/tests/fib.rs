// SPDX-License-Identifier: Apache-2.0
//! Entries: aging, flushing, what is shown.

use super::*;
use crate::Bridge;

#[suite::test]
fn an_address_that_is_silent_is_forgotten() {
    let mut rig = bridged(2);
    rig.cli("set bridge-domain mac-age 1 2");
    rig.cli(&format!("l2fib add {} 1 p0", host(9)));
    let world = rig.world();
    let bridge = world.get::<Bridge>();
    rig.pass(0, &frame(1, 99, 0));
    rig.pass(0, &frame(2, 99, 0));
    for _ in 0..4 {
        rig.seconds(50);
        rig.pass(0, &frame(2, 99, 0));
    }
    let known = |n| bridge.entry(1, host(n), world.clock.now()).is_some();
    assert_eq!([known(1), known(2), known(9)], [false, true, true]);
    assert_eq!(bridge.learned().0, 1);
    rig.seconds(110);
    assert!(known(2), "not before two minutes have passed");
    rig.seconds(80);
    assert!(!known(2));
    let to = frame(5, 2, 0);
    rig.pass(1, &to);
    assert_eq!(rig.pass(1, &to), at(&[0], &to), "flooded again");
}

#[suite::test]
fn nothing_ages_without_an_age() {
    let mut rig = bridged(2);
    rig.pass(0, &frame(1, 99, 0));
    rig.bench.world.clock.adjust(100_000 * SECOND);
    rig.seconds(61);
    assert!(rig.world().get::<Bridge>().entry(1, host(1), 0).is_some());
}

#[suite::test]
fn a_flush_is_effective_for_the_next_frame() {
    let mut rig = bridged(3);
    let world = rig.world();
    let to = frame(2, 1, 0);
    for line in [
        "l2fib flush-mac all",
        "l2fib flush-mac bridge-domain 1",
        "l2fib flush-mac interface p0",
        "clear l2fib",
    ] {
        rig.pass(0, &frame(1, 99, 0));
        assert_eq!(rig.pass(1, &to), at(&[0], &to), "{line}");
        rig.cli(line);
        assert_eq!(rig.pass(1, &to), at(&[0, 2], &to), "{line}");
        rig.cli("clear l2fib");
        assert_eq!(world.get::<Bridge>().learned().0, 0);
    }
    // Down, and up again.
    rig.pass(0, &frame(1, 99, 0));
    rig.cli("set interface state p0 down");
    rig.cli("set interface state p0 up");
    assert_eq!(rig.pass(1, &to), at(&[0, 2], &to));
    // Of another interface.
    rig.pass(0, &frame(1, 99, 0));
    rig.cli("l2fib flush-mac interface p1");
    assert_eq!(rig.pass(1, &to), at(&[0], &to));
}

/// A worker that learns with the numbers of before a flush makes an entry that isn't used, and the
/// scan removes it.
#[suite::test]
fn an_entry_of_before_a_flush_is_not_used() {
    let mut rig = bridged(3);
    let world = rig.world();
    let bridge = world.get::<Bridge>();
    rig.pass(0, &frame(1, 99, 0));
    let key = tables::mac::MacKey::new(host(1).octets(), 1);
    let old = bridge.macs.get(key).expect("learned");
    for line in ["l2fib flush-mac interface p0", "l2fib flush-mac bridge-domain 1"] {
        rig.cli(line);
        assert_eq!(bridge.macs.set(key, old), Ok(None));
        assert_eq!(rig.pass(1, &frame(2, 1, 0)), at(&[0, 2], &frame(2, 1, 0)), "{line}");
        rig.bench.world.clock.adjust(60 * SECOND);
        rig.seconds(1);
        assert_eq!(bridge.macs.get(key), None);
        // It was never counted: count it, so that numbers are right again.
        let domain = bridge.domain_info(&world, 1).expect("there");
        assert_eq!(domain.learned.0, bridge.learned().0);
        rig.cli("clear l2fib");
        rig.pass(0, &frame(1, 99, 0));
    }
}

/// Generation numbers have 8 bits. An entry stays flushed when they come round before the ager has
/// removed it.
#[suite::test]
fn no_number_of_flushes_brings_an_entry_back() {
    let mut rig = bridged(3);
    for line in ["l2fib flush-mac interface p0", "l2fib flush-mac bridge-domain 1"] {
        rig.pass(0, &frame(1, 99, 0));
        for _ in 0..256 {
            rig.bench.cli(line).expect("flushed");
        }
        let to = frame(2, 1, 0);
        assert_eq!(rig.pass(1, &to), at(&[0, 2], &to), "{line}");
    }
}

#[suite::test]
fn entries_of_operators_stay_until_they_are_deleted() {
    let mut rig = bridged(2);
    rig.cli(&format!("l2fib add {} 1 p0", host(1)));
    rig.cli(&format!("l2fib add {} 1 p1 static", host(2)));
    rig.cli("l2fib flush-mac all");
    rig.cli("set interface state p0 down");
    rig.cli("set interface state p0 up");
    let to = frame(9, 1, 0);
    assert_eq!(rig.pass(1, &to), at(&[0], &to));
    let shown = rig.cli("show l2fib all");
    assert_eq!(shown.matches(" no ").count(), 2, "{shown}");
    assert!(shown.contains("L2FIB total/learned entries: 3/1"), "{shown}");
    rig.cli(&format!("l2fib del {} 1", host(1)));
    assert_eq!(rig.refused(&format!("l2fib del {} 1", host(1))).0, -6);
    assert_eq!(rig.refused(&format!("l2fib del {} 5", host(1))).0, -6);
    assert_eq!(rig.refused(&format!("l2fib add {} 5 p0", host(1))).0, -6);
    assert_eq!(rig.refused(&format!("l2fib add {} 1 local0", host(1))).0, -2);
    assert_eq!(rig.refused("l2fib add 00:00:00:00:00:00 1 p0").0, -7);
    assert_eq!(rig.refused(&format!("l2fib add {} 1 p0 bvi", host(1))).0, -7);
    rig.cli("clear l2fib");
    assert_eq!(rig.cli("show l2fib"), "no l2fib entries\n");
}

#[suite::test]
fn entries_are_shown_as_text_and_json() {
    let mut rig = bridged(2);
    rig.pass(0, &frame(1, 99, 0));
    rig.cli(&format!("l2fib add {} 1 filter", host(3)));
    let shown = rig.cli("show l2fib all");
    let lines: Vec<Vec<&str>> =
        shown.lines().map(|line| line.split_whitespace().collect()).collect();
    let head = "Mac-Address BD-Idx If-Idx BSN-ISN Age(min) static filter bvi Interface-Name";
    assert_eq!(lines[0].join(" "), head);
    let sw_if = rig.ports[0].to_string();
    let learned = ["02:aa:00:00:00:01", "1", &sw_if, "0/0", "0", "-", "-", "-", "p0"];
    let filter = ["02:aa:00:00:00:03", "1", "N/A", "0/0", "no", "*", "*", "-", "N/A"];
    assert!(lines.contains(&learned.to_vec()) && lines.contains(&filter.to_vec()), "{shown}");
    assert!(shown.contains("total/learned entries: 2/1  Last scan time: "), "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&rig.cli("show l2fib all -j")).expect("JSON");
    assert_eq!(json["total"], 2);
    assert_eq!(json["entries"].as_array().map(Vec::len), Some(2));
    assert!(rig.cli("show l2fib bd_id 9").contains("L2FIB total"));
    assert_eq!(rig.cli("show l2fib learn").matches("02:aa").count(), 1);
    assert_eq!(rig.cli("show l2fib add").matches("02:aa").count(), 1);
}

// SPDX-License-Identifier: Apache-2.0
//! Storm control.

use super::*;
use crate::Bridge;
use crate::storm::Class;

const GROUP: MacAddr = MacAddr([1, 0, 0x5e, 1, 2, 3]);
/// Frames that pass at once at low rates.
const BURST: u64 = 10;
const DROPS: [&str; 3] = [
    "broadcast storm control drops",
    "multicast storm control drops",
    "unknown unicast storm control drops",
];

/// Frames of one class from host 7, each with a payload of its own.
fn storm(class: Class, n: u8) -> Vec<Vec<u8>> {
    let to = match class {
        Class::Broadcast => MacAddr::BROADCAST,
        Class::Multicast => GROUP,
        Class::UnknownUnicast => host(250),
    };
    (0..n).map(|n| frame_to(host(7), to, n)).collect()
}

/// Receives frames on a port with a limit of one a second: some of the first pass, whole, to all
/// others. Returns how many.
#[track_caller]
fn limited(rig: &mut Rig, port: usize, others: &[usize], frames: &[Vec<u8>]) -> u64 {
    let start = rig.bench.world.clock.now();
    let sent = rig.pass_all(port, frames);
    let passed = sent.len() / others.len();
    let mut want: Vec<_> = frames[..passed].iter().flat_map(|frame| at(others, frame)).collect();
    want.sort();
    assert_eq!(sent, want, "in order, each to all others");
    let seconds = (rig.bench.world.clock.now() - start) / SECOND;
    assert!((BURST..=BURST + seconds).contains(&(passed as u64)), "{passed} in {seconds} s");
    passed as u64
}

fn drops(rig: &Rig) -> [u64; 3] {
    DROPS.map(|name| rig.count("l2-flood", name))
}

#[suite::test]
fn each_class_has_a_limit_of_its_own() {
    for (i, class) in Class::ALL.into_iter().enumerate() {
        let mut rig = bridged(3);
        rig.cli(&format!(
            "set interface l2 storm-control p0 {} packets-per-second 1",
            class.word()
        ));
        let frames = storm(class, 40);
        let lost = frames.len() as u64 - limited(&mut rig, 0, &[1, 2], &frames);
        let mut want = [0; 3];
        want[i] = lost;
        assert_eq!(drops(&rig), want);
        // Other classes, and the same class at another port, pass as ever.
        for other in Class::ALL {
            let frames = storm(other, 40);
            let mut all: Vec<_> = frames.iter().flat_map(|frame| at(&[0, 2], frame)).collect();
            all.sort();
            assert_eq!(rig.pass_all(1, &frames), all);
            if other != class {
                let mut all: Vec<_> = frames.iter().flat_map(|frame| at(&[1, 2], frame)).collect();
                all.sort();
                assert_eq!(rig.pass_all(0, &frames), all);
            }
        }
        assert_eq!(drops(&rig), want);
        // Its rate comes back with time.
        let start = rig.bench.world.clock.now();
        rig.bench.world.clock.adjust(3 * SECOND);
        let passed = rig.pass_all(0, &storm(class, 40)).len() as u64 / 2;
        let seconds = (rig.bench.world.clock.now() - start) / SECOND + 1;
        assert!((3..=seconds).contains(&passed), "{passed} in {seconds} s");
    }
}

#[suite::test]
fn known_unicast_and_answers_are_not_limited() {
    let mut rig = bridged(3);
    rig.cli("set interface l2 storm-control p0 all packets-per-second 1");
    rig.cli("set bridge-domain arp term 1");
    rig.cli(&format!("set bridge-domain arp entry 1 10.0.0.1 {}", host(1)));
    for class in Class::ALL {
        limited(&mut rig, 0, &[1, 2], &storm(class, 40));
    }
    let lost = drops(&rig);
    rig.pass(1, &frame(1, 7, 0));
    let known: Vec<_> = (0..60).map(|n| frame(7, 1, n)).collect();
    let mut all: Vec<_> = known.iter().flat_map(|frame| at(&[1], frame)).collect();
    all.sort();
    assert_eq!(rig.pass_all(0, &known), all);
    let ask =
        testkit::pkt::arp_request("02:aa:00:00:00:07", "10.0.0.7", "10.0.0.1").pad_to(60).build();
    for _ in 0..60 {
        assert!(matches!(&rig.pass(0, &ask)[..], [(0, answer)] if answer[..6] == host(7).octets()));
    }
    // The unknown-unicast port takes frames to unknown stations: no copies are made.
    rig.cli("set interface l2 bridge p2 1 uu-fwd");
    for frame in storm(Class::UnknownUnicast, 60) {
        assert_eq!(rig.pass(0, &frame), at(&[2], &frame));
    }
    assert_eq!(drops(&rig), lost);
}

/// Frames that have to wait until copies of others have left are counted once.
#[suite::test]
fn a_frame_that_waits_for_copies_takes_one_token() {
    let mut rig = bridged(30);
    rig.cli("set interface l2 storm-control p0 broadcast packets-per-second 660");
    let frames = storm(Class::Broadcast, 60);
    let others: Vec<_> = (1..30).collect();
    let mut all: Vec<_> = frames.iter().flat_map(|frame| at(&others, frame)).collect();
    all.sort();
    assert!(rig.pass_all(0, &frames) == all, "the burst");
    assert!(rig.count("l2-flood", "again") > 0, "the test reaches the limit of copies");
}

/// A vector of several ports: each pays for its own frames.
#[suite::test]
fn ports_in_one_vector_are_told_apart() {
    let mut rig = bridged(3);
    rig.cli("set interface l2 storm-control p0 broadcast packets-per-second 1");
    rig.cli("set interface l2 storm-control p1 broadcast packets-per-second 1");
    let start = rig.bench.world.clock.now();
    let frames = storm(Class::Broadcast, 60);
    for frame in &frames {
        rig.bench.arrive(rig.ports[0], frame);
        rig.bench.arrive(rig.ports[1], frame);
        rig.bench.arrive(rig.ports[2], frame);
    }
    rig.bench.settle();
    let seconds = (rig.bench.world.clock.now() - start) / SECOND;
    let sent = rig.sent();
    let to = |port| sent.iter().filter(|(to, _)| *to == port).count() as u64;
    let most = BURST + seconds;
    // Each gets all frames of p2, and what passes of the other.
    assert!((60 + BURST..=60 + most).contains(&to(0)) && (60 + BURST..=60 + most).contains(&to(1)));
    assert!((2 * BURST..=2 * most).contains(&to(2)));
    assert_eq!(to(0) + to(1) - 120 + drops(&rig)[0], 120);
}

#[suite::test]
fn limits_begin_end_and_go_with_the_interface() {
    let mut rig = bridged(3);
    let frames = storm(Class::Multicast, 40);
    let mut all: Vec<_> = frames.iter().flat_map(|frame| at(&[1, 2], frame)).collect();
    all.sort();
    assert_eq!(rig.pass_all(0, &frames), all, "off by default");
    rig.cli("set interface l2 storm-control p0 all packets-per-second 1");
    limited(&mut rig, 0, &[1, 2], &frames);
    let json: serde_json::Value =
        serde_json::from_str(&rig.cli("show l2 storm-control -j")).expect("JSON");
    let lost = drops(&rig)[1];
    assert_eq!(
        (json[1]["interface"].as_str(), json[1]["class"].as_str()),
        (Some("p0"), Some("multicast"))
    );
    assert_eq!(
        (json[1]["packets_per_second"].as_u64(), json[1]["drops"].as_u64()),
        (Some(1), Some(lost))
    );
    // The same limit again gives no second burst, nor does the limit of another class.
    rig.cli("set interface l2 storm-control p0 all packets-per-second 1");
    rig.cli("set interface l2 storm-control p0 broadcast packets-per-second 9");
    let start = rig.bench.world.clock.now();
    let passed = rig.pass_all(0, &frames).len() as u64 / 2;
    assert!(passed <= (rig.bench.world.clock.now() - start) / SECOND + 1, "{passed}");
    // It stays while the interface routes, and has effect when it is bridged again.
    rig.cli("set interface l3 p0");
    rig.cli("set interface l2 bridge p0 1");
    rig.cli("set interface l2 storm-control p0 multicast packets-per-second 2");
    assert!(rig.pass_all(0, &frames).len() < 80);
    rig.cli("set interface l2 storm-control p0 multicast off");
    assert_eq!(rig.pass_all(0, &frames), all);
    let shown = rig.cli("show l2 storm-control");
    assert!(shown.contains("unknown-unicast") && !shown.contains("multicast"), "{shown}");
    let world = rig.world();
    let gone = rig.ports[0];
    rig.delete_port(0);
    rig.add_port(0);
    assert_eq!(rig.ports[0], gone);
    assert_eq!(world.get::<Bridge>().storms.rates(gone), [None; 3]);
    assert_eq!(world.get::<Bridge>().storms.drops(gone, Class::Multicast), 0);
    rig.cli("set interface l2 bridge p0 1");
    for class in Class::ALL {
        assert_eq!(rig.pass_all(0, &storm(class, 40)).len(), 80);
    }
    assert_eq!(rig.refused("set interface l2 storm-control local0 all off").0, -71);
    rig.refused("set interface l2 storm-control p0 all packets-per-second 0");
}

/// A BVI floods what the router sends, whatever is set for it.
#[suite::test]
fn the_bvi_is_exempt() {
    let mut rig = bridged(2);
    rig.cli("bvi create instance 1");
    rig.cli("set interface state bvi1 up");
    rig.cli("set interface l2 bridge bvi1 1 bvi");
    rig.cli("set interface l2 storm-control bvi1 all packets-per-second 1");
    for n in 0..40 {
        let sw_if = rig.world().get::<Interfaces>().find("bvi1").expect("made");
        let frame = frame_to(host(1), MacAddr::BROADCAST, n);
        rig.bench.send("l2-input", &frame, |b| b.rx_if = sw_if.0);
        rig.bench.settle();
        assert_eq!(rig.sent(), at(&[0, 1], &frame));
    }
    assert_eq!(drops(&rig), [0; 3]);
}

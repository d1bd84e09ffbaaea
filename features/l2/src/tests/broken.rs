// SPDX-License-Identifier: Apache-2.0
//! Broken frames.

use super::*;
use testkit::mutate::Mutator;
use testkit::pkt;

/// Mutated frames never panic, no buffer is lost, and every copy that is sent has the bytes of the
/// frame that came in.
#[suite::test]
fn mutated_frames_are_switched_as_they_are() {
    let mut rig = bridged(3);
    for line in [
        "create loopback interface",
        "set interface state loop0 up",
        "set interface l2 bridge loop0 1 bvi",
        "set interface ip address loop0 10.0.0.1/24",
        "l2fib add 02:aa:00:00:00:07 1 filter",
        "l2fib add 02:aa:00:00:00:08 1 p2 static",
    ] {
        rig.cli(line);
    }
    let bvi = MacAddr([0xde, 0xad, 0, 0, 0, 0]);
    let mut tagged = frame(1, 2, 0);
    tagged.splice(12..12, [0x81, 0, 0, 7]);
    let bases = vec![
        frame(1, 2, 0),
        frame(2, 1, 1),
        frame(7, 8, 2),
        frame_to(host(1), MacAddr::BROADCAST, 3),
        tagged,
        pkt::arp_request(host(1), "10.0.0.5", "10.0.0.1").pad_to(60).build(),
        pkt::ether(host(1), bvi)
            .ip4("10.0.0.5", "10.0.0.1")
            .icmp_echo(7, 9)
            .payload_len(500)
            .build(),
    ];
    let mut mutator = Mutator::new(11);
    rig.sent();
    for round in 0..300 {
        let frames = mutator.frames(&bases, 1 + round % 24, 1500);
        let from = round % 3;
        rig.receive_all(from, &frames);
        for (port, bytes) in rig.sent() {
            let is_routers = bytes.get(6..12) == Some(&bvi.octets()[..]);
            assert!(is_routers || port != from && frames.contains(&bytes), "{port}: {bytes:?}");
        }
        if round % 50 == 0 {
            rig.seconds(30);
        }
    }
}

/// Each received frame is sent, flooded or dropped with a reason: the sums of a vector of unicast
/// frames agree.
#[suite::test]
fn every_frame_is_sent_or_counted() {
    let mut rig = bridged(2);
    rig.cli("set bridge-domain uu-flood 1 disable");
    rig.cli("l2fib add 02:aa:00:00:00:07 1 filter");
    rig.cli("l2fib add 02:aa:00:00:00:08 1 p1 static");
    let mut mutator = Mutator::new(5);
    let bases = vec![frame(1, 8, 0), frame(2, 7, 1), frame(3, 9, 2)];
    let (mut received, mut sent) = (0, 0);
    for round in 0..200 {
        let frames = mutator.frames(&bases, 1 + round % 30, 1500);
        received += frames.len() as u64;
        rig.receive_all(0, &frames);
        sent += rig.sent().len() as u64;
    }
    assert_eq!(
        received,
        sent + rig.bench.drops(),
        "with one other port, a frame is sent at most once"
    );
    assert!(sent > 100 && rig.bench.drops() > 100);
}

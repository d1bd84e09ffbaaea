// SPDX-License-Identifier: Apache-2.0
//! Copies at the device.

use super::*;
use net::{Neighbor, Neighbors};
use std::net::Ipv4Addr;
use testkit::pkt;
use wire::offload::{Csum, Offload};

/// Ports 0 and 1 are connected with each other.
fn crossed(ports: usize) -> Rig {
    let mut rig = rig(ports);
    rig.cli("set interface l2 xconnect p0 p1");
    rig.cli("set interface l2 xconnect p1 p0");
    rig
}

#[suite::test]
fn copies_of_received_and_sent_frames_have_all_bytes() {
    let mut rig = crossed(3);
    for (word, received, sent) in
        [("rx", true, false), ("tx", false, true), ("both", true, true), ("", true, true)]
    {
        rig.cli(&format!("set interface span p0 destination p2 {word}"));
        for (n, len) in [14, 60, 255, 257, 1514, 2049, 5000, 9018].into_iter().enumerate() {
            let frame = frame(len, n as u8);
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
    assert_eq!((mirrored(&rig, "span-input"), mirrored(&rig, "span-output")), (24, 24));
    rig.cli("set interface span p0 disable");
    let frame = frame(100, 0);
    assert_eq!((rig.pass(0, &frame), rig.pass(1, &frame)), (at(&[1], &frame), at(&[0], &frame)));
    assert_eq!(rig.bench.drops(), 0);
}

/// A vector of frames, of which each goes to several destinations, and destinations of several
/// sources.
#[suite::test]
fn sources_and_destinations_are_many_to_many() {
    let mut rig = crossed(5);
    for line in [
        "p0 destination p2",
        "p0 destination p3 rx",
        "p0 destination p4 tx",
        "p1 destination p3 rx",
    ] {
        rig.cli(&format!("set interface span {line}"));
    }
    let frames: Vec<_> = (0..200).map(|n| frame(300, n)).collect();
    let want = |ports: &[usize]| {
        let mut want: Vec<_> = frames.iter().flat_map(|frame| at(ports, frame)).collect();
        want.sort();
        want
    };
    assert_eq!(rig.pass_all(0, &frames), want(&[1, 2, 3]));
    assert_eq!(rig.pass_all(1, &frames), want(&[0, 2, 3, 4]));
    rig.cli("set interface span p0 destination p2 disable");
    assert_eq!(rig.pass_all(0, &frames), want(&[1, 3]));
}

#[suite::test]
fn copies_are_not_copied_again() {
    let mut rig = crossed(4);
    for line in ["p0 destination p1", "p1 destination p0", "p1 destination p2", "p2 destination p3"]
    {
        rig.cli(&format!("set interface span {line}"));
    }
    // p1 sends the frame, which is copied to p0 and p2, and the copy of what p0 received, which
    // isn't.
    let frame = frame(100, 0);
    assert_eq!(rig.pass(0, &frame), at(&[0, 1, 1, 2], &frame));
}

#[suite::test]
fn frames_of_sub_interfaces_are_copied_as_they_are_on_the_wire() {
    let mut rig = rig(4);
    sub(&mut rig, "p0 100");
    rig.cli("set interface span p0 destination p2");
    // One that comes later is mirrored too.
    sub(&mut rig, "p0 200");
    for (sub, other) in [("p0.100", "p1"), ("p1", "p0.100"), ("p0.200", "p3"), ("p3", "p0.200")] {
        rig.cli(&format!("set interface l2 xconnect {sub} {other}"));
    }
    for (port, vid) in [(1, 100), (3, 200)] {
        let frame = tagged(&[(Q, vid)], &frame(300, 3));
        let mut want = at(&[port, 2], &frame);
        want.sort();
        assert_eq!(rig.pass(0, &frame), want, "VLAN {vid} received");
        assert_eq!(rig.pass(port, &frame), at(&[0, 2], &frame), "VLAN {vid} sent");
    }
    rig.cli("set interface span p0 disable");
    let frame = tagged(&[(Q, 100)], &frame(300, 3));
    assert_eq!(rig.pass(1, &frame), at(&[0], &frame));
}

/// A sub-interface that routes adds its tag to copies, as to other frames.
#[suite::test]
fn copies_can_leave_in_a_vlan() {
    let mut rig = crossed(3);
    sub(&mut rig, "p2 9");
    rig.cli("set interface span p0 destination p2.9 rx");
    let frame = frame(100, 1);
    assert_eq!(
        rig.pass(0, &frame),
        [at(&[1], &frame), at(&[2], &tagged(&[(Q, 9)], &frame))].concat()
    );
}

#[suite::test]
fn routed_packets_are_copied_with_the_super_path_and_without_it() {
    let mut rig = rig(4);
    for (i, port) in [(0u8, "p0"), (1, "p1")] {
        rig.cli(&format!("set interface ip address {port} 10.0.{i}.1/24"));
        let world = rig.world();
        let known = Neighbor::new(
            rig.ports[usize::from(i)],
            Ipv4Addr::new(10, 0, i, 2).into(),
            MacAddr([2, 0xaa, 0, 0, 0, i]),
        );
        world.get::<Neighbors>().set(&world, known).expect("set");
    }
    rig.cli("set interface span p0 destination p2");
    rig.cli("set interface span p1 destination p3 tx");
    let came = pkt::ether(MacAddr([2, 0xaa, 0, 0, 0, 0]), MacAddr([2, 0xfe, 0, 0, 0, 0]));
    let came = came.ip4("10.0.0.2", "10.0.1.2").udp(5, 6).payload_len(777).build();
    let left = pkt::ether(MacAddr([2, 0xfe, 0, 0, 0, 1]), MacAddr([2, 0xaa, 0, 0, 0, 1]));
    let left = left.ip4("10.0.0.2", "10.0.1.2").ttl(63).udp(5, 6).payload_len(777).build();
    for state in ["on", "off"] {
        rig.cli(&format!("set super-path {state}"));
        let want = [at(&[1], &left), at(&[2], &came), at(&[3], &left)].concat();
        assert_eq!(rig.pass(0, &came), want, "super-path {state}");
    }
    rig.cli("set super-path on");
    let shown = rig.cli("show super-path");
    assert!(shown.contains("interface-output: span-output"), "{shown}");
    let visits = rig.world().node("span-output").expect("a node");
    let visits = rig.world().stats.simple(graph::counters::VECTORS).sum(visits.at());
    assert_eq!((visits, mirrored(&rig, "span-output")), (1, 2), "one without the super-path");
}

/// A sender on this host may leave the checksum to the device. Long copies share the bytes that it
/// is of, so it is finished before; short ones leave it to their own device.
#[suite::test]
fn a_partial_checksum_is_finished_before_bytes_are_shared() {
    for (len, is_finished) in [(1000, false), (4000, true)] {
        let mut rig = crossed(3);
        rig.cli("set interface span p0 destination p2 rx");
        let ether = pkt::ether("02:aa:00:00:00:01", "02:aa:00:00:00:02");
        let whole = ether.ip4("10.0.0.1", "10.0.0.2").udp(1, 2).payload_len(len).build();
        let mut partial = whole.clone();
        let (start, offset) = wire::l4::set_partial(&mut partial[14..]).expect("UDP");
        let csum = Csum::Partial { start: 14 + start as u16, offset: offset as u16 };
        let offload = Offload { csum, gso: None };
        rig.bench.arrive_as(rig.ports[0], &partial, |b| driver::note(b, offload));
        rig.bench.settle();
        assert_eq!(rig.sent(), at(&[1, 2], if is_finished { &whole } else { &partial }), "{len}");
    }
}

#[suite::test]
fn copies_for_an_interface_that_is_down_are_counted() {
    let mut rig = crossed(3);
    rig.cli("set interface span p0 destination p2 rx");
    rig.cli("set interface state p2 down");
    let frame = frame(100, 0);
    assert_eq!(rig.pass(0, &frame), at(&[1], &frame));
    assert_eq!((rig.bench.count("span-input", "down"), rig.bench.drops()), (1, 0));
}

/// Copies of a vector need more buffers than there are: what is forwarded isn't lost.
#[suite::test]
fn frames_are_forwarded_without_a_buffer_for_a_copy() {
    let mut rig = crossed(3);
    rig.cli("set interface span p0 destination p2 rx");
    let frame = frame(100, 0);
    for _ in 0..200 {
        rig.bench.arrive(rig.ports[0], &frame);
    }
    // The thread has few free buffers of its own.
    let mut cache = buffer::Cache::new(rig.world().pool);
    let held: Vec<_> = std::iter::from_fn(|| cache.alloc()).collect();
    rig.bench.settle();
    let sent = rig.sent();
    let count = |port| sent.iter().filter(|(at, _)| *at == port).count() as u64;
    let missing = rig.bench.count("span-input", "no_buffer");
    assert_eq!((count(1), count(2) + missing), (200, 200));
    assert!(missing > 0 && sent.iter().all(|(_, bytes)| *bytes == frame), "{missing}");
    held.into_iter().for_each(|b| cache.free(b));
}

/// Copies of a whole vector would need more buffers than there are: they are made in turns, and
/// none is missing.
#[suite::test]
fn many_destinations_take_no_more_buffers_than_there_are() {
    let mut rig = crossed(102);
    let (frames, copies) = (200u8, 100);
    assert!(rig.world().pool.limit() < usize::from(frames) * copies);
    for word in ["rx", "tx"] {
        for port in 2..102 {
            rig.cli(&format!(
                "set interface span p{} destination p{port} {word}",
                u8::from(word == "tx")
            ));
        }
        let came: Vec<_> = (0..frames).map(|n| frame(300, n)).collect();
        for frame in &came {
            rig.bench.arrive(rig.ports[0], frame);
        }
        rig.bench.settle();
        let mut want: Vec<_> =
            (1..102).flat_map(|port| came.iter().map(move |f| (port, f.clone()))).collect();
        want.sort();
        assert!(rig.sent() == want, "{word}");
        let node = if word == "rx" { "span-input" } else { "span-output" };
        assert_eq!(
            (rig.count(node, "no_buffer"), rig.count(node, "again") > 0),
            (0, true),
            "{word}"
        );
        rig.cli("set interface span p0 disable");
        rig.cli("set interface span p1 disable");
    }
}

#[suite::test]
fn a_trace_shows_source_and_destinations() {
    let mut rig = crossed(3);
    rig.cli("set interface span p0 destination p1 rx");
    rig.cli("set interface span p0 destination p2 rx");
    rig.bench.rt.trace().order(graph::NodeIndex(999), 1, graph::TraceLog::room(16), 0);
    rig.bench.arrive_as(rig.ports[0], &frame(100, 0), |b| Bench::trace(b, 7));
    rig.bench.settle();
    assert_eq!(rig.sent().len(), 3);
    let trace = rig.bench.rt.trace().records().map(|record| record.to_string()).collect::<String>();
    for to in [1, 2] {
        let line = format!("SPAN: mirrored {} -> {}", rig.ports[0], rig.ports[to]);
        assert!(trace.contains(&line), "{line} isn't in {trace}");
    }
}

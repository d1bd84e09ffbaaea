// SPDX-License-Identifier: Apache-2.0
//! Filters of traces and captures.

use super::*;
use crate::state::Classifier;
use ::trace::{Classifier as _, Purpose};

fn accepts(rig: &mut Rig, purpose: Purpose, bytes: &[u8]) -> bool {
    let world = rig.world();
    let b = rig.bench.buffer(bytes);
    let mut reader = world.qsbr.register();
    let answer = world.get::<Classifier>().accepts(purpose, &b, &reader.turn());
    rig.bench.rt.cache().free(b);
    answer
}

#[test]
fn filters_choose_packets() {
    let mut rig = routers(2);
    let [udp, other] = [(7, 8), (9, 8)].map(|ports| packet(false, None, "10.0.1.2", ports));
    assert!(!accepts(&mut rig, Purpose::Trace, &udp), "no filter accepts nothing");
    let none = "Filter Used By                 Table(s)\n\
                --------------                 --------\n\
                packet tracer:                 first table none\n";
    assert_eq!(rig.cli("show classify filter"), none);
    rig.cli("classify filter trace mask l4 src_port match l4 src_port 7");
    assert_eq!(
        rig.cli("show classify filter").lines().last(),
        Some("packet tracer:                 first table 0")
    );
    assert!(accepts(&mut rig, Purpose::Trace, &udp) && !accepts(&mut rig, Purpose::Trace, &other));
    assert!(!accepts(&mut rig, Purpose::Capture(None), &udp));
    // The same mask has the same table; that with more bits is asked first.
    rig.cli("classify filter trace mask l4 src_port match l4 src_port 10");
    rig.cli("classify filter trace mask l3 ip4 src dst match l3 ip4 src 10.0.0.2 dst 10.0.1.2");
    rig.cli("classify filter trace mask l3 ip4 ttl match l3 ip4 ttl 3");
    let last = |rig: &mut Rig, line: &str| rig.cli(line).lines().last().expect("a line").to_string();
    assert_eq!(last(&mut rig, "show classify filter"), "packet tracer:                 first table 1");
    assert_eq!(last(&mut rig, "show classify filter verbose"), "packet tracer:                 1 0 2");
    assert!(accepts(&mut rig, Purpose::Trace, &other));
    // Packets that were only looked at are no hits.
    assert_eq!(hits(&rig, 1, 0), 0);
    // Captures of an interface may have a filter of their own.
    rig.cli("classify filter pcap mask l4 src_port match l4 src_port 7");
    rig.cli("classify filter p0 mask l4 src_port match l4 src_port 9");
    let (p0, p1) = (rig.ports[0], rig.ports[1]);
    for (of, want) in [(None, [true, false]), (Some(p0), [false, true]), (Some(p1), [true, false])] {
        let got = [&udp, &other].map(|bytes| accepts(&mut rig, Purpose::Capture(of), bytes));
        assert_eq!(got, want, "{of:?}");
    }
    assert!(rig.cli("show classify filter").ends_with(
        "pcap rx/tx/drop:               first table 3\np0:                            first table 4\n"
    ));
    assert!(rig.cli("show classify filter -j").contains("\"pcap rx/tx/drop\""));
    rig.cli("classify filter trace del");
    rig.cli("classify filter pcap del mask l4 src_port");
    rig.cli("classify filter p0 del");
    assert_eq!(rig.cli("show classify filter"), none);
    assert_eq!(rig.cli("show classify tables"), "No classifier tables configured\n", "with their tables");
}

/// `pcap trace … filter` captures what the tables accept.
#[test]
fn captures_follow_the_filter() {
    let mut rig = routers(2);
    assert!(rig.cli("show trace filter function").contains("(*) name:vnet_is_packet_traced"));
    let file = format!("/tmp/classify-{}.pcap", std::process::id());
    rig.cli(&format!("pcap trace rx filter file {file}"));
    rig.cli("classify filter pcap mask l4 src_port match l4 src_port 7");
    for port in [7, 9, 7] {
        rig.pass(0, &packet(false, None, "10.0.1.2", (port, 8)));
    }
    assert!(rig.cli("pcap trace status").contains("2 of 1000 packets"), "{}", rig.cli("pcap trace status"));
    rig.cli("pcap trace off");
    let bytes = std::fs::read(&file).expect("written");
    std::fs::remove_file(&file).expect("removed");
    let first = packet(false, None, "10.0.1.2", (7, 8));
    assert_eq!(bytes.windows(first.len()).filter(|window| *window == first).count(), 2);
}

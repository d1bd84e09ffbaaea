// SPDX-License-Identifier: Apache-2.0
//! Filters of traces and captures.

use super::*;
use crate::state::Classifier;
use ::trace::{Classifier as _, Purpose};
use graph::drive::Bench;
use graph::{
    Build, Cx, Input, InputMode, Next, NodeDef, Shared, StateDef, SwIfIndex, ThreadIndex, World,
};
use std::sync::{Arc, Mutex};

fn accepts(rig: &mut Rig, purpose: Purpose, bytes: &[u8]) -> bool {
    let world = rig.world();
    let b = rig.bench.buffer(bytes);
    let mut reader = world.qsbr.register();
    let answer = world.get::<Classifier>().accepts(purpose, &b, &reader.turn());
    rig.bench.rt.cache().free(b);
    answer
}

#[suite::test]
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
    let last =
        |rig: &mut Rig, line: &str| rig.cli(line).lines().last().expect("a line").to_string();
    assert_eq!(
        last(&mut rig, "show classify filter"),
        "packet tracer:                 first table 1"
    );
    assert_eq!(
        last(&mut rig, "show classify filter verbose"),
        "packet tracer:                 1 0 2"
    );
    assert!(accepts(&mut rig, Purpose::Trace, &other));
    // Packets that were only looked at are no hits.
    assert_eq!(hits(&rig, 1, 0), 0);
    // Captures of an interface may have a filter of their own.
    rig.cli("classify filter pcap mask l4 src_port match l4 src_port 7");
    rig.cli("classify filter p0 mask l4 src_port match l4 src_port 9");
    let (p0, p1) = (rig.ports[0], rig.ports[1]);
    for (of, want) in [(None, [true, false]), (Some(p0), [false, true]), (Some(p1), [true, false])]
    {
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
    assert_eq!(
        rig.cli("show classify tables"),
        "No classifier tables configured\n",
        "with their tables"
    );
}

/// A mask in hexadecimal may be of any length: vectors of zeros in front and behind don't count.
#[suite::test]
fn long_masks_compare_bytes_deep_in_a_packet() {
    let mut rig = routers(1);
    let mut bytes = packet(false, None, "10.0.0.1", (7, 8));
    bytes.resize(300, 0);
    (100..300).zip(1..).for_each(|(at, n): (usize, u8)| bytes[at] = n);
    let zeros = |n: usize| "00".repeat(n);
    let hex = |bytes: &[u8]| crate::words::to_hex(bytes);
    // 11 vectors are left out, 5 are compared, and the rest is zeros.
    rig.cli(&format!(
        "classify filter trace mask hex {}{}{} match hex {}",
        zeros(176),
        "ff".repeat(80),
        zeros(48),
        hex(&bytes)
    ));
    assert!(accepts(&mut rig, Purpose::Trace, &bytes));
    for at in [176, 200, 255] {
        let mut other = bytes.clone();
        other[at] ^= 1;
        assert!(!accepts(&mut rig, Purpose::Trace, &other), "byte {at}");
    }
    for at in [0, 175, 256, 299] {
        let mut other = bytes.clone();
        other[at] ^= 1;
        assert!(accepts(&mut rig, Purpose::Trace, &other), "byte {at} isn't compared");
    }
    // The same mask has the same table; another offset another one.
    bytes[180] ^= 0x55;
    rig.cli(&format!(
        "classify filter trace mask hex {}{} match hex {}",
        zeros(176),
        "ff".repeat(80),
        hex(&bytes)
    ));
    assert!(accepts(&mut rig, Purpose::Trace, &bytes));
    rig.cli(&format!("classify filter trace mask hex {}0f match hex {}0a", zeros(299), zeros(299)));
    let shown = rig.cli("show classify filter verbose");
    assert_eq!(shown.lines().last(), Some("packet tracer:                 0 1"));
    let (code, error) = rig.refused(&format!(
        "classify filter pcap mask hex {}{} match hex {}",
        zeros(176),
        "ff".repeat(81),
        hex(&bytes)
    ));
    assert_eq!(code, -7);
    assert!(error.contains("1 to 5 vectors of 16 bytes, not 6"), "{error}");
}

/// `pcap trace … filter` captures what the tables accept.
#[suite::test]
fn captures_follow_the_filter() {
    let mut rig = routers(2);
    assert!(rig.cli("show trace filter function").contains("(*) name:vnet_is_packet_traced"));
    let file = format!("/tmp/classify-{}.pcap", std::process::id());
    rig.cli(&format!("pcap trace rx filter file {file}"));
    rig.cli("classify filter pcap mask l4 src_port match l4 src_port 7");
    for port in [7, 9, 7] {
        rig.pass(0, &packet(false, None, "10.0.1.2", (port, 8)));
    }
    assert!(
        rig.cli("pcap trace status").contains("2 of 1000 packets"),
        "{}",
        rig.cli("pcap trace status")
    );
    rig.cli("pcap trace off");
    let bytes = std::fs::read(&file).expect("written");
    std::fs::remove_file(&file).expect("removed");
    let first = packet(false, None, "10.0.1.2", (7, 8));
    assert_eq!(bytes.windows(first.len()).filter(|window| *window == first).count(), 2);
}

/// Packets that the next poll brings, from the first loopback interface.
#[derive(Default)]
struct Feed(Mutex<Vec<Vec<u8>>>);

impl Shared for Feed {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

/// Brings them in.
struct FeedInput(Arc<Feed>);

#[derive(Next, Clone, Copy)]
enum To {
    #[next("ethernet-input")]
    Ethernet,
}

impl Build for FeedInput {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

impl Input for FeedInput {
    const NAME: &'static str = "feed-input";
    type Next = To;

    fn poll(&mut self, cx: &mut Cx<'_, false>) -> usize {
        let packets = std::mem::take(&mut *self.0.0.lock().expect("no panic"));
        for bytes in &packets {
            let mut b = cx.alloc().expect("a free buffer");
            b.rx_if = SwIfIndex(1).0;
            assert!(b.append_bytes(bytes, cx.cache()), "short enough");
            cx.emit(To::Ethernet, b);
        }
        packets.len()
    }
}

static FEED: Plugin = Plugin {
    name: "feed",
    state: &[StateDef::of::<Feed>()],
    nodes: &[NodeDef::input::<FeedInput>()],
    ..Plugin::EMPTY
};
static FED: &[&Plugin] = &[
    &interface::PLUGIN,
    &::ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &l2::PLUGIN,
    &::trace::PLUGIN,
    &PLUGIN,
    &FEED,
];

/// `trace add … filter` traces what the tables accept; without the word all packets are traced.
#[suite::test]
fn traces_follow_the_filter() {
    let mut bench = Bench::new(FED);
    bench.rt.receive();
    let input = bench.index("feed-input");
    bench.rt.set_input_mode(input, InputMode::Adaptive);
    let run =
        |bench: &mut Bench, line: &str| bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    run(&mut bench, "create loopback interface");
    run(&mut bench, "set interface state loop0 up");
    // Source ports of packets that were traced.
    let traced = |bench: &mut Bench| {
        let feed: Arc<Feed> = bench.world.get();
        let packets = [7, 9, 11].map(|port| packet(false, None, "10.0.1.2", (port, 53)));
        feed.0.lock().expect("no panic").extend(packets);
        bench.settle();
        let text = run(bench, "show trace");
        run(bench, "clear trace");
        [7, 9, 11]
            .into_iter()
            .filter(|port| text.contains(&format!("{port} -> 53")))
            .collect::<Vec<_>>()
    };
    run(&mut bench, "trace add feed-input 10 filter");
    assert_eq!(traced(&mut bench), [0; 0], "no filter accepts nothing");
    assert!(run(&mut bench, "show trace filter").contains("classify filter trace"));
    run(&mut bench, "classify filter trace mask l4 src_port match l4 src_port 9");
    run(&mut bench, "trace add feed-input 10 filter");
    assert_eq!(traced(&mut bench), [9]);
    // Sessions and tables that come later count too.
    run(&mut bench, "trace add feed-input 10 filter");
    run(&mut bench, "classify filter trace mask l4 src_port match l4 src_port 11");
    assert_eq!(traced(&mut bench), [9, 11]);
    run(&mut bench, "trace add feed-input 10");
    assert_eq!(traced(&mut bench), [7, 9, 11]);
    // An expression that decides counts, with the word and without.
    run(&mut bench, "set bpf trace filter udp src port 7");
    run(&mut bench, "trace add feed-input 10 filter");
    assert_eq!(traced(&mut bench), [7]);
    run(&mut bench, "set trace filter function vnet_is_packet_traced");
    run(&mut bench, "classify filter trace del");
    run(&mut bench, "trace add feed-input 10 filter");
    assert_eq!(traced(&mut bench), [0; 0]);
    run(&mut bench, "trace filter clear");
    run(&mut bench, "trace add feed-input 10");
    assert_eq!(traced(&mut bench), [7, 9, 11]);
}

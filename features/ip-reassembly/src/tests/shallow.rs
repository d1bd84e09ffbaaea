// SPDX-License-Identifier: Apache-2.0
use super::*;
use buffer::Field;
use graph::{Build, Cx, Next, Node, NodeDef, ThreadIndex, World};
use net::L4;
use std::sync::Mutex;
use testkit::pkt;
use wire::IpProtocol;

const NODE: &str = "ip4-sv-reassembly-feature";

/// A feature behind that reads what is known.
struct Reader(Arc<Read>, Field<L4>);

#[derive(Default)]
struct Read(Mutex<Vec<(u16, Option<L4>)>>);

impl ::graph::Shared for Read {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

#[derive(Next, Clone, Copy)]
enum To {
    #[free]
    Seen,
}

impl Build for Reader {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get(), world.field())
    }
}

impl Node for Reader {
    const NAME: &'static str = "reader";
    type Next = To;
    type Trace = ();
    fn packet<const TRACED: bool>(&mut self, b: &mut buffer::Buffer, _: &mut Cx<'_, TRACED>) -> To {
        let at = Ipv4Header::view(&b.data()[b.l3_at()..]).expect("a header").fragment_offset();
        let known = b.find_field(self.1);
        self.0.0.lock().expect("no panic").push((at as u16, known));
        To::Seen
    }
}

static READER: Plugin = Plugin {
    name: "reader",
    state: &[::graph::StateDef::of::<Read>()],
    nodes: &[NodeDef::of::<Reader>()],
    features: &[
        ::graph::Feature { arc: "ip4-unicast", node: "reader", before: &[], after: &[NODE] },
        ::graph::Feature {
            arc: "ip4-output",
            node: "reader",
            before: &[],
            after: &["ip4-sv-reassembly-output-feature"],
        },
    ],
    ..Plugin::EMPTY
};
static ALL: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &PLUGIN,
    &READER,
];

struct Rig {
    bench: Bench,
    sw_if: SwIfIndex,
}

impl Rig {
    fn new() -> Self {
        let mut bench = Bench::new(ALL);
        let sw_if = interface(&bench.world);
        run(&mut bench, "set interface virtual-reassembly t0 on");
        bench.world.set_feature("ip4-unicast", "reader", sw_if, true).expect("there");
        Self { bench, sw_if }
    }
}

fn tcp(id: u16) -> Vec<u8> {
    pkt::ip4("192.0.2.9", "198.51.100.7").id(id).tcp(1000, 2000).payload_len(3000).build()
}

/// Runs the graph from the start of the arc on, so that the reader sees the buffers themselves.
fn through(rig: &mut Rig, packets: &[Vec<u8>]) -> Vec<(u16, u16, bool)> {
    let node = rig.bench.index("ip4-input-no-checksum");
    for bytes in packets {
        let mut b = rig.bench.buffer(bytes);
        b.rx_if = rig.sw_if.0;
        rig.bench.rt.inject(node, b);
    }
    rig.bench.settle();
    let seen = std::mem::take(&mut *rig.bench.world.get::<Read>().0.lock().expect("no panic"));
    seen.into_iter()
        .map(|(at, l4)| {
            let l4 = l4.expect("something is known");
            assert_eq!(({ l4.dst_port }, { l4.offset }), (2000, 20));
            (at, l4.src_port, l4.later)
        })
        .collect()
}

#[suite::test]
fn later_fragments_know_the_ports_of_the_first() {
    let mut rig = Rig::new();
    let parts = cut(&tcp(1), 1480);
    assert_eq!(
        through(&mut rig, &parts),
        [(0, 1000, false), (1480, 1000, true), (2960, 1000, true)]
    );
    let whole = pkt::ip4("192.0.2.9", "198.51.100.7").udp(5, 2000).build();
    assert_eq!(through(&mut rig, &[whole]), [(0, 5, false)]);
    // The first comes last: the others wait for it.
    let mut parts = cut(&tcp(2), 1480);
    parts.rotate_left(1);
    assert_eq!(through(&mut rig, &parts[..2]), []);
    assert_eq!(
        through(&mut rig, &parts[2..]),
        [(0, 1000, false), (1480, 1000, true), (2960, 1000, true)]
    );
    // Once more, and again.
    assert_eq!(through(&mut rig, &parts).len(), 3);
}

#[suite::test]
fn flags_and_types_are_known() {
    let mut rig = Rig::new();
    let mut check = |packet: Vec<u8>, want: Option<L4>| {
        let mut b = rig.bench.buffer(&packet);
        b.rx_if = rig.sw_if.0;
        rig.bench.rt.inject(rig.bench.index("ip4-input-no-checksum"), b);
        rig.bench.settle();
        let seen = std::mem::take(&mut *rig.bench.world.get::<Read>().0.lock().expect("no panic"));
        assert_eq!(seen.first().and_then(|(_, l4)| *l4), want);
    };
    let ip = || pkt::ip4("192.0.2.9", "198.51.100.7");
    let echo = L4 { src_port: 77, dst_port: 77, offset: 20, protocol: 1, kind: 8, ..L4::default() };
    check(ip().icmp_echo(77, 1).build(), Some(echo));
    check(
        ip().protocol(IpProtocol::GRE).payload([0; 9]).build(),
        Some(L4 { offset: 20, protocol: 47, ..L4::default() }),
    );
    check(ip().protocol(IpProtocol::TCP).payload([0; 15]).build(), None);
    check(ip().protocol(IpProtocol::UDP).payload([0; 7]).build(), None);
}

#[suite::test]
fn what_would_cover_the_first_is_dropped() {
    let mut rig = Rig::new();
    let packet = tcp(3);
    // RFC 1858: a first fragment that doesn't hold the flags.
    assert_eq!(through(&mut rig, &[part(&packet, 0, 8), part(&packet, 16, 1480)]), []);
    let count = |rig: &Rig, reason| rig.bench.count(NODE, reason);
    assert_eq!((count(&rig, "reass_missing_upper"), count(&rig, "reass_given_up")), (1, 1));
    // RFC 3128: a later one that covers its header, before and after it.
    let packet = tcp(4);
    assert_eq!(through(&mut rig, &[part(&packet, 0, 1480), part(&packet, 16, 64)]).len(), 1);
    let packet = tcp(5);
    assert_eq!(through(&mut rig, &[part(&packet, 16, 64), part(&packet, 0, 1480)]), []);
    assert_eq!(count(&rig, "reass_overlapping_fragment"), 2);
    // The same datagram to other ports.
    let (packet, other) = (
        tcp(6),
        pkt::ip4("192.0.2.9", "198.51.100.7").id(6).tcp(1000, 22).payload_len(3000).build(),
    );
    assert_eq!(
        through(
            &mut rig,
            &[part(&packet, 0, 1480), part(&other, 0, 1480), part(&packet, 1480, 2960)]
        )
        .len(),
        1
    );
    assert_eq!(count(&rig, "reass_given_up"), 3);
}

#[suite::test]
fn what_waits_goes_in_time_and_in_number() {
    let mut rig = Rig::new();
    assert_eq!(through(&mut rig, &[part(&tcp(7), 1480, 2960)]), []);
    pass(&mut rig.bench, 1500);
    assert_eq!(rig.bench.count(NODE, "reass_timeout"), 1);
    run(&mut rig.bench, "set ip4-sv-reassembly max-reassembly-length 2 max-reassemblies 3");
    let later: Vec<_> = (3..6).map(|i| part(&tcp(8), i * 80, i * 80 + 80)).collect();
    assert_eq!(through(&mut rig, &later), []);
    assert_eq!(rig.bench.count(NODE, "reass_fragment_chain_too_long"), 1);
    let many: Vec<_> = (20..30).map(|id| part(&tcp(id), 1480, 2960)).collect();
    assert_eq!(through(&mut rig, &many), []);
    assert_eq!(rig.bench.count(NODE, "reass_limit_reached"), 7);
    let shown = run(&mut rig.bench, "show ip4-sv-reassembly details");
    assert!(
        shown.contains("shallow virtual IP4 reassemblies count: 3\n") && shown.contains("  29  "),
        "{shown}"
    );
    // 0 is no limit.
    run(&mut rig.bench, "set ip4-sv-reassembly max-reassemblies 0");
    assert_eq!(through(&mut rig, &many), []);
    let under_way =
        |rig: &Rig| crate::control::under_way(&rig.bench.world, crate::Kind::Shallow, false);
    assert_eq!(under_way(&rig), 10);
    // All timers run at once after the clock has been moved.
    rig.bench.world.clock.adjust(1_500_000_000);
    rig.bench.rt.tick_now();
    assert_eq!((under_way(&rig), rig.bench.count(NODE, "reass_timeout")), (0, 11));
}

/// Another host's fragments wait in any number; they take room from one another.
#[suite::test]
fn a_datagram_that_holds_no_fragment_makes_no_room() {
    let mut rig = Rig::new();
    run(&mut rig.bench, "set ip4-sv-reassembly timeout 60000 max-reassemblies 0");
    let packet = tcp(3);
    assert_eq!(through(&mut rig, &[part(&packet, 0, 1480)]), [(0, 1000, false)]);
    let waiting: Vec<_> = (100..1700).map(|id| part(&tcp(id), 1480, 2960)).collect();
    assert_eq!(through(&mut rig, &waiting), []);
    assert!(rig.bench.count(NODE, "reass_limit_reached") > 100);
    assert_eq!(through(&mut rig, &[part(&packet, 1480, 2960)]), [(1480, 1000, true)]);
}

/// A lower limit is reached step by step: one fragment ends a few datagrams.
#[suite::test]
fn a_fragment_ends_few_others() {
    let mut rig = Rig::new();
    run(&mut rig.bench, "set ip4-sv-reassembly timeout 60000 max-reassemblies 0");
    let firsts: Vec<_> = (100..300).map(|id| part(&tcp(id), 0, 1480)).collect();
    assert_eq!(through(&mut rig, &firsts).len(), 200);
    run(&mut rig.bench, "set ip4-sv-reassembly max-reassemblies 3");
    let under_way =
        |rig: &Rig| crate::control::under_way(&rig.bench.world, crate::Kind::Shallow, false);
    let mut before = under_way(&rig);
    for id in 400..420 {
        through(&mut rig, &[part(&tcp(id), 0, 1480)]);
        let now = under_way(&rig);
        assert!(now < before && before - now <= 16 || now == 3, "{before} {now}");
        before = now;
    }
    assert_eq!(before, 3);
}

#[suite::test]
fn fragments_of_odd_length_pass() {
    let mut rig = Rig::new();
    let packet = tcp(40);
    let parts = [part(&packet, 0, 1477), part(&packet, 1480, 2953)];
    assert_eq!(through(&mut rig, &parts), [(0, 1000, false), (1480, 1000, true)]);
    // An overlap with the first fragment still ends the datagram.
    assert_eq!(through(&mut rig, &[part(&packet, 1472, 2960)]), []);
    assert_eq!(rig.bench.count(NODE, "reass_overlapping_fragment"), 1);
}

#[suite::test]
fn extended_reassembly_waits_for_the_last_fragment_too() {
    let mut rig = Rig::new();
    run(&mut rig.bench, "set ip reassembly extended ip4 on");
    let parts = cut(&tcp(41), 1480);
    assert_eq!(through(&mut rig, &[parts[1].clone(), parts[0].clone(), parts[0].clone()]), []);
    let all = [(2960, 1000, true), (1480, 1000, true), (0, 1000, false), (0, 1000, false)];
    assert_eq!(through(&mut rig, &parts[2..]), all);
    assert_eq!(through(&mut rig, &parts[1..2]), [(1480, 1000, true)]);
    run(&mut rig.bench, "set ip reassembly extended ip4 off");
    assert_eq!(through(&mut rig, &cut(&tcp(42), 1480)[..1]), [(0, 1000, false)]);
}

#[suite::test]
fn packets_that_leave_are_known_behind_their_layer_2_header() {
    let mut rig = Rig::new();
    let world = rig.bench.world.clone();
    for feature in ["ip4-sv-reassembly-output-feature", "reader"] {
        world.set_feature("ip4-output", feature, rig.sw_if, true).expect("there");
    }
    world.set_feature("ip4-unicast", "reader", rig.sw_if, false).expect("there");
    run(&mut rig.bench, "set interface state t0 up");
    let new = net::Neighbor::new(
        rig.sw_if,
        std::net::IpAddr::from([10, 0, 0, 9]),
        MacAddr([2, 0, 0, 0, 0, 9]),
    );
    world.get::<net::Neighbors>().set(&world, new).expect("set");
    let packet = pkt::ip4("192.0.2.9", "10.0.0.9").id(8).tcp(1000, 2000).payload_len(3000).build();
    let mut parts = cut(&packet, 1480);
    parts.reverse();
    assert_eq!(
        through(&mut rig, &parts),
        [(0, 1000, false), (2960, 1000, true), (1480, 1000, true)]
    );
}

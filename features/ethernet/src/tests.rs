// SPDX-License-Identifier: Apache-2.0
mod vlan;

use crate::{PLUGIN, loopback, register_ethertype, register_l2};
use buffer::Flags;
use graph::drive::Bench;
use graph::{ArcDef, Plugin, SwIfIndex, World, WorldConfig};
use net::{IfCounters, Interfaces, L2Role, MtuKind};
use startup::Cursor;
use startup::Source;
use startup::text::tokens;
use std::collections::BTreeMap;
use std::sync::Arc;
use testkit::mutate::Mutator;
use wire::{EtherType, MacAddr};

/// The arc of received frames, which another feature brings in the daemon.
static ARC: Plugin = Plugin {
    name: "arc",
    arcs: &[ArcDef { name: "device-input", starts: &[], end: "ethernet-input" }],
    ..Plugin::EMPTY
};

static PLUGINS: &[&Plugin] = &[&net::drive::STATE, &ARC, &PLUGIN];
const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

fn bench() -> (Bench, SwIfIndex) {
    let bench = Bench::new(PLUGINS);
    bench.world.add_node("taker", |_, _| Receiver).expect("room");
    register_ethertype(&bench.world, EtherType::IP4, "taker").expect("free");
    register_ethertype(&bench.world, EtherType::ARP, "ethernet-input").expect("free");
    let sw_if = loopback::create(&bench.world, Some(OWN), None).expect("created");
    (bench, sw_if)
}

struct Receiver;
#[derive(graph::Next, Clone, Copy)]
enum To {
    #[free]
    Gone,
}
impl graph::Node for Receiver {
    const NAME: &'static str = "taker";
    type Next = To;
    type Trace = ();
    fn packet<const TRACED: bool>(
        &mut self,
        _: &mut buffer::Buffer,
        _: &mut graph::Cx<'_, TRACED>,
    ) -> To {
        To::Gone
    }
}

fn frame(destination: [u8; 6], ethertype: u16) -> Vec<u8> {
    let mut bytes = destination.to_vec();
    bytes.extend([2, 0, 0, 0, 0, 9]);
    bytes.extend(ethertype.to_be_bytes());
    bytes.extend(0..46);
    bytes
}

#[suite::test]
fn frames_go_to_their_type_or_are_dropped_by_name() {
    let (mut bench, sw_if) = bench();
    let up = |bench: &Bench, on| {
        bench.world.get::<Interfaces>().set_admin(&bench.world, sw_if, on).expect("set")
    };
    let cases = [
        (frame(OWN.0, 0x0800), "taker", None),
        (frame([0xff; 6], 0x0800), "taker", None),
        (frame([1, 0, 0x5e, 0, 0, 1], 0x0800), "taker", None),
        (
            frame([2, 0, 0, 0, 0, 7], 0x0800),
            "error-drop",
            Some("destination MAC address is another host's"),
        ),
        (frame(OWN.0, 0x8100), "error-drop", Some("no sub-interface takes this VLAN")),
        (frame(OWN.0, 0x88cc), "error-drop", Some("no feature takes this Ethernet type")),
        (frame(OWN.0, 46), "llc-input", None),
        (vec![0xff; 13], "error-drop", Some("frame is shorter than an Ethernet header")),
    ];
    let down = bench.node("ethernet-input", &[cases[0].0.clone()], |b| b.rx_if = sw_if.0);
    assert_eq!(down[0].reason, Some("interface is down"));
    up(&bench, true);
    for (bytes, node, reason) in &cases {
        // One packet takes the small path, twenty the staged one.
        for n in [1, 20] {
            let out = bench.node("ethernet-input", &vec![bytes.clone(); n], |b| b.rx_if = sw_if.0);
            assert_eq!(out.len(), n);
            for o in out {
                assert_eq!((o.node.as_str(), o.reason), (*node, *reason));
                // 802.3 frames start at their length.
                let behind = if *node == "taker" { 14 } else { 12 };
                let behind = if reason.is_none() { behind } else { 0 };
                assert_eq!(o.bytes, bytes[behind..]);
            }
        }
    }
}

/// All frames of an interface in layer-2 mode go to the registered node, whole.
#[suite::test]
fn frames_of_switched_interfaces_are_given_away_as_they_are() {
    let (mut bench, sw_if) = bench();
    let interfaces = bench.world.get::<Interfaces>();
    assert!(register_l2(&bench.world, "nowhere").is_err());
    register_l2(&bench.world, "taker").expect("free");
    assert!(
        register_l2(&bench.world, "ethernet-input").expect_err("taken").contains("taken by taker")
    );
    let frames = [
        frame(OWN.0, 0x0800),
        frame([2, 0, 0, 0, 0, 7], 0x8100),
        frame([0xff; 6], 46),
        vec![0xff; 14],
    ];
    interfaces.set_l2(&bench.world, sw_if, L2Role::Port).expect("set");
    let down = bench.node("ethernet-input", &[frames[0].clone()], |b| b.rx_if = sw_if.0);
    assert_eq!(down[0].reason, Some("interface is down"));
    interfaces.set_admin(&bench.world, sw_if, true).expect("up");
    for bytes in &frames {
        for n in [1, 20] {
            let out = bench.node("ethernet-input", &vec![bytes.clone(); n], |b| b.rx_if = sw_if.0);
            assert_eq!(out.len(), n);
            assert!(out.iter().all(|o| (o.node.as_str(), &o.bytes) == ("taker", bytes)), "{out:?}");
        }
    }
    let short = bench.node("ethernet-input", &[vec![0xff; 13]], |b| b.rx_if = sw_if.0);
    assert_eq!(short[0].reason, Some("frame is shorter than an Ethernet header"));
    // A frame sent by a BVI is switched; a frame received on it is not.
    interfaces.set_l2(&bench.world, sw_if, L2Role::Bvi).expect("set");
    let sent = bench.node("loop0-tx", &[frames[1].clone()], |_| {});
    assert_eq!(
        (sent[0].node.as_str(), &sent[0].bytes, sent[0].rx_if),
        ("taker", &frames[1], sw_if.0)
    );
    let received = bench.node("ethernet-input", &[frames[1].clone()], |b| b.rx_if = sw_if.0);
    assert_eq!(received[0].reason, Some("destination MAC address is another host's"));
    interfaces.set_l2(&bench.world, sw_if, L2Role::None).expect("set");
    let sent = bench.node("loop0-tx", &[frames[1].clone()], |_| {});
    assert_eq!(sent[0].node, "ethernet-input");
}

#[suite::test]
fn a_tag_with_a_priority_alone_is_taken_off() {
    let (mut bench, sw_if) = bench();
    bench.world.get::<Interfaces>().set_admin(&bench.world, sw_if, true).expect("up");
    let tagged = |tci: u16, ethertype: u16| {
        let mut bytes = frame(OWN.0, ethertype);
        bytes.splice(12..12, [0x8100_u16, tci].into_iter().flat_map(u16::to_be_bytes));
        bytes
    };
    // Priority and drop eligible bits may have any value.
    for tci in [0, 0xf000] {
        for n in [1, 20] {
            let mut headers = Vec::new();
            let frames = vec![tagged(tci, 0x0800); n];
            for o in bench.node("ethernet-input", &frames, |b| b.rx_if = sw_if.0) {
                headers.push((o.node, o.bytes));
            }
            assert_eq!(
                headers,
                vec![("taker".to_string(), frame(OWN.0, 0x0800)[14..].to_vec()); n]
            );
        }
    }
    let mut one = |bytes: Vec<u8>| {
        let out = bench.node("ethernet-input", &[bytes], |b| b.rx_if = sw_if.0);
        out.into_iter().next().and_then(|o| o.reason)
    };
    assert_eq!(one(tagged(0, 0x88cc)), Some("no feature takes this Ethernet type"));
    for bytes in [
        tagged(1, 0x0800),
        tagged(0x100, 0x0800),
        tagged(0, 0x8100),
        tagged(0, 0x0800)[..17].to_vec(),
    ] {
        assert_eq!(one(bytes), Some("no sub-interface takes this VLAN"));
    }
}

/// Counters of a node, by their names in the statistics segment.
fn counted(bench: &Bench, node: &str) -> BTreeMap<String, u64> {
    let prefix = format!("/err/{node}/");
    let reader = stats::Reader::new(&bench.world.stats).expect("a segment");
    let all = reader.read(|name| name.starts_with(&prefix)).expect("readable").into_iter();
    all.map(|stat| (stat.name[prefix.len()..].to_string(), stat.value.total())).collect()
}

#[suite::test]
fn frames_are_counted_under_the_names_that_monitoring_systems_know() {
    let (mut bench, sw_if) = bench();
    let interfaces: Arc<Interfaces> = bench.world.get();
    let others = [2, 0, 0, 0, 0, 7];
    let group = [1, 0, 0x5e, 0, 0, 1];
    let frames = [
        (frame(OWN.0, 0x0800), 9),
        (frame(group, 0x0800), 8),
        (frame([0xff; 6], 0x0800), 7),
        (frame(others, 0x0800), 6),
        (frame(OWN.0, 0x8100), 5),
        (frame(group, 0x88cc), 4),
        (frame([0xff; 6], 46), 3),
        (frame(OWN.0, 0x0800)[..13].to_vec(), 2),
    ];
    interfaces.set_admin(&bench.world, sw_if, true).expect("up");
    let mut taken = Vec::new();
    for (frame, n) in &frames {
        let out = bench.node("loop0-tx", &vec![frame.clone(); *n], |_| {});
        assert!(out.iter().all(|o| o.node == "ethernet-input" && o.bytes == *frame), "{out:?}");
        let out = bench.node("ethernet-input", &vec![frame.clone(); *n], |b| b.rx_if = sw_if.0);
        taken.extend(out.into_iter().filter(|o| o.reason.is_none()));
    }
    let (llc, taken): (Vec<_>, Vec<_>) = taken.into_iter().partition(|o| o.node == "llc-input");
    assert_eq!((llc.len(), taken.len()), (3, 9 + 8 + 7));
    assert!(taken.iter().all(|o| o.node == "taker" && o.bytes == frames[0].0[14..]), "{taken:?}");
    interfaces.set_admin(&bench.world, sw_if, false).expect("down");
    drop(bench.node("ethernet-input", &[frames[0].0.clone()], |b| b.rx_if = sw_if.0));
    let want = [
        ("no error", 0),
        ("too_short", 2),
        ("subinterface down", 1),
        ("l3 mac mismatch", 6),
        ("unknown vlan", 5),
        ("unknown ethernet type", 4),
    ];
    let want: BTreeMap<_, _> = want.map(|(name, n)| (name.to_string(), n)).into();
    assert_eq!(counted(&bench, "ethernet-input"), want);
    // Whomever they are for, frames that come in are counted by the kind of their destination.
    let counters: Arc<IfCounters> = bench.world.get();
    let (at, len) = (sw_if.at(), frames[0].0.len() as u64);
    let frames = |n: u64| (n, n * len);
    let unicast = (9 + 6 + 5 + 2, (9 + 6 + 5) * len + 2 * 13);
    let want = [
        ("rx", (unicast.0 + 22, unicast.1 + 22 * len)),
        ("rx-unicast", unicast),
        ("rx-multicast", frames(8 + 4)),
        ("rx-broadcast", frames(7 + 3)),
    ];
    for (name, counter) in counters.combined() {
        let want = want.iter().find(|(known, _)| *known == name).map_or((0, 0), |(_, n)| *n);
        assert_eq!(counter.sum(at), want, "{name}");
    }
    for (name, counter) in counters.simple() {
        assert_eq!(counter.sum(at), 0, "{name}: of other nodes");
    }
}

#[suite::test]
fn a_loopback_counts_what_comes_back_by_its_destination() {
    let (mut bench, _) = bench();
    let sw_if = crate::loopback::create(&bench.world, None, Some(7)).expect("made");
    bench.rt.receive();
    for (destination, n) in [([2, 0, 0, 0, 0, 7], 40), ([0xff; 6], 3), ([1, 0, 0x5e, 0, 0, 1], 20)]
    {
        drop(bench.node("loop7-tx", &vec![frame(destination, 0x88cc); n], |_| {}));
    }
    drop(bench.node("loop7-tx", &[Vec::new()], |_| {}));
    let counters: Arc<IfCounters> = bench.world.get();
    let counts = counters.combined().map(|(name, counter)| (name, counter.sum(sw_if.at())));
    let sixty = |n| (n, n * 60);
    assert_eq!(
        counts[..4],
        [
            ("rx", (64, 63 * 60)),
            ("rx-unicast", (41, 40 * 60)),
            ("rx-multicast", sixty(20)),
            ("rx-broadcast", sixty(3))
        ]
    );
}

#[suite::test]
fn a_type_has_one_taker() {
    let (bench, _) = bench();
    let error =
        register_ethertype(&bench.world, EtherType::IP4, "ethernet-input").expect_err("taken");
    assert!(error.contains("taken by taker"), "{error}");
    assert!(register_ethertype(&bench.world, EtherType::IP6, "nowhere").is_err());
}

#[suite::test]
fn small_and_staged_agree_on_mutated_frames() {
    let (mut bench, sw_if) = bench();
    bench.world.get::<Interfaces>().set_admin(&bench.world, sw_if, true).expect("up");
    let bases = [frame(OWN.0, 0x0800), frame([0xff; 6], 0x0806), frame(OWN.0, 0x8100)];
    small_and_staged_agree(&mut bench, sw_if, &bases);
}

/// Sends mutated frames as vectors and one by one: the same has to come of them.
fn small_and_staged_agree(bench: &mut Bench, sw_if: SwIfIndex, bases: &[Vec<u8>]) {
    let mut mutator = Mutator::new(7);
    for _ in 0..200 {
        let frames = mutator.frames(bases, 16, 2000);
        let key = |o: &graph::drive::Outcome| (o.node.clone(), o.bytes.clone(), o.rx_if);
        let mut staged = bench.node("ethernet-input", &frames, |b| b.rx_if = sw_if.0);
        let mut small: Vec<_> = frames
            .iter()
            .flat_map(|f| {
                bench.node("ethernet-input", std::slice::from_ref(f), |b| b.rx_if = sw_if.0)
            })
            .collect();
        staged.sort_by_key(key);
        small.sort_by_key(key);
        assert_eq!(staged, small);
    }
}

#[suite::test]
fn loopbacks_return_what_they_are_sent() {
    let (mut bench, sw_if) = bench();
    bench.world.get::<Interfaces>().set_admin(&bench.world, sw_if, true).expect("up");
    bench.send("loop0-tx", &frame([2, 9, 9, 9, 9, 9], 0x0800), |b| b.flags.remove(Flags::TRACED));
    assert_eq!(bench.count("ethernet-input", "l3 mac mismatch"), 1);
    assert_eq!(bench.world.get::<IfCounters>().rx.sum(sw_if.at()), (1, 60));
    assert!(loopback::create(&bench.world, None, Some(0)).is_err());
    loopback::delete(&bench.world, sw_if).expect("deleted");
    assert_eq!(loopback::create(&bench.world, None, None).ok(), Some(sw_if));
}

#[suite::test]
fn loopbacks_have_the_mtu_of_startup_conf() {
    let source = Source::file("startup.conf", "{ default-mtu 1400 }");
    let tokens = tokens(&source).expect("braces in pairs");
    let mut startup = startup::Values::new(PLUGIN.startup);
    startup.read("ethernet", &mut Cursor::new(&source, &tokens)).expect("declared").expect("right");
    for (startup, mtu) in [(startup, 1400), (startup::Values::default(), 9000)] {
        let config = WorldConfig { buffers: 63, startup, ..WorldConfig::default() };
        let (world, _runtimes) = World::new(&config, PLUGINS).expect("an instance");
        let sw_if = loopback::create(&world, None, None).expect("created");
        let made = world.get::<Interfaces>().get(sw_if).expect("it is there");
        assert_eq!(made.mtu_of(MtuKind::Link), mtu);
    }
}

#[suite::test]
fn the_binary_api_makes_and_deletes_loopbacks() {
    use crate::api::*;
    use net::api::{InterfaceIndex, MacAddress};
    let (mut bench, sw_if) = bench();
    let mut client = bench.api();
    let own = MacAddress::default();
    let first = client.call(CreateLoopback { mac_address: own }).expect("made").sw_if_index;
    let instance = |is_specified, user_instance| CreateLoopbackInstance {
        mac_address: MacAddress([2, 0, 0, 0, 0, 7]),
        is_specified,
        user_instance,
    };
    let ninth = client.call(instance(true, 9)).expect("made").sw_if_index;
    let second = client.call(instance(false, 9)).expect("made").sw_if_index;
    assert_eq!(client.call(instance(true, 9)).err(), Some(-31));
    assert_eq!(client.call(CreateLoopback { mac_address: MacAddress([0xff; 6]) }).err(), Some(-7));
    let interfaces = bench.world.get::<Interfaces>();
    let shown = [first, ninth, second].map(|i| {
        let i = interfaces.get(SwIfIndex(i.0)).expect("there");
        format!("{} {}", i.name, i.mac)
    });
    let want = ["loop1 de:ad:00:00:00:01", "loop9 02:00:00:00:00:07", "loop2 02:00:00:00:00:07"];
    assert_eq!(shown, want);
    assert_eq!(client.call(DeleteLoopback { sw_if_index: ninth }), Ok(()));
    for gone in [ninth, InterfaceIndex(0)] {
        assert_eq!(client.call(DeleteLoopback { sw_if_index: gone }), Err(-2));
    }
    drop(client);
    let error = bench.cli("delete loopback interface intfc loop9").expect_err("it is gone");
    assert!(error.to_string().contains("loop9"), "{error}");
    bench
        .cli(&format!("delete loopback interface intfc {}", interfaces.name(sw_if)))
        .expect("still there");
}

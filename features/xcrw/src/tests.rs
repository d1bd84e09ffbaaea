// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use buffer::Flags;
use graph::Plugin;
use graph::drive::Bench;
use l2::{Bridge, Mode};
use net::drive::{Rig, at, port_mac};
use net::{Interfaces, Neighbor, Neighbors};
use testkit::mutate::Mutator;
use testkit::pkt;
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &l2::PLUGIN,
    &PLUGIN,
];

const NEIGHBOR: MacAddr = MacAddr([2, 0xaa, 0, 0, 0, 9]);
const NONE: &str = "no cross-connects with rewrite";

/// A frame of `len` bytes that all differ with `n`.
fn frame(len: usize, n: u8) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(7).wrapping_add(n)).collect()
}

/// The header of a UDP tunnel to 192.0.2.9 or 2001:db8:9::9, as an operator gives it.
fn outer(v6: bool, ttl: u8) -> Vec<u8> {
    let ip = if v6 {
        pkt::ip6("2001:db8::1", "2001:db8:9::9")
    } else {
        pkt::ip4("10.0.0.1", "192.0.2.9")
    };
    let len = if v6 { 48 } else { 28 };
    ip.ttl(ttl).udp(5, 4789).build()[..len].to_vec()
}

fn hex(bytes: &[u8]) -> String {
    crate::cli::to_hex(bytes)
}

/// Ports of which `p1` and `p2` have addresses and the same neighbour: `p1` in the first tables,
/// `p2` in tables 7. The tunnel's far end is behind `p1` in the first tables, and behind `p2` in
/// the others.
fn rig() -> Rig {
    let mut rig = Rig::new(PLUGINS, 4);
    for line in [
        "ip table add 7",
        "ip6 table add 7",
        "set interface ip table p2 7",
        "set interface ip6 table p2 7",
        "set interface ip address p1 10.0.1.1/24",
        "set interface ip address p1 2001:db8:1::1/64",
        "set interface ip address p2 10.0.2.1/24",
        "set interface ip address p2 2001:db8:2::1/64",
        "ip route add 192.0.2.0/24 via 10.0.1.2 p1",
        "ip route add 2001:db8:9::/64 via 2001:db8:1::2 p1",
        "ip route add table 7 192.0.2.0/24 via 10.0.2.2 p2",
        "ip route add table 7 2001:db8:9::/64 via 2001:db8:2::2 p2",
    ] {
        rig.cli(line);
    }
    let world = rig.world();
    for (i, hops) in [(1, ["10.0.1.2", "2001:db8:1::2"]), (2, ["10.0.2.2", "2001:db8:2::2"])] {
        for hop in hops {
            let known = Neighbor::new(rig.ports[i], hop.parse().expect("an address"), NEIGHBOR);
            world.get::<Neighbors>().set(&world, known).expect("set");
        }
    }
    rig.sent();
    rig
}

/// A frame as it leaves by a port behind the outer header, whose TTL or hop limit is one less.
fn carried(v6: bool, port: usize, frame: &[u8]) -> Vec<u8> {
    let ethertype: [u8; 2] = if v6 { [0x86, 0xdd] } else { [8, 0] };
    [&NEIGHBOR.octets()[..], &port_mac(port).octets(), &ethertype, &outer(v6, 63), frame].concat()
}

#[suite::test]
fn frames_are_carried_by_packets() {
    for v6 in [false, true] {
        let mut rig = rig();
        let (node, ipv6) = if v6 { ("ip6-lookup", " ipv6") } else { ("ip4-lookup", "") };
        let rw = hex(&outer(v6, 64));
        for (table, port) in [("".into(), 1), (format!("tx-fib-id 7{ipv6}"), 2), ("".into(), 1)] {
            rig.cli(&format!("set interface l2 xcrw p0 next {node} {table} rw {rw}"));
            // To other hosts, to groups, tagged: all of them.
            for (n, len) in [14, 60, 200, 1400].into_iter().enumerate() {
                let mut group = frame(len, n as u8);
                group[..6].copy_from_slice(&MacAddr::BROADCAST.octets());
                for one in [frame(len, n as u8), group] {
                    assert_eq!(
                        rig.pass(0, &one),
                        at(&[port], &carried(v6, port, &one)),
                        "{table} {len}"
                    );
                }
            }
            let all: Vec<_> = (0..200).map(|n| frame(300, n)).collect();
            let mut want: Vec<_> =
                all.iter().flat_map(|one| at(&[port], &carried(v6, port, one))).collect();
            want.sort();
            assert_eq!(rig.pass_all(0, &all), want);
        }
        assert_eq!(rig.count("l2-xcrw", "Packets forwarded"), 3 * 208);
        assert_eq!(rig.pass(3, &frame(60, 1)), [], "p3 routes");
    }
}

/// To the output of an interface: a tag or a header of a backbone bridge, for example.
#[suite::test]
fn frames_leave_by_an_output_and_of_a_sub_interface() {
    let mut rig = rig();
    rig.cli("create sub-interfaces p0 100");
    rig.cli("set interface state p0.100 up");
    rig.cli("set interface l2 xcrw p0.100 next p3-output rw 0102030405060708090a0b0c88e7");
    let mut one = frame(100, 5);
    one[12..16].copy_from_slice(&[0x81, 0, 0, 100]);
    let want = [&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x88, 0xe7][..], &one].concat();
    assert_eq!(rig.pass(0, &one), at(&[3], &want));
    // Tags are rewritten before.
    rig.cli("set interface l2 tag-rewrite p0.100 pop 1");
    let want = [&want[..14], &one[..12], &one[16..]].concat();
    assert_eq!(rig.pass(0, &one), at(&[3], &want));
    // The frame comes back a byte longer each time, until it has no room.
    rig.cli("set interface l2 xcrw p3 next ethernet-input rw 01");
    assert_eq!(rig.pass(3, &frame(100, 6)), []);
    assert_eq!(rig.count("l2-xcrw", "no_headroom"), 1);
    rig.cli("set interface l2 xcrw p3 next error-drop rw 01");
    assert_eq!(rig.pass(3, &frame(100, 6)), []);
}

#[suite::test]
fn offloads_are_done_before() {
    let mut rig = rig();
    rig.cli("set interface l2 xcrw p0 next p3-output rw 0102");
    let whole = pkt::ether(NEIGHBOR, port_mac(0))
        .ip4("10.0.0.5", "10.0.0.6")
        .udp(7, 8)
        .payload(b"sum")
        .build();
    let mut partial = whole.clone();
    let sum = !wire::checksum::Sum::of(&[10, 0, 0, 5, 10, 0, 0, 6, 0, 17, 0, 11]).finish();
    partial[40..42].copy_from_slice(&sum.to_be_bytes());
    let send = |rig: &mut Rig, flags: Flags| {
        rig.bench.arrive_as(rig.ports[0], &partial, |b| {
            b.flags.insert(flags);
            (b.offload.csum_start, b.offload.csum_offset, b.offload.gso_size) = (34, 6, 100);
        });
        rig.bench.settle();
        rig.sent()
    };
    assert_eq!(send(&mut rig, Flags::CSUM_PARTIAL), at(&[3], &[&[1, 2][..], &whole].concat()));
    assert_eq!(send(&mut rig, Flags::CSUM_PARTIAL.union(Flags::GSO)), []);
    assert_eq!(rig.count("l2-xcrw", "super"), 1);
}

/// Metadata of the frame isn't kept: it isn't true of the packet that carries it.
#[suite::test]
fn what_is_known_of_the_frame_is_forgotten() {
    let mut rig = rig();
    rig.cli("ip table add 9");
    rig.cli("set interface l2 xcrw p0 next ip4-lookup tx-fib-id 9 rw 4500");
    let world = rig.world();
    let l4 = world.field::<net::L4>();
    let sink = world.get::<Interfaces>().find("xcrw0").expect("made");
    let of_frame = [
        Flags::LOCAL,
        Flags::L4_CSUM_OK,
        Flags::IP4_CSUM_OK,
        Flags::VLAN,
        Flags::L2_BROADCAST,
        Flags::L2_MULTICAST,
        // Its offsets lie behind the end of the frame, but not of a longer packet.
        Flags::CSUM_PARTIAL,
    ];
    let (node, next) = (rig.bench.index("l2-xcrw"), rig.bench.index("ip4-lookup"));
    for table in [true, false] {
        rig.bench.rt.receive();
        let mut b = rig.bench.buffer(&frame(60, 1));
        (b.rx_if, b.tx_if) = (rig.ports[0].0, sink.0);
        of_frame.into_iter().for_each(|flag| b.flags.insert(flag));
        // As another table's route may have left it.
        b.flags.insert(Flags::TABLE);
        (b.offload.csum_start, b.offload.csum_offset) = (59, 2);
        b.set_field(l4, net::L4 { src_port: 7, ..net::L4::default() });
        rig.bench.rt.inject(node, b);
        rig.bench.rt.run_node(node);
        let went: Vec<_> = rig.bench.rt.waiting(next).into_iter().collect();
        let [b] = &went[..] else { panic!("{} packets", went.len()) };
        assert_eq!(b.data(), [&[0x45, 0][..], &frame(60, 1)].concat());
        let left: Vec<_> = (0..of_frame.len()).filter(|i| b.flags.contains(of_frame[*i])).collect();
        assert_eq!((left, b.flags.contains(Flags::TABLE)), (vec![], table));
        assert!(b.find_field(l4).is_none());
        went.into_iter().for_each(|b| rig.bench.rt.cache().free(b));
        rig.cli("set interface l2 xcrw p0 next ip4-lookup rw 4500");
    }
}

#[suite::test]
fn commands_show_refuse_and_save() {
    let mut rig = rig();
    assert_eq!(rig.cli("show l2xcrw").trim_end(), NONE);
    rig.cli("set interface l2 xcrw p0 next ip4-lookup tx-fib-id 7 rw 4500");
    rig.cli("set interface l2 xcrw p3 next ip6-lookup tx-fib-id 7 ipv6 rw 60 instance 5");
    let shown = "p0 -> xcrw0 next ip4-lookup tx-fib-id 7 rw 4500\n\
                 p3 -> xcrw5 next ip6-lookup tx-fib-id 7 ipv6 rw 60\n";
    assert_eq!(rig.cli("show l2xcrw"), shown);
    assert!(rig.cli("show l2xcrw -j").contains("\"rewrite\""));
    assert!(rig.cli("show mode p0").contains("l2 xconnect p0 xcrw0"));
    let config = |rig: &Rig| {
        let all = rig.world().running_config().into_iter().map(|line| line.text);
        all.filter(|line| line.contains("xcrw") || line.contains("xconnect")).collect::<Vec<_>>()
    };
    let want = [
        "set interface l2 xcrw p0 next ip4-lookup tx-fib-id 7 rw 4500 instance 0",
        "set interface l2 xcrw p3 next ip6-lookup tx-fib-id 7 ipv6 rw 60 instance 5",
    ];
    assert_eq!(config(&rig), want);
    let long = "00".repeat(129);
    for (line, want) in [
        ("p9 next ip4-lookup rw 45", "p9"),
        ("p1 next nowhere rw 45", "is no node"),
        ("p1 next l2-fwd rw 45", "takes no packets"),
        ("p1 next xcrw0-output rw 45", "takes no packets"),
        ("p0 next xcrw0-output rw 45", "takes no packets"),
        ("p0 next xcrw5-output rw 45", "takes no packets"),
        ("p1 next ip4-lookup", "`rw' is missing"),
        ("p1 rw 45", "`next' is missing"),
        ("p1 next ip4-lookup rw 4", "hexadecimal"),
        ("p1 next ip4-lookup rw 4g", "hexadecimal"),
        ("p1 next ip4-lookup tx-fib-id 99 rw 45", "99"),
        (&format!("p1 next ip4-lookup rw {long}"), "1 to 128 bytes"),
        ("p1 next ip4-lookup rw 45 instance 5", "xcrw5"),
        ("p0 next ip4-lookup rw 45 instance 5", "xcrw0"),
        ("p1 del", "no cross-connect with rewrite"),
        ("local0 next ip4-lookup rw 45", "carries no Ethernet frames"),
    ] {
        let (_, why) = rig.refused(&format!("set interface l2 xcrw {line}"));
        assert!(why.contains(want), "{line}: {why}");
    }
    assert_eq!(
        (rig.cli("show l2xcrw"), config(&rig)),
        (shown.into(), want.map(String::from).to_vec())
    );
    for line in ["set interface ip address xcrw0 10.0.9.1/24", "create sub-interfaces xcrw0 5"] {
        rig.refused(line);
    }
    rig.cli("set interface state xcrw0 down");
    assert!(config(&rig).contains(&"set interface state xcrw0 down".to_string()));
}

/// The saved configuration makes interfaces by index, so `xcrwN` comes behind the one that
/// receives. It keeps its index, whatever interface it sends by.
#[suite::test]
fn interfaces_are_made_in_an_order_that_can_be_saved() {
    let mut rig = rig();
    let index = |rig: &Rig, name: &str| rig.world().get::<Interfaces>().find(name).expect("there");
    // Index 2 is free, below p3.
    rig.delete_port(1);
    rig.cli("set interface l2 xcrw p0 next ip4-lookup rw 45");
    assert!(index(&rig, "xcrw0") < rig.ports[3] && index(&rig, "xcrw0") > rig.ports[0]);
    let before = index(&rig, "xcrw0");
    let names = |rig: &Rig| rig.world().get::<Interfaces>().indices().collect::<Vec<_>>();
    let all = names(&rig);
    rig.cli("set interface l2 xcrw p0 next p3-output rw 0102");
    assert_eq!((index(&rig, "xcrw0"), names(&rig)), (before, all));
    let config = rig.world().running_config();
    let lines = config.iter().filter(|line| line.text.contains("xcrw"));
    let lines: Vec<_> = lines.map(|line| (line.text.as_str(), line.undo.as_str())).collect();
    let [first, second] = ["error-drop", "p3-output"]
        .map(|next| format!("set interface l2 xcrw p0 next {next} rw 0102 instance 0"));
    assert_eq!(lines, [(&*first, "set interface l2 xcrw p0 del"), (&*second, &*first)]);
    assert_eq!(rig.pass(0, &frame(60, 3)), at(&[3], &[&[1, 2][..], &frame(60, 3)].concat()));
    rig.cli("set interface l2 xcrw p0 del");
    rig.cli("set interface l2 xcrw p3 next p0-output rw 0102");
    assert!(index(&rig, "xcrw0") > rig.ports[3]);
}

#[suite::test]
fn the_end_leaves_nothing_behind() {
    let mut rig = rig();
    let world = rig.world();
    let names = |rig: &Rig| {
        rig.world().get::<Interfaces>().list().into_iter().map(|i| i.name).collect::<Vec<_>>()
    };
    let mode = |i: usize, rig: &Rig| rig.world().get::<Bridge>().mode(rig.ports[i]);
    let before = names(&rig);
    let set = "set interface l2 xcrw p0 next p3-output rw 0102";
    // A port sends switched frames as long as it has a mode.
    rig.cli("set interface l2 xconnect p3 p0");
    for end in [
        "set interface l2 xcrw p0 del",
        "set interface l3 p0",
        "set interface l2 xconnect p0 p3",
        "set interface l2 bridge p0 9",
    ] {
        rig.cli(set);
        assert_eq!(names(&rig).len(), before.len() + 1);
        assert_eq!(
            rig.pass(0, &frame(60, 3)),
            at(&[3], &[&[1, 2][..], &frame(60, 3)].concat()),
            "{end}"
        );
        rig.cli(end);
        assert_eq!(
            (names(&rig), rig.cli("show l2xcrw").trim_end()),
            (before.clone(), NONE),
            "{end}"
        );
        let crossed = matches!(mode(0, &rig), Some(Mode::Xconnect(to)) if to == rig.ports[3]);
        let want = if crossed { at(&[3], &frame(60, 3)) } else { vec![] };
        assert_eq!(rig.pass(0, &frame(60, 3)), want, "{end}");
        assert_eq!(crossed, end.contains("xconnect"));
    }
    rig.cli("set interface l3 p0");
    rig.cli("set interface l3 p3");
    // Each interface may go, and the table.
    for gone in [0, 3, 0, 3] {
        rig.cli(set);
        rig.delete_port(gone);
        assert_eq!(
            (names(&rig).len(), rig.cli("show l2xcrw").trim_end()),
            (before.len() - 1, NONE)
        );
        rig.add_port(gone);
        assert_eq!((mode(0, &rig), mode(3, &rig)), (None, None));
    }
    // The tables of both protocols with the same id differ.
    for (ip, other, flag) in [("ip", "ip6", ""), ("ip6", "ip", " ipv6")] {
        rig.cli("ip table add 8");
        rig.cli("ip6 table add 8");
        rig.cli(&format!("set interface l2 xcrw p0 next error-drop tx-fib-id 8{flag} rw 45"));
        rig.cli(&format!("{other} table del 8"));
        assert_eq!(names(&rig).len(), before.len() + 1, "{other}");
        rig.cli(&format!("{ip} table del 8"));
        assert_eq!(
            (names(&rig).len(), rig.cli("show l2xcrw").trim_end()),
            (before.len(), NONE),
            "{ip}"
        );
    }
    // The interface of a cross-connect itself.
    rig.cli(set);
    let sink = world.get::<Interfaces>().find("xcrw0").expect("made");
    world.get::<Interfaces>().delete(&world, sink).expect("deleted");
    assert_eq!(
        (names(&rig).len(), rig.cli("show l2xcrw").trim_end(), mode(0, &rig)),
        (before.len(), NONE, None)
    );
    // A frame that arrives too late, and one that is sent there.
    rig.cli(set);
    let sink = world
        .get::<Interfaces>()
        .get(world.get::<Interfaces>().find("xcrw0").expect("made"))
        .expect("there");
    rig.bench.send("xcrw0-output", &frame(60, 4), |_| ());
    rig.bench.settle();
    assert_eq!((rig.sent(), rig.count("xcrw0-tx", "nothing")), (vec![], 1));
    rig.cli("set interface l3 p0");
    rig.bench.send("l2-xcrw", &frame(60, 4), |b| b.tx_if = sink.sw_if.0);
    rig.bench.settle();
    assert_eq!((rig.sent(), rig.count("l2-xcrw", "Packets dropped")), (vec![], 1));
}

#[suite::test]
fn a_trace_shows_the_rewrite() {
    let mut rig = rig();
    rig.cli("set interface l2 xcrw p0 next p3-output rw 010203");
    rig.bench.rt.trace().order(graph::NodeIndex(999), 1, graph::TraceLog::room(16), 0);
    rig.bench.arrive_as(rig.ports[0], &frame(100, 0), |b| Bench::trace(b, 7));
    rig.bench.settle();
    let trace = rig.bench.rt.trace().records().map(|record| record.to_string()).collect::<String>();
    let sink = rig.world().get::<Interfaces>().find("xcrw0").expect("made");
    let line = format!("rx_sw_if_index {} xcrw sw_if_index {sink} rewrite 3 bytes", rig.ports[0]);
    assert!(trace.contains(&line), "{line} isn't in {trace}");
}

/// With mutated frames and random bytes in front nothing panics and no buffer is lost.
#[suite::test]
fn mutated_frames_and_rewrites_do_no_harm() {
    let mut rig = rig();
    let bases = vec![
        frame(60, 1),
        pkt::ether(NEIGHBOR, port_mac(0)).ip4("10.0.0.5", "192.0.2.9").udp(1, 2).build(),
    ];
    let mut mutator = Mutator::new(31);
    let (mut sent, mut bytes) = (0, Vec::new());
    for round in 0..300 {
        let v6 = round % 2 == 1;
        mutator.next_frame(&[outer(v6, 64)], &mut bytes);
        bytes.truncate(128);
        let next = ["lookup", "input"][round / 2 % 2];
        if !bytes.is_empty() {
            let ip = if v6 { "ip6" } else { "ip4" };
            rig.cli(&format!("set interface l2 xcrw p0 next {ip}-{next} rw {}", hex(&bytes)));
        }
        let frames = mutator.frames(&bases, 1 + round % 24, 1400);
        rig.receive_all(0, &frames);
        sent += rig.sent().len();
    }
    assert!(sent > 200, "{sent} were sent");
}

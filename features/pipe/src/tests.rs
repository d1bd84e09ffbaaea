// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use crate::api::*;
use crate::control::{MAX_PIPES, Pipes};
use crate::node::MAX_CROSSINGS;
use graph::{Plugin, SwIfIndex};
use net::api::InterfaceIndex;
use net::drive::{Rig, peer_mac, port_mac};
use net::{Interfaces, Neighbor, Neighbors};
use testkit::mutate::Mutator;
use testkit::pkt;
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &super_path::PLUGIN,
    &icmp::PLUGIN,
    &ip_neighbor::PLUGIN,
    &arp::PLUGIN,
    &l2::PLUGIN,
    &PLUGIN,
    &trace::PLUGIN,
];

fn end(rig: &Rig, name: &str) -> SwIfIndex {
    rig.bench.world.get::<Interfaces>().find(name).expect(name)
}

/// A frame between two hosts that aren't here.
fn frame(n: u8, len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len).map(|i| (i as u8).wrapping_mul(7).wrapping_add(n)).collect();
    bytes[..12].copy_from_slice(&[2, 0xaa, 0, 0, 0, 1, 2, 0xaa, 0, 0, 0, 2]);
    bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    bytes
}

/// Frames that cross a pipe between two cross-connects arrive as they were sent, of any length and
/// with any tags.
#[suite::test]
fn switched_frames_cross_unchanged() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.cli("pipe create");
    rig.cli("set interface state pipe0 up");
    for (port, end) in [(0, 0), (1, 1)] {
        rig.cli(&format!("set interface l2 xconnect p{port} pipe0.{end}"));
        rig.cli(&format!("set interface l2 xconnect pipe0.{end} p{port}"));
    }
    let mut all = Vec::new();
    for (n, len) in [14, 60, 255, 1514, 2049, 5000, 9014].into_iter().enumerate() {
        all.push(frame(n as u8, len));
        let mut tagged = frame(n as u8, len + 8);
        tagged[12..20].copy_from_slice(&[0x88, 0xa8, 0, 7, 0x81, 0, 0x60, 9]);
        all.push(tagged);
        let mut group = frame(n as u8, len);
        group[..6].fill(0xff);
        all.push(group);
    }
    for state in ["on", "off"] {
        rig.cli(&format!("set super-path {state}"));
        for frame in &all {
            assert_eq!(rig.pass(0, frame), [(1, frame.clone())], "{state}");
            assert_eq!(rig.pass(1, frame), [(0, frame.clone())], "{state}");
        }
    }
    let mut want: Vec<_> = all.iter().map(|frame| (1, frame.clone())).collect();
    want.sort();
    assert_eq!(rig.pass_all(0, &all), want, "as one vector");
    let n = all.len() as u64;
    assert_eq!(rig.packets(end(&rig, "pipe0.0")), (2 * n, 3 * n));
    assert_eq!(rig.packets(end(&rig, "pipe0.1")), (3 * n, 2 * n));
    // An end that is down neither sends nor receives.
    for end in ["pipe0.0", "pipe0.1"] {
        rig.cli(&format!("set interface state {end} down"));
        assert_eq!(rig.pass(0, &all[0]), [], "{end}");
        assert_eq!(rig.pass(1, &all[0]), [], "{end}");
        rig.cli(&format!("set interface state {end} up"));
    }
    assert_eq!(rig.pass(0, &all[0]), [(1, all[0].clone())]);
    rig.cli("set interface state pipe0 down");
    assert_eq!(rig.pass(0, &all[0]), []);
}

/// Two route tables with a pipe between them, whose ends resolve each other's addresses.
#[suite::test]
fn routed_packets_cross_between_tables() {
    for (tag, sub) in [("", ""), (".5", "create sub-interfaces")] {
        let mut rig = Rig::new(PLUGINS, 2);
        rig.cli("pipe create instance 4");
        rig.cli("set interface state pipe4 up");
        rig.cli("ip table add 7");
        for end in [0, 1] {
            if !sub.is_empty() {
                rig.cli(&format!("{sub} pipe4.{end} 5"));
                rig.cli(&format!("set interface state pipe4.{end}.5 up"));
            }
        }
        rig.cli("set interface ip table p1 7");
        rig.cli(&format!("set interface ip table pipe4.1{tag} 7"));
        rig.cli("set interface ip address p0 10.0.0.1/24");
        rig.cli("set interface ip address p1 10.0.1.1/24");
        rig.cli(&format!("set interface ip address pipe4.0{tag} 192.0.2.1/30"));
        rig.cli(&format!("set interface ip address pipe4.1{tag} 192.0.2.2/30"));
        rig.cli(&format!("ip route add 10.0.1.0/24 via 192.0.2.2 pipe4.0{tag}"));
        rig.cli(&format!("ip route add 10.0.0.0/24 table 7 via 192.0.2.1 pipe4.1{tag}"));
        let world = rig.world();
        for i in 0..2 {
            let ip = std::net::Ipv4Addr::new(10, 0, i as u8, 2).into();
            let known = Neighbor::new(rig.ports[i], ip, peer_mac(i));
            world.get::<Neighbors>().set(&world, known).expect("set");
        }
        let packet = |from: usize, sent: bool, n: u16| {
            let to = 1 - from;
            let (ether, ttl) = match sent {
                false => (pkt::ether(peer_mac(from), port_mac(from)), 64),
                true => (pkt::ether(port_mac(to), peer_mac(to)), 62),
            };
            let ip = ether.ip4(format!("10.0.{from}.2").as_str(), format!("10.0.{to}.2").as_str());
            ip.ttl(ttl).udp(n, 80).payload_len(50).build()
        };
        for from in [0, 1] {
            // The first packet waits for the other end's address, which ARP asks for.
            for n in 0..3 {
                let sent = rig.pass(from, &packet(from, false, n));
                assert_eq!(sent, [(1 - from, packet(from, true, n))], "{tag} {from} {n}");
            }
        }
        let neighbors = rig.cli("show ip neighbors");
        assert!(neighbors.contains("192.0.2.1") && neighbors.contains("192.0.2.2"), "{neighbors}");
    }
}

/// A bridge domain with both ends is a loop, and so are two cross-connected ends.
#[suite::test]
fn loops_end() {
    let mut rig = Rig::new(PLUGINS, 1);
    rig.cli("create bridge-domain 9");
    rig.cli("set interface l2 bridge p0 9");
    for pipe in 0..2 {
        rig.cli("pipe create");
        rig.cli(&format!("set interface state pipe{pipe} up"));
        for end in 0..2 {
            rig.cli(&format!("set interface l2 bridge pipe{pipe}.{end} 9"));
        }
    }
    let sent = rig.pass(0, &frame(1, 60));
    assert!(sent.iter().all(|(_, bytes)| *bytes == frame(1, 60)));
    assert!(rig.count("pipe-rx", "too_many_pipes") > 0);
    let mut rig = Rig::new(PLUGINS, 1);
    rig.cli("pipe create");
    rig.cli("set interface state pipe0 up");
    rig.cli("set interface l2 xconnect p0 pipe0.0");
    rig.cli("set interface l2 xconnect pipe0.0 pipe0.1");
    rig.cli("set interface l2 xconnect pipe0.1 pipe0.0");
    assert_eq!(rig.pass(0, &frame(1, 60)), []);
    assert_eq!(rig.count("pipe-rx", "too_many_pipes"), 1);
    let crossed = rig.packets(end(&rig, "pipe0.0")).0 + rig.packets(end(&rig, "pipe0.1")).0;
    assert_eq!(crossed, u64::from(MAX_CROSSINGS));
}

#[suite::test]
fn commands_show_and_refuse() {
    let mut rig = Rig::new(PLUGINS, 1);
    assert_eq!(rig.cli("pipe create"), "pipe0\n");
    assert_eq!(rig.cli("pipe create instance 5"), "pipe5\n");
    assert_eq!(rig.cli("pipe create"), "pipe1\n");
    rig.cli("set interface state pipe5 up");
    rig.cli("set interface state pipe5.1 down");
    let shown = "Name   State  End 0    State 0  End 1    State 1\n\
                 pipe0  down   pipe0.0  down     pipe0.1  down\n\
                 pipe1  down   pipe1.0  down     pipe1.1  down\n\
                 pipe5  up     pipe5.0  up       pipe5.1  down\n";
    assert_eq!(rig.cli("show pipe"), shown);
    assert!(rig.cli("show pipe -j").contains("pipe5.1"));
    for (line, want, code) in [
        ("pipe create instance 5", "pipe5", -31),
        ("pipe create instance 16384", "16384", -31),
        ("pipe delete p0", "no pipe", -2),
        ("pipe delete pipe5.0", "no pipe", -2),
        ("pipe delete pipe9", "pipe9", -2),
    ] {
        let (retval, error) = rig.refused(line);
        assert!(error.contains(want) && retval == code, "{line}: {retval} {error}");
    }
    assert_eq!(rig.cli("show pipe"), shown, "what is refused changes nothing");
    let macs = ["pipe0.0", "pipe0.1", "pipe5.0"]
        .map(|name| rig.bench.world.get::<Interfaces>().get(end(&rig, name)).expect("there").mac);
    let mac = |n| MacAddr([0, 0, 0, 0, 0, n]);
    assert_eq!(macs, [mac(1), mac(2), mac(11)]);
    rig.cli("pipe delete pipe0");
    rig.cli("pipe delete pipe1");
    assert!(!rig.cli("show interface").contains("pipe0"));
    assert_eq!(rig.cli("pipe create"), "pipe0\n");
}

/// A pipe goes with each of its interfaces.
#[suite::test]
fn nothing_is_left_of_a_pipe() {
    for gone in ["pipe0", "pipe0.0", "pipe0.1"] {
        let mut rig = Rig::new(PLUGINS, 1);
        let before = rig.cli("show interface");
        rig.cli("pipe create");
        rig.cli("set interface state pipe0 up");
        rig.cli("set interface l2 xconnect p0 pipe0.0");
        rig.cli("set interface l2 xconnect pipe0.1 pipe0.0");
        let world = rig.world();
        rig.bench.arrive(rig.ports[0], &frame(3, 60));
        world.get::<Interfaces>().delete(&world, end(&rig, gone)).expect(gone);
        rig.bench.settle();
        assert_eq!(world.get::<Pipes>().list(), []);
        assert_eq!(rig.pass(0, &frame(3, 60)), [], "{gone}");
        rig.cli("set interface l3 p0");
        let names = |shown: String| {
            shown
                .lines()
                .filter_map(|line| line.split_whitespace().next().map(String::from))
                .filter(|w| w.starts_with('p'))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(rig.cli("show interface")), names(before), "{gone}");
        assert_eq!(rig.cli("pipe create"), "pipe0\n", "{gone}");
    }
}

/// Whatever a frame is, it leaves as it came or is dropped with a reason.
#[suite::test]
fn mutated_frames_cross() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.cli("pipe create");
    rig.cli("set interface state pipe0 up");
    for (port, end) in [(0, 0), (1, 1)] {
        rig.cli(&format!("set interface l2 xconnect p{port} pipe0.{end}"));
        rig.cli(&format!("set interface l2 xconnect pipe0.{end} p{port}"));
    }
    let mut mutator = Mutator::new(21);
    let ip = pkt::ether(peer_mac(0), port_mac(0)).vlan(5).ip4("10.0.0.2", "10.0.1.2");
    let base = ip.tcp(1, 2).payload_len(40).build();
    let mut crossed = 0;
    for _ in 0..2000 {
        let mut frame = base.clone();
        let _ = mutator.mutate(&mut frame);
        let sent = rig.pass(0, &frame);
        crossed += sent.len();
        assert!(sent.is_empty() || sent == [(1, frame.clone())], "{frame:02x?} {sent:02x?}");
    }
    assert!(crossed > 1500, "{crossed}");
}

#[suite::test]
fn messages_create_delete_and_dump() {
    let rig = Rig::new(PLUGINS, 1);
    let mut client = rig.bench.api();
    let create = |number: Option<u32>| PipeCreate {
        is_specified: number.is_some(),
        user_instance: number.unwrap_or(99),
    };
    let made = client.call(create(Some(3))).expect("created");
    assert_eq!(client.call(create(Some(3))), Err(-31));
    assert_eq!(client.call(create(Some(MAX_PIPES))), Err(-31));
    let first = client.call(create(None)).expect("created");
    let details = |reply: &PipeCreateReply, instance| PipeDetails {
        sw_if_index: reply.sw_if_index,
        pipe_sw_if_index: reply.pipe_sw_if_index,
        instance,
    };
    assert_eq!(client.dump(PipeDump {}), [details(&first, 0), details(&made, 3)]);
    let delete = |sw_if_index| PipeDelete { sw_if_index };
    assert_eq!(client.call(delete(made.pipe_sw_if_index[0])), Err(-2));
    assert_eq!(client.call(delete(InterfaceIndex(99))), Err(-2));
    assert_eq!(client.call(delete(made.sw_if_index)), Ok(()));
    assert_eq!(client.call(delete(made.sw_if_index)), Err(-2));
    assert_eq!(client.dump(PipeDump {}), [details(&first, 0)]);
}

/// A trace from a node on shows frames that the layer-2 super-path would take, and these leave as
/// ever.
#[suite::test]
fn a_trace_of_switched_frames_begins_at_a_node() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.cli("set interface l2 xconnect p0 p1");
    rig.cli("set interface l2 xconnect p1 p0");
    rig.cli("trace add l2-input 1");
    let frame = frame(1, 300);
    for _ in 0..3 {
        assert_eq!(rig.pass(0, &frame), [(1, frame.clone())]);
    }
    let trace = rig.cli("show trace");
    assert!(trace.contains(": l2-input\n") && !trace.contains("Packet 2"), "{trace}");
}

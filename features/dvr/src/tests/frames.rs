// SPDX-License-Identifier: Apache-2.0
//! The bytes of sent frames.

use super::*;
use buffer::Flags;
use net::{IpMeta, Neighbor, Neighbors};
use testkit::mutate::Mutator;

#[suite::test]
fn frames_leave_as_they_came_in() {
    for v6 in [false, true] {
        let mut rig = rig(4);
        let to = port_mac(0);
        assert_eq!(rig.pass(0, &frame(v6, to, &[], 1)), [], "there is no route yet");
        // A port of a bridge domain, and a routed interface without an address.
        for (by, port) in [("p1", 1), ("p3", 3)] {
            rig.cli(&format!("ip route add {} via dvr {by}", prefix(v6)));
            for super_path in ["on", "off"] {
                rig.cli(&format!("set super-path {super_path}"));
                let one = frame(v6, to, &[], 1);
                assert_eq!(rig.pass(0, &one), at(&[port], &one), "{by}, super-path {super_path}");
                let many: Vec<_> = (0..300).map(|n| frame(v6, to, &[], n)).collect();
                let mut want: Vec<_> = many.iter().flat_map(|one| at(&[port], one)).collect();
                want.sort();
                assert_eq!(rig.pass_all(0, &many), want, "{by}, super-path {super_path}");
            }
            rig.cli(&format!("ip route del {} via dvr {by}", prefix(v6)));
        }
        assert_eq!(rig.packets(rig.ports[1]).1, 602, "counted at the output");
        assert_eq!(rig.packets(rig.ports[3]).1, 602);
        assert_eq!(
            rig.count("l2-output", "L2 output packets"),
            602,
            "the port's frames are switched"
        );
        assert_eq!(rig.pass(0, &frame(v6, to, &[], 1)), [], "there is no route any more");
    }
}

#[suite::test]
fn bridged_frames_are_steered_behind_the_bvi() {
    for v6 in [false, true] {
        let mut rig = rig(4);
        steer(&mut rig, "p2");
        let one = frame(v6, BVI, &[], 7);
        assert_eq!(rig.pass(1, &one), at(&[2], &one));
        // Back out of the port that it came in by: a route leads there, not a learned address.
        assert_eq!(rig.pass(2, &one), at(&[2], &one));
        // A frame to a group of stations, whose packet is for one host.
        let all = frame(v6, MacAddr::BROADCAST, &[], 8);
        let sent = rig.pass(1, &all);
        assert_eq!(sent, at(&[2, 2], &all), "one is flooded, one is steered");
    }
}

/// The port takes off what it gives to received frames, and puts its own tag in.
#[suite::test]
fn layer_2_ports_rewrite_tags() {
    for v6 in [false, true] {
        let mut rig = rig(4);
        for line in ["p1 100", "p2 200", "p3 300 dot1ad 300 inner-dot1q 8 exact-match"] {
            sub(&mut rig, line);
        }
        for line in [
            "bridge p1.100 1",
            "bridge p2.200 1",
            "bridge p3.300 2",
            "tag-rewrite p1.100 pop 1",
            "tag-rewrite p2.200 pop 1",
            "tag-rewrite p3.300 translate 2-1 dot1q 50",
        ] {
            rig.cli(&format!("set interface l2 {line}"));
        }
        steer(&mut rig, "p2.200");
        assert_eq!(rig.pass(1, &frame(v6, BVI, &[100], 7)), at(&[2], &frame(v6, BVI, &[200], 7)));
        // And the other way.
        rig.cli(&format!("ip route del {}", prefix(v6)));
        rig.cli(&format!("ip route add {} via p1.100 dvr", prefix(v6)));
        assert_eq!(rig.pass(2, &frame(v6, BVI, &[200], 8)), at(&[1], &frame(v6, BVI, &[100], 8)));
        // A frame of a routed interface has the tags that it came with, and needs what the port
        // takes off.
        rig.cli(&format!("ip route del {}", prefix(v6)));
        rig.cli(&format!("ip route add {} via dvr p3.300", prefix(v6)));
        assert_eq!(rig.pass(0, &frame(v6, port_mac(0), &[], 9)), []);
        assert_eq!(rig.count("l2-output", "L2 output tag rewrite drops"), 1);
        sub(&mut rig, "p0 50");
        let address = if v6 { "2001:db8:5::1/64" } else { "10.0.5.1/24" };
        rig.cli(&format!("set interface ip address p0.50 {address}"));
        let mut want = frame(v6, port_mac(0), &[300, 8], 9);
        want[12..14].copy_from_slice(&[0x88, 0xa8]);
        assert_eq!(rig.pass(0, &frame(v6, port_mac(0), &[50], 9)), at(&[3], &want));
    }
}

/// A frame that a routed sub-interface received keeps its tags; a routed sub-interface adds its
/// own.
#[suite::test]
fn routed_sub_interfaces_keep_and_add_tags() {
    for v6 in [false, true] {
        let mut rig = rig(4);
        for line in ["p0 100", "p0 7 dot1q 7 inner-dot1q 8 exact-match", "p3 200"] {
            sub(&mut rig, line);
        }
        for (name, n) in [("p0.100", 100), ("p0.7", 107)] {
            let address = if v6 { format!("2001:db8:{n}::1/64") } else { format!("10.0.{n}.1/24") };
            rig.cli(&format!("set interface ip address {name} {address}"));
        }
        steer(&mut rig, "p1");
        for tags in [&[100][..], &[7, 8]] {
            let one = frame(v6, port_mac(0), tags, 7);
            assert_eq!(rig.pass(0, &one), at(&[1], &one), "{tags:?}");
        }
        rig.cli(&format!("ip route del {}", prefix(v6)));
        rig.cli(&format!("ip route add {} via dvr p3.200", prefix(v6)));
        let want = frame(v6, port_mac(0), &[200, 100], 8);
        assert_eq!(rig.pass(0, &frame(v6, port_mac(0), &[100], 8)), at(&[3], &want));
    }
}

/// Output features see the packets. Other routes by the interface go on as without DVR.
#[suite::test]
fn output_features_and_other_routes_are_as_before() {
    for v6 in [false, true] {
        let mut rig = rig(4);
        let (hop, net) =
            if v6 { ("2001:db8:3::2", "2001:db8:3::1/64") } else { ("10.0.3.2", "10.0.3.1/24") };
        rig.cli(&format!("set interface ip address p3 {net}"));
        let neighbor = MacAddr([2, 0xaa, 0, 0, 0, 0x33]);
        let known = Neighbor::new(rig.ports[3], hop.parse().expect("an address"), neighbor);
        let world = rig.world();
        world.get::<Neighbors>().set(&world, known).expect("set");
        let other = |ttl, (src, dst)| {
            let ether = pkt::ether(src, dst);
            let ip = if v6 { ether.ip6("2001:db8::5", hop) } else { ether.ip4("10.0.0.5", hop) };
            ip.ttl(ttl).udp(1, 2).payload(b"routed as usual").build()
        };
        let (came, left) = (other(9, (HOST, port_mac(0))), other(8, (port_mac(3), neighbor)));
        steer(&mut rig, "p3");
        let steered = |port| frame(v6, port_mac(0), &[], port);
        let sent = rig.pass_all(0, &[came.clone(), steered(7), came.clone()]);
        assert_eq!(sent, [at(&[3], &left), at(&[3], &left), at(&[3], &steered(7))].concat());
        // In layer-2 mode too, where no address is left and `p3` is only the output of DVR routes.
        let upper = if v6 { 40 } else { 20 };
        let zeros = "00".repeat(upper);
        rig.cli(&format!(
            "classify table mask hex {zeros}ffff acl-miss-next permit current-data-flag 1 current-data-offset 0"
        ));
        rig.cli(&format!("classify session table-index 0 match hex {zeros}0008 acl-hit-next deny"));
        let kind = if v6 { "ip6-table" } else { "ip4-table" };
        rig.cli(&format!("set interface output acl intfc p3 {kind} 0"));
        assert_eq!(rig.pass_all(0, &[steered(7), steered(8)]), at(&[3], &steered(7)));
        rig.cli("set interface l2 bridge p3 2");
        assert_eq!(rig.pass_all(0, &[steered(7), steered(8)]), at(&[3], &steered(7)));
        let input = if v6 { "ip6-input" } else { "ip4-input" };
        assert_eq!(rig.count(input, "outacl_session_deny"), 2);
    }
}

/// Packets of our own have no layer-2 header that they were received with; neither have packets out
/// of tunnels.
#[suite::test]
fn packets_without_their_header_are_dropped_by_name() {
    for v6 in [false, true] {
        let mut rig = rig(4);
        steer(&mut rig, "p1");
        let (node, dpo) =
            if v6 { ("ip6-lookup", "ip6-dvr-dpo") } else { ("ip4-lookup", "ip4-dvr-dpo") };
        let one = frame(v6, port_mac(0), &[100, 101], 7);
        let mut seen = 0;
        // Packet is our own, bytes from the marked layer-2 header to the IP header, overwritten
        // bytes, packet passes.
        for (local, marked, overwritten, passes) in [
            (false, 22, None, true),
            (false, 18, Some((16, [8, 0])), false),
            (false, 14, Some((20, [8, 6])), false),
            (false, 0, None, false),
            (false, 10, None, false),
            (false, 20, None, false),
            (false, 21, None, false),
            (false, 22, Some((20, [8, 6])), false),
            (false, 22, Some((12, [8, 0])), false),
            (false, 22, Some((16, [0x88, 0x47])), false),
            (false, 22, Some((16, [0x88, 0xa8])), true),
            (true, 22, None, false),
        ] {
            let mut bytes = one.clone();
            if let Some((place, word)) = overwritten {
                bytes[place..place + 2].copy_from_slice(&word);
            }
            let rx_if = rig.ports[0].0;
            rig.bench.send(node, &bytes, |b| {
                assert!(b.pull(22 - marked));
                b.mark_l2();
                assert!(b.pull(marked));
                b.rx_if = rx_if;
                if local {
                    b.flags.insert(Flags::LOCAL);
                }
            });
            rig.bench.settle();
            let want = if passes { at(&[1], &bytes) } else { vec![] };
            assert_eq!(rig.sent(), want, "{local} {marked} {overwritten:?}");
            seen += u64::from(!passes);
            assert_eq!(rig.count(dpo, "no_header"), seen, "{local} {marked} {overwritten:?}");
        }
        // An adjacency that isn't there.
        rig.bench.send(dpo, &one, |b| b.set_scratch(IpMeta::of(net::AdjIndex(99_999), 0)));
        rig.bench.settle();
        assert_eq!((rig.sent(), rig.count(dpo, "no_adjacency")), (vec![], 1));
    }
}

/// A loopback interface gives packets back, and their TTL stays. They end at the second DVR route.
#[suite::test]
fn circles_end() {
    for v6 in [false, true] {
        let mut rig = rig(3);
        let dpo = if v6 { "ip6-dvr-dpo" } else { "ip4-dvr-dpo" };
        rig.cli("create loopback interface");
        rig.cli("set interface state loop1 up");
        let address = if v6 { "2001:db8:7::1/64" } else { "10.0.7.1/24" };
        rig.cli(&format!("set interface ip address loop1 {address}"));
        steer(&mut rig, "loop1");
        let all: Vec<_> = (0..40).map(|port| frame(v6, MacAddr::BROADCAST, &[], port)).collect();
        assert_eq!(rig.pass_all(0, &all), []);
        assert_eq!(rig.count(dpo, "again"), 40);
        // A port of a bridge domain that gives frames back to the domain, and so to its BVI.
        rig.cli("set interface l2 bridge loop1 1");
        let sent = rig.pass(0, &frame(v6, BVI, &[], 1));
        assert_eq!(
            (sent, rig.count(dpo, "again")),
            (vec![], 40),
            "p0 takes frames to its own address only"
        );
        rig.cli("set interface mac address p0 de:ad:00:00:00:00");
        assert_eq!(rig.pass(0, &frame(v6, BVI, &[], 1)), []);
        assert_eq!(rig.count(dpo, "again"), 41);
        // To the BVI itself: the frame is switched in its domain.
        rig.cli("set interface l2 bridge loop1 2");
        rig.cli(&format!("ip route del {}", prefix(v6)));
        rig.cli(&format!("ip route add {} via dvr loop0", prefix(v6)));
        rig.cli("set interface mac address p0 02:fe:00:00:00:00");
        rig.cli("l2fib add 02:fe:00:00:00:00 1 p2 static");
        let one = frame(v6, port_mac(0), &[], 2);
        assert_eq!(rig.pass(0, &one), at(&[2], &one));
    }
}

/// Mutated frames never panic, no buffer is lost, and what is steered has the bytes that came in.
#[suite::test]
fn mutated_frames_are_sent_as_they_are() {
    let mut rig = rig(4);
    sub(&mut rig, "p0 100");
    rig.cli("set interface ip address p0.100 10.0.100.1/24");
    rig.cli("set interface ip address p0.100 2001:db8:100::1/64");
    steer(&mut rig, "p3");
    let to = port_mac(0);
    let bases = vec![
        frame(false, to, &[], 1),
        frame(true, to, &[], 2),
        frame(false, to, &[100], 3),
        frame(true, to, &[100], 4),
    ];
    let (mut mutator, mut received, mut steered) = (Mutator::new(23), 0, 0);
    for round in 0..300 {
        let frames = mutator.frames(&bases, 1 + round % 24, 1500);
        received += frames.len();
        rig.receive_all(0, &frames);
        for (port, bytes) in rig.sent() {
            // An answer of our own has another source.
            let is_ours = port == 0 && bytes.get(6..12) == Some(&to.octets()[..]);
            steered += usize::from(!is_ours);
            // Padding behind the packet is gone.
            let came = frames.iter().any(|frame| frame.starts_with(&bytes));
            assert!(is_ours || port == 3 && came, "{port}: {bytes:?}");
        }
    }
    assert!(steered > 300 && received - steered > 300, "{steered} of {received}");
}

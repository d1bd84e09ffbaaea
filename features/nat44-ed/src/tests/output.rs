// SPDX-License-Identifier: Apache-2.0
//! Interfaces where packets are translated as they leave, and interfaces with both roles.

use super::*;

/// Packets are translated after the routing, and answers come back.
#[suite::test]
fn packets_are_translated_as_they_leave() {
    let mut rig = bare(3);
    for line in [
        "nat44 plugin enable",
        "set interface nat44 out p1 output-feature",
        "nat44 add address 192.0.2.7",
    ] {
        rig.cli(line);
    }
    let seen = one(&mut rig, 0, &syn(packet(0, "10.0.0.2", "10.0.1.2"), 5000, 80));
    assert_eq!((seen.port, seen.from), (1, end(PUBLIC, 5000)));
    let answer = packet(1, "10.0.1.2", PUBLIC).tcp(80, 5000);
    let seen = one(&mut rig, 1, &answer.segment(TcpFlags::SYN | TcpFlags::ACK, 1, 1));
    assert_eq!((seen.port, seen.to), (0, end("10.0.0.2", 5000)));
    let seen = one(&mut rig, 2, &packet(2, "10.0.2.2", "10.0.1.2").icmp_echo(5000, 80));
    assert_eq!((seen.port, seen.from), (1, end(PUBLIC, 5000)));
    // Between other interfaces nothing is translated.
    let seen = one(&mut rig, 2, &packet(2, "10.0.2.2", "10.0.0.2").udp(5000, 80));
    assert_eq!((seen.port, seen.from), (0, end("10.0.2.2", 5000)));
    // Counted for the interface that they leave by.
    let tcp = rig.bench.world.stats.simple("/nat44-ed/in2out/slowpath/tcp");
    assert_eq!(tcp.sum(rig.ports[1].at()), 1);
    // The router's own answers have its own address.
    let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", "10.0.1.1").icmp_echo(7, 1));
    assert_eq!((seen.port, seen.from.0), (1, addr("10.0.1.1")));
    assert!(is_dropped(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(80, 5000)));
}

/// Answers of a session that the world began leave as its translation has them.
#[suite::test]
fn answers_to_the_world_are_left_alone() {
    let mut rig = bare(2);
    for line in [
        "nat44 plugin enable",
        "nat44 forwarding enable",
        "nat44 add address 192.0.2.7",
        "nat44 add static mapping tcp local 10.0.0.2 8080 external 192.0.2.9 80 out2in-only",
        "set interface nat44 in p0 out p0",
        "set interface nat44 out p1 output-feature",
    ] {
        rig.cli(line);
    }
    let seen = one(&mut rig, 1, &syn(packet(1, "10.0.1.2", "192.0.2.9"), 4000, 80));
    assert_eq!((seen.port, seen.to), (0, end("10.0.0.2", 8080)));
    let answer = packet(0, "10.0.0.2", "10.0.1.2").tcp(8080, 4000);
    let seen = one(&mut rig, 0, &answer.segment(TcpFlags::SYN | TcpFlags::ACK, 1, 1));
    assert_eq!((seen.port, seen.from), (1, end("192.0.2.9", 80)));
    // A connection of the host's own has an address of the pool.
    let seen = one(&mut rig, 0, &syn(packet(0, "10.0.0.2", "10.0.1.3"), 8080, 4000));
    assert_eq!(seen.from, end(PUBLIC, 8080));
}

/// One interface to users and to the world.
#[suite::test]
fn one_interface_has_both_roles() {
    let mut rig = bare(1);
    for line in [
        "nat44 plugin enable",
        "nat44 add address 192.0.2.7",
        "nat44 add address 10.9.0.1 twice-nat",
        "nat44 add static mapping tcp local 10.0.0.2 8080 external 192.0.2.7 80 twice-nat",
        "set interface nat44 in p0 out p0",
    ] {
        rig.cli(line);
    }
    let seen = one(&mut rig, 0, &syn(packet(0, "10.0.0.3", PUBLIC), 4000, 80));
    assert_eq!((seen.from.0, seen.to), (addr("10.9.0.1"), end("10.0.0.2", 8080)));
    let answer = packet(0, "10.0.0.2", "10.9.0.1").tcp(8080, seen.from.1);
    let seen = one(&mut rig, 0, &answer.segment(TcpFlags::SYN | TcpFlags::ACK, 1, 1));
    assert_eq!((seen.from, seen.to), (end(PUBLIC, 80), end("10.0.0.3", 4000)));
    assert_eq!(rig.count("nat44-ed-classify", "next out2in"), 1);
    assert_eq!(rig.count("nat44-ed-classify", "next in2out"), 1);
}

/// An interface is translated at one side only, and nothing of it is left when it is deleted.
#[suite::test]
fn roles_of_interfaces() {
    let mut rig = with_pool();
    for (line, code) in [
        ("set interface nat44 in p0", -81),
        ("set interface nat44 out p1 output-feature", -81),
        ("set interface nat44 out p0 del", -6),
        ("set interface nat44 out p1 output-feature del", -6),
    ] {
        assert_eq!(rig.refused(line).0, code, "{line}");
    }
    assert_eq!(rig.cli("show nat44 interfaces"), " p0 in\n p1 out\n");
    rig.cli("set interface virtual-reassembly p0 ip4");
    rig.cli("set interface nat44 in p0 del");
    let world = rig.world();
    let arc = world.arc("ip4-unicast").unwrap();
    assert_eq!(world.features_of(arc, rig.ports[0]), ["ip4-sv-reassembly-feature"]);
    rig.cli("set interface virtual-reassembly p0 off");
    rig.delete_port(1);
    assert_eq!(rig.cli("show nat44 interfaces"), "");
    assert!(!rig.cli("show ip fib").contains("192.0.2.7"));
}

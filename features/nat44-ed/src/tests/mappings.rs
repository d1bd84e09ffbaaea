// SPDX-License-Identifier: Apache-2.0
//! Static mappings.

use super::*;
use std::collections::BTreeMap;

/// The world begins a connection to a port of a host inside; the host's own packets have it too.
#[suite::test]
fn a_port_of_the_world_leads_to_a_host() {
    let mut rig = with_pool();
    rig.cli("nat44 add static mapping tcp local 10.0.0.2 8080 external 192.0.2.7 80");
    let seen = one(&mut rig, 1, &syn(packet(1, "10.0.1.2", PUBLIC), 4000, 80));
    assert_eq!((seen.port, seen.to, seen.from), (0, end("10.0.0.2", 8080), end("10.0.1.2", 4000)));
    let answer = packet(0, "10.0.0.2", "10.0.1.2").tcp(8080, 4000);
    let seen = one(&mut rig, 0, &answer.segment(TcpFlags::SYN | TcpFlags::ACK, 1, 1));
    assert_eq!((seen.port, seen.from), (1, end(PUBLIC, 80)));
    let seen = one(&mut rig, 0, &syn(packet(0, "10.0.0.2", "10.0.1.3"), 8080, 9));
    assert_eq!(seen.from, end(PUBLIC, 80));
    // Nobody else gets the port.
    let other = one(&mut rig, 0, &syn(packet(0, "10.0.0.3", "10.0.1.4"), 80, 9));
    assert_ne!(other.from.1, 80);
    assert!(is_dropped(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(4000, 80)));
    rig.cli("nat44 add static mapping tcp local 10.0.0.2 8080 external 192.0.2.7 80 del");
    assert!(is_dropped(&mut rig, 1, &syn(packet(1, "10.0.1.2", PUBLIC), 4000, 80)));
}

/// A mapping of an address is for all ports, and for ICMP.
#[suite::test]
fn an_address_of_the_world_is_a_host() {
    let mut rig = router(&["nat44 add static mapping local 10.0.0.2 external 192.0.2.9"]);
    let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", "192.0.2.9").udp(7, 9));
    assert_eq!(seen.to, end("10.0.0.2", 9));
    let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", "192.0.2.9").icmp_echo(7, 9));
    assert_eq!(seen.to, end("10.0.0.2", 7));
    let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", "192.0.2.9").gre());
    assert_eq!(seen.to.0, addr("10.0.0.2"));
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.3").udp(5, 6));
    assert_eq!(seen.from, end("192.0.2.9", 5));
}

/// Two users reach each other by the addresses that the world knows.
#[suite::test]
fn users_reach_each_other() {
    let mut rig = with_pool();
    rig.cli("nat44 add static mapping tcp local 10.0.0.3 8080 external 192.0.2.7 80");
    let seen = one(&mut rig, 0, &syn(packet(0, "10.0.0.2", PUBLIC), 5000, 80));
    assert_eq!((seen.port, seen.from, seen.to), (0, end(PUBLIC, 5000), end("10.0.0.3", 8080)));
    let answer = packet(0, "10.0.0.3", PUBLIC).tcp(8080, 5000);
    let seen = one(&mut rig, 0, &answer.segment(TcpFlags::SYN | TcpFlags::ACK, 1, 1));
    assert_eq!((seen.port, seen.from, seen.to), (0, end(PUBLIC, 80), end("10.0.0.2", 5000)));
    let hairpins = rig.bench.world.stats.simple("/nat44-ed/hairpinning");
    assert_eq!(hairpins.sum(rig.ports[0].at()), 2);
}

/// Hosts of the world get an address inside, always or where they reach themselves.
#[suite::test]
fn hosts_of_the_world_get_an_address_inside() {
    let mut rig = with_pool();
    rig.cli("nat44 add address 10.9.0.1 twice-nat");
    rig.cli("nat44 add address 10.9.0.2 twice-nat");
    rig.cli("nat44 add static mapping tcp local 10.0.0.2 8080 external 192.0.2.7 80 twice-nat exact 10.9.0.2");
    rig.cli(
        "nat44 add static mapping tcp local 10.0.0.3 8080 external 192.0.2.7 81 self-twice-nat",
    );
    let seen = one(&mut rig, 1, &syn(packet(1, "10.0.1.2", PUBLIC), 4000, 80));
    assert_eq!((seen.from.0, seen.to), (addr("10.9.0.2"), end("10.0.0.2", 8080)));
    let answer = packet(0, "10.0.0.2", "10.9.0.2").tcp(8080, seen.from.1);
    let seen = one(&mut rig, 0, &answer.segment(TcpFlags::SYN | TcpFlags::ACK, 1, 1));
    assert_eq!((seen.from, seen.to), (end(PUBLIC, 80), end("10.0.1.2", 4000)));
    let seen = one(&mut rig, 1, &syn(packet(1, "10.0.1.2", PUBLIC), 4000, 81));
    assert_eq!((seen.from, seen.to), (end("10.0.1.2", 4000), end("10.0.0.3", 8080)));
    let seen = one(&mut rig, 1, &syn(packet(1, "10.0.0.3", PUBLIC), 4000, 81));
    assert_eq!(seen.to, end("10.0.0.3", 8080));
    assert!(seen.from.0.octets().starts_with(&[10, 9, 0]), "{seen:?}");
}

/// Several hosts share the load by their probabilities; a client stays at one with affinity.
#[suite::test]
fn hosts_share_the_load() {
    let mut rig = with_pool();
    rig.cli("nat44 add load-balancing static mapping protocol tcp external 192.0.2.7:80 local 10.0.0.2:80 probability 90 local 10.0.0.3:80 probability 10");
    let count = |rig: &mut Rig, from: u16| {
        let mut hosts = BTreeMap::new();
        for port in from..from + 400 {
            let seen = one(rig, 1, &syn(packet(1, "10.0.1.2", PUBLIC), port, 80));
            *hosts.entry(seen.to.0).or_insert(0) += 1;
        }
        hosts
    };
    let hosts = count(&mut rig, 2000);
    assert!(hosts[&addr("10.0.0.3")] > 10 && hosts[&addr("10.0.0.3")] < 90, "{hosts:?}");
    let add = "nat44 add load-balancing back-end protocol tcp external 192.0.2.7:80 local";
    rig.cli(&format!("{add} 10.0.0.4:80 probability 100"));
    let hosts = count(&mut rig, 3000);
    assert!(hosts[&addr("10.0.0.4")] > 120, "{hosts:?}");
    rig.cli(&format!("{add} 10.0.0.2:80 probability 90 del"));
    let hosts = count(&mut rig, 4000);
    assert!(!hosts.contains_key(&addr("10.0.0.2")), "{hosts:?}");
    let (code, _) = rig.refused(&format!("{add} 10.0.0.3:80 probability 90 del"));
    assert_eq!(code, -1);
    let mut rig = with_pool();
    rig.cli("nat44 add load-balancing static mapping protocol tcp external 192.0.2.7:80 local 10.0.0.2:80 probability 50 local 10.0.0.3:80 probability 50 affinity 100");
    let hosts = count(&mut rig, 2000);
    assert_eq!(hosts.len(), 1, "{hosts:?}");
    rig.cli("clear nat44 ed sessions");
    rig.seconds(50);
    let again = count(&mut rig, 3000);
    assert!(again.keys().eq(hosts.keys()), "{hosts:?} {again:?}");
}

/// Mappings and pools follow the address of an interface.
#[suite::test]
fn the_address_of_an_interface_is_followed() {
    let mut rig = router(&["nat44 add interface address p1"]);
    rig.cli("nat44 add static mapping tcp local 10.0.0.2 8080 external p1 80");
    let ask = || syn(packet(0, "10.0.0.9", "10.0.1.2"), 5000, 9);
    assert_eq!(one(&mut rig, 0, &ask()).from, end("10.0.1.1", 5000));
    assert_eq!(one(&mut rig, 1, &syn(packet(1, "10.0.1.2", "10.0.1.1"), 1, 80)).to.1, 8080);
    rig.cli("set interface ip address del p1 10.0.1.1/24");
    rig.cli("set interface ip address p1 10.0.1.7/24");
    assert_eq!(
        rig.cli("show nat44 summary").lines().nth(1),
        Some("total sessions: 0 (timed out: 0)")
    );
    assert!(rig.cli("show nat44 addresses").contains("10.0.1.7\n"));
    assert_eq!(one(&mut rig, 1, &syn(packet(1, "10.0.1.2", "10.0.1.7"), 1, 80)).to.1, 8080);
}

/// Packets of an identity mapping pass as they are.
#[suite::test]
fn identities_pass() {
    let mut rig = with_pool();
    rig.cli("nat44 add identity mapping 10.0.0.9");
    rig.cli("nat44 add identity mapping 10.0.0.8 tcp 22");
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.9", "10.0.1.2").udp(1, 2));
    assert_eq!(seen.from, end("10.0.0.9", 1));
    let seen = one(&mut rig, 0, &syn(packet(0, "10.0.0.8", "10.0.1.2"), 22, 2));
    assert_eq!(seen.from, end("10.0.0.8", 22));
    let seen = one(&mut rig, 0, &syn(packet(0, "10.0.0.8", "10.0.1.2"), 2222, 2));
    assert_eq!(seen.from, end(PUBLIC, 2222));
}

/// Tables: the one of users, and the one that they leave by.
#[suite::test]
fn users_of_a_table_leave_by_another() {
    let mut rig = bare(2);
    for line in [
        "ip table add 7",
        "nat44 plugin enable",
        "set interface ip address del p0 10.0.0.1/24",
        "set interface ip table p0 7",
        "set interface ip address p0 10.0.0.1/24",
        "nat44 add address 192.0.2.7 tenant-vrf 7",
        "nat44 add address 192.0.2.8",
        "set interface nat44 in p0 out p1",
    ] {
        rig.cli(line);
    }
    let world = rig.world();
    let peer = net::Neighbor {
        is_static: true,
        ..net::Neighbor::new(rig.ports[0], addr("10.0.0.2").into(), peer_mac(0))
    };
    world.get::<net::Neighbors>().set(&world, peer).expect("set");
    let seen = one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 53));
    assert_eq!((seen.port, seen.from), (1, end(PUBLIC, 5000)));
    let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(53, 5000));
    assert_eq!((seen.port, seen.to), (0, end("10.0.0.2", 5000)));
    assert!(rig.cli("show nat44 sessions").contains("port 5000 fib 1\n"));
}

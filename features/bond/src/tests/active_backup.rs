// SPDX-License-Identifier: Apache-2.0
//! Bonds in mode active-backup: the current member, and announcements when it changes.

use super::*;
use testkit::pkt;

fn current(rig: &mut Rig) -> usize {
    rig.sent();
    let sent = rig.pass(3, &to_bond(3, 1));
    let [(port, bytes)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(*bytes, from_bond(port_mac(0), 1));
    *port
}

#[suite::test]
fn the_current_member_carries_all() {
    let mut rig = routed("active-backup", 3);
    assert_eq!(current(&mut rig), 0);
    let packet = |src, dst, ttl| {
        let packet = pkt::ether(src, dst).ip4("10.0.0.2", "10.9.0.2").ttl(ttl);
        packet.udp(1, 9).payload(b"in").build()
    };
    let (packet, want) = (packet(host(2), port_mac(0), 7), packet(port_mac(3), host(9), 6));
    assert_eq!(rig.pass(0, &packet), at(&[3], &want));
    assert_eq!(rig.pass(1, &packet), []);
    assert_eq!(rig.pass(2, &packet), []);
    assert_eq!(rig.count("bond-input", "traffic received on passive interface"), 2);
    rig.cli("set interface state p0 down");
    assert_eq!(current(&mut rig), 1);
    assert_eq!(rig.pass(1, &packet), at(&[3], &want));
    rig.cli("set interface state p0 up");
    assert_eq!(current(&mut rig), 1, "no change without need");
    rig.cli("set interface bond p2 weight 10");
    assert_eq!(current(&mut rig), 2);
    rig.cli("set interface bond p0 weight 11");
    assert_eq!(current(&mut rig), 0);
    rig.cli("bond del p1");
    assert_eq!(current(&mut rig), 0);
    rig.cli("bond del p0");
    rig.sent();
    assert!(rig.pass(3, &to_bond(3, 1)).iter().all(|(port, _)| *port == 2));
}

/// Gratuitous ARP and unsolicited advertisements of all addresses, also those of sub-interfaces
/// with their tags.
#[suite::test]
fn a_change_is_announced() {
    let mut rig = routed("active-backup", 3);
    for line in [
        "create sub-interfaces BondEthernet0 10",
        "set interface state BondEthernet0.10 up",
        "set interface ip address BondEthernet0.10 10.10.0.1/24",
    ] {
        rig.cli(line);
    }
    rig.seconds(3);
    rig.sent();
    rig.cli("set interface state p0 down");
    let sent = rig.sent();
    assert!(sent.iter().all(|(port, _)| *port == 1), "{sent:?}");
    let arp: Vec<_> =
        sent.iter().filter(|(_, b)| b[12..14] == [8, 6] || b[16..18] == [8, 6]).collect();
    let [(_, tagged), (_, plain)] = &arp[..] else { panic!("{arp:?}") };
    let (tagged, plain) = if plain[12] == 0x81 { (plain, tagged) } else { (tagged, plain) };
    assert_eq!((&plain[..6], &plain[6..12]), (&[0xff; 6][..], &port_mac(0).octets()[..]));
    assert_eq!((&plain[28..32], &plain[38..42]), (&[10, 0, 0, 1][..], &[10, 0, 0, 1][..]));
    assert_eq!(tagged[12..16], [0x81, 0, 0, 10]);
    assert_eq!((&tagged[32..36], &tagged[42..46]), (&[10, 10, 0, 1][..], &[10, 10, 0, 1][..]));
    // Neighbour advertisements of the global and the link-local address (RFC 4861 7.2.6): to all
    // nodes, with override.
    let na: Vec<_> =
        sent.iter().filter(|(_, b)| b[12..14] == [0x86, 0xdd] && b[54] == 136).collect();
    assert_eq!(na.len(), 2, "{sent:?}");
    assert!(na.iter().all(|(_, b)| b[..6] == [0x33, 0x33, 0, 0, 0, 1] && b[58] & 0x20 != 0));
    let targets: Vec<_> = na.iter().map(|(_, b)| &b[62..78]).collect();
    assert!(targets.contains(&&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1][..]));
    // The link failed as a whole and comes back by another member: a change too. By the same
    // member: none.
    rig.cli("set interface state p2 down");
    rig.cli("set interface state p1 down");
    rig.sent();
    rig.cli("set interface state p2 up");
    assert!(rig.sent().iter().any(|(port, b)| *port == 2 && b[12..14] == [8, 6]));
    rig.cli("set interface state p2 down");
    rig.sent();
    rig.cli("set interface state p2 up");
    assert!(!rig.sent().iter().any(|(_, b)| b[12..14] == [8, 6]));
}

/// All sub-interfaces are announced, some in each turn of control.
#[suite::test]
fn many_sub_interfaces_are_announced_in_slices() {
    let mut rig = routed("active-backup", 2);
    rig.cli("create sub-interfaces BondEthernet0 1-200");
    for i in 1..=200u8 {
        rig.cli(&format!("set interface ip address BondEthernet0.{i} 10.10.{i}.1/24"));
        rig.cli(&format!("set interface state BondEthernet0.{i} up"));
    }
    rig.seconds(3);
    rig.sent();
    let world = rig.world();
    world.get::<Interfaces>().set_admin(&world, rig.ports[0], false).expect("set");
    let tags = |sent: &[(usize, Vec<u8>)]| {
        let arp = sent.iter().filter(|(_, b)| b[12..14] == [0x81, 0] && b[16..18] == [8, 6]);
        arp.map(|(port, b)| {
            assert_eq!((*port, &b[32..36]), (1, &[10, 10, b[15], 1][..]));
            b[15]
        })
        .collect::<Vec<_>>()
    };
    world.processes.run(&world);
    while rig.bench.rt.turn(true) > 0 || rig.bench.rt.is_busy() {}
    let mut first = tags(&rig.sent());
    assert_eq!(first.len(), 63, "a slice, less the bond itself");
    rig.bench.settle();
    first.extend(tags(&rig.sent()));
    first.sort_unstable();
    assert_eq!(first, (1..=200).collect::<Vec<_>>());
}

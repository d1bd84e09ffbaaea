// SPDX-License-Identifier: Apache-2.0
//! Datagrams that no tunnel takes.

use super::*;

/// As it arrives at the new destination: another destination address, one hop less, all else as it
/// came.
fn forwarded(mut packet: Vec<u8>, to: &str) -> Vec<u8> {
    match to.parse().expect("an address") {
        std::net::IpAddr::V4(to) => {
            packet[16..20].copy_from_slice(&to.octets());
            packet[8] -= 1;
            Ipv4Header::set_checksum_at(&mut packet);
        }
        std::net::IpAddr::V6(to) => {
            packet[24..40].copy_from_slice(&to.octets());
            packet[7] -= 1;
        }
    }
    if packet[if packet[0] >> 4 == 6 { 46 } else { 26 }..][..2] != [0, 0] {
        l4::finish(&mut packet).expect("UDP");
    }
    packet
}

#[suite::test]
fn what_no_tunnel_takes_is_forwarded_whole() {
    let mut rig = two();
    for line in [
        "create gtpu forward dst 10.0.2.2 bad-header",
        "create gtpu forward dst 10.0.0.2 unknown-teid decap-next ip4",
        "create gtpu forward dst 10.0.1.2 unknown-type",
        "create gtpu forward dst 2001:db8:1::2 unknown-teid decap-next ip6",
        "create gtpu forward dst 2001:db8::2 bad-header",
    ] {
        rig.cli(line);
    }
    let (packet, payload) = (inner("30.0.0.1", 9), [7; 30]);
    for (header, port, to) in [
        (header(0x50, 255, 13, &[], 0), 2, "10.0.2.2"),
        (header(0x34, 255, 13, &[0, 0, 0, 0x85, 0], 0), 2, "10.0.2.2"),
        (header(0x30, 255, 99, &[], 0), 0, "10.0.0.2"),
        (header(0x30, 1, 0, &[], 0), 1, "10.0.1.2"),
    ] {
        let datagram = from4(&header, &packet);
        assert_eq!(rig.route(&datagram), [(port, forwarded(datagram, to))], "{to}");
        // With a checksum, which covers the addresses.
        let body = [&header[..], &payload].concat();
        let datagram = pkt::ip4("10.0.1.2", "10.0.1.1").udp(7, 2152).payload(body).build();
        assert_eq!(rig.route(&datagram), [(port, forwarded(datagram, to))], "{to}");
    }
    // Without room for a header.
    let short = from4(&[1, 2, 3], &[]);
    assert_eq!(rig.route(&short), [(2, forwarded(short, "10.0.2.2"))]);
    for (header, port, to) in [
        (header(0x30, 255, 99, &[], 0), 1, "2001:db8:1::2"),
        (header(0x70, 255, 14, &[], 0), 0, "2001:db8::2"),
    ] {
        let datagram = from6(&header, &packet);
        assert_eq!(rig.route(&datagram), [(port, forwarded(datagram, to))], "{to}");
    }
    // IPv6 has no forward for other messages.
    assert_eq!(rig.route(&from6(&header(0x30, 1, 14, &[], 0), &packet)), []);
    let counter = "packets with message type < 255 in gtpu header";
    assert_eq!(rig.count("gtpu6-input", counter), 1);
    assert_eq!(rig.count("gtpu4-input", "no such tunnel packets"), 0);
    assert_eq!(rig.count("gtpu4-input", "good packets decapsulated"), 0);
    let world = rig.world();
    let at = world.get::<Interfaces>().find("gtpu_tunnel2").expect("there").at();
    assert_eq!(world.get::<IfCounters>().rx.sum(at).0, 5, "bad headers");
    let shown = rig.cli("show gtpu tunnel");
    assert!(shown.contains("dst 10.0.2.2 teid 0 tteid 0 encap-vrf-id 0 "), "{shown}");
    assert!(shown.contains(" decap-next-l2 forwarding bad-header\n"), "{shown}");
    // A tunnel takes its datagrams all the same.
    let good = from4(&header(0x30, 255, 13, &[], 0), &packet);
    assert_eq!(rig.route(&good), [(2, inner("30.0.0.1", 8))]);
}

/// There is one forward for each cause and protocol; it goes with its interface.
#[suite::test]
fn forwards_come_and_go() {
    let mut rig = two();
    rig.cli("ip table add 7");
    rig.cli("create gtpu forward dst 10.0.2.2 unknown-teid encap-vrf-id 7");
    let again = rig.refused("create gtpu forward dst 10.0.2.3 unknown-teid");
    assert!(again.0 == -75 && again.1.contains("forwarded to 10.0.2.2 already"), "{again:?}");
    let unknown = from4(&header(0x30, 255, 99, &[], 0), &inner("30.0.0.1", 9));
    assert_eq!(rig.route(&unknown), [], "table 7 has no route");
    rig.cli("ip route add 10.0.2.2/32 table 7 via 10.0.0.2 p0");
    assert_eq!(rig.route(&unknown), [(0, forwarded(unknown.clone(), "10.0.2.2"))]);
    rig.cli("create gtpu forward dst 10.0.2.2 unknown-teid del");
    assert_eq!(rig.route(&unknown), []);
    assert_eq!(rig.count("gtpu4-input", "no such tunnel packets"), 1);
    // Its number is free again, and a port's deletion isn't its own.
    let name = rig.cli("create gtpu forward dst 10.0.2.2 unknown-teid decap-next drop");
    assert_eq!(name.trim(), "gtpu_tunnel2");
    assert_eq!(rig.route(&unknown), []);
    let world = rig.world();
    let interfaces = world.get::<Interfaces>();
    let sw_if = interfaces.find("gtpu_tunnel2").expect("there");
    interfaces.delete(&world, sw_if).expect("deleted");
    assert_eq!(rig.route(&unknown), []);
    assert_eq!(rig.count("gtpu4-input", "no such tunnel packets"), 2);
    rig.cli("create gtpu forward dst 10.0.2.2 unknown-teid");
}

// SPDX-License-Identifier: Apache-2.0
//! Errors of ICMP.

use super::*;
use wire::Icmp4Type;

/// The packet that a sent error quotes.
fn quoted(frame: &[u8]) -> (Ipv4Addr, u16, Ipv4Addr, u16) {
    let bytes = &frame[ETHERNET + 28..];
    let ip = Ipv4Header::view(bytes).expect("a quoted packet");
    assert!(Ipv4Header::checksum_ok_at(bytes), "IP checksum of the quotation");
    let l4 = ports_of(bytes).expect("its ports");
    (ip.src(), l4.src_port, ip.dst(), l4.dst_port)
}

fn error(port: usize, from: &str, to: &str, about: &[u8]) -> Packet {
    packet(port, from, to).icmp(Icmp4Type::UNREACHABLE, 3, 0).payload(about)
}

/// Errors of the world find the user, with the packet that the user has sent.
#[suite::test]
fn errors_of_the_world_find_the_user() {
    let mut rig = with_pool();
    let out = || packet(0, "10.0.0.2", "10.0.1.2");
    for ask in [syn(out(), 5000, 80), out().udp(5000, 80).payload_len(30), out().icmp_echo(5000, 1)]
    {
        let left = rig.pass(0, &ask.build());
        for (from, len) in [("10.0.1.2", 1000), ("10.0.1.9", 28)] {
            let about = &left[0].1[ETHERNET..];
            let about = &about[..about.len().min(len)];
            let back = rig.pass(1, &error(1, from, PUBLIC, about).build());
            assert_eq!(back.len(), 1);
            let outer = seen(&back[0]);
            assert_eq!((outer.port, outer.from.0, outer.to.0), (0, addr(from), addr("10.0.0.2")));
            let (source, port, destination, _) = quoted(&back[0].1);
            assert_eq!((source, port), (addr("10.0.0.2"), 5000));
            assert_eq!(destination, addr("10.0.1.2"));
        }
    }
    assert_eq!(stat(&rig, "out2in/slowpath/icmp", rig.ports[1].at()), 6);
}

/// Errors of users have an address that the world knows, whoever inside has sent them.
#[suite::test]
fn errors_of_users_have_the_address_of_the_world() {
    let mut rig = with_pool();
    rig.cli("nat44 ei add static mapping tcp local 10.0.0.2 8080 external 192.0.2.7 80");
    let left = rig.pass(1, &syn(packet(1, "10.0.1.2", PUBLIC), 4000, 80).build());
    for from in ["10.0.0.2", "10.0.0.77"] {
        let about = &left[0].1[ETHERNET..];
        let back = rig.pass(0, &error(0, from, "10.0.1.2", about).build());
        let outer = seen(&back[0]);
        assert_eq!((outer.port, outer.from.0, outer.to.0), (1, addr(PUBLIC), addr("10.0.1.2")));
        assert_eq!(quoted(&back[0].1), (addr("10.0.1.2"), 4000, addr(PUBLIC), 80));
    }
}

/// A user's error about a packet of another user goes there.
#[suite::test]
fn errors_between_users_find_the_other_one() {
    let mut rig = with_pool();
    rig.cli("nat44 ei add static mapping udp local 10.0.0.30 53 external 192.0.2.7 53");
    let left = rig.pass(0, &packet(0, "10.0.0.2", PUBLIC).udp(5000, 53).build());
    assert_eq!(seen(&left[0]).to, end("10.0.0.30", 53));
    // The session of the server, which an answer makes.
    let port = seen(&left[0]).from.1;
    one(&mut rig, 0, &packet(0, "10.0.0.30", PUBLIC).udp(53, port));
    let about = &left[0].1[ETHERNET..];
    let back = rig.pass(0, &error(0, "10.0.0.30", PUBLIC, about).build());
    let outer = seen(&back[0]);
    assert_eq!((outer.from.0, outer.to.0), (addr(PUBLIC), addr("10.0.0.2")));
    assert_eq!(quoted(&back[0].1), (addr("10.0.0.2"), 5000, addr(PUBLIC), 53));
}

/// A damaged error, and one about nothing known, is dropped; trailing bytes don't matter.
#[suite::test]
fn damaged_errors_are_dropped() {
    let mut rig = with_pool();
    let left = rig.pass(0, &packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 80).build());
    let about = &left[0].1[ETHERNET..];
    let good = error(1, "10.0.1.2", PUBLIC, about);
    let mut trailer = good.build();
    trailer.extend([1, 2, 3, 4, 5]);
    assert_eq!(rig.pass(1, &trailer).len(), 1);
    let mut bad = good.build();
    bad[ETHERNET + 50] ^= 1;
    assert!(rig.pass(1, &bad).is_empty());
    let unknown = pkt::ip4(PUBLIC, "10.0.1.2").udp(1, 80).build();
    assert!(is_dropped(&mut rig, 1, &error(1, "10.0.1.2", PUBLIC, &unknown)));
    assert!(is_dropped(&mut rig, 1, &error(1, "10.0.1.2", PUBLIC, &about[..10])));
    assert_eq!(rig.count(BACK, "no translation"), 3);
}

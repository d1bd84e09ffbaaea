// SPDX-License-Identifier: Apache-2.0
//! Errors of ICMP.

use super::*;
use ::nat::quoted::Quoted;
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
    let icmp = rig.bench.world.stats.simple("/nat44-ed/out2in/slowpath/icmp");
    assert_eq!(icmp.sum(rig.ports[1].at()), 6);
}

/// Errors of users have an address that the world knows, whoever inside has sent them.
#[suite::test]
fn errors_of_users_have_the_address_of_the_world() {
    let mut rig = with_pool();
    rig.cli("nat44 add static mapping tcp local 10.0.0.2 8080 external 192.0.2.7 80");
    let left = rig.pass(1, &syn(packet(1, "10.0.1.2", PUBLIC), 4000, 80).build());
    for from in ["10.0.0.2", "10.0.0.77"] {
        let about = &left[0].1[ETHERNET..];
        let back = rig.pass(0, &error(0, from, "10.0.1.2", about).build());
        let outer = seen(&back[0]);
        assert_eq!((outer.port, outer.from.0, outer.to.0), (1, addr(PUBLIC), addr("10.0.1.2")));
        assert_eq!(quoted(&back[0].1), (addr("10.0.1.2"), 4000, addr(PUBLIC), 80));
    }
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
    assert_eq!(rig.count("nat44-ed-out2in-slowpath", "couldn't translate packet"), 1);
    let unknown = pkt::ip4(PUBLIC, "10.0.1.2").udp(5001, 80).build();
    assert!(is_dropped(&mut rig, 1, &error(1, "10.0.1.2", PUBLIC, &unknown)));
    assert!(is_dropped(&mut rig, 1, &error(1, "10.0.1.2", PUBLIC, &about[..10])));
    assert_eq!(rig.count("nat44-ed-out2in-slowpath", "no translation"), 2);
}

/// An error about a packet of another node of the network is read only as far as it goes.
#[suite::test]
fn quotations_of_any_length_are_read() {
    let mut bench = graph::drive::Bench::new(PLUGINS);
    let whole = pkt::ip4("10.0.0.1", "10.0.0.2").icmp(Icmp4Type::UNREACHABLE, 3, 0);
    let inner = pkt::ip4("1.2.3.4", "5.6.7.8").tcp(1, 2).build();
    for len in 0..=inner.len() {
        let mut b = bench.rt.cache().alloc().expect("a buffer");
        assert!(b.set_data(&whole.clone().payload(&inner[..len]).build()));
        let quoted = Quoted::read(&b, 20);
        assert_eq!(quoted.is_some(), len >= 24, "{len}");
        bench.rt.cache().free(b);
    }
}

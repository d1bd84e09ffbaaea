// SPDX-License-Identifier: Apache-2.0
//! Errors of ICMP and ICMPv6.

use super::*;
use crate::icmp::{error4, error6};
use wire::{Icmp4Type, Icmp6Type};

/// An address and a port.
type Host = (IpAddr, u16);

/// The packet that a sent error quotes, and the error's type, code and last word.
fn quoted(frame: &[u8]) -> (Host, Host, (u8, u8, u32)) {
    let bytes = &frame[ETHERNET..];
    let at = if bytes[0] >> 4 == 4 { 20 } else { 40 };
    let rest = u32::from_be_bytes(bytes[at + 4..at + 8].try_into().expect("four bytes"));
    let error = (bytes[at], bytes[at + 1], rest);
    let inner = &bytes[at + 8..];
    if inner[0] >> 4 == 4 {
        assert!(Ipv4Header::checksum_ok_at(inner), "IP checksum of the quotation");
        let p = Read::<Ipv4Addr>::read(inner, None, true).expect("a quoted packet");
        ((p.from.into(), p.ports.0), (p.to.into(), p.ports.1), error)
    } else {
        let p = Read::<Ipv6Addr>::read(inner, None, true).expect("a quoted packet");
        ((p.from.into(), p.ports.0), (p.to.into(), p.ports.1), error)
    }
}

fn asks() -> [Packet; 3] {
    let out = || of_user(USER, HOST6);
    [
        syn(out(), 5000, 80),
        out().udp(5000, 80).payload("some bytes"),
        out().icmp6_echo(5000, 1).payload("some bytes"),
    ]
}

/// Errors of the world find the user, with the packet that the user has sent, and its checksum.
#[suite::test]
fn errors_of_the_world_find_the_user() {
    let mut rig = with_pool();
    for ask in asks() {
        let left = rig.pass(0, &ask.build());
        for (from, len) in [(HOST, 1000), ("10.0.1.9", 28)] {
            let about = &left[0].1[ETHERNET..];
            let about = &about[..about.len().min(len)];
            let error = of_world(from, PUBLIC).icmp(Icmp4Type::UNREACHABLE, 13, 0).payload(about);
            let back = rig.pass(1, &error.build());
            assert_eq!(back.len(), 1);
            let outer = seen(&back[0]);
            let far = format!("64:ff9b::{from}");
            assert_eq!((outer.port, outer.from.0, outer.to.0), (0, addr(&far), addr(USER)));
            let (source, destination, error) = quoted(&back[0].1);
            assert_eq!((source, destination.0, error), (end(USER, 5000), addr(HOST6), (1, 1, 0)));
            // It is the user's own packet again, but for the hop.
            let (inner, own) = (&back[0].1[ETHERNET + 48..], &ask.build()[ETHERNET..]);
            if len == 1000 {
                assert_eq!(inner[8..], own[8..]);
            }
        }
    }
}

/// Errors of users have the address that the world knows, whoever inside has sent them.
#[suite::test]
fn errors_of_users_have_the_address_of_the_world() {
    let mut rig = with_pool();
    for ask in asks() {
        let out = one(&mut rig, 0, &ask);
        let port = out.from.1;
        let answer = match out.protocol {
            IpProtocol::TCP => of_world(HOST, PUBLIC).tcp(80, port).segment(TcpFlags::SYN, 1, 1),
            IpProtocol::UDP => of_world(HOST, PUBLIC).udp(80, port).payload("more bytes"),
            _ => of_world(HOST, PUBLIC).icmp_echo_reply(port, 1).payload("more bytes"),
        };
        let left = rig.pass(1, &answer.build());
        for from in [USER, "2001:db8:0::77"] {
            let about = &left[0].1[ETHERNET..];
            let error = of_user(from, HOST6).icmp6(Icmp6Type::UNREACHABLE, 1, 0).payload(about);
            let back = rig.pass(0, &error.build());
            let outer = seen(&back[0]);
            assert_eq!((outer.port, outer.from.0, outer.to.0), (1, addr(PUBLIC), addr(HOST)));
            let (source, destination, error) = quoted(&back[0].1);
            assert_eq!((source.0, destination, error), (addr(HOST), end(PUBLIC, port), (3, 13, 0)));
            let (inner, own) = (&back[0].1[ETHERNET + 28..], &answer.build()[ETHERNET..]);
            assert_eq!(inner[20..], own[20..], "ports and checksum");
        }
    }
}

/// The user who hears of a shorter MTU gets the one of IPv6.
#[suite::test]
fn packets_that_are_too_big_tell_the_mtu() {
    let mut rig = with_pool();
    let left = rig.pass(0, &of_user(USER, HOST6).udp(5000, 80).payload_len(1300).build());
    for (mtu, other) in [(1400, 1420), (600, 1280), (0, 1280)] {
        let about = &left[0].1[ETHERNET..];
        let error = of_world("10.0.1.9", PUBLIC).icmp(Icmp4Type::UNREACHABLE, 4, mtu);
        let back = rig.pass(1, &error.payload(&about[..600]).build());
        assert_eq!(quoted(&back[0].1).2, (2, 0, other));
        seen(&back[0]);
    }
    // Longer than any error of IPv6 may be.
    let long = of_world("10.0.1.9", PUBLIC).icmp(Icmp4Type::UNREACHABLE, 4, 1400);
    let back = rig.pass(1, &long.payload(&left[0].1[ETHERNET..]).build());
    assert_eq!(back[0].1.len(), ETHERNET + 1280);
    seen(&back[0]);
}

/// A damaged error is dropped, and one about nothing known, and one that has no counterpart.
#[suite::test]
fn other_errors_are_dropped() {
    let mut rig = with_pool();
    let left = rig.pass(0, &of_user(USER, HOST6).udp(5000, 80).build());
    let about = &left[0].1[ETHERNET..];
    let good = of_world(HOST, PUBLIC).icmp(Icmp4Type::UNREACHABLE, 3, 0);
    let mut bad = good.clone().payload(about).build();
    bad[ETHERNET + 50] ^= 1;
    assert!(rig.pass(1, &bad).is_empty());
    assert_eq!(rig.count("nat64-out2in", "unknown"), 1);
    let unknown = pkt::ip4(PUBLIC, HOST).udp(5001, 80).build();
    assert!(is_dropped(&mut rig, 1, &good.clone().payload(&unknown)));
    assert!(is_dropped(&mut rig, 1, &good.payload(&about[..10])));
    assert_eq!(rig.count("nat64-out2in", "no translation"), 2);
    let redirect = of_world(HOST, PUBLIC).icmp(Icmp4Type::REDIRECT, 1, 0).payload(about);
    assert!(is_dropped(&mut rig, 1, &redirect));
    assert_eq!(rig.count("nat64-out2in", "unsupported protocol"), 1);
}

/// Users who reach each other hear of errors too, twice translated.
#[suite::test]
fn errors_between_users_are_translated_twice() {
    let mut rig = with_pool();
    rig.cli("nat64 add static bib 2001:db8::3 53 192.0.2.7 53 udp");
    let far = "64:ff9b::192.0.2.7";
    let ask = of_user(USER, far).udp(1234, 53).payload("some bytes");
    let left = rig.pass(0, &ask.build());
    let about = &left[0].1[ETHERNET..];
    let error = of_user("2001:db8::3", far).icmp6(Icmp6Type::UNREACHABLE, 4, 0).payload(about);
    let back = rig.pass(0, &error.build());
    let outer = seen(&back[0]);
    assert_eq!((outer.from.0, outer.to.0), (addr(far), addr(USER)));
    assert_eq!(quoted(&back[0].1), (end(USER, 1234), end(far, 53), (1, 4, 0)));
    assert_eq!(back[0].1[ETHERNET + 48 + 40..], ask.build()[ETHERNET + 40..]);
}

/// Types and codes (RFC 7915 4.2, 5.2; as VPP, prohibited is 13 of ICMP).
#[suite::test]
fn types_have_counterparts() {
    let four = |kind: u8, code, rest| error6((kind, code, rest), 1500);
    for (code, other) in (0..=16).zip([0, 0, 9, 4, 2, 0, 0, 0, 0, 1, 1, 0, 0, 1, 9, 1, 9]) {
        match four(3, code, 1000) {
            Some((1, to, 0)) => assert_eq!(to, other, "{code}"),
            Some((2, 0, 1280)) => assert_eq!(code, 4),
            Some((4, 1, 6)) => assert_eq!(code, 2),
            None => assert!([14, 16].contains(&code), "{code}"),
            other => panic!("{code}: {other:?}"),
        }
    }
    assert_eq!(four(11, 1, 0), Some((3, 1, 0)));
    assert_eq!(four(12, 0, 9 << 24), Some((4, 0, 6)));
    assert_eq!((four(12, 0, 5 << 24), four(12, 1, 0), four(5, 0, 0)), (None, None, None));
    let six = |kind: u8, code, rest| error4((kind, code, rest));
    for (code, other) in (0..5).zip([1, 13, 1, 1, 3]) {
        assert_eq!(six(1, code, 0), Some((3, other, 0)), "{code}");
    }
    assert_eq!((six(1, 5, 0), six(4, 2, 0), six(100, 0, 0)), (None, None, None));
    assert_eq!((six(2, 0, 1500), six(2, 0, 70_000)), (Some((3, 4, 1480)), Some((3, 4, 65_535))));
    assert_eq!((six(3, 0, 0), six(4, 1, 6)), (Some((11, 0, 0)), Some((3, 2, 0))));
    assert_eq!((six(4, 0, 7), six(4, 0, 2)), (Some((12, 0, 8 << 24)), None));
}

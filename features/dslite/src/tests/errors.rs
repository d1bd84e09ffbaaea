// SPDX-License-Identifier: Apache-2.0
//! Errors of ICMP.

use super::*;
use wire::Icmp4Type;

/// The bytes of a packet from its IP header on.
fn ip(packet: &Packet) -> Vec<u8> {
    packet.build()[ETHERNET..].to_vec()
}

fn unreachable(packet: Packet, quoted: &[u8]) -> Packet {
    packet.icmp(Icmp4Type::UNREACHABLE, 3, 0).payload(quoted)
}

/// Errors of the world about users' packets quote them as they were, and so do those of users.
#[suite::test]
fn errors_are_translated_with_their_quotations() {
    let mut rig = with_pool();
    for (out, which) in [(0, "udp"), (1, "tcp"), (2, "icmp")] {
        let ask = |packet: Packet, from: u16| match which {
            "udp" => packet.udp(from, 53).payload("question"),
            "tcp" => syn(packet, from, 80),
            _ => packet.icmp_echo(from, 1),
        };
        let asked = ask(of_user(B4, USER, HOST), 5000 + out);
        let sent = rig.pass(0, &asked.build());
        let port = left(&sent[0]).seen.from.1;
        // From a router on the way.
        let error = unreachable(of_world("10.0.1.77", PUBLIC), &sent[0].1[ETHERNET..]);
        let back = rig.pass(1, &error.build());
        let seen = left(&back[0]);
        assert_eq!(seen.tunnel, Some((addr6(AFTR), addr6(B4))));
        assert_eq!((seen.seen.from.0, seen.seen.to.0), (addr("10.0.1.77"), addr(USER)));
        // The quotation is the user's packet, but for what routers change.
        let quoted = &back[0].1[ETHERNET + IP6 + 28..];
        let own = ask(pkt::ether(peer_mac(0), port_mac(0)).ip4(USER, HOST).ttl(63), 5000 + out);
        assert_eq!(quoted, &ip(&own)[..], "{which}");
        // The user refuses an answer.
        let answer = match which {
            "udp" => of_world(HOST, PUBLIC).udp(53, port),
            "tcp" => of_world(HOST, PUBLIC).tcp(80, port).segment(TcpFlags::ACK, 1, 2),
            _ => of_world(HOST, PUBLIC).icmp_echo_reply(port, 1),
        };
        let inside = rig.pass(1, &answer.build());
        let refused = unreachable(of_user(B4, "192.168.1.1", HOST), &inside[0].1[ETHERNET + IP6..]);
        let out = rig.pass(0, &refused.build());
        let seen = left(&out[0]);
        assert_eq!((seen.seen.port, seen.seen.from.0), (1, addr(PUBLIC)));
        let quoted = &out[0].1[ETHERNET + 28..];
        let mut own = ip(&answer);
        // The tunnel was one hop.
        own[8] -= 1;
        own[10..12].copy_from_slice(&quoted[10..12]);
        assert_eq!(quoted, &own[..], "{which}");
        assert!(wire::Ipv4Header::checksum_ok_at(quoted));
    }
}

/// Errors that are damaged, or quote what nobody has sent, are dropped.
#[suite::test]
fn bad_errors_are_dropped() {
    let mut rig = with_pool();
    let asked = of_user(B4, USER, HOST).udp(5000, 53).payload("question");
    let sent = rig.pass(0, &asked.build());
    let quoted = sent[0].1[ETHERNET..].to_vec();
    let good = unreachable(of_world(HOST, PUBLIC), &quoted);
    assert_eq!(rig.pass(1, &good.build()).len(), 1);
    let mut damaged = good.build();
    damaged[ETHERNET + 22] ^= 1;
    assert!(rig.pass(1, &damaged).is_empty());
    let other = ip(&of_world(PUBLIC, HOST).udp(9, 53));
    assert!(rig.pass(1, &unreachable(of_world(HOST, PUBLIC), &other).build()).is_empty());
    assert!(rig.pass(1, &unreachable(of_world(HOST, PUBLIC), &quoted[..22]).build()).is_empty());
    assert_eq!(rig.count("dslite-out2in", "no translation"), 3);
}

/// The router's own errors: hops that are used up, on both sides of the tunnel.
#[suite::test]
fn hops_are_counted_on_both_sides() {
    let mut rig = with_pool();
    let last = of_user(B4, USER, HOST).ttl(1).udp(5000, 53).payload("question");
    let back = rig.pass(0, &last.build());
    assert_eq!(back.len(), 1, "{back:?}");
    let seen = left(&back[0]);
    assert_eq!((seen.tunnel, seen.seen.port), (Some((addr6(AFTR), addr6(B4))), 0));
    assert_eq!(seen.seen.to.0, addr(USER));
    let error = &back[0].1[ETHERNET + IP6 + 20..];
    assert_eq!(error[..2], [11, 0]);
    let own = ip(&pkt::ether(peer_mac(0), port_mac(0))
        .ip4(USER, HOST)
        .ttl(1)
        .udp(5000, 53)
        .payload("question"));
    assert_eq!(error[8..], own);
    // From the world.
    let port = one(&mut rig, 0, &of_user(B4, USER, HOST).udp(5000, 53)).seen.from.1;
    let last = of_world(HOST, PUBLIC).ttl(1).udp(53, port);
    let back = rig.pass(1, &last.build());
    assert_eq!((back[0].0, back[0].1[ETHERNET + 20]), (1, 11));
    assert_eq!(rig.count("dslite-out2in", "time_exceeded"), 1);
}

// SPDX-License-Identifier: Apache-2.0
//! The DHCPv4 relay: bytes of every message, both ways.

use super::*;
use testkit::pkt;
use wire::MacAddr;

/// A client's message of this type, with padding behind its end.
fn message(kind: u8) -> Vec<u8> {
    let mut m = vec![1, 1, 6, 0, 1, 2, 3, 4];
    m.resize(28, 0);
    m.extend(peer_mac(0).0);
    m.resize(236, 0);
    m.extend([99, 130, 83, 99, 53, 1, kind, 255]);
    m.resize(300, 0);
    m
}

fn from_client(message: &[u8]) -> Vec<u8> {
    let ether = pkt::ether(peer_mac(0), MacAddr::BROADCAST);
    ether.ip4("0.0.0.0", "255.255.255.255").udp(68, 67).payload(message).build()
}

/// The message as servers get it: from 10.0.1.1, with the option for port 0.
fn relayed(rig: &Rig, kind: u8, vss: &[u8]) -> Vec<u8> {
    let mut m = message(kind);
    m[3] = 1;
    m[24..28].copy_from_slice(&[10, 0, 1, 1]);
    m.truncate(243);
    m.extend([82, 12 + vss.len() as u8, 1, 4]);
    m.extend(rig.ports[0].0.to_be_bytes());
    m.extend([5, 4, 10, 0, 0, 1]);
    m.extend(vss);
    m.push(255);
    m
}

/// The frame to the server of a port, with TTL 63 behind the lookup.
fn to_server(port: usize, server: &str, mac: MacAddr, message: &[u8]) -> (usize, Vec<u8>) {
    let ether = pkt::ether(port_mac(port), mac);
    let frame = ether.ip4("10.0.1.1", server).ttl(64).udp(68, 67).payload(message).build();
    (port, without_checksum(frame))
}

fn without_checksum(mut frame: Vec<u8>) -> Vec<u8> {
    frame[40..42].fill(0);
    frame
}

#[suite::test]
fn messages_go_to_servers_and_answers_back() {
    let mut rig = networks(3);
    let discover = from_client(&message(1));
    assert_eq!(rig.pass(0, &discover), []);
    assert_eq!(rig.count("dhcp-proxy-to-server", "no_server"), 1);
    rig.cli("set dhcp proxy server 10.0.1.2 src-address 10.0.1.1");
    let want = [to_server(1, "10.0.1.2", peer_mac(1), &relayed(&rig, 1, &[]))];
    assert_eq!(rig.pass(0, &discover), want);
    // A second server gets discoveries only.
    rig.cli("set dhcp proxy server 10.0.2.2 src-address 10.0.1.1");
    let second = to_server(2, "10.0.2.2", peer_mac(2), &relayed(&rig, 1, &[]));
    assert_eq!(rig.pass(0, &discover), [want[0].clone(), second]);
    let want = [to_server(1, "10.0.1.2", peer_mac(1), &relayed(&rig, 3, &[]))];
    assert_eq!(rig.pass(0, &from_client(&message(3))), want);
    // VPNs, by number and by name.
    rig.cli("set dhcp option-82 vss table 0 oui 4 vpn-id 9");
    let vss = [151, 8, 1, 0, 0, 4, 0, 0, 0, 9, 152, 0];
    let want = [to_server(1, "10.0.1.2", peer_mac(1), &relayed(&rig, 3, &vss))];
    assert_eq!(rig.pass(0, &from_client(&message(3))), want);
    rig.cli("set dhcp option-82 vss table 0 vpn-ascii-id red");
    let vss = [151, 4, 0, b'r', b'e', b'd', 152, 0];
    let want = [to_server(1, "10.0.1.2", peer_mac(1), &relayed(&rig, 3, &vss))];
    assert_eq!(rig.pass(0, &from_client(&message(3))), want);
    // The server's answer goes to all stations of the client's link, option and all.
    let mut offer = relayed(&rig, 2, &vss);
    offer[0] = 2;
    let answer = |offer: &[u8], server: &str| {
        let ether = pkt::ether(peer_mac(1), port_mac(1));
        ether.ip4(server, "10.0.1.1").udp(67, 67).payload(offer).build()
    };
    let ether = pkt::ether(port_mac(0), MacAddr::BROADCAST);
    let ip = ether.ip4("10.0.0.1", "255.255.255.255").ttl(64);
    let want = without_checksum(ip.udp(67, 68).payload(&offer).build());
    assert_eq!(rig.pass(1, &answer(&offer, "10.0.1.2")), [(0, want)]);
    assert_eq!(rig.count("dhcp-proxy-to-client", "vss_not_processed"), 1);
    // Answers that aren't relayed, each with the name that counts it.
    for (at, value, server, name) in [
        (249, 9, "10.0.1.2", "bad_option_82_itf"),
        (255, 9, "10.0.1.2", "bad_option_82_addr"),
        (243, 83, "10.0.1.2", "option_82_missing"),
        (4, 1, "10.0.1.9", "bad_svr_fib_or_address"),
    ] {
        let mut bad = offer.clone();
        bad[at] = value;
        assert_eq!(rig.pass(1, &answer(&bad, server)), [], "{name}");
        assert_eq!(rig.count("dhcp-proxy-to-client", name), 1, "{name}");
    }
    rig.cli("set dhcp proxy del server 10.0.1.2 src-address 10.0.1.1");
    rig.cli("set dhcp proxy del server 10.0.2.2");
    assert_eq!(rig.pass(0, &discover), []);
    assert_eq!(rig.refused("set dhcp proxy del server 10.0.2.2").0, -6);
    assert_eq!(rig.refused("set dhcp proxy server 0.0.0.0 src-address 10.0.1.1").0, -58);
    assert_eq!(rig.refused("set dhcp proxy server 10.0.1.2 src-address 0.0.0.0").0, -57);
}

/// Clients can't pretend to be relays, messages don't go in circles.
#[suite::test]
fn relays_in_front_are_believed_clients_are_not() {
    let mut rig = networks(2);
    rig.cli("set dhcp proxy server 10.0.1.2 src-address 10.0.1.1");
    let mut with_option = message(1);
    with_option[243..250].copy_from_slice(&[82, 2, 1, 0, 255, 0, 0]);
    assert_eq!(rig.pass(0, &from_client(&with_option)), []);
    let mut from_us = message(1);
    from_us[24..28].copy_from_slice(&[10, 0, 1, 1]);
    assert_eq!(rig.pass(0, &from_client(&from_us)), []);
    assert_eq!(rig.count("dhcp-proxy-to-server", "untrusted"), 2);
    let mut often = message(1);
    often[3] = 16;
    assert_eq!(rig.pass(0, &from_client(&often)), []);
    assert_eq!(rig.count("dhcp-proxy-to-server", "too_many_hops"), 1);
    // Of another relay: only the hops change (RFC 1542 4.1.1).
    let mut relayed = message(1);
    relayed[24..28].copy_from_slice(&[10, 9, 9, 9]);
    let mut want = relayed.clone();
    want[3] = 1;
    let want = [to_server(1, "10.0.1.2", peer_mac(1), &want)];
    assert_eq!(rig.pass(0, &from_client(&relayed)), want);
}

#[suite::test]
fn mutated_messages_are_relayed_or_dropped_by_name() {
    let mut rig = networks(2);
    rig.cli("set dhcp proxy server 10.0.1.2 src-address 10.0.1.1");
    let mut offer = relayed(&rig, 2, &[]);
    offer[0] = 2;
    let clients = [from_client(&message(1)), from_client(&message(3))];
    let ether = pkt::ether(peer_mac(1), port_mac(1));
    let servers = [ether.ip4("10.0.1.2", "10.0.1.1").udp(67, 67).payload(&offer).build()];
    let mut mutator = testkit::mutate::Mutator::new(67);
    for _ in 0..200 {
        for (port, bases) in [(0, &clients[..]), (1, &servers[..])] {
            let mut frames = mutator.vector(bases, 250, 14);
            for frame in &mut frames {
                frame.truncate(2000);
                if let Some(sum) = frame.get_mut(40..42) {
                    sum.fill(0);
                }
            }
            rig.receive_all(port, &frames);
            rig.sent();
        }
    }
    assert!(rig.count("dhcp-proxy-to-server", "relay_to_server") > 5000);
    assert!(rig.count("dhcp-proxy-to-client", "relay_to_client") > 5000);
}

// SPDX-License-Identifier: Apache-2.0
//! The DHCPv6 relay: bytes of every message, both ways.

use super::*;
use std::net::Ipv6Addr;
use testkit::pkt;
use wire::MacAddr;

const LINK_LOCAL: &str = "fe80::9";

fn bytes(text: &str) -> [u8; 16] {
    text.parse::<Ipv6Addr>().expect("an address").octets()
}

fn option(code: u16, data: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes()[..], &(data.len() as u16).to_be_bytes(), data].concat()
}

fn message(kind: u8) -> Vec<u8> {
    [&[kind, 1, 2, 3][..], &option(8, &[0, 0])].concat()
}

fn from_client(message: &[u8]) -> Vec<u8> {
    let ether = pkt::ether(peer_mac(0), MacAddr([0x33, 0x33, 0, 1, 0, 2]));
    ether.ip6(LINK_LOCAL, "ff02::1:2").udp(546, 547).payload(message).build()
}

/// The options of the relay for a client on port 0.
fn options(rig: &Rig, mac: bool, vss: &[u8], message: &[u8]) -> Vec<u8> {
    let mut all = option(18, &rig.ports[0].0.to_be_bytes());
    if mac {
        all.extend(option(79, &[&[0, 1][..], &peer_mac(0).0].concat()));
    }
    all.extend(option(9, message));
    if !vss.is_empty() {
        all.extend(option(68, vss));
    }
    all
}

fn relayed(rig: &Rig, kind: u8, vss: &[u8], message: &[u8]) -> Vec<u8> {
    let mut all = vec![kind, 0];
    all.extend(bytes("2001:db8::1"));
    all.extend(bytes(LINK_LOCAL));
    all.extend(options(rig, true, vss, message));
    all
}

fn to_server(port: usize, server: &str, message: &[u8]) -> (usize, Vec<u8>) {
    let ether = pkt::ether(port_mac(port), peer_mac(port));
    (port, ether.ip6("2001:db8:1::1", server).ttl(64).udp(546, 547).payload(message).build())
}

fn answer(server: &str, message: &[u8]) -> Vec<u8> {
    let ether = pkt::ether(peer_mac(1), port_mac(1));
    ether.ip6(server, "2001:db8:1::1").udp(547, 547).payload(message).build()
}

#[suite::test]
fn messages_go_to_servers_and_answers_back() {
    let mut rig = networks(3);
    let solicit = message(1);
    assert_eq!(rig.pass(0, &from_client(&solicit)), []);
    rig.cli("set dhcpv6 proxy server 2001:db8:1::2 src-address 2001:db8:1::1");
    let first = to_server(1, "2001:db8:1::2", &relayed(&rig, 12, &[], &solicit));
    assert_eq!(rig.pass(0, &from_client(&solicit)), std::slice::from_ref(&first));
    // A second server gets solicitations only.
    rig.cli("set dhcpv6 proxy server 2001:db8:2::2 src-address 2001:db8:1::1");
    let second = to_server(2, "2001:db8:2::2", &relayed(&rig, 12, &[], &solicit));
    assert_eq!(rig.pass(0, &from_client(&solicit)), [first, second]);
    let request = message(3);
    rig.cli("set dhcpv6 vss table 0 oui 4 vpn-id 9");
    let vss = [1, 0, 0, 4, 0, 0, 0, 9];
    let want = [to_server(1, "2001:db8:1::2", &relayed(&rig, 12, &vss, &request))];
    assert_eq!(rig.pass(0, &from_client(&request)), want);
    // The answer goes to all stations of the client's link, for the client.
    let advertise = message(2);
    let ether = pkt::ether(port_mac(0), MacAddr::BROADCAST);
    let ip = ether.ip6("2001:db8::1", LINK_LOCAL).ttl(64);
    let want = [(0, ip.udp(547, 546).payload(&advertise).build())];
    let reply = relayed(&rig, 13, &[], &advertise);
    assert_eq!(rig.pass(1, &answer("2001:db8:1::2", &reply)), want);
    // Answers that aren't relayed, each with the name that counts it.
    let fixed = &reply[..34];
    let id = option(18, &rig.ports[0].0.to_be_bytes());
    let inner = option(9, &advertise);
    for (message, server, node, name) in [
        (message(2), "2001:db8:1::2", "dhcpv6-proxy-to-server", "wrong_message_type"),
        (
            [fixed, &id].concat(),
            "2001:db8:1::2",
            "dhcpv6-proxy-to-client",
            "no_relay_message_option",
        ),
        (
            [fixed, &inner].concat(),
            "2001:db8:1::2",
            "dhcpv6-proxy-to-client",
            "no_circuit_id_option",
        ),
        (
            [fixed, &option(18, &[0, 0, 1, 0]), &inner].concat(),
            "2001:db8:1::2",
            "dhcpv6-proxy-to-client",
            "wrong_interface_id_option",
        ),
        (reply.clone(), "2001:db8:1::3", "dhcpv6-proxy-to-client", "bad_svr_fib_or_address"),
        (vec![13; 33], "2001:db8:1::2", "dhcpv6-proxy-to-client", "malformed"),
    ] {
        assert_eq!(rig.pass(1, &answer(server, &message)), [], "{name}");
        assert_eq!(rig.count(node, name), 1, "{name}");
    }
    rig.cli("set dhcpv6 proxy del server 2001:db8:1::2");
    rig.cli("set dhcpv6 proxy del server 2001:db8:2::2");
    assert_eq!(rig.pass(0, &from_client(&solicit)), []);
}

/// A message of another relay has its hops counted, and no link-layer address of a client.
#[suite::test]
fn relays_follow_each_other() {
    let mut rig = networks(2);
    rig.cli("set dhcpv6 proxy server 2001:db8:1::2 src-address 2001:db8:1::1");
    let mut inner = vec![12, 3];
    inner.extend([0; 32]);
    inner.extend(option(9, &message(1)));
    let mut want = vec![12, 4];
    want.extend(bytes("2001:db8::1"));
    want.extend(bytes(LINK_LOCAL));
    want.extend(options(&rig, false, &[], &inner));
    let want = [to_server(1, "2001:db8:1::2", &want)];
    assert_eq!(rig.pass(0, &from_client(&inner)), want);
    inner[1] = 8;
    assert_eq!(rig.pass(0, &from_client(&inner)), []);
    assert_eq!(rig.count("dhcpv6-proxy-to-server", "too_many_hops"), 1);
}

#[suite::test]
fn mutated_messages_are_relayed_or_dropped_by_name() {
    let mut rig = networks(2);
    rig.cli("set dhcpv6 proxy server 2001:db8:1::2 src-address 2001:db8:1::1");
    let clients = [from_client(&message(1)), from_client(&message(3))];
    let servers = [answer("2001:db8:1::2", &relayed(&rig, 13, &[], &message(2)))];
    let mut mutator = testkit::mutate::Mutator::new(547);
    for _ in 0..200 {
        for (port, bases) in [(0, &clients[..]), (1, &servers[..])] {
            let mut frames = mutator.vector(bases, 250, 14);
            for frame in &mut frames {
                frame.truncate(2000);
                let _ = wire::l4::finish(&mut frame[14..]);
            }
            rig.receive_all(port, &frames);
            rig.sent();
        }
    }
    assert!(rig.count("dhcpv6-proxy-to-server", "relay_to_server") > 5000);
    assert!(rig.count("dhcpv6-proxy-to-client", "relay_to_client") > 5000);
}

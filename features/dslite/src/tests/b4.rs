// SPDX-License-Identifier: Apache-2.0
//! A router that is a B4.

use super::*;
use graph::drive::Bench;
use startup::Source;
use startup::text::tokens;

/// A user behind port 0, the AFTR behind port 1.
fn b4(lines: &[&str]) -> Rig {
    let source = Source::file("startup.conf", "{ ce }");
    let tokens = tokens(&source).expect("braces in pairs");
    let mut startup = startup::Values::new(PLUGIN.startup);
    let mut cursor = startup::Cursor::new(&source, &tokens);
    startup.read("dslite", &mut cursor).expect("declared").expect("right");
    let config = graph::WorldConfig { startup, ..Default::default() };
    let mut rig = Rig::of(Bench::configured(&config, PLUGINS), 2);
    neighbors(&mut rig);
    lines.iter().for_each(|line| drop(rig.cli(line)));
    rig
}

const OWN: &str = "2001:db8:eeee::1";
const FAR: &str = "2001:db8:1::2";
const ENDS: [&str; 2] = [
    "dslite set aftr-tunnel-endpoint-address 2001:db8:1::2",
    "dslite set b4-tunnel-endpoint-address 2001:db8:eeee::1",
];

fn of_user() -> Packet {
    pkt::ether(peer_mac(0), port_mac(0)).ip4("10.0.0.2", "198.51.100.1").ttl(9).tos(0xb8)
}

fn of_aftr() -> Packet {
    pkt::ether(peer_mac(1), port_mac(1)).ip6(FAR, OWN)
}

/// Packets without a better route go to the AFTR, and its packets come back, byte by byte.
#[suite::test]
fn packets_go_through_the_tunnel() {
    let mut rig = b4(&ENDS);
    let ask = || of_user().udp(5000, 53).payload("question");
    let sent = rig.pass(0, &ask().build());
    let expected = pkt::ether(port_mac(1), peer_mac(1)).ip6(OWN, FAR).ttl(64).tos(0xb8);
    let expected = expected.ip4("10.0.0.2", "198.51.100.1").ttl(8).tos(0xb8);
    assert_eq!(sent, [(1, expected.udp(5000, 53).payload("question").build())]);
    // A packet with a better route goes by it.
    let near = pkt::ether(peer_mac(0), port_mac(0)).ip4("10.0.0.2", HOST).udp(1, 2);
    assert_eq!(one(&mut rig, 0, &near).tunnel, None);
    let answer = of_aftr().ip4("198.51.100.1", "10.0.0.2").ttl(9).udp(53, 5000).payload("answer");
    let sent = rig.pass(1, &answer.build());
    let expected = pkt::ether(port_mac(0), peer_mac(0)).ip4("198.51.100.1", "10.0.0.2").ttl(8);
    assert_eq!(sent, [(0, expected.udp(53, 5000).payload("answer").build())]);
    assert_eq!(rig.count("dslite-ce-encap", "valid CE encap DS-Lite packets"), 1);
    assert_eq!(rig.count("dslite-ce-decap", "valid CE decap DS-Lite packets"), 1);
}

/// Packets of strangers, of other protocols, and with hops used up.
#[suite::test]
fn other_packets_are_dropped() {
    let mut rig = b4(&ENDS);
    let ether = || pkt::ether(peer_mac(1), port_mac(1));
    let stranger = ether().ip6("2001:db8:1::3", OWN).ip4(HOST, "10.0.0.2").udp(1, 2);
    assert!(rig.pass(1, &stranger.build()).is_empty());
    assert_eq!(rig.count("dslite-ce-decap", "no translation"), 1);
    assert!(rig.pass(1, &of_aftr().udp(1, 2).build()).is_empty());
    assert_eq!(rig.count("dslite-ce-decap", "bad ip6 protocol"), 1);
    let bad = of_aftr().ip4(HOST, "10.0.0.2").bad_checksum().udp(1, 2);
    assert!(rig.pass(1, &bad.build()).is_empty());
    assert_eq!(rig.count("dslite-ce-decap", "unknown"), 1);
    let ping = rig.pass(1, &of_aftr().icmp6_echo(7, 1).build());
    assert_eq!(ping[0].1[ETHERNET + IP6], 129);
    let back = rig.pass(0, &of_user().ttl(1).udp(1, 2).build());
    assert_eq!((back[0].0, back[0].1[ETHERNET + 20]), (0, 11));
}

/// A datagram that is too long for the link leaves in fragments, and one of the AFTR in fragments
/// is whole again.
#[suite::test]
fn long_packets_leave_in_fragments() {
    let mut rig = b4(&ENDS);
    rig.cli("set interface mtu packet 1400 p1");
    let ask = of_user().udp(5000, 53).payload_len(1372);
    let sent = rig.pass(0, &ask.build());
    assert_eq!(sent.len(), 2);
    let (mut whole, mut back) = (Vec::new(), Vec::new());
    let mut parts = sent.iter().map(|(_, frame)| &frame[ETHERNET..]).collect::<Vec<_>>();
    parts.sort_by_key(|part| u16::from_be_bytes([part[42], part[43]]) & !7);
    for part in parts {
        assert!(part.len() <= 1400 && part[6] == 44 && part[40] == 4);
        let mut header = part[..48].to_vec();
        // The way back.
        header[8..24].copy_from_slice(&addr6(FAR).octets());
        header[24..40].copy_from_slice(&addr6(OWN).octets());
        let ether = &pkt::ether(peer_mac(1), port_mac(1)).ip6(FAR, OWN).build()[..ETHERNET];
        back.push([ether, &header, &part[48..]].concat());
        whole.extend_from_slice(&part[48..]);
    }
    let mut own = ask.build()[ETHERNET..].to_vec();
    own[8] -= 1;
    own[10..12].copy_from_slice(&whole[10..12]);
    assert_eq!(whole, own);
    rig.cli("set interface mtu packet 9000 p1");
    let sent = rig.pass_all(1, &back);
    // To 198.51.100.1 again: through the tunnel, in one piece.
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].1[ETHERNET + IP6 + 20..], whole[20..]);
}

/// Without both ends there is no tunnel; a pool is the AFTR's.
#[suite::test]
fn both_ends_are_needed() {
    let mut rig = b4(&[]);
    let ask = of_user().udp(5000, 53);
    for line in ENDS {
        assert!(rig.pass(0, &ask.build()).iter().all(|(port, _)| *port == 0));
        rig.cli(line);
    }
    assert_eq!(rig.pass(0, &ask.build())[0].0, 1);
    assert_eq!(rig.cli("show dslite b4-tunnel-endpoint-address"), format!("{OWN}\n"));
    assert_eq!(rig.refused("dslite add pool address 192.0.2.7").0, -30);
    rig.cli("dslite set b4-tunnel-endpoint-address ::");
    assert!(rig.pass(0, &ask.build()).iter().all(|(port, _)| *port == 0));
}

// SPDX-License-Identifier: Apache-2.0
mod commands;
mod lookup;
mod messages;

use crate::PLUGIN;
use graph::Plugin;
use net::drive::{Rig, peer_mac, port_mac};
use testkit::mutate::Mutator;
use testkit::pkt::{self, Packet};
use wire::{Icmp6Type, IpProtocol};

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &l2::PLUGIN,
    &PLUGIN,
];

const NODE: &str = "l2tp-decap-local";
const DECAPSULATED: &str = "L2TP user (ip6) to L2 network pkts";
const NO_SESSION: &str = "l2tpv3 session not found";
const SESSION_MISMATCH: &str = "l2tpv3 local session id mismatches";
const COOKIE_MISMATCH: &str = "l2tpv3 local cookie mismatches";

const OUR: &str = "2001:db8:1::1";
const CLIENT: &str = "2001:db8:1::2";
const LOCAL: u64 = 0x1122_3344_5566_7788;
const REMOTE: u64 = 0x8877_6655_4433_2211;

/// Ports with networks, and commands.
fn rig(lines: &[&str]) -> Rig {
    let mut rig = Rig::new(PLUGINS, 3);
    rig.networks();
    lines.iter().for_each(|line| _ = rig.cli(line));
    rig
}

const CREATE: &str = "create l2tpv3 tunnel client 2001:db8:1::2 our 2001:db8:1::1 local-cookie 1122334455667788 \
                      remote-cookie 0x8877665544332211 local-session 5 remote-session 6";

/// A session in a bridge domain with port p3.
fn bridge(options: &str) -> Rig {
    let mut rig = rig(&[
        &format!("{CREATE} {options}"),
        "set interface state l2tpv3_tunnel0 up",
        "set interface l2 bridge l2tpv3_tunnel0 7",
    ]);
    rig.add_port(3);
    rig.cli("set interface l2 bridge p3 7");
    rig
}

/// A frame to station `to` with a payload of its own.
fn frame(to: u8, len: usize) -> Vec<u8> {
    let packet = pkt::ip4("192.0.2.1", "192.0.2.2").udp(1, to.into()).payload_len(len).build();
    [&[2, 0, 0, 0, 9, to][..], &[2, 0, 0, 0, 9, 1], &[8, 0], &packet].concat()
}

/// The header in front of a frame (RFC 3931 4.1.1.1).
fn l2tp(session: u32, cookie: u64, sublayer: &[u8]) -> Vec<u8> {
    [&session.to_be_bytes()[..], &cookie.to_be_bytes(), sublayer].concat()
}

/// An outer packet between two addresses.
fn outer(src: &str, dst: &str, hops: u8, payload: &[u8]) -> Vec<u8> {
    let mut outer = pkt::ip6(src, dst).ttl(hops).build();
    outer.truncate(40);
    outer[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    outer[6] = 115;
    [&outer[..], payload].concat()
}

/// An outer packet as it is sent.
fn sent(payload: &[u8]) -> Vec<u8> {
    outer(OUR, CLIENT, 254, payload)
}

/// An outer packet as it is received.
fn received(header: &[u8], frame: &[u8]) -> Vec<u8> {
    outer(CLIENT, OUR, 64, &[header, frame].concat())
}

/// The packet of a frame that port 1 has sent.
fn packet_of(frames: &[(usize, Vec<u8>)]) -> &[u8] {
    let [(1, frame)] = frames else { panic!("{frames:?}") };
    assert_eq!(frame[..14], [&peer_mac(1).0[..], &port_mac(1).0, &[0x86, 0xdd]].concat());
    &frame[14..]
}

#[suite::test]
fn frames_go_in_packets_and_come_back() {
    for (options, sublayer) in [("", &[][..]), ("l2-sublayer-present", &[0; 4][..])] {
        let mut rig = bridge(options);
        for len in [0, 1, 18, 1000, 1400] {
            let out = rig.pass(3, &frame(2, len));
            let expected = sent(&[&l2tp(6, REMOTE, sublayer)[..], &frame(2, len)].concat());
            assert_eq!(packet_of(&out), expected);
            let came = received(&l2tp(5, LOCAL, sublayer), &frame(3, len));
            assert_eq!(rig.route(&came), [(3, frame(3, len)[14..].to_vec())]);
        }
        // A sequence number of the other end isn't looked at.
        if !sublayer.is_empty() {
            let came = received(&l2tp(5, LOCAL, &[0x40, 1, 2, 3]), &frame(3, 9));
            assert_eq!(rig.route(&came), [(3, frame(3, 9)[14..].to_vec())]);
        }
        let taken = if sublayer.is_empty() { 5 } else { 6 };
        assert_eq!(rig.count("l2tp-encap", "encapsulated"), 5);
        assert_eq!(rig.count(NODE, DECAPSULATED), taken);
    }
}

/// The packet with other addresses.
fn between(packet: &[u8], src: &str, dst: &str) -> Vec<u8> {
    outer(src, dst, 64, &packet[40..])
}

/// A session at each end: frames that one puts into packets are those that the other takes out.
#[suite::test]
fn frames_pass_two_sessions_unchanged() {
    let mut near = bridge("l2-sublayer-present");
    let mut far = rig(&[
        "create l2tpv3 tunnel client 2001:db8:1::2 our 2001:db8:1::1 local-cookie 8877665544332211 \
         remote-cookie 1122334455667788 local-session 6 remote-session 5 l2-sublayer-present",
        "set interface state l2tpv3_tunnel0 up",
        "set interface l2 xconnect l2tpv3_tunnel0 p2",
        "set interface l2 xconnect p2 l2tpv3_tunnel0",
    ]);
    for len in [0, 46, 777, 1400] {
        let out = near.pass(3, &frame(2, len));
        let ether = [&port_mac(1).0[..], &peer_mac(1).0, &[0x86, 0xdd]].concat();
        let packet = between(packet_of(&out), CLIENT, OUR);
        assert_eq!(far.pass(1, &[&ether[..], &packet].concat()), [(2, frame(2, len))]);
        // And the way back.
        let out = far.pass(2, &frame(3, len));
        let packet = between(packet_of(&out), CLIENT, OUR);
        assert_eq!(near.route(&packet), [(3, frame(3, len)[14..].to_vec())]);
    }
}

#[suite::test]
fn packets_that_are_not_the_sessions_are_dropped_by_name() {
    let mut rig = bridge("l2-sublayer-present");
    let good = l2tp(5, LOCAL, &[0; 4]);
    let whole = received(&good, &frame(2, 9));
    let cut = |len| outer(CLIENT, OUR, 64, &good[..len]);
    for (packet, counter) in [
        (received(&l2tp(6, LOCAL, &[0; 4]), &frame(2, 9)), SESSION_MISMATCH),
        (received(&l2tp(5, LOCAL ^ 1, &[0; 4]), &frame(2, 9)), COOKIE_MISMATCH),
        (received(&l2tp(5, REMOTE, &[0; 4]), &frame(2, 9)), COOKIE_MISMATCH),
        (received(&l2tp(5, 0, &[0; 4]), &frame(2, 9)), COOKIE_MISMATCH),
        // RFC 3931 4.1.1.2: a control message.
        (received(&l2tp(0, LOCAL, &[0; 4]), &frame(2, 9)), "control"),
        (cut(0), "too_short"),
        (cut(3), "too_short"),
        (cut(11), "too_short"),
        (cut(15), "too_short"),
        // Another address of ours.
        (outer(CLIENT, "2001:db8:2::1", 64, &good), NO_SESSION),
        (outer(CLIENT, "2001:db8:2::1", 64, &[]), NO_SESSION),
    ] {
        let before = rig.count(NODE, counter);
        assert_eq!(rig.route(&packet), [], "{counter}");
        assert_eq!(rig.count(NODE, counter), before + 1, "{counter}");
    }
    // The source isn't looked at: it may be behind another address than the one it is sent to.
    let moved = outer("2001:db8:1::77", OUR, 64, &whole[40..]);
    for packet in [&whole, &moved] {
        assert_eq!(rig.route(packet), [(3, frame(2, 9)[14..].to_vec())]);
    }
    rig.cli("set interface state l2tpv3_tunnel0 down");
    assert_eq!(rig.route(&whole), []);
    assert_eq!(rig.count(NODE, "l2tpv3 tunnel is down"), 1);
}

#[suite::test]
fn cookies_change_over() {
    let mut rig = bridge("");
    let takes = |rig: &mut Rig, cookie| {
        rig.route(&received(&l2tp(5, cookie, &[]), &frame(2, 9)))
            == [(3, frame(2, 9)[14..].to_vec())]
    };
    let sends = |rig: &mut Rig| {
        let out = rig.pass(3, &frame(2, 9));
        u64::from_be_bytes(*packet_of(&out)[44..].first_chunk().expect("long enough"))
    };
    assert_eq!((takes(&mut rig, LOCAL), takes(&mut rig, 0xaa)), (true, false));
    rig.cli("set l2tpv3 tunnel cookie l2tpv3_tunnel0 local aa remote bb");
    assert_eq!((takes(&mut rig, LOCAL), takes(&mut rig, 0xaa)), (true, true));
    assert_eq!(sends(&mut rig), 0xbb);
    // One cookie alone.
    rig.cli("set l2tpv3 tunnel cookie l2tpv3_tunnel0 remote cc");
    assert_eq!((takes(&mut rig, LOCAL), takes(&mut rig, 0xaa)), (true, true));
    assert_eq!(sends(&mut rig), 0xcc);
    // The same once more: the one before is accepted no longer.
    rig.cli("set l2tpv3 tunnel cookie l2tpv3_tunnel0 local aa");
    assert_eq!((takes(&mut rig, LOCAL), takes(&mut rig, 0xaa)), (false, true));
    rig.cli("set l2tpv3 tunnel cookie l2tpv3_tunnel0 local dd");
    assert_eq!((takes(&mut rig, 0xaa), takes(&mut rig, 0xdd)), (true, true));
    assert_eq!(sends(&mut rig), 0xcc);
}

/// The header of a packet that is routed.
fn inner(ether: Packet, ttl: u8) -> Vec<u8> {
    ether.ip4("10.0.0.9", "20.0.0.1").ttl(ttl).udp(1, 2000).payload_len(100).build()
}

#[suite::test]
fn the_interface_carries_ip_and_vlans() {
    let mut rig = rig(&[
        CREATE,
        "set interface state l2tpv3_tunnel0 up",
        "set interface ip address l2tpv3_tunnel0 10.7.0.1/24",
        "set interface mac address l2tpv3_tunnel0 02:00:00:00:00:55",
        "create sub-interfaces l2tpv3_tunnel0 100",
        "set interface state l2tpv3_tunnel0.100 up",
        "set interface ip address l2tpv3_tunnel0.100 10.8.0.1/24",
    ]);
    let (own, far) = ([2, 0, 0, 0, 0, 0x55], [2, 0, 0, 0, 0, 0x66]);
    let world = rig.world();
    for (name, hop, tag, next) in [
        ("l2tpv3_tunnel0", "10.7.0.2", None, "20.0.0.0/8"),
        ("l2tpv3_tunnel0.100", "10.8.0.2", Some(100), "20.0.0.0/9"),
    ] {
        let sw_if = world.get::<net::Interfaces>().find(name).expect("there");
        let known = net::Neighbor::new(sw_if, hop.parse().expect("one"), wire::MacAddr(far));
        world.get::<net::Neighbors>().set(&world, known).expect("set");
        rig.cli(&format!("ip route add {next} via {hop} {name}"));
        let ether = pkt::ether(wire::MacAddr(own), wire::MacAddr(far));
        let ether = tag.map_or(ether.clone(), |tag| ether.vlan(tag));
        let came = inner(pkt::ether(peer_mac(0), port_mac(0)), 64);
        let out = rig.pass(0, &came);
        let expected = [l2tp(6, REMOTE, &[]), inner(ether, 63)].concat();
        assert_eq!(packet_of(&out), sent(&expected));
    }
    rig.cli("ip route add 30.0.0.0/8 via 10.0.2.2 p2");
    let packet = |ether: Packet, ttl| {
        ether.ip4("10.7.0.2", "30.0.0.1").ttl(ttl).udp(1, 2000).payload_len(100).build()
    };
    for tag in [None, Some(100)] {
        let ether = pkt::ether(wire::MacAddr(far), wire::MacAddr(own));
        let ether = tag.map_or(ether.clone(), |tag| ether.vlan(tag));
        let came = received(&l2tp(5, LOCAL, &[]), &packet(ether, 9));
        let expected = packet(pkt::ether(port_mac(2), peer_mac(2)), 8);
        assert_eq!(rig.route(&came), [(2, expected[14..].to_vec())]);
    }
}

/// Before the first session the protocol is unknown, which the sender learns (RFC 8200 4).
#[suite::test]
fn the_protocol_is_known_from_the_first_session_on() {
    let mut rig = rig(&[]);
    let packet = received(&l2tp(5, LOCAL, &[]), &frame(2, 9));
    let answer = rig.route(&packet);
    let [(1, answer)] = &answer[..] else { panic!("{answer:?}") };
    let problem = [Icmp6Type::PARAMETER_PROBLEM.0, 1];
    assert_eq!((answer[6], &answer[40..42]), (IpProtocol::ICMP6.0, &problem[..]));
    // It points at the field that names the protocol.
    assert_eq!((&answer[44..48], &answer[48..88]), (&[0, 0, 0, 6][..], &packet[..40]));
    assert_eq!(rig.count(NODE, NO_SESSION), 0);
    rig.cli("create l2tpv3 tunnel client 2001:db8:2::2 our 2001:db8:2::1");
    assert_eq!(rig.route(&packet), []);
    assert_eq!(rig.count(NODE, NO_SESSION), 1);
    // It stays known, as other tunnels' do.
    rig.cli("create l2tpv3 tunnel client 2001:db8:2::2 our 2001:db8:2::1 del");
    assert_eq!(rig.route(&packet), []);
    assert_eq!(rig.count(NODE, NO_SESSION), 2);
}

/// Where enabled, packets of sessions don't need a route to their destination.
#[suite::test]
fn packets_of_sessions_are_taken_before_they_are_looked_up() {
    let mut rig = rig(&[
        "create l2tpv3 tunnel client 2001:db8:1::2 our 2001:db8:77::1 local-cookie 1122334455667788 local-session 5",
        "set interface state l2tpv3_tunnel0 up",
        "set interface l2 bridge l2tpv3_tunnel0 7",
        "ip route add 2001:db8:66::/48 via 2001:db8:2::2 p2",
    ]);
    rig.add_port(3);
    rig.cli("set interface l2 bridge p3 7");
    let payload = [l2tp(5, LOCAL, &[]), frame(2, 9)].concat();
    let packet = outer(CLIENT, "2001:db8:77::1", 64, &payload);
    let other = outer(CLIENT, "2001:db8:66::1", 64, &payload);
    let taken = [(3, frame(2, 9)[14..].to_vec())];
    assert!(!rig.route(&packet).contains(&taken[0]));
    rig.cli("set interface ip6 l2tpv3 p0");
    assert_eq!(rig.route(&packet), taken);
    assert_eq!(rig.count("l2tp-decap", DECAPSULATED), 1);
    // Behind an extension header.
    let mut behind = packet.clone();
    behind[6] = IpProtocol::HOP_BY_HOP.0;
    behind.splice(40..40, [115, 0, 1, 4, 0, 0, 0, 0]);
    let len = behind.len() as u16 - 40;
    behind[4..6].copy_from_slice(&len.to_be_bytes());
    assert_eq!(rig.route(&behind), taken);
    // To another host, or of another protocol: forwarded.
    for lookup in ["v6-src", "session-id", "v6-dst"] {
        rig.cli(&format!("set l2tpv3 lookup {lookup}"));
        let out = rig.route(&other);
        assert_eq!(out, [(2, outer(CLIENT, "2001:db8:66::1", 63, &payload))], "{lookup}");
    }
    // Bad ones are dropped as those that are looked up.
    let bad = outer(CLIENT, "2001:db8:77::1", 64, &[l2tp(5, 1, &[]), frame(2, 9)].concat());
    assert_eq!(rig.route(&bad), []);
    assert_eq!(rig.count(NODE, COOKIE_MISMATCH), 1);
    rig.cli("set interface ip6 l2tpv3 p0 del");
    assert!(!rig.route(&packet).contains(&taken[0]));
}

/// Broken packets around broken frames: each is taken or dropped by name, and every buffer comes
/// back.
#[suite::test]
fn broken_packets_are_taken_or_dropped_by_name() {
    let mut rig = bridge("l2-sublayer-present");
    rig.cli("set interface ip6 l2tpv3 p0");
    let good = received(&l2tp(5, LOCAL, &[0; 4]), &frame(2, 60));
    let ether = [&port_mac(0).0[..], &peer_mac(0).0, &[0x86, 0xdd]].concat();
    let bases = [[&ether[..], &good].concat()];
    let (mut inside, mut out) = (0, 0);
    for bytes in Mutator::new(7).frames(&bases, 20_000, 2000) {
        inside += rig.pass(0, &bytes).len();
    }
    for bytes in Mutator::new(8).frames(&[frame(2, 60)], 5000, 2000) {
        out += rig.pass(3, &bytes).len();
    }
    let taken = rig.count(NODE, DECAPSULATED);
    let drops: Vec<_> = [SESSION_MISMATCH, COOKIE_MISMATCH, NO_SESSION, "too_short"]
        .map(|counter| rig.count(NODE, counter))
        .into();
    assert!(taken > 1000 && inside > 1000 && out > 1000, "{taken} {inside} {out}");
    assert!(drops.iter().all(|dropped| *dropped > 0), "{drops:?}");
    rig.seconds(10);
    assert_eq!(rig.bench.buffers_out(), 0, "buffers are lost");
}

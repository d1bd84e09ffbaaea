// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use graph::Plugin;
use net::drive::Rig;
use net::{IfCounters, Interfaces, Neighbor, Neighbors};
use std::net::Ipv4Addr;
use testkit::pkt::{self, Checksum};
use wire::{Ipv4Header, MacAddr, l4};

mod answer;
mod api;
mod forward;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &mfib::PLUGIN,
    &l2::PLUGIN,
    &PLUGIN,
];

/// Ports p0 to p2 route; p3 is in bridge domain 7.
fn rig(lines: &[&str]) -> Rig {
    let mut rig = Rig::new(PLUGINS, 3);
    rig.networks();
    rig.add_port(3);
    rig.cli("set interface l2 bridge p3 7");
    lines.iter().for_each(|line| _ = rig.cli(line));
    rig
}

/// A tunnel over IPv4, one over IPv6 with a QoS flow, and routes into them.
fn two() -> Rig {
    rig(&[
        "create gtpu tunnel src 10.0.1.1 dst 10.0.1.2 teid 13 tteid 1013 decap-next ip4",
        "create gtpu tunnel src 2001:db8:2::1 dst 2001:db8:2::2 teid 14 decap-next ip6 qfi 9",
        "set interface ip address gtpu_tunnel0 10.9.0.1/24",
        "enable ip6 interface gtpu_tunnel0",
        "set interface ip address gtpu_tunnel1 10.8.0.1/24",
        "enable ip6 interface gtpu_tunnel1",
        "ip route add 20.0.0.0/8 via gtpu_tunnel0",
        "ip route add 2004::/16 via gtpu_tunnel1",
        "ip route add 30.0.0.0/8 via 10.0.2.2 p2",
    ])
}

/// An inner packet to an address, with a TTL.
fn inner(to: &str, ttl: u8) -> Vec<u8> {
    if to.contains(':') {
        return pkt::ip6("2001:db8::9", to).ttl(ttl).udp(1, 2).payload_len(31).build();
    }
    pkt::ip4("10.0.0.9", to).ttl(ttl).udp(1, 2).payload_len(31).build()
}

/// A header, with what follows its mandatory part and the bytes of a payload.
fn header(flags: u8, message: u8, teid: u32, more: &[u8], payload: usize) -> Vec<u8> {
    let [high, low] = ((more.len() + payload) as u16).to_be_bytes();
    [&[flags, message, high, low][..], &teid.to_be_bytes(), more].concat()
}

fn from4(header: &[u8], inner: &[u8]) -> Vec<u8> {
    let payload = [header, inner].concat();
    let packet = pkt::ip4("10.0.1.2", "10.0.1.1").udp(7, 2152).checksum(Checksum::Value(0));
    packet.payload(payload).build()
}

fn from6(header: &[u8], inner: &[u8]) -> Vec<u8> {
    let payload = [header, inner].concat();
    pkt::ip6("2001:db8:2::2", "2001:db8:2::1").udp(7, 2152).payload(payload).build()
}

#[suite::test]
fn packets_go_in_datagrams_and_come_back() {
    let mut rig = two();
    let packet = inner("20.0.0.1", 9);
    let sent = rig.route(&packet);
    let header4 = header(0x30, 255, 1013, &[], packet.len());
    let port = |at: usize| u16::from_be_bytes([sent[0].1[at], sent[0].1[at + 1]]);
    let want = pkt::ip4("10.0.1.1", "10.0.1.2").ttl(253).id(0).udp(port(20), 2152);
    let want = want.checksum(Checksum::Value(0));
    let want = want.payload([&header4[..], &inner("20.0.0.1", 8)].concat()).build();
    assert_eq!(sent, [(1, want)]);
    // With a QoS flow: 3GPP TS 38.415's container, its length 1 and no further extension.
    let packet = inner("2004::1", 9);
    let sent = rig.route(&packet);
    let container = [0, 0, 0, 0x85, 1, 0, 9, 0];
    let header6 = header(0x34, 255, 14, &container, packet.len());
    let port = u16::from_be_bytes([sent[0].1[40], sent[0].1[41]]);
    let want = pkt::ip6("2001:db8:2::1", "2001:db8:2::2").ttl(254).udp(port, 2152);
    let want = want.payload([&header6[..], &inner("2004::1", 8)].concat()).build();
    assert_eq!(sent, [(2, want)]);
    // Both versions of IP come out of a tunnel.
    let plain = |teid| header(0x30, 255, teid, &[], 0);
    for (to, port) in [("30.0.0.1", 2), ("2001:db8:1::2", 1)] {
        let hop = [(port, inner(to, 8))];
        assert_eq!(rig.route(&from4(&plain(13), &inner(to, 9))), hop);
        assert_eq!(rig.route(&from6(&plain(14), &inner(to, 9))), hop);
    }
    assert_eq!(rig.count("gtpu4-encap", "encapsulated"), 1);
    assert_eq!(rig.count("gtpu6-input", "good packets decapsulated"), 2);
    let world = rig.world();
    let at = world.get::<Interfaces>().find("gtpu_tunnel0").expect("there").at();
    let counters = world.get::<IfCounters>();
    let len = inner("20.0.0.1", 9).len() as u64;
    assert_eq!(counters.tx.sum(at), (1, len + 36), "with outer headers");
    assert_eq!(counters.rx.sum(at).0, 2);
}

/// Sequence numbers, N-PDU numbers and chains of extension headers are skipped; what can't be read
/// is dropped by name.
#[suite::test]
fn headers_are_taken_or_dropped_by_name() {
    let mut rig = two();
    let packet = inner("30.0.0.1", 9);
    let hop = [(2, inner("30.0.0.1", 8))];
    let pdu = [0, 0, 0, 0x85, 1, 0x10, 9, 0];
    let chain = [0, 0, 0, 0x40, 1, 8, 0x68, 0x85, 2, 0, 9, 0, 0, 0, 0, 0xc0, 1, 1, 2, 0];
    for (flags, more) in [
        (0x30, &[][..]),
        (0x32, &[1, 2, 0, 0]),
        (0x31, &[0, 0, 9, 0]),
        (0x32, &[1, 2, 0, 0x85]),
        (0x34, &pdu),
        (0x37, &pdu),
        (0x34, &chain),
    ] {
        let good = header(flags, 255, 13, more, packet.len());
        assert_eq!(rig.route(&from4(&good, &packet)), hop, "{flags:x} {more:?}");
        // Senders put other lengths.
        let other = [&good[..2], &[0, 0], &good[4..]].concat();
        assert_eq!(rig.route(&from4(&other, &packet)), hop, "{flags:x} {more:?}");
    }
    let endless = [&[0, 0, 0, 0x40][..], &[1, 0, 0, 0x40].repeat(9)].concat();
    let mut counts = std::collections::BTreeMap::new();
    for (bytes, counter) in [
        (vec![0x30; 7], "packet too small to fit a gtpu header"),
        (header(0x50, 255, 13, &[], 0), "packets with bad version in gtpu header"),
        (header(0x20, 255, 13, &[], 0), "packets with bad version in gtpu header"),
        (header(0x38, 255, 13, &[], 0), "packets with bad version in gtpu header"),
        (header(0x30, 1, 13, &[], 0), "packets with message type < 255 in gtpu header"),
        (header(0x30, 254, 13, &[], 0), "packets with message type < 255 in gtpu header"),
        (header(0x30, 255, 99, &[], 0), "no such tunnel packets"),
        (header(0x34, 255, 13, &[0, 0, 0, 0x85, 0, 0, 0, 0], 0), "bad_extensions"),
        (header(0x34, 255, 13, &[0, 0, 0, 0x85, 99], 0), "bad_extensions"),
        (header(0x34, 255, 13, &endless, 0), "bad_extensions"),
        (header(0x34, 255, 13, &[0, 0, 0, 0xc8, 1, 0, 0, 0], 0), "unknown_extension"),
    ] {
        let payload = if bytes.len() < 8 { &[][..] } else { &packet };
        assert_eq!(rig.route(&from4(&bytes, payload)), [], "{counter}");
        *counts.entry(counter).or_insert(0) += 1;
        assert_eq!(rig.count("gtpu4-input", counter), counts[counter], "{counter} {bytes:?}");
    }
    rig.route(&from4(&header(0x30, 255, 13, &[], 20), &[0; 40]));
    assert_eq!(rig.count("gtpu4-input", "no_ip"), 1);
    rig.cli("set interface state gtpu_tunnel0 down");
    rig.route(&from4(&header(0x30, 255, 13, &[], 0), &packet));
    assert_eq!(rig.count("gtpu4-input", "down"), 1);
}

/// A frame from a port of the bridge domain leaves in a datagram, and one in a datagram by the
/// port.
fn switches(rig: &mut Rig) {
    let packet = inner("192.0.2.2", 9);
    let frame = [&[2, 0, 0, 0, 9, 2][..], &[2, 0, 0, 0, 9, 1], &[8, 0], &packet].concat();
    let sent = rig.pass(3, &frame);
    assert_eq!(sent.len(), 1);
    let header = header(0x30, 255, 13, &[], frame.len());
    assert_eq!(sent[0].1[14 + 28..], [&header[..], &frame].concat());
    let answer = [&frame[6..12], &frame[..6], &frame[12..]].concat();
    assert_eq!(rig.route(&from4(&header, &answer)), [(3, answer[14..].to_vec())]);
}

/// Packets are routed into a tunnel as they are, with a next hop or without one, and out of it.
fn routes(rig: &mut Rig) {
    for to in ["20.0.0.1", "21.0.0.1", "10.9.0.3", "2004::1"] {
        let packet = inner(to, 9);
        let sent = rig.route(&packet);
        assert_eq!(sent.len(), 1, "{to}");
        let header = header(0x30, 255, 13, &[], packet.len());
        let want = [&header[..], &inner(to, 8)].concat();
        assert_eq!((sent[0].0, &sent[0].1[28..]), (1, &want[..]), "{to}");
    }
    for (to, port) in [("30.0.0.1", 2), ("2001:db8:1::2", 1)] {
        let hop = [(port, inner(to, 8))];
        assert_eq!(rig.route(&from4(&header(0x30, 255, 13, &[], 0), &inner(to, 9))), hop);
    }
}

/// A tunnel is a link to one peer without link-layer addresses, so nothing asks for one there. In
/// layer-2 mode it carries frames.
#[suite::test]
fn packets_are_routed_and_frames_are_switched() {
    for next in ["", "decap-next l2", "decap-next ip4", "decap-next ip6"] {
        let mut rig = rig(&[
            &format!("create gtpu tunnel src 10.0.1.1 dst 10.0.1.2 teid 13 {next}"),
            "set interface ip address gtpu_tunnel0 10.9.0.1/24",
            "enable ip6 interface gtpu_tunnel0",
            "ip route add 20.0.0.0/8 via gtpu_tunnel0",
            "ip route add 21.0.0.0/8 via 10.9.0.7 gtpu_tunnel0",
            "ip route add 2004::/16 via gtpu_tunnel0",
            "ip route add 30.0.0.0/8 via 10.0.2.2 p2",
        ]);
        routes(&mut rig);
        let hardware = rig.cli("show hardware-interfaces gtpu_tunnel0");
        assert!(!hardware.contains("Ethernet address"), "{hardware}");
        assert!(rig.cli("show gtpu tunnel -j").contains("\"payload\": \"ip\""));
        if next.contains("ip") {
            assert_eq!(rig.refused("set interface l2 bridge gtpu_tunnel0 7").0, -71);
            continue;
        }
        rig.cli("set interface l2 bridge gtpu_tunnel0 7");
        switches(&mut rig);
        assert!(rig.cli("show gtpu tunnel -j").contains("\"payload\": \"ethernet\""));
        rig.cli("set interface l3 gtpu_tunnel0");
        routes(&mut rig);
    }
}

/// With `ethernet-input` as next node, frames come out of the tunnel and are routed.
#[suite::test]
fn an_ethernet_interface_by_its_next_node() {
    let mut rig = rig(&[
        "create gtpu tunnel src 10.0.1.1 dst 10.0.1.2 teid 13 decap-next node ethernet-input",
        "set interface ip address gtpu_tunnel0 10.9.0.1/24",
        "ip route add 20.0.0.0/8 via 10.9.0.2 gtpu_tunnel0",
        "ip route add 30.0.0.0/8 via 10.0.2.2 p2",
    ]);
    let world = rig.world();
    let interfaces = world.get::<Interfaces>();
    let sw_if = interfaces.find("gtpu_tunnel0").expect("there");
    let own = interfaces.get(sw_if).expect("there").mac.0;
    let link = |to: &[u8], from: &[u8], packet: Vec<u8>| [to, from, &[8, 0], &packet].concat();
    let other = [2, 0, 0, 0, 0, 0x77];
    let known = Neighbor::new(sw_if, Ipv4Addr::new(10, 9, 0, 2).into(), MacAddr(other));
    world.get::<Neighbors>().set(&world, known).expect("set");
    let sent = rig.route(&inner("20.0.0.1", 9));
    let want = link(&other, &own, inner("20.0.0.1", 8));
    let header = |len| header(0x30, 255, 13, &[], len);
    assert_eq!(sent[0].1[28..], [&header(want.len())[..], &want].concat());
    let frame = link(&own, &other, inner("30.0.0.1", 9));
    assert_eq!(rig.route(&from4(&header(frame.len()), &frame)), [(2, inner("30.0.0.1", 8))]);
}

/// The identifier in what is sent changes, that in what is received stays.
#[suite::test]
fn identifiers_of_other_ends_change() {
    let mut rig = two();
    let teid = |rig: &mut Rig| {
        let sent = rig.route(&inner("20.0.0.1", 9));
        u32::from_be_bytes(*sent[0].1[32..].first_chunk().expect("an identifier"))
    };
    assert_eq!(teid(&mut rig), 1013);
    let line = "create gtpu tunnel src 10.0.1.1 dst 10.0.1.2 teid 13";
    rig.cli(&format!("{line} upd-tteid 2013"));
    assert_eq!(teid(&mut rig), 2013);
    assert!(rig.cli("show gtpu tunnel").contains("teid 13 tteid 2013 "));
    let hop = [(2, inner("30.0.0.1", 8))];
    let plain = header(0x30, 255, 13, &[], 0);
    assert_eq!(rig.route(&from4(&plain, &inner("30.0.0.1", 9))), hop);
    for (line, retval) in [
        (format!("{line} upd-tteid 0"), -7),
        ("create gtpu tunnel src 10.0.1.1 dst 10.0.1.2 teid 14 upd-tteid 1".into(), -6),
        ("create gtpu tunnel src 10.0.1.3 dst 10.0.1.2 teid 13 upd-tteid 1".into(), -6),
        (format!("{line} encap-vrf-id 9 upd-tteid 1"), -3),
    ] {
        assert_eq!(rig.refused(&line).0, retval, "{line}");
    }
}

#[suite::test]
fn the_bypass_does_as_the_way_round_it() {
    for is_v6 in [false, true] {
        let mut rig = two();
        let (of, input) = if is_v6 { ("ip6", "gtpu6-input") } else { ("ip", "gtpu4-input") };
        rig.cli(&format!("set interface {of} gtpu-bypass p0"));
        // Where the datagrams aren't for an address of ours, only the bypass takes them.
        rig.cli("set interface ip address del p1 10.0.1.1/24");
        rig.cli("set interface ip address del p2 2001:db8:2::1/64");
        let plain = |teid| header(0x30, 255, teid, &[], 0);
        let good = if is_v6 {
            from6(&plain(14), &inner("30.0.0.1", 9))
        } else {
            from4(&plain(13), &inner("30.0.0.1", 9))
        };
        rig.route(&good);
        assert_eq!(rig.count(input, "good packets decapsulated"), 1);
        rig.cli(&format!("set interface {of} gtpu-bypass p0 del"));
        rig.route(&good);
        assert_eq!(rig.count(input, "good packets decapsulated"), 1);
    }
}

#[suite::test]
fn wrong_ones_are_refused() {
    let mut rig = rig(&["create gtpu tunnel src 10.0.1.1 dst 10.0.1.2 teid 0 tteid 7 instance 4"]);
    let create = "create gtpu tunnel src 10.0.1.1";
    for (line, retval, part) in [
        (format!("{create} dst 10.0.1.2 teid 0"), -75, "gtpu_tunnel4 has these ends"),
        (format!("{create} dst 10.0.1.3 teid 1 instance 4"), -147, "there is a gtpu_tunnel4"),
        (format!("{create} dst 10.0.1.1 teid 1"), -82, "both ends"),
        (format!("{create} dst 2001:db8::1 teid 1"), -7, "two protocols"),
        (format!("{create} dst 10.0.1.3 teid 1 encap-vrf-id 9"), -3, "no table 9"),
        (format!("{create} dst 10.0.1.3 teid 1 qfi 64"), -7, "at most 63"),
        (format!("{create} dst 239.1.1.1 teid 1"), -2, "need an interface"),
        (format!("{create} dst 10.0.1.9 teid 1 del"), -6, "no such gtpu_tunnel"),
        ("create gtpu forward dst 10.0.1.2".into(), -73, "bad-header"),
        ("create gtpu forward dst 10.0.1.2 bad-header unknown-teid".into(), -73, "one of"),
        ("create gtpu forward dst 10.0.1.2 bad-header del".into(), -6, "isn't forwarded"),
        ("create gtpu forward dst 10.0.1.2 bad-header encap-vrf-id 9".into(), -3, "no table 9"),
        ("set flow-offload gtpu hw p0 rx gtpu_tunnel4".into(), -1, "can't find tunnels"),
    ] {
        let (code, text) = rig.refused(&line);
        assert!(code == retval && text.contains(part), "{line}: {code} {text}");
    }
    let shown = rig.cli("show gtpu tunnel");
    let want = "[4] src 10.0.1.1 dst 10.0.1.2 teid 0 tteid 7 encap-vrf-id 0 sw-if-idx ";
    assert!(shown.starts_with(want) && shown.contains("decap-next-l2 "), "{shown}");
}

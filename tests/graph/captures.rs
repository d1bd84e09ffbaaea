// SPDX-License-Identifier: Apache-2.0
//! Captures of the whole graph: packets that come out of tunnels, frames that interfaces get from a
//! node, and packets that are dropped since an ICMP error tells their sender.

use std::path::Path;

use daemon::plugins;
use net::IfCounters;
use net::drive::{Rig, peer_mac, port_mac};
use testkit::pkt;
use wire::IpProtocol;

use crate::tunnels::{KINDS, Kind};

/// Link types of interfaces.
const ETHERNET: u16 = 1;
const RAW: u16 = 101;

/// A captured packet.
#[derive(Debug, PartialEq, Eq)]
struct Captured {
    interface: String,
    link: u16,
    comment: Option<String>,
    bytes: Vec<u8>,
}

impl Captured {
    fn received(interface: &str, link: u16, bytes: &[u8]) -> Self {
        Self { interface: interface.into(), link, comment: None, bytes: bytes.to_vec() }
    }
}

/// The text of an option of a block of pcapng.
fn option(mut options: &[u8], wanted: u16) -> Option<String> {
    while let Some((head, rest)) = options.split_first_chunk::<4>() {
        let code = u16::from_le_bytes([head[0], head[1]]);
        let len = usize::from(u16::from_le_bytes([head[2], head[3]]));
        if code == wanted {
            return Some(String::from_utf8_lossy(&rest[..len]).into_owned());
        }
        options = &rest[len.next_multiple_of(4)..];
    }
    None
}

/// The packets of a pcapng file, in order.
fn read(path: &Path) -> Vec<Captured> {
    const INTERFACE: u32 = 1;
    const PACKET: u32 = 6;
    const IF_NAME: u16 = 2;
    const COMMENT: u16 = 1;
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (mut rest, mut interfaces, mut packets) = (&bytes[..], Vec::new(), Vec::new());
    let word = |bytes: &[u8], at: usize| {
        u32::from_le_bytes(*bytes[at..].first_chunk().expect("a whole block"))
    };
    while !rest.is_empty() {
        let (block, next) = rest.split_at(word(rest, 4) as usize);
        rest = next;
        let body = &block[8..block.len() - 4];
        match word(block, 0) {
            INTERFACE => {
                let name = option(&body[8..], IF_NAME).expect("a name");
                interfaces.push((name, word(body, 0) as u16));
            }
            PACKET => {
                let (interface, link) = interfaces[word(body, 0) as usize].clone();
                let (bytes, options) = body[20..].split_at(word(body, 12) as usize);
                let padding = bytes.len().next_multiple_of(4) - bytes.len();
                let comment = option(&options[padding..], COMMENT);
                packets.push(Captured { interface, link, comment, bytes: bytes.to_vec() });
            }
            _ => {}
        }
    }
    packets
}

fn frame_to(port: usize, packet: &[u8]) -> Vec<u8> {
    let ethertype: [u8; 2] = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
    [&port_mac(port).0[..], &peer_mac(port).0, &ethertype, packet].concat()
}

/// Runs a capture while a frame is received on p1; `end` ends it. Returns its packets.
fn capture_until(rig: &mut Rig, what: &str, frame: &[u8], end: impl Fn(&mut Rig)) -> Vec<Captured> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture");
    rig.cli(&format!("pcap trace {what} max-bytes-per-pkt 2000 file {}", path.display()));
    rig.receive_all(1, &[frame.to_vec()]);
    end(rig);
    if path.exists() { read(&path) } else { Vec::new() }
}

/// The same for a capture that gets packets: without, its end is an error.
fn capture(rig: &mut Rig, what: &str, frame: &[u8]) -> Vec<Captured> {
    capture_until(rig, what, frame, |rig| _ = rig.cli("pcap trace off"))
}

/// Puts outer headers in front of a packet.
type Wrap = dyn Fn(&[u8]) -> Vec<u8>;

/// A tunnel, and a packet around a payload that it takes.
struct Tunnel {
    create: String,
    is_ip: bool,
    outer: Box<Wrap>,
}

impl Tunnel {
    fn of(kind: &'static Kind, local: &'static str, remote: &'static str) -> Self {
        let outer = move |inner: &[u8]| kind.datagram(remote, local, 99, inner);
        Self { create: kind.create(local, remote, 99), is_ip: kind.layer3, outer: Box::new(outer) }
    }

    fn over_ip4(words: &str, is_ip: bool, protocol: u8, header: &'static [u8]) -> Self {
        let outer = move |inner: &[u8]| {
            let packet = pkt::ip4("10.0.1.2", "10.0.1.1").protocol(IpProtocol(protocol));
            packet.payload([header, inner].concat()).build()
        };
        let create = format!("create {words} tunnel src 10.0.1.1 dst 10.0.1.2");
        Self { create, is_ip, outer: Box::new(outer) }
    }
}

#[test]
fn received_packets_of_tunnels_are_captured_on_the_tunnel() {
    let ends = [("10.0.1.1", "10.0.1.2"), ("2001:db8:1::1", "2001:db8:1::2")];
    let kinds = KINDS.iter().flat_map(|kind| ends.map(|(l, r)| Tunnel::of(kind, l, r)));
    let others =
        [Tunnel::over_ip4("ipip", true, 4, &[]), Tunnel::over_ip4("gre", true, 47, &[0, 0, 8, 0])];
    let teb = Tunnel {
        create: "create gre tunnel src 10.0.1.1 dst 10.0.1.2 teb".into(),
        ..Tunnel::over_ip4("gre", false, 47, &[0, 0, 0x65, 0x58])
    };
    for (n, Tunnel { create, is_ip, outer }) in kinds.chain(others).chain([teb]).enumerate() {
        let mut rig = Rig::new(plugins::ALL, 2);
        rig.networks();
        let name = rig.cli(&create).trim().to_string();
        rig.cli(&format!("set interface state {name} up"));
        if !is_ip {
            // Tunnels of GTP-U carry frames in layer-2 mode only.
            rig.cli("create bridge-domain 7");
            rig.cli(&format!("set interface l2 bridge {name} 7"));
        }
        let payload = format!("packet {n} of {create}");
        let packet = pkt::ip4("192.0.2.1", "192.0.2.2").udp(5, n as u16).payload(payload).build();
        let (inner, link) = if is_ip {
            (packet, RAW)
        } else {
            ([&[2, 0, 0, 0, 9, 2, 2, 0, 0, 0, 9, 1, 8, 0][..], &packet].concat(), ETHERNET)
        };
        let frame = frame_to(1, &outer(&inner));
        let inside = || Captured::received(&name, link, &inner);
        let seen = capture(&mut rig, &format!("rx intfc {name}"), &frame);
        assert_eq!(seen, [inside()], "{create}");
        let seen = capture(&mut rig, "rx intfc any", &frame);
        assert_eq!(seen, [Captured::received("p1", ETHERNET, &frame), inside()], "{create}");
        // Nothing stays on the arcs.
        for arc in ["device-input", "tunnel-input-ethernet", "tunnel-input-ip4", "tunnel-input-ip6"]
        {
            let arc = rig.bench.world.arc(arc).expect("there");
            for i in rig.bench.world.get::<net::Interfaces>().list() {
                let left = rig.bench.world.features_of(arc, i.sw_if);
                assert!(!left.contains(&"pcap-capture"), "{}", i.name);
            }
        }
    }
}

/// Interfaces that get their frames from a node receive as devices do.
#[test]
fn frames_that_interfaces_get_from_a_node_are_captured_there() {
    const LOOP: [u8; 6] = [0xde, 0xad, 0, 0, 0, 0];
    let packet = || pkt::ip4("10.0.1.2", "10.9.0.2").udp(5, 6).payload("some bytes").build();
    let to = |mac: &[u8], tags: &[u8]| [mac, &peer_mac(1).0, tags, &[8, 0], &packet()].concat();
    let bridge = "create loopback interface
        create bridge-domain 7
        set interface state loop0 up
        set interface l2 bridge loop0 7 bvi
        set interface l2 bridge p1 7";
    let pipe = "pipe create
        set interface state pipe0 up
        set interface l2 xconnect p1 pipe0.0
        set interface l2 xconnect pipe0.0 p1";
    let subs = "create sub-interfaces p1 5
        create sub-interfaces p1 6 dot1q 6 inner-dot1q any
        create sub-interfaces p1 7 default
        set interface state p1.5 up";
    let group = [&[0xff; 6][..], &to(&LOOP, &[])[6..]].concat();
    let vlan = |id| to(&port_mac(1).0, &[0x81, 0, 0, id]);
    let two = to(&port_mac(1).0, &[0x81, 0, 0, 6, 0x81, 0, 0, 9]);
    for (lines, name, frame, seen) in [
        // By the node that looks up stations, and by the one that floods.
        (bridge, "loop0", to(&LOOP, &[]), true),
        (bridge, "loop0", group, true),
        (pipe, "pipe0.1", to(&LOOP, &[]), true),
        (pipe, "pipe0.0", to(&LOOP, &[]), false),
        // Tagged frames are captured as they have come, with all their tags.
        (subs, "p1.5", vlan(5), true),
        (subs, "p1.5", vlan(6), false),
        (subs, "p1.5", to(&port_mac(1).0, &[]), false),
        (subs, "p1.6", two, true),
        (subs, "p1.7", vlan(8), true),
        (subs, "p1.7", vlan(5), false),
    ] {
        let mut rig = Rig::new(plugins::ALL, 2);
        rig.networks();
        lines.lines().for_each(|line| _ = rig.cli(line.trim()));
        let there = || Captured::received(name, ETHERNET, &frame);
        let one = format!("rx intfc {name}");
        if seen {
            assert_eq!(capture(&mut rig, &one, &frame), [there()], "{name}");
        } else {
            let end = |rig: &mut Rig| _ = rig.refused("pcap trace off");
            assert_eq!(capture_until(&mut rig, &one, &frame, end), [], "{name}");
        }
        // A tagged frame is one of its device, and captured once.
        let mut all = vec![Captured::received("p1", ETHERNET, &frame)];
        match name.strip_prefix("p1.") {
            Some(_) => {}
            None if lines == pipe => all.push(Captured::received("pipe0.1", ETHERNET, &frame)),
            None => all.push(there()),
        }
        assert_eq!(capture(&mut rig, "rx intfc any", &frame), all, "{name}");
        for i in rig.bench.world.get::<net::Interfaces>().list() {
            let arc = rig.bench.world.arc("device-input").expect("there");
            let left = rig.bench.world.features_of(arc, i.sw_if);
            assert!(!left.contains(&"pcap-capture"), "{}", i.name);
        }
    }
    // A loopback receives the frames that it sends.
    let mut rig = Rig::new(plugins::ALL, 2);
    rig.networks();
    for line in [
        "create loopback interface",
        "set interface state loop0 up",
        "set interface ip address loop0 10.9.0.1/24",
        "ip neighbor loop0 10.9.0.2 02:00:00:00:00:22 static",
    ] {
        rig.cli(line);
    }
    let frame = to(&port_mac(1).0, &[]);
    let sent = capture(&mut rig, "tx intfc loop0", &frame);
    assert_eq!(sent.len(), 1);
    assert_eq!(capture(&mut rig, "rx intfc loop0", &frame), sent);
}

/// RFC 1812 5.2.7, RFC 4443 3: the sender is told, and the packet itself is dropped.
#[test]
fn packets_that_an_icmp_error_is_about_are_dropped_for_their_reason() {
    let four = |to: &str| pkt::ip4("10.0.1.9", to);
    let six = |to: &str| pkt::ip6("2001:db8:1::9", to);
    let cases = [
        (
            four("10.0.0.2").ttl(1).udp(1, 2).payload(*b"expired").build(),
            "ip4-rewrite",
            "time_expired",
        ),
        (four("99.0.0.1").udp(1, 2).payload(*b"no route").build(), "ip4-lookup", "dst_lookup_miss"),
        (four("10.0.0.2").df().udp(1, 2).payload_len(1400).build(), "ip4-rewrite", "mtu_exceeded"),
        (four("10.0.1.1").udp(1, 9).payload(*b"closed").build(), "ip4-udp-lookup", "no_listener"),
        (
            four("10.0.1.1").protocol(IpProtocol(200)).payload(*b"unknown").build(),
            "ip4-local",
            "unknown_protocol",
        ),
        (
            six("2001:db8::2").ttl(1).udp(1, 2).payload(*b"expired").build(),
            "ip6-rewrite",
            "time_expired",
        ),
        (six("3000::1").udp(1, 2).payload(*b"no route").build(), "ip6-lookup", "dst_lookup_miss"),
        (six("2001:db8::2").udp(1, 2).payload_len(1400).build(), "ip6-rewrite", "mtu_exceeded"),
        (
            six("2001:db8:1::1").udp(1, 9).payload(*b"closed").build(),
            "ip6-udp-lookup",
            "no_listener",
        ),
    ];
    let mut rig = Rig::new(plugins::ALL, 2);
    rig.networks();
    rig.cli("set interface mtu packet 1300 p0");
    rig.cli("ip neighbor p1 10.0.1.9 02:00:00:00:00:09 static");
    rig.cli("ip neighbor p1 2001:db8:1::9 02:00:00:00:00:09 static");
    for (packet, node, reason) in cases {
        let frame = frame_to(1, &packet);
        let drops = |rig: &Rig| rig.bench.world.get::<IfCounters>().drops.sum(rig.ports[1].at());
        let before = (drops(&rig), rig.count(node, reason));
        let text = {
            let reasons = rig.bench.world.reasons();
            let found = reasons.iter().find(|r| &*r.node == node && r.reason == reason);
            found.unwrap_or_else(|| panic!("{node} has no {reason}")).text
        };
        let mut want = Captured::received("p1", ETHERNET, &frame);
        want.comment = Some(format!("dropped: {node}: {text}"));
        let seen = capture(&mut rig, &format!("drop error {{{node}}}.{{{reason}}}"), &frame);
        assert_eq!(seen, [want], "{node} {reason}");
        assert_eq!((drops(&rig), rig.count(node, reason)), (before.0 + 1, before.1 + 1), "once");
        // Other frames are of neighbour discovery.
        let mut sent = rig.sent();
        sent.retain(|(_, frame)| frame.starts_with(&[2, 0, 0, 0, 0, 9]));
        let [(1, error)] = &sent[..] else { panic!("{node} {reason}: {sent:x?}") };
        let quote = if packet[0] >> 4 == 4 { 14 + 28 } else { 14 + 48 };
        assert!(packet.starts_with(&error[quote..]), "it quotes the packet");
    }
}

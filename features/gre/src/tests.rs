// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use graph::Plugin;
use net::drive::{Rig, peer_mac, port_mac};
use testkit::Rng;
use testkit::mutate::Mutator;
use testkit::pkt::{self, Packet};
use wire::Ipv4Header;
use wire::checksum::Sum;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &teib::PLUGIN,
    &l2::PLUGIN,
    &PLUGIN,
];

fn rig(lines: &[&str]) -> Rig {
    let mut rig = Rig::new(PLUGINS, 3);
    rig.networks();
    lines.iter().for_each(|line| _ = rig.cli(line));
    rig
}

/// A router whose `gre0` goes over IPv4 and `gre1` over IPv6, with routes of both protocols to
/// each.
fn two(options: &str) -> Rig {
    rig(&[
        &format!("create gre tunnel src 10.0.1.1 dst 10.0.1.2 {options}"),
        &format!("create gre tunnel src 2001:db8:2::1 dst 2001:db8:2::2 {options}"),
        "set interface state gre0 up",
        "set interface state gre1 up",
        "enable ip6 interface gre0",
        "enable ip6 interface gre1",
        "set interface unnumbered gre0 use p0",
        "set interface unnumbered gre1 use p0",
        "ip route add 20.0.0.0/8 via gre0",
        "ip route add 2002::/16 via gre0",
        "ip route add 21.0.0.0/8 via gre1",
        "ip route add 2003::/16 via gre1",
        "ip route add 30.0.0.0/8 via 10.0.2.2 p2",
        "ip route add 2004::/16 via 2001:db8:1::2 p1",
    ])
}

/// The header of a packet; [`whole`] is the packet.
fn inner(to: &str) -> Packet {
    if to.contains(':') {
        pkt::ip6("2001:db8::9", to).ttl(9)
    } else {
        pkt::ip4("10.0.0.9", to).ttl(9)
    }
}

fn whole(ip: &Packet) -> Vec<u8> {
    ip.clone().udp(1, 2000).payload_len(100).build()
}

/// The packet with one hop less.
fn hop(packet: &Packet) -> Vec<u8> {
    whole(&packet.clone().ttl(8))
}

fn is_v6(packet: &[u8]) -> bool {
    packet[0] >> 4 == 6
}

/// A header: flags, what is inside, and the optional words.
fn gre(flags: u16, protocol: u16, words: &[u32]) -> Vec<u8> {
    let words = words.iter().flat_map(|word| word.to_be_bytes());
    flags.to_be_bytes().into_iter().chain(protocol.to_be_bytes()).chain(words).collect()
}

fn protocol(packet: &[u8]) -> u16 {
    if is_v6(packet) { 0x86dd } else { 0x0800 }
}

/// An outer packet, from here to the other end.
fn outer4(header: &[u8], inner: &[u8], id: u16) -> Vec<u8> {
    let mut outer = pkt::ip4("10.0.1.1", "10.0.1.2").ttl(253).id(id).build();
    outer.truncate(20);
    outer[9] = 47;
    let len = 20 + header.len() + inner.len();
    outer[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    Ipv4Header::set_checksum_at(&mut outer);
    [&outer[..], header, inner].concat()
}

fn outer6(header: &[u8], inner: &[u8]) -> Vec<u8> {
    let mut outer = pkt::ip6("2001:db8:2::1", "2001:db8:2::2").ttl(254).build();
    outer.truncate(40);
    outer[4..6].copy_from_slice(&((header.len() + inner.len()) as u16).to_be_bytes());
    outer[6] = 47;
    [&outer[..], header, inner].concat()
}

/// The same from the other end to here.
fn back(mut outer: Vec<u8>) -> Vec<u8> {
    let (at, len) = if is_v6(&outer) { (8, 16) } else { (12, 4) };
    let (a, b) = outer[at..at + 2 * len].split_at_mut(len);
    a.swap_with_slice(b);
    outer
}

#[suite::test]
fn packets_of_both_protocols_go_in_packets_of_both() {
    for (options, flags, words) in [("", 0, &[][..]), ("key 77", 0x2000, &[77][..])] {
        let mut rig = two(options);
        for (i, inner) in [inner("20.0.0.1"), inner("2002::1")].iter().enumerate() {
            let header = gre(flags, protocol(&whole(inner)), words);
            assert_eq!(rig.route(&whole(inner)), [(1, outer4(&header, &hop(inner), i as u16))]);
        }
        for inner in [inner("21.0.0.1"), inner("2003::1")] {
            let header = gre(flags, protocol(&whole(&inner)), words);
            assert_eq!(rig.route(&whole(&inner)), [(2, outer6(&header, &hop(&inner)))]);
        }
        assert_eq!(rig.count("gre-encap", "encapsulated"), 4);
    }
}

/// Every combination of optional words, in the order checksum, key, sequence number.
#[suite::test]
fn what_is_put_in_comes_out() {
    const CHECKSUM: u16 = 0x8000;
    for (options, key) in [("", None), ("key 77", Some(77))] {
        let mut rig = two(options);
        let mut taken = 0;
        for (inner, port) in [(inner("30.0.0.1"), 2), (inner("2004::1"), 1)] {
            for flags in [0, CHECKSUM, 0x1000, CHECKSUM | 0x1000] {
                let mut words = Vec::new();
                words.extend((flags & CHECKSUM != 0).then_some(0));
                words.extend(key);
                words.extend((flags & 0x1000 != 0).then_some(5));
                let all = flags | if key.is_some() { 0x2000 } else { 0 };
                let mut header = gre(all, protocol(&whole(&inner)), &words);
                if flags & CHECKSUM != 0 {
                    let sum = Sum::of_parts([&header[..], &whole(&inner)]).finish();
                    header[4..6].copy_from_slice(&sum.to_be_bytes());
                }
                assert_eq!(
                    rig.route(&back(outer4(&header, &whole(&inner), 1))),
                    [(port, hop(&inner))]
                );
                assert_eq!(
                    rig.route(&back(outer6(&header, &whole(&inner)))),
                    [(port, hop(&inner))]
                );
                taken += 1;
                if flags & CHECKSUM != 0 {
                    header[5] ^= 1;
                    assert_eq!(rig.route(&back(outer4(&header, &whole(&inner), 1))), []);
                }
            }
        }
        assert_eq!(rig.count("gre4-input", "GRE input packets decapsulated"), taken);
        assert_eq!(rig.count("gre4-input", "bad_checksum"), 4);
        let packet = whole(&inner("30.0.0.1"));
        // Another key, or one where there is none.
        for other in [78, 0] {
            let header = gre(0x2000, 0x0800, &[other]);
            assert_eq!(rig.route(&back(outer4(&header, &packet, 1))), []);
        }
        assert_eq!(rig.count("gre4-input", "GRE input packets dropped due to missing tunnel"), 2);
        for (flags, protocol, counter) in [
            (1, 0x0800, "unsupported version"),
            (0x4000, 0x0800, "reserved"),
            (0x0400, 0x0800, "reserved"),
            (0, 0x88be, "unknown protocol"),
            (0, 0x8847, "unknown protocol"),
        ] {
            let before = rig.count("gre4-input", counter);
            rig.route(&back(outer4(&gre(flags, protocol, &[]), &packet, 1)));
            assert_eq!(rig.count("gre4-input", counter), before + 1);
        }
        let short = back(outer4(&[0x20, 0, 8, 0], &[], 1));
        rig.route(&short);
        assert_eq!(rig.count("gre4-input", "too_short"), 1);
    }
}

fn frame(to: u8) -> Vec<u8> {
    let packet = pkt::ip4("192.0.2.1", "192.0.2.2").udp(1, 2).payload_len(50).build();
    [&[2, 0, 0, 0, 9, to][..], &[2, 0, 0, 0, 9, 1], &[8, 0], &packet].concat()
}

/// A bridge domain of port p3 and tunnels.
fn bridge(lines: &[&str]) -> Rig {
    let mut rig = rig(lines);
    rig.add_port(3);
    rig.cli("set interface l2 bridge p3 7");
    rig
}

#[suite::test]
fn frames_go_in_packets_and_come_back() {
    let mut rig = bridge(&[
        "create gre tunnel src 10.0.1.1 dst 10.0.1.2 teb key 5",
        "create gre tunnel src 10.0.1.1 dst 10.0.1.2 key 5",
        "set interface state gre0 up",
        "set interface state gre1 up",
        "set interface l2 bridge gre0 7",
    ]);
    let header = gre(0x2000, 0x6558, &[5]);
    let sent = rig.pass(3, &frame(2));
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].1[14..], outer4(&header, &frame(2), 0));
    let answer = [&frame(2)[6..12], &frame(2)[..6], &frame(2)[12..]].concat();
    assert_eq!(rig.route(&back(outer4(&header, &answer, 1))), [(3, answer[14..].to_vec())]);
    // An Ethernet tunnel with an address, and a VLAN of it.
    rig.cli("set interface l3 gre0");
    rig.cli("create sub-interfaces gre0 100");
    rig.cli("set interface state gre0.100 up");
    rig.cli("set interface ip address gre0.100 10.7.0.1/24");
    rig.cli("ip route add 30.0.0.0/8 via 10.0.2.2 p2");
    let packet = inner("30.0.0.1");
    let mac = [0xd0, 0x0b, 0xee, 0xd0, 0, 0];
    let tagged =
        [&mac[..], &[2, 0, 0, 0, 9, 1], &[0x81, 0, 0, 100, 8, 0], &whole(&packet)].concat();
    assert_eq!(rig.route(&back(outer4(&header, &tagged, 1))), [(2, hop(&packet))]);
    // And what is sent by it.
    rig.cli("set interface l2 bridge gre0.100 7");
    rig.cli("set interface l2 tag-rewrite gre0.100 pop 1");
    let with_tag = [&frame(2)[..12], &[0x81, 0, 0, 100], &frame(2)[12..]].concat();
    let sent = rig.pass(3, &frame(2));
    assert_eq!((sent.len(), &sent[0].1[34..42]), (1, &header[..]));
    assert_eq!(sent[0].1[42..], with_tag);
    rig.cli("delete sub-interface gre0.100");
    rig.cli("create sub-interfaces gre0 101");
}

#[suite::test]
fn mirrored_frames_are_numbered_per_pair_of_ends() {
    let mut rig = bridge(&[
        "create gre tunnel src 10.0.1.1 dst 10.0.1.2 erspan 100",
        "create gre tunnel src 10.0.1.1 dst 10.0.1.2 erspan 1023",
        "create gre tunnel src 10.0.2.1 dst 10.0.2.2 erspan 5",
        "set interface state gre0 up",
        "set interface state gre1 up",
        "set interface state gre2 up",
        "set interface l2 bridge gre0 7 1",
        "set interface l2 bridge gre1 7 1",
        "set interface l2 bridge gre2 7 1",
    ]);
    let erspan =
        |sequence: u32, session: u32| gre(0x1000, 0x88be, &[sequence, 0x1000_1800 | session, 0]);
    let mut numbers = Vec::new();
    for _ in 0..2 {
        for (port, bytes) in rig.pass(3, &frame(2)) {
            let sequence = u32::from_be_bytes(*bytes[38..].first_chunk().expect("long enough"));
            let session = u32::from(bytes[44] & 3) << 8 | u32::from(bytes[45]);
            assert_eq!(bytes[34..50], erspan(sequence, session));
            assert_eq!(bytes[50..], frame(2));
            numbers.push((port, session, sequence));
        }
    }
    numbers.sort();
    let sequences = |port| {
        let of_port = numbers.iter().filter(move |(at, ..)| *at == port);
        let mut all: Vec<u32> = of_port.map(|(.., sequence)| *sequence).collect();
        all.sort();
        all
    };
    assert_eq!((sequences(1), sequences(2)), (vec![0, 1, 2, 3], vec![0, 1]));
}

#[suite::test]
fn other_ends_come_and_go() {
    let mut rig = rig(&[
        "create gre tunnel src 10.0.1.1 multipoint",
        "set interface state gre0 up",
        "set interface ip address gre0 10.9.0.1/24",
        "ip route add 20.0.0.0/8 via 10.9.0.2 gre0",
        "ip route add 30.0.0.0/8 via 10.0.2.2 p2",
    ]);
    let header = gre(0, 0x0800, &[]);
    let received = back(outer4(&header, &whole(&inner("30.0.0.1")), 1));
    assert_eq!((rig.route(&whole(&inner("20.0.0.1"))), rig.route(&received)), (vec![], vec![]));
    rig.cli("create teib gre0 peer 10.9.0.2 nh 10.0.1.2");
    let sent = rig.route(&whole(&inner("20.0.0.1")));
    assert_eq!(sent, [(1, outer4(&header, &hop(&inner("20.0.0.1")), 0))]);
    assert_eq!(rig.route(&received), [(2, hop(&inner("30.0.0.1")))]);
    rig.cli("delete teib gre0 peer 10.9.0.2");
    assert_eq!((rig.route(&whole(&inner("20.0.0.1"))), rig.route(&received)), (vec![], vec![]));
}

/// Broken packets around broken packets: each is taken or dropped by name, and every buffer comes
/// back.
#[suite::test]
fn broken_packets_are_taken_or_dropped_by_name() {
    let mut rig = two("key 77");
    rig.cli("create gre tunnel src 10.0.1.1 dst 10.0.1.2 teb");
    rig.cli("set interface state gre2 up");
    let (four, six) = (whole(&inner("30.0.0.1")), whole(&inner("2004::1")));
    let key = |protocol| gre(0x2000, protocol, &[77]);
    let bases: Vec<Vec<u8>> = [
        back(outer4(&key(0x0800), &four, 1)),
        back(outer4(&key(0x86dd), &six, 1)),
        back(outer6(&key(0x0800), &four)),
        back(outer4(&gre(0, 0x6558, &[]), &frame(2), 1)),
        whole(&inner("20.0.0.1")),
    ]
    .iter()
    .map(|packet| {
        let ethertype = protocol(packet).to_be_bytes();
        [&port_mac(0).0[..], &peer_mac(0).0, &ethertype, packet].concat()
    })
    .collect();
    let mut sent = 0;
    for bytes in Mutator::new(7).frames(&bases, 20_000, 2000) {
        sent += rig.pass(0, &bytes).len();
    }
    let taken = rig.count("gre4-input", "GRE input packets decapsulated");
    assert!(
        taken > 1000 && sent > 1000 && rig.bench.drops() > 1000,
        "{taken} {sent} {}",
        rig.bench.drops()
    );
    rig.seconds(10);
    assert_eq!(rig.bench.buffers_out(), 0, "buffers are lost");
}

/// Of tunnels that share ends, keys and types, each packet is received by the one that a search
/// through all finds.
#[suite::test]
fn packets_are_received_by_the_tunnel_that_a_search_finds() {
    #[derive(Clone, Copy, PartialEq)]
    struct Known {
        local: &'static str,
        remote: &'static str,
        key: u32,
        teb: bool,
    }
    const LOCALS: [&str; 2] = ["10.0.1.1", "10.0.2.1"];
    const REMOTES: [&str; 4] = ["10.0.1.2", "10.0.1.3", "10.0.2.2", "10.0.2.3"];
    let mut rig = rig(&["ip route add 30.0.0.0/8 via 10.0.2.2 p2"]);
    let mut rng = Rng::new(11);
    let mut all: Vec<(Known, String)> = Vec::new();
    let counters = rig.bench.world.get::<net::IfCounters>();
    let packet = inner("30.0.0.1");
    let mut taken = 0;
    for round in 0..6000 {
        let known = Known {
            local: rng.pick::<&str>(&LOCALS),
            remote: rng.pick::<&str>(&REMOTES),
            key: *rng.pick::<u32>(&[0, 5, 6]),
            teb: rng.one_in(2),
        };
        let Known { local, remote, key, teb } = known;
        if round % 40 == 0 {
            let type_ = if teb { "teb" } else { "" };
            let line = format!("create gre tunnel src {local} dst {remote} key {key} {type_}");
            if let Some(at) = all.iter().position(|(other, _)| *other == known) {
                rig.cli(&format!("{line} del"));
                all.remove(at);
            } else {
                let name = rig.cli(&line).trim().to_string();
                rig.cli(&format!("set interface state {name} up"));
                rig.cli(&format!("set interface unnumbered {name} use p0"));
                all.push((known, name));
            }
        }
        let (flags, words) = if key == 0 { (0, vec![]) } else { (0x2000, vec![key]) };
        let (protocol, payload) = if teb { (0x6558, frame(2)) } else { (0x0800, whole(&packet)) };
        let mut outer = back(outer4(&gre(flags, protocol, &words), &payload, 1));
        for (at, address) in [(12, remote), (16, local)] {
            outer[at..at + 4]
                .copy_from_slice(&address.parse::<std::net::Ipv4Addr>().expect("one").octets());
        }
        Ipv4Header::set_checksum_at(&mut outer);
        let found = all.iter().find(|(other, _)| *other == known).map(|(_, name)| name);
        let interfaces = rig.bench.world.get::<net::Interfaces>();
        let received = |name: &str| counters.rx.sum(interfaces.find(name).expect("there").at());
        let before = found.map(|name| received(name));
        let missing = rig.count("gre4-input", "GRE input packets dropped due to missing tunnel");
        let want = if found.is_some() && !teb { vec![(2, hop(&packet))] } else { vec![] };
        assert_eq!(rig.route(&outer), want, "{round}");
        let now = rig.count("gre4-input", "GRE input packets dropped due to missing tunnel");
        assert_eq!(now - missing, u64::from(found.is_none()), "{round}");
        if let (Some(name), Some((packets, bytes))) = (found, before) {
            assert_eq!(received(name), (packets + 1, bytes + payload.len() as u64), "{round}");
            taken += 1;
        }
    }
    assert!(taken > 1000, "{taken}");
}

/// A frame's congestion mark is that of the outer header, where the tunnel says so.
#[suite::test]
fn congestion_marks_go_into_frames() {
    let mut rig = bridge(&[
        "create gre tunnel src 10.0.1.1 dst 10.0.1.2 teb decap-copy-ecn",
        "set interface state gre0 up",
        "set interface l2 bridge gre0 7",
    ]);
    for packet in [pkt::ip4("192.0.2.1", "192.0.2.2"), pkt::ip6("2001:db8::1", "2001:db8::2")] {
        let framed = |tos| {
            let packet = packet.clone().tos(tos).udp(1, 2).payload_len(50).build();
            let ethertype = protocol(&packet).to_be_bytes();
            let tagged = [&[2, 0, 0, 0, 9, 9][..], &[2, 0, 0, 0, 9, 1], &[0x81, 0, 0, 5]].concat();
            [&tagged[..], &ethertype, &packet].concat()
        };
        let mut outer = back(outer4(&gre(0, 0x6558, &[]), &framed(0xb9), 1));
        outer[1] = 3;
        Ipv4Header::set_checksum_at(&mut outer);
        assert_eq!(rig.route(&outer), [(3, framed(0xbb)[14..].to_vec())]);
    }
}

#[suite::test]
fn wrong_ones_are_refused() {
    let mut rig = rig(&["create gre tunnel src 10.0.1.1 dst 10.0.1.2 instance 4 key 5"]);
    let create = "create gre tunnel src 10.0.1.1";
    for (line, retval, part) in [
        (format!("{create} dst 10.0.1.2 key 5"), -79, "gre4 has these ends"),
        (format!("{create} dst 10.0.1.3 instance 4"), -147, "there is a gre4"),
        (format!("{create} dst 10.0.1.1"), -82, "both ends"),
        ("create gre tunnel src 0.0.0.0 dst 10.0.1.1".into(), -57, "not that of one host"),
        ("create gre tunnel src :: multipoint".into(), -57, "not that of one host"),
        (format!("{create} dst 2001:db8::1"), -153, "two protocols"),
        (format!("{create} dst 10.0.1.3 outer-fib-id 9"), -3, "no table 9"),
        (format!("{create} dst 10.0.1.3 erspan 1024"), -148, "at most 1023"),
        (format!("{create} dst 10.0.1.3 multipoint"), -58, "create teib"),
        (format!("{create} multipoint teb"), -8, "no frames"),
        (format!("{create} dst 10.0.1.3 teb erspan 4"), -1, "one type"),
        (create.into(), -1, "dst ADDRESS"),
        (format!("{create} dst 10.0.1.2 key 6 del"), -6, "no such gre tunnel"),
    ] {
        let (code, text) = rig.refused(&line);
        assert!(code == retval && text.contains(part), "{line}: {code} {text}");
    }
    // The same ends in other types and with other keys.
    for line in [
        "dst 10.0.1.2",
        "dst 10.0.1.2 teb key 5",
        "dst 10.0.1.2 erspan 5",
        "dst 10.0.1.2 erspan 6",
        "multipoint",
    ] {
        rig.cli(&format!("{create} {line}"));
    }
    let shown = rig.cli("show gre tunnel gre4");
    let want = "[4] instance 4 src 10.0.1.1 dst 10.0.1.2 fib-idx 0 sw-if-idx 4 payload L3 point-to-point key 5\n";
    assert_eq!(shown, want);
    rig.cli(&format!("{create} dst 10.0.1.2 key 5 del"));
    assert_eq!(rig.cli("show gre tunnel").lines().count(), 5);
}

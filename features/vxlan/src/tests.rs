// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use buffer::Flags;
use graph::drive::Bench;
use graph::{Plugin, WorldConfig};
use net::drive::{Rig, peer_mac, port_mac};
use net::{IfCounters, Interfaces};
use std::collections::BTreeSet;
use testkit::mutate::Mutator;
use testkit::pkt::{self, Checksum};
use wire::l4;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &mfib::PLUGIN,
    &l2::PLUGIN,
    &PLUGIN,
];

/// Ports p0 to p2 route; p3 and p4 are in bridge domain 7.
fn rig(lines: &[&str]) -> Rig {
    rig_of(&WorldConfig::default(), lines)
}

fn rig_of(config: &WorldConfig, lines: &[&str]) -> Rig {
    let mut rig = Rig::of(Bench::configured(config, PLUGINS), 3);
    rig.networks();
    for i in [3, 4] {
        rig.add_port(i);
        rig.cli(&format!("set interface l2 bridge p{i} 7"));
    }
    lines.iter().for_each(|line| _ = rig.cli(line));
    rig
}

/// A tunnel over IPv4 and one over IPv6 in domain 7.
fn two() -> Rig {
    two_of(&WorldConfig::default())
}

fn two_of(config: &WorldConfig) -> Rig {
    let lines = [
        "create vxlan tunnel src 10.0.1.1 dst 10.0.1.2 vni 13",
        "create vxlan tunnel src 2001:db8:2::1 dst 2001:db8:2::2 vni 14",
        "set interface l2 bridge vxlan_tunnel0 7 1",
        "set interface l2 bridge vxlan_tunnel1 7 1",
    ];
    rig_of(config, &lines)
}

fn frame(to: u8, port: u16) -> Vec<u8> {
    let packet = pkt::ip4("192.0.2.1", "192.0.2.2").udp(port, 2).payload_len(50).build();
    [&[2, 0, 0, 0, 9, to][..], &[2, 0, 0, 0, 9, 1], &[8, 0], &packet].concat()
}

fn header(vni: u8) -> [u8; 8] {
    [8, 0, 0, 0, 0, 0, vni, 0]
}

/// The datagram around a frame, as it leaves. Its source port is that of `like`.
fn outer4(inner: &[u8], vni: u8, id: u16, like: &[u8]) -> Vec<u8> {
    let payload = [&header(vni)[..], inner].concat();
    let port = u16::from_be_bytes([like[20], like[21]]);
    let outer = pkt::ip4("10.0.1.1", "10.0.1.2").ttl(253).id(id).udp(port, 4789);
    outer.checksum(Checksum::Value(0)).payload(payload).build()
}

fn outer6(inner: &[u8], vni: u8, like: &[u8]) -> Vec<u8> {
    let payload = [&header(vni)[..], inner].concat();
    let port = u16::from_be_bytes([like[40], like[41]]);
    pkt::ip6("2001:db8:2::1", "2001:db8:2::2").ttl(254).udp(port, 4789).payload(payload).build()
}

/// A datagram that comes from the other end of a tunnel of [`two`].
fn from4(inner: &[u8], vni: u8) -> Vec<u8> {
    let payload = [&header(vni)[..], inner].concat();
    pkt::ip4("10.0.1.2", "10.0.1.1")
        .udp(7, 4789)
        .checksum(Checksum::Value(0))
        .payload(payload)
        .build()
}

fn from6(inner: &[u8], vni: u8) -> Vec<u8> {
    let payload = [&header(vni)[..], inner].concat();
    pkt::ip6("2001:db8:2::2", "2001:db8:2::1").udp(7, 4789).payload(payload).build()
}

/// Packets with the numbers of their ports.
type Sent = Vec<(usize, Vec<u8>)>;

/// Sends a frame from p3; returns the packets that leave by ports with addresses, and the frames at
/// p4.
fn flood(rig: &mut Rig, bytes: &[u8]) -> (Sent, Vec<Vec<u8>>) {
    let (switched, routed): (Vec<_>, Vec<_>) =
        rig.pass(3, bytes).into_iter().partition(|(port, _)| *port > 2);
    let cut = routed.into_iter().map(|(port, frame)| (port, frame[14..].to_vec())).collect();
    (cut, switched.into_iter().map(|(_, frame)| frame).collect())
}

#[suite::test]
fn frames_go_in_datagrams_and_come_back() {
    let mut rig = two();
    let bytes = frame(2, 1);
    let (sent, at_p4) = flood(&mut rig, &bytes);
    assert_eq!(at_p4, std::slice::from_ref(&bytes));
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0], (1, outer4(&bytes, 13, 0, &sent[0].1)));
    assert_eq!(sent[1], (2, outer6(&bytes, 14, &sent[1].1)));
    // An answer teaches where its station is.
    let answer = [&bytes[6..12], &bytes[..6], &bytes[12..]].concat();
    let back = rig.route(&from4(&answer, 13));
    assert_eq!(back, [(3, answer[14..].to_vec())]);
    let (sent, at_p4) = flood(&mut rig, &bytes);
    assert_eq!((sent.len(), sent[0].0, at_p4.len()), (1, 1, 0));
    let world = rig.world();
    let counters = world.get::<IfCounters>();
    let at = world.get::<Interfaces>().find("vxlan_tunnel0").expect("there").at();
    assert_eq!(counters.tx.sum(at), (2, 2 * (bytes.len() as u64 + 36)), "with outer headers");
    assert_eq!(counters.rx.sum(at), (1, bytes.len() as u64), "without");
    let other = [&bytes[6..12], &[2, 0, 0, 0, 9, 5][..], &bytes[12..]].concat();
    assert_eq!(rig.route(&from6(&other, 14)), [(3, other[14..].to_vec())]);
    assert_eq!(rig.count("vxlan4-encap", "encapsulated"), 2);
    assert_eq!(rig.count("vxlan6-input", "good packets decapsulated"), 1);
}

/// Ports follow from flows: of IP behind tags and labels, else of stations.
#[suite::test]
fn flows_have_ports_of_their_own() {
    let mut rig = two();
    let mut port = |bytes: &[u8]| {
        let (sent, _) = flood(&mut rig, bytes);
        u16::from_be_bytes([sent[0].1[20], sent[0].1[21]])
    };
    let tagged = |port| [&frame(2, port)[..12], &[0x81, 0, 0, 5], &frame(2, port)[12..]].concat();
    let labelled =
        |port| [&frame(2, port)[..12], &[0x88, 0x47, 0, 1, 1, 9], &frame(2, port)[14..]].concat();
    let alien = |to| [&frame(to, 1)[..12], &[0x88, 0xb5], &[0; 50]].concat();
    for make in [&(|n: u16| frame(2, n)) as &dyn Fn(u16) -> Vec<u8>, &tagged, &labelled, &|n| {
        alien(n as u8 + 10)
    }] {
        let all: Vec<u16> = (0..32).map(|n| port(&make(n))).collect();
        assert!(all.iter().collect::<BTreeSet<_>>().len() > 25, "{all:?}");
        assert_eq!((0..32).map(|n| port(&make(n))).collect::<Vec<_>>(), all);
    }
    // The same flow with and without a tag.
    assert_eq!(port(&tagged(1)), port(&frame(2, 1)));
}

#[suite::test]
fn tunnels_are_told_apart_by_what_they_were_made_with() {
    let mut rig = rig(&[
        "create vxlan tunnel src 10.0.1.1 dst 10.0.1.2 vni 13",
        "create vxlan tunnel src 10.0.1.1 dst 10.0.1.3 vni 13",
        "create vxlan tunnel src 10.0.1.1 dst 10.0.1.2 vni 15",
        "create vxlan tunnel src 10.0.1.1 dst 10.0.1.2 vni 13 src_port 4800 dst_port 4801",
    ]);
    let world = rig.world();
    let counters = world.get::<IfCounters>();
    let rx = |n: usize| {
        let at = world.get::<Interfaces>().find(&format!("vxlan_tunnel{n}")).expect("there").at();
        counters.rx.sum(at).0
    };
    let datagram = |from: &str, port, vni| {
        let payload = [&header(vni)[..], &frame(2, 1)].concat();
        pkt::ip4(from, "10.0.1.1")
            .udp(9, port)
            .checksum(Checksum::Value(0))
            .payload(payload)
            .build()
    };
    for (n, bytes) in [
        datagram("10.0.1.2", 4789, 13),
        datagram("10.0.1.3", 4789, 13),
        datagram("10.0.1.2", 4789, 15),
        datagram("10.0.1.2", 4800, 13),
    ]
    .iter()
    .enumerate()
    {
        rig.route(bytes);
        assert_eq!(
            (0..4).map(rx).collect::<Vec<_>>(),
            (0..4).map(|i| u64::from(i <= n)).collect::<Vec<_>>()
        );
    }
    for bytes in [datagram("10.0.1.4", 4789, 13), datagram("10.0.1.2", 4789, 16)] {
        rig.route(&bytes);
    }
    assert_eq!(rig.count("vxlan4-input", "no such tunnel packets"), 2);
    let mut wrong = datagram("10.0.1.2", 4789, 13);
    wrong[28] = 0xc;
    rig.route(&wrong);
    assert_eq!(rig.count("vxlan4-input", "packets with bad flags field in vxlan header"), 1);
    rig.cli("set interface state vxlan_tunnel0 down");
    rig.route(&datagram("10.0.1.2", 4789, 13));
    assert_eq!(rig.count("vxlan4-input", "down"), 1);
    // A port that nobody has any more is one of this feature still.
    rig.cli("create vxlan tunnel src 10.0.1.1 dst 10.0.1.2 vni 13 src_port 4800 dst_port 4801 del");
    rig.route(&datagram("10.0.1.2", 4800, 13));
    assert_eq!(rig.count("vxlan4-input", "no such tunnel packets"), 3);
    rig.route(&datagram("10.0.1.2", 4802, 13));
    assert_eq!(rig.count("ip4-udp-lookup", "no_listener"), 1);
}

/// Tunnels to a group: one copy of a flood for all of its hosts; what comes for the group belongs
/// to the tunnel to its sender.
#[suite::test]
fn groups_of_other_ends() {
    let mut rig = rig(&[
        "ip route add 10.0.1.3/32 via 10.0.1.2 p1",
        "create vxlan tunnel src 10.0.1.1 dst 10.0.1.2 vni 13",
        "create vxlan tunnel src 10.0.1.1 dst 10.0.1.3 vni 13",
        "create vxlan tunnel src 10.0.1.1 group 239.1.1.1 p1 vni 13",
        "create vxlan tunnel src 10.0.1.1 group 239.1.1.1 p1 vni 14",
        "set interface l2 bridge vxlan_tunnel0 7 1",
        "set interface l2 bridge vxlan_tunnel1 7 1",
        "set interface l2 bridge vxlan_tunnel2 7 1",
    ]);
    let bytes = frame(2, 1);
    let sent: Vec<_> = rig.pass(3, &bytes).into_iter().filter(|(port, _)| *port == 1).collect();
    assert_eq!(sent.len(), 1);
    let packet = &sent[0].1;
    assert_eq!(packet[..6], [1, 0, 0x5e, 1, 1, 1], "the group's MAC address");
    assert_eq!((&packet[26..34], &packet[50..]), (&[10, 0, 1, 1, 239, 1, 1, 1][..], &bytes[..]));
    let answer = [&bytes[6..12], &bytes[..6], &bytes[12..]].concat();
    let receive = |rig: &mut Rig, from: &str, vni| {
        let payload = [&header(vni)[..], &answer].concat();
        let packet =
            pkt::ip4(from, "239.1.1.1").udp(7, 4789).checksum(Checksum::Value(0)).payload(payload);
        let frame = [&[1, 0, 0x5e, 1, 1, 1][..], &peer_mac(1).0, &[8, 0], &packet.build()].concat();
        rig.pass(1, &frame)
    };
    assert_eq!(receive(&mut rig, "10.0.1.3", 13), [(3, answer.clone())]);
    let world = rig.world();
    let rx = |name: &str| {
        let at = world.get::<Interfaces>().find(name).expect("there").at();
        world.get::<IfCounters>().rx.sum(at).0
    };
    assert_eq!(["vxlan_tunnel1", "vxlan_tunnel2"].map(rx), [0, 1], "counted for the group");
    assert_eq!(receive(&mut rig, "10.0.1.4", 13), [], "no tunnel to the sender");
    assert_eq!(receive(&mut rig, "10.0.1.2", 14), [], "nor with this identifier");
    assert_eq!(receive(&mut rig, "10.0.1.2", 15), [], "no tunnel to the group");
    // The route stays until the last tunnel is gone.
    rig.cli("create vxlan tunnel src 10.0.1.1 group 239.1.1.1 p1 vni 13 del");
    let shown = |rig: &mut Rig| rig.cli("show ip mfib").contains("239.1.1.1");
    assert!(shown(&mut rig));
    // Without it, each host gets a copy of its own.
    assert_eq!(rig.pass(3, &frame(3, 1)).iter().filter(|(port, _)| *port == 1).count(), 2);
    rig.cli("create vxlan tunnel src 10.0.1.1 group 239.1.1.1 p1 vni 14 del");
    assert!(!shown(&mut rig));
    rig.cli("create vxlan tunnel src 10.0.1.1 group 239.1.1.1 p1 vni 13");
    rig.delete_port(1);
    assert!(!rig.cli("show vxlan tunnel").contains("239.1.1.1"), "it goes with its interface");
}

/// IP packets without an Ethernet header, and an Ethernet tunnel with addresses of its own.
#[suite::test]
fn tunnels_route() {
    let mut rig = rig(&[
        "create vxlan tunnel src 10.0.1.1 dst 10.0.1.2 vni 13 l3",
        "create vxlan tunnel src 10.0.1.1 dst 10.0.1.2 vni 14",
        "set interface ip address vxlan_tunnel0 10.9.0.1/24",
        "set interface ip address vxlan_tunnel1 10.8.0.1/24",
        "ip route add 20.0.0.0/8 via vxlan_tunnel0",
    ]);
    let inner = |ttl| pkt::ip4("10.0.0.9", "20.0.0.1").ttl(ttl).udp(1, 2).payload_len(30).build();
    let sent = rig.route(&inner(9));
    assert_eq!(sent, [(1, outer4(&inner(8), 13, 0, &sent[0].1))]);
    let packet = |ttl| pkt::ip4("10.9.0.7", "10.0.2.2").ttl(ttl).udp(1, 2).payload_len(30).build();
    assert_eq!(rig.route(&from4(&packet(9), 13)), [(2, packet(8))]);
    rig.route(&from4(&[0; 40], 13));
    assert_eq!(rig.count("vxlan4-input", "no_ip"), 1);
    let world = rig.world();
    let mac = world
        .get::<Interfaces>()
        .get(world.get::<Interfaces>().find("vxlan_tunnel1").expect("there"));
    let mac = mac.expect("there").mac;
    assert_eq!(mac.0[..2], [2, 0xfe]);
    let framed = [&mac.0[..], &[2, 0, 0, 0, 9, 1], &[8, 0], &packet(9)].concat();
    assert_eq!(rig.route(&from4(&framed, 14)), [(2, packet(8))]);
}

#[suite::test]
fn the_bypass_does_as_the_way_round_it() {
    for (is_v6, good) in [(false, from4(&frame(2, 1), 13)), (true, from6(&frame(2, 1), 14))] {
        let mut rig = two();
        rig.cli(if is_v6 {
            "set interface ip6 vxlan-bypass p0"
        } else {
            "set interface ip vxlan-bypass p0"
        });
        let input = if is_v6 { "vxlan6-input" } else { "vxlan4-input" };
        // Where the datagrams aren't for an address of ours, only the bypass takes them.
        rig.cli("set interface ip address del p1 10.0.1.1/24");
        rig.cli("set interface ip address del p2 2001:db8:2::1/64");
        rig.route(&good);
        assert_eq!(rig.count(input, "good packets decapsulated"), 1);
        rig.cli("set interface ip address p1 10.0.1.1/24");
        rig.cli("set interface ip address p2 2001:db8:2::1/64");
        let mut other = good.clone();
        // Another identifier: it takes the ordinary way, and is dropped by name.
        let at = if is_v6 { 48 } else { 28 };
        other[at + 6] = 99;
        if is_v6 {
            other[46..48].copy_from_slice(&[0, 0]);
            l4::finish(&mut other).expect("UDP");
        }
        rig.route(&other);
        assert_eq!(rig.count(input, "no such tunnel packets"), 1);
        if is_v6 {
            let mut wrong = good.clone();
            wrong[46] ^= 1;
            rig.route(&wrong);
            assert_eq!(rig.count("ip6-vxlan-bypass", "bad_checksum"), 1);
        }
    }
}

/// A large frame goes in fragments of its datagram, and a super-packet as the segments that it
/// stands for.
#[suite::test]
fn frames_larger_than_links() {
    let mut rig = two();
    rig.cli("set interface state vxlan_tunnel1 down");
    let packet = pkt::ip4("192.0.2.1", "192.0.2.2").udp(1, 2).payload_len(1450).build();
    let bytes = [&frame(2, 1)[..14], &packet].concat();
    let (sent, _) = flood(&mut rig, &bytes);
    assert_eq!(
        sent.iter().map(|(port, p)| (*port, p.len())).collect::<Vec<_>>(),
        [(1, 48), (1, 1500)]
    );
    let payload: Vec<u8> = (0..3000_u32).map(|i| i as u8).collect();
    let tcp = pkt::ip4("192.0.2.1", "192.0.2.2").tcp(1, 2).payload(&payload).build();
    let bytes = [&frame(2, 1)[..14], &tcp].concat();
    let rx = rig.ports[3];
    rig.bench.send("ethernet-input", &bytes, |b| {
        b.rx_if = rx.0;
        b.flags.insert(Flags::GSO | Flags::CSUM_PARTIAL);
        (b.offload.csum_start, b.offload.csum_offset, b.offload.gso_size) = (34, 16, 1000);
    });
    let sent = rig.sent();
    let mut parts: Vec<_> =
        sent.iter().filter(|(port, _)| *port == 1).map(|(_, p)| p[64..].to_vec()).collect();
    assert_eq!(parts.len(), 3);
    parts.sort_by_key(|part| u32::from_be_bytes(*part[24..].first_chunk().expect("TCP")));
    assert!(parts.iter().all(|part| l4::verify(part) == Ok(l4::Verdict::Valid)));
    let got: Vec<u8> = parts.iter().flat_map(|part| part[40..].to_vec()).collect();
    assert_eq!(got, payload);
}

/// With the feature `gso` on the link and VPP's behaviour, a super-packet whose segments don't fit
/// it goes in fragments of one datagram.
#[suite::test]
fn super_packets_stay_whole_if_asked_to() {
    let mut rig = two_of(&WorldConfig { compat_vpp: true, ..WorldConfig::default() });
    rig.cli("set interface state vxlan_tunnel1 down");
    rig.cli("set interface feature gso p1");
    let payload: Vec<u8> = (0..9000_u32).map(|i| (i / 3) as u8).collect();
    let whole = pkt::ip4("192.0.2.1", "192.0.2.2").tcp(1, 2).payload(&payload).build();
    let mut tcp = whole.clone();
    l4::set_partial(&mut tcp).expect("TCP");
    let ethernet = frame(2, 1)[..14].to_vec();
    let rx = rig.ports[3];
    rig.bench.send("ethernet-input", &[&ethernet[..], &tcp].concat(), |b| {
        b.rx_if = rx.0;
        b.flags.insert(Flags::GSO | Flags::CSUM_PARTIAL);
        (b.offload.csum_start, b.offload.csum_offset) = (34, 16);
        (b.offload.gso_size, b.offload.gso_kind) = (1460, 1);
    });
    let sent = rig.sent();
    let fragments: Vec<_> = sent.iter().filter(|(port, _)| *port == 1).map(|(_, p)| p).collect();
    let datagram = 16 + 14 + whole.len();
    assert_eq!(fragments.len(), datagram.div_ceil(1480));
    let mut got = vec![0; datagram];
    for part in fragments {
        let ip = &part[14..];
        assert!(wire::Ipv4Header::checksum_ok_at(ip) && ip.len() <= 1500);
        let at = usize::from(u16::from_be_bytes([ip[6], ip[7]]) & 0x1fff) * 8;
        got[at..at + ip.len() - 20].copy_from_slice(&ip[20..]);
    }
    assert_eq!(got[4..6], (datagram as u16).to_be_bytes());
    assert!(got[16..] == [&ethernet[..], &whole].concat(), "the frame with its checksum");
}

/// Broken datagrams and datagrams around broken frames: each is taken or dropped by name, and every
/// buffer comes back.
#[suite::test]
fn broken_datagrams_are_taken_or_dropped_by_name() {
    let mut rig = two();
    rig.cli("set interface ip vxlan-bypass p0");
    rig.cli("set interface ip6 vxlan-bypass p0");
    let bases = [from4(&frame(2, 1), 13), from6(&frame(2, 1), 14), from4(&frame(1, 1), 13)];
    let framed: Vec<Vec<u8>> = bases
        .iter()
        .map(|packet| {
            let ethertype: [u8; 2] = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
            [&port_mac(0).0[..], &peer_mac(0).0, &ethertype, packet].concat()
        })
        .collect();
    let mut sent = 0;
    for bytes in Mutator::new(5).frames(&framed, 20_000, 2000) {
        sent += rig.pass(0, &bytes).len();
    }
    let taken = rig.count("vxlan4-input", "good packets decapsulated");
    assert!(
        taken > 1000 && sent > 1000 && rig.bench.drops() > 1000,
        "{taken} {sent} {}",
        rig.bench.drops()
    );
    rig.seconds(10);
    assert_eq!(rig.bench.buffers_out(), 0, "buffers are lost");
}

#[suite::test]
fn wrong_ones_are_refused() {
    let mut rig = rig(&["create vxlan tunnel src 10.0.1.1 dst 10.0.1.2 vni 13 instance 4"]);
    let create = "create vxlan tunnel src 10.0.1.1";
    // Network identifiers are 0 to 16777215, in commands as in messages.
    rig.cli(&format!("{create} dst 10.0.1.7 vni 0"));
    rig.cli(&format!("{create} dst 10.0.1.7 vni 16777215"));
    for (line, retval, part) in [
        (format!("{create} dst 10.0.1.2 vni 13"), -75, "vxlan_tunnel4 has these ends"),
        (format!("{create} dst 10.0.1.3 vni 13 instance 4"), -147, "there is a vxlan_tunnel4"),
        (format!("{create} dst 10.0.1.1 vni 13"), -82, "both ends"),
        (format!("{create} dst 2001:db8::1 vni 13"), -7, "two protocols"),
        (format!("{create} dst 10.0.1.3 vni 13 encap-vrf-id 9"), -3, "no table 9"),
        (format!("{create} dst 10.0.1.3 vni 16777216"), -1, "16777215"),
        (format!("{create} dst 239.1.1.1 vni 13"), -2, "need an interface"),
        (format!("{create} group 239.1.1.1 p9 vni 13"), -2, "p9"),
        (format!("{create} dst 10.0.1.9 vni 13 del"), -6, "no such vxlan_tunnel"),
        (
            format!("{create} dst 10.0.1.3 vni 13 decap-next node ip4-rewrite"),
            -76,
            "can't go to ip4-rewrite",
        ),
        ("set flow-offload vxlan hw p0 rx vxlan_tunnel4".into(), -1, "can't find tunnels"),
    ] {
        let (code, text) = rig.refused(&line);
        assert!(code == retval && text.contains(part), "{line}: {code} {text}");
    }
    let shown = rig.cli("show vxlan tunnel");
    let want = "[4] instance 4 src 10.0.1.1 dst 10.0.1.2 src_port 4789 dst_port 4789 vni 13 fib-idx 0 sw-if-idx 6";
    assert!(shown.starts_with(want), "{shown}");
}

// SPDX-License-Identifier: Apache-2.0
//! Input, lookup and rewrite against one slow function that follows the RFCs, on broken packets:
//! the same next node, the same bytes, for every instruction set and for vectors of every size.

use super::*;
use graph::drive::Outcome;
use simd::Level;
use testkit::mutate::Mutator;

const MTU: u16 = 600;
/// Destinations of every kind, and what the tables of [`setting`] make of them.
const DESTINATIONS: [&str; 16] = [
    "20.1.2.3",
    "20.255.0.0",
    "22.0.0.1",
    "23.0.0.1",
    "24.0.0.1",
    "25.0.0.1",
    "26.0.0.1",
    "10.0.1.1",
    "10.0.2.77",
    "10.0.2.255",
    "99.0.0.1",
    "255.255.255.255",
    "224.0.0.5",
    "239.1.1.1",
    "127.0.0.1",
    "0.1.1.1",
];

fn setting() -> Bench {
    let bench = router();
    let world = &bench.world;
    world.get::<Interfaces>().set_mtu(world, T2, net::MtuKind::Ip4, MTU).expect("set");
    let back = Neighbor {
        is_static: true,
        ..Neighbor::new(T1, ip("10.0.1.7").into(), MacAddr(NEIGHBOR_MAC))
    };
    world.get::<Neighbors>().set(world, back).expect("set");
    let fixed = |adj| [PathKind::Fixed(adj)];
    route(
        &bench,
        "22.0.0.0/8",
        &[PathKind::Neighbor { sw_if: T2, nexthop: ip("10.0.2.3").into() }],
    );
    route(&bench, "23.0.0.0/8", &fixed(net::AdjIndex::DROP));
    route(&bench, "24.0.0.0/8", &fixed(net::AdjIndex::UNREACH));
    route(&bench, "25.0.0.0/8", &fixed(net::AdjIndex::PROHIBIT));
    // Back where the packets come from, but to no neighbour of theirs: forwarded without a
    // redirect.
    route(
        &bench,
        "26.0.0.0/8",
        &[PathKind::Neighbor { sw_if: T1, nexthop: ip("10.0.1.7").into() }],
    );
    bench
}

fn sum(bytes: &[u8]) -> u32 {
    let mut sum = bytes.chunks(2).fold(0, |sum, pair| {
        sum + (u32::from(pair[0]) << 8) + pair.get(1).map_or(0, |low| u32::from(*low))
    });
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// The node that a packet comes to, the reason if it is refused, its bytes.
pub type Answer = (&'static str, Option<&'static str>, Vec<u8>);

/// Expected outcome of a packet that comes in by `t1`: its node, the reason if it is refused, its
/// bytes.
fn reference(packet: &[u8]) -> Answer {
    let bytes = packet.to_vec();
    let refuse = |why| ("error-drop", Some(why), bytes.clone());
    if packet.len() < 20 {
        return refuse("ip4 length < 20 bytes");
    }
    if packet[0] >> 4 != 4 {
        return refuse("ip4 version != 4");
    }
    let header = usize::from(packet[0] & 15) * 4;
    if header < 20 || header > packet.len() {
        return refuse("ip4 header length < 20 bytes or > packet length");
    }
    let total = usize::from(packet[2]) << 8 | usize::from(packet[3]);
    if total < header || total > packet.len() {
        return refuse("ip4 length < header length or > l2 length");
    }
    if sum(&packet[..header]) != 0xffff {
        return refuse("bad ip4 checksum");
    }
    let fragment = u16::from(packet[6]) << 8 | u16::from(packet[7]);
    if fragment & 0x1fff == 1 {
        return refuse("ip4 fragment offset == 1");
    }
    let (src, dst) = (ip_at(packet, 12), ip_at(packet, 16));
    if src.octets()[0] == 0 && !(src.is_unspecified() && (dst.is_broadcast() || dst.is_multicast()))
    {
        return refuse("ip4 source is on network 0");
    }
    if src.is_loopback() {
        return refuse("ip4 source is on network 127");
    }
    if src.is_multicast() {
        return refuse("ip4 source is multicast");
    }
    if src.octets()[0] >= 240 {
        return refuse("ip4 source is broadcast or reserved");
    }
    // Padding goes.
    let mut bytes = packet[..total].to_vec();
    if header > 20 {
        return ("ip4-options", None, bytes);
    }
    if dst.is_multicast() {
        return ("ip4-mfib-forward-lookup", None, bytes);
    }
    lookup(&mut bytes, fragment, dst)
}

fn ip_at(packet: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3])
}

fn lookup(bytes: &mut [u8], fragment: u16, dst: Ipv4Addr) -> Answer {
    let dropped = |why, bytes: &[u8]| ("ip4-drop", Some(why), bytes.to_vec());
    let told = |why, bytes: &[u8]| ("ip4-icmp-error", Some(why), bytes.to_vec());
    match dst.octets() {
        [255, 255, 255, 255] | [10, 0, 1 | 2, 1] => ("ip4-local", None, bytes.to_vec()),
        [0 | 127 | 240..=255, ..] => {
            dropped("ip4 destination is no host's (RFC 1812 5.3.7)", bytes)
        }
        [10, 0, 1 | 2, 0 | 255] | [23, ..] => dropped("ip4 drop", bytes),
        [20, ..] | [10, 0, 2, 2] => rewrite(bytes, fragment, 2, MTU),
        [26, ..] | [10, 0, 1, 7] => rewrite(bytes, fragment, 1, 1500),
        [10, 0, 1 | 2, _] => ("ip4-glean", None, bytes.to_vec()),
        [22, ..] => ("ip4-arp", None, bytes.to_vec()),
        [24, ..] => told("ip4 destination unreachable by its route", bytes),
        [25, ..] => told("ip4 destination prohibited by its route", bytes),
        _ => told("ip4 destination lookup miss", bytes),
    }
}

fn rewrite(bytes: &mut [u8], fragment: u16, out: u8, mtu: u16) -> Answer {
    if bytes[8] <= 1 {
        return ("ip4-icmp-error", Some("ip4 ttl <= 1"), bytes.to_vec());
    }
    if bytes.len() > usize::from(mtu) {
        if fragment & 0x4000 != 0 {
            return ("ip4-icmp-error", Some("ip4 MTU exceeded and DF set"), bytes.to_vec());
        }
        return ("ip4-frag", None, bytes.to_vec());
    }
    bytes[8] -= 1;
    bytes[10..12].fill(0);
    let checksum = !(sum(&bytes[..20]) as u16);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    let mut frame = [&NEIGHBOR_MAC[..], &[2, 0, 0, 0, 0, out], &[8, 0]].concat();
    frame.extend(&bytes[..]);
    (if out == 1 { "t1-output" } else { "t2-output" }, None, frame)
}

/// The nodes of one version, and what is right.
pub struct Version {
    pub nodes: [&'static str; 3],
    pub reference: fn(&[u8]) -> Answer,
    /// A packet that nothing is wrong with, at an ICMP error's node: a copy, for a redirect.
    pub is_copy: fn(&[u8]) -> bool,
}

const IP4: Version =
    Version { nodes: ["ip4-input", "ip4-lookup", "ip4-rewrite"], reference, is_copy: is_redirect };

/// Runs the three nodes over the packets, all of one vector.
fn fast(bench: &mut Bench, version: &Version, packets: &[Vec<u8>]) -> Vec<Outcome> {
    let nodes = version.nodes.map(|n| bench.index(n));
    for packet in packets {
        let mut b = bench.buffer(packet);
        b.rx_if = T1.0;
        bench.rt.inject(nodes[0], b);
    }
    nodes.into_iter().for_each(|node| bench.rt.run_node(node));
    let mut out = bench.collect();
    // Copies for redirects are no packets of ours; they have a test of their own.
    out.retain(|o| o.node != "ip6-nd-redirect");
    out.retain(|o| !(o.node.ends_with("-icmp-error") && (version.is_copy)(&o.bytes)));
    out
}

/// A packet that goes back by the interface that it came from, and that nothing is wrong with: a
/// copy, for a redirect.
fn is_redirect(packet: &[u8]) -> bool {
    packet[8] > 1
        && packet.len() <= 548
        && matches!(ip_at(packet, 16).octets(), [26, ..] | [10, 0, 1, 7])
}

fn bases() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for to in DESTINATIONS {
        let udp = pkt::ether("02:ff:00:00:00:01", "02:00:00:00:00:01").ip4(HOST, to);
        all.push(udp.clone().udp(1, 2).payload_len(18).build());
        all.push(udp.clone().df().udp(1, 2).payload_len(700).build());
        all.push(udp.clone().fragment(0, true).udp(1, 2).payload_len(800).build());
        all.push(udp.clone().ttl(1).tcp(1, 2).pad_to(60).build());
        all.push(
            udp.ttl(2).options([148, 4, 0, 0]).icmp_echo(1, 2).payload_len(5).pad_to(60).build(),
        );
    }
    all
}

fn agree(bench: &mut Bench, version: &Version, packets: &[Vec<u8>]) {
    let key = |o: &Outcome| (o.node.clone(), o.reason, o.bytes.clone());
    let mut got: Vec<_> = fast(bench, version, packets).iter().map(key).collect();
    let mut want: Vec<_> = packets
        .iter()
        .map(|p| (version.reference)(p))
        .map(|(n, r, b)| (n.to_string(), r, b))
        .collect();
    got.sort();
    want.sort();
    for (got, want) in got.iter().zip(&want) {
        let short = |(node, reason, bytes): &(String, Option<&'static str>, Vec<u8>)| {
            format!(
                "{node} {reason:?} {} bytes {:02x?}",
                bytes.len(),
                &bytes[..bytes.len().min(64)]
            )
        };
        assert!(got == want, "\n{}\n{}", short(got), short(want));
    }
    assert_eq!(got.len(), want.len());
}

/// Broken packets, for every instruction set and vectors of every size.
pub fn on_broken_packets(setting: fn() -> Bench, version: &Version, bases: &[Vec<u8>]) {
    for level in Level::ALL.into_iter().filter(|l| l.is_supported()) {
        let mut bench = setting();
        bench.rt.receive();
        for node in version.nodes {
            let index = bench.index(node);
            assert!(bench.rt.set_variant(index, level));
        }
        let mut mutator = Mutator::new(4711);
        let (mut frame, mut packets) = (Vec::new(), Vec::new());
        for size in [1, 7, 8, 9, 63, 64, 255, 256].into_iter().cycle().take(400) {
            packets.clear();
            while packets.len() < size {
                mutator.next_frame(bases, &mut frame);
                if frame.len() >= 14 {
                    packets.push(frame[14..].to_vec());
                }
            }
            agree(&mut bench, version, &packets);
        }
    }
}

/// Vectors of one kind.
pub fn on_vectors_of_one_kind(setting: fn() -> Bench, version: &Version, bases: &[Vec<u8>]) {
    let mut bench = setting();
    for base in bases {
        for size in [1, 8, 256] {
            agree(&mut bench, version, &vec![base[14..].to_vec(); size]);
        }
    }
}

#[suite::test]
fn what_the_rfcs_say_on_broken_packets() {
    on_broken_packets(setting, &IP4, &bases());
}

#[suite::test]
fn what_the_rfcs_say_on_vectors_of_one_kind() {
    on_vectors_of_one_kind(setting, &IP4, &bases());
}

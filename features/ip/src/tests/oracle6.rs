// SPDX-License-Identifier: Apache-2.0
//! The same for IPv6.

use super::oracle::{Answer, Version, on_broken_packets, on_vectors_of_one_kind};
use super::*;

const MTU: u16 = 1300;
/// Destinations of every kind, and what the tables of [`setting`] make of them.
const DESTINATIONS: [&str; 19] = [
    "3000::1",
    "3000:ffff::",
    "3001::1",
    "3002::1",
    "3003::1",
    "3004::1",
    "3005::1",
    "3006::1",
    "2001:db8:1::1",
    "2001:db8:1::",
    "2001:db8:2::77",
    "4000::1",
    "fe80::1",
    "ff02::1",
    "ff05::7",
    "ff00::1",
    "ff01::1",
    "::1",
    "::",
];

fn setting() -> Bench {
    let bench = router6();
    let world = &bench.world;
    world.get::<Interfaces>().set_mtu(world, T2, net::MtuKind::Ip6, MTU).expect("set");
    let back = Neighbor::new(T1, ip6("2001:db8:1::7").into(), MacAddr(NEIGHBOR_MAC));
    world.get::<Neighbors>().set(world, Neighbor { is_static: true, ..back }).expect("set");
    let fixed = |adj| [PathKind::Fixed(adj)];
    route6(
        &bench,
        "3002::/16",
        &[PathKind::Neighbor { sw_if: T2, nexthop: ip6("2001:db8:2::3").into() }],
    );
    route6(&bench, "3003::/16", &fixed(net::AdjIndex::DROP));
    route6(&bench, "3004::/16", &fixed(net::AdjIndex::UNREACH));
    route6(&bench, "3005::/16", &fixed(net::AdjIndex::RECEIVE));
    route6(
        &bench,
        "3006::/16",
        &[PathKind::Neighbor { sw_if: T1, nexthop: ip6("2001:db8:1::7").into() }],
    );
    bench
}

fn ip_at(packet: &[u8], at: usize) -> Ipv6Addr {
    Ipv6Addr::from(*packet[at..].first_chunk::<16>().expect("40 bytes"))
}

/// Expected outcome of a packet that comes in by `t1`.
fn reference(packet: &[u8]) -> Answer {
    let bytes = packet.to_vec();
    let refuse = |why| ("error-drop", Some(why), bytes.clone());
    if packet.len() < 40 {
        return refuse("ip6 length < 40 bytes");
    }
    if packet[0] >> 4 != 6 {
        return refuse("ip6 version != 6");
    }
    let total = 40 + (usize::from(packet[4]) << 8 | usize::from(packet[5]));
    if total > packet.len() {
        return refuse("ip6 length > l2 length");
    }
    let (src, dst) = (ip_at(packet, 8), ip_at(packet, 24));
    if src.octets()[0] == 0xff {
        return refuse("ip6 source is multicast");
    }
    if src == Ipv6Addr::LOCALHOST {
        return refuse("ip6 source is the loopback address");
    }
    let to_group = dst.octets()[0] == 0xff;
    if src.is_unspecified() && !to_group {
        return refuse("ip6 source is unspecified, destination is one host");
    }
    if to_group && dst.octets()[1] & 15 == 0 {
        return refuse("ip6 group of scope 0, which is reserved (RFC 4291 2.7)");
    }
    // Padding goes.
    let bytes = packet[..total].to_vec();
    if packet[6] == 0 {
        return ("ip6-hop-by-hop", None, bytes);
    }
    if to_group {
        return ("ip6-mfib-forward-lookup", None, bytes);
    }
    lookup(bytes, src, dst)
}

fn lookup(bytes: Vec<u8>, src: Ipv6Addr, dst: Ipv6Addr) -> Answer {
    let is = |text: &str| dst == ip6(text);
    let within = |text: &str| text.parse::<wire::Ip6Prefix>().expect("a prefix").contains(dst);
    let to = |node| (node, None, bytes.clone());
    if is("::") || is("::1") {
        return ("ip6-drop", Some("ip6 destination is no host's (RFC 4291 2.5)"), bytes);
    }
    if within("fe80::/10") {
        return to("ip6-link-local");
    }
    if within("3003::/16") {
        return ("ip6-drop", Some("ip6 drop"), bytes);
    }
    let ours = ["2001:db8:1::1", "2001:db8:1::", "2001:db8:2::1", "2001:db8:2::"];
    if ours.into_iter().any(is) || within("3005::/16") {
        return to("ip6-local");
    }
    if within("3000::/16") || within("3001::/16") || is("2001:db8:2::2") {
        return rewrite(bytes, src, 2, MTU);
    }
    if within("3006::/16") || is("2001:db8:1::7") {
        return rewrite(bytes, src, 1, 1500);
    }
    if within("3002::/16") {
        return to("ip6-discover-neighbor");
    }
    if within("2001:db8:1::/64") || within("2001:db8:2::/64") {
        return to("ip6-glean");
    }
    let why = match within("3004::/16") {
        true => "ip6 destination unreachable by its route",
        false => "ip6 destination lookup miss",
    };
    ("ip6-icmp-error", Some(why), bytes)
}

fn rewrite(mut bytes: Vec<u8>, src: Ipv6Addr, out: u8, mtu: u16) -> Answer {
    let confined = src.octets()[0] == 0xfe && src.octets()[1] >> 6 == 2;
    let refused = [
        (confined && out != 1, "ip6 source address means nothing on another link"),
        (bytes[7] <= 1, "ip6 hop limit <= 1"),
        (bytes.len() > usize::from(mtu), "ip6 MTU exceeded"),
    ];
    if let Some((_, why)) = refused.into_iter().find(|(is, _)| *is) {
        return ("ip6-icmp-error", Some(why), bytes);
    }
    bytes[7] -= 1;
    let frame = [&NEIGHBOR_MAC[..], &[2, 0, 0, 0, 0, out], &[0x86, 0xdd], &bytes].concat();
    (if out == 1 { "t1-output" } else { "t2-output" }, None, frame)
}

const IP6: Version =
    Version { nodes: ["ip6-input", "ip6-lookup", "ip6-rewrite"], reference, is_copy: |_| false };

fn bases() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for (i, to) in DESTINATIONS.into_iter().enumerate() {
        let ether = pkt::ether("02:ff:00:00:00:01", "02:00:00:00:00:01");
        let from = ["fe80::9", "::", "ff02::1", "::1"].get(i % 5).copied().unwrap_or(HOST6);
        all.push(ether.clone().ip6(HOST6, to).udp(1, 2).payload_len(18).build());
        all.push(ether.clone().ip6(from, to).udp(1, 2).payload_len(18).build());
        all.push(ether.clone().ip6(HOST6, to).udp(1, 2).payload_len(1300).build());
        all.push(ether.clone().ip6(HOST6, to).tcp(1, 2).pad_to(100).build());
        all.push(
            ether
                .clone()
                .ip6(HOST6, to)
                .ext(wire::IpProtocol::HOP_BY_HOP, [0, 5, 2, 0, 0, 1, 0])
                .udp(1, 2)
                .build(),
        );
        let mut dying = ether.ip6(HOST6, to).icmp6_echo(1, 2).payload_len(5).pad_to(80).build();
        dying[14 + 7] = 1;
        all.push(dying);
    }
    all
}

#[suite::test]
fn what_the_rfcs_say_on_broken_packets() {
    on_broken_packets(setting, &IP6, &bases());
}

#[suite::test]
fn what_the_rfcs_say_on_vectors_of_one_kind() {
    on_vectors_of_one_kind(setting, &IP6, &bases());
}

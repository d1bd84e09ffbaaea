// SPDX-License-Identifier: Apache-2.0
//! The same with IPv6 and ICMPv6.

use testkit::pkt::{self, Packet};
use wire::{Icmp6Type, IpProtocol};

use crate::mutated::{Rig, send_all};

const FRAMES: u64 = 1_000_000;
const HOST: &str = "02:aa:00:00:00:01";
const ROUTER: &str = "02:fe:00:00:00:01";

pub const CONFIGURATION: &[&str] = &[
    "set interface ip address pg0 2001:db8:1::1/64",
    "set interface ip address pg1 2001:db8:2::1/64",
    "set ip neighbor pg0 2001:db8:1::2 02:aa:00:00:00:01 static",
    "set ip neighbor pg1 2001:db8:2::2 02:aa:00:00:00:02 static",
    "set ip neighbor pg0 fe80::2 02:aa:00:00:00:01 static",
    "ip route add 3000::/16 via 2001:db8:2::2 pg1",
    "ip route add 3001::/16 via 2001:db8:2::99 pg1",
    "ip route add 3002::/16 via 2001:db8:1::7 pg0",
    "ip route add 3003::/16 via drop",
    "ip route add 3004::/16 via prohibit",
    "ip path-mtu 3000::9 1300",
];

pub fn bases() -> Vec<Vec<u8>> {
    let from = |from: &'static str, to: &'static str| pkt::ether(HOST, ROUTER).ip6(from, to);
    let ip = |to: &'static str| from("2001:db8:1::2", to);
    let udp = |packet: Packet| packet.udp(1234, 4321).payload_len(40);
    let group = |to: &'static str| pkt::ether(HOST, "33:33:00:00:00:01").ip6("fe80::2", to);
    let options =
        |packet: Packet, kind: u8| packet.ext(IpProtocol::HOP_BY_HOP, [0, kind, 2, 0, 0, 1, 0]);
    let mut all: Vec<Vec<u8>> = [
        "2001:db8:2::2",
        "3000::1",
        "3000::9",
        "3001::1",
        "3002::1",
        "3003::1",
        "3004::1",
        "4000::1",
        "2001:db8:1::1",
        "2001:db8:2::1",
        "2001:db8:1::",
        "2001:db8:1::77",
        "fe80::1",
        "fe80::ff:fe00:1",
        "::1",
        "::",
    ]
    .into_iter()
    .map(|to| udp(ip(to)).build())
    .collect();
    all.extend(
        ["fe80::2", "::", "::1", "ff02::1", "4000::2"]
            .map(|source| udp(from(source, "3000::1")).build()),
    );
    for kind in [1, 5, 0x1e, 0x5e, 0x9e, 0xde] {
        all.push(options(ip("3000::1"), kind).udp(1, 2).payload_len(40).build());
        all.push(options(ip("2001:db8:1::1"), kind).icmp6_echo(1, 2).build());
        let header = [0, kind, 2, 0, 0, 1, 0];
        all.push(
            ip("2001:db8:1::1")
                .ext(IpProtocol::DEST_OPTIONS, header)
                .icmp6_echo(1, 2)
                .payload_len(9)
                .build(),
        );
    }
    all.extend([
        ip("3000::1").icmp6_echo(1, 2).payload_len(1360).build(),
        ip("3000::1").icmp6_echo(1, 2).payload_len(3000).build(),
        ip("2001:db8:1::1").icmp6_echo(1, 2).payload_len(3000).build(),
        ip("2001:db8:1::1").tcp(1, 22).build(),
        ip("2001:db8:1::1")
            .ext(IpProtocol::ROUTING, [0, 0, 0, 0, 0, 0, 0])
            .icmp6_echo(1, 2)
            .build(),
        ip("2001:db8:1::1")
            .ext(IpProtocol::ROUTING, [0, 0, 1, 0, 0, 0, 0])
            .icmp6_echo(1, 2)
            .build(),
        ip("2001:db8:1::1").fragment6(7, 0, true).icmp6_echo(1, 2).payload_len(56).build(),
        ip("2001:db8:1::1").fragment6(7, 64, false).udp(1, 2).payload_len(56).build(),
        ip("3000::1").fragment6(7, 64, false).udp(1, 2).payload_len(56).build(),
        ip("2001:db8:1::1").fragment6(8, 0, false).icmp6_echo(1, 2).payload_len(5).build(),
        udp(group("ff02::1")).build(),
        group("ff02::1").icmp6_echo(3, 4).payload_len(20).build(),
        group("ff02::2").icmp6_echo(3, 4).build(),
        udp(group("ff05::77")).build(),
        udp(group("ff00::1")).build(),
        udp(group("ff01::1")).build(),
        options(group("ff02::16"), 5).icmp6(Icmp6Type(143), 0, 0).payload_len(20).build(),
    ]);
    let quote = pkt::ip6("2001:db8:1::1", "3000::1").icmp6_echo(7, 1).payload_len(64).build();
    for kind in [1, 2, 3, 4, 127] {
        all.push(ip("2001:db8:1::1").icmp6(Icmp6Type(kind), 0, 1400).payload(&quote).build());
        all.push(ip("3000::1").icmp6(Icmp6Type(kind), 0, 1400).payload(&quote).build());
    }
    // Neighbour discovery, with options: target and source of an address.
    let target = "2001:db8:1::1".parse::<std::net::Ipv6Addr>().expect("an address").octets();
    for kind in 133..=137 {
        let body =
            [&target[..], &target, &[1, 1, 2, 0xaa, 0, 0, 0, 1], &[5, 1, 0, 0, 0, 0, 5, 220]]
                .concat();
        for packet in [ip("2001:db8:1::1"), group("ff02::1")] {
            let mut bytes = packet.icmp6(Icmp6Type(kind), 0, 0).payload(&body).build();
            bytes[14 + 7] = 255;
            all.push(bytes);
        }
    }
    all
}

#[test]
fn a_million_mutated_frames_of_ipv6() {
    let mut rig = Rig::new(CONFIGURATION);
    let end = send_all(&mut rig, &bases(), FRAMES, |_| {});
    let reasons = rig.reasons();
    let seen: Vec<_> =
        reasons.iter().filter(|(reason, n)| **n > 0 && reason.starts_with("ip6")).collect();
    for (reason, n) in &seen {
        println!("{n:>8}  {reason}");
    }
    for (what, n) in [("sent", end.sent), ("dropped", end.dropped)] {
        assert!(n > FRAMES / 1000, "only {n} were {what}");
    }
    assert!(seen.len() > 30, "{} reasons: {seen:#?}", seen.len());
}

// SPDX-License-Identifier: Apache-2.0
//! Malformed messages of IPv6 neighbour discovery: options, lengths, addresses, hop limits.

use testkit::pkt;
use wire::nd::solicited_node;
use wire::{EtherType, Ethernet, Header, Icmp6Type, MacAddr, l4};

use crate::mutated::{Rig, send_all};

/// Number of frames.
const FRAMES: u64 = 1_000_000;

const HOST: &str = "02:aa:00:00:00:01";
const ROUTER: &str = "02:fe:00:00:00:01";
const LINK: [u8; 8] = [1, 1, 2, 0xaa, 0, 0, 0, 1];
const TARGET_LINK: [u8; 8] = [2, 1, 2, 0xaa, 0, 0, 0, 1];

const CONFIGURATION: &[&str] = &[
    "set interface ip address pg0 2001:db8:1::1/64",
    // This one is ours; the next ones are asked for, and others will want them.
    "set ip6 dad enable",
    "set interface ip address pg0 2001:db8:1::3/64",
    "set interface ip address pg1 2001:db8:2::1/64",
    "ip6 nd pg0 no ra-suppress",
    "ip6 nd pg0 prefix 2001:db8:1::/64",
    "ip6 nd pg0 ra-interval 4 3",
    "ip6 nd pg0 ra-send-unicast",
    "ip6 nd address autoconfig pg0 default-route",
    "set ip6 nd proxy pg1 2001:db8:1::77",
    "set interface ip6-nd proxy pg0 enable",
    "set ip neighbor-config ip6 age 1",
];

fn octets(addr: &str) -> Vec<u8> {
    addr.parse::<std::net::Ipv6Addr>().expect("an address").octets().to_vec()
}

/// A message to a group, or to the router.
fn message(src: &str, dst: &str, kind: Icmp6Type, rest: u32, behind: &[&[u8]]) -> Vec<u8> {
    let to: std::net::Ipv6Addr = dst.parse().expect("an address");
    let station =
        if to.is_multicast() { MacAddr::ip6_multicast(to) } else { ROUTER.parse().expect("one") };
    let hops = if kind == Icmp6Type::MLD_QUERY { 1 } else { 255 };
    pkt::ether(HOST, station)
        .ip6(src, dst)
        .ttl(hops)
        .icmp6(kind, 0, rest)
        .payload(behind.concat())
        .build()
}

/// Good messages, of every kind.
fn bases() -> Vec<Vec<u8>> {
    let (ns, na) = (Icmp6Type::NEIGHBOR_SOLICITATION, Icmp6Type::NEIGHBOR_ADVERTISEMENT);
    let (us, him, local) = ("2001:db8:1::1", "2001:db8:1::2", "fe80::aa:ff:fe00:1");
    let group = |ip: &str| solicited_node(ip.parse().expect("an address")).to_string();
    let ask = |src: &str, target: &str, options: &[u8]| {
        message(src, &group(target), ns, 0, &[&octets(target), options])
    };
    let prefix = |net: &str, valid: u32| {
        let mut option = vec![3, 4, 64, 0xc0];
        option.extend([valid, 100, 0].iter().flat_map(|n| n.to_be_bytes()));
        [option, octets(net)].concat()
    };
    let (mtu, dns) =
        ([5, 1, 0, 0, 0, 0, 5, 0xdc], [&[25, 3, 0, 0, 0, 0, 0, 60][..], &octets(us)].concat());
    let advertise = |lifetime: u32, net: &str| {
        let behind = [&[0; 8][..], &LINK, &mtu, &prefix(net, 7300), &dns].concat();
        message(local, "ff02::1", Icmp6Type::ROUTER_ADVERTISEMENT, 64 << 24 | lifetime, &[&behind])
    };
    vec![
        ask(him, us, &LINK),
        ask(local, us, &LINK),
        ask(local, "fe80::fe:ff:fe00:1", &LINK),
        ask("::", "2001:db8:1::3", &[]),
        ask("::", "2001:db8:1::3", &[14, 1, 1, 2, 3, 4, 5, 6]),
        ask(him, "2001:db8:1::77", &LINK),
        ask(him, "2001:db8:2::9", &LINK),
        message(him, us, ns, 0, &[&octets(us)]),
        message(him, us, na, 0x6000_0000, &[&octets(him), &TARGET_LINK]),
        message(him, "ff02::1", na, 0x2000_0000, &[&octets(him), &TARGET_LINK]),
        message(local, "ff02::2", Icmp6Type::ROUTER_SOLICITATION, 0, &[&LINK]),
        advertise(1800, "2001:db8:42::"),
        advertise(0, "2001:db8:43::"),
        message(local, us, Icmp6Type::REDIRECT, 0, &[&octets(local), &octets(him), &TARGET_LINK]),
        message(local, "ff02::1", Icmp6Type::MLD_QUERY, 1000 << 16, &[&[0; 20]]),
        pkt::ether(HOST, ROUTER).ip6(him, us).icmp6_echo(1, 2).payload_len(56).build(),
        pkt::ether(HOST, ROUTER).ip6(him, "2001:db8:2::9").udp(1, 2).payload_len(40).build(),
        pkt::ether(HOST, ROUTER)
            .ip6("2001:db8:2::9", "2001:db8:1::9")
            .udp(1, 2)
            .payload_len(40)
            .build(),
    ]
}

/// Most faults end at the checksum: half of the frames get a right one.
fn mend(frame: &mut [u8]) {
    let is_ip6 =
        Ethernet::view(frame).is_some_and(|ether| ether.ethertype.get() == EtherType::IP6.0);
    if is_ip6 && frame.len().is_multiple_of(2) {
        // A frame that has no checksum needs none.
        let _ = l4::finish(&mut frame[14..]);
    }
}

#[test]
fn a_million_mutated_messages() {
    let mut rig = Rig::new(CONFIGURATION);
    let end = send_all(&mut rig, &bases(), FRAMES, mend);
    let all =
        rig.reasons().into_iter().filter(|(reason, n)| *n > 0 && reason.starts_with("icmp6-"));
    let seen = all.map(|(reason, n)| println!("{n:>8}  {reason}")).count();
    assert!(end.noted > FRAMES / 100 && end.sent > FRAMES / 100, "{end:#?}");
    assert!(seen > 25, "{seen} reasons");
}

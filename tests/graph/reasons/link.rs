// SPDX-License-Identifier: Apache-2.0
//! Frames of the link: Ethernet, ARP, neighbour discovery.

use super::*;
use net::Adjacencies;
use wire::nd::solicited_node;
use wire::{Icmp6Type, MacAddr};

/// Patched frames.
pub fn patches(w: &mut Walk) {
    w.run("test l2patch rx pg2 tx pg0");
    let rx = w.bench.world.get::<Interfaces>().find("pg2").expect("there");
    let frame = FAMILIES[0].udp(FAR).build();
    w.moves("l2-patch/L2 patch packets", |w| w.bench.arrive(rx, &frame));
}

/// 802.3 frames, and frames of CDP.
pub fn llc(w: &mut Walk) {
    let frame = |length: u8, rest: &[u8]| {
        let mut frame = vec![1, 0, 0xc, 0xcc, 0xcc, 0xcc, 2, 0xaa, 0, 0, 0, 1, 0, length];
        frame.extend(rest);
        frame.resize(60, 0);
        frame
    };
    w.frame("llc-input/too_short", frame(2, &[]));
    w.frame("llc-input/unknown llc ssap/dsap", frame(46, &[0x42, 0x42, 3]));
    w.frame("llc-input/control != 0x3", frame(46, &[0xaa, 0xaa, 0x13]));
    w.frame("snap-input/too_short", frame(3, &[0xaa, 0xaa, 3]));
    w.frame(
        "snap-input/unknown oui/snap protocol",
        frame(46, &[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 1]),
    );
    let cdp = |packet: &[u8]| {
        let snap = [&[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0][..], packet].concat();
        frame(snap.len() as u8, &snap)
    };
    w.frame("cdp-input/cdp packets received on disabled interfaces", cdp(&[]));
    w.run("cdp enable");
    w.frame("cdp-input/cdp packets with bad protocol versions", cdp(&[3, 9, 0, 0]));
    w.frame("cdp-input/cdp packets with bad checksums", cdp(&[2, 9, 0, 0]));
    // The checksum of the first word, and of an element without a type.
    w.frame("cdp-input/cdp packets with bad TLVs", cdp(&[2, 9, 0xfd, 0xf6, 0, 0, 0, 0]));
    w.frame("cdp-input/good cdp packets (processed)", cdp(&[2, 9, 0xfd, 0xf6]));
    w.frame("cdp-input/good cdp packets (cache hit)", cdp(&[2, 9, 0xfd, 0xf6]));
}

/// Frames that `ethernet-input` drops, and frames of LLDP.
pub fn ethernet(w: &mut Walk) {
    let frame = |kind: u16| with(FAMILIES[0].udp(FAR).build(), 12, &kind.to_be_bytes());
    w.frame("ethernet-input/too_short", frame(0x800)[..13].to_vec());
    w.frame("ethernet-input/l3 mac mismatch", with(frame(0x800), 0, &[2, 0, 0, 0, 0, 7]));
    w.frame("ethernet-input/unknown vlan", frame(0x8100));
    // Of local experiments (IEEE 802, 9.2.3).
    w.frame("ethernet-input/unknown ethernet type", frame(0x88b5));
    w.frame("lldp-input/lldp packets received on disabled interfaces", frame(0x88cc));
    w.run("set interface lldp pg0");
    w.frame("lldp-input/lldp packets with bad TLVs", frame(0x88cc));
    let unit = [2, 2, 7, b'a', 4, 2, 7, b'b', 6, 2, 0, 9, 0, 0];
    w.frame("lldp-input/good lldp packets (processed)", with(frame(0x88cc), 14, &unit));
    w.run("set interface state pg0 down");
    w.frame("ethernet-input/subinterface down", frame(0x800));
}

/// Where an ARP packet begins in its frame, and its fields.
const ARP: usize = 14;
const HARDWARE: usize = ARP;
const PROTOCOL: usize = ARP + 2;
const LENGTHS: usize = ARP + 4;
const OPERATION: usize = ARP + 6;
const SENDER_MAC: usize = ARP + 8;

/// `arp-input` and the arc behind it.
pub fn arp(w: &mut Walk) {
    let ask =
        |from: &str, ip: &str, target: &str| pkt::arp_request(from, ip, target).pad_to(60).build();
    let good = ask(HOST, "10.0.1.2", "10.0.1.1");
    w.frame("arp-input/too_short", good[..30].to_vec());
    w.frame("arp-input/l2_type_not_ethernet", with(good.clone(), HARDWARE, &[0, 6]));
    w.frame("arp-input/l3_type_not_ip4", with(good.clone(), PROTOCOL, &[0x86, 0xdd]));
    w.frame("arp-input/address_length", with(good.clone(), LENGTHS, &[8, 4]));
    w.at("arp-disabled/disabled", "ethernet-input", "pg2", std::slice::from_ref(&good), |_| {});
    w.frame("arp-reply/replies_sent", good.clone());
    w.frame("arp-reply/l3_src_address_learned", ask("02:aa:00:00:00:07", "10.0.1.7", "10.0.1.7"));
    w.frame("arp-reply/opcode_not_request", with(good.clone(), OPERATION, &[0, 9]));
    w.frame("arp-reply/sender_mac", ask("03:aa:00:00:00:01", "10.0.1.2", "10.0.1.1"));
    w.frame(
        "arp-reply/l2_address_mismatch",
        with(good.clone(), SENDER_MAC, &[2, 0xaa, 0, 0, 0, 2]),
    );
    w.frame("arp-reply/own_frame", ask(ROUTER, "10.0.1.2", "10.0.1.1"));
    w.frame("arp-reply/l3_src_address_is_local", ask(HOST, "10.0.1.1", "10.0.1.1"));
    w.frame("arp-reply/sender_address", ask(HOST, "224.0.0.1", "10.0.1.1"));
    w.frame("arp-reply/l3_src_address_not_local", ask(HOST, "192.168.5.5", "10.0.1.1"));
    w.frame("arp-reply/l3_dst_address_not_local", ask(HOST, "10.0.1.2", "10.0.1.77"));
    for line in ["set arp proxy start 10.9.0.1 end 10.9.0.9", "set interface proxy-arp pg0"] {
        w.run(line);
    }
    w.frame("arp-proxy/replies_sent", ask(HOST, "10.0.1.2", "10.9.0.1"));
    w.frame("arp-proxy/l3_dst_address_not_local", ask(HOST, "10.0.1.2", "10.9.0.10"));
    for node in ["arp-reply", "arp-proxy"] {
        w.inject(&format!("{node}/too_short"), &good[ARP..30]);
    }
    // A packet without an Ethernet header in front can't be answered.
    w.inject("arp-reply/no_header", &good[ARP..42]);
    w.inject("arp-proxy/no_header", &ask(HOST, "10.0.1.2", "10.9.0.1")[ARP..42]);
    resolution(w);
}

/// Packets to neighbours, which wait until the neighbours answer.
fn resolution(w: &mut Walk) {
    for f in FAMILIES {
        for line in [
            "ip route add 10.30.0.0/16 via 2001:db8:2::98 pg1",
            "ip route add {10.31.0.0/16|3031::/16} via {10.31.0.1|3031::1} pg2",
        ] {
            w.run(&f.text(line));
        }
        let (known, glean) = (f.text("{ip4-arp|ip6-discover-neighbor}"), f.text("{ip}-glean"));
        let to = |to: &str| f.udp(to).build();
        let pg1 = w.bench.world.get::<Interfaces>().find("pg1").expect("there");
        let silent = f.text("{10.0.2.99|2001:db8:2::99}").parse().expect("an address");
        let silent =
            w.bench.world.get::<Adjacencies>().find_neighbor(pg1, silent).expect("a route has it");
        // An adjacency that has gone, a short packet, an adjacency without an interface.
        let gone = f.text("{non_arp_adj|no_adjacency}");
        for node in [&known, &glean] {
            w.inject_to(&format!("{node}/{gone}"), &to(FAR)[14..], GONE);
        }
        w.inject_to(&format!("{glean}/too_short"), &[0x45; 8], silent);
        w.frame(&format!("{glean}/request_sent"), to("{10.0.2.77|2001:db8:2::77}"));
        w.frame(&format!("{known}/request_sent"), to("{10.4.0.9|3001::9}"));
        // 32 packets may wait for a neighbour, and one does.
        w.frames(&format!("{known}/overflow"), &vec![to("{10.4.0.9|3001::9}"); 32]);
        w.inject(&format!("{glean}/interface_down"), &to(FAR)[14..]);
        w.frame(&format!("{known}/no_source_address"), to("{10.31.0.9|3031::9}"));
        let give_up = |w: &mut Walk| (0..12).for_each(|_| w.wait(1_000_000_000));
        w.moves(&format!("{known}/no_answer"), give_up);
        if f.v6 {
            w.moves("ip6-discover-neighbor/no_answer4", |w| {
                let pg0 = w.bench.world.get::<Interfaces>().find("pg0").expect("there");
                let frame = FAMILIES[0].udp("10.30.0.9").build();
                w.bench.send("ethernet-input", &frame, |b| b.rx_if = pg0.0);
                give_up(w);
            });
        }
    }
}

fn octets(addr: &str) -> Vec<u8> {
    addr.parse::<std::net::Ipv6Addr>().expect("an address").octets().to_vec()
}

/// A message to a group, or to the router.
fn message(
    src: &str,
    dst: &str,
    kind: Icmp6Type,
    (code, rest): (u8, u32),
    behind: &[&[u8]],
) -> Vec<u8> {
    let to: std::net::Ipv6Addr = dst.parse().expect("an address");
    let station =
        if to.is_multicast() { MacAddr::ip6_multicast(to) } else { ROUTER.parse().expect("one") };
    let hops = if kind == Icmp6Type::MLD_QUERY { 1 } else { 255 };
    pkt::ether(HOST, station)
        .ip6(src, dst)
        .ttl(hops)
        .icmp6(kind, code, rest)
        .payload(behind.concat())
        .build()
}

/// Where a frame has its hop limit. No checksum covers it.
const HOPS: usize = 14 + 7;

/// Messages of neighbour discovery.
pub fn discovery(w: &mut Walk) {
    let (ns, na) = (Icmp6Type::NEIGHBOR_SOLICITATION, Icmp6Type::NEIGHBOR_ADVERTISEMENT);
    let (rs, ra) = (Icmp6Type::ROUTER_SOLICITATION, Icmp6Type::ROUTER_ADVERTISEMENT);
    let (us, him, local) = ("2001:db8:1::1", "2001:db8:1::2", "fe80::aa:ff:fe00:1");
    let own_local = "fe80::fe:ff:fe00:1";
    let group = &*solicited_node(us.parse().expect("an address")).to_string();
    let (target, none) = (octets(us), (0, 0));
    let link =
        |kind: u8, mac: &str| [&[kind, 1][..], &mac.parse::<MacAddr>().expect("one").0].concat();
    let (source, own) = (link(1, HOST), link(1, ROUTER));
    let at = |node: &str, reason: &str| format!("icmp6-{node}/{reason}");
    // Checks that all four messages share.
    for (node, kind, dst, body) in [
        ("neighbor-solicitation", ns, us, target.clone()),
        ("neighbor-advertisement", na, us, octets(him)),
        ("router-solicitation", rs, "ff02::2", vec![]),
        ("router-advertisement", ra, "ff02::1", vec![0; 8]),
    ] {
        let good = |behind: &[u8]| message(local, dst, kind, none, &[&body, behind]);
        w.frame(&at(node, "invalid_hop_limit_for_type"), with(good(&[]), HOPS, &[254]));
        w.frame(&at(node, "invalid_code_for_type"), message(local, dst, kind, (1, 0), &[&body]));
        w.frame(&at(node, "options"), good(&[1, 0, 0, 0, 0, 0, 0, 0]));
        w.frame(&at(node, "fragmented"), fragmented(good(&[])));
        w.frame(&at(node, "too_long"), good(&[0; 3000]));
        w.inject(&at(node, "no_header"), &good(&[])[14..]);
    }
    let ask = |src: &str, dst: &str, behind: &[&[u8]]| message(src, dst, ns, none, behind);
    let n = "neighbor-solicitation";
    w.frame(&at(n, "target_multicast"), ask(him, us, &[&octets("ff02::1")]));
    w.frame(&at(n, "probe_destination"), ask("::", "ff02::1", &[&target]));
    w.frame(&at(n, "probe_link_address"), ask("::", group, &[&target, &source]));
    w.frame(&at(n, "link_address"), ask(him, us, &[&target, &link(1, "03:aa:00:00:00:01")]));
    w.frame(&at(n, "own_frame"), ask(him, us, &[&target, &own]));
    w.frame(
        &at(n, "neighbor_solicitation_source_unknown"),
        ask(him, us, &[&octets("2001:db8:1::77"), &source]),
    );
    w.frame(
        &at(n, "neighbor_solicitation_source_not_on_link"),
        ask("3000::9", group, &[&target, &source]),
    );
    w.frame(&at(n, "duplicate_address"), ask(own_local, group, &[&target, &source]));
    let tell = |src: &str, dst: &str, flags: u32, behind: &[&[u8]]| {
        message(src, dst, na, (0, flags), behind)
    };
    let (n, solicited, theirs) = ("neighbor-advertisement", 0x4000_0000, link(2, HOST));
    w.frame(&at(n, "target_multicast"), tell(him, us, solicited, &[&octets("ff02::1"), &theirs]));
    w.frame(&at(n, "source_address"), tell("::", "ff02::1", 0, &[&octets(him), &theirs]));
    w.frame(
        &at(n, "solicited_multicast"),
        tell(him, "ff02::1", solicited, &[&octets(him), &theirs]),
    );
    w.frame(
        &at(n, "link_address"),
        tell(him, us, 0, &[&octets(him), &link(2, "03:aa:00:00:00:01")]),
    );
    w.frame(&at(n, "own_frame"), tell(him, us, 0, &[&octets(him), &link(2, ROUTER)]));
    w.frame(&at(n, "duplicate_address"), tell(him, "ff02::1", 0, &[&target, &theirs]));
    w.frame(&at(n, "anycast"), tell(him, "ff02::1", 0, &[&octets("2001:db8:1::"), &theirs]));
    w.frame(
        &at(n, "target_not_local"),
        tell(him, "ff02::1", 0, &[&octets("2001:db8:7::9"), &theirs]),
    );
    let n = "router-solicitation";
    let solicit = |src: &str, behind: &[&[u8]]| message(src, "ff02::2", rs, none, behind);
    w.frame(&at(n, "router_solicitation_radv_not_config"), solicit(local, &[&source]));
    w.run("ip6 nd pg0 no ra-suppress");
    w.frame(&at(n, "probe_link_address"), solicit("::", &[&source]));
    w.frame(&at(n, "link_address"), solicit(local, &[&link(1, "03:aa:00:00:00:01")]));
    w.frame(&at(n, "own_frame"), solicit(local, &[&own]));
    w.frame(&at(n, "router_solicitation_source_not_on_link"), solicit("2001:db8:7::9", &[&source]));
    let n = "router-advertisement";
    let advertise =
        |src: &str, behind: &[u8]| message(src, "ff02::1", ra, none, &[&[0; 8], behind]);
    w.frame(&at(n, "router_advertisement_source_not_link_local"), advertise(him, &source));
    w.frame(&at(n, "link_address"), advertise(local, &link(1, "03:aa:00:00:00:01")));
    w.frame(&at(n, "own_frame"), advertise(local, &own));
    w.frame(&at(n, "duplicate_address"), advertise(own_local, &source));
    let n = "multicast-listener-query";
    let query =
        |src: &str, behind: &[u8]| message(src, "ff02::1", Icmp6Type::MLD_QUERY, none, &[behind]);
    w.frame(&at(n, "length_too_small_for_type"), query(local, &[0; 18]));
    w.frame(&at(n, "source"), query(him, &[0; 20]));
    w.frame(&at(n, "invalid_hop_limit_for_type"), with(query(local, &[0; 20]), HOPS, &[2]));
    duplicates(w);
    redirects(w);
}

/// Addresses that aren't ours yet.
fn duplicates(w: &mut Walk) {
    for line in ["set ip6 dad enable", "set interface ip address pg0 2001:db8:1::3/64"] {
        w.run(line);
    }
    let (ns, target) = (Icmp6Type::NEIGHBOR_SOLICITATION, octets("2001:db8:1::3"));
    let ask = |src: &str| message(src, "ff02::1:ff00:3", ns, (0, 0), &[&target]);
    let n = "icmp6-neighbor-solicitation";
    w.frame(&format!("{n}/tentative"), ask("2001:db8:1::2"));
    w.frame(&format!("{n}/duplicate_target"), ask("::"));
    w.run("set interface ip address pg0 2001:db8:1::4/64");
    let tell = message(
        "2001:db8:1::2",
        "ff02::1",
        Icmp6Type::NEIGHBOR_ADVERTISEMENT,
        (0, 0),
        &[&octets("2001:db8:1::4"), &[2, 1, 2, 0xaa, 0, 0, 0, 1]],
    );
    w.frame("icmp6-neighbor-advertisement/duplicate_target", tell);
}

/// Packets that leave by the link that they came from.
fn redirects(w: &mut Walk) {
    for line in [
        "ip route add 3024::/16 via fe80::2 pg0",
        "ip route add 3025::/16 via 2001:db8:1::2 pg0",
        "set ip6 icmp redirect pg0 enable",
    ] {
        w.run(line);
    }
    let to = |to: &str| FAMILIES[1].udp(to).build();
    w.inject("ip6-nd-redirect/too_short", &[0x60; 20]);
    w.inject_to("ip6-nd-redirect/no_adjacency", &to("3024::1")[14..], GONE);
    // A host gets a redirect once a second.
    w.frame("ip6-nd-redirect/sent", to("3024::1"));
    w.wait(2_000_000_000);
    w.frame("ip6-nd-redirect/no_target", to("3025::1"));
    w.run("set ip6 icmp redirect pg0 disable");
}

/// The same message under a fragment header that marks it as whole.
fn fragmented(whole: Vec<u8>) -> Vec<u8> {
    let mut frame = whole;
    frame[14 + 6] = 44;
    let len = u16::from_be_bytes([frame[18], frame[19]]) + 8;
    frame[18..20].copy_from_slice(&len.to_be_bytes());
    frame.splice(54..54, [58, 0, 0, 0, 0, 0, 0, 9]);
    frame
}

// SPDX-License-Identifier: Apache-2.0
//! Packets of IPv4 and IPv6, forwarded and for the router.

use super::*;
use buffer::Flags;
use net::Adjacencies;
use wire::{Icmp6Type, IpProtocol};

const DEST: IpProtocol = IpProtocol::DEST_OPTIONS;
/// Where a frame has its IP header.
const IP: usize = 14;

/// Reasons of the header checks.
fn headers(w: &mut Walk) {
    let [four, six] = FAMILIES;
    let plain = four.udp(FAR).build();
    // Frames whose header's checksum the device has verified go to a node of their own.
    for (node, flags) in
        [("ip4-input", Flags::default()), ("ip4-input-no-checksum", Flags::IP4_CSUM_OK)]
    {
        let mut case = |reason: &str, frame: Vec<u8>| {
            w.at(&format!("{node}/{reason}"), "ethernet-input", "pg0", &[frame], |b| {
                b.flags.insert(flags)
            });
        };
        let from = |source: &str| four.packet(source, FAR).udp(1, 2).build();
        case(
            "options",
            four.packet(HIM, FAR)
                .options([7, 7, 4, 0, 0, 0, 0, 0])
                .udp(1, 2)
                .payload_len(40)
                .build(),
        );
        case("too_short", plain[..IP + 19].to_vec());
        case("version", four.packet(HIM, FAR).version(5).udp(1, 2).payload_len(40).build());
        case("hdr_too_short", with(plain.clone(), IP, &[0x44]));
        case("bad_length", four.packet(HIM, FAR).length(9000).udp(1, 2).payload_len(40).build());
        case(
            "fragment_offset_one",
            four.packet(HIM, FAR).fragment(8, true).udp(1, 2).payload_len(40).build(),
        );
        case("source_this_network", from("0.1.2.3"));
        case("source_loopback", from("127.0.0.1"));
        case("source_multicast", from("224.0.0.9"));
        case("source_reserved", from("240.0.0.1"));
    }
    w.frame("ip4-input/bad_checksum", with(plain.clone(), IP + 10, &[1, 2]));
    let plain = six.udp(FAR).build();
    let from = |source: &str, to: &str| six.packet(source, to).udp(1, 2).build();
    w.frame(
        "ip6-input/hop_by_hop",
        six.packet(HIM, FAR).ext(IpProtocol::HOP_BY_HOP, [0, 1, 2, 0, 0, 1, 0]).udp(1, 2).build(),
    );
    w.frame("ip6-input/too_short", plain[..IP + 39].to_vec());
    w.frame("ip6-input/version", six.packet(HIM, FAR).version(5).udp(1, 2).payload_len(40).build());
    w.frame(
        "ip6-input/bad_length",
        six.packet(HIM, FAR).length(9000).udp(1, 2).payload_len(40).build(),
    );
    w.frame("ip6-input/source_multicast", from("ff0e::1", FAR));
    w.frame("ip6-input/source_loopback", from("::1", FAR));
    w.frame("ip6-input/source_unspecified", from("::", FAR));
    w.frame("ip6-input/group_scope", with(from(HIM, "ff10::1"), 0, &[0x33, 0x33, 0, 0, 0, 1]));
}

/// Options of IPv4, hop-by-hop options of IPv6.
fn options(w: &mut Walk) {
    let [four, six] = FAMILIES;
    let optioned =
        |bytes: &[u8]| four.packet(HIM, FAR).options(bytes).udp(1, 2).payload_len(40).build();
    let alert = four
        .packet(HIM, "224.0.0.22")
        .options([148, 4, 0, 0])
        .protocol(IpProtocol(2))
        .payload_len(8);
    w.frame("ip4-options/router_alert", with(alert.build(), 0, &[1, 0, 0x5e, 0, 0, 22]));
    w.frame("ip4-options/malformed", optioned(&[7, 60, 4, 0]));
    w.frame("ip4-options/source_route", optioned(&[131, 7, 4, 10, 0, 2, 2, 0]));
    w.inject("ip4-options/too_short", &[0x46; 10]);
    let header = |to: &str, bytes: &[u8]| six.packet(HIM, to).ext(IpProtocol::HOP_BY_HOP, bytes);
    let kind = |kind: u8| header(FAR, &[0, kind, 2, 0, 0, 1, 0]).udp(1, 2).build();
    let report =
        header("ff02::16", &[0, 5, 2, 0, 0, 1, 0]).icmp6(Icmp6Type(143), 0, 0).payload_len(20);
    w.frame("ip6-hop-by-hop/router_alert", with(report.build(), 0, &[0x33, 0x33, 0, 0, 0, 22]));
    w.frame("ip6-hop-by-hop/problem", kind(0x9e));
    w.frame("ip6-hop-by-hop/discard", kind(0x5e));
    let many = [&[4][..], &[0x1e, 0].repeat(19)].concat();
    w.frame("ip6-hop-by-hop/too_many", header(FAR, &many).udp(1, 2).build());
    w.inject("ip6-hop-by-hop/too_short", &[0x60; 20]);
}

/// Routes that lead nowhere, and packets that can't go on.
fn forwarding(w: &mut Walk) {
    for f in FAMILIES {
        let (name, ip) = (|counter: &str| f.text(counter), f.text("{ip}"));
        let to = |to: &str| f.udp(to).build();
        for line in [
            "{ip|ip6} table add 7",
            "ip route add {10.20.0.0/16|3020::/16} via {ip}-lookup-in-table 7",
            "ip route add table 7 {10.20.0.0/16|3020::/16} via {ip}-lookup-in-table 0",
            "ip route add {10.21.0.0/16|3021::/16} via unreach",
            "ip route add {10.22.0.0/16|3022::/16} via prohibit",
            "ip route add {10.23.0.0/16|3023::/16} via drop",
            "ip route add {10.24.0.0/16|3024::/16} via {10.0.1.2|2001:db8:1::2} pg0",
        ] {
            w.run(&f.text(line));
        }
        let lookup = |reason: &str| format!("{ip}-lookup/{reason}");
        w.frame(&lookup("dst_lookup_miss"), to("{192.0.2.1|4000::1}"));
        w.frame(&lookup("unreachable"), to("{10.21.0.1|3021::1}"));
        w.frame(&lookup("prohibited"), to("{10.22.0.1|3022::1}"));
        w.frame(&lookup("drop"), to("{10.23.0.1|3023::1}"));
        w.frame(&lookup("dst_martian"), to("{127.0.0.1|::1}"));
        w.frame(&lookup("loop"), to("{10.20.0.1|3020::1}"));
        let packet = to(FAR)[IP..].to_vec();
        let node = name("{ip}-lookup");
        w.at(&lookup("no_table"), &node, "pg0", std::slice::from_ref(&packet), |b| {
            b.flags.insert(Flags::TABLE);
            b.tx_if = 77;
        });
        let rewrite = |reason: &str| name(&format!("{{ip}}-rewrite/{reason}"));
        w.frame(
            &rewrite("time_expired"),
            f.packet(HIM, FAR).ttl(1).udp(1, 2).payload_len(40).build(),
        );
        let large = if f.v6 { f.packet(HIM, FAR) } else { f.packet(HIM, FAR).df() };
        w.frame(&rewrite("mtu_exceeded"), large.udp(1, 2).payload_len(1460).build());
        w.run(&f.text("set {ip|ip6} icmp redirect pg0 enable"));
        w.frame(&rewrite("same_interface"), to("{10.24.0.1|3024::1}"));
        w.run(&f.text("set {ip|ip6} icmp redirect pg0 disable"));
        if f.v6 {
            w.frame(&rewrite("source_scope"), f.packet("fe80::2", FAR).udp(1, 2).build());
        }
        w.frame(&rewrite("link_broadcast"), with(to(FAR), 0, &[0xff; 6]));
        let pg1 = w.bench.world.get::<Interfaces>().find("pg1").expect("there");
        let neighbor = f.text("{10.0.2.2|2001:db8:2::2}").parse().expect("an address");
        let neighbor =
            w.bench.world.get::<Adjacencies>().find_neighbor(pg1, neighbor).expect("it is known");
        w.inject_to(&rewrite("no_adjacency"), &packet, GONE);
        w.inject_to(&rewrite("too_short"), &packet[..12], neighbor);
        w.inject_to(&name("{ip}-frag/no_adjacency"), &packet, GONE);
        w.inject_to(&name("{ip}-frag/malformed"), &packet[..12], neighbor);
        w.inject_to(&name("interface-rx-dpo-{ip}/no_adjacency"), &packet, GONE);
        let large = f.packet(HIM, FAR).udp(1, 2).payload_len(1400).build();
        w.inject_to(&name("{ip}-frag/fragment_sent"), &large[IP..], neighbor);
        w.at(
            &format!("{ip}-not-enabled/not_enabled"),
            "ethernet-input",
            "pg2",
            &[with(to(FAR), 0, &[0xff; 6])],
            |_| {},
        );
    }
    w.at(
        "ip6-link-local/Interface is not mapped to an IP6-LL table",
        "ip6-link-local",
        "local0",
        &[FAMILIES[1].udp("fe80::9").build()[IP..].to_vec()],
        |_| {},
    );
}

/// Packets for the router.
fn delivery(w: &mut Walk) {
    for f in FAMILIES {
        let ip = f.text("{ip}");
        let to_us = |protocol: u8| f.packet(HIM, US).protocol(IpProtocol(protocol)).payload_len(24);
        for (node, direct) in
            [(format!("{ip}-local"), false), (format!("{ip}-local-end-of-arc"), true)]
        {
            let mut case = |reason: &str, frame: Vec<u8>| {
                // VPP counts those of IPv6 at `ip6-input`: monitoring looks for them there.
                let elsewhere =
                    !direct && (reason.starts_with("udp_") || reason.ends_with("_protocol"));
                let elsewhere =
                    elsewhere || ["spoofed_local_packets", "src_lookup_miss"].contains(&reason);
                let at = if elsewhere { f.text("{ip4-local|ip6-input}") } else { node.clone() };
                let counter = format!("{at}/{reason}");
                if direct { w.inject(&counter, &frame[IP..]) } else { w.frame(&counter, frame) }
            };
            case("unknown_protocol", to_us(253).build());
            if f.v6 {
                let header = |bytes: &[u8]| f.packet(HIM, US).ext(DEST, bytes);
                case("header_problem", header(&[0, 0x9e, 2, 0, 0, 1, 0]).icmp6_echo(1, 2).build());
                case("discard", header(&[0, 0x5e, 2, 0, 0, 1, 0]).icmp6_echo(1, 2).build());
                case(
                    "too_many_headers",
                    header(&[&[4][..], &[0x1e, 0].repeat(19)].concat()).icmp6_echo(1, 2).build(),
                );
                case("no_next_header", to_us(59).build());
            }
            if direct {
                continue;
            }
            case("tcp_checksum", f.packet(HIM, US).tcp(1, 2).bad_checksum().build());
            case("udp_checksum", f.packet(HIM, US).udp(1, 2).bad_checksum().payload_len(9).build());
            let at = IP + if f.v6 { 40 } else { 20 };
            case(
                "udp_length",
                with(f.packet(HIM, US).udp(1, 2).payload_len(9).build(), at + 4, &[0, 90]),
            );
            case(
                "spoofed_local_packets",
                f.packet("{10.0.2.1|2001:db8:2::1}", US).udp(1, 2).build(),
            );
            case("src_lookup_miss", f.packet("{99.0.0.1|4000::1}", US).udp(1, 2).build());
        }
        w.frame(&format!("{ip}-udp-lookup/no_listener"), f.udp(US).build());
        w.inject(&format!("{ip}-udp-lookup/too_short"), &[0; 4]);
        w.inject(&format!("{ip}-local/too_short"), &[0x45; 8]);
        w.inject(&format!("{ip}-local-end-of-arc/too_short"), &[0x45; 8]);
        w.run(&f.text("set ip local-reassembly {ip} disable"));
        let fragment = if f.v6 {
            f.packet(HIM, US).fragment6(7, 0, true).udp(1, 2).payload_len(56).build()
        } else {
            f.packet(HIM, US).fragment(0, true).udp(1, 2).payload_len(40).build()
        };
        w.frame(&format!("{ip}-local/fragment"), fragment);
    }
}

/// Reasons of `ip` for packets to one host.
pub fn packets(w: &mut Walk) {
    headers(w);
    options(w);
    forwarding(w);
    delivery(w);
}

/// Packets to groups.
pub fn groups(w: &mut Walk) {
    for f in FAMILIES {
        let ip = f.text("{ip}");
        let group = |to: &str| {
            let mac: [u8; 6] = if f.v6 { [0x33, 0x33, 0, 0, 0, 1] } else { [1, 0, 0x5e, 1, 1, 1] };
            (f.packet(HIM, to), mac)
        };
        let build = |(packet, mac): (Packet, [u8; 6]), len| {
            with(packet.udp(1, 2).payload_len(len).build(), 0, &mac)
        };
        for line in [
            "ip mroute add {239.1.1.1|ff0e::1} via pg0 Accept",
            "ip mroute add {239.1.1.1|ff0e::1} via pg1 Forward",
            "ip mroute add {239.1.1.1|ff0e::1} via pg2 Forward",
            "ip mroute add {239.1.1.2|ff0e::2} via pg0 Accept",
            "ip mroute add {224.0.0.77|ff02::77} via pg0 Accept",
            "ip mroute add {224.0.0.77|ff02::77} via pg1 Forward",
        ] {
            w.run(&f.text(line));
        }
        let forwarded = group("{239.1.1.1|ff0e::1}");
        w.frame(&format!("{ip}-replicate/copied"), build(forwarded.clone(), 40));
        w.at(
            &format!("{ip}-input/rpf_failure"),
            "ethernet-input",
            "pg1",
            &[build(forwarded.clone(), 40)],
            |_| {},
        );
        w.frame(&format!("{ip}-replicate/no_output"), build(group("{239.1.1.2|ff0e::2}"), 40));
        w.frame(&format!("{ip}-replicate/confined"), build(group("{224.0.0.77|ff02::77}"), 40));
        let (packet, mac) = forwarded.clone();
        w.frame(
            &format!("{ip}-rewrite-mcast/time_expired"),
            build((packet.clone().ttl(1), mac), 40),
        );
        if f.v6 {
            w.frame("ip6-rewrite-mcast/mtu_exceeded", build(forwarded, 1460));
        } else {
            w.frame("ip4-rewrite-mcast/too_big", build((packet.df(), mac), 1460));
        }
        w.inject(&format!("{ip}-mfib-forward-lookup/too_short"), &[0x45; 8]);
        w.inject_to(&format!("{ip}-rewrite-mcast/no_adjacency"), &[0x45; 8], GONE);
    }
}

/// Features on the path: reverse path checks, punted packets.
pub fn features(w: &mut Walk) {
    for f in FAMILIES {
        let ip = f.text("{ip}");
        for mode in ["strict", "loose"] {
            for way in ["rx", "tx"] {
                let interface = if way == "rx" { "pg0" } else { "pg1" };
                let set = |what: &str| format!("set urpf {ip} {way} {what} {interface}");
                w.run(&set(mode));
                let node = format!("{ip}-{way}-urpf-{mode}");
                w.frame(
                    &format!("{node}/uRPF Drop"),
                    f.packet("{99.0.0.1|4000::1}", FAR).udp(1, 2).build(),
                );
                w.inject(&format!("{node}/too_short"), &[0x45; 8]);
                w.run(&set("off"));
            }
        }
        let udp = |port: u16| f.packet(HIM, US).udp(1, port).payload_len(20).build();
        let tcp = |port: u16| f.packet(HIM, US).tcp(1, port).build();
        for line in ["set punt {ip} udp 7", "set punt {ip} tcp 7"] {
            w.run(&f.text(line));
        }
        w.frame(&format!("{ip}-udp-punt/udp port punt"), udp(7));
        w.frame(&format!("{ip}-tcp-punt/port"), tcp(7));
        w.inject(&format!("{ip}-tcp-punt/too_short"), &tcp(7)[IP..IP + 30]);
        w.run(&f.text("{ip|ip6} punt redirect add rx pg0 via drop"));
        w.frame(&format!("{ip}-punt-redirect/{ip} punt redirect drop"), udp(7));
        w.run(&f.text("{ip|ip6} punt redirect add rx pg0 via {10.0.2.2|2001:db8:2::2} pg1"));
        w.frame(&format!("{ip}-punt-redirect/redirected"), udp(7));
        w.frame(&format!("{ip}-tcp-punt/rest"), tcp(8));
    }
}

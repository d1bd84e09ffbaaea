// SPDX-License-Identifier: Apache-2.0
use super::SixRds;
use super::api::*;
use crate::PLUGIN;
use crate::api::{IpipTunnel, IpipTunnelDump};
use graph::Plugin;
use net::api::{InterfaceIndex, Ip4Address, Ip4Prefix, Ip6Address, Ip6Prefix};
use net::drive::{Rig, peer_mac, port_mac};
use net::{Fib, Interfaces, TableIndex};
use std::net::{Ipv4Addr, Ipv6Addr};
use testkit::mutate::Mutator;
use testkit::pkt::{self, Packet};
use wire::{Header, Ip6, Ipv4Header};

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &teib::PLUGIN,
    &PLUGIN,
];

/// A host of the site at 10.0.1.2, which is behind port 1, and one of the site here.
const SITE: &str = "2a01:db8:1:200::1";
const HERE: &str = "2a01:db8:1:100::5";

/// A tunnel at 10.0.1.1, the address of port 1.
fn rig(words: &str) -> Rig {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.networks();
    rig.cli("ip route add 2a01:db8:1:100::/56 via 2001:db8::2 p0");
    let made = rig.cli(&format!(
        "create 6rd tunnel ip6-pfx 2a01:db8::/32 ip4-pfx 10.0.0.0/8 ip4-src 10.0.1.1 {words}"
    ));
    assert_eq!(made, "ip6ip-6rd0\n");
    rig
}

fn inner(packet: Packet, src: &str, dst: &str, ttl: u8, len: usize) -> Packet {
    packet.ip6(src, dst).tos(0xb9).ttl(ttl).udp(5, 6).payload_len(len)
}

/// From port 0's peer, for the tunnel.
fn plain(dst: &str, len: usize) -> Vec<u8> {
    inner(pkt::ether(peer_mac(0), port_mac(0)), HERE, dst, 64, len).build()
}

/// As it leaves port 1 in a tunnel; its identification is that of what was sent.
fn wrapped(sent: &[(usize, Vec<u8>)], dst: &str, to: &str, tos: u8, len: usize) -> Vec<u8> {
    let id = sent.first().and_then(|(_, frame)| Ipv4Header::view_at(frame, 14));
    let ether = pkt::ether(port_mac(1), peer_mac(1)).ip4("10.0.1.1", to);
    let outer = ether.ttl(63).tos(tos).id(id.map_or(0, |ip| ip.id.get()));
    inner(outer, HERE, dst, 63, len).build()
}

#[suite::test]
fn packets_go_to_the_site_of_their_destination() {
    for (words, tos) in [("", 0), ("tos 8", 8), ("copy-tos", 0xb9)] {
        let mut rig = rig(words);
        rig.cli("ip route add 10.7.0.0/16 via 10.0.1.2 p1");
        for (dst, to) in [(SITE, "10.0.1.2"), ("2a01:db8:700:901::1", "10.7.0.9")] {
            let sent = rig.pass(0, &plain(dst, 100));
            assert_eq!(sent, [(1, wrapped(&sent, dst, to, tos, 100))], "{words}");
        }
        assert_eq!(rig.count("sixrd-encap", "encapsulated"), 2);
        // Next hops inside the tunnel, recursive and on its interface.
        rig.cli(&format!("ip route add 2a05::/32 via {SITE}"));
        rig.cli("ip route add 2a06::/32 via 2a01:db8:700:901::1 ip6ip-6rd0");
        for (dst, to) in [("2a05::1", "10.0.1.2"), ("2a06::1", "10.7.0.9")] {
            let sent = rig.pass(0, &plain(dst, 100));
            assert_eq!(sent, [(1, wrapped(&sent, dst, to, tos, 100))], "{dst}");
        }
    }
}

#[suite::test]
fn received_packets_have_to_be_of_their_site() {
    let from = |outer: &str, src: &str| {
        let ether = pkt::ether(peer_mac(1), port_mac(1)).ip4(outer, "10.0.1.1");
        inner(ether, src, HERE, 64, 30).build()
    };
    let out = |src: &str| inner(pkt::ether(port_mac(0), peer_mac(0)), src, HERE, 63, 30).build();
    let mut rig = rig("security-check");
    assert_eq!(rig.pass(1, &from("10.0.1.2", SITE)), [(0, out(SITE))]);
    assert_eq!(rig.count("ipip4-input", "packets decapsulated"), 1);
    // The prefix of the source isn't compared.
    let other = "2b01:db8:1:200::1";
    assert_eq!(rig.pass(1, &from("10.0.1.2", other)), [(0, out(other))]);
    assert_eq!(rig.pass(1, &from("10.0.1.9", SITE)), []);
    assert_eq!(rig.count("ipip4-input", "spoofed"), 1);
    let sw_if = rig.bench.world.get::<Interfaces>().find("ip6ip-6rd0").expect("there");
    assert_eq!(rig.packets(sw_if).0, 2);
    rig.cli("set interface state ip6ip-6rd0 down");
    assert_eq!(rig.pass(1, &from("10.0.1.2", SITE)), []);
    rig.cli("delete 6rd tunnel ip6ip-6rd0");
    assert_eq!(rig.pass(1, &from("10.0.1.2", SITE)), []);
    assert_eq!(rig.count("ipip4-input", "no tunnel"), 1);
    let mut rig = self::rig("");
    assert_eq!(rig.pass(1, &from("10.0.1.9", SITE)), [(0, out(SITE))], "not checked");
    // A tunnel between two ends comes first.
    rig.cli("create ipip tunnel src 10.0.1.1 dst 10.0.1.2");
    assert_eq!(rig.pass(1, &from("10.0.1.2", SITE)), [], "it is down");
}

/// RFC 5969 9.1.
#[suite::test]
fn the_mtu_is_1480() {
    let mut rig = rig("");
    let len = 1480 - 48;
    let sent = rig.pass(0, &plain(SITE, len));
    assert_eq!(sent, [(1, wrapped(&sent, SITE, "10.0.1.2", 0, len))]);
    let sent = rig.pass(0, &plain(SITE, len + 1));
    let [(0, answer)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((answer[54], &answer[58..62]), (2, &1480u32.to_be_bytes()[..]), "too big");
}

/// RFC 3964 5.1: addresses that aren't of one other host.
#[suite::test]
fn destinations_without_a_site_are_dropped() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.networks();
    rig.cli("create 6rd tunnel ip6-pfx 2002::/16 ip4-pfx 0.0.0.0/0 ip4-src 10.0.1.1");
    let sites =
        ["2002:e000:1::1", "2002:ffff:ffff::1", "2002::1", "2002:7f00:1::1", "2002:a00:101::1"];
    for dst in sites {
        assert_eq!(rig.pass(0, &plain(dst, 10)), [], "{dst}");
    }
    assert_eq!(rig.count("sixrd-encap", "no_site"), sites.len() as u64);
    let sent = rig.pass(0, &plain("2002:a00:102::1", 10));
    assert_eq!(sent, [(1, wrapped(&sent, "2002:a00:102::1", "10.0.1.2", 0, 10))]);
}

/// The route of the domain moves with its interface, and goes with it.
#[suite::test]
fn the_route_is_in_the_table_of_the_interface() {
    let mut rig = rig("");
    rig.cli("ip6 table add 7");
    let world = rig.world();
    let fib = world.get::<Fib<Ip6>>();
    let has = |table| {
        fib.route(table, "2a01:db8::/32".parse().expect("a prefix"))
            .is_some_and(|route| !route.sources.is_empty())
    };
    let seven = fib.find_table(7).expect("there");
    assert!(has(TableIndex::DEFAULT) && !has(seven));
    rig.cli("set interface ip6 table ip6ip-6rd0 7");
    assert!(!has(TableIndex::DEFAULT) && has(seven));
    rig.cli("delete 6rd tunnel ip6ip-6rd0");
    assert!(!has(TableIndex::DEFAULT) && !has(seven));
}

#[suite::test]
fn mutated_packets_go_or_are_dropped() {
    let mut rig = rig("security-check");
    let mut mutator = Mutator::new(25);
    let (mut wraps, mut unwraps) = (0, 0);
    for _ in 0..3000 {
        let mut frame = plain(SITE, 60);
        let _ = mutator.mutate(&mut frame);
        wraps += rig.pass(0, &frame).iter().filter(|(port, _)| *port == 1).count();
        let ether = pkt::ether(peer_mac(1), port_mac(1)).ip4("10.0.1.2", "10.0.1.1");
        let mut frame = inner(ether, SITE, HERE, 64, 60).build();
        let _ = mutator.mutate(&mut frame);
        unwraps += rig.pass(1, &frame).iter().filter(|(port, _)| *port == 0).count();
    }
    assert!(wraps > 500 && unwraps > 500, "{wraps} {unwraps}");
}

#[suite::test]
fn commands_show_and_refuse() {
    let mut rig = rig("security-check");
    let shown = "Interface   IPv6 prefix    IPv4 prefix  Source    IPv4 table  Check  TOS\n\
                 ip6ip-6rd0  2a01:db8::/32  10.0.0.0/8   10.0.1.1           0  yes    0\n";
    assert_eq!(rig.cli("show 6rd tunnel"), shown);
    assert!(rig.cli("show 6rd tunnel -j").contains("2a01:db8::/32"));
    let create = |rest: &str| format!("create 6rd tunnel ip6-pfx 2a01:db8::/32 ip4-pfx {rest}");
    for (line, want, code) in [
        (create("10.0.0.0/8 ip4-src 10.0.1.1"), "ip6ip-6rd0", -79),
        (create("10.0.0.0/8 ip4-src 10.0.1.7 instance 0"), "ip6ip-6rd0", -147),
        (create("10.0.0.0/8 ip4-src 10.0.1.7 ip4-table-id 9"), "9", -3),
        (create("10.0.0.0/8 ip4-src 10.0.1.7 ip6-table-id 9"), "9", -3),
        (create("10.0.0.0/8 ip4-src 224.0.0.1"), "one host", -57),
        (
            "create 6rd tunnel ip6-pfx 2a01::/48 ip4-pfx 10.0.0.0/8 ip4-src 10.0.1.7".into(),
            "72 bits",
            -7,
        ),
        ("delete 6rd tunnel p0".into(), "no 6RD tunnel", -1),
    ] {
        let (retval, error) = rig.refused(&line);
        assert!(error.contains(want) && retval == code, "{line}: {retval} {error}");
    }
    assert_eq!(rig.cli("show 6rd tunnel"), shown, "what is refused changes nothing");
    for n in 1..=10 {
        rig.cli(&create(&format!("10.0.0.0/8 ip4-src 10.0.2.{n}")));
    }
    assert!(rig.cli("show 6rd tunnel").contains("ip6ip-6rda "), "hexadecimal");
}

#[suite::test]
fn messages_add_delete_and_dump() {
    let rig = Rig::new(PLUGINS, 1);
    let mut client = rig.bench.api();
    let add = |len6, source: [u8; 4], table4| Ipip6rdAddTunnel {
        ip6_table_id: 0,
        ip4_table_id: table4,
        ip6_prefix: Ip6Prefix {
            address: Ip6Address("2a01:db8::".parse::<Ipv6Addr>().expect("an address").octets()),
            len: len6,
        },
        ip4_prefix: Ip4Prefix { address: Ip4Address([10, 0, 0, 0]), len: 8 },
        ip4_src: Ip4Address(source),
        security_check: true,
        tc_tos: 255,
    };
    let made = client.call(add(32, [10, 0, 1, 1], 0)).expect("made");
    assert_eq!(client.call(add(32, [10, 0, 1, 1], 0)), Err(-79));
    assert_eq!(client.call(add(48, [10, 0, 1, 2], 0)), Err(-7));
    assert_eq!(client.call(add(32, [10, 0, 1, 2], 9)), Err(-3));
    let world = rig.world();
    let all = world.get::<SixRds>().list();
    assert_eq!((all.len(), all[0].config.tos, all[0].config.security_check), (1, 255, true));
    let dump = client.dump(IpipTunnelDump { sw_if_index: InterfaceIndex::NONE });
    let tunnel = IpipTunnel {
        src: std::net::IpAddr::from(Ipv4Addr::new(10, 0, 1, 1)).into(),
        dst: std::net::IpAddr::from(Ipv4Addr::UNSPECIFIED).into(),
        sw_if_index: made.sw_if_index,
        ..IpipTunnel::default()
    };
    assert_eq!(dump.into_iter().map(|details| details.tunnel).collect::<Vec<_>>(), [tunnel]);
    let del = |sw_if_index| Ipip6rdDelTunnel { sw_if_index };
    assert_eq!(client.call(del(InterfaceIndex(99))), Err(-1));
    assert_eq!(client.call(del(made.sw_if_index)), Ok(()));
    assert_eq!(client.call(del(made.sw_if_index)), Err(-1));
}

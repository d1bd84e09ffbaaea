// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use crate::api::*;
use graph::Plugin;
use net::api::{FibPath, InterfaceIndex};
use net::drive::{Rig, port_mac};
use net::{Interfaces, Neighbor, Neighbors};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testkit::pkt;
use wire::MacAddr;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &::ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &::super_path::PLUGIN,
    &icmp::PLUGIN,
    &PLUGIN,
];

fn neighbor(i: usize) -> MacAddr {
    MacAddr([2, 0xaa, 0, 0, 0, i as u8])
}

/// A UDP packet as it comes in by `p0`, or as it leaves to the neighbour of an interface.
fn packet(v6: bool, to: Option<usize>, dst: &str, port: u16) -> Vec<u8> {
    let (ether, ttl) = match to {
        None => (pkt::ether(neighbor(0), port_mac(0)), 64),
        Some(i) => (pkt::ether(port_mac(i), neighbor(i)), 63),
    };
    let ip = if v6 { ether.ip6("2001:db8:0::2", dst) } else { ether.ip4("10.0.0.2", dst) };
    ip.ttl(ttl).udp(port, 4321).payload_len(100).build()
}

/// Ports with 10.0.N.1/24 and 2001:db8:N::1/64, each with a neighbour .2 and ::2 that is known.
fn rig(n: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, n);
    (0..n).for_each(|i| address(&mut rig, i));
    rig
}

/// Gives a port its addresses and its neighbours.
fn address(rig: &mut Rig, i: usize) {
    rig.cli(&format!("set interface ip address p{i} 10.0.{i}.1/24"));
    rig.cli(&format!("set interface ip address p{i} 2001:db8:{i}::1/64"));
    let ip6 = Ipv6Addr::new(0x2001, 0xdb8, i as u16, 0, 0, 0, 0, 2);
    for ip in [IpAddr::from(Ipv4Addr::new(10, 0, i as u8, 2)), ip6.into()] {
        let known = Neighbor::new(rig.ports[i], ip, neighbor(i));
        let world = rig.world();
        world.get::<Neighbors>().set(&world, known).expect("set");
    }
}

/// Whatever their destination, our own addresses included, and only of the protocol and of the
/// interface.
#[suite::test]
fn all_packets_of_an_interface_take_the_paths() {
    for v6 in [false, true] {
        let node = if v6 { "l3xc-input-ip6" } else { "l3xc-input-ip4" };
        let mut rig = rig(3);
        let destinations = match v6 {
            false => ["192.0.2.1", "10.0.2.2", "10.0.0.1"],
            true => ["2001:db8:ffff::1", "2001:db8:2::2", "2001:db8::1"],
        };
        let hop = |i| if v6 { format!("2001:db8:{i}::2") } else { format!("10.0.{i}.2") };
        rig.cli(&format!("l3xc add p0 via {} p1", hop(1)));
        for state in ["on", "off"] {
            rig.cli(&format!("set super-path {state}"));
            for (n, dst) in destinations.into_iter().enumerate() {
                let port = 1000 + n as u16;
                let want = [(1, packet(v6, Some(1), dst, port))];
                assert_eq!(
                    rig.pass_all(0, &[packet(v6, None, dst, port)]),
                    want,
                    "{dst}, super-path {state}"
                );
            }
        }
        assert_eq!(rig.count(node, "matched"), 6);
        // The other protocol is routed.
        let dst = if v6 { "10.0.2.2" } else { "2001:db8:2::2" };
        assert_eq!(
            rig.pass_all(0, &[packet(!v6, None, dst, 5)]),
            [(2, packet(!v6, Some(2), dst, 5))]
        );
        // Other paths replace these.
        rig.cli(&format!("l3xc p0 via {} p2", hop(2)));
        let dst = destinations[0];
        assert_eq!(
            rig.pass_all(0, &[packet(v6, None, dst, 5)]),
            [(2, packet(v6, Some(2), dst, 5))]
        );
        rig.cli(&format!("l3xc del p0 {}", if v6 { "ip6" } else { "ip4" }));
        let dst = destinations[1];
        assert_eq!(
            rig.pass_all(0, &[packet(v6, None, dst, 5)]),
            [(2, packet(v6, Some(2), dst, 5))],
            "routed"
        );
        assert_eq!(rig.count(node, "matched"), 7);
    }
}

#[suite::test]
fn several_paths_share_the_flows() {
    let mut rig = rig(4);
    rig.cli("l3xc add p0 via 10.0.1.2 p1 via 10.0.2.2 p2 via 10.0.3.2 p3");
    let came = || (0..300).map(|port| packet(false, None, "192.0.2.1", port)).collect::<Vec<_>>();
    let sent = rig.pass_all(0, &came());
    let mut by_port: BTreeMap<u16, usize> = BTreeMap::new();
    for (i, bytes) in &sent {
        let port = u16::from_be_bytes([bytes[34], bytes[35]]);
        assert_eq!(*bytes, packet(false, Some(*i), "192.0.2.1", port));
        assert_eq!(by_port.insert(port, *i), None);
    }
    assert_eq!(by_port.len(), 300);
    for i in 1..=3 {
        let share = by_port.values().filter(|at| **at == i).count();
        assert!((60..=140).contains(&share), "{share} of 300 flows leave by p{i}");
    }
    // Singly, each flow takes the same path.
    for (port, i) in by_port.iter().take(20) {
        let want = [(*i, packet(false, Some(*i), "192.0.2.1", *port))];
        assert_eq!(rig.pass_all(0, &[packet(false, None, "192.0.2.1", *port)]), want);
    }
    // Paths follow their interfaces.
    rig.cli("set interface state p2 down");
    let sent = rig.pass_all(0, &came());
    assert_eq!((sent.len(), sent.iter().filter(|(i, _)| *i == 2).count()), (300, 0));
}

#[suite::test]
fn paths_follow_routes_and_preferences() {
    let mut rig = rig(3);
    rig.cli("l3xc add p0 via 192.0.2.9");
    let came = || [packet(false, None, "198.51.100.1", 7)];
    assert_eq!(rig.pass_all(0, &came()), [], "there is no route to the next hop");
    assert_eq!(rig.count("l3xc-input-ip4", "no_path"), 1);
    assert!(rig.cli("show l3xc").contains("unresolved"));
    for i in [1, 2] {
        rig.cli(&format!("ip route add 192.0.2.0/24 via 10.0.{i}.2 p{i}"));
        assert_eq!(rig.pass_all(0, &came()), [(i, packet(false, Some(i), "198.51.100.1", 7))]);
        rig.cli(&format!("ip route del 192.0.2.0/24 via 10.0.{i}.2 p{i}"));
    }
    rig.cli("l3xc add p0 via 10.0.1.2 p1 via 10.0.2.2 p2 preference 1");
    assert_eq!(rig.pass_all(0, &came()), [(1, packet(false, Some(1), "198.51.100.1", 7))]);
    rig.cli("set interface state p1 down");
    assert_eq!(rig.pass_all(0, &came()), [(2, packet(false, Some(2), "198.51.100.1", 7))]);
    rig.cli("l3xc add p0 via drop");
    assert_eq!((rig.pass_all(0, &came()), rig.count("l3xc-input-ip4", "no_path")), (vec![], 2));
    // RFC 8950: a next hop of the other protocol.
    rig.cli("l3xc add p0 ip4 via 2001:db8:2::2 p2");
    assert_eq!(rig.pass_all(0, &came()), [(2, packet(false, Some(2), "198.51.100.1", 7))]);
}

/// Hops count, and the sender hears of it.
#[suite::test]
fn a_packet_whose_ttl_expires_is_answered() {
    let mut rig = rig(2);
    rig.cli("l3xc add p0 via 10.0.1.2 p1");
    let ether = pkt::ether(neighbor(0), port_mac(0)).ip4("10.0.0.2", "192.0.2.1");
    let sent = rig.pass_all(0, &[ether.ttl(1).udp(5, 6).payload_len(30).build()]);
    let [(0, answer)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(
        (&answer[..6], &answer[26..34]),
        (&neighbor(0).0[..], &[10, 0, 0, 1, 10, 0, 0, 2][..])
    );
    assert_eq!(answer[34..36], [11, 0], "time exceeded in transit");
}

/// An interface without an address takes part.
#[suite::test]
fn an_interface_needs_no_address() {
    let mut rig = rig(2);
    rig.cli("set interface ip address del p0 10.0.0.1/24");
    let came = [packet(false, None, "192.0.2.1", 7)];
    assert_eq!(rig.pass_all(0, &came), []);
    rig.cli("l3xc add p0 via 10.0.1.2 p1");
    assert_eq!(rig.pass_all(0, &came), [(1, packet(false, Some(1), "192.0.2.1", 7))]);
}

#[suite::test]
fn commands_show_and_refuse() {
    let mut rig = rig(3);
    assert_eq!(rig.cli("show l3xc"), "Interface  Protocol  Path\n");
    rig.cli("l3xc add p0 via 10.0.1.2 p1 weight 2 via p2");
    rig.cli("l3xc add p1 via 2001:db8::2 p0");
    let shown = "Interface  Protocol  Path\n\
                 p0         ip4       path: ip4 weight=2 pref=0 attached-nexthop: 10.0.1.2 p1\n\
                 p0         ip4       path: ip4 weight=1 pref=0 attached: p2\n\
                 p1         ip6       path: ip6 weight=1 pref=0 attached-nexthop: 2001:db8::2 p0\n";
    assert_eq!(rig.cli("show l3xc"), shown);
    assert!(rig.cli("show l3xc -j").contains("attached-nexthop: 10.0.1.2 p1"));
    for (line, want) in [
        ("l3xc add p9 via p1", "p9"),
        ("l3xc add p0", "needs a path"),
        ("l3xc add p0 via 10.0.0.9 p9", "p9"),
        ("l3xc add p0 ip6 via 10.0.1.2 next-hop-table 99", "99"),
        ("l3xc del p2", "no cross-connect of ip4"),
        ("l3xc del p0 ip6", "no cross-connect of ip6"),
    ] {
        let (_, error) = rig.refused(line);
        assert!(error.contains(want), "{line}: {error}");
    }
    assert_eq!(rig.cli("show l3xc"), shown, "what is refused changes nothing");
    rig.cli("ip table add 7");
    rig.cli("l3xc add p0 via 10.0.1.2 next-hop-table 7");
    assert!(rig.cli("ip table del 7").contains("stays"), "as long as paths lead there");
    rig.cli("l3xc del p0");
    assert!(!rig.cli("show ip table").contains('7'));
}

#[suite::test]
fn cross_connects_go_with_their_interfaces() {
    let mut rig = rig(4);
    for line in ["p0 via 10.0.1.2 p1 via 10.0.2.2 p2", "p1 via 10.0.2.2 p2", "p2 via 10.0.0.2 p0"] {
        rig.cli(&format!("l3xc add {line}"));
    }
    let world = rig.world();
    world.get::<Interfaces>().delete(&world, rig.ports[2]).expect("deleted");
    rig.bench.settle();
    let shown = "Interface  Protocol  Path\n\
                 p0         ip4       path: ip4 weight=1 pref=0 attached-nexthop: 10.0.1.2 p1\n";
    assert_eq!(rig.cli("show l3xc"), shown);
    let came = |n| [packet(false, None, "192.0.2.1", n)];
    for n in 0..20 {
        assert_eq!(rig.pass_all(0, &came(n)), [(1, packet(false, Some(1), "192.0.2.1", n))]);
    }
    world.get::<Interfaces>().delete(&world, rig.ports[1]).expect("deleted");
    rig.bench.settle();
    assert_eq!(rig.cli("show l3xc"), "Interface  Protocol  Path\n");
    assert_eq!(
        rig.pass_all(0, &[packet(false, None, "10.0.3.2", 5)]),
        [(3, packet(false, Some(3), "10.0.3.2", 5))]
    );
}

#[suite::test]
fn messages_update_delete_and_dump() {
    let rig = rig(3);
    let [a, b, c] = [0, 1, 2].map(|i: usize| InterfaceIndex::from(rig.ports[i]));
    let path = |to: InterfaceIndex, address: [u8; 4]| {
        let mut path = FibPath { sw_if_index: to.0, weight: 1, ..FibPath::default() };
        path.nh.address.0[..4].copy_from_slice(&address);
        path
    };
    let l3xc =
        |sw_if_index, paths: &[FibPath]| L3xc { sw_if_index, is_ip6: false, paths: paths.to_vec() };
    let update = |l3xc: L3xc| L3xcUpdate { l3xc };
    let del = |sw_if_index, is_ip6| L3xcDel { sw_if_index, is_ip6 };
    let paths = [path(b, [10, 0, 1, 2]), path(c, [10, 0, 2, 2])];
    let mut client = rig.bench.api();
    let version = client.call(L3xcPluginGetVersion {}).expect("answered");
    assert_eq!((version.major, version.minor), (1, 0));
    for (request, want) in [
        (l3xc(a, &[]), Err(-7)),
        (l3xc(InterfaceIndex(99), &paths), Err(-2)),
        (l3xc(a, &[path(InterfaceIndex(99), [10, 0, 1, 2])]), Err(-2)),
        (l3xc(a, &paths[..1]), Ok(L3xcUpdateReply { stats_index: 0 })),
        (l3xc(a, &paths), Ok(L3xcUpdateReply { stats_index: 0 })),
        (l3xc(b, &paths[1..]), Ok(L3xcUpdateReply { stats_index: 0 })),
    ] {
        let what = format!("{request:?}");
        assert_eq!(client.call(update(request)), want, "{what}");
    }
    let mut dump = |sw_if_index| {
        let all = client.dump(L3xcDump { sw_if_index });
        all.into_iter()
            .map(|details| (details.l3xc.sw_if_index, details.l3xc.paths.len()))
            .collect::<Vec<_>>()
    };
    assert_eq!(dump(InterfaceIndex::NONE), [(a, 2), (b, 1)]);
    assert_eq!((dump(b), dump(c)), (vec![(b, 1)], vec![]));
    let details = client.dump(L3xcDump { sw_if_index: a });
    let hops: Vec<_> =
        details[0].l3xc.paths.iter().map(|p| (p.sw_if_index, p.nh.address.0[2])).collect();
    assert_eq!(hops, [(b.0, 1), (c.0, 2)]);
    assert_eq!(client.call(del(a, true)), Err(-7));
    assert_eq!(client.call(del(InterfaceIndex(99), false)), Err(-2));
    assert_eq!(client.call(del(a, false)), Ok(()));
    assert_eq!(client.call(del(a, false)), Err(-7));
    drop(client);
    assert_eq!(rig.bench.api().dump(L3xcDump { sw_if_index: InterfaceIndex::NONE }).len(), 1);
}

// SPDX-License-Identifier: Apache-2.0
//! Routes to objects other than neighbours, and the built-in routes that clients see.

use super::*;
use fib::api::route::*;
use fib::api::table::IpTable;
use net::AdjIndex;
use net::api::Prefix;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

fn text(prefix: Prefix) -> String {
    format!("{}/{}", IpAddr::from(prefix.address), prefix.len)
}

/// The prefixes of a table, with the sources that clients know.
fn dumped(bench: &Bench, is_ip6: bool) -> Vec<(String, u8)> {
    let table = IpTable { is_ip6, ..IpTable::default() };
    let all = bench.api().dump(IpRouteV2Dump { src: 0, table });
    all.into_iter().map(|d| (text(d.route.prefix), d.route.src)).collect()
}

fn owned(all: &[(&str, u8)]) -> Vec<(String, u8)> {
    all.iter().map(|(prefix, source)| (prefix.to_string(), *source)).collect()
}

#[suite::test]
fn a_source_is_looked_up_where_a_route_says_so() {
    let mut bench = router();
    let fib = bench.world.get::<Fib<Ip4>>();
    let seven = fib.add_table(&bench.world, 7, "seven", Source::Cli).expect("made");
    route(&bench, "60.0.0.0/8", &[PathKind::SourceLookup(Fib::<Ip4>::table_ref(seven))]);
    let packet = |from: &str| pkt::ip4(from, "60.0.0.1").udp(1000, 2000).payload_len(18).build();
    let goes = |bench: &mut Bench, from: &str| {
        bench.node("ip4-lookup", &[packet(from)], |b| b.rx_if = T1.0)[0].node.clone()
    };
    assert_eq!(goes(&mut bench, "9.0.0.1"), "ip4-icmp-error", "the table has no route");
    let via = [Path::new(PathKind::Neighbor { sw_if: T2, nexthop: ip("10.0.2.2").into() })];
    fib.set(&bench.world, seven, prefix("9.0.0.0/24"), Source::Cli, &via).expect("set");
    assert_eq!(goes(&mut bench, "9.0.0.1"), "ip4-rewrite");
    assert_eq!(goes(&mut bench, "9.0.1.1"), "ip4-icmp-error");
    // A whole vector is looked up packet by packet.
    let froms = ["9.0.0.1", "9.0.1.1", "9.0.0.2"];
    let out = bench.node("ip4-lookup", &froms.map(packet), |b| b.rx_if = T1.0);
    let nodes: BTreeMap<String, usize> = out.iter().fold(Default::default(), |mut all, o| {
        *all.entry(o.node.clone()).or_insert(0) += 1;
        all
    });
    assert_eq!(nodes, [("ip4-rewrite".to_string(), 2), ("ip4-icmp-error".to_string(), 1)].into());
    // A route of that table that looks the source up there again goes round, but not for ever.
    fib.set(
        &bench.world,
        seven,
        prefix("9.0.2.0/24"),
        Source::Cli,
        &[Path::new(PathKind::SourceLookup(Fib::<Ip4>::table_ref(seven)))],
    )
    .expect("set");
    assert_eq!(goes(&mut bench, "9.0.2.1"), "ip4-drop");

    let mut bench = router6();
    let fib = bench.world.get::<Fib<Ip6>>();
    let seven = fib.add_table(&bench.world, 7, "seven", Source::Cli).expect("made");
    route6(&bench, "6000::/16", &[PathKind::SourceLookup(Fib::<Ip6>::table_ref(seven))]);
    let via = [Path::new(PathKind::Neighbor { sw_if: T2, nexthop: ip6("2001:db8:2::2").into() })];
    fib.set(&bench.world, seven, "2001:db8:1::9/128".parse().expect("a prefix"), Source::Cli, &via)
        .expect("set");
    assert_eq!(
        bench.node("ip6-lookup", &[udp6("6000::1").build()], |b| b.rx_if = T1.0)[0].node,
        "ip6-rewrite"
    );
}

#[suite::test]
fn dumps_show_the_routes_that_vpp_has() {
    let mut bench = Bench::new(PLUGINS);
    let four = [("0.0.0.0/0", 20), ("0.0.0.0/32", 20), ("224.0.0.0/4", 1), ("240.0.0.0/4", 1)];
    let four: Vec<_> =
        owned(&four).into_iter().chain(owned(&[("255.255.255.255/32", 20)])).collect();
    assert_eq!(dumped(&bench, false), four);
    assert_eq!(dumped(&bench, true), owned(&[("::/0", 20), ("fe80::/10", 1)]));
    assert_eq!(bench.world.get::<Fib<Ip4>>().list_tables()[0].routes, 5);
    assert_eq!(bench.world.get::<Fib<Ip6>>().list_tables()[0].routes, 2);
    let shown = bench.cli("show ip fib").expect("shown");
    assert!(!shown.contains("127.0.0.0/8"), "{shown}");
    // Lookups of packets and of commands for one address find more.
    assert!(bench.cli("show ip fib 127.0.0.1").expect("shown").contains("127.0.0.0/8"));
    let find = |bench: &Bench, to: &str, exact| {
        let request = IpRouteLookup { table_id: 0, exact, prefix: prefix(to).into() };
        bench.api().call(request).map(|reply| text(reply.route.prefix))
    };
    assert_eq!(find(&bench, "127.0.0.0/8", 1), Err(-6));
    assert_eq!(find(&bench, "127.0.0.1/32", 0), Ok("127.0.0.0/8".into()));
    // A client may set one there, and takes it back.
    route(&bench, "127.0.0.0/8", &[PathKind::Fixed(AdjIndex::UNREACH)]);
    assert_eq!(find(&bench, "127.0.0.0/8", 1), Ok("127.0.0.0/8".into()));
    assert_eq!(bench.world.get::<Fib<Ip4>>().list_tables()[0].routes, 6);
    assert!(dumped(&bench, false).contains(&("127.0.0.0/8".into(), 9)));
    bench.cli("ip route del 127.0.0.0/8").expect("removed");
    assert_eq!(dumped(&bench, false), four);
    assert_eq!(bench.world.get::<Fib<Ip4>>().list_tables()[0].routes, 5);

    // Of an address: its network and itself, and of IPv4 the network's first and last address.
    let bench = router6();
    let of_interfaces =
        |is_ip6| dumped(&bench, is_ip6).into_iter().filter(|(_, s)| *s == 4).map(|(p, _)| p);
    let four = ["10.0.1.0/24", "10.0.1.0/32", "10.0.1.1/32", "10.0.1.255/32"];
    let four = four.iter().flat_map(|p| [p.to_string(), p.replace("10.0.1.", "10.0.2.")]);
    assert_eq!(of_interfaces(false).collect::<BTreeSet<_>>(), four.collect());
    let six = ["2001:db8:1::/64", "2001:db8:1::1/128", "2001:db8:2::/64", "2001:db8:2::1/128"];
    assert_eq!(of_interfaces(true).collect::<Vec<_>>(), six);
}

#[suite::test]
fn neighbours_are_known_wherever_their_network_is_said_to_be() {
    let mut bench = router();
    for line in [
        "ip table add 7",
        "ip route add 10.0.2.0/24 table 7 via t2",
        "ip route add 20.5.0.0/16 via t2",
    ] {
        bench.cli(line).expect(line);
    }
    let fib = bench.world.get::<Fib<Ip4>>();
    let seven = fib.find_table(7).expect("there");
    let known = |table, host: &str| fib.route(table, prefix(host)).is_some();
    assert!(known(seven, "10.0.2.2/32"), "it was known before the route came");
    let neighbors = bench.world.get::<Neighbors>();
    for host in ["10.0.2.3", "20.5.0.3", "30.0.0.3"] {
        let new = Neighbor::new(T2, ip(host).into(), MacAddr(NEIGHBOR_MAC));
        neighbors.set(&bench.world, Neighbor { is_static: true, ..new }).expect("set");
    }
    let default = TableIndex::DEFAULT;
    assert!(
        known(seven, "10.0.2.3/32")
            && known(default, "10.0.2.3/32")
            && known(default, "20.5.0.3/32")
    );
    assert!(!known(seven, "20.5.0.3/32") && !known(default, "30.0.0.3/32"));
    neighbors.remove(&bench.world, T2, ip("10.0.2.3").into()).expect("removed");
    assert!(!known(seven, "10.0.2.3/32") && !known(default, "10.0.2.3/32"));
    bench.cli("ip route del 10.0.2.0/24 table 7").expect("removed");
    assert!(!known(seven, "10.0.2.2/32") && known(default, "10.0.2.2/32"));
}

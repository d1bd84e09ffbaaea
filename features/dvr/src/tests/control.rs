// SPDX-License-Identifier: Apache-2.0
//! Commands, messages, deletion.

use super::*;
use fib::api::route::{IpRoute, IpRouteAddDel, IpRouteDump};
use fib::api::table::IpTable;
use net::Interfaces;
use net::api::{FibPath, FibPathNhProto, FibPathType, Prefix};

/// The features of packets that leave, of a protocol, on an interface.
fn features(rig: &Rig, v6: bool, name: &str) -> Vec<&'static str> {
    let world = rig.world();
    let sw_if = world.get::<Interfaces>().find(name).expect("there");
    world
        .features_of(world.arc(if v6 { "ip6-output" } else { "ip4-output" }).expect("there"), sw_if)
}

fn config(rig: &Rig) -> Vec<String> {
    rig.world()
        .running_config()
        .into_iter()
        .map(|line| line.text)
        .filter(|line| line.contains("dvr"))
        .collect()
}

#[suite::test]
fn commands_set_show_and_save() {
    for v6 in [false, true] {
        let mut rig = rig(4);
        let (to, show) = (prefix(v6), if v6 { "show ip6 fib" } else { "show ip fib" });
        let node = if v6 { "ip6-dvr-reinject" } else { "ip4-dvr-reinject" };
        rig.cli(&format!("ip route add {to} via dvr p1 weight 3"));
        rig.cli(&format!("ip route add {to} via p3 dvr preference 1"));
        let text = rig.cli(&format!("{show} {to}"));
        let of = if v6 { "ip6" } else { "ip4" };
        assert!(text.contains(&format!("path: {of} weight=3 pref=0 dvr: p1\n")), "{text}");
        assert!(text.contains(&format!("path: {of} weight=1 pref=1 dvr: p3\n")), "{text}");
        let want = [
            format!("ip route add {to} via dvr p1 weight 3"),
            format!("ip route add {to} via dvr p3 preference 1"),
        ];
        assert_eq!(config(&rig), want);
        // The feature is there for the protocol as long as a route needs it, whatever is used of
        // that.
        assert_eq!((features(&rig, v6, "p1"), features(&rig, v6, "p3")), (vec![node], vec![node]));
        assert_eq!((features(&rig, !v6, "p1"), features(&rig, v6, "p2")), (vec![], vec![]));
        let host = if v6 { "2001:db8:9::1/128" } else { "192.0.2.1/32" };
        rig.cli(&format!("ip route add {host} via dvr p1"));
        rig.cli(&format!("ip route del {to} via dvr p1"));
        assert_eq!((features(&rig, v6, "p1"), features(&rig, v6, "p3")), (vec![node], vec![node]));
        rig.cli(&format!("ip route del {host}"));
        assert_eq!((features(&rig, v6, "p1"), features(&rig, v6, "p3")), (vec![], vec![node]));
        rig.cli(&format!("ip route del {to}"));
        assert_eq!((features(&rig, v6, "p3"), config(&rig)), (vec![], vec![]));
        for (line, want) in [("via dvr p9", "p9"), ("via dvr", "interface"), ("via p9 dvr", "p9")] {
            let (_, why) = rig.refused(&format!("ip route add {to} {line}"));
            assert!(why.contains(want), "{line}: {why}");
        }
    }
}

/// Paths are used as others are: the best preference of those whose interface is up.
#[suite::test]
fn paths_follow_their_interfaces() {
    for v6 in [false, true] {
        let mut rig = rig(4);
        rig.cli(&format!("ip route add {} via dvr p1", prefix(v6)));
        rig.cli(&format!("ip route add {} via dvr p3 preference 1", prefix(v6)));
        let one = frame(v6, port_mac(0), &[], 7);
        assert_eq!(rig.pass(0, &one), at(&[1], &one));
        rig.cli("set interface state p1 down");
        assert_eq!(rig.pass(0, &one), at(&[3], &one));
        rig.cli("set interface state p1 up");
        assert_eq!(rig.pass(0, &one), at(&[1], &one));
        // The mode may change while a route leads there.
        rig.cli("set interface l3 p1");
        assert_eq!(rig.pass(0, &one), at(&[1], &one));
        rig.cli("set interface l2 xconnect p1 p2");
        assert_eq!(rig.pass(0, &one), at(&[1], &one));
        // An operator may take the feature away.
        let (node, arc) = if v6 {
            ("ip6-dvr-reinject", "ip6-output")
        } else {
            ("ip4-dvr-reinject", "ip4-output")
        };
        rig.cli(&format!("set interface feature p1 {node} arc {arc} disable"));
        assert_eq!(rig.pass(0, &one), []);
        assert_eq!(rig.count(if v6 { "ip6-dvr-dpo" } else { "ip4-dvr-dpo" }, "no_arc"), 1);
    }
}

#[suite::test]
fn deleted_interfaces_leave_nothing_behind() {
    for v6 in [false, true] {
        let mut rig = rig(4);
        let one = frame(v6, port_mac(0), &[], 7);
        let adjacencies = |rig: &mut Rig| rig.cli("show adj summary");
        let before = adjacencies(&mut rig);
        let index = rig.ports[1];
        for _ in 0..50 {
            rig.cli(&format!("ip route add {} via dvr p1", prefix(v6)));
            rig.cli(&format!("ip route add {} via dvr p3 preference 1", prefix(v6)));
            rig.delete_port(1);
            assert_eq!(rig.pass(0, &one), at(&[3], &one), "the other path is left");
            assert_eq!(
                config(&rig),
                [format!("ip route add {} via dvr p3 preference 1", prefix(v6))]
            );
            rig.cli(&format!("ip route del {} via dvr p3", prefix(v6)));
            rig.add_port(1);
            assert_eq!(rig.ports[1], index, "the index is given back");
            assert_eq!(features(&rig, v6, "p1"), Vec::<&str>::new());
        }
        assert_eq!(adjacencies(&mut rig), before);
        assert_eq!((rig.pass(0, &one), config(&rig)), (vec![], vec![]));
        // A packet that began its way before the interface went.
        rig.cli(&format!("ip route add {} via dvr p3", prefix(v6)));
        rig.bench.arrive(rig.ports[0], &one);
        rig.delete_port(3);
        assert_eq!(rig.sent(), []);
    }
}

#[suite::test]
fn messages_add_and_dump_dvr_paths() {
    for is_ip6 in [false, true] {
        let mut rig = rig(4);
        let to: wire::Prefix<std::net::Ipv4Addr> = "192.0.2.0/24".parse().expect("a prefix");
        let to6: wire::Prefix<std::net::Ipv6Addr> = "2001:db8:9::/48".parse().expect("a prefix");
        let to: Prefix = if is_ip6 { to6.into() } else { to.into() };
        let path = |sw_if_index| FibPath {
            r#type: FibPathType::Dvr,
            sw_if_index,
            weight: 1,
            ..FibPath::default()
        };
        let add = |is_add, sw_if| {
            let route = IpRoute { prefix: to, paths: vec![path(sw_if)], ..IpRoute::default() };
            rig.bench.api().call(IpRouteAddDel { is_add, is_multipath: false, route }).map(drop)
        };
        let (p1, p3) = (rig.ports[1].0, rig.ports[3].0);
        assert_eq!((add(true, 99), add(true, u32::MAX)), (Err(-2), Err(-2)));
        assert_eq!((add(true, p1), add(true, p3)), (Ok(()), Ok(())));
        let table = IpTable { is_ip6, ..IpTable::default() };
        let dump = |rig: &Rig| {
            let all = rig.bench.api().dump(IpRouteDump { table: table.clone() });
            all.into_iter().map(|details| details.route).find(|route| route.prefix == to)
        };
        let paths = dump(&rig).expect("there").paths;
        let proto = if is_ip6 { FibPathNhProto::Ip6 } else { FibPathNhProto::Ip4 };
        assert_eq!(paths, [FibPath { proto, ..path(p3) }]);
        let one = frame(is_ip6, port_mac(0), &[], 7);
        assert_eq!(rig.pass(0, &one), at(&[3], &one));
        let route = IpRoute { prefix: to, paths: vec![], ..IpRoute::default() };
        rig.bench
            .api()
            .call(IpRouteAddDel { is_add: false, is_multipath: false, route })
            .expect("deleted");
        assert_eq!((dump(&rig).is_none(), rig.pass(0, &one)), (true, vec![]));
    }
}

#[suite::test]
fn a_trace_shows_the_way() {
    let mut rig = rig(3);
    steer(&mut rig, "p1");
    rig.bench.rt.trace().order(graph::NodeIndex(999), 1, graph::TraceLog::room(16), 0);
    rig.bench.arrive_as(rig.ports[0], &frame(false, port_mac(0), &[], 7), |b| {
        graph::drive::Bench::trace(b, 7)
    });
    rig.bench.settle();
    let trace = rig.bench.rt.trace().records().map(|record| record.to_string()).collect::<String>();
    let (p0, p1) = (rig.ports[0], rig.ports[1]);
    for line in [
        format!("rx_sw_if_index {p0} tx_sw_if_index {p1} layer-2 header 14 bytes"),
        format!("tx_sw_if_index {p1} l2-output"),
    ] {
        assert!(trace.contains(&line), "{line} isn't in {trace}");
    }
}

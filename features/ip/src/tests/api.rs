// SPDX-License-Identifier: Apache-2.0
//! The binary API.

mod addresses;

use super::*;
use crate::api::{address::*, interface::*};
use fib::api::{flow::*, route::*, source::*, table::*};
use msg::Call;
use net::api::{
    Address, AddressFamily, AddressWithPrefix, FibPath, FibPathNhProto, FibPathType,
    InterfaceIndex, Ip6Address, NO_INDEX, Prefix,
};
use std::collections::BTreeSet;
use std::net::IpAddr;

fn call<R: Call>(bench: &Bench, request: R) -> Result<R::Reply, i32> {
    bench.api().call(request)
}

fn dest(text: &str) -> Prefix {
    prefix(text).into()
}

fn ip6(text: &str, len: u8) -> Prefix {
    let addr: IpAddr = text.parse().expect("an address");
    Prefix { address: Address::from(addr), len }
}

fn table(table_id: u32) -> IpTable {
    IpTable { table_id, ..IpTable::default() }
}

fn via(nexthop: &str, sw_if: Option<SwIfIndex>) -> FibPath {
    let mut path =
        FibPath { sw_if_index: sw_if.map_or(NO_INDEX, |i| i.0), weight: 1, ..FibPath::default() };
    path.nh.address = IpAddr::V4(ip(nexthop)).into();
    path
}

fn route_to(table_id: u32, to: &str, paths: &[FibPath]) -> IpRoute {
    IpRoute { table_id, prefix: dest(to), paths: paths.to_vec(), ..IpRoute::default() }
}

fn add(route: IpRoute) -> IpRouteAddDel {
    IpRouteAddDel { is_add: true, is_multipath: false, route }
}

fn tables(bench: &Bench) -> Vec<(u32, String)> {
    let all = bench.api().dump(IpTableDump {}).into_iter().filter(|t| !t.table.is_ip6);
    all.map(|t| (t.table.table_id, t.table.name.0)).collect()
}

/// The routes of a table that came by the API.
fn routes_of(bench: &Bench, id: u32) -> Vec<IpRouteV2> {
    let all = bench.api().dump(IpRouteV2Dump { src: 8, table: table(id) });
    all.into_iter().map(|d| d.route).collect()
}

/// Where the lookup sends a packet.
fn goes(bench: &mut Bench, to: &str) -> String {
    bench.node("ip4-lookup", &[udp(to).build()], |b| b.rx_if = T1.0)[0].node.clone()
}

#[suite::test]
fn tables_come_and_go() {
    let mut bench = router();
    let add = |is_add, id, name: &str| IpTableAddDel {
        is_add,
        table: IpTable { table_id: id, is_ip6: false, name: name.into() },
    };
    assert_eq!(call(&bench, add(true, 7, "red")), Ok(()));
    assert_eq!(call(&bench, add(true, 7, "again")), Ok(()), "said twice");
    let v2 = IpTableAddDelV2 { table: table(8), create_mfib: true, is_add: true };
    assert_eq!(call(&bench, v2), Ok(()));
    assert_eq!(call(&bench, add(true, 0, "")), Ok(()), "it is there");
    let want = [(0, "default".to_string()), (7, "red".into()), (8, "ipv4-VRF:8".into())];
    assert_eq!(tables(&bench), want);
    assert!(bench.cli("show ip table").expect("shown").contains("red"));

    let given = call(&bench, IpTableAllocate { table: table(u32::MAX) }).expect("allocated");
    assert_eq!(given.table.table_id, 1);
    let given = call(&bench, IpTableAllocate { table: table(9) }).expect("allocated");
    assert_eq!((given.table.table_id, tables(&bench).len()), (9, 5));

    let set = |vrf_id| SwInterfaceSetTable { sw_if_index: T1.into(), is_ipv6: false, vrf_id };
    assert_eq!(call(&bench, set(7)), Err(-114), "it has an address");
    bench.cli("set interface ip address del t1 all").expect("removed");
    assert_eq!(call(&bench, set(77)), Err(-3));
    assert_eq!(call(&bench, set(7)), Ok(()));
    let get = |sw_if_index, is_ipv6| SwInterfaceGetTable { sw_if_index, is_ipv6 };
    assert_eq!(call(&bench, get(T1.into(), false)).map(|r| r.vrf_id), Ok(7));
    assert_eq!(call(&bench, get(T2.into(), false)).map(|r| r.vrf_id), Ok(0));
    assert_eq!(call(&bench, get(InterfaceIndex(77), false)).err(), Some(-2));
    assert_eq!(call(&bench, get(T1.into(), true)).map(|r| r.vrf_id), Ok(0));
    assert_eq!(call(&bench, SwInterfaceSetTable { is_ipv6: true, ..set(7) }), Err(-3));

    assert_eq!(call(&bench, add(false, 7, "")), Ok(()));
    assert!(tables(&bench).iter().any(|t| t.0 == 7), "an interface is in it");
    assert_eq!(call(&bench, set(0)), Ok(()));
    assert_eq!(call(&bench, add(false, 7, "")), Ok(()), "it is gone");
    assert!(tables(&bench).iter().all(|t| t.0 != 7));
    let six = IpTable { table_id: 3, is_ip6: true, ..IpTable::default() };
    assert_eq!(call(&bench, IpTableAddDel { is_add: true, table: six.clone() }), Ok(()));
    let given = call(&bench, IpTableAllocate { table: IpTable { table_id: u32::MAX, ..six } });
    assert_eq!(given.expect("allocated").table.table_id, 1);
    let six: Vec<_> =
        bench.api().dump(IpTableDump {}).into_iter().filter(|t| t.table.is_ip6).collect();
    let names: Vec<_> = six.iter().map(|t| (t.table.table_id, t.table.name.as_str())).collect();
    assert_eq!(names, [(0, "default"), (3, "ipv6-VRF:3"), (1, "ipv6-VRF:1")]);
}

#[suite::test]
fn routes_are_added_replaced_and_removed() {
    let mut bench = router();
    let direct = via("10.0.2.2", Some(T2));
    let index = call(&bench, add(route_to(0, "30.0.0.0/8", &[direct]))).expect("added").stats_index;
    assert_eq!(
        bench
            .world
            .get::<Fib<Ip4>>()
            .route(TableIndex::DEFAULT, prefix("30.0.0.0/8"))
            .expect("there")
            .index
            .0,
        index
    );
    assert_eq!(goes(&mut bench, "30.1.2.3"), "ip4-rewrite");
    assert!(bench.cli("show ip fib 30.0.0.0/8").expect("shown").contains("API src-flags"));

    // A second path beside it, then another instead of both.
    let second = FibPath { weight: 3, ..via("10.0.2.3", Some(T2)) };
    let change = |is_add, is_multipath, paths: &[FibPath]| IpRouteAddDel {
        is_add,
        is_multipath,
        route: route_to(0, "30.0.0.0/8", paths),
    };
    let index_of = |r: Result<IpRouteAddDelReply, i32>| r.map(|r| r.stats_index);
    assert_eq!(index_of(call(&bench, change(true, true, &[second]))), Ok(index));
    assert_eq!(routes_of(&bench, 0)[0].paths, [direct, second]);
    assert_eq!(index_of(call(&bench, change(false, true, &[direct]))), Ok(u32::MAX));
    assert_eq!(routes_of(&bench, 0)[0].paths, [second]);
    let drop = FibPath {
        r#type: FibPathType::Drop,
        sw_if_index: NO_INDEX,
        weight: 1,
        ..FibPath::default()
    };
    assert_eq!(index_of(call(&bench, change(true, false, &[drop]))), Ok(index));
    assert_eq!(routes_of(&bench, 0)[0].paths, [drop]);
    assert_eq!(goes(&mut bench, "30.1.2.3"), "ip4-drop");
    assert_eq!(index_of(call(&bench, change(false, true, &[]))), Err(-52), "of paths, but which?");
    assert_eq!(index_of(call(&bench, change(true, false, &[]))), Err(-52), "without a path");
    assert_eq!(index_of(call(&bench, change(false, false, &[]))), Ok(u32::MAX));
    assert_eq!(index_of(call(&bench, change(false, false, &[]))), Ok(u32::MAX), "it is gone");
    assert_eq!(routes_of(&bench, 0), []);

    // Routes that are refused.
    let refused = |route| call(&bench, add(route)).err();
    assert_eq!(refused(route_to(77, "30.0.0.0/8", &[direct])), Some(-3));
    assert_eq!(
        refused(route_to(0, "30.0.0.0/8", &[via("10.0.2.2", Some(SwIfIndex(77)))])),
        Some(-2)
    );
    assert_eq!(refused(route_to(0, "30.0.0.0/8", &[via("224.0.0.1", Some(T2))])), Some(-7));
    let six = IpRoute { prefix: ip6("2001:db8::", 32), ..route_to(0, "30.0.0.0/8", &[direct]) };
    assert_eq!(refused(six), None, "a next hop of the other protocol");
    let long = Prefix { len: 33, ..dest("30.0.0.0/8") };
    assert_eq!(refused(IpRoute { prefix: long, ..route_to(0, "30.0.0.0/8", &[direct]) }), Some(-7));
    let labels = FibPath { n_labels: 1, ..direct };
    assert_eq!(refused(route_to(0, "30.0.0.0/8", &[labels])), Some(-9));
}

#[suite::test]
fn routes_have_sources_and_are_looked_up() {
    let mut bench = router();
    let direct = via("10.0.2.2", Some(T2));
    let as_source = |src, to: &str| IpRouteAddDelV2 {
        is_add: true,
        is_multipath: false,
        route: IpRouteV2 { src, prefix: dest(to), paths: vec![direct], ..IpRouteV2::default() },
    };
    let api = call(&bench, as_source(0, "31.0.0.0/8")).expect("added").stats_index;
    call(&bench, as_source(12, "32.0.0.0/8")).expect("added");
    for src in [1, 4, 15, 20, 99] {
        assert_eq!(call(&bench, as_source(src, "33.0.0.0/8")).err(), Some(-7), "source {src}");
    }
    let sources = bench.api().dump(FibSourceDump {});
    let dhcp = sources.iter().find(|d| d.src.id == 12).expect("a source");
    assert_eq!((dhcp.src.name.as_str(), dhcp.src.priority), ("DHCP", 0xb0));
    let dump = |src| {
        let all = bench.api().dump(IpRouteV2Dump { src, table: table(0) });
        all.into_iter().map(|d| d.route).collect::<Vec<_>>()
    };
    assert_eq!(dump(12).iter().map(|r| r.prefix).collect::<Vec<_>>(), [dest("32.0.0.0/8")]);
    assert_eq!(
        dump(9).iter().map(|r| r.prefix).collect::<Vec<_>>(),
        [dest("20.0.0.0/8")],
        "of the CLI"
    );
    let all = dump(0);
    assert_eq!(all.len(), bench.api().dump(IpRouteDump { table: table(0) }).len());
    let own = all.iter().find(|r| r.prefix == dest("10.0.1.1/32")).expect("our own address");
    assert_eq!((own.src, own.paths[0].r#type), (4, FibPathType::Local));
    assert!(bench.api().dump(IpRouteDump { table: table(77) }).is_empty());
    let six = IpTable { is_ip6: true, ..table(0) };
    let all = bench.api().dump(IpRouteDump { table: six });
    assert!(
        all.iter().any(|d| d.route.prefix == ip6("fe80::", 10))
            && all.iter().all(|d| d.route.prefix.address.af.is_ip6())
    );

    let find = |table_id, exact, prefix| IpRouteLookupV2 { table_id, exact, prefix };
    let found = call(&bench, find(0, 0, dest("31.9.9.0/24"))).expect("found").route;
    assert_eq!((found.prefix, found.src, found.stats_index), (dest("31.0.0.0/8"), 8, api));
    assert_eq!(found.paths, [direct]);
    assert_eq!(call(&bench, find(0, 1, dest("31.9.9.0/24"))).err(), Some(-6));
    assert_eq!(call(&bench, find(77, 0, dest("31.9.9.0/24"))).err(), Some(-3));
    assert!(call(&bench, find(0, 0, ip6("2001::", 16))).is_ok());
    let v1 = IpRouteLookup { table_id: 0, exact: 1, prefix: dest("32.0.0.0/8") };
    assert_eq!(call(&bench, v1).expect("found").route.paths, [direct]);

    // Packets are counted where the reply says.
    goes(&mut bench, "31.1.1.1");
    assert_eq!(bench.world.get::<net::Routes>().to.sum(api as usize).0, 1);
}

#[suite::test]
fn routes_of_a_client_are_flushed_and_swept() {
    let mut bench = router();
    call(&bench, IpTableAddDel { is_add: true, table: table(7) }).expect("made");
    let direct = via("10.0.2.2", Some(T2));
    for to in ["30.0.0.0/8", "31.0.0.0/8", "32.0.0.0/8"] {
        call(&bench, add(route_to(7, to, &[direct]))).expect("added");
    }
    bench.cli("ip route add table 7 33.0.0.0/8 via 10.0.2.2 t2").expect("added");
    let left = |bench: &Bench| routes_of(bench, 7).iter().map(|r| r.prefix).collect::<Vec<_>>();
    assert_eq!(call(&bench, IpTableReplaceBegin { table: table(7) }), Ok(()));
    call(&bench, add(route_to(7, "31.0.0.0/8", &[direct]))).expect("said again");
    assert_eq!(left(&bench).len(), 3);
    assert_eq!(call(&bench, IpTableReplaceEnd { table: table(7) }), Ok(()));
    assert_eq!(left(&bench), [dest("31.0.0.0/8")]);
    assert_eq!(call(&bench, IpTableFlush { table: table(7) }), Ok(()));
    assert_eq!(left(&bench), []);
    assert!(
        bench.cli("show ip fib table 7").expect("shown").contains("33.0.0.0/8"),
        "the CLI's stays"
    );
    assert_eq!(call(&bench, IpTableReplaceBegin { table: table(77) }), Err(-3));
    assert_eq!(call(&bench, IpTableReplaceEnd { table: table(77) }), Err(-3));
    assert_eq!(call(&bench, IpTableFlush { table: table(77) }), Err(-3));
    let six = IpTable { is_ip6: true, ..table(7) };
    assert_eq!(call(&bench, IpTableFlush { table: six }), Err(-3));
}

#[suite::test]
fn what_a_flow_is_is_chosen_by_table() {
    let mut bench = router();
    let v1 = |vrf_id, is_ipv6, src, symmetric| SetIpFlowHash {
        vrf_id,
        is_ipv6,
        src,
        dst: true,
        sport: false,
        dport: false,
        proto: true,
        reverse: false,
        symmetric,
    };
    assert_eq!(call(&bench, v1(0, false, true, true)), Ok(()));
    let shown = |bench: &mut Bench| bench.cli("show ip fib summary").expect("shown");
    assert!(shown(&mut bench).contains("flow hash:[src dst proto symmetric ]"));
    let v2 = |table_id, af, bits| SetIpFlowHashV2 {
        table_id,
        af,
        flow_hash_config: IpFlowHashConfig(bits),
    };
    assert_eq!(call(&bench, v2(0, AddressFamily::Ip4, 4 | 8)), Ok(()));
    assert!(shown(&mut bench).contains("flow hash:[sport dport ]"));
    let v3 = SetIpFlowHashV3 {
        table_id: 0,
        af: AddressFamily::Ip4,
        flow_hash_config: IpFlowHashConfigV2::SRC_IP | IpFlowHashConfigV2::REVERSE,
    };
    assert_eq!(call(&bench, v3), Ok(()));
    assert!(shown(&mut bench).contains("flow hash:[src reverse ]"));
    assert_eq!(call(&bench, v1(77, false, true, true)), Err(-3));
    assert_eq!(call(&bench, v1(0, true, true, true)), Ok(()));
    assert!(bench.cli("show ip6 table 0").expect("shown").contains("symmetric"));
    assert_eq!(call(&bench, v2(0, AddressFamily::Ip6, 129)), Ok(()));
    assert!(bench.cli("show ip6 table 0").expect("shown").contains("src flowlabel"));
    let gtp = SetIpFlowHashV3 {
        table_id: 0,
        af: AddressFamily::Ip4,
        flow_hash_config: IpFlowHashConfigV2::GTPV1_TEID,
    };
    assert_eq!(call(&bench, gtp), Err(-9));
    assert_eq!(call(&bench, SetIpFlowHashRouterId { router_id: 9 }), Ok(()));
    assert!(
        shown(&mut bench)
            .lines()
            .any(|line| line.contains("flow hash:[src reverse ]") && line.ends_with("router-id:9"))
    );
    assert_eq!(call(&bench, SetIpFlowHashRouterId { router_id: 0 }), Ok(()));
    assert_eq!(call(&bench, v2(0, AddressFamily::Ip4, 1 << 20)), Err(-7));
    assert!(shown(&mut bench).contains("flow hash:[src reverse ]"), "as before");
}

#[suite::test]
fn a_dump_goes_on_while_routes_change() {
    let bench = router();
    let (world, fib) = (&bench.world, bench.world.get::<Fib<Ip4>>());
    let path = [Path::new(PathKind::Neighbor { sw_if: T2, nexthop: ip("10.0.2.2").into() })];
    let nth =
        |i: u32| Ip4Prefix::new(Ipv4Addr::from_bits(40 << 24 | i << 8), 24).expect("a prefix");
    let set =
        |i| fib.set(world, TableIndex::DEFAULT, nth(i), Source::Api, &path).map(drop).expect("set");
    let remove =
        |i| fib.remove(world, TableIndex::DEFAULT, nth(i), Source::Api, &[]).expect("removed");
    (0..20_000).for_each(set);
    // Odd ones go, as many new ones come behind and between; even ones stay.
    let mut step = 0;
    let seen = bench.api().dump_while(IpRouteDump { table: table(0) }, || {
        for i in (step * 300..(step + 1) * 300).filter(|i| i % 2 == 1 && *i < 20_000) {
            remove(19_999 - (i - 1));
            set(20_000 + i);
        }
        step += 1;
    });
    assert!(step > 10, "it came in {step} parts");
    let seen: Vec<Ip4Prefix> =
        seen.iter().filter_map(|d| d.route.prefix.of::<Ip4>().expect("valid")).collect();
    let once: BTreeSet<Ip4Prefix> = seen.iter().copied().collect();
    assert_eq!(once.len(), seen.len(), "none twice");
    assert!((0..20_000).step_by(2).all(|i| once.contains(&nth(i))), "what stays is seen");
}

#[suite::test]
fn ipv6_by_the_api() {
    let mut bench = router();
    let six =
        |prefix, paths: &[FibPath]| IpRoute { prefix, paths: paths.to_vec(), ..IpRoute::default() };
    let address = |sw_if: SwIfIndex, is_add, prefix| SwInterfaceAddDelAddress {
        sw_if_index: sw_if.into(),
        is_add,
        del_all: false,
        prefix: AddressWithPrefix(prefix),
    };
    assert_eq!(call(&bench, address(T1, true, ip6("2001:db8:1::1", 64))), Ok(()));
    assert_eq!(call(&bench, address(T2, true, ip6("2001:db8:2::1", 64))), Ok(()));
    assert_eq!(call(&bench, address(T2, true, ip6("2001:db8:2::1", 129))), Err(-59));
    let mut path = via("0.0.0.0", Some(T2));
    path.proto = FibPathNhProto::Ip6;
    path.nh.address = IpAddr::V6(super::ip6("2001:db8:2::2")).into();
    let index = call(&bench, add(six(ip6("3000::", 16), &[path]))).expect("added").stats_index;
    let other = call(&bench, add(six(ip6("3001::", 16), &[via("10.0.2.2", Some(T2))])));
    assert!(other.is_ok(), "a next hop of the other protocol");
    let found =
        call(&bench, IpRouteLookupV2 { table_id: 0, exact: 0, prefix: ip6("3000::7", 128) })
            .expect("found");
    assert_eq!((found.route.stats_index, found.route.paths), (index, vec![path]));
    let out = bench.node("ip6-lookup", &[udp6("3000::1").build()], |b| b.rx_if = T1.0);
    assert_eq!(out[0].node, "ip6-discover-neighbor");

    let get = SwInterfaceIp6GetLinkLocalAddress { sw_if_index: T1.into() };
    assert_eq!(call(&bench, get).expect("there").ip.0, super::ip6("fe80::ff:fe00:1").octets());
    let set = |ip: &str| SwInterfaceIp6SetLinkLocalAddress {
        sw_if_index: T1.into(),
        ip: Ip6Address(super::ip6(ip).octets()),
    };
    assert_eq!(call(&bench, set("2001::1")), Err(-7));
    assert_eq!(call(&bench, set("fe80::77")), Ok(()));
    let get = SwInterfaceIp6GetLinkLocalAddress { sw_if_index: T1.into() };
    assert_eq!(call(&bench, get).expect("there").ip.0, super::ip6("fe80::77").octets());

    assert_eq!(call(&bench, SwInterfaceAddressReplaceBegin {}), Ok(()));
    assert_eq!(call(&bench, address(T1, true, ip6("2001:db8:1::1", 64))), Ok(()), "said again");
    assert_eq!(call(&bench, SwInterfaceAddressReplaceEnd {}), Ok(()));
    let left = |sw_if: SwIfIndex| {
        bench.api().dump(IpAddressDump { sw_if_index: sw_if.into(), is_ipv6: true }).len()
    };
    assert_eq!((left(T1), left(T2)), (1, 0));
    let enable = |enable| SwInterfaceIp6EnableDisable { sw_if_index: T2.into(), enable };
    let get = || {
        call(&bench, SwInterfaceIp6GetLinkLocalAddress { sw_if_index: T2.into() })
            .expect("there")
            .ip
            .0
    };
    assert_eq!(get(), [0; 16]);
    assert_eq!(call(&bench, enable(true)), Ok(()));
    assert_eq!(get(), super::ip6("fe80::ff:fe00:2").octets());
    for (is_add, addr, len, want) in [
        (true, "fe80::5", 64, Err(-59)),
        (true, "fe80::5", 128, Ok(())),
        (false, "fe80::5", 64, Err(-59)),
        (false, "fe80::5", 128, Err(-61)),
        (false, "fe80::6", 128, Err(-60)),
        (true, "::1", 128, Ok(())),
        (true, "ff02::1", 128, Ok(())),
        (false, "ff02::1", 128, Ok(())),
        (true, "::", 128, Err(-7)),
    ] {
        assert_eq!(
            call(&bench, address(T2, is_add, ip6(addr, len))),
            want,
            "{is_add} {addr}/{len}"
        );
    }
    assert_eq!(left(T2), 1, "::1");
    assert_eq!(call(&bench, address(T2, false, ip6("::1", 128))), Ok(()));
    assert_eq!(get(), super::ip6("fe80::5").octets(), "it stays");
    assert_eq!(call(&bench, enable(false)), Ok(()));
    assert_eq!(get(), [0; 16]);
}

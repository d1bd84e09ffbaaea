// SPDX-License-Identifier: Apache-2.0
//! Paths that features take, and paths that lead back.

use super::*;
use fib::api::route::*;
use net::api::{FibPath, FibPathType};

#[suite::test]
fn a_route_sends_packets_in_by_another_interface() {
    let mut bench = router();
    let packet = |ttl| pkt::ip4(HOST, "60.0.0.1").ttl(ttl).udp(1000, 2000).payload_len(18).build();
    bench.cli("ip route add 60.0.0.0/8 via rx-ip4 t2").expect("added");
    let out = bench.node("ip4-lookup", &[packet(9)], |b| b.rx_if = T1.0);
    assert_eq!(out[0].node, "interface-rx-dpo-ip4");
    let show = bench.cli("show ip fib 60.0.0.0/8").expect("shown");
    assert!(show.matches("interface-rx: t2").count() == 2, "{show}");
    let adj = bench
        .world
        .get::<Fib<Ip4>>()
        .route(TableIndex::DEFAULT, prefix("60.0.0.0/8"))
        .expect("there");
    let adj = adj.sources[0].adj;
    let mut goes = |ttl| {
        let out = bench.node("interface-rx-dpo-ip4", &[packet(ttl)], |b| {
            b.rx_if = T1.0;
            b.set_scratch(net::IpMeta::of(adj, 0));
        });
        (out[0].node.clone(), out[0].bytes[8])
    };
    assert_eq!(goes(9), ("ip4-input".to_string(), 8));
    // Two that send to each other end when the hop limit does.
    assert!(goes(1).0.contains("drop"));
    let wrong = bench.cli("ip route add 61.0.0.0/8 via rx-ip6 t2").expect_err("of the other");
    assert!(wrong.to_string().contains("other"), "{wrong}");
    let nobody = bench.cli("ip route add 61.0.0.0/8 via udp-encap 3").expect_err("nobody takes it");
    assert!(nobody.to_string().contains("no feature takes udp-encap"), "{nobody}");
    let by_api = |kind, n_labels| {
        let path = FibPath { r#type: kind, sw_if_index: T2.0, n_labels, ..FibPath::default() };
        let route = IpRoute {
            prefix: prefix("62.0.0.0/8").into(),
            paths: vec![path],
            ..IpRoute::default()
        };
        bench.api().call(IpRouteAddDel { is_add: true, is_multipath: false, route }).map(drop)
    };
    assert_eq!(by_api(FibPathType::InterfaceRx, 0), Ok(()));
    let route =
        bench.api().dump(IpRouteV2Dump { src: 8, table: Default::default() }).remove(0).route;
    assert_eq!(
        (route.paths[0].r#type, route.paths[0].sw_if_index),
        (FibPathType::InterfaceRx, T2.0)
    );
    for refused in [FibPathType::UdpEncap, FibPathType::Classify, FibPathType::Dvr] {
        assert_eq!(by_api(refused, 0), Err(-9), "{refused:?}");
    }
    assert_eq!((by_api(FibPathType::Drop, 2), by_api(FibPathType::Drop, 17)), (Err(-9), Err(-7)));
    // With the interface its paths go.
    bench.world.get::<Interfaces>().delete(&bench.world, T2).expect("deleted");
    assert!(bench.cli("show ip fib 60.0.0.0/8").is_err());
}

#[suite::test]
fn routes_that_lead_in_a_circle_are_marked() {
    let mut bench = router();
    for line in ["ip route add 50.0.0.0/8 via 51.0.0.1", "ip route add 51.0.0.0/8 via 50.0.0.1"] {
        bench.cli(line).expect("added");
    }
    let show = ["50.0.0.0/8", "51.0.0.0/8"]
        .map(|p| bench.cli(&format!("show ip fib {p}")).expect("shown"));
    assert!(show.iter().any(|text| text.contains("unresolved, looped")), "{show:?}");
    bench.cli("ip route del 51.0.0.0/8").expect("removed");
    let show = bench.cli("show ip fib 50.0.0.0/8").expect("shown");
    assert!(!show.contains("looped"), "{show}");
}

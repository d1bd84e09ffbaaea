// SPDX-License-Identifier: Apache-2.0
//! Sources of routes in the binary API.

use super::*;
use fib::api::{route::*, source::*};
use net::api::{FibPath, FibPathType};

#[suite::test]
fn a_client_adds_a_source_and_routes_of_it() {
    let bench = router();
    let src = FibSource { priority: 0x20, id: 0, name: "mine".into() };
    let id = bench.api().call(FibSourceAdd { src: src.clone() }).expect("added").id;
    let all: Vec<FibSource> =
        bench.api().dump(FibSourceDump {}).into_iter().map(|d| d.src).collect();
    assert!(all.contains(&FibSource { id, ..src }));
    assert!(all.contains(&FibSource { priority: 0x81, id: 9, name: "CLI".into() }));
    assert!(all.is_sorted_by_key(|src| src.priority));
    let route = |src| IpRouteV2 {
        prefix: prefix("30.0.0.0/8").into(),
        paths: vec![FibPath { r#type: FibPathType::Drop, ..FibPath::default() }],
        src,
        ..IpRouteV2::default()
    };
    let add = |src| {
        let message = IpRouteAddDelV2 { is_add: true, is_multipath: false, route: route(src) };
        bench.api().call(message).map(drop)
    };
    assert_eq!(add(id), Ok(()));
    assert!(add(id + 1).is_err(), "nobody's");
    let routes = bench.api().dump(IpRouteV2Dump { src: id, table: Default::default() });
    assert_eq!(routes.len(), 1);
    let wrong = FibSource { priority: 1, id: 0, name: "top".into() };
    assert_eq!(bench.api().call(FibSourceAdd { src: wrong }).map(drop), Err(-7));
}

// SPDX-License-Identifier: Apache-2.0
//! Messages, commands, and the lines that set again what was set.

use super::*;
use crate::api::*;
use msg::Call;
use net::api::InterfaceIndex;

fn call<R: Call>(bench: &Bench, request: R) -> Result<R::Reply, i32> {
    bench.api().call(request)
}

fn config(bench: &Bench) -> Vec<String> {
    let lines = bench.world.running_config().into_iter().map(|line| line.text);
    lines.filter(|line| line.contains("reassembly")).collect()
}

#[suite::test]
fn limits_are_set_and_told() {
    let (mut bench, _) = bench();
    let get = |bench: &Bench, kind| {
        let r = call(bench, IpReassemblyGet { is_ip6: false, r#type: kind }).expect("told");
        [r.timeout_ms, r.max_reassemblies, r.max_reassembly_length, r.expire_walk_interval_ms]
    };
    assert_eq!(get(&bench, IpReassType::Full), [5000, 1024, 64, 1000]);
    let set = |timeout_ms, kind| IpReassemblySet {
        timeout_ms,
        max_reassemblies: 7,
        max_reassembly_length: 3,
        expire_walk_interval_ms: 10_000,
        is_ip6: false,
        r#type: kind,
    };
    assert!(call(&bench, set(200, IpReassType::ShallowVirtual)).is_ok());
    assert_eq!(get(&bench, IpReassType::ShallowVirtual), [200, 7, 3, 10_000]);
    assert_eq!(get(&bench, IpReassType::Full), [5000, 1024, 64, 1000]);
    run(&mut bench, "set ip4-full-reassembly timeout 30000");
    let shown = run(&mut bench, "show ip4-full-reassembly");
    assert!(shown.contains("full IP4 reassembly timeout: 30000ms\n"), "{shown}");
    let json = run(&mut bench, "show ip4-sv-reassembly -j");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((json["timeout_ms"].as_u64(), json["under_way"].as_u64()), (Some(200), Some(0)));
    assert_eq!(
        config(&bench),
        [
            "set ip4-full-reassembly timeout 30000",
            "set ip4-sv-reassembly timeout 200",
            "set ip4-sv-reassembly max-reassemblies 7",
            "set ip4-sv-reassembly max-reassembly-length 3",
            "set ip4-sv-reassembly expire-walk-interval 10000",
        ]
    );
}

#[suite::test]
fn interfaces_are_enabled_and_forgotten() {
    let (mut bench, sw_if) = bench();
    let enable = |sw_if, enable_ip4, kind| IpReassemblyEnableDisable {
        sw_if_index: InterfaceIndex(sw_if),
        enable_ip4,
        enable_ip6: false,
        r#type: kind,
    };
    assert_eq!(call(&bench, enable(77, true, IpReassType::Full)).err(), Some(-2));
    assert!(call(&bench, enable(sw_if.0, true, IpReassType::Full)).is_ok());
    assert!(call(&bench, enable(sw_if.0, true, IpReassType::ShallowVirtual)).is_ok());
    assert_eq!(
        config(&bench),
        ["set interface reassembly t0 ip4", "set interface virtual-reassembly t0 ip4"]
    );
    run(&mut bench, "set interface reassembly t0 on");
    assert_eq!(config(&bench)[0], "set interface reassembly t0 on");
    run(&mut bench, "set interface reassembly t0 off");
    assert_eq!(config(&bench), ["set interface virtual-reassembly t0 ip4"]);
    bench.world.get::<Interfaces>().delete(&bench.world, sw_if).expect("deleted");
    let again = interface(&bench.world);
    assert_eq!((again, config(&bench)), (sw_if, vec![]));
}

#[suite::test]
fn local_delivery_may_be_disabled() {
    let (mut bench, _) = bench();
    let get = |bench: &Bench| {
        let r = call(bench, IpLocalReassGet {}).expect("told");
        (r.ip4_is_enabled, r.ip6_is_enabled)
    };
    assert_eq!(get(&bench), (true, true));
    assert!(
        call(&bench, IpLocalReassEnableDisable { enable_ip4: true, enable_ip6: false }).is_ok()
    );
    assert_eq!(
        (get(&bench), config(&bench)),
        ((true, false), vec!["set ip local-reassembly ip6 disable".to_string()])
    );
    run(&mut bench, "set ip local-reassembly ip6 enable");
    assert_eq!((get(&bench), config(&bench)), ((true, true), vec![]));
}

// SPDX-License-Identifier: Apache-2.0
//! The nodes of an interface have its name, wherever they are shown, also after a restart.

use super::*;
use stats::Reader;

const LINES: &str = "create packet-generator interface pg0
    create packet-generator interface pg1
    create sub-interfaces pg0 10
    set interface state pg0 up
    set node variant pg0-output v1
    packet-generator new { name x limit 3 size 64-64 interface pg1 node pg0-output data { hex 0x0200000000010200000000020800 } }
    set interface name pg0 wan";

/// Entries of the stats directory that begin with these.
fn listed(instance: &Instance, prefix: &str) -> usize {
    let reader = Reader::new(&instance.bench.world.stats).expect("a segment");
    let all = reader.list().expect("readable");
    all.iter().filter(|(name, _)| name.starts_with(prefix)).count()
}

fn total(instance: &Instance, name: &str) -> Option<u64> {
    let reader = Reader::new(&instance.bench.world.stats).expect("a segment");
    reader.get(name).expect("readable").map(|value| value.total())
}

/// Sends the packets of the stream.
fn send(instance: &mut Instance) {
    instance.must("packet-generator enable-stream x");
    while instance.must("show packet-generator").contains("Yes") {}
}

/// The interface, which was `before`, is now `after`.
fn check(instance: &mut Instance, before: &str, after: &str) {
    for node in ["-output", "-tx", ".10-output"] {
        assert!(instance.run(&format!("show node {before}{node}")).is_err(), "{before}{node}");
        let shown = instance.must(&format!("show node {after}{node}"));
        assert!(shown.contains(&format!("{after}{node}")), "{shown}");
        let link = |name: &str| listed(instance, &format!("/nodes/{name}{node}/"));
        assert_eq!((link(before), link(after)), (0, 4), "{node}");
    }
    let entries = |what: &str, name: &str| listed(instance, &format!("/{what}/{name}"));
    for what in ["interfaces", "err"] {
        assert_eq!(entries(what, &format!("{before}/")), 0, "{what}");
        assert_eq!(entries(what, &format!("{before}-")), 0, "{what}");
    }
    assert!(entries("interfaces", &format!("{after}/")) > 0);
    assert!(entries("err", &format!("{after}-output/")) > 0);
    instance.must("clear runtime");
    instance.must("clear interfaces");
    instance.must("clear errors");
    instance.must("clear trace");
    instance.must("trace add pg-input 1");
    send(instance);
    instance.must(&format!("set interface state {after} down"));
    send(instance);
    instance.must(&format!("set interface state {after} up"));
    assert_eq!(total(instance, &format!("/nodes/{after}-output/vectors")), Some(6));
    assert_eq!(total(instance, &format!("/interfaces/{after}/tx")), Some(3));
    assert_eq!(total(instance, &format!("/err/{after}-output/interface is down")), Some(3));
    for show in ["show trace", "show runtime", "show errors", "show packet-generator", "show graph"]
    {
        let text = instance.must(show);
        assert!(text.contains(&format!("{after}-output")), "{show}: {text}");
        assert!(!text.contains(&format!("{before}-output")), "{show}: {text}");
    }
    let line = format!(
        "packet-generator new {{ name y limit 1 interface {after} node {after}-tx data {{ hex 0x02 }} }}"
    );
    instance.must(&line);
    instance.must("packet-generator delete y");
}

#[test]
fn nodes_have_the_names_of_their_interfaces() {
    let mut instance = Instance::after(LINES);
    check(&mut instance, "pg0", "wan");
    let text = instance.config();
    assert!(text.contains("set node variant wan-output v1"), "{text}");
    let mut again = Instance::after(&text);
    assert_eq!(again.config(), text);
    check(&mut again, "pg0", "wan");
    // Names change hands.
    again.must("set interface name pg1 pg0");
    again.must("set interface name wan pg1");
    assert!(again.must("show node pg0-output").contains("pg0-output"));
    check(&mut again, "wan", "pg1");
    // A new interface gets names that are free, and an index with them.
    again.must("delete packet-generator interface pg1");
    assert_eq!(listed(&again, "/nodes/pg1-"), 0);
}

/// The link-local address of an interface without MAC address depends on the name that it was made
/// with, so it is the same whenever the interface is renamed, and after a restart.
#[test]
fn a_link_local_address_outlives_a_name() {
    let shown = [
        "enable ip6 interface pg0\nset interface name pg0 wan",
        "set interface name pg0 wan\nenable ip6 interface wan",
    ]
    .map(|lines| {
        let pg0 = "create packet-generator interface pg0 mode ip6";
        let mut instance = Instance::after(&format!("{pg0}\n{lines}"));
        made_again(&mut instance, lines);
        instance.must("show ip6 interface wan")
    });
    assert!(shown[0].contains("fe80::"), "{shown:?}");
    assert_eq!(shown[0], shown[1]);
}

/// A node that isn't the interface's keeps its name, and packets go on to it.
#[test]
fn names_of_other_nodes_are_refused() {
    let mut instance = Instance::after(LINES);
    for name in ["l2", "tunnel", "interface"] {
        let node = instance.bench.world.node(&format!("{name}-output"));
        let result = instance.run(&format!("set interface name wan {name}"));
        assert_eq!(result.is_err(), node.is_some(), "{name}");
        if let Err(error) = result {
            let why = format!("there is a node {name}-output already");
            assert_eq!((error.code(), error.to_string()), (-79, why));
        } else {
            instance.must(&format!("set interface name {name} wan"));
        }
        assert_eq!(instance.bench.world.node(&format!("{name}-output")), node);
    }
    assert!(instance.must("show node wan-output").contains("wan-output"));
}

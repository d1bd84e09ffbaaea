// SPDX-License-Identifier: Apache-2.0
//! Answering for others.

use super::*;

fn ask(r: &mut Rig, target: &str) -> Vec<(Ipv6Addr, u8)> {
    r.sent();
    r.receive(&solicitation(HIM, target, &link_option(NdOptionKind::SOURCE_LINK, PEER)));
    let answers = r.sent_of(Icmp6Type::NEIGHBOR_ADVERTISEMENT);
    answers
        .iter()
        .map(|p| (Ipv6Addr::from(*p[48..].first_chunk().expect("a target")), p[44]))
        .collect()
}

#[suite::test]
fn a_host_that_is_named_is_answered_for_elsewhere() {
    let mut r = rig();
    let t1 = r.second();
    let world = r.bench.world.clone();
    world.get::<Addresses<Ip6>>().enable(&world, t1, true).expect("enabled");
    r.bench.settle();
    assert_eq!(ask(&mut r, "2001:db8::77"), []);
    r.run("set ip6 nd proxy t1 2001:db8::77");
    assert_eq!(
        ask(&mut r, "2001:db8::77"),
        [(ip("2001:db8::77"), 0x40)],
        "an answer that doesn't insist"
    );
    assert_eq!(ask(&mut r, "2001:db8::78"), []);
    // Packets to the host go to its link.
    let fib = r.bench.world.get::<net::fib::Fib<Ip6>>();
    let route = fib.covering(net::fib::TableIndex(0), ip("2001:db8::77")).expect("a route");
    assert_eq!(route.prefix.to_string(), "2001:db8::77/128");
    // A host that knows our station solicits by unicast: that isn't routed.
    let kind = (Icmp6Type::NEIGHBOR_SOLICITATION, 0, 0);
    let frame =
        message((PEER, OWN), (HIM, "2001:db8::77"), kind, &ip("2001:db8::77").octets(), 255);
    r.receive(&frame);
    assert_eq!(r.sent_of(Icmp6Type::NEIGHBOR_ADVERTISEMENT).len(), 1);
    let groups = r.json("show ip6 interface t0")[0]["groups"].clone();
    assert!(groups.as_array().expect("a list").iter().any(|g| g == "ff02::1:ff00:77"), "{groups}");
    let json = r.json("show ip6 nd proxy");
    assert_eq!(
        (json["hosts"][0]["address"].as_str(), json["hosts"][0]["interface"].as_str()),
        (Some("2001:db8::77"), Some("t1"))
    );
    let world = r.bench.world.clone();
    let mut client = msg::Loopback::new(&*world, &world.api);
    let hosts = client.dump(crate::api::proxy::Ip6ndProxyDump {});
    assert_eq!(
        hosts.iter().map(|h| (h.sw_if_index.0, h.ip.0)).collect::<Vec<_>>(),
        [(t1.0, ip("2001:db8::77").octets())]
    );
    r.run("set ip6 nd proxy t1 del 2001:db8::77");
    assert_eq!(ask(&mut r, "2001:db8::77"), []);
    for (line, part) in [
        ("set ip6 nd proxy t1 del 2001:db8::77", "not answered for"),
        ("set ip6 nd proxy t1 fe80::1", "another link"),
        ("set ip6 nd proxy local0 2001:db8::77", "no Ethernet"),
    ] {
        let error = r
            .tree
            .execute(&r.bench.world, line)
            .err()
            .unwrap_or_else(|| panic!("{line} was taken"));
        assert!(error.to_string().contains(part), "{line}: {error}");
    }
}

/// A host of a network of ours that is behind another interface finds us there, and is known there.
#[suite::test]
fn a_host_that_is_named_finds_us_behind_its_interface() {
    let mut r = rig();
    let t1 = r.second();
    let world = r.bench.world.clone();
    world.get::<Addresses<Ip6>>().enable(&world, t1, true).expect("enabled");
    r.bench.settle();
    let ask = |r: &mut Rig, target: &str| {
        r.sent();
        let frame = solicitation(HIM, target, &link_option(NdOptionKind::SOURCE_LINK, PEER));
        r.bench.send("ethernet-input", &frame, |b| b.rx_if = t1.0);
        let answers = r.sent_of(Icmp6Type::NEIGHBOR_ADVERTISEMENT).into_iter();
        answers.map(|p| (p[24..40].to_vec(), p[48..64].to_vec())).collect::<Vec<_>>()
    };
    let known = |r: &Rig| r.neighbors.get(t1, ip(HIM).into()).map(|n| n.mac);
    let answer = |target: &str| vec![(ip(HIM).octets().to_vec(), ip(target).octets().to_vec())];
    assert_eq!((ask(&mut r, US), known(&r)), (vec![], None), "his network is on another link");
    r.run(&format!("set ip6 nd proxy t1 {HIM}"));
    assert_eq!((ask(&mut r, US), known(&r)), (answer(US), Some(PEER)));
    // An address that comes later is answered for too, one of another network isn't.
    r.add_address("2001:db8::5/64");
    r.add_address("2001:db8:77::5/64");
    assert_eq!(ask(&mut r, "2001:db8::5"), answer("2001:db8::5"));
    assert_eq!(ask(&mut r, "2001:db8:77::5"), []);
    assert_eq!(known(&r), Some(PEER));
    r.run(&format!("set ip6 nd proxy t1 del {HIM}"));
    assert_eq!((known(&r), ask(&mut r, US), known(&r)), (None, vec![], None), "as before");
}

#[suite::test]
fn all_that_are_routed_elsewhere_are_answered_for_where_that_is_enabled() {
    let mut r = rig();
    let t1 = r.second();
    let world = r.bench.world.clone();
    world
        .get::<Addresses<Ip6>>()
        .add(&world, t1, "2001:db8:7::1/64".parse().expect("a prefix"))
        .expect("added");
    r.bench.settle();
    assert_eq!(ask(&mut r, "2001:db8:7::9"), []);
    r.run("set interface ip6-nd proxy t0 enable");
    assert_eq!(ask(&mut r, "2001:db8:7::9"), [(ip("2001:db8:7::9"), 0x40)]);
    assert_eq!(ask(&mut r, "2001:db8::77"), [], "he is on this link");
    assert_eq!(ask(&mut r, "2001:db8:8::9"), [], "there is no way to him");
    assert_eq!(ask(&mut r, "fe80::77"), []);
    world.get::<Interfaces>().delete(&world, t1).expect("deleted");
    r.bench.settle();
    assert_eq!(ask(&mut r, "2001:db8:7::9"), []);
    r.run("set interface ip6-nd proxy t0 disable");
    assert_eq!(r.json("show ip6 nd proxy")["interfaces"], serde_json::json!([]));
}

/// Proxies enabled, moved or removed later: the resulting answers don't depend on the order of
/// settings.
#[suite::test]
fn the_order_in_which_things_are_set_does_not_matter() {
    let mut r = rig();
    let t1 = r.second();
    let world = r.bench.world.clone();
    let (addresses, fib) = (world.get::<Addresses<Ip6>>(), world.get::<net::fib::Fib<Ip6>>());
    let arc = world.arc("ip6-unicast").expect("an arc");
    let looked_at = |sw_if| world.features_of(arc, sw_if).contains(&"ip6-unicast-nd-proxy");
    // The host comes before IPv6 is there.
    r.run("set ip6 nd proxy t0 2001:db8::77");
    assert!(!looked_at(t1));
    addresses.enable(&world, t1, true).expect("enabled");
    r.bench.settle();
    assert!(looked_at(t1), "questions to one station are not routed");
    addresses.enable(&world, t1, false).expect("disabled");
    r.bench.settle();
    assert!(!looked_at(t1));
    // Behind two interfaces there are two paths to the host, and removing one leaves the other.
    r.run("set ip6 nd proxy t1 2001:db8::77");
    let edges = |table: u32| {
        let route = fib.route(net::fib::TableIndex(table), wire::Prefix::host(ip("2001:db8::77")));
        route.map_or(0, |route| route.sources[0].paths.len())
    };
    assert_eq!(edges(0), 2);
    r.run("set ip6 nd proxy t0 del 2001:db8::77");
    assert_eq!(edges(0), 1);
    // With their interface they move to another table.
    let table = fib.add_table(&world, 7, "", net::fib::Source::Cli).expect("a table");
    addresses.set_table(&world, t1, 7).expect("bound");
    assert_eq!((edges(0), edges(table.0)), (0, 1));
    r.run("set ip6 nd proxy t1 del 2001:db8::77");
    assert_eq!((edges(0), edges(table.0)), (0, 0));
}

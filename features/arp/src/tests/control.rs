// SPDX-License-Identifier: Apache-2.0
//! Announcements, ageing, proxy ARP, commands.

use super::*;
use cli::Tree;
use net::NeighborConfig;
use net::fib::{Fib, Source};

fn announcement(mac: MacAddr, ip: [u8; 4]) -> Vec<u8> {
    request((mac, ip), ip)[..42].to_vec()
}

#[suite::test]
fn our_addresses_are_announced_when_they_come_or_move() {
    let mut r = rig();
    let world = r.bench.world.clone();
    let (interfaces, tree) =
        (world.get::<Interfaces>(), Tree::new(PLUGIN.cli).expect("well-formed"));
    add_address(&world, r.t0, "10.0.2.1/24");
    interfaces.set_mac(&world, r.t0, MacAddr([2, 0, 0, 0, 0, 6])).expect("set");
    world
        .get::<Addresses<Ip4>>()
        .remove(&world, r.t0, "10.0.2.1/24".parse().expect("one"))
        .expect("there");
    interfaces.set_mac(&world, r.t0, OWN).expect("set");
    r.bench.settle();
    assert!(r.sent().is_empty(), "not unless that is asked for");
    run(&r, &tree, "set arp announce on");
    add_address(&world, r.t0, "10.0.1.1/24");
    r.bench.settle();
    assert_eq!(r.sent(), [announcement(OWN, [10, 0, 1, 1])], "the new one only");
    let mac = MacAddr([2, 0, 0, 0, 0, 7]);
    interfaces.set_mac(&world, r.t0, mac).expect("set");
    r.bench.settle();
    let both = [announcement(mac, [10, 0, 0, 1]), announcement(mac, [10, 0, 1, 1])];
    assert_eq!(r.sent(), both);
    interfaces.set_admin(&world, r.t0, false).expect("down");
    interfaces.set_link(&world, r.t0, false).expect("down");
    interfaces.set_admin(&world, r.t0, true).expect("up");
    r.bench.settle();
    assert!(r.sent().is_empty(), "nobody hears it while the link is down");
    interfaces.set_link(&world, r.t0, true).expect("up");
    r.bench.settle();
    assert_eq!(r.sent(), both);
    assert_eq!(r.counted("tx/gratuitous"), 5);
    run(&r, &tree, "set arp announce off");
    interfaces.set_mac(&world, r.t0, OWN).expect("set");
    r.bench.settle();
    assert!(r.sent().is_empty());
}

#[suite::test]
fn who_is_no_longer_on_the_link_is_forgotten() {
    let mut r = rig();
    let world = r.bench.world.clone();
    add_address(&world, r.t0, "10.0.1.1/24");
    r.receive(&request((PEER, [10, 0, 0, 9]), [10, 0, 0, 1]));
    r.receive(&request((PEER, [10, 0, 1, 9]), [10, 0, 1, 1]));
    let addresses = world.get::<Addresses<Ip4>>();
    addresses.remove(&world, r.t0, "10.0.1.1/24".parse().expect("a prefix")).expect("there");
    assert_eq!((r.known([10, 0, 0, 9]), r.known([10, 0, 1, 9])), (Some(PEER), None));
    world.get::<Interfaces>().delete(&world, r.t0).expect("deleted");
    assert!(r.neighbors.is_empty(false));
}

#[suite::test]
fn a_neighbour_that_a_route_attaches_stays_when_addresses_change() {
    let mut r = rig();
    let world = r.bench.world.clone();
    let (sw_if, far) = (r.t0, std::net::Ipv4Addr::new(10, 9, 0, 9));
    super::answers::add_route(
        &world,
        "10.9.0.9/32",
        net::fib::PathKind::Neighbor { sw_if, nexthop: far.into() },
    );
    r.receive(&request((PEER, far.octets()), [10, 0, 0, 1]));
    assert_eq!(r.known(far.octets()), Some(PEER));
    add_address(&world, r.t0, "10.0.2.1/24");
    assert_eq!(r.known(far.octets()), Some(PEER));
}

#[suite::test]
fn the_old_are_asked_at_their_station_and_the_silent_removed() {
    let mut r = rig();
    r.neighbors
        .configure(false, NeighborConfig { age: 100, confirm: 0, ..NeighborConfig::default() });
    r.receive(&request((PEER, [10, 0, 0, 9]), [10, 0, 0, 1]));
    r.receive(&request((PEER, [10, 0, 0, 8]), [10, 0, 0, 1]));
    r.sent();
    // Packets were sent to one of them.
    let adjacencies = r.bench.world.get::<net::Adjacencies>();
    let adj = adjacencies.find_neighbor(r.t0, [10, 0, 0, 9].into()).expect("made by the neighbour");
    adjacencies.counters.lane(0).add(adj.at(), 1, 100);
    r.pass(99);
    assert!(r.sent().is_empty());
    r.pass(1);
    let probe = arp(1, (OWN, [10, 0, 0, 1]), (PEER, [10, 0, 0, 9]), PEER)[..42].to_vec();
    assert_eq!(r.sent(), std::slice::from_ref(&probe));
    assert_eq!(r.known([10, 0, 0, 8]), None, "nobody misses it, so it isn't asked");
    r.receive(&reply((PEER, [10, 0, 0, 9])));
    r.pass(99);
    assert!(r.sent().is_empty(), "its answer counts");
    r.pass(2);
    assert_eq!(r.known([10, 0, 0, 9]), Some(PEER));
    r.pass(3);
    assert_eq!((r.sent(), r.known([10, 0, 0, 9])), (vec![probe; 3], None));
}

fn run(r: &Rig, tree: &Tree<World>, line: &str) -> String {
    tree.answer(&r.bench.world, line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

#[suite::test]
fn others_are_answered_for_where_that_is_enabled() {
    let mut r = rig();
    let tree = Tree::new(PLUGIN.cli).expect("the commands are well-formed");
    run(&r, &tree, "set arp proxy start 10.0.0.20 end 10.0.0.29");
    run(&r, &tree, "set arp proxy table-id 0 start 10.0.0.40 end 10.0.0.40");
    // In any order, as in VPP.
    run(&r, &tree, "set arp proxy end 10.0.0.50 start 10.0.0.50 table-id 0");
    run(&r, &tree, "set arp proxy start 10.0.0.50 end 10.0.0.50 del");
    let ask = |r: &mut Rig, sender, target| {
        r.receive(&request((PEER, sender), target));
        r.sent()
    };
    let answer = |ip| arp(2, (OWN, ip), (PEER, [10, 0, 0, 9]), PEER);
    assert!(ask(&mut r, [10, 0, 0, 9], [10, 0, 0, 20]).is_empty(), "not enabled");
    assert_eq!(r.bench.count("arp-reply", "l3_dst_address_not_local"), 1);
    run(&r, &tree, "set interface proxy-arp t0 enable");
    for (ip, answered) in [(19, false), (20, true), (29, true), (30, false), (40, true)] {
        let target = [10, 0, 0, ip];
        let want: Vec<_> = answered.then(|| answer(target)).into_iter().collect();
        assert_eq!(ask(&mut r, [10, 0, 0, 9], target), want, "{ip}");
    }
    assert_eq!(r.bench.count("arp-proxy", "l3_dst_address_not_local"), 2);
    assert!(
        ask(&mut r, [0, 0, 0, 0], [10, 0, 0, 20]).is_empty(),
        "whether an address is free is not ours to say"
    );
    assert!(r.neighbors.is_empty(false));
    assert!(!ask(&mut r, [10, 0, 0, 9], [10, 0, 0, 1]).is_empty(), "our own");
    let shown = run(&r, &tree, "show arp proxy");
    assert!(shown.contains("10.0.0.20 - 10.0.0.29") && shown.contains("Interfaces: t0"), "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&run(&r, &tree, "show arp proxy -j")).expect("JSON");
    assert_eq!(
        (json["ranges"][1]["start"].as_str(), json["interfaces"][0].as_str()),
        (Some("10.0.0.40"), Some("t0"))
    );
    run(&r, &tree, "set arp proxy del start 10.0.0.20 end 10.0.0.29");
    assert!(ask(&mut r, [10, 0, 0, 9], [10, 0, 0, 20]).is_empty());
    run(&r, &tree, "set interface proxy-arp t0 disable");
    assert!(run(&r, &tree, "show arp proxy").contains("Interfaces: none"));
    run(&r, &tree, "set arp gratuitous learn");
    for (line, part) in [
        ("set arp proxy start 10.0.0.9 end 10.0.0.8", "ends before it starts"),
        ("set arp proxy start 10.0.0.40 end 10.0.0.40", "already"),
        ("set arp proxy del start 10.0.0.1 end 10.0.0.40", "no such range"),
        ("set arp proxy table-id 77 start 10.0.0.1 end 10.0.0.40", "77"),
        ("set interface proxy-arp t9", "no interface is named `t9'"),
        ("set interface proxy-arp local0", "no Ethernet frames"),
        ("set arp gratuitous forget", "learn"),
    ] {
        let error =
            tree.execute(&r.bench.world, line).err().unwrap_or_else(|| panic!("{line} was taken"));
        assert!(error.to_string().contains(part), "{line}: {error}");
    }
}

#[suite::test]
fn a_trace_tells_what_was_said_and_who_is_asked_for() {
    use graph::Trace;
    let mut r = rig();
    let frame = request((PEER, [10, 0, 0, 9]), [10, 0, 0, 1]);
    let t0 = r.t0.0;
    let b = r.bench.buffer(&frame[14..]);
    let head = graph::Head::of(&b);
    drop(b);
    let mut text = String::new();
    struct Shown<T>(T);
    impl<T: Trace> std::fmt::Display for Shown<T> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            self.0.show(f)
        }
    }
    text += &Shown(crate::input::ArpTrace(head)).to_string();
    let target = ip_neighbor::resolve::Target::<Ipv4Addr> { sw_if: t0, ip: [10, 0, 0, 9].into() };
    text += &format!("\n{}", Shown(ip_neighbor::resolve::ResolveTrace { target, asked: true }));
    for part in [
        "request",
        "02:00:00:00:00:09",
        "10.0.0.9",
        "who has 10.0.0.9 on sw_if_index 1: request sent",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[suite::test]
fn ranges_of_a_table_go_with_it() {
    let r = rig();
    let (world, fib) = (&r.bench.world, r.bench.world.get::<Fib<Ip4>>());
    let ranges = world.get::<crate::Ranges>();
    let add = |id| fib.add_table(world, id, "", Source::Cli).expect("added");
    let table = add(7);
    let range =
        crate::Range { table: table.0, start: [10, 0, 0, 20].into(), end: [10, 0, 0, 29].into() };
    ranges.add(range).expect("added");
    assert_eq!(fib.delete_table(world, 7, Source::Cli), Ok(true));
    assert_eq!(add(8), table, "another table has the index");
    assert_eq!(ranges.list(), []);
}

// SPDX-License-Identifier: Apache-2.0
//! One kind of change after the other.

use super::{FIRST, rig};
use crate::convert::Ignored;
use crate::engine::Rules;
use net::drive::Rig;
use net::{Interfaces, MtuKind, Neighbors};
use netlink::{Address, Change, Hop, KernelRoute, Link, NeighborEntry, RouteKind};
use std::net::IpAddr;
use wire::MacAddr;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn hop(port: u32, gateway: &str) -> Hop {
    let gateway = Some(ip(gateway));
    Hop { index: FIRST + port, gateway, weight: 1, is_encapsulated: false }
}

fn route(prefix: &str, len: u8, hops: Vec<Hop>) -> KernelRoute {
    KernelRoute {
        prefix: ip(prefix),
        len,
        table: 254,
        protocol: 3,
        kind: RouteKind::Unicast,
        metric: 0,
        hops,
        nexthop_object: None,
        replaces: false,
        is_cached: false,
        has_source: false,
    }
}

fn link(port: u32, flags: u32) -> Link {
    let mac = Some(net::drive::port_mac(port as usize));
    Link { index: FIRST + port, name: "x".into(), flags, mtu: 1500, mac, ..Link::default() }
}

const UP: u32 = 0x1 | 0x40;

#[suite::test]
fn links_follow() {
    let (rig, mut engine) = rig(1);
    let world = rig.world();
    let state = || world.get::<Interfaces>().get(rig.ports[0]).expect("there");
    // A new pair's end of the kernel is down.
    engine.apply(&world, &Change::Link(link(0, 0)));
    assert!(state().admin_up);
    engine.apply(&world, &Change::Link(Link { mtu: 1400, ..link(0, UP) }));
    assert_eq!((state().admin_up, state().mtu_of(MtuKind::L3)), (true, 1400));
    let mac = MacAddr([2, 0, 0, 0, 9, 9]);
    engine.apply(&world, &Change::Link(Link { mac: Some(mac), ..link(0, 0) }));
    assert_eq!((state().admin_up, state().mac), (false, mac));
    // Another link of the kernel, and one that is gone, are of no concern.
    engine.apply(&world, &Change::Link(Link { index: 7, ..link(0, UP) }));
    engine.apply(&world, &Change::LinkGone(link(0, UP)));
    assert!(!state().admin_up);
}

#[suite::test]
fn addresses_follow() {
    let (mut rig, mut engine) = rig(1);
    let world = rig.world();
    let of = |address: &str, prefix_len| {
        let (address, index) = (ip(address), FIRST);
        Address { index, address, prefix_len, global: true }
    };
    let mine = [("10.9.0.1", 24), ("2001:db8:9::1", 64), ("fe80::99", 64)];
    for (address, len) in mine {
        engine.apply(&world, &Change::Address(of(address, len)));
        // Twice is once.
        engine.apply(&world, &Change::Address(of(address, len)));
    }
    let shown = rig.cli("show interface addr");
    assert!(mine.iter().take(2).all(|(address, _)| shown.contains(address)), "{shown}");
    assert!(rig.cli("show ip6 interface p0").contains("fe80::99"));
    assert!(rig.cli("show ip mfib 224.0.0.0/24").contains("p0"));
    let saved = world.running_config().into_iter().any(|line| line.text.contains("10.9.0.1"));
    assert!(!saved, "the kernel's aren't saved");
    for (address, len) in mine {
        engine.apply(&world, &Change::AddressGone(of(address, len)));
        engine.apply(&world, &Change::AddressGone(of(address, len)));
    }
    let shown = rig.cli("show interface addr");
    assert!(!mine.iter().any(|(address, _)| shown.contains(address)), "{shown}");
}

#[suite::test]
fn neighbors_follow() {
    let (rig, mut engine) = rig(1);
    let world = rig.world();
    let mac = MacAddr([2, 0, 0, 0, 7, 7]);
    let of = |state| {
        let (address, mac) = (ip("10.0.0.77"), Some(mac));
        NeighborEntry { index: FIRST, address, mac, state }
    };
    let get = || world.get::<Neighbors>().get(rig.ports[0], ip("10.0.0.77"));
    const STALE: u16 = 4;
    const FAILED: u16 = 0x20;
    const PERMANENT: u16 = 0x80;
    engine.apply(&world, &Change::Neighbor(of(STALE)));
    assert_eq!(get().map(|n| (n.mac, n.is_static)), Some((mac, false)));
    engine.apply(&world, &Change::Neighbor(of(PERMANENT)));
    assert_eq!(get().map(|n| n.is_static), Some(true));
    engine.apply(&world, &Change::Neighbor(of(STALE)));
    assert_eq!(get().map(|n| n.is_static), Some(false));
    engine.apply(&world, &Change::Neighbor(NeighborEntry { mac: None, ..of(FAILED) }));
    assert_eq!(get(), None);
    engine.apply(&world, &Change::Neighbor(of(STALE)));
    engine.apply(&world, &Change::NeighborGone(of(STALE)));
    assert_eq!(get(), None);
    // A neighbour that was learned here isn't the kernel's to remove.
    let learned = NeighborEntry { address: ip("10.0.0.2"), ..of(STALE) };
    engine.apply(&world, &Change::NeighborGone(learned));
    assert!(world.get::<Neighbors>().get(rig.ports[0], ip("10.0.0.2")).is_some());
}

#[suite::test]
fn routes_are_shown_with_their_source() {
    let (mut rig, mut engine) = rig(2);
    let world = rig.world();
    let one = route("192.0.2.0", 24, vec![hop(0, "10.0.0.2")]);
    engine.apply(&world, &Change::Route(one.clone()));
    let dynamic = KernelRoute { protocol: 186, metric: 20, hops: vec![hop(1, "10.0.1.2")], ..one };
    engine.apply(&world, &Change::Route(dynamic.clone()));
    engine.flush(&world);
    let shown = rig.cli("show ip fib 192.0.2.0/24");
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
    assert!(at("lcp-rt ") < at("lcp-rt-dynamic"), "{shown}");
    // An operator's own route gives way, as in VPP.
    rig.cli("ip route add 192.0.2.0/24 via drop");
    assert_eq!(rig.cli("show ip fib 192.0.2.0/24").find("lcp-rt "), Some(at("lcp-rt ")));
    engine.apply(&world, &Change::RouteGone(dynamic));
    engine.flush(&world);
    assert!(!rig.cli("show ip fib 192.0.2.0/24").contains("dynamic"));
}

#[suite::test]
fn routes_of_the_kernel_itself_are_ignored() {
    let (rig, mut engine) = rig(1);
    let world = rig.world();
    let usual = || route("192.0.2.0", 24, vec![hop(0, "10.0.0.2")]);
    for (route, why) in [
        (KernelRoute { table: 255, ..usual() }, Ignored::Own),
        (KernelRoute { protocol: 2, ..usual() }, Ignored::Own),
        (KernelRoute { kind: RouteKind::Other(5), ..usual() }, Ignored::Own),
        (KernelRoute { is_cached: true, ..usual() }, Ignored::Own),
        (KernelRoute { has_source: true, ..usual() }, Ignored::OfSources),
        (route("fe80::", 64, vec![hop(0, "2001:db8::2")]), Ignored::Own),
        (route("ff00::", 8, vec![hop(0, "2001:db8::2")]), Ignored::Own),
        (route("192.0.2.0", 24, vec![hop(9, "10.0.0.2")]), Ignored::Elsewhere),
        (KernelRoute { hops: vec![], nexthop_object: Some(7), ..usual() }, Ignored::NextHopObject),
        (
            route("192.0.2.0", 24, vec![Hop { is_encapsulated: true, ..hop(0, "10.0.0.2") }]),
            Ignored::Encapsulated,
        ),
    ] {
        let before = engine.counts.ignored.get(&why).copied().unwrap_or_default();
        engine.apply(&world, &Change::Route(route.clone()));
        let after = engine.counts.ignored.get(&why).copied().unwrap_or_default();
        assert_eq!(after, before + 1, "{route:?}");
    }
}

#[suite::test]
fn a_lost_carrier_removes_routes_only_if_that_is_set() {
    let (mut rig, mut engine) = rig(1);
    let world = rig.world();
    let fixed = route("192.0.2.0", 24, vec![hop(0, "10.0.0.2")]);
    let dynamic =
        KernelRoute { protocol: 186, ..route("2001:db8:7::", 48, vec![hop(0, "2001:db8::2")]) };
    for rules in [
        Rules::default(),
        Rules { del_static: true, ..Rules::default() },
        Rules { del_dynamic: true, ..Rules::default() },
    ] {
        engine.rules = rules;
        engine.apply(&world, &Change::Link(link(0, UP)));
        engine.apply(&world, &Change::Route(fixed.clone()));
        engine.apply(&world, &Change::Route(dynamic.clone()));
        engine.apply(&world, &Change::Link(link(0, 1)));
        engine.flush(&world);
        while engine.go_on(&world, 2) {}
        let is_there =
            |rig: &mut Rig, line: &str| rig.bench.cli(line).is_ok_and(|s| s.contains("lcp-rt"));
        assert_eq!(is_there(&mut rig, "show ip fib 192.0.2.0/24"), !rules.del_static);
        assert_eq!(is_there(&mut rig, "show ip6 fib 2001:db8:7::/48"), !rules.del_dynamic);
    }
}

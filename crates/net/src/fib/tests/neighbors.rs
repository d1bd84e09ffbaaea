// SPDX-License-Identifier: Apache-2.0
//! Host routes of neighbours that are known on several interfaces.

use super::*;

#[test]
fn a_neighbour_on_a_link_without_its_network_takes_no_route_from_another() {
    let bench = Bench::new(NONE);
    let world = &bench.world;
    let (a, b) = (up(&bench, "a"), up(&bench, "b"));
    let neighbors = world.get::<Neighbors>();
    let at = |addr| ends(&bench, TableIndex::DEFAULT, ip(addr)).into_iter().collect::<Vec<_>>();
    world.get::<Addresses<Ip4>>().add(world, a, p("10.0.0.1/24")).expect("added");
    let on = |sw_if| {
        let n = Neighbor::new(sw_if, ip("10.0.0.2").into(), MacAddr([2, 0, 0, 0, 0, 9]));
        neighbors.set(world, n).expect("set");
    };
    let hop = |sw_if: SwIfIndex| [End::Neighbor(sw_if.0, ip("10.0.0.2").into())];
    on(b);
    assert_eq!(at("10.0.0.2"), [End::Glean(a.0)]);
    on(a);
    on(b);
    assert_eq!(at("10.0.0.2"), hop(a));
    neighbors.remove(world, b, ip("10.0.0.2").into()).expect("removed");
    assert_eq!(at("10.0.0.2"), hop(a));
    on(b);
    neighbors.remove(world, a, ip("10.0.0.2").into()).expect("removed");
    assert_eq!(at("10.0.0.2"), [End::Glean(a.0)]);
}

/// Links that share a network by lent addresses: packets go to where a host was last told to be, and back when it is gone there.
#[test]
fn a_host_moves_between_links_that_share_a_network() {
    let bench = Bench::new(NONE);
    let world = &bench.world;
    let [a, b, c] = ["a", "b", "c"].map(|name| up(&bench, name));
    let (neighbors, addresses) = (world.get::<Neighbors>(), world.get::<Addresses<Ip4>>());
    let at = |addr| ends(&bench, TableIndex::DEFAULT, ip(addr)).into_iter().collect::<Vec<_>>();
    let on = |sw_if| {
        let n = Neighbor::new(sw_if, ip("10.0.0.2").into(), MacAddr([2, 0, 0, 0, 0, 9]));
        neighbors.set(world, n).expect("set");
    };
    let gone = |sw_if| neighbors.remove(world, sw_if, ip("10.0.0.2").into()).expect("removed");
    let hop = |sw_if: SwIfIndex| [End::Neighbor(sw_if.0, ip("10.0.0.2").into())];
    on(b);
    for borrower in [b, c] {
        addresses.set_unnumbered(world, borrower, Some(a)).expect("set");
    }
    addresses.add(world, a, p("10.0.0.1/24")).expect("added");
    assert_eq!(at("10.0.0.2"), hop(b), "known before its network was");
    on(a);
    assert_eq!(at("10.0.0.2"), hop(a));
    on(c);
    assert_eq!(at("10.0.0.2"), hop(c));
    gone(c);
    assert!(at("10.0.0.2") == hop(a) || at("10.0.0.2") == hop(b));
    gone(a);
    assert_eq!(at("10.0.0.2"), hop(b));
    addresses.set_unnumbered(world, b, None).expect("unset");
    assert_eq!(at("10.0.0.2"), [End::Glean(a.0)]);
}

// SPDX-License-Identifier: Apache-2.0
//! Host routes of neighbours that are known on several interfaces.

use super::*;

#[suite::test]
fn a_neighbour_on_a_link_without_its_network_takes_no_route_from_another() {
    let bench = Bench::new(STATEFUL);
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

/// A connected network from a client: its neighbours' host routes are in the table as long as the
/// network is.
#[suite::test]
fn host_routes_go_with_the_network_that_a_client_says() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let fib = world.get::<Fib<Ip4>>();
    let t = fib.add_table(world, 10, "", Source::Api).expect("made");
    let address = ip("10.0.0.1");
    let attached = [Path::new(Kind::Attached { sw_if: a, address: address.into() })];
    let drop = [Path::new(Kind::Fixed(AdjIndex::DROP))];
    for host in ["10.0.0.2", "10.0.1.2"] {
        let n = Neighbor::new(a, ip(host).into(), MacAddr([2, 0, 0, 0, 0, 9]));
        world.get::<Neighbors>().set(world, n).expect("set");
    }
    let hosts =
        || ["10.0.0.2", "10.0.1.2"].map(|host| fib.route(t, Prefix::host(ip(host))).is_some());
    let say = |paths: &[Path]| {
        fib.set(world, t, p("10.0.0.0/24"), Source::Api, paths).expect("set");
    };
    say(&attached);
    assert_eq!(hosts(), [true, false]);
    say(&drop);
    assert_eq!(hosts(), [false; 2], "another path");
    say(&attached);
    fib.flush(world, t, Source::Api).expect("flushed");
    assert_eq!(hosts(), [false; 2], "flushed");
    say(&attached);
    fib.replace_begin(t, Source::Api).expect("begun");
    assert_eq!(hosts(), [true, false]);
    fib.replace_end(world, t, Source::Api).expect("ended");
    assert_eq!(hosts(), [false; 2], "not said again");
    assert_eq!(
        fib.add_all(world, t, Source::Api, [(p("10.0.1.0/24"), &attached[..])]),
        (1, Ok(()))
    );
    assert_eq!(hosts(), [false, true]);
}

/// Links that share a network by borrowed addresses: packets go to the link where a host was set
/// last, and back when it is removed there.
#[suite::test]
fn a_host_moves_between_links_that_share_a_network() {
    let bench = Bench::new(STATEFUL);
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

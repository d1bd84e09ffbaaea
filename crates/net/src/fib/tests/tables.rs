// SPDX-License-Identifier: Apache-2.0
//! Several tables, and routes that lead from one to another.

use super::*;
use std::net::Ipv6Addr;

type Kind6 = PathKind<Ipv6Addr>;

#[test]
fn tables_are_apart_and_go_when_nothing_uses_them() {
    let bench = Bench::new(NONE);
    let world = &bench.world;
    let a = up(&bench, "a");
    let fib = world.get::<Fib<Ip4>>();
    let addresses = world.get::<Addresses<Ip4>>();
    let ten = fib.add_table(world, 10, "customer", Source::Cli).expect("made");
    assert_eq!(fib.add_table(world, 10, "", Source::Cli), Ok(ten));
    assert_eq!(fib.find_table(11).expect_err("not there").code(), -3);
    addresses.set_table(world, a, 10).expect("moved");
    addresses.add(world, a, p("10.0.0.1/24")).expect("added");
    assert_eq!(ends(&bench, ten, ip("10.0.0.9")), [End::Glean(a.0)].into());
    assert_eq!(ends(&bench, TableIndex::DEFAULT, ip("10.0.0.9")), [End::NoRoute].into());
    assert_eq!(addresses.set_table(world, a, 0).expect_err("it has an address").code(), -114);
    // Its own routes go with whoever asked for it, it stays while an interface is in it.
    let drop = [Path::new(Kind::Fixed(AdjIndex::DROP))];
    fib.set(world, ten, p("30.0.0.0/8"), Source::Cli, &drop).expect("set");
    fib.set(world, ten, p("31.0.0.0/8"), Source::Api, &drop).expect("set");
    assert_eq!(fib.delete_table(world, 10, Source::Cli), Ok(false));
    assert!(fib.route(ten, p("30.0.0.0/8")).is_none() && fib.route(ten, p("31.0.0.0/8")).is_some());
    assert_eq!(ends(&bench, ten, ip("10.0.0.9")), [End::Glean(a.0)].into());
    let lookup = [Path::new(Kind::Lookup(ten))];
    fib.set(world, TableIndex::DEFAULT, p("20.0.0.0/8"), Source::Cli, &lookup).expect("set");
    assert_eq!(ends(&bench, TableIndex::DEFAULT, ip("20.0.0.9")), [End::Table(ten.0)].into());
    addresses.clear(world, a).expect("cleared");
    addresses.set_table(world, a, 0).expect("moved");
    assert_eq!(fib.find_table(10), Ok(ten), "a route leads to it");
    fib.remove(world, TableIndex::DEFAULT, p("20.0.0.0/8"), Source::Cli, &[]).expect("removed");
    assert_eq!(fib.find_table(10).expect_err("gone").code(), -3);
    // Of two who need it the last one takes it along; and whoever needs it again keeps it.
    fib.add_table(world, 10, "", Source::Cli).expect("made");
    fib.add_table(world, 10, "", Source::Api).expect("needed");
    assert_eq!(fib.delete_table(world, 10, Source::Api), Ok(false));
    addresses.set_table(world, a, 10).expect("moved");
    assert_eq!(fib.delete_table(world, 10, Source::Cli), Ok(false));
    fib.add_table(world, 10, "", Source::Api).expect("needed again");
    addresses.set_table(world, a, 0).expect("moved");
    assert_eq!(fib.delete_table(world, 10, Source::Api), Ok(true));
    assert_eq!(fib.delete_table(world, 10, Source::Api).expect_err("gone").code(), -3);
    assert_eq!(fib.delete_table(world, 0, Source::Api).expect_err("always there").code(), -7);
}

#[test]
fn a_source_decides_and_a_table_of_its_own_says_where_to() {
    let bench = Bench::new(NONE);
    let world = &bench.world;
    let fib = world.get::<Fib<Ip4>>();
    let ten = fib.add_table(world, 10, "", Source::Cli).expect("made");
    let path = Path::new(Kind::SourceLookup(ten));
    fib.set(world, TableIndex::DEFAULT, p("20.0.0.0/8"), Source::Cli, &[path]).expect("set");
    let route = fib.route(TableIndex::DEFAULT, p("20.0.0.0/8")).expect("there");
    let adj = world.get::<Adjacencies>().info(route.sources[0].adj).expect("there").adj;
    assert_eq!((adj.kind, adj.table), (AdjKind::LookupSource, ten.0));
    assert_eq!(fib.delete_table(world, 10, Source::Cli), Ok(false), "a route leads to it");
}

#[test]
fn next_hops_of_the_other_protocol_are_reached_by_its_routes() {
    let bench = Bench::new(NONE);
    let world = &bench.world;
    let (a, b) = (up(&bench, "a"), up(&bench, "b"));
    let (four, six) = (world.get::<Fib<Ip4>>(), world.get::<Fib<wire::Ip6>>());
    let t = TableIndex::DEFAULT;
    world.get::<Addresses<Ip4>>().add(world, a, p("10.0.0.1/24")).expect("added");
    let via4: IpAddr = ip("10.0.0.2").into();
    let prefix6 = |text: &str| text.parse::<Prefix<Ipv6Addr>>().expect("a prefix");
    // IPv6 over a neighbour of IPv4, and IPv4 over that route.
    let neighbor = |sw_if| [Path::new(Kind6::Neighbor { sw_if, nexthop: via4 })];
    six.set(world, t, prefix6("2001:db8::1/128"), Source::Api, &neighbor(a)).expect("set");
    let nexthop: IpAddr = "2001:db8::1".parse().expect("an address");
    let over = [Path::new(Kind::RecursiveOther { table: t, nexthop })];
    four.set(world, t, p("20.0.0.0/8"), Source::Api, &over).expect("set");
    let at = |addr| ends(&bench, t, ip(addr)).into_iter().collect::<Vec<_>>();
    assert_eq!(at("20.0.0.1"), [End::Neighbor(a.0, via4)]);
    // The route follows the other one: to another interface, away, and back.
    six.set(world, t, prefix6("2001:db8::1/128"), Source::Api, &neighbor(b)).expect("set");
    assert_eq!(at("20.0.0.1"), [End::Neighbor(b.0, via4)]);
    world.get::<Interfaces>().set_admin(world, b, false).expect("down");
    assert_eq!(at("20.0.0.1"), [End::Unreach]);
    world.get::<Interfaces>().set_admin(world, b, true).expect("up");
    assert_eq!(at("20.0.0.1"), [End::Neighbor(b.0, via4)]);
    six.remove(world, t, prefix6("2001:db8::1/128"), Source::Api, &[]).expect("removed");
    assert_eq!(at("20.0.0.1"), [End::Unreach]);
    // In a connected network of the other protocol the next hop is a neighbour.
    let over = [Path::new(Kind6::RecursiveOther { table: t, nexthop: via4 })];
    let route = six.set(world, t, prefix6("3001::/16"), Source::Api, &over).expect("set");
    let adj = world.get::<Adjacencies>();
    let leads =
        || adj.info(six.route(t, prefix6("3001::/16")).expect("there").sources[0].adj).expect("there").adj;
    assert_eq!((leads().nexthop(), leads().link, leads().tx_if), (via4, crate::Link::Ip6, a.0));
    assert_ne!(route, RouteIndex(0));
    // Not a second time across: nothing can go round in a circle.
    let circle =
        [Path::new(Kind::RecursiveOther { table: t, nexthop: "3001::1".parse().expect("an address") })];
    four.set(world, t, p("30.0.0.0/8"), Source::Api, &circle).expect("set");
    assert_eq!(at("30.0.0.1"), [End::Unreach]);
    four.remove(world, t, p("20.0.0.0/8"), Source::Api, &[]).expect("removed");
    four.remove(world, t, p("30.0.0.0/8"), Source::Api, &[]).expect("removed");
    six.remove(world, t, prefix6("3001::/16"), Source::Api, &[]).expect("removed");
}

// SPDX-License-Identifier: Apache-2.0
//! Several tables, and routes that lead from one to another.

use super::*;

#[suite::test]
fn tables_are_apart_and_go_when_nothing_uses_them() {
    let bench = Bench::new(STATEFUL);
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
    // An owner that leaves takes its own routes along; the table stays while an interface is bound
    // to it.
    let drop = [Path::new(Kind::Fixed(AdjIndex::DROP))];
    fib.set(world, ten, p("30.0.0.0/8"), Source::Cli, &drop).expect("set");
    fib.set(world, ten, p("31.0.0.0/8"), Source::Api, &drop).expect("set");
    assert_eq!(fib.delete_table(world, 10, Source::Cli), Ok(false));
    assert!(fib.route(ten, p("30.0.0.0/8")).is_none() && fib.route(ten, p("31.0.0.0/8")).is_some());
    assert_eq!(ends(&bench, ten, ip("10.0.0.9")), [End::Glean(a.0)].into());
    let lookup = [Path::new(Kind::Lookup(Fib::<Ip4>::table_ref(ten)))];
    fib.set(world, TableIndex::DEFAULT, p("20.0.0.0/8"), Source::Cli, &lookup).expect("set");
    assert_eq!(ends(&bench, TableIndex::DEFAULT, ip("20.0.0.9")), [End::Table(ten.0)].into());
    addresses.clear(world, a).expect("cleared");
    addresses.set_table(world, a, 0).expect("moved");
    assert_eq!(fib.find_table(10), Ok(ten), "a route leads to it");
    fib.remove(world, TableIndex::DEFAULT, p("20.0.0.0/8"), Source::Cli, &[]).expect("removed");
    assert_eq!(fib.find_table(10).expect_err("gone").code(), -3);
    // The last of two owners removes the table; and a new owner keeps it.
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

#[suite::test]
fn a_source_decides_and_a_table_of_its_own_says_where_to() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let fib = world.get::<Fib<Ip4>>();
    let ten = fib.add_table(world, 10, "", Source::Cli).expect("made");
    let path = Path::new(Kind::SourceLookup(Fib::<Ip4>::table_ref(ten)));
    fib.set(world, TableIndex::DEFAULT, p("20.0.0.0/8"), Source::Cli, &[path]).expect("set");
    let route = fib.route(TableIndex::DEFAULT, p("20.0.0.0/8")).expect("there");
    let adj = world.get::<Adjacencies>().info(route.sources[0].adj).expect("there").adj;
    assert_eq!((adj.kind, adj.table), (AdjKind::LookupSource, ten.0));
    assert_eq!(fib.delete_table(world, 10, Source::Cli), Ok(false), "a route leads to it");
}

/// A table is removed at once with its last user, of whatever kind, not with the next change of a
/// route.
#[suite::test]
fn a_table_goes_with_its_last_user() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let (four, six) = (world.get::<Fib<Ip4>>(), world.get::<Fib<Ip6>>());
    let t = TableIndex::DEFAULT;
    let unneeded = |id| {
        let table = four.add_table(world, id, "", Source::Cli).expect("made");
        (table, move |fib: &Fib<Ip4>| fib.find_table(id).is_ok())
    };
    // An interface that is deleted.
    let a = up(&bench, "a");
    let (_, is_there) = unneeded(10);
    world.get::<Addresses<Ip4>>().set_table(world, a, 10).expect("moved");
    assert_eq!(four.delete_table(world, 10, Source::Cli), Ok(false));
    world.get::<Interfaces>().delete(world, a).expect("deleted");
    assert!(!is_there(&four));
    // A feature that has a reference on it.
    let (ten, is_there) = unneeded(10);
    assert_eq!((four.hold_table(10), four.hold_table(10)), (Ok(ten), Ok(ten)));
    assert_eq!(four.delete_table(world, 10, Source::Cli), Ok(false));
    four.release_table(world, ten);
    assert!(is_there(&four));
    four.release_table(world, ten);
    assert!(!is_there(&four));
    // A route of the other protocol.
    let (ten, is_there) = unneeded(10);
    let net6 = "3001::/16".parse().expect("a prefix");
    let over = [Path::new(PathKind::Recursive { table: ten, nexthop: ip("10.0.0.2").into() })];
    six.set(world, t, net6, Source::Api, &over).expect("set");
    assert_eq!(four.delete_table(world, 10, Source::Cli), Ok(false));
    six.remove(world, t, net6, Source::Api, &[]).expect("removed");
    assert!(!is_there(&four));
    // A flush of a source's routes; a replace that doesn't set them again.
    for again in [false, true] {
        let (ten, is_there) = unneeded(10);
        let lookup = [Path::new(Kind::Lookup(Fib::<Ip4>::table_ref(ten)))];
        four.set(world, t, p("20.0.0.0/8"), Source::Api, &lookup).expect("set");
        assert_eq!(four.delete_table(world, 10, Source::Cli), Ok(false));
        if again {
            four.replace_begin(t, Source::Api).expect("begun");
            four.replace_end(world, t, Source::Api).expect("ended");
        } else {
            four.flush(world, t, Source::Api).expect("flushed");
        }
        assert!(!is_there(&four), "{again}");
    }
    // A table that was kept by a route of another unowned table.
    let ((ten, is_there), (eleven, other_is_there)) = (unneeded(10), unneeded(11));
    let lookup = |table| [Path::new(Kind::Lookup(table))];
    four.set(world, eleven, p("20.0.0.0/8"), Source::Api, &lookup(Fib::<Ip4>::table_ref(ten)))
        .expect("set");
    four.set(world, t, p("20.0.0.0/8"), Source::Api, &lookup(Fib::<Ip4>::table_ref(eleven)))
        .expect("set");
    for id in [10, 11] {
        assert_eq!(four.delete_table(world, id, Source::Cli), Ok(false));
    }
    four.remove(world, t, p("20.0.0.0/8"), Source::Api, &[]).expect("removed");
    assert!(!is_there(&four) && !other_is_there(&four));
}

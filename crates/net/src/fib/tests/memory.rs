// SPDX-License-Identifier: Apache-2.0
//! Memory and counters after routes were removed.

use super::*;
use crate::{Routes, TableUsage};
use wire::Ip6;

const MANY: u32 = 70_000;
const ROUNDS: usize = 4;

/// Loads many routes and withdraws them, alternately.
fn rounds<F: Net>(host: fn(u32) -> F::Addr) {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let (fib, routes, t) = (world.get::<Fib<F>>(), world.get::<Routes>(), TableIndex::DEFAULT);
    let kind = PathKind::Fixed(AdjIndex::DROP);
    let paths = [Path::new(kind)];
    let usage = || (fib.table_usage(), fib.all.usage(), world.stats.memory().1);
    let (tables, [entries, lists, paths_before], counters) = usage();
    for round in 0..ROUNDS {
        let all = (0..MANY).map(|i| (Prefix::host(host(i)), &paths[..]));
        let (n, result) = fib.add_all(world, t, Source::Cli, all);
        result.expect("added");
        assert_eq!(n, MANY as usize);
        let (full, [loaded, ..], _) = usage();
        assert_eq!(full.routes, tables.routes + n);
        assert_eq!(loaded.used, entries.used + n);
        // The lowest indices are reused: no more is allocated than for the routes that existed at
        // once.
        assert!(loaded.allocated < 2 * (n + 100), "{round}: {loaded:?}");
        assert!(
            routes.adj(RouteIndex(MANY + 100)) == AdjIndex::default(),
            "{round}: a number beyond"
        );
        assert!(!routes.settle(), "nothing has gone");
        if round % 2 == 0 {
            fib.flush(world, t, Source::Cli).expect("the table");
        } else {
            // One by one, the last ones first.
            for i in (0..MANY).rev() {
                fib.remove(world, t, Prefix::host(host(i)), Source::Cli, &[]).expect("there");
            }
        }
        world.qsbr.collect();
        assert!(routes.settle(), "most have gone");
        assert!(!routes.settle(), "once is enough");
        let (left, [of_entries, of_lists, of_paths], of_counters) = usage();
        // The layout of a search tree in its cache lines depends on the changes before.
        assert!(left.lookup <= tables.lookup + 1024, "{round}: {left:?}");
        assert_eq!(TableUsage { lookup: tables.lookup, ..left }, tables, "{round}");
        assert_eq!(of_entries.used, entries.used);
        assert!(of_entries.allocated <= 4096, "{round}: {of_entries:?}");
        assert_eq!((of_lists.used, of_paths), (lists.used, paths_before));
        assert_eq!(of_counters, counters, "{round}: none of them ever counted");
    }
}

#[suite::test]
fn routes_that_have_gone_leave_no_memory_behind() {
    rounds::<Ip4>(|i| Ipv4Addr::from_bits(0x1400_0000 + 3 * i));
    rounds::<Ip6>(|i| std::net::Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(i) << 70));
}

/// A reused index begins with counters at zero, also where its cells have counted.
#[suite::test]
fn counters_of_a_number_that_is_given_again_begin_at_zero() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let (fib, routes, t) = (world.get::<Fib<Ip4>>(), world.get::<Routes>(), TableIndex::DEFAULT);
    let path = [Path::new(Kind::Fixed(AdjIndex::DROP))];
    let host = |i: u32| Prefix::host(Ipv4Addr::from_bits(0x1400_0000 + i));
    let add = |i| fib.add(world, t, host(i), Source::Cli, &path).expect("added");
    let first: Vec<RouteIndex> = (0..3000).map(add).collect();
    let lane = routes.to.lane(0);
    first.iter().step_by(700).for_each(|route| lane.add(route.at(), 1, 64));
    assert_eq!(routes.to.sum(first[700].at()), (1, 64));
    fib.flush(world, t, Source::Cli).expect("the table");
    world.qsbr.collect();
    let again: BTreeSet<RouteIndex> = (0..3000).map(add).collect();
    assert_eq!(again, first.into_iter().collect(), "the same numbers");
    assert!(again.iter().all(|route| routes.to.sum(route.at()) == (0, 0)));
}

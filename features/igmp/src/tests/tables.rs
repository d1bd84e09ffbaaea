// SPDX-License-Identifier: Apache-2.0
//! A router's state by the tables of RFC 3376 6.4.

use super::*;
use crate::filter::Filter;
use crate::router::{Query, Router, Times};

const GROUP: &str = "239.1.1.1";
const TIMES: Times = Times { membership: 100, leave: 10 };

/// Applies records at time 0, then one at time 1; returns the filter, the sources that are asked
/// for in mode EXCLUDE, and the queries.
fn after(before: &[(u8, &[&str])], kind: u8, sources: &[&str]) -> (Filter, Sources, Vec<Query>) {
    let mut router = Router::default();
    for (kind, sources) in before {
        router.record(0, (*kind, ip(GROUP)), &set(sources), TIMES).expect("room");
    }
    let asked = router.record(1, (kind, ip(GROUP)), &set(sources), TIMES).expect("room");
    (router.filter(ip(GROUP)), router.listed(ip(GROUP)), asked)
}

fn asks(sources: &[&[&str]]) -> Vec<Query> {
    sources.iter().map(|sources| Query { group: ip(GROUP), sources: set(sources) }).collect()
}

const A: &str = "10.0.0.1";
const B: &str = "10.0.0.2";
const C: &str = "10.0.0.3";
const ALL: &str = "0.0.0.0";

#[suite::test]
fn groups_of_named_sources() {
    let include: &[(u8, &[&str])] = &[(Kind::IS_INCLUDE, &[A, B])];
    for (kind, sources, filter, listed, queries) in [
        (Kind::IS_INCLUDE, &[C][..], Filter::include(set(&[A, B, C])), &[A, B, C][..], asks(&[])),
        (Kind::ALLOW, &[B, C], Filter::include(set(&[A, B, C])), &[A, B, C], asks(&[])),
        (Kind::BLOCK, &[B, C], Filter::include(set(&[A, B])), &[A, B], asks(&[&[B]])),
        (Kind::BLOCK, &[C], Filter::include(set(&[A, B])), &[A, B], asks(&[])),
        (Kind::IS_EXCLUDE, &[B, C], Filter::exclude(set(&[C])), &[ALL, B], asks(&[])),
        (Kind::TO_EXCLUDE, &[B, C], Filter::exclude(set(&[C])), &[ALL, B], asks(&[&[B]])),
        (Kind::TO_INCLUDE, &[B, C], Filter::include(set(&[A, B, C])), &[A, B, C], asks(&[&[A]])),
        (Kind::TO_INCLUDE, &[], Filter::include(set(&[A, B])), &[A, B], asks(&[&[A, B]])),
        // No host sends this.
        (Kind::ALLOW, &[], Filter::include(set(&[A, B])), &[A, B], asks(&[])),
        (77, &[C], Filter::include(set(&[A, B])), &[A, B], asks(&[])),
    ] {
        assert_eq!(after(include, kind, sources), (filter, set(listed), queries), "{kind}");
    }
}

#[suite::test]
fn groups_of_all_sources_but_some() {
    // EXCLUDE (X = {A}, Y = {B}).
    let exclude: &[(u8, &[&str])] = &[(Kind::IS_INCLUDE, &[A]), (Kind::IS_EXCLUDE, &[A, B])];
    for (kind, sources, filter, listed, queries) in [
        (Kind::IS_INCLUDE, &[B][..], Filter::exclude(set(&[])), &[ALL, A, B][..], asks(&[])),
        (Kind::ALLOW, &[C], Filter::exclude(set(&[B])), &[ALL, A, C], asks(&[])),
        (Kind::BLOCK, &[A, B, C], Filter::exclude(set(&[B])), &[ALL, A, C], asks(&[&[A, C]])),
        (Kind::BLOCK, &[B], Filter::exclude(set(&[B])), &[ALL, A], asks(&[])),
        (Kind::IS_EXCLUDE, &[B, C], Filter::exclude(set(&[B])), &[ALL, C], asks(&[])),
        (Kind::TO_EXCLUDE, &[B, C], Filter::exclude(set(&[B])), &[ALL, C], asks(&[&[C]])),
        (Kind::TO_EXCLUDE, &[], Filter::exclude(set(&[])), &[ALL], asks(&[])),
        (Kind::TO_INCLUDE, &[C], Filter::exclude(set(&[B])), &[ALL, A, C], asks(&[&[A], &[]])),
        (Kind::TO_INCLUDE, &[], Filter::exclude(set(&[B])), &[ALL, A], asks(&[&[A], &[]])),
        (Kind::IS_INCLUDE, &[], Filter::exclude(set(&[B])), &[ALL, A], asks(&[&[A], &[]])),
    ] {
        assert_eq!(after(exclude, kind, sources), (filter, set(listed), queries), "{kind}");
    }
}

#[suite::test]
fn sources_end_with_their_timers() {
    let mut router = Router::default();
    let group = ip(GROUP);
    let hear = |router: &mut Router, now, kind, sources: &[&str]| {
        router.record(now, (kind, group), &set(sources), TIMES).expect("room")
    };
    hear(&mut router, 0, Kind::ALLOW, &[A, B]);
    hear(&mut router, 50, Kind::IS_INCLUDE, &[B]);
    assert_eq!((router.expire(99), router.due()), (vec![], Some(100)));
    assert_eq!(router.expire(100), [(group, set(&[A, B]))]);
    assert_eq!(router.listed(group), set(&[B]));
    // A leave: asked for twice, and gone after 10.
    assert_eq!(hear(&mut router, 110, Kind::BLOCK, &[B]), asks(&[&[B]]));
    assert_eq!(router.due(), Some(115));
    assert_eq!(router.take_repeats(115, TIMES.leave), asks(&[&[B]]));
    assert_eq!(router.take_repeats(119, TIMES.leave), asks(&[]));
    router.expire(120);
    assert_eq!((router.groups().count(), router.due()), (0, None));
    // Confirmed in time: it stays, and isn't asked for again.
    hear(&mut router, 200, Kind::ALLOW, &[A]);
    hear(&mut router, 200, Kind::BLOCK, &[A]);
    hear(&mut router, 203, Kind::IS_INCLUDE, &[A]);
    assert_eq!(router.take_repeats(205, TIMES.leave), asks(&[]));
    router.expire(220);
    assert_eq!(router.listed(group), set(&[A]));
    // All sources, until the group's timer ends: then those that were asked for.
    hear(&mut router, 300, Kind::TO_EXCLUDE, &[C]);
    hear(&mut router, 350, Kind::ALLOW, &[B]);
    assert_eq!(router.filter(group), Filter::exclude(set(&[C])));
    router.expire(400);
    assert_eq!(router.filter(group), Filter::include(set(&[B])));
    // A source whose timer ends in mode EXCLUDE is blocked.
    hear(&mut router, 410, Kind::TO_EXCLUDE, &[B]);
    assert_eq!(router.filter(group), Filter::exclude(set(&[])));
    router.expire(420);
    assert_eq!(router.filter(group), Filter::exclude(set(&[B])));
}

#[suite::test]
fn no_host_fills_a_routers_memory() {
    let mut router = Router::default();
    let many: Sources = (0..1000u32).map(|n| Ipv4Addr::from(0x0a00_0000 + n)).collect();
    let mut taken = 0;
    for n in 0..10_000u32 {
        let group = Ipv4Addr::from(0xef00_0000 + n);
        let heard = router.record(0, (Kind::ALLOW, group), &many, TIMES);
        taken += usize::from(heard.is_some());
    }
    assert_eq!((taken, router.groups().count()), (32, 32));
    for n in 0..10_000u32 {
        let group = Ipv4Addr::from(0xef10_0000 + n);
        router.record(0, (Kind::TO_EXCLUDE, group), &Sources::new(), TIMES);
    }
    assert_eq!(router.groups().count(), 4096);
    router.expire(100);
    assert_eq!((router.groups().count(), router.due()), (0, None));
    assert!(router.record(100, (Kind::ALLOW, ip(GROUP)), &many, TIMES).is_some(), "room again");
}

/// The first `n` sources of 10.0.0.0/8.
fn first(n: u32) -> Sources {
    (0..n).map(|n| Ipv4Addr::from(0x0a00_0000 + n)).collect()
}

#[suite::test]
fn a_full_router_still_hears_of_what_it_knows() {
    let mut router = Router::default();
    let group = |n: u32| Ipv4Addr::from(0xef00_0000 + n);
    // 32 groups of 1024 sources are as many as there is room for.
    let many = first(1024);
    for n in 0..32 {
        assert!(router.record(0, (Kind::ALLOW, group(n)), &many, TIMES).is_some());
    }
    assert_eq!(router.record(0, (Kind::ALLOW, group(99)), &set(&[A]), TIMES), None);
    for n in 0..32 {
        assert!(router.record(50, (Kind::IS_INCLUDE, group(n)), &many, TIMES).is_some());
    }
    assert_eq!(router.expire(149), []);
    // A source is left, which makes room for another one.
    let left = router.record(130, (Kind::BLOCK, group(0)), &set(&[A]), TIMES);
    assert_eq!(left, Some(vec![Query { group: group(0), sources: set(&[A]) }]));
    assert_eq!(router.expire(140), [(group(0), many.clone())]);
    assert!(router.record(140, (Kind::ALLOW, group(99)), &set(&[A]), TIMES).is_some());
    assert_eq!(router.groups().count(), 33);
    // All sources but some take the place of named ones.
    let few = first(300);
    assert!(router.record(140, (Kind::TO_EXCLUDE, group(1)), &few, TIMES).is_some());
    assert_eq!(router.filter(group(1)), Filter::exclude([]));
}

#[suite::test]
fn a_group_has_a_share_of_the_room() {
    let mut router = Router::default();
    let group = ip(GROUP);
    assert_eq!(router.record(0, (Kind::ALLOW, group), &first(1025), TIMES), None);
    assert!(router.record(0, (Kind::ALLOW, group), &first(1024), TIMES).is_some());
    assert_eq!(router.record(0, (Kind::ALLOW, group), &set(&["10.9.0.1"]), TIMES), None);
    assert_eq!(router.listed(group), first(1024));
}

#[suite::test]
fn all_queries_about_a_group_are_repeated() {
    let group = ip(GROUP);
    let mut router = Router::default();
    let hear = |router: &mut Router, now, kind, sources: &[&str]| {
        router.record(now, (kind, group), &set(sources), TIMES).expect("room")
    };
    // A query for a source and one for the group.
    hear(&mut router, 0, Kind::IS_INCLUDE, &[A]);
    hear(&mut router, 0, Kind::IS_EXCLUDE, &[A, B]);
    assert_eq!(hear(&mut router, 1, Kind::TO_INCLUDE, &[]), asks(&[&[A], &[]]));
    assert_eq!(router.take_repeats(5, TIMES.leave), []);
    assert_eq!(router.take_repeats(6, TIMES.leave), asks(&[&[A], &[]]));
    // Two queries for sources are repeated as one.
    router.expire(100);
    hear(&mut router, 100, Kind::ALLOW, &[A, B, C]);
    assert_eq!(hear(&mut router, 101, Kind::BLOCK, &[A]), asks(&[&[A]]));
    assert_eq!(hear(&mut router, 103, Kind::BLOCK, &[B]), asks(&[&[B]]));
    assert_eq!(router.take_repeats(106, TIMES.leave), asks(&[&[A, B]]));
    assert_eq!(router.take_repeats(200, TIMES.leave), []);
}

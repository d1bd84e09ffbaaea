// SPDX-License-Identifier: Apache-2.0
//! Next hops that are down.

use super::*;
use crate::{NextHop, NextHops};

struct Rig {
    bench: Bench,
    ifs: [SwIfIndex; 3],
}

const FAR: &str = "20.0.0.1";

fn rig() -> Rig {
    let bench = Bench::new(STATEFUL);
    let ifs = ["a", "b", "c"].map(|name| up(&bench, name));
    Rig { bench, ifs }
}

impl Rig {
    fn hop(&self, i: usize) -> NextHop {
        NextHop { sw_if: self.ifs[i], ip: [10, 0, i as u8, 2].into() }
    }

    fn via(&self, i: usize, weight: u8, preference: u8) -> Path {
        let NextHop { sw_if, ip } = self.hop(i);
        Path { weight, preference, ..Path::new(Kind::Neighbor { sw_if, nexthop: ip }) }
    }

    fn route(&self, prefix: &str, paths: &[Path]) {
        let fib = self.bench.world.get::<Fib<Ip4>>();
        fib.set(&self.bench.world, TableIndex::DEFAULT, p(prefix), Source::Cli, paths)
            .expect("set");
    }

    fn say(&self, hops: &[usize], up: bool) {
        let hops: Vec<NextHop> = hops.iter().map(|i| self.hop(*i)).collect();
        self.bench.world.get::<NextHops>().set(&self.bench.world, &hops, "test", up);
    }

    /// The next hops that packets to an address take, by number.
    fn takers(&self, to: &str) -> Vec<usize> {
        let ends = ends(&self.bench, TableIndex::DEFAULT, ip(to));
        let at = |end: End| (0..3).find(|i| End::Neighbor(self.ifs[*i].0, self.hop(*i).ip) == end);
        ends.into_iter().map(|end| at(end).unwrap_or_else(|| panic!("{end:?}"))).collect()
    }

    fn states(&self, prefix: &str) -> Vec<PathState> {
        let fib = self.bench.world.get::<Fib<Ip4>>();
        fib.route(TableIndex::DEFAULT, p(prefix)).expect("there").sources[0].states.clone()
    }
}

#[suite::test]
fn others_take_over_while_there_are_some() {
    let r = rig();
    r.route("20.0.0.0/8", &[r.via(0, 1, 0), r.via(1, 3, 0), r.via(2, 1, 1)]);
    assert_eq!(r.takers(FAR), [0, 1]);
    r.say(&[0], false);
    assert_eq!(r.takers(FAR), [1]);
    assert_eq!(r.states("20.0.0.0/8"), [PathState::Down, PathState::Resolved, PathState::Resolved]);
    let adjs = r.bench.world.get::<Adjacencies>();
    let held =
        |i: usize| adjs.info(adjs.find_neighbor(r.ifs[i], r.hop(i).ip)?).map(|info| info.refs);
    assert_eq!((held(0), held(1)), (Some(1), Some(1)), "it is still to be seen");
    r.say(&[1], false);
    assert_eq!(r.takers(FAR), [2], "of the next preference");
    r.say(&[2], false);
    assert_eq!(r.takers(FAR), [0, 1], "nobody is left: as if nothing had been said");
    r.say(&[2], true);
    assert_eq!(r.takers(FAR), [2]);
    r.say(&[0, 1], true);
    assert_eq!(r.takers(FAR), [0, 1]);
    assert_eq!(r.states("20.0.0.0/8"), [PathState::Resolved; 3]);
    // A path that drops packets is no alternative.
    let drop = Path { preference: 1, ..Path::new(Kind::Fixed(AdjIndex::DROP)) };
    r.route("20.0.0.0/8", &[r.via(0, 1, 0), drop]);
    r.say(&[0], false);
    assert_eq!(r.takers(FAR), [0]);
    // A path list made while a next hop is down leaves it out too; but a path over an interface
    // that is down is worse.
    r.route("20.0.0.0/8", &[r.via(0, 1, 0), r.via(1, 1, 0)]);
    assert_eq!(r.takers(FAR), [1]);
    r.bench.world.get::<Interfaces>().set_link(&r.bench.world, r.ifs[1], false).expect("set");
    assert_eq!(r.takers(FAR), [0]);
    let fib = r.bench.world.get::<Fib<Ip4>>();
    fib.remove(&r.bench.world, TableIndex::DEFAULT, p("20.0.0.0/8"), Source::Cli, &[])
        .expect("removed");
    assert_eq!([0, 1, 2].map(held), [None; 3]);
}

#[suite::test]
fn routes_that_follow_a_route_move_with_it() {
    let r = rig();
    let t = TableIndex::DEFAULT;
    let far = |nexthop| Path::new(Kind::Recursive { table: t, nexthop: ip(nexthop).into() });
    r.route("9.9.9.9/32", &[r.via(0, 1, 0), r.via(1, 1, 1)]);
    r.route("8.8.8.8/32", &[r.via(2, 1, 0)]);
    r.route("20.0.0.0/8", &[far("9.9.9.9"), Path { preference: 1, ..far("8.8.8.8") }]);
    assert_eq!(r.takers(FAR), [0]);
    r.say(&[0], false);
    assert_eq!(r.takers(FAR), [1]);
    r.say(&[1], false);
    assert_eq!(r.takers(FAR), [2], "all that the first leads to is down");
    r.say(&[2], false);
    assert_eq!(r.takers(FAR), [0]);
    r.say(&[0, 2], true);
    assert_eq!(r.takers(FAR), [0]);
    // A next hop in a connected network is treated as a neighbour.
    let addresses = r.bench.world.get::<Addresses<Ip4>>();
    for i in [0, 1] {
        addresses.add(&r.bench.world, r.ifs[i], p(&format!("10.0.{i}.1/24"))).expect("added");
    }
    r.route("20.0.0.0/8", &[far("10.0.0.2"), far("10.0.1.2")]);
    r.say(&[1], true);
    assert_eq!(r.takers(FAR), [0, 1]);
    r.say(&[1], false);
    assert_eq!(r.takers(FAR), [0]);
    r.say(&[1], true);
    assert_eq!(r.takers(FAR), [0, 1]);
}

/// One store moves any number of routes.
#[suite::test]
fn a_million_routes_leave_a_next_hop_by_as_few_stores_as_ten() {
    let stores = [10, 1_000_000].map(|n: u32| {
        let r = rig();
        let world = &r.bench.world;
        let (fib, adjs) = (world.get::<Fib<Ip4>>(), world.get::<Adjacencies>());
        let pair = [r.via(0, 1, 0), r.via(1, 1, 0)];
        for i in 0..n {
            let prefix = Prefix::host(Ipv4Addr::from_bits(0x1400_0000 + i));
            fib.set(world, TableIndex::DEFAULT, prefix, Source::Api, &pair).expect("set");
        }
        let before = adjs.stores();
        r.say(&[1], false);
        assert_eq!(r.takers(FAR), [0]);
        let down = adjs.stores() - before;
        r.say(&[1], true);
        assert_eq!(r.takers(FAR), [0, 1]);
        (down, adjs.stores() - before - down)
    });
    assert_eq!(stores, [(1, 1); 2]);
}

#[suite::test]
fn packets_have_moved_when_others_hear_of_it() {
    let bench = Bench::new(STATEFUL);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = seen.clone();
    // Subscribed before the route tables are.
    bench.world.get::<NextHops>().subscribe(move |world, _, _| {
        note.lock().expect("no panic inside").push(world.get::<Adjacencies>().stores());
    });
    let ifs = ["a", "b", "c"].map(|name| up(&bench, name));
    let r = Rig { bench, ifs };
    r.route("20.0.0.0/8", &[r.via(0, 1, 0), r.via(1, 1, 0)]);
    let before = r.bench.world.get::<Adjacencies>().stores();
    r.say(&[0], false);
    r.say(&[0], true);
    assert_eq!(*seen.lock().expect("no panic inside"), [before + 1, before + 2]);
}

#[suite::test]
fn several_may_watch_a_next_hop() {
    let r = rig();
    let world = &r.bench.world;
    let hops = world.get::<NextHops>();
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = told.clone();
    hops.subscribe(move |_, hops, up| {
        log.lock().expect("no panic inside").push((hops.to_vec(), up))
    });
    let told = || std::mem::take(&mut *told.lock().expect("no panic inside"));
    let (a, b) = (r.hop(0), r.hop(1));
    hops.set(world, &[a], "one", true);
    assert_eq!(told(), [], "nobody has said otherwise");
    hops.set(world, &[b, a], "one", false);
    assert_eq!(told(), [(vec![a, b], false)]);
    hops.set(world, &[a], "other", false);
    hops.set(world, &[a, b], "one", true);
    assert_eq!(told(), [(vec![b], true)]);
    let down: Vec<_> = hops
        .list()
        .into_iter()
        .map(|(hop, by)| (hop, by.into_keys().collect::<Vec<_>>()))
        .collect();
    assert_eq!(down, [(a, vec!["other"])]);
    hops.set(world, &[a], "other", true);
    assert_eq!((told(), hops.is_down(a)), (vec![(vec![a], true)], false));
    let counted = |name| world.stats.simple(name).sum(a.sw_if.at());
    assert_eq!([counted("/net/nexthop/down"), counted("/net/nexthop/up")], [1, 1]);
    // Deleting an interface removes its next hops.
    hops.set(world, &[a], "one", false);
    world.get::<Interfaces>().delete(world, a.sw_if).expect("deleted");
    assert_eq!(hops.list(), []);
}

/// A next hop over which packets are lost isn't used, even if no other is left.
#[suite::test]
fn an_unusable_next_hop_is_never_used() {
    let r = rig();
    let world = &r.bench.world;
    let hops = world.get::<NextHops>();
    let report = |i: usize, unusable| hops.set_unusable(world, &[r.hop(i)], "bfd", unusable);
    r.route("20.0.0.0/8", &[r.via(0, 1, 0), r.via(1, 1, 0)]);
    let t = TableIndex::DEFAULT;
    let far = |nexthop| Path::new(Kind::Recursive { table: t, nexthop: ip(nexthop).into() });
    r.route("30.0.0.0/8", &[far(FAR)]);
    report(0, true);
    assert_eq!(r.takers(FAR), [1]);
    // The last one that is only silent is used.
    r.say(&[1], false);
    assert_eq!(r.takers(FAR), [1]);
    report(1, true);
    let lost = |to| ends(&r.bench, t, ip(to)) == BTreeSet::from([End::Unreach]);
    assert!(lost(FAR) && lost("30.0.0.1"));
    assert_eq!(r.states("20.0.0.0/8"), [PathState::Down; 2]);
    // Another watcher can't take the report back.
    r.say(&[1], true);
    assert!(lost(FAR));
    report(1, false);
    assert_eq!(r.takers(FAR), [1]);
    report(0, false);
    assert_eq!(r.takers(FAR), [0, 1]);
    // A host, whatever its route.
    r.route("9.9.9.9/32", &[r.via(2, 1, 0)]);
    r.route("40.0.0.0/8", &[far("9.9.9.9")]);
    assert_eq!(r.takers("40.0.0.1"), [2]);
    let host = [NextHop::host(ip("9.9.9.9").into())];
    hops.set_unusable(world, &host, "bfd", true);
    assert!(lost("40.0.0.1"));
    assert_eq!((r.takers("9.9.9.9"), hops.list()), (vec![2], vec![]));
    hops.set_unusable(world, &host, "bfd", false);
    assert_eq!(r.takers("40.0.0.1"), [2]);
}

/// Subscribers and counters know up and down only, of neighbours: a report that a next hop is
/// unusable as well is no second change.
#[suite::test]
fn subscribers_learn_of_each_change_once() {
    let r = rig();
    let world = &r.bench.world;
    let hops = world.get::<NextHops>();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    hops.subscribe(move |_, hops, up| {
        log.lock().expect("no panic inside").push((hops.to_vec(), up))
    });
    let seen = || std::mem::take(&mut *seen.lock().expect("no panic inside"));
    let (a, peer) = (r.hop(0), NextHop::only_peer(r.ifs[0], false));
    r.route("20.0.0.0/8", &[r.via(0, 1, 0)]);
    let lost = || ends(&r.bench, TableIndex::DEFAULT, ip(FAR)) == BTreeSet::from([End::Unreach]);
    r.say(&[0], false);
    assert_eq!((seen(), lost()), (vec![(vec![a], false)], false));
    hops.set_unusable(world, &[a, peer], "bfd", true);
    assert_eq!((seen(), lost()), (vec![], true));
    let listed: Vec<_> = hops.list().into_iter().map(|(hop, _)| hop).collect();
    assert_eq!(listed, [a], "the only peer of an interface is no neighbour");
    hops.set_unusable(world, &[a, peer], "bfd", false);
    assert_eq!((seen(), lost()), (vec![], false));
    r.say(&[0], true);
    assert_eq!((seen(), lost()), (vec![(vec![a], true)], false));
    let counted = |name| world.stats.simple(name).sum(a.sw_if.at());
    assert_eq!([counted("/net/nexthop/down"), counted("/net/nexthop/up")], [1, 1]);
}

// SPDX-License-Identifier: Apache-2.0
//! Recursive paths that only some routes may resolve: host routes, or connected networks and their
//! neighbours.

use super::*;

/// 20.0.0.0/8 takes host routes to 9.0.0.9, 21.0.0.0/8 attached ones, 23.0.0.0/8 any; 22.0.0.0/8
/// takes attached ones to 10.0.0.7.
struct Rig {
    bench: Bench,
    a: SwIfIndex,
    b: SwIfIndex,
}

const T: TableIndex = TableIndex::DEFAULT;

impl Rig {
    fn new() -> Self {
        let bench = Bench::new(STATEFUL);
        let (a, b) = (up(&bench, "a"), up(&bench, "b"));
        let rig = Self { bench, a, b };
        for (prefix, nexthop, resolve_via) in [
            ("20.0.0.0/8", "9.0.0.9", ResolveVia::Host),
            ("21.0.0.0/8", "9.0.0.9", ResolveVia::Attached),
            ("22.0.0.0/8", "10.0.0.7", ResolveVia::Attached),
            ("23.0.0.0/8", "9.0.0.9", ResolveVia::Any),
        ] {
            let path = Path::new(Kind::Recursive { table: T, nexthop: ip(nexthop).into() });
            rig.set(prefix, Path { resolve_via, ..path });
        }
        rig
    }

    fn set(&self, prefix: &str, path: Path) {
        let fib = self.bench.world.get::<Fib<Ip4>>();
        fib.set(&self.bench.world, T, p(prefix), Source::Cli, &[path]).expect("set");
    }

    fn via(&self, prefix: &str, sw_if: SwIfIndex, nexthop: &str) {
        self.set(prefix, Path::new(Kind::Neighbor { sw_if, nexthop: ip(nexthop).into() }));
    }

    fn remove(&self, prefix: &str) {
        let fib = self.bench.world.get::<Fib<Ip4>>();
        fib.remove(&self.bench.world, T, p(prefix), Source::Cli, &[]).expect("it was set");
    }

    /// Checks the results for packets to 20/8, 21/8 and 23/8: this neighbour, or unreachable
    /// (`None`).
    fn expect(&self, ends: [Option<(SwIfIndex, &str)>; 3], when: &str) {
        for (net, end) in [20, 21, 23].into_iter().zip(ends) {
            self.expect_at(net, end, when);
        }
    }

    fn expect_at(&self, net: u8, end: Option<(SwIfIndex, &str)>, when: &str) {
        let (addr, prefix) = (Ipv4Addr::new(net, 1, 2, 3), p(&format!("{net}.0.0.0/8")));
        let want = end.map_or(End::Unreach, |(sw_if, hop)| End::Neighbor(sw_if.0, ip(hop).into()));
        assert_eq!(ends(&self.bench, T, addr), [want].into(), "{net}/8: {when}");
        let fib = self.bench.world.get::<Fib<Ip4>>();
        let states = fib.route(T, prefix).expect("it stays").sources[0].states.clone();
        let state = if end.is_some() { PathState::Resolved } else { PathState::Unresolved };
        assert_eq!(states, [state], "{net}/8: {when}");
    }
}

#[suite::test]
fn a_constrained_path_follows_what_covers_its_next_hop() {
    let rig = Rig::new();
    let (a, b) = (rig.a, rig.b);
    rig.expect([None; 3], "nothing but the default route, which leads nowhere");
    let far = Some((a, "10.0.0.2"));
    rig.via("9.0.0.0/8", a, "10.0.0.2");
    rig.expect([None, None, far], "a network behind a router");
    rig.via("9.0.0.9/32", a, "10.0.0.2");
    rig.expect([far, None, far], "a host behind a router");
    let near = Some((b, "9.0.0.9"));
    rig.via("9.0.0.9/32", b, "9.0.0.9");
    rig.expect([near; 3], "a neighbour");
    rig.via("9.0.0.8/30", a, "10.0.0.2");
    rig.expect([near; 3], "a shorter prefix doesn't matter");
    rig.remove("9.0.0.9/32");
    rig.expect([None, None, far], "the neighbour has gone");
    rig.remove("9.0.0.8/30");
    rig.set(
        "9.0.0.0/8",
        Path::new(Kind::Attached { sw_if: b, address: Ipv4Addr::UNSPECIFIED.into() }),
    );
    rig.expect([None, near, near], "a connected network");
    rig.set("9.0.0.9/32", Path::new(Kind::Fixed(AdjIndex::DROP)));
    rig.expect([None; 3], "a host route that drops resolves nothing");
    rig.remove("9.0.0.9/32");
    rig.expect([None, near, near], "the connected network again");
    let interfaces = rig.bench.world.get::<Interfaces>();
    interfaces.set_admin(&rig.bench.world, b, false).expect("down");
    rig.expect([None; 3], "its interface is down");
    interfaces.set_admin(&rig.bench.world, b, true).expect("up");
    rig.expect([None, near, near], "its interface is up");
    rig.remove("9.0.0.0/8");
    rig.expect([None; 3], "all has gone");
}

#[suite::test]
fn a_path_over_attached_routes_follows_addresses_and_neighbours() {
    let rig = Rig::new();
    let (a, world) = (rig.a, &rig.bench.world);
    let addresses = world.get::<Addresses<Ip4>>();
    rig.expect_at(22, None, "no address");
    addresses.add(world, a, p("10.0.0.1/24")).expect("added");
    let near = Some((a, "10.0.0.7"));
    rig.expect_at(22, near, "the network of an address");
    let mac = MacAddr([2, 0, 0, 0, 0, 9]);
    world.get::<Neighbors>().set(world, Neighbor::new(a, ip("10.0.0.7").into(), mac)).expect("set");
    rig.expect_at(22, near, "a known neighbour");
    rig.via("10.0.0.7/32", a, "10.0.0.3");
    rig.expect_at(22, None, "an operator's route to the host leads elsewhere");
    rig.remove("10.0.0.7/32");
    rig.expect_at(22, near, "the neighbour again");
    addresses.clear(world, a).expect("cleared");
    rig.expect_at(22, None, "the address has gone");
}

/// A host that a feature follows has an entry of its own: the route that covers it, while it is
/// followed.
#[suite::test]
fn a_followed_host_is_found_exactly() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let fib = world.get::<Fib<Ip4>>();
    let t = TableIndex::DEFAULT;
    let drop = [Path::new(Kind::Fixed(AdjIndex::DROP))];
    fib.set(world, t, p("20.0.0.0/8"), Source::Cli, &drop).expect("set");
    let exact = |net| fib.lookup(t, p(net), true).map(|route| (route.prefix, route.index));
    let cover = exact("20.0.0.0/8").expect("there").1;
    assert_eq!(exact("20.0.0.9/32").expect_err("not followed").code(), -6);
    let tracked = Tracked::new(world, 0, ip("20.0.0.9").into()).expect("followed");
    assert_eq!(exact("20.0.0.9/32"), Ok((p("20.0.0.9/32"), cover)));
    for other in ["20.0.0.8/32", "20.0.0.8/31"] {
        assert_eq!(exact(other).expect_err("not followed").code(), -6);
    }
    tracked.release(world);
    assert_eq!(exact("20.0.0.9/32").expect_err("no longer followed").code(), -6);
}

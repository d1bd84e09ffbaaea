// SPDX-License-Identifier: Apache-2.0
//! Operations of the binary API.

use super::*;

fn hop(sw_if: SwIfIndex, text: &str) -> Path {
    Path::new(Kind::Neighbor { sw_if, nexthop: ip(text).into() })
}

fn all(fib: &Fib<Ip4>, table: TableIndex) -> Vec<Ip4Prefix> {
    let mut all = Vec::new();
    fib.for_each(table, |route| all.push(route.prefix));
    all
}

#[suite::test]
fn what_is_not_told_again_goes() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let fib = world.get::<Fib<Ip4>>();
    let t = fib.add_table(world, 10, "ten", Source::Cli).expect("made");
    let own = all(&fib, t);
    let (x, y) = (hop(a, "1.0.0.1"), hop(a, "1.0.0.2"));
    for net in ["1.0.0.0/8", "2.0.0.0/8", "3.0.0.0/8", "4.0.0.0/8"] {
        fib.set(world, t, p(net), Source::Api, &[x]).expect("set");
    }
    fib.set(world, t, p("2.0.0.0/8"), Source::Cli, &[y]).expect("set");
    let index = |net| fib.lookup(t, p(net), true).expect(net).index;
    let kept = index("1.0.0.0/8");
    fib.replace_begin(t, Source::Api).expect("begun");
    assert_eq!(fib.set(world, t, p("1.0.0.0/8"), Source::Api, &[x]).expect("set"), kept);
    // Paths are added to paths set since the begin only.
    fib.add(world, t, p("3.0.0.0/8"), Source::Api, &[y]).expect("added");
    assert_eq!(
        fib.remove(world, t, p("4.0.0.0/8"), Source::Api, &[x]).expect_err("not yet").code(),
        -6
    );
    assert_eq!(
        ends(&bench, t, ip("4.1.1.1")),
        [End::Neighbor(a.0, ip("1.0.0.1").into())].into(),
        "still there"
    );
    assert_eq!(fib.replace_end(world, t, Source::Api).expect("ended"), 2);
    let neighbor = |n: &str| BTreeSet::from([End::Neighbor(a.0, ip(n).into())]);
    assert_eq!(ends(&bench, t, ip("1.1.1.1")), neighbor("1.0.0.1"));
    assert_eq!(ends(&bench, t, ip("2.1.1.1")), neighbor("1.0.0.2"), "what the operator said");
    assert_eq!(ends(&bench, t, ip("3.1.1.1")), neighbor("1.0.0.2"));
    assert_eq!(fib.lookup(t, p("4.0.0.0/8"), true).expect_err("gone").code(), -6);
    assert_eq!(fib.replace_end(world, t, Source::Api).expect("again"), 0);
    assert_eq!(fib.flush(world, t, Source::Api).expect("flushed"), 2);
    assert_eq!(fib.flush(world, t, Source::Cli).expect("flushed"), 1);
    assert_eq!(all(&fib, t), own);
    let none = TableIndex(77);
    assert_eq!(fib.flush(world, none, Source::Api).expect_err("no table").code(), -3);
    assert_eq!(fib.replace_begin(none, Source::Api).expect_err("no table").code(), -3);
    assert_eq!(fib.replace_end(world, none, Source::Api).expect_err("no table").code(), -3);
    assert_eq!(
        fib.lookup(none, p("4.0.0.0/8"), false).map(|r| r.index).expect_err("no table").code(),
        -3
    );
    assert_eq!(fib.flow_hash(none).expect_err("no table").code(), -3);
    assert_eq!(fib.set_flow_hash(none, FlowHash::SRC).expect_err("no table").code(), -3);
}

#[suite::test]
fn exact_or_longest() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let fib = world.get::<Fib<Ip4>>();
    let t = TableIndex::DEFAULT;
    for net in ["9.0.0.0/8", "9.1.0.0/16", "9.1.1.0/24"] {
        fib.set(world, t, p(net), Source::Api, &[hop(a, "1.0.0.1")]).expect("set");
    }
    let found = |net, exact| fib.lookup(t, p(net), exact).map(|r| r.prefix).map_err(|e| e.code());
    assert_eq!(found("9.1.0.0/16", true), Ok(p("9.1.0.0/16")));
    assert_eq!(found("9.1.0.0/17", true), Err(-6));
    assert_eq!(found("9.1.1.0/23", false), Ok(p("9.1.0.0/16")), "a longer one doesn't cover it");
    assert_eq!(found("9.1.1.7/32", false), Ok(p("9.1.1.0/24")));
    assert_eq!(found("10.0.0.0/8", false), Ok(p("0.0.0.0/0")));
    assert_eq!(
        fib.remove(world, t, p("9.1.0.0/17"), Source::Api, &[]).expect_err("none").code(),
        -6
    );
    assert_eq!(
        fib.remove(world, t, p("9.1.0.0/16"), Source::Cli, &[]).expect_err("not his").code(),
        -6
    );
    assert_eq!(
        fib.set(world, t, p("9.0.0.0/8"), Source::Api, &[]).expect_err("no path").code(),
        -52
    );
}

#[suite::test]
fn a_walk_goes_on_while_routes_come_and_go() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let fib = world.get::<Fib<Ip4>>();
    let t = fib.add_table(world, 5, "five", Source::Cli).expect("made");
    let own = all(&fib, t).len();
    let net =
        |i: u32| Prefix::new(Ipv4Addr::from_bits(0x0900_0000 + (i << 8)), 24).expect("a length");
    for i in 0..100 {
        fib.set(world, t, net(i), Source::Api, &[hop(a, "1.0.0.1")]).expect("set");
    }
    let (mut after, mut seen, mut round) = (None, Vec::new(), 0);
    loop {
        let chunk = fib.routes_from(t, after, 7);
        assert!(chunk.len() <= 7);
        let Some(last) = chunk.last() else { break };
        after = Some(last.prefix);
        seen.extend(chunk.iter().map(|route| route.prefix));
        // The route at the walk's position is removed, and one after it is added.
        if last.prefix.addr().octets()[0] == 9 {
            fib.remove(world, t, last.prefix, Source::Api, &[]).expect("removed");
            round += 1;
            fib.set(world, t, net(200 + round), Source::Api, &[hop(a, "1.0.0.1")]).expect("set");
        }
    }
    let mut once = seen.clone();
    once.dedup();
    assert_eq!(once, seen);
    assert!(seen.is_sorted());
    assert!((0..100).all(|i| seen.contains(&net(i))), "whatever was there was seen");
    assert_eq!(seen.len() as u32, own as u32 + 100 + round);
}

#[suite::test]
fn a_table_is_found_an_id() {
    let bench = Bench::new(STATEFUL);
    let fib = bench.world.get::<Fib<Ip4>>();
    assert_eq!(fib.free_table_id(), 1);
    fib.add_table(&bench.world, 1, "", Source::Cli).expect("made");
    fib.add_table(&bench.world, 3, "", Source::Cli).expect("made");
    assert_eq!(fib.free_table_id(), 2);
    let three = fib.find_table(3).expect("there");
    assert_eq!(fib.flow_hash(three), Ok(FlowHash::default()));
    let both = FlowHash::SRC | FlowHash::SYMMETRIC;
    fib.set_flow_hash(three, both).expect("set");
    assert_eq!(fib.flow_hash(three).expect("there").names(), ["src", "symmetric"]);
    let refused =
        [0x180, 0x100, 0x200].map(|bits| FlowHash::from_api(bits).expect_err("refused").code());
    assert_eq!(refused, [-9, -9, -7]);
}

#[suite::test]
fn ten_thousand_tables_cost_kilobytes_each() {
    const N: u32 = 10_000;
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/statm").expect("a process");
        status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("pages") * 4096
    };
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let (fib, fib6) = (world.get::<Fib<Ip4>>(), world.get::<Fib<wire::Ip6>>());
    let before = resident();
    let tables: Vec<_> = (1..=N)
        .map(|id| {
            fib6.add_table(world, id, "", Source::Cli).expect("made");
            fib.add_table(world, id, "", Source::Cli).expect("made")
        })
        .collect();
    // Other tests run in the same process and may give memory back.
    let each = resident().saturating_sub(before) / u64::from(N);
    println!("{each} bytes for a VRF without routes of its own, both protocols");
    assert!(each < 8 << 10, "{each}");
    assert_eq!(fib.find_table(N / 2).ok(), Some(tables[N as usize / 2 - 1]));
    // Each table has its own routes.
    for (i, table) in tables.iter().enumerate().step_by(100) {
        let nexthop = Ipv4Addr::from_bits(0x0100_0000 + i as u32);
        let via = [Path::new(Kind::Neighbor { sw_if: a, nexthop: nexthop.into() })];
        fib.set(world, *table, p("9.0.0.0/8"), Source::Api, &via).expect("set");
    }
    for (i, table) in tables.iter().enumerate().step_by(50) {
        let nexthop = Ipv4Addr::from_bits(0x0100_0000 + i as u32);
        let here = if i % 100 == 0 { End::Neighbor(a.0, nexthop.into()) } else { End::NoRoute };
        assert_eq!(ends(&bench, *table, ip("9.1.1.1")), [here].into(), "{i}");
    }
    (1..=N).for_each(|id| assert_eq!(fib.delete_table(world, id, Source::Cli), Ok(true)));
    assert_eq!(fib.list_tables().len(), 1);
    assert_eq!(fib.find_table(N / 2).expect_err("gone").code(), -3);
}

#[suite::test]
fn clients_add_sources_that_rank_as_they_say() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let (fib, sources) = (world.get::<Fib<Ip4>>(), world.get::<Sources>());
    let t = TableIndex::DEFAULT;
    let strong = sources.add("mine", 0x20).expect("added");
    let weak = sources.add("spare", 0xa0).expect("added");
    assert_eq!(sources.add("mine", 0x20).ok(), Some(strong), "said twice");
    assert_eq!(sources.add("mine", 0x21).expect_err("of another priority").code(), -81);
    assert_eq!(sources.add("API", 0x21).expect_err("taken").code(), -81);
    assert_eq!(sources.add("", 9).expect_err("no name").code(), -7);
    assert_eq!(sources.add("top", 0).expect_err("nobody overrides these").code(), -7);
    assert_eq!((sources.of(weak.id()), sources.of(77)), (Some(weak), None));
    assert_eq!(sources.name(strong), "mine");
    let all = sources.all();
    assert!(all.is_sorted_by_key(|s| s.priority()) && all.len() == Source::ALL.len() + 2);
    let at = || ends(&bench, t, ip("9.1.1.1")).into_iter().collect::<Vec<_>>();
    let end = |n| [End::Neighbor(a.0, ip(n).into())];
    for (source, n) in
        [(weak, "1.0.0.1"), (Source::Cli, "1.0.0.2"), (strong, "1.0.0.3"), (Source::Api, "1.0.0.4")]
    {
        fib.set(world, t, p("9.0.0.0/8"), source, &[hop(a, n)]).expect("set");
    }
    for (source, n) in
        [(strong, "1.0.0.3"), (Source::Api, "1.0.0.4"), (Source::Cli, "1.0.0.2"), (weak, "1.0.0.1")]
    {
        assert_eq!(at(), end(n), "{source:?}");
        fib.remove(world, t, p("9.0.0.0/8"), source, &[]).expect("removed");
    }
    assert_eq!(at(), [End::NoRoute]);
}

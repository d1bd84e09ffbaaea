// SPDX-License-Identifier: Apache-2.0
//! Several sources of routes against a plain model: the best source is in force, and none takes
//! another one's routes.

use super::*;

/// Sources in the order in which they rank: addresses of interfaces, operators' routes of the
/// kernel, its daemons' ones, FPM, the API, the CLI, DHCP, router advertisements.
const ADDED: [(&str, u8); 3] = [("static", 0x10), ("dynamic", 0x11), ("fpm", 0x12)];
const SOURCES: usize = 8;

fn sources(bench: &Bench) -> [Source; SOURCES] {
    let sources = bench.world.get::<Sources>();
    let [fixed, dynamic, fpm] =
        ADDED.map(|(name, priority)| sources.add(name, priority).expect("added"));
    let (first, last) = (Source::Interface, [Source::Api, Source::Cli, Source::Dhcp]);
    [first, fixed, dynamic, fpm, last[0], last[1], last[2], Source::Advertised]
}

#[derive(Clone, Debug)]
enum Op {
    /// A source sets its paths to a prefix, in place of those that it had.
    Set(usize, u8, u8),
    /// A source removes its route.
    Remove(usize, u8),
    /// Many changes of a source in one step: a path, or none.
    Many(usize, Vec<(u8, Option<u8>)>),
    /// A source replaces its routes: what isn't set again goes.
    Begin(usize),
    End(usize),
    /// As [`Op::End`], a few at a time.
    EndSome(usize),
    /// All of a source go.
    Flush(usize),
}

const PREFIXES: u8 = 6;

fn op() -> impl Strategy<Value = Op> {
    let many = proptest::collection::vec((0..PREFIXES, proptest::option::of(0u8..4)), 1..12);
    prop_oneof![
        6 => (0..SOURCES, 0..PREFIXES, 0u8..4).prop_map(|(s, p, h)| Op::Set(s, p, h)),
        4 => (0..SOURCES, 0..PREFIXES).prop_map(|(s, p)| Op::Remove(s, p)),
        4 => (0..SOURCES, many).prop_map(|(s, all)| Op::Many(s, all)),
        1 => (0..SOURCES).prop_map(Op::Begin),
        1 => (0..SOURCES).prop_map(Op::End),
        1 => (0..SOURCES).prop_map(Op::EndSome),
        1 => (0..SOURCES).prop_map(Op::Flush),
    ]
}

/// A prefix of the test; the last ones lie in the first.
fn prefix(n: u8) -> Ip4Prefix {
    let (addr, len) = if n < 4 { ([9, n, 0, 0], 16) } else { ([9, 0, n, 0], 24) };
    Prefix::new(addr.into(), len).expect("a length")
}

/// The prefixes' routes by source: the last byte of the next hop, and whether it is stale.
type Model = BTreeMap<u8, BTreeMap<usize, (u8, bool)>>;

fn check(bench: &Bench, sources: [Source; SOURCES], sw_if: SwIfIndex, model: &Model) {
    let fib = bench.world.get::<Fib<Ip4>>();
    for n in 0..PREFIXES {
        let of = model.get(&n).cloned().unwrap_or_default();
        let route = fib.route(TableIndex::DEFAULT, prefix(n));
        let there: Vec<_> =
            route.iter().flat_map(|route| &route.sources).map(|of| of.source).collect();
        let wanted: Vec<_> = of.keys().map(|source| sources[*source]).collect();
        assert_eq!(there, wanted, "sources of {}, best first", prefix(n));
        if let Some((_, (hop, _))) = of.first_key_value() {
            let addr = Ipv4Addr::from_bits(prefix(n).addr().to_bits() + 7);
            let wanted = End::Neighbor(sw_if.0, Ipv4Addr::new(1, 0, 0, *hop).into());
            assert_eq!(ends(bench, TableIndex::DEFAULT, addr), [wanted].into());
        }
    }
    for (at, source) in sources.into_iter().enumerate() {
        let of = model.values().filter_map(|of| of.get(&at));
        let (routes, stale) = (of.clone().count(), of.filter(|(_, stale)| *stale).count());
        assert_eq!(fib.count(source), SourceCount { routes, stale }, "{source:?}");
    }
}

fn drop_where(model: &mut Model, source: usize, gone: impl Fn(bool) -> bool) {
    for of in model.values_mut() {
        of.retain(|s, (_, stale)| *s != source || !gone(*stale));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[suite::test]
    fn the_best_source_is_in_force(ops in proptest::collection::vec(op(), 1..60)) {
        let bench = Bench::new(STATEFUL);
        let world = &bench.world;
        let (a, sources) = (up(&bench, "a"), sources(&bench));
        assert!(sources.is_sorted(), "{sources:?}");
        let (fib, t) = (world.get::<Fib<Ip4>>(), TableIndex::DEFAULT);
        let hop = |n: u8| {
            let nexthop = Ipv4Addr::new(1, 0, 0, n).into();
            Path::new(PathKind::Neighbor { sw_if: a, nexthop })
        };
        let mut model = Model::new();
        for op in ops {
            match op {
                Op::Set(s, p, h) => {
                    fib.set(world, t, prefix(p), sources[s], &[hop(h)]).expect("set");
                    model.entry(p).or_default().insert(s, (h, false));
                }
                Op::Remove(s, p) => {
                    let was = model.entry(p).or_default().remove(&s).is_some();
                    let done = fib.remove(world, t, prefix(p), sources[s], &[]);
                    assert_eq!(done.is_ok(), was);
                }
                Op::Many(s, all) => {
                    let paths: Vec<_> =
                        all.iter().map(|(p, h)| (prefix(*p), h.map(hop))).collect();
                    let changes = paths.iter().map(|(p, path)| (*p, path.as_slice()));
                    let mut seen = Vec::new();
                    fib.change_all(world, t, sources[s], changes, |prefix, changed| {
                        let is_set = matches!(changed.expect("changed"), Changed::Set(_));
                        seen.push((prefix, is_set));
                    });
                    let mut wanted: Vec<_> =
                        paths.iter().map(|(prefix, path)| (*prefix, path.is_some())).collect();
                    seen.sort();
                    wanted.sort();
                    assert_eq!(seen, wanted, "each is reported once");
                    for (p, h) in all {
                        let of = model.entry(p).or_default();
                        match h {
                            Some(h) => drop(of.insert(s, (h, false))),
                            None => drop(of.remove(&s)),
                        }
                    }
                }
                Op::Begin(s) => {
                    fib.replace_begin(t, sources[s]).expect("begun");
                    let of = model.values_mut().filter_map(|of| of.get_mut(&s));
                    of.for_each(|(_, stale)| *stale = true);
                }
                Op::End(s) => {
                    fib.replace_end(world, t, sources[s]).expect("ended");
                    drop_where(&mut model, s, |stale| stale);
                }
                Op::EndSome(s) => {
                    let mut after = None;
                    loop {
                        after = fib.replace_end_some(world, t, sources[s], after, 2).expect("some");
                        if after.is_none() {
                            break;
                        }
                    }
                    drop_where(&mut model, s, |stale| stale);
                }
                Op::Flush(s) => {
                    fib.flush(world, t, sources[s]).expect("flushed");
                    drop_where(&mut model, s, |_| true);
                }
            }
            check(&bench, sources, a, &model);
        }
    }
}

/// A prefix that can't be changed doesn't keep the others from it.
#[suite::test]
fn one_bad_change_of_many_is_reported_alone() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let a = up(&bench, "a");
    let (fib, t) = (world.get::<Fib<Ip4>>(), TableIndex::DEFAULT);
    let good =
        |n| Path::new(Kind::Neighbor { sw_if: a, nexthop: Ipv4Addr::new(1, 0, 0, n).into() });
    let bad = Path::new(Kind::Neighbor { sw_if: SwIfIndex(77), nexthop: ip("1.0.0.1").into() });
    let paths = [[good(1)], [bad], [good(2)]];
    let changes = (0u8..).zip(&paths).map(|(n, path)| (prefix(n), &path[..]));
    let mut done = Vec::new();
    fib.change_all(world, t, Source::Api, changes, |prefix, changed| {
        done.push((
            prefix,
            changed.map(|c| matches!(c, Changed::Set(_))).map_err(|error| error.code()),
        ));
    });
    done.sort_by_key(|(prefix, _)| *prefix);
    assert_eq!(done, [(prefix(0), Ok(true)), (prefix(1), Err(-2)), (prefix(2), Ok(true))]);
    let mut seen = Vec::new();
    let last = fib.for_some_of(t, Source::Api, None, usize::MAX, |prefix, _| seen.push(prefix));
    assert_eq!((seen, last), (vec![prefix(0), prefix(2)], None));
    // A connected network brings its neighbours' routes, and takes them along.
    let network = [Path::new(Kind::Attached { sw_if: a, address: ip("0.0.0.0").into() })];
    let mac = MacAddr([2, 0, 0, 0, 0, 1]);
    world.get::<Neighbors>().set(world, Neighbor::new(a, ip("9.3.0.9").into(), mac)).expect("set");
    let host = || fib.route(t, Prefix::host(ip("9.3.0.9"))).is_some();
    assert!(!host());
    fib.change_all(world, t, Source::Api, [(prefix(3), &network[..])], |_, _| {});
    assert!(host());
    fib.change_all(world, t, Source::Api, [(prefix(3), &[][..])], |_, _| {});
    assert!(!host());
}

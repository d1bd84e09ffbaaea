// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::tests::{STATEFUL, add};
use crate::{AdjKind, Fib, Source};
use graph::SwIfIndex;
use graph::drive::Bench;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Address, Ip4, Ip6, MacAddr, Prefix};

const T0: TableIndex = TableIndex::DEFAULT;

fn up(bench: &Bench, name: &str) -> SwIfIndex {
    let sw_if = add(bench, name).expect("added");
    bench.world.get::<Interfaces>().set_admin(&bench.world, sw_if, true).expect("up");
    sw_if
}

fn to(sw_if: SwIfIndex, flags: ItfFlags) -> Mpath {
    Mpath { kind: MpathKind::Interface { sw_if, nexthop: None }, flags }
}

fn any<A: Address>(text: &str) -> Group<A> {
    let (addr, len) = text.split_once('/').unwrap_or((text, ""));
    let addr: A = addr.parse().ok().expect("an address");
    let prefix = if len.is_empty() {
        Prefix::host(addr)
    } else {
        Prefix::new(addr, len.parse().expect("a length")).expect("a prefix")
    };
    Group::any(prefix)
}

fn four(text: &str) -> Ipv4Addr {
    text.parse().expect("an address")
}

/// The entry that a packet takes, by the published tables.
fn taken<F: Net>(
    bench: &Bench,
    table: TableIndex,
    group: F::Addr,
    source: F::Addr,
) -> Option<Group<IpAddr>> {
    let (mfib, mroutes) = (bench.world.get::<Mfib<F>>(), bench.world.get::<Mroutes>());
    let mut reader = bench.world.qsbr.register();
    let turn = reader.turn();
    let index = mfib.find(table, group, source, &turn)?;
    Some(mroutes.get(index, &turn).expect("what is found is there").group)
}

#[suite::test]
fn the_best_of_sender_group_and_prefix_is_taken() {
    let bench = Bench::new(STATEFUL);
    let (world, mfib) = (&bench.world, bench.world.get::<Mfib<Ip4>>());
    bench.world.get::<Fib<Ip4>>();
    let a = up(&bench, "a");
    let paths = [to(a, ItfFlags::ACCEPT)];
    let put = |group| {
        let change = Change { paths: &paths, ..Change::default() };
        mfib.update(world, T0, group, Source::Cli, change).expect("put");
    };
    let took = |group, source| {
        taken::<Ip4>(&bench, T0, four(group), four(source))
            .map_or("none".into(), |group| group.to_string())
    };
    assert_eq!(took("239.1.1.1", "1.1.1.1"), "(*, 0.0.0.0/0)");
    assert_eq!(took("224.0.0.9", "1.1.1.1"), "(*, 224.0.0.0/24)");
    // First a single sender, then entries for other senders, from the shortest prefix to the
    // longest and back.
    put(from::<Ip4>(four("1.1.1.1"), four("239.1.1.1")));
    assert_eq!(took("239.1.1.1", "1.1.1.1"), "(1.1.1.1, 239.1.1.1)");
    assert_eq!(took("239.1.1.1", "1.1.1.2"), "(*, 0.0.0.0/0)");
    put(any("239.0.0.0/8"));
    assert_eq!(took("239.1.1.1", "1.1.1.2"), "(*, 239.0.0.0/8)");
    put(any("239.1.0.0/16"));
    assert_eq!(took("239.1.1.1", "1.1.1.2"), "(*, 239.1.0.0/16)");
    put(any("239.1.1.1"));
    assert_eq!(took("239.1.1.1", "1.1.1.2"), "(*, 239.1.1.1)");
    assert_eq!(mfib.count(T0), 4);
    let gone = |group| mfib.remove(world, T0, group, Source::Cli, &[]).expect("removed");
    gone(any("239.1.1.1"));
    gone(any("239.1.0.0/16"));
    assert_eq!(took("239.1.1.1", "1.1.1.2"), "(*, 239.0.0.0/8)");
    gone(any("239.0.0.0/8"));
    assert_eq!(
        (took("239.1.1.1", "1.1.1.1"), took("239.1.1.1", "1.1.1.2")),
        ("(1.1.1.1, 239.1.1.1)".into(), "(*, 0.0.0.0/0)".into())
    );
    gone(from::<Ip4>(four("1.1.1.1"), four("239.1.1.1")));
    assert_eq!((took("239.1.1.1", "1.1.1.1"), mfib.count(T0)), ("(*, 0.0.0.0/0)".into(), 0));
    // An entry that every table has can be overridden, and comes back.
    put(any("224.0.0.0/24"));
    assert_eq!(
        mfib.list(T0, None, 10).iter().filter(|r| r.sources[0].source == Source::Cli).count(),
        1
    );
    gone(any("224.0.0.0/24"));
    assert_eq!(took("224.0.0.9", "1.1.1.1"), "(*, 224.0.0.0/24)");
    let bad = from::<Ip4>(four("224.1.1.1"), four("239.1.1.1"));
    let refused =
        mfib.update(world, T0, bad, Source::Cli, Change::default()).expect_err("no sender");
    assert_eq!(refused.code(), -7);
    // An entry for an address that is not a group is kept, beside the others.
    put(any("10.1.1.1"));
    assert_eq!((mfib.count(T0), mfib.entry(T0, any("10.1.1.1")).is_some()), (1, true));
    gone(any("10.1.1.1"));
    let nowhere = [to(SwIfIndex(77), ItfFlags::ACCEPT)];
    let change = Change { paths: &nowhere, ..Change::default() };
    assert_eq!(
        mfib.update(world, T0, any("239.1.1.1"), Source::Cli, change)
            .expect_err("no interface")
            .code(),
        -2
    );
    assert_eq!(mfib.count(T0), 0);
    assert_eq!(
        mfib.remove(world, T0, any("239.1.1.1"), Source::Cli, &[]).expect_err("none").code(),
        -6
    );
}

#[suite::test]
fn paths_follow_their_interfaces() {
    let bench = Bench::new(STATEFUL);
    let (world, mfib) = (&bench.world, bench.world.get::<Mfib<Ip6>>());
    let (interfaces, adjacencies) = (world.get::<Interfaces>(), world.get::<Adjacencies>());
    let (a, b) = (up(&bench, "a"), up(&bench, "b"));
    let group = any::<Ipv6Addr>("ff0e::1");
    let before = adjacencies.list().len();
    let both = ItfFlags::ACCEPT | ItfFlags::FORWARD;
    let router = Mpath {
        kind: MpathKind::Interface {
            sw_if: b,
            nexthop: Some("fe80::1".parse().expect("an address")),
        },
        flags: ItfFlags::FORWARD,
    };
    let here = Mpath { kind: MpathKind::Local, flags: ItfFlags::FORWARD };
    let change = Change {
        paths: &[to(a, both), to(b, ItfFlags::FORWARD), router, here],
        ..Change::default()
    };
    mfib.update(world, T0, group, Source::Api, change).expect("added");
    let entry = || mfib.entry(T0, group).expect("there");
    // A neighbour receives the packet to the group: one output for both.
    assert_eq!((entry().outputs.len(), entry().interfaces.len()), (3, 2));
    let of = |sw_if: SwIfIndex| {
        let found = adjacencies
            .list()
            .into_iter()
            .find(|i| i.adj.kind == AdjKind::Multicast && i.sw_if() == Some(sw_if));
        found.map(|info| info.adj)
    };
    let start = [0x33, 0x33, 0, 0, 0, 0];
    assert_eq!(of(a).expect("there").rewrite()[..6], start);
    interfaces.set_mac(world, a, MacAddr([2, 0, 0, 0, 0, 99])).expect("set");
    assert_eq!(
        of(a).expect("there").rewrite()[..],
        [&start[..], &[2, 0, 0, 0, 0, 99, 0x86, 0xdd]].concat()
    );
    interfaces.set_admin(world, a, false).expect("down");
    assert_eq!((entry().outputs.len(), of(a).is_none()), (2, true));
    interfaces.set_admin(world, a, true).expect("up");
    assert_eq!(entry().outputs.len(), 3);
    mfib.remove(world, T0, group, Source::Api, &[router.kind]).expect("removed");
    assert_eq!(entry().outputs.len(), 3);
    assert_eq!(
        mfib.remove(world, T0, group, Source::Api, &[router.kind]).expect_err("gone").code(),
        -6
    );
    interfaces.delete(world, b).expect("deleted");
    assert_eq!((entry().outputs.len(), entry().interfaces.clone()), (2, vec![(a, both)]));
    mfib.remove(world, T0, group, Source::Api, &[MpathKind::Local]).expect("removed");
    interfaces.delete(world, a).expect("deleted");
    assert_eq!((mfib.entry(T0, group), adjacencies.list().len()), (None, before));
}

#[suite::test]
fn tables_and_sources_come_and_go() {
    let bench = Bench::new(STATEFUL);
    let (world, mfib, fib) =
        (&bench.world, bench.world.get::<Mfib<Ip4>>(), bench.world.get::<Fib<Ip4>>());
    let a = up(&bench, "a");
    let seven = fib.add_table(world, 7, "seven", Source::Cli).expect("added");
    let paths = [to(a, ItfFlags::ACCEPT)];
    let put = |table, group, source, flags| {
        mfib.update(
            world,
            table,
            any(group),
            source,
            Change { flags: Some(flags), rpf_id: None, paths: &paths },
        )
        .expect("put");
    };
    put(seven, "239.1.1.1", Source::Cli, EntryFlags::DROP);
    put(seven, "239.1.1.1", Source::Api, EntryFlags::SIGNAL);
    put(seven, "239.1.1.2", Source::Api, EntryFlags::empty());
    let all = taken::<Ip4>(&bench, T0, four("239.1.1.1"), four("1.1.1.1")).expect("one for all");
    assert_eq!(all.to_string(), "(*, 0.0.0.0/0)", "of another table");
    let flags = || mfib.entry(seven, any("239.1.1.1")).map(|entry| entry.flags());
    assert_eq!(flags(), Some(EntryFlags::SIGNAL), "the API's word counts");
    fib.replace_begin(seven, Source::Api).expect("begun");
    put(seven, "239.1.1.2", Source::Api, EntryFlags::empty());
    fib.replace_end(world, seven, Source::Api).expect("ended");
    assert_eq!((flags(), mfib.count(seven)), (Some(EntryFlags::DROP), 2));
    fib.flush(world, seven, Source::Api).expect("flushed");
    assert_eq!(mfib.count(seven), 1);
    assert_eq!(fib.delete_table(world, 7, Source::Cli), Ok(true));
    assert_eq!(mfib.count(seven), 0);
    let again = fib.add_table(world, 8, "eight", Source::Cli).expect("added");
    assert_eq!((again, mfib.count(again), mfib.list(again, None, 99).len()), (seven, 0, 3));
}

#[suite::test]
fn lists_are_read_in_parts() {
    let bench = Bench::new(STATEFUL);
    let (world, mfib) = (&bench.world, bench.world.get::<Mfib<Ip4>>());
    let change = || Change { flags: Some(EntryFlags::SIGNAL), ..Change::default() };
    for i in 0..50u8 {
        let group = Ipv4Addr::new(224, 0, i % 3, i / 3);
        mfib.update(world, T0, Group::any(Prefix::host(group)), Source::Cli, change())
            .expect("put");
        mfib.update(world, T0, from::<Ip4>(four("9.9.9.9"), group), Source::Cli, change())
            .expect("put");
    }
    let all: Vec<_> = mfib.list(T0, None, 1000).into_iter().map(|r| r.group).collect();
    assert_eq!(all.len(), 101);
    assert!(all.is_sorted());
    for n in [1, 2, 3, 7, 101] {
        let (mut parts, mut last) = (Vec::new(), None);
        loop {
            let part = mfib.list(T0, last, n);
            let Some(end) = part.last() else { break };
            last = Some(end.group);
            parts.extend(part.into_iter().map(|r| r.group));
        }
        assert_eq!(parts, all, "{n} at once");
    }
}

/// One step: add (true) or remove; the group; the prefix length, as an index; the sender, if there
/// is one.
type Step = (bool, u32, u8, Option<u8>);

/// Compares lookups with a linear search through all entries, after random changes.
fn agrees<F: Net>(
    steps: &[Step],
    widen: impl Fn(u32) -> F::Addr,
    lens: &[u8],
    sender: impl Fn(u8) -> F::Addr,
) {
    let bench = Bench::new(STATEFUL);
    let (world, mfib) = (&bench.world, bench.world.get::<Mfib<F>>());
    let heard = F::heard().into_iter().map(|(prefix, _)| prefix);
    let defaults: Vec<Group<F::Addr>> = heard.chain([F::groups()]).map(Group::any).collect();
    let mut model: BTreeMap<Group<F::Addr>, ()> = BTreeMap::new();
    let change = Change { flags: Some(EntryFlags::SIGNAL), ..Change::default() };
    for &(adds, group, len, source) in steps {
        let addr = widen(group);
        let group = match source {
            Some(source) => from::<F>(sender(source), addr),
            None => Group::any(
                Prefix::new(addr, lens[usize::from(len) % lens.len()]).expect("a prefix"),
            ),
        };
        if adds {
            mfib.update(world, T0, group, Source::Cli, change).expect("room");
            model.insert(group, ());
        } else {
            assert_eq!(
                mfib.remove(world, T0, group, Source::Cli, &[]).is_ok(),
                model.remove(&group).is_some()
            );
        }
        world.qsbr.collect();
        let best = |addr: F::Addr, from: F::Addr| {
            let all = model.keys().chain(&defaults);
            let covers = |g: &&Group<F::Addr>| {
                Prefix::new(g.addr, g.len).is_some_and(|p| p.contains(addr))
                    && g.source.is_none_or(|s| s == from)
            };
            all.filter(covers).max_by_key(|g| (g.source.is_some(), g.len)).map(|g| g.erased())
        };
        for (_, near, _, source) in steps {
            let (addr, from) = (widen(*near), sender(source.unwrap_or(9)));
            assert_eq!(taken::<F>(&bench, T0, addr, from), best(addr, from), "{addr} from {from}");
        }
    }
    assert_eq!(mfib.count(T0), model.len());
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (prop::bool::weighted(0.6), 0..24u32, 0..8u8, prop::option::of(0..4u8));
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[suite::test]
    fn lookups_find_what_a_search_finds(steps in steps()) {
        let widen = |group: u32| Ipv4Addr::from_bits(0xe000_0000 | (group & 3) << 22 | (group >> 2 & 3) << 8 | group >> 4);
        agrees::<Ip4>(&steps, widen, &[4, 10, 16, 24, 30, 32, 32, 32], |i| Ipv4Addr::new(10, 0, 0, i));
    }

    #[suite::test]
    fn lookups_of_ipv6_find_what_a_search_finds(steps in steps()) {
        let widen = |group: u32| Ipv6Addr::new(0xff00 + (group & 3) as u16 * 0x11, 0, 0, 0, 0, 0, (group >> 2 & 3) as u16, (group >> 4) as u16);
        let sender = |i: u8| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, i.into());
        agrees::<Ip6>(&steps, widen, &[8, 12, 16, 112, 127, 128, 128, 128], sender);
    }
}

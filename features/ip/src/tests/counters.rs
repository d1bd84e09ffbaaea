// SPDX-License-Identifier: Apache-2.0
//! Counters of routes in the lookup, and selection among paths.

use super::*;
use net::{AdjIndex, Adjacencies, RouteIndex, Routes};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn index_of(bench: &Bench, table: TableIndex, to: &str) -> RouteIndex {
    bench.world.get::<Fib<Ip4>>().route(table, prefix(to)).expect(to).index
}

/// Packets and bytes that took a route of the default table, and of the routes that follow it.
fn counted(bench: &Bench, to: &str) -> [(u64, u64); 2] {
    let routes = bench.world.get::<Routes>();
    let index = index_of(bench, TableIndex::DEFAULT, to).at();
    [routes.to.sum(index), routes.via.sum(index)]
}

fn via(nexthop: &str) -> PathKind {
    PathKind::Recursive { table: TableIndex::DEFAULT, nexthop: ip(nexthop).into() }
}

fn lookup(
    bench: &mut Bench,
    packets: &[Vec<u8>],
    prepare: impl Fn(&mut Buffer),
) -> Vec<graph::drive::Outcome> {
    bench.node("ip4-lookup", packets, |b| {
        b.rx_if = T1.0;
        prepare(b);
    })
}

fn len(packets: &[Vec<u8>]) -> u64 {
    packets.iter().map(|p| p.len() as u64).sum()
}

#[suite::test]
fn one_by_one_and_in_vectors_the_sums_are_the_same() {
    let mut bench = router();
    route(&bench, "30.0.0.0/8", &[via("20.0.0.9")]);
    let twenty: Vec<_> =
        (0..300).map(|i| udp("20.1.2.3").payload_len(18 + i % 7).build()).collect();
    let mixed: Vec<_> = (0..300)
        .map(|i| udp(["20.1.2.3", "30.1.1.1", "99.1.1.1"][i % 3]).payload_len(18 + i).build())
        .collect();
    let only = |to: &str| -> Vec<Vec<u8>> {
        mixed.iter().filter(|p| p[16..20] == ip(to).octets()).cloned().collect()
    };
    let ways: [&dyn Fn(&mut Buffer); 3] = [
        &|_| {},
        // The table stands with the packet: no batch.
        &|b| {
            b.flags.insert(buffer::Flags::TABLE);
            b.tx_if = 0;
        },
        &|b| Bench::trace(b, 0),
    ];
    let (mut packets, mut bytes, mut recursive) = (0, 0, (0, 0));
    for prepare in ways {
        for packet in mixed.iter().take(6) {
            lookup(&mut bench, std::slice::from_ref(packet), prepare);
        }
        lookup(&mut bench, &twenty, prepare);
        lookup(&mut bench, &only("30.1.1.1"), prepare);
        lookup(&mut bench, &mixed, prepare);
        packets += 300 + 100 + 2;
        let first = [&mixed[0], &mixed[3]].into_iter().map(|p| p.len() as u64).sum::<u64>();
        bytes += len(&twenty) + len(&only("20.1.2.3")) + first;
        recursive.0 += 100 + 100 + 2;
        recursive.1 += 2 * len(&only("30.1.1.1")) + (mixed[1].len() + mixed[4].len()) as u64;
        assert_eq!(counted(&bench, "20.0.0.0/8"), [(packets, bytes), recursive]);
        assert_eq!(counted(&bench, "30.0.0.0/8"), [recursive, (0, 0)]);
    }
    assert_eq!(counted(&bench, "0.0.0.0/0")[0].0, 3 * 102);
    let shown = bench.cli("show ip fib 20.0.0.0/8").expect("shown");
    let [(p, b), (vp, vb)] = counted(&bench, "20.0.0.0/8");
    assert!(shown.contains(&format!("to:[{p}:{b}] via:[{vp}:{vb}]]")), "{shown}");
    let shown = bench.cli("show ip fib 30.0.0.0/8 -j").expect("shown");
    assert!(shown.contains("\"stats_index\""), "{shown}");
}

#[suite::test]
fn who_is_followed_counts_along_the_whole_way() {
    let mut bench = router();
    route(&bench, "21.0.0.0/8", &[via("10.0.2.2")]);
    route(&bench, "30.0.0.0/8", &[via("21.0.0.9")]);
    route(&bench, "40.0.0.0/8", &[via("30.0.0.9"), via("20.0.0.9")]);
    let flows: Vec<_> =
        (0..512).map(|i| pkt::ip4(HOST, "40.0.0.1").udp(1000 + i, 53).build()).collect();
    let out = lookup(&mut bench, &flows, |_| {});
    assert!(out.iter().all(|o| o.node == "ip4-rewrite"));
    let [to, nobody] = counted(&bench, "40.0.0.0/8");
    assert_eq!((to, nobody), ((512, len(&flows)), (0, 0)));
    let [none, by30] = counted(&bench, "30.0.0.0/8");
    assert_eq!(none, (0, 0));
    assert!((150..362).contains(&by30.0), "half of the flows, more or less: {by30:?}");
    assert_eq!(counted(&bench, "21.0.0.0/8"), [(0, 0), by30]);
    // The neighbour's own entry is what they all end at.
    assert_eq!(counted(&bench, "10.0.2.2/32"), [(0, 0), by30]);
    assert_eq!(counted(&bench, "20.0.0.0/8"), [(0, 0), (512 - by30.0, len(&flows) - by30.1)]);
    // An entry with the same paths takes over what it covers.
    route(&bench, "30.0.0.0/24", &[via("21.0.0.9")]);
    lookup(&mut bench, &flows, |_| {});
    assert_eq!(counted(&bench, "30.0.0.0/8")[1], by30);
    assert!((150..362).contains(&counted(&bench, "30.0.0.0/24")[1].0));
}

#[suite::test]
fn equal_paths_share_flows_and_each_flow_keeps_its_own() {
    let mut bench = router();
    let hops = ["10.0.2.2", "10.0.2.3"]
        .map(|hop| PathKind::Neighbor { sw_if: T2, nexthop: ip(hop).into() });
    let paths: Vec<_> =
        hops.iter().zip([3, 1]).map(|(kind, weight)| Path { weight, ..Path::new(*kind) }).collect();
    let fib = bench.world.get::<Fib<Ip4>>();
    let to = fib
        .set(&bench.world, TableIndex::DEFAULT, prefix("50.0.0.0/8"), Source::Cli, &paths)
        .expect("set");
    let flows: Vec<_> =
        (0..1024).map(|i| pkt::ip4(HOST, "50.0.0.1").udp(1000 + i, 53).build()).collect();
    let by_node = |out: &[graph::drive::Outcome]| {
        let ports = |node: &str| -> BTreeSet<Vec<u8>> {
            out.iter().filter(|o| o.node == node).map(|o| o.bytes[20..22].to_vec()).collect()
        };
        [ports("ip4-rewrite"), ports("ip4-arp")]
    };
    let all = by_node(&lookup(&mut bench, &flows, |_| {}));
    assert_eq!(all[0].len() + all[1].len(), 1024);
    assert!((700..836).contains(&all[0].len()), "three of four: {}", all[0].len());
    let mut single = [BTreeSet::new(), BTreeSet::new()];
    for flow in &flows[..64] {
        let [near, far] = by_node(&lookup(&mut bench, std::slice::from_ref(flow), |_| {}));
        single[0].extend(near);
        single[1].extend(far);
    }
    assert!(
        single[0].is_subset(&all[0]) && single[1].is_subset(&all[1]),
        "a flow has changed its path"
    );
    let adjacencies = bench.world.get::<Adjacencies>();
    let sums = ["10.0.2.2", "10.0.2.3"].map(|hop| {
        let adj = adjacencies.find_neighbor(T2, ip(hop).into()).expect("there");
        adjacencies.counters.sum(adj.at()).0
    });
    assert_eq!(sums[0] + sums[1], 1024 + 64);
    assert_eq!(bench.world.get::<Routes>().to.sum(to.at()).0, 1024 + 64);
    // With another router id the paths share as many flows, but others.
    bench.cli("set ip flow-hash router-id 7").expect("set");
    let other = by_node(&lookup(&mut bench, &flows, |_| {}));
    assert!((700..836).contains(&other[0].len()), "three of four: {}", other[0].len());
    let both = all[0].intersection(&other[0]).count();
    assert!((500..650).contains(&both), "three of four of three of four: {both}");
}

#[suite::test]
fn a_lookup_in_another_table_counts_in_both() {
    let mut bench = router();
    let fib = bench.world.get::<Fib<Ip4>>();
    let seven = fib.add_table(&bench.world, 7, "seven", Source::Cli).expect("made");
    route(&bench, "60.0.0.0/8", &[PathKind::Lookup(Fib::<Ip4>::table_ref(seven))]);
    let near = [Path::new(PathKind::Neighbor { sw_if: T2, nexthop: ip("10.0.2.2").into() })];
    let inner =
        fib.set(&bench.world, seven, prefix("60.1.0.0/16"), Source::Cli, &near).expect("set");
    let back = [Path::new(PathKind::Lookup(Fib::<Ip4>::table_ref(TableIndex::DEFAULT)))];
    fib.set(&bench.world, seven, prefix("60.2.0.0/16"), Source::Cli, &back).expect("set");
    let packets: Vec<_> = ["60.1.0.1", "60.3.0.1", "60.2.0.1"].map(|to| udp(to).build()).to_vec();
    let mut out: Vec<_> =
        lookup(&mut bench, &packets, |_| {}).into_iter().map(|o| (o.node, o.reason)).collect();
    out.sort();
    let want = [
        ("ip4-drop".to_string(), Some("ip4 routes lead in a circle")),
        ("ip4-icmp-error".to_string(), Some("ip4 destination lookup miss")),
        ("ip4-rewrite".to_string(), None),
    ];
    assert_eq!(out, want);
    assert_eq!(bench.world.get::<Routes>().to.sum(inner.at()), (1, packets[0].len() as u64));
    let default = index_of(&bench, seven, "0.0.0.0/0");
    assert_eq!(bench.world.get::<Routes>().to.sum(default.at()).0, 1);
}

#[derive(Clone, Debug)]
enum Op {
    Set(Ip4Prefix, bool),
    Remove(Ip4Prefix),
    Send(Vec<Ipv4Addr>),
}

fn addresses() -> impl Strategy<Value = Ipv4Addr> {
    (prop::sample::select(&[70u8, 71][..]), 0u8..2, 0u8..2, 0u8..3)
        .prop_map(|(a, b, c, d)| [a, b, c, d].into())
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let prefixes = || {
        (addresses(), prop::sample::select(&[7u8, 8, 16, 24, 32][..]))
            .prop_map(|(addr, len)| Ip4Prefix::new(addr, len).expect("a length").network())
    };
    let op = prop_oneof![
        3 => (prefixes(), any::<bool>()).prop_map(|(prefix, near)| Op::Set(prefix, near)),
        2 => prefixes().prop_map(Op::Remove),
        3 => prop::collection::vec(addresses(), 1..40).prop_map(Op::Send),
    ];
    prop::collection::vec(op, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Routes come and go and get each other's numbers: each counts its own packets, from when it
    /// came.
    #[suite::test]
    fn every_route_counts_its_own_packets(ops in ops()) {
        let mut bench = router();
        let fib = bench.world.get::<Fib<Ip4>>();
        let mut oracle: BTreeMap<Ip4Prefix, u64> = BTreeMap::new();
        let t = TableIndex::DEFAULT;
        let (mut numbers, mut most) = (BTreeSet::new(), 0);
        for op in ops {
            match op {
                Op::Set(prefix, near) => {
                    let hop = PathKind::Neighbor { sw_if: T2, nexthop: ip("10.0.2.2").into() };
                    let kind = if near { hop } else { PathKind::Fixed(AdjIndex::DROP) };
                    let index = fib.set(&bench.world, t, prefix, Source::Cli, &[Path::new(kind)]).expect("set");
                    numbers.insert(index);
                    oracle.entry(prefix).or_default();
                    most = most.max(oracle.len());
                }
                Op::Remove(prefix) => {
                    let had = oracle.remove(&prefix).is_some();
                    let removed = fib.remove(&bench.world, t, prefix, Source::Cli, &[]);
                    prop_assert_eq!(removed.map_err(|e| e.code()), if had { Ok(()) } else { Err(-6) });
                }
                Op::Send(to) => {
                    let packets: Vec<_> = to.iter().map(|to| udp(&to.to_string()).build()).collect();
                    lookup(&mut bench, &packets, |_| {});
                    for to in to {
                        let covering = oracle.iter_mut().filter(|(p, _)| p.contains(to));
                        if let Some((_, count)) = covering.max_by_key(|(p, _)| p.len()) {
                            *count += 1;
                        }
                    }
                }
            }
            let routes = bench.world.get::<Routes>();
            for (prefix, count) in &oracle {
                let index = fib.lookup(t, *prefix, true).expect("there").index;
                prop_assert_eq!(routes.to.sum(index.at()).0, *count, "{}", prefix);
            }
        }
        prop_assert_eq!(numbers.len(), most, "numbers are used again");
    }
}

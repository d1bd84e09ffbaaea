// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::tests::{STATEFUL, add, add_ip};
use crate::{Interfaces, MtuKind, ethernet_rewrite};
use graph::World;
use graph::drive::Bench;
use wire::{EtherType, MacAddr};

fn gone(bench: &Bench, index: AdjIndex) -> bool {
    bench.world.get::<Adjacencies>().info(index).is_none()
}

fn seen(bench: &Bench, index: AdjIndex) -> Option<Adj> {
    let world: &World = &bench.world;
    let mut reader = world.qsbr.register();
    let turn = reader.turn();
    let adjs = world.get::<Adjacencies>();
    let adj = adjs.get(index, &turn).copied();
    // The short form has the same bytes, or there is none.
    let fields = |a: &Adj| (a.tx_if, a.output, a.mtu, a.counter, a.via, a.short_rewrite());
    let short = |o: Ordinary| (o.tx_if.into(), o.output, o.mtu, o.counter, o.via, Some(o.ends));
    let is_ordinary = adj.is_some_and(|adj| adj.kind == AdjKind::Rewrite && adj.rewrite_len == 14);
    assert_eq!(
        adjs.ordinaries().get(index).map(short),
        adj.as_ref().filter(|_| is_ordinary).map(fields)
    );
    adj
}

#[suite::test]
fn a_neighbour_is_asked_for_completed_and_let_go() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let adjs = world.get::<Adjacencies>();
    let ifs = world.get::<Interfaces>();
    let a = add(&bench, "a").expect("added");
    let nexthop: IpAddr = [10, 0, 0, 2].into();
    assert!(adjs.neighbor(world, SwIfIndex(9), nexthop).is_err());
    assert_eq!(adjs.complete(world, a, nexthop, &[0; 14]), None, "nobody holds it");
    let index = adjs.neighbor(world, a, nexthop).expect("there");
    assert_eq!(adjs.neighbor(world, a, nexthop).ok(), Some(index));
    let adj = seen(&bench, index).expect("there");
    assert_eq!(
        (adj.kind, adj.tx_if, adj.mtu, adj.nexthop()),
        (AdjKind::Incomplete, a.0, 1500, nexthop)
    );
    let mac = MacAddr([2, 0, 0, 0, 0, 9]);
    let rewrite = ethernet_rewrite(&ifs.get(a).expect("there"), mac, EtherType::IP4);
    assert_eq!(rewrite, [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0]);
    assert_eq!(adjs.complete(world, a, nexthop, &rewrite), Some(index));
    ifs.set_mac(world, a, MacAddr([2, 0, 0, 0, 0, 7])).expect("set");
    ifs.set_mtu(world, a, MtuKind::Ip4, 1400).expect("set");
    let adj = seen(&bench, index).expect("there");
    assert_eq!((adj.kind, adj.mtu), (AdjKind::Rewrite, 1400));
    assert_eq!(*adj.rewrite(), [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 7, 8, 0]);
    adjs.incomplete(world, a, nexthop);
    assert_eq!(seen(&bench, index).map(|a| a.rewrite_len), Some(0));
    adjs.release(index);
    assert!(seen(&bench, index).is_some(), "one holder is left");
    ifs.delete(world, a).expect("deleted");
    assert_eq!(seen(&bench, index).map(|a| a.kind), Some(AdjKind::Drop));
    adjs.release(index);
    assert!(gone(&bench, index));
    // The index is used again when no turn can still read it.
    let b = add(&bench, "b").expect("added");
    assert_eq!(adjs.neighbor(world, b, nexthop).ok(), Some(index));
    assert_eq!(seen(&bench, index).map(|a| a.kind), Some(AdjKind::Incomplete));
}

#[suite::test]
fn an_interface_without_addresses_needs_no_asking() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let adjs = world.get::<Adjacencies>();
    let tun = add_ip(&bench, "tun").expect("added");
    let one = adjs.neighbor(world, tun, [10, 0, 0, 2].into()).expect("there");
    let two = adjs.glean(world, tun, [10, 0, 0, 1].into()).expect("there");
    assert_eq!(one, two);
    assert_eq!(seen(&bench, one).map(|a| (a.kind, a.rewrite_len)), Some((AdjKind::Rewrite, 0)));
}

#[suite::test]
fn an_alias_shows_what_it_stands_for() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let adjs = world.get::<Adjacencies>();
    let a = add(&bench, "a").expect("added");
    let [x, y] = [2, 3].map(|i| adjs.neighbor(world, a, [10, 0, 0, i].into()).expect("there"));
    let first = adjs.alias(x);
    let second = adjs.alias(first);
    adjs.complete(world, a, [10, 0, 0, 2].into(), &[6; 14]);
    let adj = seen(&bench, second).expect("there");
    assert_eq!((adj.kind, adj.counter, &*adj.rewrite()), (AdjKind::Rewrite, x.0, &[6; 14][..]));
    adjs.release(adjs.retarget(first, y));
    assert_eq!(seen(&bench, second).map(|a| a.nexthop()), Some([10, 0, 0, 3].into()));
    assert!(gone(&bench, x), "only the alias held it");
    assert_eq!(adjs.info(first).and_then(|i| i.target), Some(y));
    adjs.release(second);
    assert!(gone(&bench, first) && gone(&bench, y));
}

#[suite::test]
fn headers_of_every_length_fit_in_front() {
    let bench = Bench::new(STATEFUL);
    let mut cache = buffer::Cache::new(bench.world.pool);
    let header: Vec<u8> = (1..=64).collect();
    for len in 0..=64 {
        // With all the headroom there is, and with just enough.
        for headroom in [buffer::HEADROOM, len] {
            let mut b = cache.alloc().expect("a free buffer");
            assert!(b.set_data(b"packet"));
            let spare = b.headroom() - headroom;
            assert!(b.rewind(spare));
            let before = b.data().to_vec();
            let mut adj = Adj::default();
            adj.set_rewrite(&header[..len]);
            assert_eq!(*adj.rewrite(), header[..len]);
            assert!(adj.put(&mut b));
            assert_eq!(b.data(), [&header[..len], &before].concat());
        }
        let mut b = cache.alloc().expect("a free buffer");
        assert!(b.set_data(b"packet") && b.rewind(buffer::HEADROOM));
        let mut adj = Adj::default();
        adj.set_rewrite(&header[..len]);
        assert_eq!(adj.put(&mut b), len == 0, "no room");
    }
}

#[suite::test]
fn members_live_as_long_as_the_choice_among_them() {
    let bench = Bench::new(STATEFUL);
    let world = &bench.world;
    let adjs = world.get::<Adjacencies>();
    let a = add(&bench, "a").expect("added");
    let hold = || [2, 3].map(|i| adjs.neighbor(world, a, [10, 0, 0, i].into()).expect("there"));
    let [x, y] = hold();
    let load_balance = adjs.load_balance(Link::IP4, &[x, y, y, y]);
    hold();
    assert_eq!(adjs.load_balance(Link::IP4, &[x, y, y, y]), load_balance);
    assert_eq!(adjs.buckets_of(load_balance), [x, y, y, y]);
    assert_eq!(
        seen(&bench, load_balance).map(|a| (a.kind, a.table)),
        Some((AdjKind::LoadBalance, 3))
    );
    assert_eq!(adjs.info(x).map(|i| i.refs), Some(1));
    adjs.release(load_balance);
    assert!(seen(&bench, y).is_some());
    adjs.release(load_balance);
    assert!(gone(&bench, load_balance) && gone(&bench, x) && gone(&bench, y));
    adjs.release(AdjIndex::DROP);
    adjs.release(AdjIndex::DROP);
    assert!(seen(&bench, AdjIndex::DROP).is_some(), "those of every instance stay");
}

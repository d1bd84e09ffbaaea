// SPDX-License-Identifier: Apache-2.0
//! Random messages, losses and sweeps against a plain model of a peer, beside an operator.

use super::message::{self, To, blackhole_object, frame, group_object, hop_object, no_object};
use super::{FIRST, rig};
use crate::Stream;
use graph::World;
use net::drive::Rig;
use net::{Fib, Net, Path, PathKind};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Ip4, Ip6, Prefix};

const PORTS: u32 = 2;
const TABLES: [u32; 2] = [254, 1000];
const PREFIXES: u8 = 4;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    v6: bool,
    table: usize,
    prefix: u8,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Object {
    Hop(u32, u8),
    Blackhole,
    Group(Vec<(u32, u8)>),
}

#[derive(Clone, Debug)]
enum Target {
    Hops(Vec<(u32, u8, u8)>),
    Object(u32),
    Blackhole,
}

#[derive(Clone, Debug)]
enum Op {
    Route(Place, Target),
    NoRoute(Place),
    Object(u32, Object),
    NoObject(u32),
    /// The operator has a route of the same prefix, or removes it.
    Operator(u8, bool),
    /// The peer is lost; its successor sends some of the routes again.
    Lose,
    /// Stale routes go.
    Sweep,
}

fn place() -> impl Strategy<Value = Place> {
    (any::<bool>(), 0..TABLES.len(), 0..PREFIXES).prop_map(|(v6, table, prefix)| Place {
        v6,
        table,
        prefix,
    })
}

fn op() -> impl Strategy<Value = Op> {
    let id = || 1u32..6;
    let hop = (0..PORTS, 2u8..5, 1u8..4);
    let target = prop_oneof![
        3 => proptest::collection::vec(hop, 1..4).prop_map(Target::Hops),
        4 => id().prop_map(Target::Object),
        1 => Just(Target::Blackhole),
    ];
    let object = prop_oneof![
        3 => (0..PORTS, 2u8..5).prop_map(|(port, host)| Object::Hop(port, host)),
        1 => Just(Object::Blackhole),
        3 => proptest::collection::btree_map(id(), 1u8..4, 1..4)
            .prop_map(|all| Object::Group(all.into_iter().collect())),
    ];
    prop_oneof![
        8 => (place(), target).prop_map(|(place, target)| Op::Route(place, target)),
        4 => place().prop_map(Op::NoRoute),
        5 => (id(), object).prop_map(|(id, object)| Op::Object(id, object)),
        2 => id().prop_map(Op::NoObject),
        1 => (0..PREFIXES, any::<bool>()).prop_map(|(n, there)| Op::Operator(n, there)),
        1 => Just(Op::Lose),
        1 => Just(Op::Sweep),
    ]
}

fn prefix(v6: bool, n: u8) -> (IpAddr, u8) {
    match v6 {
        false => (Ipv4Addr::new(192, 0, n, 0).into(), 24),
        true => (Ipv6Addr::new(0x2001, 0xdb8, 0xff00 + u16::from(n), 0, 0, 0, 0, 0).into(), 48),
    }
}

/// All next hops are IPv4: routes of IPv6 have next hops of the other protocol too.
fn address(port: u32, host: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, port as u8, host).into()
}

/// The next hops of a route, with their weights; one of no address drops.
type Paths = BTreeMap<Option<IpAddr>, u8>;

#[derive(Default)]
struct Model {
    objects: BTreeMap<u32, Object>,
    /// Routes, the object that each names, and whether it is stale.
    routes: BTreeMap<Place, (Paths, Option<u32>, bool)>,
    operator: BTreeSet<u8>,
    /// Objects that messages of the present frame have changed.
    touched: BTreeSet<u32>,
}

impl Model {
    fn resolve(&self, id: u32) -> Option<Paths> {
        match self.objects.get(&id)? {
            Object::Hop(port, host) => Some([(Some(address(*port, *host)), 1)].into()),
            Object::Blackhole => Some([(None, 1)].into()),
            Object::Group(members) => {
                let mut paths = Paths::new();
                let mut drops = false;
                for (member, weight) in members {
                    match self.objects.get(member) {
                        Some(Object::Hop(port, host)) => {
                            paths.insert(Some(address(*port, *host)), *weight);
                        }
                        Some(Object::Blackhole) => drops = true,
                        _ => {}
                    }
                }
                if paths.is_empty() && drops {
                    paths.insert(None, 1);
                }
                (!paths.is_empty()).then_some(paths)
            }
        }
    }

    /// The end of a frame: routes follow the objects that have changed.
    fn settle(&mut self) {
        std::mem::take(&mut self.touched).into_iter().for_each(|id| self.follow(id));
    }

    /// Sets the routes anew by an object that has changed.
    fn follow(&mut self, id: u32) {
        let has = |object: &Object| matches!(object, Object::Group(all) if all.iter().any(|(of, _)| *of == id));
        let groups = self.objects.iter().filter(|(_, object)| has(object)).map(|(id, _)| *id);
        let ids: BTreeSet<u32> = groups.chain([id]).collect();
        for (place, (_, named, _)) in self.routes.clone() {
            let Some(named) = named.filter(|named| ids.contains(named)) else { continue };
            match self.resolve(named) {
                Some(paths) => drop(self.routes.insert(place, (paths, Some(named), false))),
                None => drop(self.routes.remove(&place)),
            }
        }
    }

    /// Does it, and returns the message.
    fn run(&mut self, op: &Op) -> Vec<u8> {
        match op {
            Op::Route(place, target) => {
                let at = prefix(place.v6, place.prefix);
                let (to, paths, named) = match target {
                    Target::Blackhole => (To::Blackhole, Some([(None, 1)].into()), None),
                    Target::Object(id) => (To::Object(*id), self.resolve(*id), Some(*id)),
                    Target::Hops(hops) => {
                        let hop = |(port, host, weight): &(u32, u8, u8)| {
                            (FIRST + port, Some(address(*port, *host)), *weight)
                        };
                        let to = To::Hops(hops.iter().map(hop).collect());
                        let is_one = hops.len() == 1;
                        let paths = hops.iter().map(|(port, host, weight)| {
                            (Some(address(*port, *host)), if is_one { 1 } else { *weight })
                        });
                        (to, Some(paths.collect()), None)
                    }
                };
                match paths {
                    Some(paths) => drop(self.routes.insert(*place, (paths, named, false))),
                    None => drop(self.routes.remove(place)),
                }
                message::route(at, TABLES[place.table], &to)
            }
            Op::NoRoute(place) => {
                self.routes.remove(place);
                message::no_route(prefix(place.v6, place.prefix), TABLES[place.table])
            }
            Op::Object(id, object) => {
                let same = self.objects.insert(*id, object.clone()).as_ref() == Some(object);
                if !same {
                    self.touched.insert(*id);
                }
                match object {
                    Object::Hop(port, host) => {
                        hop_object(*id, (FIRST + port, Some(address(*port, *host)), 1))
                    }
                    Object::Blackhole => blackhole_object(*id),
                    Object::Group(members) => group_object(*id, members),
                }
            }
            Op::NoObject(id) => {
                self.objects.remove(id);
                self.touched.insert(*id);
                no_object(*id)
            }
            _ => Vec::new(),
        }
    }
}

fn paths_of(path: &Path) -> (Option<IpAddr>, u8) {
    match path.kind {
        PathKind::Neighbor { nexthop, .. } => (Some(nexthop), path.weight),
        _ => (None, path.weight),
    }
}

fn check_routes<F: Net>(world: &World, model: &Model, stream: &Stream) {
    let (fib, source) = (world.get::<Fib<F>>(), stream.engine.source);
    for (at, table) in TABLES.iter().enumerate() {
        let id = if *table == 254 { 0 } else { *table };
        for n in 0..PREFIXES {
            let (addr, len) = prefix(F::IS_V6, n);
            let prefix = F::of_ip(addr).and_then(|addr| Prefix::new(addr, len)).expect("one");
            let route = fib.find_table(id).ok().and_then(|table| fib.route(table, prefix));
            let sources = || route.iter().flat_map(|route| &route.sources);
            let of = sources().find(|of| of.source == source);
            let got: Option<Paths> =
                of.map(|of| of.path_list.paths.iter().map(|(path, _)| paths_of(path)).collect());
            let place = Place { v6: F::IS_V6, table: at, prefix: n };
            let wanted = model.routes.get(&place).map(|(paths, ..)| paths.clone());
            assert_eq!(got, wanted, "{prefix} of table {id}");
            let has_operator = sources().any(|of| of.source == net::Source::Cli);
            assert_eq!(has_operator, !F::IS_V6 && at == 0 && model.operator.contains(&n));
        }
    }
    let of = model.routes.iter().filter(|(place, _)| place.v6 == F::IS_V6);
    let count = fib.count(source);
    assert_eq!(count.routes, of.clone().count());
    assert_eq!(count.stale, of.filter(|(_, (.., stale))| *stale).count());
}

fn check(rig: &Rig, model: &Model, stream: &Stream) {
    let world = rig.world();
    check_routes::<Ip4>(&world, model, stream);
    check_routes::<Ip6>(&world, model, stream);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[suite::test]
    fn what_the_peer_has_is_here(
        ops in proptest::collection::vec(op(), 1..80), at_once in 1usize..6,
    ) {
        let (mut rig, mut stream) = rig(PORTS as usize);
        let world = rig.world();
        let mut model = Model::default();
        for some in ops.chunks(at_once) {
            // Messages of one frame are one change; the operator and losses come in between.
            let mut messages = Vec::new();
            for op in some {
                match op {
                    Op::Operator(n, there) => {
                        let (addr, len) = prefix(false, *n);
                        if *there != model.operator.contains(n) {
                            let verb = if *there { "add" } else { "del" };
                            rig.cli(&format!("ip route {verb} {addr}/{len} via drop"));
                            match there {
                                true => drop(model.operator.insert(*n)),
                                false => drop(model.operator.remove(n)),
                            }
                        }
                    }
                    Op::Lose => {
                        stream.take(&world, &frame(&std::mem::take(&mut messages))).expect("taken");
                        model.settle();
                        stream.lose(&world);
                        model.objects.clear();
                        for (_, named, stale) in model.routes.values_mut() {
                            (*named, *stale) = (None, true);
                        }
                    }
                    Op::Sweep => {
                        stream.take(&world, &frame(&std::mem::take(&mut messages))).expect("taken");
                        model.settle();
                        let mut sweep = stream.engine.sweep(&world);
                        while stream.engine.sweep_on(&world, &mut sweep, 3) {}
                        model.routes.retain(|_, (.., stale)| !*stale);
                    }
                    op => messages.push(model.run(op)),
                }
            }
            stream.take(&world, &frame(&messages)).expect("taken");
            model.settle();
            check(&rig, &model, &stream);
        }
    }
}

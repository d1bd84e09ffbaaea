// SPDX-License-Identifier: Apache-2.0
//! A route is saved as what it does, whichever its path, and comes back as that.

use super::Instance;
use graph::{SwIfIndex, World};
use net::fib::ResolveVia;
use net::{AdjIndex, Fib, Net, Objects, Path, PathKind, Source, TableIndex};
use std::net::IpAddr;
use wire::{Address, Ip4, Ip6, Prefix};

const SETTING: &str = "ip table add 7
    ip6 table add 7
    create packet-generator interface pg0
    set interface ip address pg0 10.0.0.1/24
    set interface ip address pg0 2001:db8::1/64
    classify table mask l3 ip4 src
    classify table mask l3 ip6 src
    udp encap add id 5 10.0.0.1 10.0.0.9 4000 5000";

/// A path of each kind that clients and operators may set.
fn kinds<F: Net>(world: &World, own: &str, other: &str) -> Vec<PathKind> {
    let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
    let address = F::of_ip(ip(own)).expect("an address of the protocol");
    let (sw_if, table) = (SwIfIndex(1), TableIndex(1));
    let objects = [
        ("interface-rx", sw_if.0),
        ("udp-encap", 5),
        ("classify", u32::from(F::IS_V6)),
        ("dvr", sw_if.0),
    ];
    let object = |name| world.get::<Objects>().get(name).expect("a registered type");
    let fixed =
        [AdjIndex::DROP, AdjIndex::PUNT, AdjIndex::UNREACH, AdjIndex::PROHIBIT, AdjIndex::RECEIVE];
    let mut all = vec![
        PathKind::Attached { sw_if, address: F::Addr::ZERO.into() },
        PathKind::Neighbor { sw_if, nexthop: ip(own) },
        PathKind::Neighbor { sw_if, nexthop: ip(other) },
        PathKind::Recursive { table: TableIndex::DEFAULT, nexthop: address.into() },
        PathKind::Recursive { table, nexthop: address.into() },
        PathKind::Recursive { table: TableIndex::DEFAULT, nexthop: ip(other) },
        PathKind::Recursive { table, nexthop: ip(other) },
        PathKind::Receive { sw_if, address: address.into() },
        PathKind::Lookup(Fib::<F>::table_ref(table)),
        PathKind::SourceLookup(Fib::<F>::table_ref(table)),
    ];
    all.extend(fixed.map(PathKind::Fixed));
    all.extend(objects.map(|(name, number)| PathKind::Object(object(name), number)));
    all
}

/// Table, prefix and one of the paths of a route.
type Set<A> = (TableIndex, Prefix<A>, Path);

/// The paths that clients and operators have set, by table and prefix.
fn set<F: Net>(instance: &Instance) -> Vec<Set<F::Addr>> {
    let fib = instance.bench.world.get::<Fib<F>>();
    let mut all = Vec::new();
    for table in fib.list_tables() {
        for route in fib.routes_from(table.index, None, 1 << 12) {
            let of = route.sources.iter().filter(|s| matches!(s.source, Source::Cli | Source::Api));
            let paths = of.flat_map(|s| &s.paths);
            all.extend(paths.map(|(path, _)| (table.index, route.prefix, *path)));
        }
    }
    all
}

fn comes_back<F: Net>(network: impl Fn(usize) -> String, own: &str, other: &str) {
    let first = Instance::after(SETTING);
    let world = &first.bench.world;
    let prefix = |text: &str| {
        let addr = F::of_ip(text.parse().expect("an address")).expect("of the protocol");
        Prefix::new(addr, F::BITS / 2).expect("a length")
    };
    let mut wanted = Vec::new();
    for table in [TableIndex::DEFAULT, TableIndex(1)] {
        for (i, kind) in kinds::<F>(world, own, other).into_iter().enumerate() {
            let resolve_via = [ResolveVia::Any, ResolveVia::Host, ResolveVia::Attached][i % 3];
            let (weight, preference) = (1 + i as u8 % 2 * 200, i as u8 % 4);
            let path = Path { weight, preference, resolve_via, ..Path::new(kind) };
            let prefix = prefix(&network(i));
            let set = world.get::<Fib<F>>().set(world, table, prefix, Source::Api, &[path]);
            set.unwrap_or_else(|e| panic!("{kind:?}: {e}"));
            wanted.push((table, prefix, path));
        }
    }
    assert_eq!(set::<F>(&first), wanted);
    let again = Instance::after(&first.config());
    assert_eq!(set::<F>(&again), wanted, "{}", first.config());
}

#[test]
fn every_path_is_saved_as_itself() {
    comes_back::<Ip4>(|i| format!("20.{i}.0.0"), "10.0.0.2", "2001:db8::2");
    comes_back::<Ip6>(|i| format!("3000:{i}::"), "2001:db8::2", "10.0.0.2");
}

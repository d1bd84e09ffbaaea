// SPDX-License-Identifier: Apache-2.0
//! Threads that do lookups during the changes, as workers do.

use super::model::{End, ends};
use super::world::{Instance, address};
use graph::World;
use net::{Adjacencies, Fib, Net, Path, PathKind, Source, TableIndex};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use testkit::Rng;
use testkit::internet::Internet;
use wire::{Ip4, Ip6, Prefix};

const READERS: u64 = 2;
/// Number of addresses that a reader looks up in one turn.
const VECTOR: usize = 64;
/// The level of the sentinels' addresses, apart from all that change.
const LEVEL: usize = 5;

/// A route that stays the same, and one that follows it: packets leave by it during all changes of
/// other routes.
pub struct Sentinel<F: Net> {
    near: F::Addr,
    far: F::Addr,
    ends: BTreeSet<End>,
}

impl<F: Net + Internet> Sentinel<F> {
    /// Makes the routes over an interface of their own, which stays up.
    pub fn new(instance: &mut Instance) -> Self {
        let sw_if = instance.interface(if F::IS_V6 { "steady6" } else { "steady4" });
        let world = &instance.bench.world;
        let (fib, t) = (world.get::<Fib<F>>(), TableIndex::DEFAULT);
        let [near, far] = [1, 2].map(|n| address::<F>(LEVEL, n << 20));
        let hops = [address::<F>(9, 1).into(), address::<F>(9, 2).into()];
        let paths = hops.map(|nexthop| Path::new(PathKind::Neighbor { sw_if, nexthop }));
        fib.set(world, t, Prefix::host(near), Source::Cli, &paths).expect("set");
        let follow = [Path::new(PathKind::Recursive { table: t, nexthop: near.into() })];
        fib.set(world, t, Prefix::host(far), Source::Cli, &follow).expect("set");
        instance.settle();
        Self { near, far, ends: hops.map(|hop| End::Neighbor(sw_if.0, hop)).into() }
    }
}

/// Looks up random addresses in random tables, and the sentinels; returns the number of lookups.
fn turns<F: Net + Internet>(
    world: &World,
    sentinel: &Sentinel<F>,
    seed: u64,
    stop: &AtomicBool,
) -> u64 {
    let (fib, adjs) = (world.get::<Fib<F>>(), world.get::<Adjacencies>());
    let (mut reader, mut rng, mut n) = (world.qsbr.register(), Rng::new(seed), 0);
    while !stop.load(Ordering::Relaxed) {
        let turn = reader.turn();
        for _ in 0..VECTOR {
            let table = TableIndex(rng.below(9) as u32);
            let number = u128::from(rng.next()) & 0xff_ffff;
            let addr = address::<F>(rng.below(3), number);
            // Any adjacency may be found, but it has to exist.
            let _ = ends(&fib, &adjs, table, addr, &turn);
        }
        for addr in [sentinel.near, sentinel.far] {
            let got = ends(&fib, &adjs, TableIndex::DEFAULT, addr, &turn);
            assert_eq!(got.as_ref(), Some(&sentinel.ends), "{addr}");
        }
        n += VECTOR as u64 + 2;
    }
    n
}

/// Calls `f` while readers do lookups. A reader that fails ends the test.
pub fn look_on(world: &World, sentinels: &(Sentinel<Ip4>, Sentinel<Ip6>), f: impl FnOnce()) -> u64 {
    let (stop, lookups) = (AtomicBool::new(false), AtomicU64::new(0));
    /// Stops the readers, also when `f` panics: otherwise they would never end.
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        for seed in 0..READERS {
            let (stop, lookups) = (&stop, &lookups);
            scope.spawn(move || {
                let n = if seed % 2 == 0 {
                    turns(world, &sentinels.0, seed, stop)
                } else {
                    turns(world, &sentinels.1, seed, stop)
                };
                lookups.fetch_add(n, Ordering::Relaxed);
            });
        }
        let _stop = Stop(&stop);
        f();
    });
    lookups.into_inner()
}

// SPDX-License-Identifier: Apache-2.0
//! Routes a second: added one by one, read, changed, removed, while readers look up. The table is
//! like the Internet's.
//!
//! `cargo run --release -p ferrovia-net --features tests --example routes --
//! [routes=100000] [readers=0] [hops=1] [sorted=0] [ip=4]`

use graph::{World, WorldConfig};
use net::drive::{Tx, ethernet};
use net::{Fib, Interfaces, Net, Path, PathKind, Source, TableIndex};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use testkit::internet::{Internet, routes};
use wire::{Ip4, Ip6, MacAddr};

static PLUGINS: &[&graph::Plugin] = &[&net::drive::STATE];

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

fn measure(what: &str, n: usize, f: impl FnOnce()) {
    let (start, memory) = (Instant::now(), resident());
    f();
    let seconds = start.elapsed().as_secs_f64();
    let grown = resident() as i64 - memory as i64;
    println!(
        "{what:<22}{:>10.0} a second{seconds:>9.3} s{:>8} bytes a route",
        n as f64 / seconds,
        grown / n as i64
    );
}

fn main() {
    let mut settings = [100_000, 0, 1, 0, 4];
    for (setting, given) in settings.iter_mut().zip(std::env::args().skip(1)) {
        *setting = given.parse().expect("a number");
    }
    match settings[4] {
        6 => run::<Ip6>(settings),
        _ => run::<Ip4>(settings),
    }
}

fn run<F: Net + Internet>([n, readers, hops, sorted, _]: [u32; 5]) {
    let (world, _runtimes) = World::new(&WorldConfig::default(), PLUGINS).expect("an instance");
    let interfaces = world.get::<Interfaces>();
    let new = ethernet("eth0", MacAddr([2, 0, 0, 0, 0, 1]));
    let sw_if = interfaces.create(&world, new, |_, _, _| Tx).expect("an interface");
    interfaces.set_admin(&world, sw_if, true).expect("up");
    let fib = world.get::<Fib<F>>();
    let (stop, turns, longest) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for seed in 0..readers {
            let (mut reader, fib) = (world.qsbr.register(), &fib);
            let (stop, turns, longest) = (&stop, &turns, &longest);
            scope.spawn(move || {
                let mut addr: u32 = seed;
                while !stop.load(Ordering::Relaxed) {
                    let start = Instant::now();
                    let turn = reader.turn();
                    for _ in 0..256 {
                        addr = addr.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        let to = <F as Internet>::addr(u128::from(addr) << 93);
                        std::hint::black_box(fib.adj(TableIndex::DEFAULT, to, &turn));
                    }
                    drop(turn);
                    turns.fetch_add(1, Ordering::Relaxed);
                    longest.fetch_max(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
                }
            });
        }
        let table = TableIndex::DEFAULT;
        let mut all: Vec<_> =
            routes::<F>(n as usize, 1).into_iter().map(|route| route.prefix).collect();
        if sorted > 0 {
            all.sort_unstable();
        }
        let path = |i: u32| {
            let nexthop = <F as Internet>::addr(u128::from(0x0a00_0002 + i % hops) << 96 | 1);
            [Path::new(PathKind::Neighbor { sw_if, nexthop: nexthop.into() })]
        };
        for round in ["", " again"] {
            measure(&format!("add{round}"), all.len(), || {
                for (i, prefix) in all.iter().enumerate() {
                    fib.add(&world, table, *prefix, Source::Api, &path(i as u32)).expect("added");
                }
            });
            world.qsbr.collect();
            measure("replace", all.len(), || {
                for (i, prefix) in all.iter().enumerate() {
                    fib.set(&world, table, *prefix, Source::Api, &path(i as u32 + 1)).expect("set");
                }
            });
            measure("dump", all.len(), || {
                let mut seen = 0;
                fib.for_each(table, |_| seen += 1);
                assert!(seen >= all.len());
            });
            measure("remove", all.len(), || {
                for prefix in &all {
                    fib.remove(&world, table, *prefix, Source::Api, &[]).expect("removed");
                }
            });
            world.qsbr.collect();
        }
        stop.store(true, Ordering::Relaxed);
    });
    if readers > 0 {
        let micros = longest.into_inner() as f64 / 1000.0;
        println!("{} turns of 256 lookups, the longest {micros:.0} µs", turns.into_inner());
    }
}

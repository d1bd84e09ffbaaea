// SPDX-License-Identifier: Apache-2.0
//! Clocks per route lookup, alone: vectors of 256 destinations, nothing else in the loop.
//!
//! The structures take turns, block by block, and a claim is a ratio within one run. With `--cold`,
//! 256 KiB of other memory are read between two vectors, as other nodes would; that isn't counted.

mod hashes;
mod mtrie;

use clap::Parser;
use hashes::Hashes;
use mtrie::Mtrie;
use simd::{Level, rdtsc, variants};
use sync::{Qsbr, Turn};
use tables::{Forest, Key, Leaf, Lpm};
use testkit::internet::{Internet, Route, Traffic, destinations, routes};
use wire::{Ip4, Ip6};

const VECTOR: usize = 256;

/// Clocks per route lookup.
#[derive(Parser)]
struct Arguments {
    /// A short run that shows that everything runs; its figures mean nothing.
    #[arg(long)]
    smoke: bool,
    /// Blocks of each structure.
    #[arg(long, default_value_t = 40)]
    blocks: usize,
    /// Read other memory between two vectors.
    #[arg(long)]
    cold: bool,
    /// Numbers of routes, instead of those that the tables of the documentation have.
    #[arg(long, value_delimiter = ',')]
    routes: Vec<usize>,
    /// Only this version of IP.
    #[arg(long)]
    ip: Option<u8>,
    /// Instruction-set level: v1, v3 or v4; the best unless given.
    #[arg(long)]
    level: Option<Level>,
}

variants! {
    fn hops<I: Isa, K: Key>(table: &Lpm<K>, keys: &[K], hops: &mut [u32], turn: &Turn<'_>) = Lpm::<K>::hops::<I>;
}
variants! {
    fn leaves<I: Isa, K: Key>(table: &Lpm<K>, keys: &[K], hops: &mut [u32], routes: &mut [u32], turn: &Turn<'_>)
        = Lpm::<K>::leaves::<I>;
}
// The reference structures are compiled for the same instruction sets.
variants! {
    fn mtrie_hops<I: Isa>(table: &Mtrie, keys: &[u32], hops: &mut [u32]) = {
        let _: I = I::default();
        #[inline(always)]
        |table: &Mtrie, keys: &[u32], hops: &mut [u32]| table.hops(keys, hops)
    };
}
variants! {
    fn hashes_hops<I: Isa>(table: &Hashes, keys: &[u128], hops: &mut [u32]) = {
        let _: I = I::default();
        #[inline(always)]
        |table: &Hashes, keys: &[u128], hops: &mut [u32]| table.hops(keys, hops)
    };
}

/// Finds the hops of some keys.
type LookUp<'a, K> = Box<dyn Fn(&[K], &mut [u32]) + 'a>;

/// A lookup structure under test.
struct Candidate<'a, K> {
    name: &'static str,
    memory: usize,
    look_up: LookUp<'a, K>,
    /// Clocks per lookup of each block.
    blocks: Vec<f64>,
}

impl<'a, K> Candidate<'a, K> {
    fn new(name: &'static str, memory: usize, look_up: impl Fn(&[K], &mut [u32]) + 'a) -> Self {
        Self { name, memory, look_up: Box::new(look_up), blocks: Vec::new() }
    }
}

/// The protocol-specific part of the benchmark.
trait Version: Internet {
    type Key: Key;
    const SIZES: &'static [usize];
    fn key(bits: u128) -> Self::Key;
    /// Reference structure of the protocol: mtrie or a hash table per prefix length.
    fn baseline(routes: &[(Self::Key, u8, u32)], level: Level) -> Candidate<'static, Self::Key>;
}

impl Version for Ip4 {
    type Key = u32;
    const SIZES: &'static [usize] = &[1, 1000, 10_000, 100_000, 1_000_000];
    fn key(bits: u128) -> u32 {
        (bits >> 96) as u32
    }
    fn baseline(routes: &[(u32, u8, u32)], level: Level) -> Candidate<'static, u32> {
        let table = Mtrie::new(routes);
        let hops = mtrie_hops().get(level).expect("supported");
        Candidate::new("mtrie 16-8-8", table.memory(), move |keys, out| hops(&table, keys, out))
    }
}

impl Version for Ip6 {
    type Key = u128;
    const SIZES: &'static [usize] = &[1, 20_000, 200_000, 1_000_000];
    fn key(bits: u128) -> u128 {
        bits
    }
    fn baseline(routes: &[(u128, u8, u32)], level: Level) -> Candidate<'static, u128> {
        let table = Hashes::new(routes);
        let hops = hashes_hops().get(level).expect("supported");
        Candidate::new("hash per length", table.memory(), move |keys, out| hops(&table, keys, out))
    }
}

fn main() {
    let arguments = Arguments::parse();
    if arguments.smoke {
        println!("A smoke run: everything ran; the figures mean nothing.");
    }
    println!(
        "{:<6}{:>9}  {:<18}{:>12}{:>11}{:>11}{:>11}",
        "", "routes", "structure", "bytes/route", "one flow", "zipf", "uniform"
    );
    if arguments.ip != Some(6) {
        measure_all::<Ip4>(&arguments);
    }
    if arguments.ip != Some(4) {
        measure_all::<Ip6>(&arguments);
    }
}

fn measure_all<F: Version>(arguments: &Arguments) {
    let sizes = if arguments.routes.is_empty() { F::SIZES } else { &arguments.routes };
    for n in sizes.iter().filter(|n| !arguments.smoke || **n <= 1000) {
        measure::<F>(arguments, *n);
    }
}

fn measure<F: Version>(arguments: &Arguments, n: usize) {
    let level = arguments.level.unwrap_or_else(Level::detect);
    let internet = if n == 1 {
        vec![Route { prefix: wire::Prefix::DEFAULT, hop: 1 }]
    } else {
        routes::<F>(n, 1)
    };
    let plain: Vec<(F::Key, u8, u32)> = internet
        .iter()
        .map(|r| (F::key(F::bits(r.prefix.addr())), r.prefix.len(), u32::from(r.hop) + 1))
        .collect();
    let domain = Qsbr::new();
    let mut reader = domain.register();
    let table = Lpm::<F::Key>::new(&Forest::new(domain).expect("memory")).expect("room");
    for (route, (key, len, hop)) in (1..).zip(&plain) {
        table.insert(*key, *len, Leaf { hop: *hop, route }).expect("room");
    }
    let turn = &reader.turn();
    let (hops, leaves) = (hops::<F::Key>().get(level), leaves::<F::Key>().get(level));
    let (hops, leaves) = (hops.expect("supported"), leaves.expect("supported"));
    let mut ways = [
        Candidate::new("Ferrovia", table.memory(), |keys: &[F::Key], out: &mut [u32]| {
            hops(&table, keys, out, turn)
        }),
        Candidate::new("- with routes", table.memory(), |keys: &[F::Key], out: &mut [u32]| {
            leaves(&table, keys, out, &mut [0; VECTOR][..keys.len()], turn);
        }),
        F::baseline(&plain, level),
    ];
    let mut figures = [[0.0; 3]; 3];
    for (t, traffic) in [Traffic::OneFlow, Traffic::Zipf, Traffic::Uniform].into_iter().enumerate()
    {
        let count = if arguments.smoke { 1 << 12 } else { 1 << 18 };
        let keys: Vec<F::Key> = destinations::<F>(&internet, traffic, count, 2)
            .into_iter()
            .map(|addr| F::key(F::bits(addr)))
            .collect();
        agree(&ways, &keys);
        let blocks = if arguments.smoke { 2 } else { arguments.blocks };
        for _ in 0..blocks {
            for way in &mut ways {
                let clocks = block(way, &keys, arguments.cold);
                way.blocks.push(clocks);
            }
        }
        for (way, figures) in ways.iter_mut().zip(&mut figures) {
            way.blocks.sort_by(f64::total_cmp);
            figures[t] = way.blocks[way.blocks.len() / 2];
            way.blocks.clear();
        }
    }
    for (way, [one, zipf, uniform]) in ways.iter().zip(figures) {
        println!(
            "{:<6}{n:>9}  {:<18}{:>12.1}{one:>11.1}{zipf:>11.1}{uniform:>11.1}",
            if F::IS_V6 { "IPv6" } else { "IPv4" },
            way.name,
            way.memory as f64 / n as f64
        );
    }
}

/// Checks that all structures give the same results, without which the figures mean nothing.
fn agree<K: Key>(ways: &[Candidate<'_, K>], keys: &[K]) {
    for keys in keys.chunks(VECTOR) {
        let found = ways.iter().map(|way| {
            let mut hops = vec![0; keys.len()];
            (way.look_up)(keys, &mut hops);
            hops
        });
        let found: Vec<_> = found.collect();
        assert!(found.iter().all(|hops| *hops == found[0]), "structures don't agree");
    }
}

fn block<K: Key>(way: &Candidate<'_, K>, keys: &[K], cold: bool) -> f64 {
    // Warms the caches, which hold the previous structure's memory.
    for keys in keys.chunks_exact(VECTOR).step_by(4) {
        (way.look_up)(keys, &mut [0; VECTOR]);
    }
    let other = vec![1u64; if cold { (256 << 10) / size_of::<u64>() } else { 0 }];
    let (mut clocks, mut hops) = (0, [0; VECTOR]);
    for keys in keys.chunks_exact(VECTOR) {
        std::hint::black_box(other.iter().step_by(8).sum::<u64>());
        let start = rdtsc();
        (way.look_up)(keys, std::hint::black_box(&mut hops));
        clocks += rdtsc() - start;
    }
    clocks as f64 / keys.len() as f64
}

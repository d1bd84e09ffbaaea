// SPDX-License-Identifier: Apache-2.0
//! Clocks (of the TSC) per operation on tables of sessions, beside `std::collections::HashMap` with
//! a list of times: `cargo run --release -p ferrovia-tables --example sessions [sessions...]`.
//!
//! Keys are those of IPv4 sessions, operations come in random order, and both tables take turns,
//! block by block. A figure is the median of the blocks. A session has a timer and is in a list;
//! the map has neither, and sweeps over all its entries to find those that have ended.

use rustix::time::{ClockId, clock_gettime};
use simd::tsc_hz;
use std::collections::HashMap;
use std::hint::black_box;
use tables::{AgeList, Mixer, SessionKey, Sessions};

const VECTOR: usize = 256;
const BLOCKS: usize = 301;
/// Vectors of a block: few, so that most blocks aren't interrupted.
const VECTORS: usize = 8;
/// Insertions between two looks at the thread's clock.
const GROUP: u64 = 64;
/// Ticks of a session's timeout.
const TIMEOUT: u32 = 3000;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    src: u32,
    dst: u32,
    ports: u32,
    fib: u32,
    protocol: u8,
}

impl Key {
    fn new(n: u64) -> Self {
        let n = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { src: n as u32, dst: 0x0a00_0001, ports: (n >> 32) as u32, fib: 0, protocol: 17 }
    }
}

impl SessionKey for Key {
    #[inline(always)]
    fn mix(&self, mixer: Mixer) -> Mixer {
        mixer
            .add(u64::from(self.src) << 32 | u64::from(self.dst))
            .add(u64::from(self.ports) << 32 | u64::from(self.fib) << 8 | u64::from(self.protocol))
    }
}

type Value = [u64; 4];
type Table = Sessions<Key, Value, 1>;
const BY_AGE: AgeList = AgeList::new(0, 0);

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn keys(&mut self, from: u64, n: u64) -> Vec<Key> {
        (0..VECTOR * VECTORS).map(|_| Key::new(from + self.next() % n)).collect()
    }
}

/// Nanoseconds that this thread has run: the clock stands still while others run.
fn own_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Clocks for each of `n` operations.
fn clocks(n: usize, f: impl FnOnce()) -> f64 {
    let start = own_time();
    f();
    (own_time() - start) as f64 * tsc_hz() as f64 / 1e9 / n as f64
}

fn median(blocks: &mut [f64]) -> f64 {
    blocks.sort_by(f64::total_cmp);
    blocks[blocks.len() / 2]
}

/// Inserts all keys; returns the clocks of an insertion, and the microseconds of the longest
/// [`GROUP`] of them.
fn fill(keys: u64, mut insert: impl FnMut(Key)) -> (f64, f64) {
    let (start, mut longest) = (own_time(), 0);
    for group in 0..keys / GROUP {
        let start = own_time();
        (group * GROUP..(group + 1) * GROUP).for_each(|n| insert(Key::new(n)));
        longest = longest.max(own_time() - start);
    }
    (keys / GROUP * GROUP..keys).for_each(|n| insert(Key::new(n)));
    let clocks = (own_time() - start) as f64 * tsc_hz() as f64 / 1e9;
    (clocks / keys as f64, longest as f64 / 1000.0)
}

fn row(name: &str, (ours, map): (f64, f64)) {
    println!("  {name:<36}{ours:>14.1}{map:>14.1}{:>8.2}", ours / map);
}

fn measure(n: u64) {
    println!("{n} sessions{:>37}{:>14}{:>8}", "Sessions", "HashMap", "ratio");
    let mut table = Table::new(std::process::id().into(), u32::MAX, 1);
    let mut map: HashMap<Key, (u32, Value)> = HashMap::new();
    let (mean, longest) = fill(n, |key| {
        let at = table.insert(key, [1; 4], 0, TIMEOUT).expect("room");
        table.renew(at, BY_AGE);
    });
    let (map_mean, map_longest) = fill(n, |key| _ = map.insert(key, (0, [1; 4])));
    row("insertion while the table grows", (mean, map_mean));
    row("longest 64 insertions, µs", (longest, map_longest));

    let mut random = Random(7);
    let mut blocks: [[Vec<f64>; 2]; 4] = Default::default();
    let mut renewals = Vec::new();
    let ops = VECTOR * VECTORS;
    let mut now = 1;
    for _ in 0..BLOCKS {
        let mut add = |at: usize, ours: f64, map: f64| {
            blocks[at][0].push(ours);
            blocks[at][1].push(map);
        };
        // Each measurement has keys of its own: nothing is in the cache because of another one.
        let [there, others, of_all, listed, renewed] = [(); 5].map(|()| random.keys(0, n));
        let absent = random.keys(u64::from(u32::MAX), n);
        let mut found = [0; VECTOR];
        now += 1;
        let many = clocks(ops, || {
            for keys in there.chunks(VECTOR) {
                table.find_many(keys, &mut found);
                for at in found {
                    table.touch(at, now).expect("there")[0] += 1;
                }
            }
        });
        let one = clocks(ops, || {
            for key in &others {
                let at = table.find(key).expect("there");
                table.touch(at, now).expect("there")[0] += 1;
            }
        });
        let of_map = clocks(ops, || {
            for key in &of_all {
                let (touched, value) = map.get_mut(key).expect("there");
                *touched = now;
                value[0] += 1;
            }
        });
        add(0, many, of_map);
        add(1, one, of_map);
        let miss = clocks(ops, || {
            for keys in absent.chunks(VECTOR) {
                table.find_many(keys, &mut found);
                black_box(&found);
            }
        });
        let of_map = clocks(ops, || {
            for key in &absent {
                black_box(map.get(key));
            }
        });
        add(2, miss, of_map);
        // The same sessions go and come.
        let mut keys = listed;
        keys.sort_by_key(|key| (key.src, key.ports));
        keys.dedup();
        let churn = clocks(keys.len(), || {
            for key in &keys {
                table.remove(table.find(key).expect("there"));
            }
            for key in &keys {
                let at = table.insert(*key, [1; 4], now, TIMEOUT).expect("room");
                table.renew(at, BY_AGE);
            }
        });
        let of_map = clocks(keys.len(), || {
            for key in &keys {
                map.remove(key);
            }
            for key in &keys {
                map.insert(*key, (now, [1; 4]));
            }
        });
        add(3, churn, of_map);
        let renew = clocks(ops, || {
            for keys in renewed.chunks(VECTOR) {
                table.find_many(keys, &mut found);
                for at in found {
                    table.renew(at, BY_AGE);
                }
            }
        });
        renewals.push(renew);
    }
    let names = [
        "hit and touch, vectors of 256",
        "hit and touch, one by one",
        "miss, vectors of 256",
        "removal and insertion",
    ];
    for (name, [ours, map]) in names.iter().zip(&mut blocks) {
        row(name, (median(ours), median(map)));
    }
    println!("  {:<36}{:>14.1}", "hit and newest of a list, vectors", median(&mut renewals));
    // One of a hundred sessions ends at a time.
    let keys: Vec<_> = table.iter(BY_AGE).map(|(at, key, _)| (at, *key)).collect();
    for (i, (at, key)) in (0_u32..).zip(&keys) {
        let timeout = 1 + i % 100;
        table.set_timeout(*at, now, timeout);
        map.get_mut(key).expect("there").0 = now + timeout;
    }
    let mut blocks = [const { Vec::new() }; 2];
    for now in now + 1..=now + 20 {
        let (left, ended) = (table.len(), (n / 100) as usize);
        blocks[0].push(clocks(ended, || {
            let mut budget = usize::MAX;
            while table.expire(now, &mut budget).is_some() {}
        }));
        assert!(left - table.len() >= ended);
        blocks[1].push(clocks(ended, || map.retain(|_, (end, _)| *end > now)));
    }
    row("end of a session", (median(&mut blocks[0]), median(&mut blocks[1])));
}

fn main() {
    let sizes: Vec<u64> = std::env::args().skip(1).filter_map(|n| n.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![1000, 100_000, 10_000_000] } else { sizes };
    sizes.into_iter().for_each(measure);
}

// SPDX-License-Identifier: Apache-2.0
//! Measures the kernels on this machine, in clocks of the time stamp counter per packet, for every
//! level.
//!
//! `cargo run --release -p ferrovia-simd --example kernels`. Blocks of the levels are interleaved;
//! each figure is the median of 41 blocks. Compare figures of one run only.

use std::hint::black_box;

use simd::{Isa, Level, Variants, mask, rdtsc, tsc_hz, variants};

const TURNS: usize = 41;
const FRAMES: usize = 64;
const HEADERS: usize = 256;

/// On a cache line boundary, as in a frame.
#[derive(Clone)]
#[repr(align(64))]
struct Line<T>(T);

/// Input of one frame, in many copies so that branch predictors don't learn it.
struct Input {
    nexts: usize,
    codes: Vec<Line<[u32; 256]>>,
    buffers: Line<[u32; 256]>,
    headers: Vec<Line<[u8; 64]>>,
    rewrites: Vec<([u8; 64], usize)>,
    outs: Vec<Line<[u32; 256]>>,
}

impl Input {
    fn new(nexts: usize) -> Self {
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = move || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        let codes = (0..FRAMES)
            .map(|_| Line(core::array::from_fn(|_| (random() % nexts as u64) as u32)))
            .collect();
        let headers =
            (0..HEADERS).map(|_| Line(core::array::from_fn(|_| random() as u8))).collect();
        let rewrites = (0..4).map(|_| (core::array::from_fn(|_| random() as u8), 14)).collect();
        let outs = vec![Line([0; 256]); nexts];
        Self {
            nexts,
            codes,
            buffers: Line(core::array::from_fn(|i| i as u32)),
            headers,
            rewrites,
            outs,
        }
    }
}

type Bench = fn(&mut Input) -> usize;

#[inline(always)]
fn same<I: Isa>(input: &mut Input) -> usize {
    for Line(codes) in &input.codes {
        black_box(simd::all_equal::<I>(codes, 256));
    }
    FRAMES * 256
}

#[inline(always)]
fn partition<I: Isa>(input: &mut Input) -> usize {
    for Line(codes) in &input.codes {
        let mut rest = mask::first_n(256);
        let mut out = 0;
        while let Some(first) = mask::first_set(&rest) {
            let these = simd::equal_mask::<I>(codes, 256, codes[first]);
            let end = simd::compress_u32::<I>(&input.buffers.0, &these, &mut input.outs[out].0, 0);
            black_box(end);
            rest = mask::and_not(&rest, &these);
            out += 1;
        }
        assert!(out <= input.nexts);
    }
    FRAMES * 256
}

#[inline(always)]
fn header_sum<I: Isa>(input: &mut Input) -> usize {
    let mut good = 0u32;
    for Line(header) in &input.headers {
        let header: &[u8; 20] = black_box(header)[14..].first_chunk().expect("64 bytes");
        good += u32::from(simd::ip4_header_sum::<I>(header) == 0xffff);
    }
    black_box(good);
    HEADERS
}

#[inline(always)]
fn header_sum_scalar(input: &mut Input) -> usize {
    let mut good = 0u32;
    for Line(header) in &input.headers {
        let header: &[u8; 20] = black_box(header)[14..].first_chunk().expect("64 bytes");
        good += u32::from(simd::scalar::ip4_header_sum(header) == 0xffff);
    }
    black_box(good);
    HEADERS
}

#[inline(always)]
fn rewrite<I: Isa>(input: &mut Input) -> usize {
    for (i, Line(header)) in input.headers.iter_mut().enumerate() {
        let (bytes, len) = &input.rewrites[i % 4];
        simd::copy_rewrite::<I, 64>(black_box(header), 14, bytes, *len);
    }
    HEADERS
}

variants! { fn same_v<I: Isa>(input: &mut Input) -> usize = same::<I>; }
variants! { fn partition_v<I: Isa>(input: &mut Input) -> usize = partition::<I>; }
variants! { fn header_sum_v<I: Isa>(input: &mut Input) -> usize = header_sum::<I>; }
variants! { fn header_sum_scalar_v<I: Isa>(input: &mut Input) -> usize = header_sum_scalar; }
variants! { fn rewrite_v<I: Isa>(input: &mut Input) -> usize = rewrite::<I>; }

/// Median clocks per packet for each level of this machine.
fn measure(variants: Variants<Bench>, nexts: usize) -> Vec<(Level, f64)> {
    let mut input = Input::new(nexts);
    let levels: Vec<_> =
        Level::ALL.into_iter().filter_map(|level| Some((level, variants.get(level)?))).collect();
    let mut clocks = vec![Vec::new(); levels.len()];
    for _ in 0..TURNS {
        for ((_, run), clocks) in levels.iter().zip(&mut clocks) {
            run(&mut input);
            let from = rdtsc();
            let mut packets = 0;
            for _ in 0..8 {
                packets += run(black_box(&mut input));
            }
            clocks.push((rdtsc() - from) as f64 / packets as f64);
        }
    }
    let median = |clocks: &mut Vec<f64>| {
        clocks.sort_by(f64::total_cmp);
        clocks[clocks.len() / 2]
    };
    levels.iter().zip(&mut clocks).map(|(&(level, _), clocks)| (level, median(clocks))).collect()
}

fn main() {
    println!("time stamp counter {} Hz, best level {}", tsc_hz(), Level::detect());
    let rows: [(&str, Variants<Bench>, usize); 8] = [
        ("all_equal, 256 alike", same_v(), 1),
        ("partition over 1", partition_v(), 1),
        ("partition over 2", partition_v(), 2),
        ("partition over 4", partition_v(), 4),
        ("partition over 8", partition_v(), 8),
        ("ip4_header_sum", header_sum_v(), 1),
        ("ip4_header_sum, twin", header_sum_scalar_v(), 1),
        ("copy_rewrite, 14 bytes", rewrite_v(), 1),
    ];
    for (name, variants, nexts) in rows {
        print!("{name:24}");
        for (level, clocks) in measure(variants, nexts) {
            print!("  {level} {clocks:6.2}");
        }
        println!();
    }
}

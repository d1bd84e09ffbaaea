// SPDX-License-Identifier: Apache-2.0
//! Prints which pages this machine gives a region, and the cost of one random load on them before
//! and after `Region::collapse`: `cargo run --release -p ferrovia-mem --example pages [MiB]`.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use mem::{PAGE, PageKind, Region};

const LOADS: u32 = 10_000_000;

/// Nanoseconds per independent random load.
fn random_loads(region: &Region) -> f64 {
    let (mut seed, mut sum) = (0x9e37_79b9_7f4a_7c15u64, 0u64);
    let start = Instant::now();
    for _ in 0..LOADS {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let at = seed as usize % (region.len() / 8);
        // SAFETY: `at` is below the region's length in words; nobody else has the region.
        sum = sum.wrapping_add(unsafe { region.base().cast::<u64>().add(at).read() });
    }
    black_box(sum);
    start.elapsed().as_nanos() as f64 / f64::from(LOADS)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mib: usize = std::env::args().nth(1).map_or(Ok(64), |arg| arg.parse())?;
    let region = Region::new("pages", mib << 20)?;
    println!("{mib} MiB on {}", region.page_kind());
    for page in (0..region.len()).step_by(PAGE) {
        // SAFETY: inside of the region; nobody else has it.
        unsafe { region.base().add(page).write(1) };
    }
    println!("touched: {:.1} ns a random load", random_loads(&region));
    let start = Instant::now();
    let kind: PageKind = region.collapse(0..region.len())?;
    println!("collapse took {:.0?} and gave {kind}", start.elapsed());
    println!("collapsed: {:.1} ns a random load", random_loads(&region));
    Ok(())
}

// SPDX-License-Identifier: Apache-2.0
//! `show buffers`, `show memory`.

use buffer::{DATA_SIZE, SLOT_SIZE, ShareStats};
use cli::{Cell, Error, Matches, Output, Table};
use graph::World;
use serde_json::json;
use std::fs;

pub fn buffers(world: &World, m: &Matches) -> Result<Output, Error> {
    let (pool, verbose) = (world.pool, m.flag("verbose"));
    // What its cache holds, only a thread knows.
    Ok(world.ask(|rt| rt.cache().free_count()).then(move |answers| {
        let stats = pool.stats();
        let cached: usize = answers.into_iter().flatten().sum();
        let depot = stats.depot + stats.loose;
        // The threads went on between the two looks.
        let used = stats.carved.saturating_sub(depot + cached);
        let mut table = Table::new()
            .left("Pool Name")
            .min_width(16)
            .right("Index")
            .right("NUMA")
            .right("Size")
            .right("Data Size")
            .right("Total")
            .right("Avail")
            .right("Cached")
            .right("Used")
            .right("Refused");
        table.row([
            "default-numa-0".into(),
            0u32.into(),
            0u32.into(),
            SLOT_SIZE.into(),
            DATA_SIZE.into(),
            stats.limit.into(),
            (stats.limit - stats.carved + depot).into(),
            cached.into(),
            used.into(),
            stats.failures.into(),
        ]);
        if !verbose {
            return Ok(table.into());
        }
        let holders = holders(&pool.shares(), used);
        let json = json!({ "pools": table.to_json(), "holders": holders.to_json() });
        Ok(Output::both(format!("{}\n{}", table.render(), holders.render()), json))
    }))
}

/// Who has the buffers that are used: what keeps packets beyond a turn, and what is on its way.
fn holders(shares: &[ShareStats], used: usize) -> Table {
    let mut table = Table::new()
        .left("Holder")
        .min_width(20)
        .right("Thread")
        .right("Held")
        .right("Most")
        .right("Share")
        .right("Refused");
    for s in shares {
        let thread = s.thread.map_or(Cell::new("all", "all"), Cell::from);
        table.row([s.name.into(), thread, s.held.into(), s.most.into(), s.limit.into(), s.refused.into()]);
    }
    let held: usize = shares.iter().map(|s| s.held as usize).sum();
    // Copies that share segments hold these once for each of them.
    table.row(["in flight".into(), Cell::new("all", "all"), used.saturating_sub(held).into()]);
    table
}

/// A number of bytes as people read it.
pub fn scaled(n: u64) -> String {
    match n {
        0..1024 => format!("{n}"),
        1024..1_048_576 => format!("{:.1}K", n as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1}M", n as f64 / 1_048_576.0),
        _ => format!("{:.2}G", n as f64 / 1_073_741_824.0),
    }
}

/// The same as a cell; JSON has the number.
fn bytes(n: u64) -> Cell {
    Cell::new(scaled(n), n)
}

/// A line `NAME:   123 kB` of a file in /proc.
pub fn kilobytes(file: &str, name: &str) -> Option<u64> {
    let line = file.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// What the process takes by /proc/self/status, and with `verbose` by smaps_rollup: proc(5).
const STATUS: &[(&str, &str)] = &[
    ("resident", "VmRSS"),
    ("resident, private", "RssAnon"),
    ("resident, shared memory", "RssShmem"),
    ("resident, files", "RssFile"),
    ("hugetlb pages", "HugetlbPages"),
    ("address space", "VmSize"),
];
const ROLLUP: &[(&str, &str)] = &[
    ("proportional", "Pss"),
    ("transparent 2M pages, private", "AnonHugePages"),
    ("transparent 2M pages, shared", "ShmemPmdMapped"),
    ("swapped out", "Swap"),
    ("locked", "Locked"),
];

pub fn memory(world: &World, m: &Matches) -> Result<Output, Error> {
    let mut table =
        Table::new().left("Memory").min_width(32).right("Size").min_width(10).right("Used").left("Pages");
    let stats = world.pool.stats();
    let region = world.pool.region();
    table.row([
        "buffers".into(),
        bytes(region.len() as u64),
        bytes((stats.carved * SLOT_SIZE) as u64),
        Cell::show(region.page_kind()),
    ]);
    let (total, used) = world.stats.memory();
    table.row(["stats segment".into(), bytes(total), bytes(used), "4k pages".into()]);
    let mut of = |path: &str, rows: &[(&str, &str)]| {
        let file = fs::read_to_string(path).unwrap_or_default();
        for (title, name) in rows {
            if let Some(n) = kilobytes(&file, name) {
                table.row([format!("process: {title}").into(), bytes(n)]);
            }
        }
    };
    of("/proc/self/status", STATUS);
    if m.flag("verbose") {
        of("/proc/self/smaps_rollup", ROLLUP);
    }
    Ok(table.into())
}

#[cfg(test)]
mod tests {
    use super::kilobytes;

    #[test]
    fn lines_are_found_by_their_whole_name() {
        let status = "VmRSSx:\t1 kB\nVmRSS:\t   12 kB\nThreads:\t3\n";
        assert_eq!(kilobytes(status, "VmRSS"), Some(12 * 1024));
        assert_eq!(kilobytes(status, "Threads"), None);
        assert_eq!(kilobytes(status, "Vm"), None);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `show buffers`, `show memory`.

use buffer::{DATA_SIZE, SLOT_SIZE, ShareStats};
use cli::{Cell, Error, Matches, Output, Table, centre};
use graph::World;
use serde_json::json;
use std::fs;

pub fn buffers(world: &World, m: &Matches) -> Result<Output, Error> {
    let (pool, verbose) = (world.pool, m.flag("verbose") || m.flag("detail"));
    // The number of buffers in a thread's cache is known to that thread only.
    Ok(world.query(|rt| rt.cache().free_count()).then(move |answers| {
        let stats = pool.stats();
        let cached: usize = answers.into_iter().flatten().sum();
        let depot = stats.depot + stats.loose;
        // The threads went on between the two reads.
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
            let numbers = [
                SLOT_SIZE,
                DATA_SIZE,
                stats.limit,
                stats.limit - stats.carved + depot,
                cached,
                used,
            ];
            let pool = pool_line("default-numa-0", ["0", "0"], numbers.map(|n| n.to_string()));
            return Ok(Output::both(
                pool_line(POOL, PLACE, NUMBERS.map(String::from)) + &pool,
                table.to_json(),
            ));
        }
        let holders = holders(&pool.shares(), used);
        let json = json!({ "pools": table.to_json(), "holders": holders.to_json() });
        Ok(Output::both(format!("{}\n{}", table.render(), holders.render()), json))
    }))
}

/// Titles of VPP's `show buffers`.
const POOL: &str = "Pool Name";
const PLACE: [&str; 2] = ["Index", "NUMA"];
const NUMBERS: [&str; 6] = ["Size", "Data Size", "Total", "Avail", "Cached", "Used"];

/// A line of VPP's `show buffers`, in the widths of its columns.
fn pool_line(name: &str, place: [&str; 2], numbers: [String; 6]) -> String {
    let place = place.into_iter().map(|value| centre(value, 6));
    let numbers =
        numbers.into_iter().zip([6, 11, 6, 8, 8, 8]).map(|(value, width)| centre(value, width));
    let line = format!("{name:<20}{}", place.chain(numbers).collect::<String>());
    line.trim_end().to_string() + "\n"
}

/// Holders of the buffers in use: parts that keep packets beyond a turn, and packets in flight.
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
        table.row([
            s.name.into(),
            thread,
            s.held.into(),
            s.most.into(),
            s.limit.into(),
            s.refused.into(),
        ]);
    }
    let held: usize = shares.iter().map(|s| s.held as usize).sum();
    // Copies that share segments count them once each.
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

/// Memory of the process by /proc/self/status, and with `verbose` by smaps_rollup: proc(5).
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

/// A piece of memory in the output of `show memory`.
struct Piece {
    /// The line before it.
    title: &'static str,
    name: &'static str,
    pages: String,
    total: u64,
    used: u64,
}

impl Piece {
    /// As VPP shows a heap.
    fn text(&self) -> String {
        let Self { title, name, pages, total, used } = self;
        let free = msize(total.saturating_sub(*used));
        let (total, used) = (msize(*total), msize(*used));
        format!(
            "{title}\n  name '{name}', {pages}\n    total: {total}, used: {used}, free: {free}\n"
        )
    }
}

/// A size as VPP's heaps show it.
fn msize(n: u64) -> String {
    match n {
        0..1024 => format!("{n}"),
        1024..1_048_576 => format!("{:.2}K", n as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.2}M", n as f64 / 1_048_576.0),
        _ => format!("{:.2}G", n as f64 / 1_073_741_824.0),
    }
}

/// The heap, shared by all threads. Its total is what is used plus what the machine has available.
fn main_heap() -> Piece {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let used = kilobytes(&read("/proc/self/status"), "RssAnon").unwrap_or(0);
    let more = kilobytes(&read("/proc/meminfo"), "MemAvailable").unwrap_or(0);
    let pages = "4k pages, of all threads".into();
    Piece { title: "Thread 0 vpp_main", name: "main heap", pages, total: used + more, used }
}

/// Shows the areas that are named, or all. `api-segment` and `numa-heaps` don't exist here and are
/// shown only if they are named.
pub fn memory(world: &World, m: &Matches) -> Result<Output, Error> {
    let asks = |word: &str| m.flag(word);
    let words = ["main-heap", "stats-segment", "api-segment", "numa-heaps", "map"];
    let all = !words.into_iter().any(asks);
    let stats = world.pool.stats();
    let region = world.pool.region();
    let buffers = Piece {
        title: "Buffers",
        name: "buffers",
        pages: region.page_kind().to_string(),
        total: region.len() as u64,
        used: (stats.carved * SLOT_SIZE) as u64,
    };
    let (total, used) = world.stats.memory();
    let segment = Piece {
        title: "Stats segment",
        name: "stats segment",
        pages: "4k pages".into(),
        total,
        used,
    };
    let wanted = [
        (main_heap(), asks("main-heap") || asks("map")),
        (segment, asks("stats-segment") || asks("map")),
        (buffers, asks("map")),
    ];
    let pieces: Vec<Piece> =
        wanted.into_iter().filter(|(_, wanted)| all || *wanted).map(|(piece, _)| piece).collect();

    let mut table = Table::new()
        .left("Memory")
        .min_width(32)
        .right("Size")
        .min_width(10)
        .right("Used")
        .left("Pages");
    for Piece { name, pages, total, used, .. } in &pieces {
        table.row([(*name).into(), bytes(*total), bytes(*used), Cell::show(pages)]);
    }
    let mut process = Table::new().left("Process").min_width(32).right("Size").min_width(10);
    let mut of = |path: &str, rows: &[(&str, &str)]| {
        let file = fs::read_to_string(path).unwrap_or_default();
        for (title, name) in rows {
            if let Some(n) = kilobytes(&file, name) {
                table.row([format!("process: {title}").into(), bytes(n)]);
                process.row([(*title).into(), bytes(n)]);
            }
        }
    };
    let (tells_process, verbose) = (all || asks("map"), asks("verbose"));
    if tells_process {
        of("/proc/self/status", STATUS);
    }
    if verbose {
        of("/proc/self/smaps_rollup", ROLLUP);
    }

    let mut blocks: Vec<String> = Vec::new();
    match asks("map") {
        true => blocks.push(table.render()),
        false => blocks.extend(pieces.iter().map(Piece::text)),
    }
    if asks("api-segment") {
        blocks.push("API segment\n  none: the binary API has its sockets only\n".into());
    }
    if asks("numa-heaps") {
        blocks.push("Numa 0 uses the main heap...\n".into());
    }
    if !asks("map") && (tells_process || verbose) {
        blocks.push(process.render());
    }
    Ok(Output::both(blocks.join("\n"), table.to_json()))
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn buffers_stand_where_vpp_has_them() {
        let title = pool_line(POOL, PLACE, NUMBERS.map(String::from));
        let want =
            "Pool Name            Index NUMA  Size  Data Size  Total  Avail  Cached   Used\n";
        assert_eq!(title, want);
        let row = |numbers: [usize; 6]| {
            pool_line("default-numa-0", ["0", "0"], numbers.map(|n| n.to_string()))
        };
        assert_eq!(
            row([2496, 2048, 16800, 16290, 0, 510]),
            "default-numa-0         0     0   2496     2048    16800  16290     0      510\n"
        );
        // Numbers that fill their columns.
        assert_eq!(
            row([2496, 2048, 430_185, 410_181, 13, 19_991]),
            "default-numa-0         0     0   2496     2048   430185 410181    13     19991\n"
        );
    }

    #[suite::test]
    fn memory_is_told_as_vpp_tells_a_heap() {
        let heap = Piece {
            title: "Thread 0 vpp_main",
            name: "main heap",
            pages: "4k pages".into(),
            total: 1 << 30,
            used: (28 << 20) + (71 << 10),
        };
        let want = "Thread 0 vpp_main\n  name 'main heap', 4k pages\n    \
                    total: 1.00G, used: 28.07M, free: 995.93M\n";
        assert_eq!(heap.text(), want);
        assert_eq!([7, 1536, 5 << 30].map(msize), ["7", "1.50K", "5.00G"]);
    }

    #[suite::test]
    fn lines_are_found_by_their_whole_name() {
        let status = "VmRSSx:\t1 kB\nVmRSS:\t   12 kB\nThreads:\t3\n";
        assert_eq!(kilobytes(status, "VmRSS"), Some(12 * 1024));
        assert_eq!(kilobytes(status, "Threads"), None);
        assert_eq!(kilobytes(status, "Vm"), None);
    }
}

// SPDX-License-Identifier: Apache-2.0

use crate::*;
use mem::WordsView;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A registry in which counters of interfaces, nodes, errors and routes have their spaces.
fn new(threads: usize) -> Registry {
    let registry = Registry::new(threads);
    let interfaces = ["/if", "/net/arp"].map(|dir| (dir, Space::Interface));
    let others =
        [("/sys/node", Space::Node), ("/node/errors", Space::Error), ("/net/route", Space::Route)];
    interfaces.into_iter().chain(others).for_each(|(dir, space)| registry.declare(dir, space));
    registry
}

fn reader(registry: &Registry) -> Reader {
    Reader::new(registry).expect("a segment")
}

fn value(registry: &Registry, name: &str) -> Option<Value> {
    reader(registry).get(name).expect("readable")
}

#[suite::test]
fn threads_are_summed_and_each_clears_its_own() {
    let registry = new(3);
    let drops = registry.simple("/if/drops");
    registry.extend(Space::Interface, 8);
    drops.lane(0).add(7, 2);
    drops.lane(2).add(7, 3);
    assert_eq!((drops.sum(7), drops.sum(6), drops.of_thread(2, 7)), (5, 0, 3));
    drops.vector().zero(2, None);
    assert_eq!((registry.simple("/if/drops").sum(7), drops.of_thread(0, 7)), (2, 2));
    drops.vector().zero(0, Some(6));
    assert_eq!(drops.sum(7), 2);
    drops.vector().zero(0, Some(7));
    assert_eq!(drops.sum(7), 0);
    // Beyond what there is room for.
    let capacity = Space::Interface.capacity();
    drops.lane(0).add(capacity, 1);
    assert_eq!(
        (drops.sum(capacity), drops.lane(0).get(capacity), drops.of_thread(0, capacity)),
        (0, 0, 0)
    );
    drops.vector().zero(0, Some(capacity));
}

#[suite::test]
fn control_and_a_thread_count_the_same_thing_and_nothing_is_lost() {
    const N: u64 = 2_000_000;
    let registry = new(2);
    registry.extend(Space::Interface, 2);
    let requests = registry.simple("/net/arp/tx/requests");
    assert_eq!(
        value(&registry, requests.name()),
        Some(Value::Simple(vec![vec![0, 0]; 2])),
        "threads alone"
    );
    std::thread::scope(|scope| {
        for lane in [requests.lane(0), requests.lane(1), requests.control()] {
            scope.spawn(move || (0..N).for_each(|_| lane.add(1, 1)));
        }
    });
    assert_eq!((requests.sum(1), requests.of_thread(0, 1), requests.of_control(1)), (3 * N, N, N));
    // VPP's readers sum over the rows; control's is the last.
    let rows = vec![vec![0, N], vec![0, N], vec![0, N]];
    assert_eq!(value(&registry, requests.name()), Some(Value::Simple(rows)));
    registry.extend(Space::Interface, 3);
    requests.vector().zero(0, Some(1));
    requests.vector().zero_control(Some(1));
    let rows = vec![vec![0, 0, 0], vec![0, N, 0], vec![0, 0, 0]];
    assert_eq!(value(&registry, requests.name()), Some(Value::Simple(rows)));
    requests.control().add(2, 5);
    requests.start(2);
    assert_eq!(requests.sum(2), 5, "never started, so nothing to forget");
    requests.start(2);
    assert_eq!(requests.sum(2), 0);
    // Hidden ones count all the same.
    let hidden = new(1);
    hidden.hide("/net/");
    let hidden = hidden.simple("/net/arp/tx/requests");
    hidden.control().add(1, 1);
    assert_eq!(hidden.sum(1), 1);
}

#[suite::test]
fn packets_and_bytes_go_together() {
    let registry = new(2);
    let rx = registry.combined("/if/rx");
    rx.lane(1).add(0, 2, 128);
    assert_eq!(rx.sum(0), (2, 128));
    rx.lane(1).add(usize::MAX, 1, 1);
    registry.extend(Space::Interface, 1);
    assert_eq!(
        value(&registry, "/if/rx"),
        Some(Value::Combined(vec![vec![(0, 0)], vec![(2, 128)]]))
    );
    // A counter that comes later is as long as the others.
    registry.simple("/if/punt");
    assert_eq!(value(&registry, "/if/punt"), Some(Value::Simple(vec![vec![0], vec![0]])));
}

#[suite::test]
fn counters_of_their_own_grow_with_their_indices() {
    let registry = new(1);
    let to = registry.combined("/net/route/to");
    let len = |registry: &Registry| match value(registry, "/net/route/to") {
        Some(Value::Combined(rows)) => rows[0].len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(len(&registry), 0);
    to.start(100);
    to.lane(0).add(100, 1, 60);
    assert_eq!(to.sum(100), (1, 60));
    to.start(100);
    assert_eq!(to.sum(100), (0, 0));
    assert!((101..200).contains(&len(&registry)));
    let before = reader(&registry).epoch();
    (0..1_000_000).for_each(|i| to.start(i));
    assert!(registry.memory().1 < 1 << 20, "indices without packets take no memory");
    assert!(len(&registry) >= 1_000_000);
    assert!(reader(&registry).epoch() - before < 200, "readers are rarely disturbed");
    to.start(Space::Route.capacity() - 1);
    to.start(Space::Route.capacity());
    to.lane(0).add(Space::Route.capacity(), 1, 60);
}

/// The bytes themselves, as the format says.
#[suite::test]
fn the_layout_is_version_2() {
    let registry = new(2);
    let errors = registry.simple("/node/errors");
    registry.extend(Space::Error, 3);
    errors.lane(1).add(2, 77);
    let names = registry.names("/if/names");
    registry.change(|c| {
        names.set(c, 1, "memif0/0");
        c.symlink("/err/ip4-input/options", "/node/errors", 2);
    });
    registry.gauge("/sys/vector_rate").set(5);

    let view = WordsView::new(&registry).expect("mapped");
    let word = |at: u64| view.load(at, Relaxed).expect("inside");
    let base = word(8);
    assert_eq!((word(0), word(24), word(40)), (2, 0, 0));
    assert!(base != 0 && word(16) > 0);
    let directory = word(32) - base;
    assert_eq!(word(directory - 8), 5);
    let entry = |i: u64| (word(directory + 144 * i), word(directory + 144 * i + 8));
    let name = |i: u64| {
        let bytes: Vec<u8> =
            (0..16).flat_map(|w| word(directory + 144 * i + 16 + 8 * w).to_ne_bytes()).collect();
        String::from_utf8(bytes).expect("ASCII").trim_end_matches('\0').to_string()
    };
    assert_eq!((name(0).as_str(), entry(0)), ("/sys/heartbeat", (1, 0)));
    assert_eq!((name(1).as_str(), entry(1).0), ("/node/errors", 2));
    let rows = entry(1).1 - base;
    assert_eq!(word(rows - 8), 2);
    let row = word(rows + 8) - base;
    assert_eq!((word(row - 8), word(row + 16)), (3, 77));
    assert_eq!((name(2).as_str(), entry(2).0), ("/if/names", 4));
    let strings = entry(2).1 - base;
    assert_eq!(word(strings - 8), 2);
    let text = word(strings + 8) - base;
    assert_eq!(
        (word(text - 8), word(text).to_ne_bytes(), word(text + 8) as u8),
        (9, *b"memif0/0", 0)
    );
    // The name of an index without an owner is empty, not absent: readers count on the index.
    assert_eq!(word(word(strings) - base - 8), 1);
    assert_eq!((name(3).as_str(), entry(3)), ("/err/ip4-input/options", (6, 2 << 32 | 1)));
    assert_eq!((name(4).as_str(), entry(4)), ("/sys/vector_rate", (9, 5)));
}

#[suite::test]
fn symlinks_come_and_go() {
    let registry = new(2);
    let rx = registry.combined("/if/rx");
    registry.extend(Space::Interface, 2);
    rx.lane(0).add(1, 3, 200);
    let names = registry.names("/if/names");
    let link = format!("/interfaces/{}/rx", escape("memif0/0"));
    assert_eq!(link, "/interfaces/memif0_0/rx");
    registry.change(|c| {
        c.symlink(&link, "/if/rx", 1);
        c.symlink("/interfaces/memif0_0/none", "/if/none", 1);
        names.set(c, 1, "memif0/0");
    });
    assert_eq!(value(&registry, &link), Some(Value::Combined(vec![vec![(3, 200)], vec![(0, 0)]])));
    assert_eq!(value(&registry, "/interfaces/memif0_0/none"), None);
    let entries = reader(&registry).list().expect("readable").len();
    for _ in 0..1000 {
        registry.change(|c| {
            c.remove(&link);
            names.set(c, 1, "");
        });
        assert_eq!(value(&registry, &link), None);
        registry.change(|c| {
            c.symlink(&link, "/if/rx", 1);
            names.set(c, 1, "a name that needs some more room than the other");
        });
    }
    assert_eq!(reader(&registry).list().expect("readable").len(), entries);
    let text = "a name that needs some more room than the other";
    assert_eq!(value(&registry, "/if/names"), Some(Value::Names(vec!["".into(), text.into()])));
    let given_out = registry.given_out();
    registry
        .change(|c| (0..1000).for_each(|i| names.set(c, 1, if i % 2 == 0 { "x" } else { text })));
    assert!(registry.given_out() - given_out <= 256, "strings are used again");
}

#[suite::test]
fn gauges_come_and_go() {
    let registry = new(1);
    let routes = |id: &str| value(&registry, &format!("/net/ip4/routes/{id}"));
    registry.set_gauges("/net/ip4/routes/", &[("0".into(), 7), ("10".into(), 4)]);
    assert_eq!((routes("0"), routes("10")), (Some(Value::Gauge(7)), Some(Value::Gauge(4))));
    let other = registry.gauge("/net/ip4/neighbors");
    registry.set_gauges("/net/ip4/routes/", &[("0".into(), 8)]);
    assert_eq!((routes("0"), routes("10")), (Some(Value::Gauge(8)), None));
    // The place is another's now.
    registry.gauge("/net/ip6/neighbors").set(3);
    registry.set_gauges("/net/ip4/routes/", &[("0".into(), 8), ("10".into(), 1)]);
    other.set(2);
    assert_eq!((routes("0"), routes("10")), (Some(Value::Gauge(8)), Some(Value::Gauge(1))));
    assert_eq!(value(&registry, "/net/ip6/neighbors"), Some(Value::Gauge(3)));
    assert_eq!(value(&registry, "/net/ip4/neighbors"), Some(Value::Gauge(2)));
    assert!(
        registry.remove_gauge("/net/ip4/neighbors") && !registry.remove_gauge("/net/ip4/neighbors")
    );
    registry.gauge("/net/ip6/routes").set(5);
    assert_eq!(value(&registry, "/net/ip4/neighbors"), None);
    assert_eq!(value(&registry, "/net/ip6/routes"), Some(Value::Gauge(5)));
    registry.gauge("/net/ip4/neighbors").set(6);
    assert_eq!(value(&registry, "/net/ip4/neighbors"), Some(Value::Gauge(6)));
}

#[suite::test]
fn names_that_do_not_fit_are_not_listed() {
    let registry = new(1);
    registry.hide("/sys/node/");
    let calls = registry.simple("/sys/node/calls");
    calls.lane(0).add(1, 4);
    let long = registry.simple(&format!("/{}", "x".repeat(127)));
    long.lane(0).add(1, 4);
    registry.simple(&format!("/{}", "y".repeat(126)));
    registry.change(|c| c.symlink("/nodes/x/calls", "/sys/node/calls", 1));
    registry.scalar("/sys/node/x").set(3);
    let names: Vec<_> =
        reader(&registry).list().expect("readable").into_iter().map(|(n, _)| n).collect();
    assert_eq!(names, ["/sys/heartbeat".to_string(), format!("/{}", "y".repeat(126))]);
    assert_eq!((calls.sum(1), long.sum(1), registry.scalar("/sys/node/x").get()), (4, 4, 3));
}

#[suite::test]
fn a_full_segment_counts_on() {
    let registry = new(1);
    let counter =
        (0..200).map(|i| registry.combined(&format!("/acl/{i}/matches"))).last().expect("one");
    counter.start(3);
    counter.lane(0).add(3, 1, 64);
    assert_eq!(counter.sum(3), (1, 64));
    assert_eq!(value(&registry, "/acl/199/matches"), None);
    assert!(value(&registry, "/acl/10/matches").is_some());
}

#[suite::test]
fn rows_hold_a_value_for_each_thread() {
    let registry = new(3);
    let row = registry.row("/sys/vector_rate_per_worker", 3);
    row[2].set(9);
    assert_eq!(
        value(&registry, "/sys/vector_rate_per_worker"),
        Some(Value::Simple(vec![vec![0, 0, 9]]))
    );
}

/// The directory changes all the time while threads count and readers read: what they get fits
/// together.
#[suite::test]
fn readers_see_whole_changes() {
    let registry = new(2);
    let (rx, names) = (registry.combined("/if/rx"), registry.names("/if/names"));
    let (stop, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let lane = rx.lane(thread);
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Relaxed) {
                    (0..64).for_each(|i| lane.add(i, 1, 64));
                }
            });
        }
        scope.spawn(|| {
            let reader = reader(&registry);
            while !stop.load(Relaxed) {
                let all = reader.read(|name| name.starts_with("/i")).expect("readable");
                let find = |name: &str| all.iter().find(|s| s.name == name).map(|s| &s.value);
                let Some(Value::Names(names)) = find("/if/names") else { panic!("{all:?}") };
                let Some(Value::Combined(rows)) = find("/if/rx") else { panic!("{all:?}") };
                assert!(rows.iter().all(|row| row.len() == names.len()), "one length for all");
                // Each interface that has a name has its symlink, and no other has one.
                let named: Vec<_> = names.iter().filter(|n| !n.is_empty()).collect();
                let links = all.iter().filter(|s| s.name.starts_with("/interfaces/")).count();
                assert_eq!(links, named.len());
                for name in named {
                    assert!(find(&format!("/interfaces/{name}/rx")).is_some(), "{name}");
                }
                reads.fetch_add(1, Relaxed);
            }
        });
        let mut i = 0usize;
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        // A reader that finds something wrong ends, and the test with it.
        while reads.load(Relaxed) < 200 && std::time::Instant::now() < until {
            i += 1;
            let (at, name) = (i % 50, format!("tap{i}"));
            registry.extend(Space::Interface, at + 1);
            registry.change(|c| {
                c.symlink(&format!("/interfaces/{name}/rx"), "/if/rx", at);
                if i > 50 {
                    c.remove(&format!("/interfaces/tap{}/rx", i - 50));
                }
                names.set(c, at, &name);
            });
            std::thread::sleep(std::time::Duration::from_micros(20));
        }
        stop.store(true, Relaxed);
    });
    assert!(reads.load(Relaxed) >= 200);
}

#[suite::test]
fn what_is_no_segment_is_refused() {
    let words = mem::Words::new("test", 4096).expect("memory");
    assert_eq!(
        Reader::new(&*words).expect_err("no version").kind(),
        std::io::ErrorKind::InvalidData
    );
    let file = std::fs::File::open("/dev/null").expect("there");
    Reader::new(file).expect_err("no memory");
    let word = |offset: u64| &words.as_slice()[offset as usize / 8];
    word(0).store(2, Relaxed);
    // Every pointer leads somewhere else.
    for directory in [0, 1, 8, 33, 4112 + 8, u64::MAX, u64::MAX - 7, 1 << 63] {
        word(8).store(16, Relaxed);
        word(32).store(directory, Relaxed);
        let reader = Reader::new(&*words).expect("looks like one");
        let error = reader.list().expect_err("broken");
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{directory}");
    }
}

const PAIRS: RingShape<'_> =
    RingShape { threads: 2, words: 2, entries: 3, schema: "pair = [a, b]", schema_version: 7 };

#[suite::test]
fn a_ring_keeps_the_last_entries_of_each_thread() {
    let registry = new(1);
    let ring = registry.ring("/test/pairs", &PAIRS).expect("room");
    let row = |sequence, entries: &[[u64; 2]]| RingRow {
        sequence,
        entries: entries.iter().map(|e| e.to_vec()).collect(),
        schema: PAIRS.schema.into(),
        schema_version: 7,
    };
    assert_eq!(value(&registry, "/test/pairs"), Some(Value::Ring(vec![row(0, &[]), row(0, &[])])));
    (0..5).for_each(|i| ring.push(1, &[i, i * 10]));
    ring.push(0, &[77, 78]);
    let want = vec![row(1, &[[77, 78]]), row(5, &[[2, 20], [3, 30], [4, 40]])];
    assert_eq!(value(&registry, "/test/pairs"), Some(Value::Ring(want)));
    // The same again is the same ring, and nothing takes the name of something else.
    let again = registry.ring("/test/pairs", &RingShape { entries: 9, ..PAIRS }).expect("there");
    assert_eq!((again.entries(), again.words()), (3, 2));
    registry.simple("/if/drops");
    assert!(registry.ring("/if/drops", &PAIRS).is_none());
    for shape in [
        RingShape { entries: 0, ..PAIRS },
        RingShape { threads: 0, ..PAIRS },
        RingShape { words: usize::MAX, ..PAIRS },
        RingShape { entries: 1 << 29, ..PAIRS },
    ] {
        assert!(registry.ring("/test/none", &shape).is_none(), "{shape:?}");
    }
}

/// Where VPP's readers look: u32 entry size, entries, threads, schema's size and version, offsets
/// of states and entries; each state on a cache line of its own: u32 head and version, u64
/// sequence, u32 offset and size of the schema.
#[suite::test]
fn a_ring_lies_as_the_readers_of_vpp_expect() {
    let registry = new(1);
    let ring = registry.ring("/r", &PAIRS).expect("room");
    (0..4).for_each(|i| ring.push(1, &[i, 100 + i]));
    let view = WordsView::new(&registry).expect("readable");
    let word = |at: u64| view.load(at, Relaxed).expect("inside");
    let half = |at: u64| (word(at / 8 * 8) >> (at % 8 * 8)) as u32;
    let base = word(8);
    let entry = (0..).map(|i| word(32) - base + i * 144).find(|at| half(*at) == 8).expect("listed");
    let at = word(entry + 8) - base;
    assert_eq!([0, 4, 8, 12, 16].map(|i| half(at + i)), [16, 3, 2, 13, 7]);
    let (states, data) = (at + u64::from(half(at + 20)), at + u64::from(half(at + 24)));
    assert_eq!(
        (half(states + 64), half(states + 68), word(states + 72)),
        (1, 7, 4),
        "the second thread"
    );
    assert_eq!(
        (word(data + 3 * 16), word(data + 3 * 16 + 8)),
        (3, 103),
        "the fourth is over the first"
    );
    let schema = at + u64::from(half(states + 64 + 16));
    assert_eq!((word(schema).to_ne_bytes(), half(states + 64 + 20)), (*b"pair = [", 13));
}

#[suite::test]
fn a_histogram_counts_by_powers_of_two() {
    let registry = new(2);
    let histogram = registry.histogram("/test/sizes", 4, 3).expect("room");
    // Below 32, up to 63, and above.
    [0, 1, 16, 31, 32, 63, 64, u64::MAX].into_iter().for_each(|v| histogram.count(1, v));
    let want = vec![vec![4, 0, 0, 0], vec![4, 4, 2, 2]];
    assert_eq!(value(&registry, "/test/sizes"), Some(Value::Histogram(want)));
    assert_eq!(value(&registry, "/test/sizes").map(|v| v.total()), Some(8));
    let same = registry.histogram("/test/sizes", 9, 9).expect("there");
    assert_eq!((same.lowest(), same.bins()), (4, 3));
    assert!(registry.remove_histogram("/test/sizes") && !registry.remove_histogram("/test/sizes"));
    assert_eq!(value(&registry, "/test/sizes"), None);
    let other = registry.histogram("/test/sizes", 0, 2).expect("room");
    assert_eq!((other.lowest(), other.bins()), (0, 2));
    assert!(registry.histogram("/test/none", 0, 0).is_none());
}

#[suite::test]
fn the_longest_declared_directory_decides() {
    let registry = new(1);
    registry.declare("/net/route/own", Space::Own);
    let space = |name| registry.simple(name).vector().space();
    assert_eq!(space("/net/route/own/to"), Space::Own);
    assert_eq!(space("/net/route/to"), Space::Route);
    assert_eq!(space("/net/routes/to"), Space::Own, "another directory");
    assert_eq!(space("/node/errors"), Space::Error);
    assert_eq!(space("/node"), Space::Own);
    assert_eq!(registry.vectors(Space::Route).len(), 1);
}

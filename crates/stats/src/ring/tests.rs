// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::{Kind, Reader, Registry, RingRow, Value};
use mem::Words;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const SHAPE: RingShape<'_> =
    RingShape { threads: 1, words: 2, entries: 3, schema: "x", schema_version: 1 };

fn rows(reader: &Reader, name: &str) -> Vec<RingRow> {
    match reader.get(name).expect("readable") {
        Some(Value::Ring(rows)) => rows,
        other => panic!("no ring: {other:?}"),
    }
}

#[suite::test]
fn an_entry_that_is_being_overwritten_is_left_out() {
    let registry = Registry::new(1);
    let ring = registry.ring("/r", &SHAPE).expect("room");
    (0..5).for_each(|i| ring.push(0, &[i, 100 + i]));
    let reader = Reader::new(&registry).expect("a segment");
    let entries = || rows(&reader, "/r")[0].entries.clone();
    assert_eq!(entries(), [[2, 102], [3, 103], [4, 104]]);
    // The first half of a push: the oldest entry has one word of the new one.
    ring.set(STATE + BEGUN, 6);
    ring.set(2 * STATE + 2 * 2 * WORD, 5);
    assert_eq!(entries(), [[3, 103], [4, 104]]);
    ring.push(0, &[5, 105]);
    assert_eq!(entries(), [[3, 103], [4, 104], [5, 105]]);
}

/// A writer that never rests: what the reader gets are whole entries, one behind the other.
#[suite::test]
fn readers_get_whole_entries() {
    let registry = Registry::new(1);
    let shape = RingShape { words: 64, entries: 4, ..SHAPE };
    let ring = registry.ring("/r", &shape).expect("room");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut i = 0;
            while !stop.load(Relaxed) {
                ring.push(0, &[i; 64]);
                i += 1;
            }
        });
        let reader = Reader::new(&registry).expect("a segment");
        let read = || {
            let row = rows(&reader, "/r").remove(0);
            let first = row.sequence - row.entries.len() as u64;
            let want: Vec<Vec<u64>> = (first..row.sequence).map(|i| vec![i; 64]).collect();
            (row.entries == want, row)
        };
        let bad = (0..20_000).map(|_| read()).find(|(whole, _)| !whole);
        stop.store(true, Relaxed);
        assert_eq!(bad, None);
    });
}

#[suite::test]
fn sizes_that_overflow_are_refused() {
    let registry = Registry::new(1);
    let before = registry.given_out();
    // So many words, times eight bytes, are more than a number holds.
    for words in [1 << 61, usize::MAX / 8, usize::MAX] {
        let shape = RingShape { entries: 1, words, ..SHAPE };
        assert!(registry.ring("/r", &shape).is_none(), "{words}");
    }
    assert!(registry.histogram("/h", 0, usize::MAX).is_none());
    assert!(registry.histogram("/h", 0, usize::MAX - 9).is_none());
    // The pointers of the histograms are all that was taken.
    assert!(registry.given_out() - before <= 2 * 128, "{}", registry.given_out() - before);
}

#[suite::test]
fn a_name_that_cannot_be_listed_takes_no_memory() {
    let registry = Registry::new(1);
    registry.hide("/sys/node/");
    registry.simple("/if/drops");
    let before = registry.given_out();
    for name in ["/if/drops", "/sys/node/x", &format!("/{}", "x".repeat(127))] {
        assert!(registry.ring(name, &SHAPE).is_none(), "{name}");
        assert!(registry.histogram(name, 0, 4).is_none(), "{name}");
    }
    assert_eq!(registry.given_out(), before);
    assert!(matches!(
        Reader::new(&registry).expect("a segment").get("/if/drops"),
        Ok(Some(Value::Simple(_)))
    ));
}

/// A segment with one ring of two threads, as another writer makes it: entries of 12 bytes, the
/// schema right behind them, and no count of begun entries. Each thread has written `sequence`
/// entries.
fn foreign(sequence: u64) -> Arc<Words> {
    let words = Words::new("test", 4096).expect("memory");
    let base = 1 << 20;
    let bytes = |at: usize, bytes: &[u8]| {
        for (i, byte) in bytes.iter().enumerate() {
            let word = &words.as_slice()[(at + i) / WORD];
            let mut all = word.load(Relaxed).to_ne_bytes();
            all[(at + i) % WORD] = *byte;
            word.store(u64::from_ne_bytes(all), Relaxed);
        }
    };
    let word = |at: usize, value: u64| bytes(at, &value.to_ne_bytes());
    let halves = |at: usize, of: &[u32]| {
        of.iter().enumerate().for_each(|(i, n)| bytes(at + 4 * i, &n.to_ne_bytes()))
    };
    word(0, 2);
    word(8, base);
    word(32, base + 64);
    word(56, 1);
    word(64, Kind::Ring as u64);
    word(72, base + 512);
    bytes(80, b"/foreign");
    let (ring, entries, data) = (512, 3, 3 * STATE as u32);
    let schema = data + 2 * entries * 12;
    halves(ring, &[12, entries, 2, 5, 9, STATE as u32, data]);
    for thread in 0..2 {
        let state = ring + STATE * (thread + 1);
        halves(state, &[(sequence % u64::from(entries)) as u32, 9]);
        word(state + SEQUENCE, sequence);
        halves(state + SCHEMA, &[schema, 5]);
        for i in sequence.saturating_sub(entries.into())..sequence {
            let slot = thread * entries as usize + i as usize % entries as usize;
            bytes(ring + data as usize + slot * 12, &[0x10 * (thread as u8 + 1) + i as u8; 12]);
        }
    }
    bytes(ring + schema as usize, b"abcde");
    words
}

#[suite::test]
fn entries_of_any_size_are_read() {
    let entry = |byte: u8| {
        let [a, b, c, d] = [byte; 4];
        vec![u64::from_ne_bytes([byte; 8]), u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0])]
    };
    let row = |sequence, entries: &[u8]| RingRow {
        sequence,
        entries: entries.iter().map(|byte| entry(*byte)).collect(),
        schema: "abcde".into(),
        schema_version: 9,
    };
    let reader = Reader::new(&*foreign(2)).expect("a segment");
    assert_eq!(rows(&reader, "/foreign"), [row(2, &[0x10, 0x11]), row(2, &[0x20, 0x21])]);
    // This writer may be within the entry over the oldest, and doesn't tell.
    let reader = Reader::new(&*foreign(5)).expect("a segment");
    assert_eq!(rows(&reader, "/foreign"), [row(5, &[0x13, 0x14]), row(5, &[0x23, 0x24])]);
}

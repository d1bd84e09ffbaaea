// SPDX-License-Identifier: Apache-2.0
//! What control does to an index: slots are made from the tree's intervals.

use super::{ASK, CELLS, Entry, FINE, FULL, Indexed, LINE, SLOTS, WIDTH, fine, slot};
use crate::lpm::block::Line;
use crate::lpm::intervals::DOWN;
use crate::lpm::places::Places;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use sync::Qsbr;

/// Lines that those with separators lead to.
const GROUP: usize = Entry::BELOW as usize;
/// Lines of intervals in a slot at most.
const MAX: usize = GROUP * GROUP;
/// The last word of a line that several slots lead to: no interval's, and so zero in all others.
const SHARED: usize = 7;
const _: () = assert!(CELLS + FULL == SHARED);

/// What lookups don't need.
pub(super) struct Control {
    places: Places,
    /// By its cell, the line that slots without boundaries share, and how many they are.
    shared: HashMap<u64, (u32, u32)>,
    /// The intervals of a slot, each with its last key's fine bits and its cell. Kept for its memory.
    row: Vec<(u32, u64)>,
}

impl Control {
    pub fn new(domain: &Arc<Qsbr>, words: u32) -> Self {
        Self { places: Places::new(domain.clone(), words), shared: HashMap::new(), row: Vec::new() }
    }

    /// The first of some new lines, if there is room.
    pub fn take(&mut self, lines: u32) -> Option<u32> {
        self.places.room(lines * LINE).then(|| self.places.take(lines * LINE) / LINE)
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.places.used() * size_of::<u64>()
    }
}

/// The first key of a slot.
fn first_of(slot: u32) -> u64 {
    (0x20_0000 + u64::from(slot)) << 40
}

/// The last one.
fn last_of(slot: u32) -> u64 {
    first_of(slot) | ((1 << 40) - 1)
}

/// The slots that have keys from `first` to `last`, if any has.
pub(super) fn slots(first: u64, last: u64) -> Option<(u32, u32)> {
    const LAST: u32 = SLOTS as u32 - 1;
    let (first, last) = (first.max(first_of(0)), last.min(last_of(LAST)));
    (first <= last).then(|| (slot(first), slot(last)))
}

/// Adds to a row the interval of a cell that ends with this key. Where something begins or ends within a /56, that becomes one whose
/// keys the tree is asked for.
fn push(row: &mut Vec<(u32, u64)>, end: u64, cell: u64) {
    // A cell that names what is below stands for one key.
    let whole = cell & DOWN == 0 && (end + 1).trailing_zeros() >= FINE;
    let (begin, end) = (row.last().map_or(0, |(end, _)| u64::from(*end) + 1), fine(end));
    if whole {
        return append(row, end, cell);
    }
    if cell & DOWN == 0 && begin < end.into() {
        append(row, end - 1, cell);
    }
    append(row, end, ASK);
}

fn append(row: &mut Vec<(u32, u64)>, end: u32, cell: u64) {
    match row.last_mut() {
        // Within the /56 that the tree is asked about already.
        Some((before, _)) if *before == end => {}
        Some((before, ASK)) if cell == ASK => *before = end,
        _ => row.push((end, cell)),
    }
}

/// Separators as the words of a line.
fn separators(ends: impl Iterator<Item = u32>) -> [u64; 8] {
    let mut words = [u64::MAX; 8];
    for (i, end) in ends.enumerate() {
        let shift = i % 2 * 32;
        words[i / 2] = words[i / 2] & !(u64::from(u32::MAX) << shift) | u64::from(end) << shift;
    }
    words
}

/// How many separators a line has.
fn width(line: &Line) -> u32 {
    let used = |half: u64| u32::from(half as u32 != u32::MAX);
    line.iter().map(|word| word.load(Ordering::Relaxed)).map(|word| used(word) + used(word >> 32)).sum()
}

impl Indexed {
    /// Makes some slots anew.
    pub(super) fn make(&self, control: &mut Control, from: u32, to: u32) {
        let mut walk = self.tree.walk(first_of(from));
        let mut step = || walk.next().expect("the last interval ends behind the last slot");
        let (mut cell, mut end) = step();
        let mut slot = from;
        loop {
            let mut until = slot;
            if end >= last_of(slot) && cell & DOWN == 0 {
                // One cell, for as many slots as it goes on.
                while until < to && end >= last_of(until + 1) {
                    until += 1;
                }
                self.fill(control, slot, until, cell);
            } else {
                let mut row = std::mem::take(&mut control.row);
                row.clear();
                while end < last_of(slot) {
                    push(&mut row, end, cell);
                    (cell, end) = step();
                }
                push(&mut row, last_of(slot), cell);
                self.fill_with(control, slot, &row);
                control.row = row;
            }
            if until == to {
                return;
            }
            while end <= last_of(until) {
                (cell, end) = step();
            }
            slot = until + 1;
        }
    }

    fn write(&self, line: u32, words: [u64; 8]) {
        let line = &self.lines[line as usize];
        line.iter().zip(words).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
    }

    /// Leads a slot elsewhere, and returns where it led.
    fn publish(&self, slot: u32, entry: Entry) -> Entry {
        let slot = &self.slots[slot as usize];
        // Only control writes, under its lock.
        let old = slot.load(Ordering::Relaxed);
        // Release: who finds the entry finds its lines filled.
        slot.store(entry.0, Ordering::Release);
        Entry(old)
    }

    /// Leads some slots to one cell.
    fn fill(&self, control: &mut Control, from: u32, to: u32, cell: u64) {
        let line = match control.shared.get(&cell) {
            Some((line, _)) => Some(*line),
            None => control.take(1),
        };
        if let Some(line) = line {
            let (_, slots) = control.shared.entry(cell).or_insert_with(|| {
                let [none, _, ..] = separators(std::iter::empty());
                self.write(line, [none, none, cell, 0, 0, 0, 0, 1]);
                (line, 0)
            });
            *slots += to - from + 1;
        }
        let entry = line.map_or(Entry::ASK, Entry);
        // Slots in a row often had the same.
        let (mut had, mut n) = (Entry::ASK, 0);
        for slot in from..=to {
            let old = self.publish(slot, entry);
            if old != had {
                self.give(control, had, n);
                (had, n) = (old, 0);
            }
            n += 1;
        }
        self.give(control, had, n);
    }

    /// Leads a slot to some intervals.
    fn fill_with(&self, control: &mut Control, slot: u32, row: &[(u32, u64)]) {
        let old = self.publish(slot, self.lay(control, row).unwrap_or(Entry::ASK));
        self.give(control, old, 1);
    }

    /// Writes the lines of some intervals, unless these are too many.
    fn lay(&self, control: &mut Control, row: &[(u32, u64)]) -> Option<Entry> {
        let parts = row.chunks(FULL);
        let n = parts.len();
        let (levels, above) = match n {
            1 => (0, 0),
            2..=GROUP => (Entry::ONE_LEVEL, 1),
            n if n <= MAX => (Entry::TWO_LEVELS, 1 + Entry::BELOW),
            _ => return None,
        };
        let first = control.take(above + n as u32)?;
        // The last line of a group is told from the next group's by the level above.
        let end = |i: usize| row[(i + 1) * FULL - 1].0;
        let ends = |from: usize| (from..n - 1).take(WIDTH as usize).map(end);
        if levels == Entry::TWO_LEVELS {
            self.write(first, separators((GROUP - 1..n - 1).step_by(GROUP).map(end)));
            for (i, from) in (0..n).step_by(GROUP).enumerate() {
                self.write(first + 1 + i as u32, separators(ends(from)));
            }
        } else if levels == Entry::ONE_LEVEL {
            self.write(first, separators(ends(0)));
        }
        for (line, part) in (first + above..).zip(parts) {
            let mut words = separators(part[..part.len() - 1].iter().map(|(end, _)| *end));
            words[CELLS..].fill(0);
            for (word, (_, cell)) in words[CELLS..].iter_mut().zip(part) {
                *word = *cell;
            }
            self.write(line, words);
        }
        Some(Entry(levels | first))
    }

    /// Takes back what some slots had.
    fn give(&self, control: &mut Control, entry: Entry, slots: u32) {
        if entry == Entry::ASK {
            return;
        }
        let first = entry.line();
        let line = |at: u32| &self.lines[at as usize];
        let load = |word: usize| line(first)[word].load(Ordering::Relaxed);
        let lines = if entry.has_level(2) != 0 {
            let groups = width(line(first));
            1 + Entry::BELOW + groups * Entry::BELOW + width(line(first + 1 + groups)) + 1
        } else if entry.has_level(1) != 0 {
            1 + width(line(first)) + 1
        } else {
            if load(SHARED) != 0 {
                let cell = load(CELLS);
                let (_, left) = control.shared.get_mut(&cell).expect("a shared line is known by its cell");
                *left -= slots;
                if *left > 0 {
                    return;
                }
                control.shared.remove(&cell);
            }
            1
        };
        control.places.give(first * LINE, lines * LINE);
    }
}

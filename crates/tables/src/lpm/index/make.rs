// SPDX-License-Identifier: Apache-2.0
//! Control's changes to an index: slots are made from the tree's intervals.

use super::leaves::{self, ASK, separators};
use super::{Entry, FINE, Indexed, LINE, SLOTS, WIDTH, fine, finer, slot};
use crate::lpm::intervals::DOWN;
use crate::lpm::packed::Line;
use crate::lpm::slot_alloc::SlotAllocator;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use sync::Qsbr;

/// Number of lines that a line of separators leads to.
const GROUP: usize = Entry::BELOW as usize;
/// Lines of intervals in a slot at most.
const MAX: usize = GROUP * GROUP;

/// State of control, which lookups don't need.
pub(super) struct Control {
    places: SlotAllocator,
    /// By its cell, the line that slots without boundaries share, and how many they are.
    shared: HashMap<u64, (u32, u32)>,
    /// The lines of each slot's cut up /56s.
    finer: BTreeMap<u32, Vec<u32>>,
    /// Kept for its memory.
    row: Row,
}

impl Control {
    pub fn new(domain: &Arc<Qsbr>, words: u32) -> Self {
        Self {
            places: SlotAllocator::new(domain.clone(), words),
            shared: HashMap::new(),
            finer: BTreeMap::new(),
            row: Row::default(),
        }
    }

    /// The first of some new lines, if there is room.
    pub fn take(&mut self, lines: u32) -> Option<u32> {
        self.places.room(lines * LINE).then(|| self.places.take(lines * LINE) / LINE)
    }

    /// Records the lines of a slot's cut up /56s, and takes back their old ones.
    fn lead_to_finer(&mut self, slot: u32, lines: Vec<u32>) {
        let had = if lines.is_empty() {
            self.finer.remove(&slot)
        } else {
            self.finer.insert(slot, lines)
        };
        had.into_iter().flatten().for_each(|line| self.give(line, 1));
    }

    /// Takes back lines that no reader can find any more.
    fn give(&mut self, line: u32, lines: u32) {
        self.places.give(line * LINE, lines * LINE);
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.places.used() * size_of::<u64>()
    }
}

/// Intervals in a row, each with its last key's bits and what is kept of its cell.
type Pieces = Vec<(u32, u64)>;

/// The content of a slot, as far as the tree has been walked.
#[derive(Default)]
struct Row {
    /// The key that comes next.
    next: u64,
    /// Whole /56s.
    intervals: Pieces,
    /// Intervals of the /56 of the key that comes next, if that isn't the first key of the /56.
    finer: Pieces,
    /// The lines of cut up /56s.
    lines: Vec<u32>,
}

/// Adds an interval to the others.
fn append(row: &mut Pieces, end: u32, kept: u64) {
    match row.last_mut() {
        Some((before, same)) if *same == kept => *before = end,
        _ => row.push((end, kept)),
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

/// Number of separators of a line.
fn width(line: &Line) -> u32 {
    let used = |half: u64| u32::from(half as u32 != u32::MAX);
    line.iter()
        .map(|word| word.load(Ordering::Relaxed))
        .map(|word| used(word) + used(word >> 32))
        .sum()
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
                self.fill(control, slot, until, leaves::kept(self.wanted, cell));
            } else {
                let mut row = std::mem::take(&mut control.row);
                row.next = first_of(slot);
                row.intervals.clear();
                while end < last_of(slot) {
                    self.push(control, &mut row, end, cell);
                    (cell, end) = step();
                }
                self.push(control, &mut row, last_of(slot), cell);
                self.fill_with(control, slot, &mut row);
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

    /// Adds the interval of a cell to a row.
    fn push(&self, control: &mut Control, row: &mut Row, end: u64, cell: u64) {
        const REST: u64 = (1 << FINE) - 1;
        // A cell that names what is below stands for one key.
        let kept = if cell & DOWN != 0 { ASK } else { leaves::kept(self.wanted, cell) };
        if row.next & REST != 0 {
            let last = row.next | REST;
            append(&mut row.finer, finer(end.min(last)), kept);
            if end < last {
                row.next = end + 1;
                return;
            }
            let kept = self.lay_finer(control, row);
            append(&mut row.intervals, fine(last), kept);
            row.next = last + 1;
        }
        let begun = (end + 1) & !REST;
        if begun > row.next {
            append(&mut row.intervals, fine(begun - 1), kept);
        }
        if begun <= end {
            append(&mut row.finer, finer(end), kept);
        }
        row.next = end + 1;
    }

    /// Writes the line of a /56 that is cut up, and returns what leads to it. What doesn't fit, the
    /// tree is asked.
    fn lay_finer(&self, control: &mut Control, row: &mut Row) -> u64 {
        let kept = match *row.finer {
            [(_, kept)] => kept,
            ref all if all.len() > leaves::full(self.wanted) => ASK,
            ref some => control.take(1).map_or(ASK, |line| {
                self.write(line, leaves::line(self.wanted, some));
                row.lines.push(line);
                DOWN | u64::from(line)
            }),
        };
        row.finer.clear();
        kept
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
        // Release: a reader that finds the entry finds its lines filled.
        slot.store(entry.0, Ordering::Release);
        Entry(old)
    }

    /// Leads some slots to what is kept of one cell.
    fn fill(&self, control: &mut Control, from: u32, to: u32, kept: u64) {
        let line = match control.shared.get(&kept) {
            Some((line, _)) => Some(*line),
            None => control.take(1),
        };
        if let Some(line) = line {
            let (_, slots) = control.shared.entry(kept).or_insert_with(|| {
                self.write(line, leaves::line(self.wanted, &[(u32::MAX, kept)]));
                (line, 0)
            });
            *slots += to - from + 1;
        }
        let entry = line.map_or(Entry::ASK, |line| Entry(Entry::SHARED | line));
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
        while let Some((&slot, _)) = control.finer.range(from..=to).next() {
            control.lead_to_finer(slot, Vec::new());
        }
    }

    /// Leads a slot to a row.
    fn fill_with(&self, control: &mut Control, slot: u32, row: &mut Row) {
        match *row.intervals {
            [(_, kept)] if row.lines.is_empty() => self.fill(control, slot, slot, kept),
            ref intervals => {
                let old = self.publish(slot, self.lay(control, intervals).unwrap_or(Entry::ASK));
                self.give(control, old, 1);
                control.lead_to_finer(slot, std::mem::take(&mut row.lines));
            }
        }
    }

    /// Writes the lines of some intervals, unless these are too many.
    fn lay(&self, control: &mut Control, row: &[(u32, u64)]) -> Option<Entry> {
        let full = leaves::full(self.wanted);
        let parts = row.chunks(full);
        let n = parts.len();
        let (levels, above) = match n {
            1 => (0, 0),
            2..=GROUP => (Entry::ONE_LEVEL, 1),
            n if n <= MAX => (Entry::TWO_LEVELS, 1 + Entry::BELOW),
            _ => return None,
        };
        let first = control.take(above + n as u32)?;
        // The level above separates the last line of a group from the next group.
        let end = |i: usize| row[(i + 1) * full - 1].0;
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
            self.write(line, leaves::line(self.wanted, part));
        }
        Some(Entry(levels | first))
    }

    /// Takes back the lines of an entry that some slots had.
    fn give(&self, control: &mut Control, entry: Entry, slots: u32) {
        if entry == Entry::ASK {
            return;
        }
        let first = entry.line();
        let line = |at: u32| &self.lines[at as usize];
        let lines = if entry.0 & Entry::SHARED != 0 {
            let kept = leaves::kept_of::<simd::V1>(self.wanted, line(first), 0);
            let (_, left) =
                control.shared.get_mut(&kept).expect("a shared line is known by what it has");
            *left -= slots;
            if *left > 0 {
                return;
            }
            control.shared.remove(&kept);
            1
        } else if entry.has_level(2) != 0 {
            let groups = width(line(first));
            1 + Entry::BELOW + groups * Entry::BELOW + width(line(first + 1 + groups)) + 1
        } else if entry.has_level(1) != 0 {
            1 + width(line(first)) + 1
        } else {
            1
        };
        control.give(first, lines);
    }
}

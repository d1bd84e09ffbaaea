// SPDX-License-Identifier: Apache-2.0
//! Changes to the bitmap trie.

use super::{Bits, Control, DEEP, MARK, NODES};
use crate::lpm::engine::{Change, Refused};
use crate::lpm::intervals::{Brush, DOWN, Intervals, Plan};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Words for whatever one change writes: a run and a deep run.
const ROOM: u32 = 2 * (DEEP + 256);

/// The content of a run, and its place.
struct Run {
    content: Intervals,
    /// Its first word, and the number of its first leaf; none if it wasn't written yet.
    place: Option<(u32, u32)>,
    bits: u32,
}

/// The number of an address's /24 within its node.
fn part(key: u32) -> u64 {
    u64::from(key >> 8 & 63)
}

impl Run {
    fn new(mut content: Intervals, cell: u64, bits: u32) -> Self {
        content.cells.push(cell);
        Self { content, place: None, bits }
    }

    fn bounds(&self) -> (u64, u64) {
        (0, u64::from(self.bits) * 64 - 1)
    }
}

/// A node as it will be.
struct Open {
    node: usize,
    run: Run,
    content: Intervals,
}

impl<const PER: u32> Bits<PER> {
    /// Changes in order of their keys: changes in the same node are made to a copy of it, which is
    /// written once.
    pub(super) fn change_all(&self, changes: &[Change<u32>]) -> Result<(), (usize, Refused)> {
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = None::<Open>;
        let mut next = control.blank();
        for (done, change) in changes.iter().enumerate() {
            let Change { key, len, brush, .. } = *change;
            let node = (key >> 14) as usize;
            let simple = (19..=24).contains(&len) && Self::may(&control, change) == Ok(true);
            if let Some(other) = open.take_if(|open| !simple || open.node != node) {
                self.close(&mut control, other);
            }
            if !simple {
                drop(control);
                self.change(change).map_err(|refused| (done, refused))?;
                control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let mut hand = match open.take() {
                Some(open) => open,
                None => {
                    let (run, mut content) = (self.run_of(&mut control, node), control.blank());
                    content.clone_from(&run.content);
                    Open { node, run, content }
                }
            };
            let last = key | u32::MAX >> len;
            let plan = Plan::new(&hand.content, hand.run.bounds(), part(key), part(last), brush);
            self.paint_below(&mut control, &hand.content.cells[plan.lo..=plan.hi], brush);
            plan.paint(&hand.content, brush, &mut next);
            std::mem::swap(&mut hand.content, &mut next);
            open = Some(hand);
        }
        control.spare(next);
        if let Some(open) = open {
            self.close(&mut control, open);
        }
        Ok(())
    }

    /// Returns true if boundaries may be added for a change. Refuses a hop that is too wide, and a
    /// change that has no room.
    fn may(control: &Control, change: &Change<u32>) -> Result<bool, Refused> {
        if let Brush::UpTo(_, cell) | Brush::All(cell) = change.brush
            && cell as u32 >= Self::TOP
        {
            return Err(Refused::Narrow);
        }
        let grow = control.places.room(ROOM);
        if !grow && !change.shrinks { Err(Refused::Full) } else { Ok(grow) }
    }

    pub(super) fn change(&self, change: &Change<u32>) -> Result<(), Refused> {
        let Change { key, len, brush, .. } = *change;
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        let grow = Self::may(&control, change)?;
        let last = key | u32::MAX.checked_shr(len.into()).unwrap_or(0);
        if len <= 18 {
            for node in (key >> 14) as usize..=(last >> 14) as usize {
                self.paint_node(&mut control, node, brush);
            }
            return Ok(());
        }
        let run = self.run_of(&mut control, (key >> 14) as usize);
        let result = self.change_run(&mut control, &run, grow, change);
        control.spare(run.content);
        result
    }

    /// Changes a prefix that lies in one node.
    fn change_run(
        &self,
        control: &mut Control,
        run: &Run,
        grow: bool,
        change: &Change<u32>,
    ) -> Result<(), Refused> {
        let Change { key, len, brush, .. } = *change;
        let (node, last) =
            ((key >> 14) as usize, key | u32::MAX.checked_shr(len.into()).unwrap_or(0));
        if len <= 24 {
            let plan = Plan::new(&run.content, run.bounds(), part(key), part(last), brush);
            self.paint_below(control, &run.content.cells[plan.lo..=plan.hi], brush);
            if plan.in_place() || !grow {
                self.paint_in_place(run, &plan, brush);
            } else {
                self.rewrite(control, node, run, &plan, brush);
            }
            return Ok(());
        }
        let cell = run.content.cell(run.content.find(part(key)));
        let number = (cell & DOWN != 0).then_some((cell & (DOWN - 1)) as u32);
        let deep = match number {
            Some(number) => {
                self.read(control, self.deep[number as usize].load(Ordering::Relaxed), DEEP)
            }
            None => Run::new(control.blank(), cell, DEEP),
        };
        let address = |key: u32| u64::from(key & 255);
        let plan = Plan::new(&deep.content, deep.bounds(), address(key), address(last), brush);
        if plan.in_place() || !grow {
            self.paint_in_place(&deep, &plan, brush);
            return Ok(());
        }
        let mut content = control.blank();
        plan.paint(&deep.content, brush, &mut content);
        let to = if content.len() == 1 {
            content.cell(0)
        } else {
            let number = match number {
                Some(number) => number,
                None => control.deep.take(Self::DEEP_RUNS).ok_or(Refused::Narrow)?,
            };
            let first = self.write(control, &content, DEEP);
            self.deep[number as usize].store(first, Ordering::Release);
            DOWN | u64::from(number)
        };
        if to != cell {
            let brush = Brush::All(to);
            let plan = Plan::new(&run.content, run.bounds(), part(key), part(key), brush);
            if plan.in_place() {
                self.paint_in_place(run, &plan, brush);
            } else {
                self.rewrite(control, node, run, &plan, brush);
            }
        }
        if let Some((first, _)) = deep.place {
            control.places.give(first, Self::words(deep.content.len(), DEEP));
        }
        if let Some(number) = number.filter(|_| to & DOWN == 0) {
            control.deep.give(number);
        }
        control.spare(deep.content);
        control.spare(content);
        Ok(())
    }

    /// Words of a run.
    fn words(leaves: usize, bits: u32) -> u32 {
        bits + (leaves as u32).div_ceil(PER)
    }

    fn paint_node(&self, control: &mut Control, node: usize, brush: Brush) {
        let run = self.run_of(control, node);
        if run.place.is_none() {
            let (old, new) = (run.content.cell(0), brush.on(run.content.cell(0)));
            if new != old {
                self.set_node(node, new);
            }
        } else {
            let plan = Plan::new(&run.content, run.bounds(), 0, u64::MAX, brush);
            self.paint_below(control, &run.content.cells[plan.lo..=plan.hi], brush);
            self.paint_in_place(&run, &plan, brush);
        }
        control.spare(run.content);
    }

    /// A leaf in the place of a node.
    fn set_node(&self, node: usize, cell: u64) {
        self.routes[node].store((cell >> 32) as u32, Ordering::Relaxed);
        self.nodes[node].store(MARK | cell as u32, Ordering::Release);
    }

    /// Paints the deep runs that cells name.
    fn paint_below(&self, control: &mut Control, cells: &[u64], brush: Brush) {
        for number in cells.iter().filter(|cell| *cell & DOWN != 0).map(|cell| cell & (DOWN - 1)) {
            let deep = self.read(control, self.deep[number as usize].load(Ordering::Relaxed), DEEP);
            let plan = Plan::new(&deep.content, deep.bounds(), 0, u64::MAX, brush);
            self.paint_in_place(&deep, &plan, brush);
            control.spare(deep.content);
        }
    }

    fn paint_in_place(&self, run: &Run, plan: &Plan, brush: Brush) {
        let Some((_, leaf)) = run.place else { return };
        for i in plan.lo..=plan.hi {
            let (old, new) = (run.content.cell(i), brush.on(run.content.cell(i)));
            if new != old {
                let (leaf, shift) = (leaf + i as u32, (leaf + i as u32) % PER * Self::BITS);
                // A reader that has read the old hop may still ask for its route.
                if new & DOWN == 0 {
                    self.routes[NODES + leaf as usize].store((new >> 32) as u32, Ordering::Relaxed);
                }
                // Only control writes, under its lock.
                let word = &self.words[(leaf / PER) as usize];
                let others = word.load(Ordering::Relaxed) & !(Self::MASK << shift);
                word.store(others | Self::packed(new) << shift, Ordering::Release);
            }
        }
    }

    /// A run of the /24s of a node, painted.
    fn rewrite(&self, control: &mut Control, node: usize, run: &Run, plan: &Plan, brush: Brush) {
        let mut content = control.blank();
        plan.paint(&run.content, brush, &mut content);
        self.put(control, node, run, &content);
        control.spare(content);
    }

    /// Gives a node these intervals of its /24s, in place of its old ones.
    fn put(&self, control: &mut Control, node: usize, old: &Run, content: &Intervals) {
        if content.len() == 1 && content.cell(0) & DOWN == 0 {
            self.set_node(node, content.cell(0));
        } else {
            let first = self.write(control, content, 1);
            self.nodes[node].store(first, Ordering::Release);
        }
        if let Some((first, _)) = old.place {
            control.places.give(first, Self::words(old.content.len(), 1));
        }
    }

    fn close(&self, control: &mut Control, Open { node, run, content }: Open) {
        self.put(control, node, &run, &content);
        control.spare(run.content);
        control.spare(content);
    }

    const MASK: u64 = Self::TOP as u64 | (Self::TOP as u64 - 1);

    /// A cell as a leaf.
    fn packed(cell: u64) -> u64 {
        let top = if cell & DOWN != 0 { u64::from(Self::TOP) } else { 0 };
        cell & (DOWN - 1) | top
    }

    /// The intervals of a node: its run's, or a single one.
    fn run_of(&self, control: &mut Control, node: usize) -> Run {
        match self.nodes[node].load(Ordering::Relaxed) {
            hop if hop == 0 || hop & MARK != 0 => {
                let route = self.routes[node].load(Ordering::Relaxed);
                Run::new(control.blank(), u64::from(route) << 32 | u64::from(hop & !MARK), 1)
            }
            first => self.read(control, first, 1),
        }
    }

    fn read(&self, control: &mut Control, first: u32, bits: u32) -> Run {
        let (words, mut content) = (self.words.as_slice(), control.blank());
        let mut leaf = (first + bits) * PER;
        let place = Some((first, leaf));
        for at in 0..bits {
            let mut rest = words[(first + at) as usize].load(Ordering::Relaxed);
            while rest != 0 {
                let begin = u64::from(at * 64 + rest.trailing_zeros());
                rest &= rest - 1;
                if begin > 0 {
                    content.ends.push(begin - 1);
                }
                let packed = Self::leaf(words, leaf);
                let route = self.routes[NODES + leaf as usize].load(Ordering::Relaxed);
                // Beside the number of a deep run stands the route that was there before.
                let above = if packed & Self::TOP != 0 { DOWN } else { u64::from(route) << 32 };
                content.cells.push(above | u64::from(packed & !Self::TOP));
                leaf += 1;
            }
        }
        Run { content, place, bits }
    }

    /// Writes a new run, which no reader sees yet.
    fn write(&self, control: &mut Control, content: &Intervals, bits: u32) -> u32 {
        let first = control.places.take(Self::words(content.len(), bits));
        let mut begins = [0u64; DEEP as usize];
        begins[0] = 1;
        for end in &content.ends {
            let begin = end + 1;
            begins[(begin / 64) as usize] |= 1 << (begin % 64);
        }
        for (at, begins) in begins.iter().enumerate().take(bits as usize) {
            self.words[first as usize + at].store(*begins, Ordering::Relaxed);
        }
        let leaf = ((first + bits) * PER) as usize;
        for (i, cells) in content.cells.chunks(PER as usize).enumerate() {
            let pack = |word, (at, cell): (usize, &u64)| {
                word | Self::packed(*cell) << (at as u32 * Self::BITS)
            };
            let word = cells.iter().enumerate().fold(0, pack);
            self.words[(first + bits) as usize + i].store(word, Ordering::Relaxed);
        }
        for (i, cell) in content.cells.iter().enumerate() {
            self.routes[NODES + leaf + i].store((cell >> 32) as u32, Ordering::Relaxed);
        }
        first
    }
}

// SPDX-License-Identifier: Apache-2.0
//! What waits for neighbours that were asked for: bounded, without allocation, in order for each neighbour.

use wire::Address;

/// Things that wait for one neighbour at most.
pub const PER_NEIGHBOR: u16 = 32;
/// Things that wait on one thread at most.
const CELLS: usize = 1024;
/// Neighbours that are asked for on one thread at a time.
const SLOTS: usize = 1024;
/// A neighbour has its slot in one of this many places.
const WAYS: usize = 8;
/// Between two questions for one neighbour (RFC 1122 2.3.2.1), in nanoseconds.
pub const INTERVAL: u64 = 1_000_000_000;
/// Unanswered questions after which nothing waits any longer.
pub const QUESTIONS: u8 = 3;

/// A neighbour that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target<A> {
    /// The interface that it is behind.
    pub sw_if: u32,
    /// Its address.
    pub ip: A,
}

impl<A: Address> Target<A> {
    /// A number below `places`, spread evenly.
    #[inline(always)]
    pub fn place(self, places: usize) -> usize {
        let octets = self.ip.to_octets();
        let hash = octets.as_ref().as_chunks().0.iter().fold(u64::from(self.sw_if), |hash, word| {
            (hash ^ u64::from(u32::from_ne_bytes(*word))).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        });
        (hash >> 8) as usize % places
    }

    #[inline(always)]
    fn set(self) -> usize {
        self.place(SLOTS / WAYS) * WAYS
    }
}

const END: u16 = u16::MAX;

#[derive(Clone, Copy)]
struct Slot<A> {
    target: Target<A>,
    /// It may be asked for from this time on.
    next: u64,
    asked: u8,
    /// All these questions have been sent.
    sent: bool,
    /// Places taken, whether filled yet or not.
    taken: u16,
    first: u16,
    last: u16,
}

struct Cell<T> {
    item: Option<T>,
    next: u16,
}

/// What is due for a neighbour that something waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due<A> {
    /// Ask once more.
    Ask(Target<A>),
    /// It hasn't answered: let go of what waits.
    GiveUp(Target<A>),
    /// It couldn't be asked: the same.
    Abandon(Target<A>),
}

/// Things that wait for neighbours with addresses `A`.
pub struct Waiting<A, T> {
    slots: Box<[Slot<A>]>,
    cells: Box<[Cell<T>]>,
    /// The first of the free cells' list.
    free: u16,
    taken: usize,
}

impl<A: Address, T> Default for Waiting<A, T> {
    fn default() -> Self {
        let target = Target { sw_if: u32::MAX, ip: A::ZERO };
        let slot = Slot { target, next: 0, asked: 0, sent: true, taken: 0, first: END, last: END };
        let cell = |i: usize| Cell { item: None, next: if i + 1 < CELLS { i as u16 + 1 } else { END } };
        Self { slots: vec![slot; SLOTS].into(), cells: (0..CELLS).map(cell).collect(), free: 0, taken: 0 }
    }
}

impl<A: Address, T> Waiting<A, T> {
    #[inline(always)]
    fn find(&self, target: Target<A>) -> Option<usize> {
        let set = target.set();
        (set..set + WAYS).find(|&at| self.slots[at].target == target)
    }

    /// The neighbour's slot, a new one if it has none; `None` if too many others are asked for.
    #[inline(always)]
    pub fn slot(&mut self, target: Target<A>, now: u64) -> Option<usize> {
        if let Some(at) = self.find(target) {
            return Some(at);
        }
        let set = target.set();
        let at = (set..set + WAYS).find(|&at| self.slots[at].taken == 0 && self.slots[at].next <= now)?;
        self.slots[at] = Slot { target, next: 0, asked: 0, sent: true, taken: 0, first: END, last: END };
        Some(at)
    }

    /// Whether the slot's neighbour may be asked for now, by a packet that comes. Not if it is to be given up: or packets
    /// that come all the time would keep asking for ever.
    #[inline(always)]
    pub fn may_ask(&self, at: usize, now: u64) -> bool {
        let slot = &self.slots[at];
        slot.next <= now && (slot.taken == 0 || slot.asked < QUESTIONS)
    }

    /// Notes that the slot's neighbour was asked for, or that something hindered that.
    #[inline(always)]
    pub fn asked(&mut self, at: usize, sent: bool, now: u64) {
        let slot = &mut self.slots[at];
        slot.next = now + INTERVAL;
        // Who asks while nothing waits begins anew.
        (slot.asked, slot.sent) =
            if slot.taken == 0 { (1, sent) } else { (slot.asked.saturating_add(1), slot.sent && sent) };
    }

    /// Takes a place in the slot for something that [`Self::put`] brings; false if there is none.
    #[inline(always)]
    pub fn take_place(&mut self, at: usize) -> bool {
        let slot = &mut self.slots[at];
        let room = slot.taken < PER_NEIGHBOR && self.taken < CELLS;
        if room {
            slot.taken += 1;
            self.taken += 1;
        }
        room
    }

    /// Fills a place that was taken in a slot; gives the thing back if there was none.
    pub fn put(&mut self, at: usize, item: T) -> Result<(), T> {
        let Some(slot) = self.slots.get_mut(at).filter(|slot| slot.taken > 0) else { return Err(item) };
        let cell = self.free;
        let Some(place) = self.cells.get_mut(usize::from(cell)) else { return Err(item) };
        self.free = place.next;
        *place = Cell { item: Some(item), next: END };
        match self.cells.get_mut(usize::from(slot.last)) {
            Some(last) => last.next = cell,
            None => slot.first = cell,
        }
        slot.last = cell;
        Ok(())
    }

    /// Takes out what waits for a neighbour, in order.
    pub fn release(&mut self, target: Target<A>, mut f: impl FnMut(T)) {
        let Some(at) = self.find(target) else { return };
        let mut next = self.slots[at].first;
        while let Some(cell) = self.cells.get_mut(usize::from(next)) {
            let (this, item) = (next, cell.item.take());
            next = cell.next;
            cell.next = self.free;
            self.free = this;
            item.into_iter().for_each(&mut f);
        }
        let slot = &mut self.slots[at];
        self.taken -= usize::from(slot.taken);
        // `next` stays: it holds back further questions, answered or not.
        (slot.first, slot.last, slot.taken, slot.asked) = (END, END, 0, 0);
    }

    /// Lets all that waits for neighbours on an interface be given up soon.
    pub fn give_up_on(&mut self, sw_if: u32) {
        for slot in self.slots.iter_mut().filter(|s| s.target.sw_if == sw_if) {
            (slot.asked, slot.sent, slot.next) = (QUESTIONS, false, 0);
        }
    }

    /// How many slots there are, for [`Self::due`].
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// What is due for the neighbour of a slot.
    pub fn due(&self, at: usize, now: u64) -> Option<Due<A>> {
        let slot = self.slots.get(at).filter(|s| s.taken > 0 && s.next <= now)?;
        Some(match slot {
            Slot { asked: ..QUESTIONS, .. } => Due::Ask(slot.target),
            Slot { sent: true, .. } => Due::GiveUp(slot.target),
            _ => Due::Abandon(slot.target),
        })
    }

    /// How many places are taken.
    #[cfg(test)]
    pub fn taken(&self) -> usize {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::net::Ipv6Addr;

    type Items = Waiting<Ipv6Addr, u32>;

    fn target(n: u32) -> Target<Ipv6Addr> {
        Target { sw_if: n % 3, ip: Ipv6Addr::from((0x2001_0db8 << 96) + u128::from(n)) }
    }

    fn add(w: &mut Items, n: u32, item: u32) -> bool {
        let at = w.slot(target(n), 0).expect("a slot");
        w.take_place(at) && w.put(at, item).is_ok()
    }

    fn all(w: &mut Items, n: u32) -> Vec<u32> {
        let mut out = Vec::new();
        w.release(target(n), |item| out.push(item));
        out
    }

    #[test]
    fn a_neighbour_is_asked_three_times_and_given_up() {
        let mut w = Items::default();
        let at = w.slot(target(1), 0).expect("a slot");
        assert!(w.may_ask(at, 0));
        w.asked(at, true, 0);
        assert!(!w.may_ask(at, INTERVAL - 1), "throttled");
        assert_eq!(w.due(at, INTERVAL), None, "nothing waits");
        assert!(add(&mut w, 1, 7));
        assert_eq!(w.due(at, INTERVAL), Some(Due::Ask(target(1))));
        w.asked(at, true, INTERVAL);
        assert_eq!(w.due(at, INTERVAL), None);
        w.asked(at, true, 2 * INTERVAL);
        assert_eq!(w.due(at, 3 * INTERVAL), Some(Due::GiveUp(target(1))));
        assert_eq!(all(&mut w, 1), [7]);
        assert_eq!((w.taken(), w.due(at, 3 * INTERVAL)), (0, None));
        w.asked(at, true, 3 * INTERVAL);
        assert!(add(&mut w, 1, 8));
        assert_eq!(w.due(at, 4 * INTERVAL), Some(Due::Ask(target(1))), "from the start");
        w.give_up_on(target(1).sw_if);
        assert_eq!(w.due(at, 0), Some(Due::Abandon(target(1))));
        assert_eq!(all(&mut w, 1), [8]);
        w.give_up_on(target(1).sw_if);
        w.asked(at, true, 5 * INTERVAL);
        assert!(add(&mut w, 1, 9));
        assert_eq!(w.due(at, 6 * INTERVAL), Some(Due::Ask(target(1))));
        // Who couldn't be asked each time hasn't been silent.
        w.asked(at, false, 6 * INTERVAL);
        w.asked(at, true, 7 * INTERVAL);
        assert_eq!(w.due(at, 8 * INTERVAL), Some(Due::Abandon(target(1))));
        assert_eq!(all(&mut w, 1), [9]);
        w.asked(at, true, 9 * INTERVAL);
        assert!(add(&mut w, 1, 10));
        w.asked(at, true, 10 * INTERVAL);
        w.asked(at, true, 11 * INTERVAL);
        assert_eq!(w.due(at, 12 * INTERVAL), Some(Due::GiveUp(target(1))));
    }

    #[test]
    fn packets_that_keep_coming_do_not_put_off_the_end() {
        let mut w = Items::default();
        let (mut asked, mut ends) = (0, Vec::new());
        for now in (0..4 * INTERVAL).step_by(INTERVAL as usize / 10) {
            let at = w.slot(target(1), now).expect("a slot");
            if w.may_ask(at, now) {
                w.asked(at, true, now);
                asked += 1;
            }
            add(&mut w, 1, 7);
            if let Some(due) = w.due(at, now) {
                ends.push((due, now));
                all(&mut w, 1);
            }
        }
        assert_eq!(ends, [(Due::GiveUp(target(1)), u64::from(QUESTIONS) * INTERVAL)]);
        assert_eq!(asked, QUESTIONS + 1, "and once more for those that came afterwards");
    }

    #[test]
    fn places_and_slots_are_bounded() {
        let mut w = Items::default();
        let taken = (0..100).filter(|i| add(&mut w, 1, *i)).count();
        assert_eq!(taken, usize::from(PER_NEIGHBOR));
        let (mut slots, mut places) = (0, taken);
        for n in 2..5000 {
            let Some(at) = w.slot(target(n), 0) else { continue };
            slots += 1;
            w.asked(at, true, 0);
            if w.take_place(at) {
                places += 1;
                assert!(w.put(at, n).is_ok());
            }
        }
        assert!(slots > SLOTS * 9 / 10 && slots < SLOTS, "{slots}");
        assert_eq!((places, w.taken()), (CELLS.min(slots + taken), places));
        assert_eq!(all(&mut w, 1).len(), usize::from(PER_NEIGHBOR));
        // Slots are free again when nothing waits and the pause between questions is over.
        let n = (2..5000).find(|n| w.find(target(*n)).is_none()).expect("one without");
        assert_eq!(w.slot(target(n), INTERVAL - 1), None);
        (2..5000).for_each(|n| drop(all(&mut w, n)));
        assert_eq!((w.taken(), w.slot(target(n), INTERVAL - 1)), (0, None));
        assert!(w.slot(target(n), INTERVAL).is_some());
    }

    proptest! {
        #[test]
        fn order_is_kept_and_nothing_lost(steps in prop::collection::vec((0u32..6, any::<bool>()), 0..3000)) {
            let (mut w, mut model) = (Items::default(), HashMap::<u32, Vec<u32>>::new());
            for (i, (n, release)) in steps.into_iter().enumerate() {
                if release && i % 7 == 0 {
                    prop_assert_eq!(all(&mut w, n), model.remove(&n).unwrap_or_default());
                } else {
                    let list = model.entry(n).or_default();
                    let room = list.len() < usize::from(PER_NEIGHBOR);
                    prop_assert_eq!(add(&mut w, n, i as u32), room);
                    if room {
                        list.push(i as u32);
                    }
                }
                prop_assert_eq!(w.taken(), model.values().map(Vec::len).sum::<usize>());
            }
        }
    }
}

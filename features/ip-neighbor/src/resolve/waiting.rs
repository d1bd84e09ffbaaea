// SPDX-License-Identifier: Apache-2.0
//! What waits for neighbours that were asked for: bounded, without allocation, in order for each neighbour.
//!
//! Slots and cells are shared by interfaces: when there is none left, the interface that has most gives up its oldest, which
//! nobody has answered. A slot that nothing waits in is kept as long as there is room: it holds back further questions.

use super::Target;
use super::target::{SHARES, Seed};
use wire::Address;

/// Things that wait for one neighbour at most.
pub const PER_NEIGHBOR: u16 = 32;
/// Things that wait on one thread at most.
const CELLS: usize = 1024;
/// Neighbours that are asked for on one thread at a time: what an interface asks for in a second, so that it doesn't ask for
/// one of them twice meanwhile.
const SLOTS: usize = super::pace::RATE as usize;
/// Between two questions for one neighbour (RFC 1122 2.3.2.1), in nanoseconds.
pub const INTERVAL: u64 = 1_000_000_000;
/// Unanswered questions after which nothing waits any longer.
pub const QUESTIONS: u8 = 3;

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
    /// Counts what it was given up for: places taken before aren't filled any more.
    round: u16,
    /// The next slot in its bucket.
    chain: u16,
    /// Its neighbours in its list, from older to younger.
    older: u16,
    younger: u16,
}

struct Cell<T> {
    item: Option<T>,
    next: u16,
}

#[derive(Clone, Copy)]
struct List {
    oldest: u16,
    youngest: u16,
}

/// What an interface has: slots that something waits in and others, each in the order in which they became that.
#[derive(Clone, Copy)]
struct Share {
    slots: u16,
    cells: u16,
    lists: [List; 2],
}

/// Slots that nothing waits in.
const RESTING: usize = 0;
/// Slots that something waits in.
const BUSY: usize = 1;

/// A place for one thing, in this slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(u32);

impl Place {
    /// As a number, for a packet's metadata.
    #[inline(always)]
    pub fn to_bits(self) -> u32 {
        self.0
    }

    /// The place of this number.
    #[inline(always)]
    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

/// What is due for a neighbour that something waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due<A> {
    /// Ask it once more.
    Ask(Target<A>),
    /// It hasn't answered: let go of what waits.
    GiveUp(Target<A>),
    /// It couldn't be asked: the same.
    Abandon(Target<A>),
}

/// Things that wait for neighbours with addresses `A`.
pub struct Waiting<A, T> {
    seed: Seed,
    slots: Box<[Slot<A>]>,
    /// The first slot of each bucket.
    buckets: Box<[u16]>,
    /// Slots that were ever used.
    used: usize,
    shares: Box<[Share; SHARES]>,
    cells: Box<[Cell<T>]>,
    /// The first of the free cells' list.
    free: u16,
    taken: usize,
}

impl<A: Address, T> Default for Waiting<A, T> {
    fn default() -> Self {
        let slot = Slot {
            target: Target { sw_if: u32::MAX, ip: A::ZERO },
            next: 0,
            asked: 0,
            sent: true,
            taken: 0,
            first: END,
            last: END,
            round: 0,
            chain: END,
            older: END,
            younger: END,
        };
        let cell = |i: usize| Cell { item: None, next: if i + 1 < CELLS { i as u16 + 1 } else { END } };
        let list = List { oldest: END, youngest: END };
        Self {
            seed: Seed::default(),
            slots: vec![slot; SLOTS].into(),
            buckets: vec![END; SLOTS].into(),
            used: 0,
            shares: Box::new([Share { slots: 0, cells: 0, lists: [list; 2] }; SHARES]),
            cells: (0..CELLS).map(cell).collect(),
            free: 0,
            taken: 0,
        }
    }
}

impl<A: Address, T> Waiting<A, T> {
    /// The neighbour's slot, if it has one.
    #[inline(always)]
    pub fn find(&self, target: Target<A>) -> Option<usize> {
        let mut at = self.buckets[self.seed.place(target, SLOTS)];
        while let Some(slot) = self.slots.get(usize::from(at)) {
            if slot.target == target {
                return Some(usize::from(at));
            }
            at = slot.chain;
        }
        None
    }

    /// A new slot for a neighbour that has none. `displaced` takes what waited in the one that had to go.
    #[inline(always)]
    pub fn claim(&mut self, target: Target<A>, displaced: impl FnMut(T)) -> usize {
        let at = if self.used < SLOTS {
            self.used += 1;
            self.used - 1
        } else {
            self.give_up_oldest(displaced)
        };
        let bucket = self.seed.place(target, SLOTS);
        let slot = &mut self.slots[at];
        let round = slot.round;
        *slot = Slot {
            target,
            next: 0,
            asked: 0,
            sent: true,
            taken: 0,
            first: END,
            last: END,
            round,
            chain: self.buckets[bucket],
            older: END,
            younger: END,
        };
        self.buckets[bucket] = at as u16;
        self.shares[target.share()].slots += 1;
        self.append(at, RESTING);
        at
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
        // One that is asked for while nothing waits begins anew.
        (slot.asked, slot.sent) =
            if slot.taken == 0 { (1, sent) } else { (slot.asked.saturating_add(1), slot.sent && sent) };
    }

    /// Takes a place in the slot for something that [`Self::put`] brings; `None` if there is none. When all are taken, others'
    /// oldest make room for the first thing that waits for a neighbour that was `asked` for now, and for an interface that has
    /// less than others; `displaced` takes what had to go.
    #[inline(always)]
    pub fn take_place(&mut self, at: usize, asked: bool, displaced: impl FnMut(T)) -> Option<Place> {
        let (share, taken) = (self.slots[at].target.share(), self.slots[at].taken);
        if taken >= PER_NEIGHBOR {
            return None;
        }
        if self.taken >= CELLS {
            let largest = self.largest(|share| share.cells);
            let below = self.shares[largest].cells > self.shares[share].cells + 1;
            let victim = usize::from(self.shares[largest].lists[BUSY].oldest);
            if !(asked || below) || victim == at {
                return None;
            }
            self.release_at(victim, displaced);
        }
        if taken == 0 {
            self.unlink(at, RESTING);
            self.append(at, BUSY);
        }
        let slot = &mut self.slots[at];
        slot.taken += 1;
        self.taken += 1;
        self.shares[share].cells += 1;
        Some(Place(at as u32 | u32::from(slot.round) << 16))
    }

    /// Takes out what waits in the oldest slot of the interface that has most; false if nothing waits.
    pub fn displace(&mut self, displaced: impl FnMut(T)) -> bool {
        if self.taken == 0 {
            return false;
        }
        let largest = self.largest(|share| share.cells);
        self.release_at(usize::from(self.shares[largest].lists[BUSY].oldest), displaced);
        true
    }

    /// Fills a place that was taken in a slot; gives the thing back if the slot was given up meanwhile.
    pub fn put(&mut self, place: Place, item: T) -> Result<(), T> {
        let (at, round) = (place.0 as usize & 0xffff, (place.0 >> 16) as u16);
        let slot = self.slots.get_mut(at).filter(|slot| slot.taken > 0 && slot.round == round);
        let Some(slot) = slot else { return Err(item) };
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
    pub fn release(&mut self, target: Target<A>, f: impl FnMut(T)) {
        if let Some(at) = self.find(target) {
            self.release_at(at, f);
        }
    }

    /// Takes out what waits in a slot, in order.
    pub fn release_at(&mut self, at: usize, mut f: impl FnMut(T)) {
        let mut next = self.slots[at].first;
        while let Some(cell) = self.cells.get_mut(usize::from(next)) {
            let (this, item) = (next, cell.item.take());
            next = cell.next;
            cell.next = self.free;
            self.free = this;
            item.into_iter().for_each(&mut f);
        }
        let slot = &mut self.slots[at];
        let (taken, share) = (slot.taken, slot.target.share());
        // `next` stays: it holds back further questions, answered or not.
        (slot.first, slot.last, slot.taken, slot.asked) = (END, END, 0, 0);
        slot.round = slot.round.wrapping_add(1);
        self.taken -= usize::from(taken);
        self.shares[share].cells -= taken;
        if taken > 0 {
            self.unlink(at, BUSY);
            self.append(at, RESTING);
        }
    }

    /// Lets all that waits for neighbours on an interface be given up soon.
    pub fn give_up_on(&mut self, sw_if: u32) {
        for slot in self.slots[..self.used].iter_mut().filter(|s| s.target.sw_if == sw_if) {
            (slot.asked, slot.sent, slot.next) = (QUESTIONS, false, 0);
        }
    }

    /// How many slots there are, for [`Self::due`].
    pub fn len(&self) -> usize {
        self.used
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

    /// The share with most of something.
    #[inline(always)]
    fn largest(&self, of: impl Fn(&Share) -> u16) -> usize {
        let all = self.shares.iter().enumerate();
        all.fold((0, 0), |most, (i, share)| if of(share) > most.1 { (i, of(share)) } else { most }).0
    }

    /// Frees the slot that is missed least: the oldest of the interface that has most, of those that nothing waits in if it has
    /// such.
    #[inline(always)]
    fn give_up_oldest(&mut self, displaced: impl FnMut(T)) -> usize {
        let largest = self.largest(|share| share.slots);
        let [resting, busy] = self.shares[largest].lists.map(|list| usize::from(list.oldest));
        let at = if resting < SLOTS { resting } else { busy };
        self.release_at(at, displaced);
        self.unlink(at, RESTING);
        self.shares[largest].slots -= 1;
        let bucket = self.seed.place(self.slots[at].target, SLOTS);
        let (mut link, after) = (self.buckets[bucket], self.slots[at].chain);
        if usize::from(link) == at {
            self.buckets[bucket] = after;
        }
        while let Some(slot) = self.slots.get_mut(usize::from(link)) {
            link = slot.chain;
            if usize::from(link) == at {
                slot.chain = after;
            }
        }
        self.slots[at].round = self.slots[at].round.wrapping_add(1);
        at
    }

    #[inline(always)]
    fn append(&mut self, at: usize, list: usize) {
        let share = self.slots[at].target.share();
        let youngest = std::mem::replace(&mut self.shares[share].lists[list].youngest, at as u16);
        (self.slots[at].older, self.slots[at].younger) = (youngest, END);
        match self.slots.get_mut(usize::from(youngest)) {
            Some(slot) => slot.younger = at as u16,
            None => self.shares[share].lists[list].oldest = at as u16,
        }
    }

    #[inline(always)]
    fn unlink(&mut self, at: usize, list: usize) {
        let Slot { older, younger, target, .. } = self.slots[at];
        let list = &mut self.shares[target.share()].lists[list];
        match self.slots.get_mut(usize::from(older)) {
            Some(slot) => slot.younger = younger,
            None => list.oldest = younger,
        }
        match self.slots.get_mut(usize::from(younger)) {
            Some(slot) => slot.older = older,
            None => list.youngest = older,
        }
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

    fn on(sw_if: u32, n: u32) -> Target<Ipv6Addr> {
        Target { sw_if, ip: Ipv6Addr::from((0x2001_0db8 << 96) + u128::from(n)) }
    }

    fn target(n: u32) -> Target<Ipv6Addr> {
        on(n % 3, n)
    }

    fn slot(w: &mut Items, target: Target<Ipv6Addr>) -> usize {
        w.find(target).unwrap_or_else(|| w.claim(target, |_| {}))
    }

    fn add(w: &mut Items, n: u32, item: u32) -> bool {
        let at = slot(w, target(n));
        w.take_place(at, false, |_| {}).is_some_and(|place| w.put(place, item).is_ok())
    }

    fn all(w: &mut Items, n: u32) -> Vec<u32> {
        let mut out = Vec::new();
        w.release(target(n), |item| out.push(item));
        out
    }

    #[test]
    fn a_neighbour_is_asked_three_times_and_given_up() {
        let mut w = Items::default();
        let at = slot(&mut w, target(1));
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
            let at = slot(&mut w, target(1));
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
    fn a_neighbour_and_a_thread_have_so_many_places() {
        let mut w = Items::default();
        let taken = (0..100).filter(|i| add(&mut w, 1, *i)).count();
        assert_eq!(taken, usize::from(PER_NEIGHBOR));
        let others = (2..5000).filter(|n| add(&mut w, *n, *n)).count();
        assert_eq!((w.taken(), w.len()), (CELLS, SLOTS));
        assert!(others > CELLS / 2, "{others}");
    }

    /// What waits and what had to go, together with the numbers of both, are all that came.
    #[test]
    fn a_scan_displaces_its_own_oldest() {
        let mut w = Items::default();
        let mut displaced = Vec::new();
        let mut came = |w: &mut Items, target, item, asked, displaced: &mut Vec<u32>| {
            let at = w.find(target).unwrap_or_else(|| w.claim(target, |old| displaced.push(old)));
            if asked {
                w.asked(at, true, 0);
            }
            let place = w.take_place(at, asked, |old| displaced.push(old));
            place.is_some_and(|place| w.put(place, item).is_ok())
        };
        // Some on another interface, whom nobody has answered yet.
        for n in 0..100 {
            assert!(came(&mut w, on(2, n), n, true, &mut displaced));
        }
        for n in 0..100_000 {
            assert!(came(&mut w, on(1, n), 1000 + n, true, &mut displaced), "{n}: the youngest has a place");
            if n % 1000 == 999 {
                // The packets of one on another interface find places, though none of them makes a question.
                assert!(came(&mut w, on(3, 7), n, false, &mut displaced) || n / 1000 >= 32);
            }
        }
        assert!(displaced.iter().all(|item| *item >= 1000), "nobody on another interface");
        assert!(displaced.is_sorted(), "the oldest first");
        for n in 0..100 {
            let mut out = Vec::new();
            w.release(on(2, n), |item| out.push(item));
            assert_eq!(out, [n]);
        }
        // The last second's questions are known, and aren't asked again.
        let recent = (100_000 - SLOTS as u32 + 200..100_000).filter(|n| w.find(on(1, *n)).is_none()).count();
        assert_eq!(recent, 0);
    }

    #[test]
    fn a_place_is_void_once_its_slot_is_given_up() {
        let mut w = Items::default();
        let at = slot(&mut w, on(1, 0));
        let place = w.take_place(at, true, |_| {}).expect("a place");
        for n in 1..=SLOTS as u32 {
            slot(&mut w, on(1, n));
        }
        assert_eq!(w.find(on(1, 0)), Some(at), "others that nothing waits for go first");
        for n in 1..=CELLS as u32 {
            let at = slot(&mut w, on(1, n));
            w.take_place(at, true, |_| {}).expect("a place");
        }
        assert_eq!(w.put(place, 7), Err(7), "another neighbour may have the slot");
        assert_eq!(w.taken(), CELLS);
    }

    #[test]
    fn nobody_outside_knows_who_shares_a_bucket() {
        let (a, b) = (Items::default(), Items::default());
        let places = |w: &Items| (0..64).map(|n| w.seed.place(on(1, n), SLOTS)).collect::<Vec<_>>();
        assert_ne!(places(&a), places(&b));
        assert_eq!(places(&a), places(&a));
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

        /// Whatever comes in whatever order: each thing is waiting, was displaced, or was turned away; counts and lists hold.
        #[test]
        fn things_are_displaced_once(steps in prop::collection::vec((0u32..3, 0u32..9000, any::<bool>()), 1..20_000)) {
            let (mut w, mut out, mut inside) = (Items::default(), Vec::new(), 0usize);
            for (i, (sw_if, n, asked)) in steps.iter().enumerate() {
                let (before, target) = (out.len(), on(*sw_if, *n));
                let at = w.find(target).unwrap_or_else(|| w.claim(target, |old| out.push(old)));
                prop_assert_eq!(w.find(target), Some(at));
                let place = w.take_place(at, *asked, |old| out.push(old));
                inside -= out.len() - before;
                if let Some(place) = place {
                    prop_assert_eq!(w.put(place, i as u32), Ok(()));
                    inside += 1;
                }
                prop_assert_eq!(w.taken(), inside);
            }
            let cells: usize = w.shares.iter().map(|s| usize::from(s.cells)).sum();
            let slots: usize = w.shares.iter().map(|s| usize::from(s.slots)).sum();
            prop_assert_eq!((cells, slots), (w.taken(), w.len()));
            for at in 0..w.len() {
                w.release_at(at, |old| out.push(old));
            }
            let n = out.len();
            out.sort_unstable();
            out.dedup();
            prop_assert_eq!((out.len(), w.taken()), (n, 0));
        }
    }
}

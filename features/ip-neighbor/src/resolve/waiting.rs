// SPDX-License-Identifier: Apache-2.0
//! Queues of packets that wait for neighbours: bounded, without allocation, in order for each
//! neighbour.
//!
//! Slots and cells are shared by interfaces: when none is free, the interface that has most gives
//! up its oldest one, which no neighbour has answered for. An empty slot is kept as long as there
//! is room: it suppresses further requests.

use super::Target;
use super::target::{SHARES, Seed};
use wire::Address;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Maximum number of items that wait for one neighbour.
pub const PER_NEIGHBOR: u16 = 32;
/// Maximum number of items that wait on one thread.
const CELLS: usize = 1024;
/// Maximum number of neighbours requested on one thread at a time: as many as an interface requests
/// in a second, so that it requests none of them twice in that time.
const SLOTS: usize = super::rate_limit::RATE as usize;
/// Interval between two requests for one neighbour (RFC 1122 2.3.2.1), in nanoseconds.
pub const INTERVAL: u64 = 1_000_000_000;
/// Number of unanswered requests after which the waiting items are given up.
pub const QUESTIONS: u8 = 3;
/// Number of extra requests, for packets that come in between: a first request that was lost, or
/// came before the host was ready, needn't cost a second.
const EXTRA: u8 = 3;
/// Minimum interval between an extra request and the one before, in nanoseconds.
const EXTRA_INTERVAL: u64 = 10_000_000;

const END: u16 = u16::MAX;

#[derive(Clone, Copy)]
struct Slot<A> {
    target: Target<A>,
    /// Source address of the last request, if a route gave one.
    source: Option<A>,
    /// True if the pending request is obsolete: the next packet causes a new one at once.
    renew: bool,
    /// Time of the next regular request.
    next: u64,
    requests: u8,
    /// Number of extra requests since the first.
    extra: u8,
    /// Time of the last request.
    latest: u64,
    /// True if all these requests have been sent.
    sent: bool,
    /// Number of reserved cells, filled or not.
    taken: u16,
    first: u16,
    last: u16,
    /// Number of times that the slot was released: cells reserved before aren't filled any more.
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

/// Slots and cells of an interface's share: busy and resting slots, each listed in the order in
/// which they became so.
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

/// A reservation of one cell for an item, in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
pub struct ItemReservation(u32);

impl buffer::FieldValue for ItemReservation {}

/// The action due for a neighbour with waiting items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due<A> {
    /// Send another request.
    Ask(Target<A>),
    /// It hasn't answered: give up the waiting items.
    GiveUp(Target<A>),
    /// Not all requests could be sent: give up the waiting items.
    Abandon(Target<A>),
}

/// Items that wait for neighbours with addresses `A`.
pub struct Waiting<A, T> {
    seed: Seed,
    slots: Box<[Slot<A>]>,
    /// The first slot of each bucket.
    buckets: Box<[u16]>,
    /// Number of slots ever used.
    used: usize,
    shares: Box<[Share; SHARES]>,
    cells: Box<[Cell<T>]>,
    /// Head of the list of free cells.
    free: u16,
    taken: usize,
}

impl<A: Address, T> Default for Waiting<A, T> {
    fn default() -> Self {
        let slot = Slot {
            target: Target { sw_if: u32::MAX, ip: A::ZERO },
            source: None,
            renew: false,
            next: 0,
            requests: 0,
            extra: 0,
            latest: 0,
            sent: true,
            taken: 0,
            first: END,
            last: END,
            round: 0,
            chain: END,
            older: END,
            younger: END,
        };
        let cell =
            |i: usize| Cell { item: None, next: if i + 1 < CELLS { i as u16 + 1 } else { END } };
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
    /// Returns the neighbour's slot, if it has one.
    #[inline(always)]
    pub fn find(&self, target: Target<A>) -> Option<usize> {
        let mut at = self.buckets[self.seed.bucket(target, SLOTS)];
        while let Some(slot) = self.slots.get(usize::from(at)) {
            if slot.target == target {
                return Some(usize::from(at));
            }
            at = slot.chain;
        }
        None
    }

    /// Allocates a slot for a neighbour that has none. `displaced` takes the items of a slot that
    /// had to go.
    #[inline(always)]
    pub fn claim(&mut self, target: Target<A>, displaced: impl FnMut(T)) -> usize {
        let at = if self.used < SLOTS {
            self.used += 1;
            self.used - 1
        } else {
            self.give_up_oldest(displaced)
        };
        let bucket = self.seed.bucket(target, SLOTS);
        let slot = &mut self.slots[at];
        let round = slot.round;
        *slot = Slot {
            target,
            source: None,
            renew: false,
            next: 0,
            requests: 0,
            extra: 0,
            latest: 0,
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

    /// Returns true if a new packet may cause a request for the slot's neighbour now, with this
    /// source address. False if the neighbour is to be given up: steady packets would prolong
    /// that for ever. The first requests needn't wait a second.
    #[inline(always)]
    pub fn may_request(&self, at: usize, source: Option<A>, now: u64) -> bool {
        let slot = &self.slots[at];
        if slot.next <= now {
            return slot.taken == 0 || slot.requests < QUESTIONS;
        }
        slot.renew
            || slot.extra < EXTRA && (slot.source != source || slot.latest + EXTRA_INTERVAL <= now)
    }

    /// Records a request for the slot's neighbour; `sent` is false if it could not be sent.
    #[inline(always)]
    pub fn note_request(&mut self, at: usize, source: Option<A>, sent: bool, now: u64) {
        let slot = &mut self.slots[at];
        (slot.source, slot.latest) = (source, now);
        let renewed = std::mem::replace(&mut slot.renew, false);
        if slot.next > now {
            // An extra request: the regular ones go on as they would have.
            slot.extra = if renewed { 0 } else { slot.extra.saturating_add(1) };
            return;
        }
        slot.next = now + INTERVAL;
        if slot.taken == 0 {
            // A request while no item waits starts a new series.
            (slot.requests, slot.extra, slot.sent) = (1, 0, sent);
        } else {
            (slot.requests, slot.sent) = (slot.requests.saturating_add(1), slot.sent && sent);
        }
    }

    /// Returns the source address that a route gave for requests for the slot's neighbour.
    pub fn source(&self, at: usize) -> Option<A> {
        self.slots[at].source
    }

    /// Reserves a cell in the slot for an item that [`Self::put`] brings; `None` if there is none.
    /// When all are taken, the oldest slot of the interface that has most gives up its items,
    /// for a neighbour that was `requested` now, or for an interface that has fewer;
    /// `displaced` takes the removed items.
    #[inline(always)]
    pub fn reserve(
        &mut self,
        at: usize,
        requested: bool,
        displaced: impl FnMut(T),
    ) -> Option<ItemReservation> {
        let (share, taken) = (self.slots[at].target.share(), self.slots[at].taken);
        if taken >= PER_NEIGHBOR {
            return None;
        }
        if self.taken >= CELLS {
            let largest = self.largest(|share| share.cells);
            let below = self.shares[largest].cells > self.shares[share].cells + 1;
            let victim = usize::from(self.shares[largest].lists[BUSY].oldest);
            if !(requested || below) || victim == at {
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
        Some(ItemReservation(at as u32 | u32::from(slot.round) << 16))
    }

    /// Removes the items of the oldest slot of the interface that has most; returns false if no
    /// item waits.
    pub fn displace(&mut self, displaced: impl FnMut(T)) -> bool {
        if self.taken == 0 {
            return false;
        }
        let largest = self.largest(|share| share.cells);
        self.release_at(usize::from(self.shares[largest].lists[BUSY].oldest), displaced);
        true
    }

    /// Fills a reserved cell; returns the item if the slot was given up meanwhile.
    pub fn put(&mut self, reservation: ItemReservation, item: T) -> Result<(), T> {
        let (at, round) = (reservation.0 as usize & 0xffff, (reservation.0 >> 16) as u16);
        let slot = self.slots.get_mut(at).filter(|slot| slot.taken > 0 && slot.round == round);
        let Some(slot) = slot else { return Err(item) };
        let cell = self.free;
        let Some(reservation) = self.cells.get_mut(usize::from(cell)) else { return Err(item) };
        self.free = reservation.next;
        *reservation = Cell { item: Some(item), next: END };
        match self.cells.get_mut(usize::from(slot.last)) {
            Some(last) => last.next = cell,
            None => slot.first = cell,
        }
        slot.last = cell;
        Ok(())
    }

    /// Removes the items that wait for a neighbour, in order.
    pub fn release(&mut self, target: Target<A>, f: impl FnMut(T)) {
        if let Some(at) = self.find(target) {
            self.release_at(at, f);
        }
    }

    /// Removes the items that wait in a slot, in order.
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
        // `next` stays: it suppresses further requests, answered or not.
        (slot.first, slot.last, slot.taken, slot.requests) = (END, END, 0, 0);
        slot.round = slot.round.wrapping_add(1);
        self.taken -= usize::from(taken);
        self.shares[share].cells -= taken;
        if taken > 0 {
            self.unlink(at, BUSY);
            self.append(at, RESTING);
        }
    }

    /// Makes all items that wait for neighbours on an interface be given up at the next
    /// [`Self::due`].
    pub fn give_up_on(&mut self, sw_if: u32) {
        for slot in self.slots[..self.used].iter_mut().filter(|s| s.target.sw_if == sw_if) {
            (slot.requests, slot.sent, slot.next) = (QUESTIONS, false, 0);
        }
    }

    /// Lets the next packet for each neighbour on an interface cause a new request: from another IP
    /// or MAC address.
    pub fn renew(&mut self, sw_if: u32) {
        for slot in self.slots[..self.used].iter_mut().filter(|s| s.target.sw_if == sw_if) {
            slot.renew = true;
        }
    }

    /// Number of slots in use, for [`Self::due`].
    pub fn len(&self) -> usize {
        self.used
    }

    /// Returns the action due for the neighbour of a slot.
    pub fn due(&self, at: usize, now: u64) -> Option<Due<A>> {
        let slot = self.slots.get(at).filter(|s| s.taken > 0 && s.next <= now)?;
        Some(match slot {
            Slot { requests: ..QUESTIONS, .. } => Due::Ask(slot.target),
            Slot { sent: true, .. } => Due::GiveUp(slot.target),
            _ => Due::Abandon(slot.target),
        })
    }

    /// Returns the share with the largest `of`.
    #[inline(always)]
    fn largest(&self, of: impl Fn(&Share) -> u16) -> usize {
        let all = self.shares.iter().enumerate();
        all.fold((0, 0), |most, (i, share)| if of(share) > most.1 { (i, of(share)) } else { most })
            .0
    }

    /// Frees the least needed slot: the oldest of the interface that has most, an empty one if it
    /// has any.
    #[inline(always)]
    fn give_up_oldest(&mut self, displaced: impl FnMut(T)) -> usize {
        let largest = self.largest(|share| share.slots);
        let [resting, busy] = self.shares[largest].lists.map(|list| usize::from(list.oldest));
        let at = if resting < SLOTS { resting } else { busy };
        self.release_at(at, displaced);
        self.unlink(at, RESTING);
        self.shares[largest].slots -= 1;
        let bucket = self.seed.bucket(self.slots[at].target, SLOTS);
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

    /// Number of reserved cells.
    #[cfg(feature = "tests")]
    pub fn taken(&self) -> usize {
        self.taken
    }
}

#[cfg(feature = "tests")]
mod tests;

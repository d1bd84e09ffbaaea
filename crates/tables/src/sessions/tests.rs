// SPDX-License-Identifier: Apache-2.0
//! A table against a map and a list with times.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};

/// A key whose hash has only some bits, so that lines overflow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Key {
    number: u32,
    /// Keys with the same remainder have the same hash; 0: all hashes differ.
    alike: u32,
}

impl SessionKey for Key {
    fn mix(&self, mixer: Mixer) -> Mixer {
        mixer.add(self.number.checked_rem(self.alike).unwrap_or(self.number).into())
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert { n: u32, timeout: u32 },
    Touch(u32),
    Timeout { n: u32, timeout: u32 },
    Remove(u32),
    Wait(u32),
    Expire(usize),
    Renew { n: u32, set: usize, list: u32 },
    Withdraw { n: u32, set: usize },
    RemoveOldest { set: usize, list: u32 },
}

const KEYS: u32 = 600;
const LISTS: u32 = 2;

fn timeout() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => 0_u32..100,
        2 => 0_u32..10_000,
        1 => 0_u32..100_000_000,
        1 => Just(u32::MAX),
        1 => Just(u32::MAX - 1),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let (n, set, list) = (0..KEYS, 0..2_usize, 0..LISTS);
    prop_oneof![
        20 => (n.clone(), timeout()).prop_map(|(n, timeout)| Step::Insert { n, timeout }),
        6 => n.clone().prop_map(Step::Touch),
        3 => (n.clone(), timeout()).prop_map(|(n, timeout)| Step::Timeout { n, timeout }),
        5 => n.clone().prop_map(Step::Remove),
        4 => prop_oneof![0_u32..3, 0_u32..70, 0_u32..5000, 0_u32..1_000_000].prop_map(Step::Wait),
        4 => (0_usize..20).prop_map(Step::Expire),
        6 => (n.clone(), set.clone(), list.clone())
            .prop_map(|(n, set, list)| Step::Renew { n, set, list }),
        2 => (n, set.clone()).prop_map(|(n, set)| Step::Withdraw { n, set }),
        1 => (set, list).prop_map(|(set, list)| Step::RemoveOldest { set, list }),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Known {
    at: u32,
    handle: SessionHandle,
    value: u64,
    touched: u32,
    timeout: u32,
}

impl Known {
    fn deadline(&self) -> u64 {
        u64::from(self.touched) + u64::from(self.timeout)
    }

    fn has_ended(&self, now: u32) -> bool {
        self.timeout != u32::MAX && self.deadline() <= u64::from(now)
    }
}

/// The table, and what it should be.
struct Pair {
    table: Sessions<Key, u64, 2>,
    known: HashMap<Key, Known>,
    /// By set and list, from the oldest on.
    lists: BTreeMap<(usize, u32), Vec<Key>>,
    /// Handles of sessions that were removed.
    stale: Vec<SessionHandle>,
    alike: u32,
    now: u32,
    limit: usize,
}

impl Pair {
    fn key(&self, number: u32) -> Key {
        Key { number, alike: self.alike }
    }

    fn known(&self, n: u32) -> Option<Known> {
        self.known.get(&self.key(n)).copied()
    }

    fn delist(&mut self, key: Key, set: usize) {
        for list in 0..LISTS {
            self.lists.entry((set, list)).or_default().retain(|other| *other != key);
        }
    }

    fn forget(&mut self, key: Key) -> Option<u64> {
        (0..2).for_each(|set| self.delist(key, set));
        let known = self.known.remove(&key)?;
        self.stale.push(known.handle);
        Some(known.value)
    }

    fn step(&mut self, step: Step, value: u64) {
        match step {
            Step::Insert { n, timeout } if self.known(n).is_none() => {
                let (key, now) = (self.key(n), self.now);
                let at = self.table.insert(key, value, now, timeout);
                assert_eq!(at.is_some(), self.known.len() < self.limit);
                let Some(at) = at else { return };
                let handle = self.table.handle(at).expect("there");
                self.known.insert(key, Known { at, handle, value, touched: now, timeout });
            }
            Step::Insert { n, .. } | Step::Touch(n) => {
                let (key, now) = (self.key(n), self.now);
                if let Some(known) = self.known.get_mut(&key) {
                    known.touched = now;
                    assert_eq!(self.table.touch(known.at, now), Some(&mut known.value));
                }
            }
            Step::Timeout { n, timeout } => {
                let (key, now) = (self.key(n), self.now);
                if let Some(known) = self.known.get_mut(&key) {
                    (known.touched, known.timeout) = (now, timeout);
                    self.table.set_timeout(known.at, now, timeout);
                }
            }
            Step::Remove(n) => {
                if let Some(known) = self.known(n) {
                    assert_eq!(self.table.remove(known.at), self.forget(self.key(n)));
                    assert_eq!(self.table.remove(known.at), None);
                }
            }
            Step::Wait(ticks) => self.now += ticks,
            Step::Expire(budget) => self.expire(budget),
            Step::Renew { n, set, list } => {
                if let Some(known) = self.known(n) {
                    let key = self.key(n);
                    self.delist(key, set);
                    self.lists.entry((set, list)).or_default().push(key);
                    self.table.renew(known.at, AgeList::new(set, list));
                    assert!(self.table.is_listed(known.at, set));
                }
            }
            Step::Withdraw { n, set } => {
                if let Some(known) = self.known(n) {
                    self.delist(self.key(n), set);
                    self.table.withdraw(known.at, set);
                    assert!(!self.table.is_listed(known.at, set));
                }
            }
            Step::RemoveOldest { set, list } => {
                let oldest = self.table.oldest(AgeList::new(set, list));
                let key = self.lists.get(&(set, list)).and_then(|list| list.first()).copied();
                assert_eq!(oldest, key.map(|key| self.known[&key].at));
                if let (Some(at), Some(key)) = (oldest, key) {
                    assert_eq!(self.table.remove(at), self.forget(key));
                }
            }
        }
    }

    /// Nothing ends early, and with the budget left nothing that has ended stays.
    fn expire(&mut self, budget: usize) {
        let mut left = budget;
        let mut n = 0;
        while let Some((key, value)) = self.table.expire(self.now, &mut left) {
            let known = self.known[&key];
            assert!(known.has_ended(self.now), "early: {known:?} at {}", self.now);
            assert_eq!(self.forget(key), Some(value));
            n += 1;
        }
        assert!(n <= budget - left);
        if left > 0 {
            let late = self.known.values().find(|known| known.has_ended(self.now));
            assert!(late.is_none(), "late: {late:?} at {}", self.now);
        }
    }

    fn check(&self) {
        assert_eq!(
            (self.table.len(), self.table.is_empty()),
            (self.known.len(), self.known.is_empty())
        );
        self.table.index.check();
        let keys: Vec<_> = (0..KEYS + 50).map(|n| self.key(n)).collect();
        let mut found = vec![7; keys.len()];
        self.table.find_many(&keys, &mut found);
        for (key, found) in keys.iter().zip(found) {
            let known = self.known.get(key);
            assert_eq!(self.table.find(key), known.map(|known| known.at));
            assert_eq!(found, known.map_or(u32::MAX, |known| known.at));
            let Some(known) = known else { continue };
            assert_eq!(self.table.key(known.at), Some(key));
            assert_eq!(self.table.get(known.at), Some(&known.value));
            assert_eq!(self.table.resolve(known.handle), Some(known.at));
            let timed = known.timeout != u32::MAX;
            let remaining = known.deadline().saturating_sub(self.now.into());
            assert_eq!(self.table.remaining(known.at, self.now), timed.then_some(remaining));
        }
        for stale in &self.stale {
            assert_eq!(self.table.resolve(*stale), None);
        }
        for ((set, list), keys) in &self.lists {
            let all = self.table.iter(AgeList::new(*set, *list)).map(|(_, key, _)| *key);
            assert!(all.eq(keys.iter().copied()));
        }
    }
}

proptest! {
    #[suite::test]
    fn a_table_is_a_map_with_times(
        steps in prop::collection::vec(step(), 0..1500),
        seed: u64,
        alike in prop_oneof![2 => Just(0_u32), 1 => 1_u32..60],
        limit in prop_oneof![Just(u32::MAX), 0_u32..300],
        start in prop_oneof![Just(0_u32), 0..1_000_000_000_u32],
    ) {
        let table = Sessions::new(seed, limit, LISTS);
        let limit = limit.min(Sessions::<Key, u64>::MAX) as usize;
        let mut pair = Pair {
            table,
            known: HashMap::new(),
            lists: BTreeMap::new(),
            stale: Vec::new(),
            alike,
            now: start,
            limit,
        };
        for (i, step) in steps.into_iter().enumerate() {
            pair.step(step, i as u64);
            if i % 250 == 0 {
                pair.check();
            }
        }
        pair.check();
        // In the end, all that have a timeout end.
        pair.now = u32::MAX;
        pair.expire(usize::MAX);
        pair.check();
    }
}

/// The timers fire in order, tick by tick, each in its tick.
#[suite::test]
fn sessions_end_in_the_tick_of_their_deadline() {
    let mut table = Sessions::<Key, u32>::new(1, u32::MAX, 0);
    let timeouts = (0..20_000).map(|n: u32| n * n % 9001 + 1);
    for (number, timeout) in (0..).zip(timeouts) {
        table.insert(Key { number, alike: 0 }, timeout, 50, timeout).expect("room");
    }
    for now in 50..10_000 {
        let mut budget = usize::MAX;
        while let Some((_, timeout)) = table.expire(now, &mut budget) {
            assert_eq!(50 + timeout, now);
        }
    }
    assert!(table.is_empty());
}

/// A session that is touched all the time costs a timer for each of its timeouts only.
#[suite::test]
fn a_touch_is_noticed_when_the_timer_fires() {
    let mut table = Sessions::<Key, ()>::new(1, u32::MAX, 0);
    let at = table.insert(Key { number: 1, alike: 0 }, (), 0, 3000).expect("room");
    let mut spent = 0;
    for now in 0..100_000 {
        table.touch(at, now);
        let mut budget = 10;
        assert!(table.expire(now, &mut budget).is_none());
        spent += 10 - budget;
    }
    assert!(spent <= 100, "{spent} timers");
}

#[suite::test]
fn hashes_of_neighbours_differ() {
    let mut counts = [0; 64];
    for n in 0..64_000 {
        counts[Mixer::new(5).add(n).hash() as usize % 64] += 1;
    }
    assert!(counts.iter().all(|n| (850..1150).contains(n)), "{counts:?}");
    assert_ne!(Mixer::new(5).add(1).hash(), Mixer::new(6).add(1).hash());
}

proptest! {
    /// Sessions with two keys beside a map from each key.
    #[suite::test]
    fn a_session_is_found_by_each_of_its_keys(
        steps in prop::collection::vec((0_u32..200, 0_u32..200, any::<bool>()), 0..600),
        alike in prop_oneof![2 => Just(0_u32), 1 => 1_u32..20],
    ) {
        let mut table = Sessions::<Key, u32, 0, 2>::new(1, u32::MAX, 0);
        let mut known: HashMap<Key, (u32, usize)> = HashMap::new();
        for (value, (a, b, add)) in (0..).zip(steps) {
            let keys = [a, b].map(|number| Key { number, alike });
            if add && !keys.iter().any(|key| known.contains_key(key)) {
                let at = table.insert_keys(keys, value, 0, 10).expect("room");
                known.insert(keys[1], (at, 1));
                known.insert(keys[0], (at, 0));
            } else if let Some((at, _)) = known.get(&keys[0]).copied() {
                prop_assert!(table.keys(at).expect("there").contains(&keys[0]));
                prop_assert!(table.remove(at).is_some());
                known.retain(|_, (other, _)| *other != at);
            }
            let sessions: std::collections::BTreeSet<_> = known.values().map(|(at, _)| *at).collect();
            prop_assert_eq!(table.len(), sessions.len());
            let (mut walked, mut place, mut budget) = (Vec::new(), 0, 0);
            while budget == 0 {
                budget = 7;
                while let Some(at) = table.walk(&mut place, &mut budget) {
                    walked.push(at);
                }
            }
            prop_assert!(walked.into_iter().eq(sessions));
        }
        let keys: Vec<_> = (0..250).map(|number| Key { number, alike }).collect();
        let mut found = vec![7; keys.len()];
        table.find_many(&keys, &mut found);
        for (key, found) in keys.iter().zip(found) {
            prop_assert_eq!(table.find_key(key), known.get(key).copied());
            prop_assert_eq!(found, known.get(key).map_or(u32::MAX, |(at, _)| *at));
        }
        table.index.check();
    }
}

/// A session whose time has ended stays until it is removed, and may get another time.
#[suite::test]
fn an_expired_session_may_stay() {
    let mut table = Sessions::<Key, ()>::new(1, u32::MAX, 0);
    let at = table.insert(Key { number: 1, alike: 0 }, (), 5, 10).expect("room");
    table.change_timeout(at, 20);
    assert_eq!((table.touched(at), table.remaining(at, 20)), (Some(5), Some(5)));
    assert_eq!(table.expired(24, &mut 9), None);
    assert_eq!(table.expired(25, &mut 9), Some(at));
    assert_eq!((table.expired(90, &mut 9), table.remaining(at, 90)), (None, None));
    table.set_timeout(at, 90, 5);
    assert_eq!(table.expire(95, &mut 9).map(|(key, ())| key.number), Some(1));
    assert!(table.is_empty());
}

/// Lists that are added later begin empty, and leave the sessions of others where they are.
#[suite::test]
fn lists_are_added_beside_full_ones() {
    let mut table = Sessions::<Key, (), 2>::new(1, u32::MAX, 1);
    let mut all = Vec::new();
    for number in 0..100 {
        let at = table.insert_untimed(Key { number, alike: 0 }, ()).expect("room");
        (0..2).for_each(|set| table.renew(at, AgeList::new(set, number)));
        table.add_list();
        all.push(at);
    }
    let of = |table: &Sessions<Key, (), 2>, set, list| -> Vec<u32> {
        table.iter(AgeList::new(set, list)).map(|(at, ..)| at).collect()
    };
    for (list, at) in (0..).zip(&all) {
        assert_eq!([0, 1].map(|set| of(&table, set, list)), [[*at], [*at]], "list {list}");
    }
    assert_eq!((table.lists(), table.oldest(AgeList::new(1, 100))), (101, None));
    all.iter().for_each(|at| table.renew(*at, AgeList::new(0, 100)));
    assert_eq!((of(&table, 0, 100), of(&table, 0, 7)), (all.clone(), vec![]));
    assert_eq!(of(&table, 1, 7), [all[7]], "in the other set it stays");
}

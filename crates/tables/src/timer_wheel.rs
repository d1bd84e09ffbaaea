// SPDX-License-Identifier: Apache-2.0
//! Timers started and stopped in constant time: a hierarchical timing wheel (Varghese and Lauck 1987, scheme 7).
//!
//! A tick number is read as digits of six bits. A timer lies at the level of the highest digit in which its expiry
//! differs from the present, in the slot that this digit names. So within a level all slots in use are ahead of the
//! present, the lowest non-empty level holds what comes first, and nothing is too far away: eleven levels make 64 bits.
//! When the present reaches a slot of a higher level, its timers move to lower ones.

use crate::Pool;
use std::fmt;

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = u64::BITS.div_ceil(BITS) as usize;

/// A timer that was started. It names that timer for good: after expiry or stop it names nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimerId {
    index: u32,
    serial: u32,
}

/// A timer in the doubly linked ring of its slot.
struct Timer<T> {
    tick: u64,
    prev: u32,
    next: u32,
    serial: u32,
    level: u8,
    slot: u8,
    value: T,
}

#[derive(Clone, Copy)]
struct Level {
    /// Bit `s`: slot `s` isn't empty.
    occupied: u64,
    /// The first timer of each slot that isn't empty.
    heads: [u32; SLOTS],
}

/// Timers carrying a `T` each. Times are `u64` in a unit of the owner's choice (nanoseconds, clocks), as is the tick:
/// the resolution. A timer never expires early, and at most one tick late.
pub struct TimerWheel<T> {
    tick: u64,
    /// The present in ticks: everything before has expired.
    now: u64,
    serial: u32,
    timers: Pool<Timer<T>>,
    levels: Box<[Level; LEVELS]>,
}

impl<T> TimerWheel<T> {
    /// A wheel with a resolution of `tick`, at time `now`.
    ///
    /// # Panics
    /// If `tick` is 0.
    pub fn new(tick: u64, now: u64) -> Self {
        assert!(tick > 0, "a tick takes time");
        let levels = Box::new([Level { occupied: 0, heads: [0; SLOTS] }; LEVELS]);
        Self { tick, now: now / tick, serial: 0, timers: Pool::new(), levels }
    }

    /// Starts a timer that expires at `deadline`. One in the past expires at the next [`Self::advance`].
    pub fn start(&mut self, deadline: u64, value: T) -> TimerId {
        let tick = deadline.div_ceil(self.tick).max(self.now);
        self.serial = self.serial.wrapping_add(1);
        let serial = self.serial;
        let index = self.timers.insert(Timer { tick, prev: 0, next: 0, serial, level: 0, slot: 0, value });
        self.link(index);
        TimerId { index, serial }
    }

    /// Stops a timer and gives its value back, if it hasn't expired or been stopped.
    pub fn stop(&mut self, id: TimerId) -> Option<T> {
        self.get(id)?;
        self.unlink(id.index);
        self.timers.remove(id.index).map(|timer| timer.value)
    }

    /// The value of a running timer.
    pub fn get(&self, id: TimerId) -> Option<&T> {
        let timer = self.timers.get(id.index)?;
        (timer.serial == id.serial).then_some(&timer.value)
    }

    /// Moves the present to `now` and calls `expired` on what expires, in order of tick. A time before the present is
    /// taken for the present.
    pub fn advance(&mut self, now: u64, mut expired: impl FnMut(T)) {
        let to = (now / self.tick).max(self.now);
        while let Some((level, slot, start)) = self.first().filter(|(.., start)| *start <= to) {
            self.now = start;
            while self.levels[level].occupied & (1 << slot) != 0 {
                let index = self.levels[level].heads[slot];
                self.unlink(index);
                if level > 0 {
                    self.link(index);
                } else if let Some(timer) = self.timers.remove(index) {
                    expired(timer.value);
                }
            }
        }
        self.now = to;
    }

    /// The time at which [`Self::advance`] has something to do next: not after the first expiry, but maybe before it,
    /// if a timer is more than 64 ticks ahead. `None` without timers: sleep as long as you like.
    pub fn next_expiry(&self) -> Option<u64> {
        self.first().map(|(.., start)| start.saturating_mul(self.tick))
    }

    /// Number of running timers.
    pub fn len(&self) -> usize {
        self.timers.len()
    }

    /// Whether no timer runs.
    pub fn is_empty(&self) -> bool {
        self.timers.is_empty()
    }

    /// The first slot in use: level, slot, and the tick at which it begins.
    fn first(&self) -> Option<(usize, usize, u64)> {
        let (level, row) = self.levels.iter().enumerate().find(|(_, row)| row.occupied != 0)?;
        let slot = row.occupied.trailing_zeros();
        let shift = BITS * level as u32;
        // Higher digits as now, this one the slot, lower ones zero.
        let higher = self.now.checked_shr(shift + BITS).map_or(0, |digits| digits << (shift + BITS));
        Some((level, slot as usize, higher | u64::from(slot) << shift))
    }

    /// Puts a timer at the end of its slot's ring.
    fn link(&mut self, index: u32) {
        let tick = self.timers[index].tick;
        let level = ((tick ^ self.now) | 1).ilog2() / BITS;
        let slot = (tick >> (level * BITS)) as usize % SLOTS;
        let row = &mut self.levels[level as usize];
        let (prev, next) = if row.occupied & (1 << slot) == 0 {
            row.occupied |= 1 << slot;
            row.heads[slot] = index;
            (index, index)
        } else {
            let head = row.heads[slot];
            (self.timers[head].prev, head)
        };
        self.timers[prev].next = index;
        self.timers[next].prev = index;
        let timer = &mut self.timers[index];
        (timer.prev, timer.next) = (prev, next);
        (timer.level, timer.slot) = (level as u8, slot as u8);
    }

    /// Takes a timer out of its slot's ring.
    fn unlink(&mut self, index: u32) {
        let Timer { prev, next, level, slot, .. } = self.timers[index];
        self.timers[prev].next = next;
        self.timers[next].prev = prev;
        let row = &mut self.levels[usize::from(level)];
        if next == index {
            row.occupied &= !(1 << slot);
        } else if row.heads[usize::from(slot)] == index {
            row.heads[usize::from(slot)] = next;
        }
    }
}

impl<T> fmt::Debug for TimerWheel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let next = self.next_expiry();
        f.debug_struct("TimerWheel")
            .field("len", &self.len())
            .field("next_expiry", &next)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn expired<T>(wheel: &mut TimerWheel<T>, now: u64) -> Vec<T> {
        let mut values = Vec::new();
        wheel.advance(now, |value| values.push(value));
        values
    }

    #[test]
    fn a_timer_expires_at_the_tick_after_its_deadline() {
        let mut wheel = TimerWheel::new(10, 1_000);
        wheel.start(1_015, 'a');
        assert_eq!(expired(&mut wheel, 1_019), []);
        assert_eq!(wheel.next_expiry(), Some(1_020));
        assert_eq!(expired(&mut wheel, 1_020), ['a']);
        assert_eq!(wheel.next_expiry(), None);
    }

    #[test]
    fn a_deadline_in_the_past_expires_at_once() {
        let mut wheel = TimerWheel::new(10, 1_000);
        wheel.start(3, 'a');
        wheel.start(1_000, 'b');
        assert_eq!(expired(&mut wheel, 1_000), ['a', 'b']);
        wheel.start(1_000, 'c');
        assert_eq!(expired(&mut wheel, 5), ['c'], "time doesn't run back");
    }

    #[test]
    fn a_stopped_timer_is_gone_and_its_id_names_no_other() {
        let mut wheel = TimerWheel::new(1, 0);
        let a = wheel.start(100, 'a');
        assert_eq!(wheel.get(a), Some(&'a'));
        assert_eq!((wheel.stop(a), wheel.stop(a)), (Some('a'), None));
        let b = wheel.start(100, 'b');
        assert_eq!(wheel.get(a), None);
        assert_eq!((wheel.stop(a), wheel.len()), (None, 1));
        assert_eq!(expired(&mut wheel, 100), ['b']);
        assert_eq!(wheel.stop(b), None);
    }

    #[test]
    fn deadlines_may_be_as_far_as_numbers_go() {
        let mut wheel = TimerWheel::new(1, 5);
        wheel.start(u64::MAX, 'z');
        wheel.start(u64::MAX - 1, 'y');
        assert_eq!(expired(&mut wheel, u64::MAX - 2), []);
        assert_eq!(wheel.next_expiry(), Some(u64::MAX - 1));
        assert_eq!(expired(&mut wheel, u64::MAX), ['y', 'z']);
    }

    #[derive(Debug, Clone)]
    enum Op {
        /// Start this far ahead of the present, or behind if negative.
        Start(i64),
        Stop(usize),
        /// Advance by this much.
        Advance(u64),
        /// Advance to `next_expiry`.
        Sleep,
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        // Spans of every magnitude, so that every level is used.
        let span = (0u32..40, any::<u64>()).prop_map(|(bits, n)| n & ((1 << bits) - 1));
        let op = prop_oneof![
            4 => span.clone().prop_map(|n| Op::Start(n as i64)),
            1 => (1i64..100).prop_map(|n| Op::Start(-n)),
            2 => any::<usize>().prop_map(Op::Stop),
            2 => span.prop_map(Op::Advance),
            2 => Just(Op::Sleep),
        ];
        prop::collection::vec(op, 0..200)
    }

    proptest! {
        #[test]
        fn a_wheel_is_a_sorted_list(tick in 1u64..50, start in 0u64..1 << 40, ops in ops()) {
            let mut wheel = TimerWheel::new(tick, start);
            // (tick of expiry, number) -> id; `now` in ticks.
            let mut oracle = BTreeMap::new();
            let mut all = Vec::new();
            let mut now = start;
            for op in ops {
                match op {
                    Op::Start(ahead) => {
                        let deadline = now.saturating_add_signed(ahead);
                        let number = all.len();
                        let id = wheel.start(deadline, number);
                        let due = deadline.div_ceil(tick).max(now / tick);
                        oracle.insert((due, number), id);
                        all.push((id, due));
                    }
                    Op::Stop(i) if !all.is_empty() => {
                        let number = i % all.len();
                        let (id, due) = all[number];
                        let running = oracle.remove(&(due, number)).map(|_| number);
                        prop_assert_eq!(wheel.get(id).copied(), running);
                        prop_assert_eq!(wheel.stop(id), running);
                    }
                    Op::Stop(_) => {}
                    Op::Advance(_) | Op::Sleep => {
                        now = match op {
                            Op::Advance(by) => now + by,
                            _ => wheel.next_expiry().map_or(now, |t| t.max(now)),
                        };
                        let later = oracle.split_off(&(now / tick + 1, 0));
                        let due = std::mem::replace(&mut oracle, later);
                        let fired = expired(&mut wheel, now);
                        let ticks: Vec<_> = fired.iter().map(|n| all[*n].1).collect();
                        prop_assert!(ticks.is_sorted());
                        let mut keys: Vec<_> = ticks.into_iter().zip(fired).collect();
                        keys.sort_unstable();
                        prop_assert_eq!(keys, due.into_keys().collect::<Vec<_>>());
                    }
                }
                prop_assert_eq!(wheel.len(), oracle.len());
                match (wheel.next_expiry(), oracle.first_key_value()) {
                    (None, None) => {}
                    (Some(next), Some(((due, _), _))) => prop_assert!(next <= due * tick && next / tick >= now / tick),
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            // Sleeping as told reaches every expiry in few steps.
            let mut steps = 0;
            while let Some(next) = wheel.next_expiry() {
                wheel.advance(next, drop);
                steps += 1;
            }
            prop_assert!(steps <= oracle.len() * LEVELS);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Several machines on a link that may lose and delay advertisements.

use super::*;
use crate::machine::{Effect, Heard, Machine, Settings};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use testkit::Rng;

struct Router {
    machine: Machine,
    address: IpAddr,
    up: bool,
}

struct Link {
    routers: Vec<Router>,
    /// Advertisements under way: when they arrive, the sender, and what it says.
    flying: VecDeque<(u64, usize, Heard)>,
    now: u64,
    rng: Rng,
    /// One advertisement of so many is lost on the path to a router; 0 for none.
    loss: usize,
    delay: u64,
}

impl Link {
    fn new(seed: u64, preempt: bool) -> Self {
        let mut rng = Rng::new(seed);
        let interval = 1 + rng.below(200) as u16;
        let router = |i: usize, rng: &mut Rng| Router {
            machine: Machine::new(Settings {
                priority: 1 + rng.below(254) as u8,
                interval,
                preempt,
            }),
            address: Ipv4Addr::new(10, 0, 0, 1 + i as u8).into(),
            up: true,
        };
        let n = 2 + rng.below(4);
        let routers = (0..n).map(|i| router(i, &mut rng)).collect();
        Self { routers, flying: VecDeque::new(), now: 0, rng, loss: 0, delay: 0 }
    }

    fn emit(&mut self, from: usize, effects: Vec<Effect>) {
        for effect in effects {
            if let Effect::Advertise(priority) = effect {
                let interval = self.routers[from].machine.settings().interval;
                let heard = Heard { priority, interval, from: self.routers[from].address };
                self.flying.push_back((self.now + self.delay, from, heard));
            }
        }
    }

    fn start(&mut self, i: usize) {
        let router = &mut self.routers[i];
        let effects = router.machine.start(self.now, router.up);
        self.emit(i, effects);
    }

    /// Delivers what has arrived.
    fn deliver(&mut self) {
        let mut rounds = 0;
        while self.flying.front().is_some_and(|(at, ..)| *at <= self.now) {
            let Some((_, from, heard)) = self.flying.pop_front() else { return };
            for to in (0..self.routers.len()).filter(|to| *to != from) {
                let lost = self.loss != 0 && self.rng.one_in(self.loss);
                let router = &mut self.routers[to];
                if !lost && router.up {
                    let own = router.address;
                    let effects = router.machine.receive(self.now, &heard, own).0;
                    self.emit(to, effects);
                }
            }
            rounds += 1;
            assert!(rounds < 1000, "routers answer each other without end");
        }
    }

    fn run(&mut self, until: u64) {
        while self.now < until {
            let timers = self.routers.iter().filter_map(|router| router.machine.due());
            let arrival = self.flying.front().map(|(at, ..)| *at);
            self.now = timers.chain(arrival).min().unwrap_or(until).clamp(self.now, until);
            self.deliver();
            for i in 0..self.routers.len() {
                let effects = self.routers[i].machine.expire(self.now);
                self.emit(i, effects);
                if self.delay == 0 {
                    self.deliver();
                }
            }
            if self.delay == 0 && self.loss == 0 {
                // All have heard all: there aren't two.
                assert!(self.masters().len() <= 1, "{:?}", self.masters());
            }
        }
    }

    fn masters(&self) -> Vec<usize> {
        let is_master = |i: &usize| self.routers[*i].machine.state() == State::Master;
        (0..self.routers.len()).filter(is_master).collect()
    }

    /// The highest priority: its router has to be the master if all preempt; of several, any one,
    /// since they don't preempt each other.
    fn best(&self) -> Option<u8> {
        let up = self.routers.iter().filter(|router| router.up);
        up.map(|router| router.machine.settings().priority).max()
    }

    /// The priorities of all masters.
    fn master_priorities(&self) -> Vec<u8> {
        let priority = |i: usize| self.routers[i].machine.settings().priority;
        self.masters().into_iter().map(priority).collect()
    }

    /// The longest time until a new master is found, in nanoseconds.
    fn settling(&self) -> u64 {
        let interval = u64::from(self.routers[0].machine.settings().interval);
        5 * interval * CS + 2 * self.delay + 1
    }

    fn set_up(&mut self, i: usize, up: bool) {
        self.routers[i].up = up;
        let effects = self.routers[i].machine.set_ready(self.now, up);
        self.emit(i, effects);
    }
}

#[suite::test]
fn there_are_never_two_masters_that_hear_each_other() {
    for seed in 0..300 {
        let mut link = Link::new(seed, true);
        for i in 0..link.routers.len() {
            link.start(i);
            let pause = link.rng.below(4_000) as u64 * MS;
            link.run(link.now + pause);
        }
        for _ in 0..20 {
            link.run(link.now + link.settling());
            assert_eq!(link.master_priorities(), Vec::from_iter(link.best()), "seed {seed}");
            let i = link.rng.below(link.routers.len());
            let was_master = link.masters() == [i];
            let up = !link.routers[i].up;
            link.set_up(i, up);
            if !up && was_master && link.best().is_some() {
                // Silence: taken over no earlier than three intervals after the last
                // advertisement, and no later than the slowest backup's time.
                let due = link.routers.iter().filter_map(|r| r.machine.due()).min().expect("one");
                link.run(due - 1);
                assert!(link.masters().is_empty(), "seed {seed}");
                link.run(due + 1);
                assert_eq!(link.masters().len(), 1, "seed {seed}");
            }
        }
    }
}

#[suite::test]
fn a_master_that_takes_leave_is_replaced_after_the_skew() {
    for seed in 0..100 {
        let mut link = Link::new(seed, true);
        (0..link.routers.len()).for_each(|i| link.start(i));
        link.run(link.settling());
        let [old] = link.masters()[..] else { panic!("{:?}", link.masters()) };
        let effects = link.routers[old].machine.stop();
        link.routers[old].up = false;
        link.emit(old, effects);
        let interval = u64::from(link.routers[0].machine.settings().interval);
        link.run(link.now + interval * CS + 1);
        assert_eq!(link.master_priorities(), Vec::from_iter(link.best()), "seed {seed}");
    }
}

#[suite::test]
fn after_losses_and_delays_one_master_is_left() {
    for seed in 0..200 {
        for preempt in [true, false] {
            let mut link = Link::new(seed, preempt);
            link.loss = 2 + link.rng.below(3);
            link.delay = link.rng.below(50) as u64 * MS;
            (0..link.routers.len()).for_each(|i| link.start(i));
            for _ in 0..20 {
                let i = link.rng.below(link.routers.len());
                let up = link.rng.one_in(2);
                link.set_up(i, up);
                let pause = link.rng.below(3_000) as u64 * MS;
                link.run(link.now + pause);
            }
            link.loss = 0;
            (0..link.routers.len()).for_each(|i| link.set_up(i, true));
            link.run(link.now + 3 * link.settling());
            let masters = link.master_priorities();
            assert_eq!(masters.len(), 1, "seed {seed}");
            assert!(!preempt || link.best() == masters.first().copied(), "seed {seed}");
        }
    }
}

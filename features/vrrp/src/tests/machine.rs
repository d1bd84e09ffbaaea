// SPDX-License-Identifier: Apache-2.0
//! The machine alone: times and rules of RFC 9568 6.4.

use super::*;
use crate::machine::{Effect, Heard, Machine, Outcome, Settings};

const OWN: &str = "10.0.0.5";

fn machine(priority: u8, preempt: bool) -> Machine {
    Machine::new(Settings { priority, interval: 100, preempt })
}

/// A backup, since time 0.
fn backup(priority: u8, preempt: bool) -> Machine {
    let mut machine = machine(priority, preempt);
    let begun = machine.start(0, true);
    assert_eq!(begun, [Effect::Changed { from: State::Init, to: State::Backup }]);
    machine
}

/// A master, since time 0.
fn master(priority: u8) -> Machine {
    let mut machine = backup(priority, true);
    let at = machine.due().expect("a timer");
    machine.expire(at);
    assert_eq!(machine.state(), State::Master);
    machine
}

fn heard(priority: u8, interval: u16, from: &str) -> Heard {
    Heard { priority, interval, from: ip(from) }
}

fn took_over(priority: u8) -> [Effect; 3] {
    let changed = Effect::Changed { from: State::Backup, to: State::Master };
    [changed, Effect::Advertise(priority), Effect::Announce]
}

#[suite::test]
fn a_backup_takes_over_after_three_intervals_and_the_skew() {
    for (priority, skew) in [(1u8, 255u64), (100, 156), (254, 2)] {
        let mut machine = backup(priority, true);
        // 3 × 100 cs + (256 − priority) × 100 cs / 256.
        let at = 300 * CS + skew * 100 * CS / 256;
        assert_eq!(machine.due(), Some(at));
        assert_eq!(machine.expire(at - 1), []);
        assert_eq!(machine.expire(at), took_over(priority));
        assert_eq!(machine.due(), Some(at + 100 * CS), "the next advertisement");
        assert_eq!(machine.expire(at + 100 * CS), [Effect::Advertise(priority)]);
    }
    let machine = backup(100, true);
    assert_eq!((machine.skew_centiseconds(), machine.down_centiseconds()), (60, 360));
}

#[suite::test]
fn each_advertisement_of_the_master_puts_that_off_by_the_masters_interval() {
    let mut machine = backup(100, true);
    let (effects, outcome) = machine.receive(50 * CS, &heard(200, 20, "10.0.0.1"), ip(OWN));
    assert_eq!((effects, outcome), (vec![], Outcome::Accepted));
    let down = 60 * CS + 156 * 20 * CS / 256;
    assert_eq!((machine.due(), machine.master_interval()), (Some(50 * CS + down), 20));
    // An interval of 0 is none.
    machine.receive(60 * CS, &heard(200, 0, "10.0.0.1"), ip(OWN));
    assert_eq!(machine.due(), Some(60 * CS + 3 * CS + 156 * CS / 256));
    // The master takes leave.
    machine.receive(61 * CS, &heard(200, 100, "10.0.0.1"), ip(OWN));
    machine.receive(70 * CS, &heard(0, 100, "10.0.0.1"), ip(OWN));
    assert_eq!(machine.due(), Some(70 * CS + 156 * 100 * CS / 256), "the skew");
}

#[suite::test]
fn only_a_backup_that_preempts_ignores_a_master_of_lower_priority() {
    let lower = heard(99, 100, "10.0.0.9");
    let mut preempts = backup(100, true);
    let due = preempts.due();
    assert_eq!(preempts.receive(CS, &lower, ip(OWN)).1, Outcome::Preempted);
    assert_eq!(preempts.due(), due);
    let mut stays = backup(100, false);
    assert_eq!(stays.receive(CS, &lower, ip(OWN)).1, Outcome::Accepted);
    assert!(stays.due() > due);
    let equal = heard(100, 100, "10.0.0.1");
    assert_eq!(preempts.receive(CS, &equal, ip(OWN)).1, Outcome::Accepted);
}

#[suite::test]
fn a_master_yields_to_higher_priority_and_to_a_higher_address() {
    let yields = [Effect::Changed { from: State::Master, to: State::Backup }];
    for (priority, from, stays) in [
        (101, "10.0.0.1", false),
        (100, "10.0.0.6", false),
        (100, "10.0.0.4", true),
        (99, "10.0.0.9", true),
    ] {
        let mut machine = master(100);
        let now = machine.due().expect("a timer");
        let (effects, outcome) = machine.receive(now, &heard(priority, 100, from), ip(OWN));
        if stays {
            // It asserts itself, but not for each.
            assert_eq!((effects, outcome), (vec![Effect::Advertise(100)], Outcome::Preempted));
            let again = machine.receive(now + 1, &heard(priority, 100, from), ip(OWN));
            assert_eq!(again, (vec![], Outcome::Preempted));
            let later = machine.receive(now + 10 * CS, &heard(priority, 100, from), ip(OWN));
            assert_eq!(later.0, [Effect::Advertise(100)]);
        } else {
            assert_eq!((&effects[..], outcome), (&yields[..], Outcome::Accepted));
            assert_eq!(machine.due(), Some(now + 300 * CS + 156 * 100 * CS / 256));
        }
    }
    let mut machine = master(100);
    let now = machine.due().expect("a timer") - CS;
    assert_eq!(
        machine.receive(now, &heard(0, 100, "10.0.0.9"), ip(OWN)).0,
        [Effect::Advertise(100)],
        "another master took leave"
    );
    assert_eq!(machine.due(), Some(now + 100 * CS));
    assert_eq!(machine.receive(now, &heard(200, 1, OWN), ip(OWN)).1, Outcome::Ignored, "an echo");
}

#[suite::test]
fn a_flood_is_answered_ten_times_a_second() {
    for priority in [0, 50] {
        let mut machine = master(100);
        let start = machine.due().expect("a timer");
        machine.expire(start);
        let mut sent = Vec::new();
        for ms in 0..1000 {
            let now = start + ms * MS;
            let heard = heard(priority, 100, "10.0.0.9");
            let mut effects = machine.receive(now, &heard, ip(OWN)).0;
            effects.extend(machine.expire(now));
            sent.extend(effects.into_iter().map(|effect| (ms, effect)));
        }
        // Each answer, the deferred ones too, is 100 ms behind the one before.
        let expected: Vec<_> = (0..10).map(|n| (100 * n, Effect::Advertise(100))).collect();
        assert_eq!(sent, expected, "priority {priority}");
    }
}

#[suite::test]
fn an_owner_is_master_at_once_and_hears_nobody() {
    let mut machine = machine(255, true);
    assert_eq!(
        machine.start(7, true),
        [
            Effect::Changed { from: State::Init, to: State::Master },
            Effect::Advertise(255),
            Effect::Announce,
        ]
    );
    assert_eq!(machine.receive(8, &heard(255, 100, "10.0.0.9"), ip(OWN)).1, Outcome::Ignored);
    assert_eq!(machine.start(9, true), [], "it runs already");
    assert_eq!(
        machine.stop(),
        [Effect::Advertise(0), Effect::Changed { from: State::Master, to: State::Init },]
    );
    assert_eq!((machine.stop(), machine.due()), (vec![], None));
}

#[suite::test]
fn an_interface_that_is_down_ends_it_for_a_while() {
    let mut machine = machine(100, true);
    let down = Effect::Changed { from: State::Init, to: State::InterfaceDown };
    assert_eq!((machine.start(0, false), machine.due()), (vec![down], None));
    assert_eq!(machine.receive(1, &heard(1, 1, "10.0.0.9"), ip(OWN)).1, Outcome::Ignored);
    assert_eq!(machine.expire(u64::MAX), []);
    let up = machine.set_ready(5, true);
    assert_eq!(up, [Effect::Changed { from: State::InterfaceDown, to: State::Backup }]);
    assert_eq!(machine.set_ready(6, true), []);
    assert_eq!(machine.set_ready(7, false).len(), 1);
    assert_eq!((machine.state(), machine.due()), (State::InterfaceDown, None));
    assert_eq!(machine.stop().len(), 1);
    assert_eq!(machine.set_ready(8, true), [], "it isn't started");
}

#[suite::test]
fn new_settings_shorten_a_timer_that_runs() {
    let mut machine = backup(1, true);
    machine.set_settings(0, Settings { priority: 200, interval: 100, preempt: true });
    assert_eq!(machine.due(), Some(300 * CS + 56 * 100 * CS / 256));
    machine.set_settings(0, Settings { priority: 1, interval: 100, preempt: true });
    assert_eq!(machine.due(), Some(300 * CS + 56 * 100 * CS / 256), "it isn't put off");
    let mut machine = master(100);
    let now = machine.due().expect("a timer") - 50 * CS;
    machine.set_settings(now, Settings { priority: 100, interval: 10, preempt: true });
    assert_eq!(machine.due(), Some(now + 10 * CS));
}

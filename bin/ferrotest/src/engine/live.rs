// SPDX-License-Identifier: Apache-2.0
//! Trials in real time: a thread that sends and a thread that receives for each direction.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use measure::Direction;

use super::checker::Checker;
use super::clock::{Clock, Real};
use super::receiver::Receiver;
use super::schedule::Schedule;
use super::sender::{Sender, Sent, Turn};
use super::steal::Times;
use super::{Plan, Ran, Side};
use crate::port::{Rx, Tx};
use crate::traffic::neighbor::Host;
use crate::traffic::{Flow, Generator};

/// Ports of one direction.
pub struct Wire<'p, T, R> {
    /// Direction.
    pub direction: Direction,
    /// Traffic.
    pub flow: Flow,
    /// Port that sends.
    pub tx: &'p mut T,
    /// Port that receives.
    pub rx: &'p mut R,
    /// Answers for the tester's addresses on the receiving port.
    pub host: Option<Host>,
}

/// Conduct of the threads while nothing is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idle {
    /// They spin: each has a core of its own.
    Spin,
    /// They leave the core to others: there are fewer cores than threads.
    Yield,
}

/// Time before the first packet, in which the threads start.
const LEAD: u64 = 20_000_000;

/// Time after the last expected packet in which duplicates may come.
const GRACE: u64 = 10_000_000;

/// Shorter waits aren't slept through: a thread wakes up later than that.
const SHORT: u64 = 150_000;

/// Not finished.
const NEVER: u64 = u64::MAX;

/// Runs a trial. `during` runs on the calling thread meanwhile, with the clock and the start; it
/// restarts the device if the plan asks for that.
///
/// # Errors
/// The plan or the frames can't be.
pub fn run<T: Tx + Send, R: Rx + Send>(
    clock: Real,
    idle: Idle,
    plan: &Plan,
    wires: Vec<Wire<'_, T, R>>,
    stop: &AtomicBool,
    during: impl FnOnce(&dyn Fn(f64)),
) -> Result<Ran, String> {
    plan.check()?;
    let duration = Schedule::new(&plan.phases).duration();
    let start = clock.now() + LEAD;
    let mut pairs = Vec::new();
    for wire in wires {
        let Wire { direction, flow, tx, rx, host } = wire;
        let stream = plan.stream(direction);
        let generator = Generator::new(&flow, stream)?;
        let checker = plan.checker(direction);
        // Packets that are still under way from earlier are not of this trial.
        while rx.receive(clock.now(), 1024, |_| ()) > 0 {}
        let _ = rx.overruns();
        let schedule = Schedule::new(&plan.phases);
        let sender = Sender::new(tx, generator, schedule, start, start + plan.deadline(duration));
        pairs.push((direction, sender, Receiver::new(rx, checker, host)));
    }
    // Preparing took time of the lead.
    let late = clock.now().saturating_sub(start);
    let before = Times::now();
    let (sides, end) = thread::scope(|scope| {
        let mut running = Vec::new();
        for (direction, mut sender, mut receiver) in pairs {
            let finished = std::sync::Arc::new(AtomicU64::new(NEVER));
            let note = finished.clone();
            sender.delay(late);
            let sending = scope.spawn(move || {
                send(clock, idle, &mut sender, stop);
                note.store(clock.now(), Ordering::Release);
                sender.result()
            });
            let receiving = scope.spawn(move || {
                receive(clock, idle, &mut receiver, &finished, plan.wait, stop);
                receiver.finish()
            });
            running.push((direction, sending, receiving));
        }
        during(&|seconds| {
            let at = start + (seconds * 1e9) as u64;
            thread::sleep(Duration::from_nanos(at.saturating_sub(clock.now())));
        });
        let join = |(direction, sending, receiving): (
            Direction,
            thread::ScopedJoinHandle<'_, Sent>,
            thread::ScopedJoinHandle<'_, (Checker, u64)>,
        )| {
            let failed = |_| "a thread of the tester has panicked".to_string();
            let sent = sending.join().map_err(failed)?;
            let (checker, overruns) = receiving.join().map_err(failed)?;
            Ok::<_, String>(Side::new(direction, plan, sent, &checker, overruns))
        };
        let sides = running.into_iter().map(join).collect::<Result<Vec<_>, String>>();
        (sides, clock.now())
    });
    Ok(Ran {
        sides: sides?,
        seconds: end.saturating_sub(start) as f64 / 1e9,
        event: None,
        steal: Times::now().share_since(before),
        interrupted: stop.load(Ordering::Relaxed),
    })
}

fn send<T: Tx>(clock: Real, idle: Idle, sender: &mut Sender<T>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        match sender.turn(clock.now()) {
            Turn::Done => return,
            Turn::Full(_) if idle == Idle::Yield => thread::yield_now(),
            Turn::Full(_) => std::hint::spin_loop(),
            Turn::Wait(at) => wait_until(clock, idle, at),
        }
    }
}

#[inline(always)]
fn wait_until(clock: Real, idle: Idle, at: u64) {
    loop {
        let left = at.saturating_sub(clock.now());
        if left == 0 {
            return;
        }
        if left > SHORT {
            thread::sleep(Duration::from_nanos((left - SHORT).min(10_000_000)));
            if left > 10_000_000 {
                // Lets the caller see a request to stop.
                return;
            }
        } else if idle == Idle::Yield && left > 5_000 {
            thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

fn receive<R: Rx>(
    clock: Real,
    idle: Idle,
    receiver: &mut Receiver<R>,
    finished: &AtomicU64,
    wait: u64,
    stop: &AtomicBool,
) {
    let mut complete_at = None;
    loop {
        let now = clock.now();
        if receiver.turn(now) > 0 {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            return;
        }
        // Everything has come, and time for duplicates has passed.
        if receiver.is_complete() {
            let since = *complete_at.get_or_insert(now);
            if now.saturating_sub(since) > GRACE {
                return;
            }
        }
        let finished = finished.load(Ordering::Acquire);
        if finished != NEVER && now.saturating_sub(finished) > wait {
            return;
        }
        match idle {
            Idle::Yield => receiver.rest(),
            Idle::Spin => std::hint::spin_loop(),
        }
    }
}

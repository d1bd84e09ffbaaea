// SPDX-License-Identifier: Apache-2.0
//! Process nodes: cooperative tasks of the control thread. They take no time from the threads that carry packets.

use crate::World;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use sync::Waker;

/// Why a process runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// For the first time.
    Start,
    /// Its time has come.
    Timer,
    /// Somebody signalled it.
    Event,
}

/// What a process waits for next; an event always wakes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sleep {
    /// This time of the instance's clock, in nanoseconds.
    Until(u64),
    /// An event only.
    Event,
    /// Nothing: it has ended.
    Done,
}

/// A cooperative task of the control thread.
pub trait Process: Send {
    /// Its name, as a node's.
    fn name(&self) -> &'static str;
    /// Does what is due, without waiting for anything, and says when it has to run again.
    fn run(&mut self, world: &World, wake: Wake) -> Sleep;
}

/// Wakes a process, from any thread.
#[derive(Clone)]
pub struct Signal {
    flag: Arc<AtomicBool>,
    waker: Arc<Waker>,
}

impl Signal {
    /// Wakes it. At most one system call while control sleeps, none while it works.
    #[inline]
    pub fn raise(&self) {
        self.flag.store(true, Ordering::Release);
        self.waker.wake();
    }
}

struct Slot {
    process: Option<Box<dyn Process>>,
    name: &'static str,
    flag: Arc<AtomicBool>,
    due: Option<u64>,
    started: bool,
    runs: Arc<AtomicU64>,
}

/// All processes of an instance.
pub struct Processes {
    slots: Mutex<Vec<Slot>>,
    waker: Arc<Waker>,
}

impl Processes {
    pub(crate) fn new(waker: Arc<Waker>) -> Self {
        Self { slots: Mutex::default(), waker }
    }

    /// What a control loop sleeps on: raised signals wake it.
    pub fn waker(&self) -> &Arc<Waker> {
        &self.waker
    }

    /// A signal for a process that will be spawned with it: nodes may hold it before the process is there.
    pub fn signal(&self) -> Signal {
        Signal { flag: Arc::new(AtomicBool::new(false)), waker: self.waker.clone() }
    }

    /// Adds a process; it runs for the first time at the next turn of the control loop.
    pub fn spawn(&self, process: Box<dyn Process>, signal: &Signal) {
        let slot = Slot {
            name: process.name(),
            process: Some(process),
            flag: signal.flag.clone(),
            due: None,
            started: false,
            runs: Arc::default(),
        };
        self.slots.lock().expect("no panic inside").push(slot);
        self.waker.wake();
    }

    /// Runs every process that is due, once; returns when the next one is, on the instance's clock.
    pub fn run(&self, world: &World) -> Option<u64> {
        let mut i = 0;
        loop {
            let now = world.clock.now();
            let (mut process, wake, flag) = {
                let mut slots = self.slots.lock().expect("no panic inside");
                let Some(slot) = slots.get_mut(i) else { break };
                i += 1;
                let event = slot.flag.swap(false, Ordering::AcqRel);
                let wake = match (slot.started, event, slot.due) {
                    (false, _, _) => Wake::Start,
                    (_, true, _) => Wake::Event,
                    (_, _, Some(due)) if due <= now => Wake::Timer,
                    _ => continue,
                };
                slot.started = true;
                slot.runs.fetch_add(1, Ordering::Relaxed);
                let Some(process) = slot.process.take() else { continue };
                (process, wake, slot.flag.clone())
            };
            let sleep = process.run(world, wake);
            let mut slots = self.slots.lock().expect("no panic inside");
            let Some(slot) = slots.iter_mut().find(|s| Arc::ptr_eq(&s.flag, &flag)) else { continue };
            match sleep {
                Sleep::Until(due) => (slot.due, slot.process) = (Some(due), Some(process)),
                Sleep::Event => (slot.due, slot.process) = (None, Some(process)),
                Sleep::Done => {
                    slots.retain(|s| !Arc::ptr_eq(&s.flag, &flag));
                    i -= 1;
                }
            }
        }
        let slots = self.slots.lock().expect("no panic inside");
        if slots.iter().any(|s| !s.started || s.flag.load(Ordering::Acquire)) {
            return Some(0);
        }
        slots.iter().filter_map(|s| s.due).min()
    }

    /// Name, state and number of runs of each.
    pub fn list(&self) -> Vec<(&'static str, &'static str, u64)> {
        let slots = self.slots.lock().expect("no panic inside");
        slots
            .iter()
            .map(|s| {
                (
                    s.name,
                    if s.due.is_some() { "any wait" } else { "event wait" },
                    s.runs.load(Ordering::Relaxed),
                )
            })
            .collect()
    }
}

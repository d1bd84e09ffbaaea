// SPDX-License-Identifier: Apache-2.0
//! Process nodes: cooperative tasks of the control thread. They take no time from the threads that
//! carry packets.

use crate::World;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use sync::Waker;

/// The reason that a process runs for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// For the first time.
    Start,
    /// Its time has come.
    Timer,
    /// It was signalled.
    Event,
}

/// The condition that a process waits for next; an event always wakes it.
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
    /// Does what is due, without waiting for anything, and returns when it has to run again.
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

/// State and counters of a process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessInfo {
    /// Its name.
    pub name: &'static str,
    /// Its state: `any wait` (for a time or an event), `event wait`, `running`.
    pub state: &'static str,
    /// Number of runs.
    pub runs: u64,
    /// Ticks of the time-stamp counter that it took.
    pub clocks: u64,
}

struct Slot {
    process: Option<Box<dyn Process>>,
    name: &'static str,
    flag: Arc<AtomicBool>,
    due: Option<u64>,
    started: bool,
    runs: u64,
    clocks: u64,
}

/// All processes of an instance.
pub struct Processes {
    slots: Mutex<Vec<Slot>>,
    /// Flags that watched descriptors raise; a descriptor's token is the index here.
    watched: Mutex<Vec<Arc<AtomicBool>>>,
    waker: Arc<Waker>,
}

impl Processes {
    pub(crate) fn new(waker: Arc<Waker>) -> Self {
        Self { slots: Mutex::default(), watched: Mutex::default(), waker }
    }

    /// The waker that a control loop sleeps on: raised signals wake it.
    pub fn waker(&self) -> &Arc<Waker> {
        &self.waker
    }

    /// A signal for a process that will be spawned with it: nodes may hold it before the process is
    /// there.
    pub fn signal(&self) -> Signal {
        Signal { flag: Arc::new(AtomicBool::new(false)), waker: self.waker.clone() }
    }

    /// Raises the signal whenever `fd` is readable, until it is closed.
    ///
    /// # Errors
    /// The system's, such as a descriptor that can't be waited for.
    pub fn watch(&self, fd: impl AsFd, signal: &Signal) -> io::Result<()> {
        let mut watched = self.watched.lock().expect("no panic inside");
        self.waker.watch(fd, watched.len() as u64)?;
        watched.push(signal.flag.clone());
        Ok(())
    }

    /// Signals the processes whose descriptors are readable.
    fn look(&self) {
        let watched = self.watched.lock().expect("no panic inside");
        if watched.is_empty() {
            return;
        }
        self.waker.ready(|token| {
            if let Some(flag) = watched.get(token as usize) {
                flag.store(true, Ordering::Release);
            }
        });
    }

    /// Adds a process; it runs for the first time at the next turn of the control loop.
    pub fn spawn(&self, process: Box<dyn Process>, signal: &Signal) {
        let slot = Slot {
            name: process.name(),
            process: Some(process),
            flag: signal.flag.clone(),
            due: None,
            started: false,
            runs: 0,
            clocks: 0,
        };
        self.slots.lock().expect("no panic inside").push(slot);
        self.waker.wake();
    }

    /// Runs every process that is due, once; returns when the next one is, on the instance's clock.
    pub fn run(&self, world: &World) -> Option<u64> {
        self.look();
        let mut i = 0;
        loop {
            let now = world.clock.now();
            let (mut process, wake, flag) = {
                let mut slots = self.slots.lock().expect("no panic inside");
                let Some(slot) = slots.get_mut(i) else { break };
                i += 1;
                // A signal raised before the first run stays for the second.
                let event = slot.started && slot.flag.swap(false, Ordering::AcqRel);
                let wake = match (slot.started, event, slot.due) {
                    (false, _, _) => Wake::Start,
                    (_, true, _) => Wake::Event,
                    (_, _, Some(due)) if due <= now => Wake::Timer,
                    _ => continue,
                };
                slot.started = true;
                slot.runs += 1;
                let Some(process) = slot.process.take() else { continue };
                (process, wake, slot.flag.clone())
            };
            let start = simd::rdtsc();
            let sleep = process.run(world, wake);
            let clocks = simd::rdtsc().wrapping_sub(start);
            let mut slots = self.slots.lock().expect("no panic inside");
            let Some(slot) = slots.iter_mut().find(|s| Arc::ptr_eq(&s.flag, &flag)) else {
                continue;
            };
            slot.clocks += clocks;
            match sleep {
                Sleep::Until(due) => (slot.due, slot.process) = (Some(due), Some(process)),
                Sleep::Event => (slot.due, slot.process) = (None, Some(process)),
                Sleep::Done => {
                    slots.retain(|s| !Arc::ptr_eq(&s.flag, &flag));
                    i -= 1;
                }
            }
        }
        world.reap();
        let watch = world.watch_threads();
        let slots = self.slots.lock().expect("no panic inside");
        if slots.iter().any(|s| !s.started || s.flag.load(Ordering::Acquire)) {
            return Some(0);
        }
        slots.iter().filter_map(|s| s.due).chain(watch).min()
    }

    /// One line for each.
    pub fn list(&self) -> Vec<ProcessInfo> {
        let slots = self.slots.lock().expect("no panic inside");
        let state = |s: &Slot| match (&s.process, s.due) {
            (None, _) => "running",
            (_, Some(_)) => "any wait",
            (_, None) => "event wait",
        };
        let info = |s: &Slot| ProcessInfo {
            name: s.name,
            state: state(s),
            runs: s.runs,
            clocks: s.clocks,
        };
        slots.iter().map(info).collect()
    }

    /// Forgets how often they ran, and what they took.
    pub fn clear(&self) {
        for slot in self.slots.lock().expect("no panic inside").iter_mut() {
            (slot.runs, slot.clocks) = (0, 0);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The threads that run the graph, and how they sleep.
//!
//! A thread without a polling input spins after the last packet, for twice the cost of a wake-up
//! while packets come closer together than that, else for a quarter of it. Then it sleeps on its
//! descriptors: its queues' and its own waker's. Descriptors are level-triggered, so a packet or
//! message between the last poll and the sleep ends the sleep at once.

use crate::{InputMode, Runtime, ThreadIndex, World};
use rustix::event::{Timespec, epoll};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Waking up costs about this, in nanoseconds.
const WAKE: u64 = 25_000;
/// Nanoseconds between two ticks of a node, and of a sleep at most: a thread looks after its kept
/// packets at least this often.
pub(crate) const SECOND: u64 = 1_000_000_000;

/// A thread that hasn't ended by then is left alone.
const ENDING: Duration = Duration::from_secs(3);

/// The cores that the threads run on.
#[derive(Clone, Debug, Default)]
pub struct ThreadPlan {
    /// The main thread's core, if it is pinned.
    pub main_core: Option<usize>,
    /// The workers' cores; as many entries as workers.
    pub worker_cores: Vec<Option<usize>>,
    /// Microseconds that a polling thread pauses in an empty turn; 0 for none.
    pub poll_sleep_usec: u64,
}

/// A thread, as `show threads` lists it.
#[derive(Debug, Clone)]
pub struct ThreadInfo {
    /// VPP's name for such a thread, which scripts look for: `vpp_main`, `vpp_wk_0` … The kernel
    /// knows it as `ferrovia_main`, `ferrovia_wk_0` …
    pub name: String,
    /// The kernel's thread id; 0 until it runs.
    pub tid: i32,
    /// The core it is pinned to.
    pub core: Option<usize>,
    /// Turns of its loop.
    pub turns: u64,
    /// Times it went to sleep.
    pub sleeps: u64,
    /// It sleeps now.
    pub asleep: bool,
    /// Free buffers that it keeps: as of when it fell asleep, or of the last second.
    pub cached: usize,
    /// Number of messages from control that it hasn't taken.
    pub waiting: usize,
    /// Time for which it has taken no message; `None` for a thread that isn't late.
    pub silent: Option<Duration>,
}

/// Gauges that a thread publishes. Each but `injected` is written by one thread only.
#[repr(align(128))]
pub(crate) struct Gauges {
    tid: AtomicUsize,
    /// Plus one; 0 is "not pinned".
    core: AtomicUsize,
    turns: AtomicU64,
    sleeps: AtomicU64,
    asleep: AtomicBool,
    cached: AtomicUsize,
    /// Messages that it has taken.
    taken: AtomicU64,
    /// Control's packets that wait for the thread; written by control as well.
    pub injected: AtomicUsize,
}

impl Gauges {
    pub fn new() -> Self {
        Self {
            tid: AtomicUsize::new(0),
            core: AtomicUsize::new(0),
            turns: AtomicU64::new(0),
            sleeps: AtomicU64::new(0),
            asleep: AtomicBool::new(false),
            cached: AtomicUsize::new(0),
            taken: AtomicU64::new(0),
            injected: AtomicUsize::new(0),
        }
    }

    /// A message was taken.
    pub fn took(&self) {
        self.taken.store(self.taken() + 1, Ordering::Relaxed);
    }

    /// Messages that were taken.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    pub fn info(&self, thread: usize) -> ThreadInfo {
        ThreadInfo {
            name: name(thread),
            tid: self.tid.load(Ordering::Relaxed) as i32,
            core: self.core.load(Ordering::Relaxed).checked_sub(1),
            turns: self.turns.load(Ordering::Relaxed),
            sleeps: self.sleeps.load(Ordering::Relaxed),
            asleep: self.asleep.load(Ordering::Relaxed),
            cached: self.cached.load(Ordering::Relaxed),
            waiting: 0,
            silent: None,
        }
    }

    pub fn set_cached(&self, buffers: usize) {
        self.cached.store(buffers, Ordering::Relaxed);
    }

    #[inline(always)]
    pub fn turn(&self) {
        self.turns.store(self.turns.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// The name of the thread that runs a graph.
pub fn thread_name(thread: ThreadIndex) -> String {
    name(thread.at())
}

/// A thread's name, as commands and messages give it.
pub(crate) fn name(thread: usize) -> String {
    named("vpp", thread)
}

fn named(program: &str, thread: usize) -> String {
    match thread.checked_sub(1) {
        None => format!("{program}_main"),
        Some(worker) => format!("{program}_wk_{worker}"),
    }
}

struct Thread {
    gauges: Arc<Gauges>,
    handle: Mutex<Option<JoinHandle<Runtime>>>,
}

/// The running threads of an instance.
pub struct Threads {
    threads: Vec<Thread>,
}

impl Threads {
    /// Starts a thread for each graph, pinned as planned.
    ///
    /// # Errors
    /// A core that the machine hasn't got or doesn't let us use, with those it does; the system's
    /// error.
    pub fn start(runtimes: Vec<Runtime>, plan: &ThreadPlan) -> Result<Arc<Self>, String> {
        let mut threads = Vec::new();
        for (i, runtime) in runtimes.into_iter().enumerate() {
            let name = named("ferrovia", i);
            let core = match i.checked_sub(1) {
                None => plan.main_core,
                Some(worker) => plan.worker_cores.get(worker).copied().flatten(),
            };
            let (gauges, pause) = (runtime.gauges.clone(), plan.poll_sleep_usec);
            gauges.core.store(core.map_or(0, |core| core + 1), Ordering::Relaxed);
            let (told, tell) = std::sync::mpsc::channel();
            let handle = std::thread::Builder::new()
                .name(name.clone())
                .spawn(move || {
                    let pinned = core.map_or(Ok(()), pin);
                    let failed = pinned.is_err();
                    // The starter waits for this.
                    let _ = told.send(pinned);
                    if failed { runtime } else { work(runtime, pause) }
                })
                .map_err(|e| format!("thread {name}: {e}"))?;
            tell.recv().map_err(|_| format!("thread {name} ended at once"))??;
            threads.push(Thread { gauges, handle: Mutex::new(Some(handle)) });
        }
        Ok(Arc::new(Self { threads }))
    }

    /// One line for each thread.
    pub fn list(&self) -> Vec<ThreadInfo> {
        self.threads.iter().enumerate().map(|(i, t)| t.gauges.info(i)).collect()
    }

    /// Asks every thread to end, waits for them, and gives their graphs back. A thread that is
    /// stuck keeps its own: it ends with the process.
    pub fn stop(&self, world: &World) -> Vec<Runtime> {
        world.stop();
        let until = Instant::now() + ENDING;
        let join = |(i, t): (usize, &Thread)| {
            let handle = t.handle.lock().expect("no panic inside").take()?;
            while !handle.is_finished() {
                if Instant::now() > until {
                    log::error!(target: "graph", "thread {i} ({}) doesn't end", name(i));
                    return None;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            handle.join().ok()
        };
        self.threads.iter().enumerate().filter_map(join).collect()
    }
}

/// Cores that this process may use.
pub fn usable_cores() -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
}

fn pin(core: usize) -> Result<(), String> {
    let usable = usable_cores();
    if !usable.contains(&core) {
        return Err(format!("core {core} isn't there for this process; it may use {usable:?}"));
    }
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).map_err(|e| format!("pinning to core {core}: {e}"))
}

fn work(mut rt: Runtime, pause: u64) -> Runtime {
    rt.gauges
        .tid
        .store(rustix::thread::gettid().as_raw_nonzero().get() as usize, Ordering::Relaxed);
    let mut idle = Idle::default();
    loop {
        let packets = rt.turn(true);
        // Before it sleeps: nothing would wake it again.
        if rt.is_stopped() {
            return rt;
        }
        if packets > 0 || rt.is_busy() {
            idle.packets(rt.core.now);
            continue;
        }
        let (mut polling, mut adaptive) = (false, false);
        for (_, mode) in rt.input_modes() {
            polling |= mode == InputMode::Polling;
            adaptive |= mode == InputMode::Adaptive;
        }
        if polling {
            if pause > 0 {
                std::thread::sleep(Duration::from_micros(pause));
            }
            continue;
        }
        if adaptive && idle.spin(rt.core.now) {
            std::hint::spin_loop();
            continue;
        }
        rt.sleep();
    }
}

/// Decides how long to spin, by the time between packets.
#[derive(Default)]
struct Idle {
    last: u64,
    /// Smoothed time between turns that brought packets, in nanoseconds.
    gap: u64,
}

impl Idle {
    #[inline(always)]
    fn packets(&mut self, now: u64) {
        let gap = now.saturating_sub(self.last).min(1_000_000);
        self.gap = self.gap - self.gap / 8 + gap / 8;
        self.last = now;
    }

    fn spin(&self, now: u64) -> bool {
        let budget = if self.gap < 2 * WAKE { 2 * WAKE } else { WAKE / 4 };
        now.saturating_sub(self.last) < budget
    }
}

impl Runtime {
    /// Sleeps until a descriptor is readable, control or another thread wakes it, the time of an
    /// alarm of a node has come, or a second has gone.
    pub(crate) fn sleep(&mut self) {
        self.waker.prepare_sleep();
        if !self.has_work() {
            let mut events = [epoll::Event {
                flags: epoll::EventFlags::empty(),
                data: epoll::EventData::new_u64(0),
            }; 16];
            self.gauges
                .sleeps
                .store(self.gauges.sleeps.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            self.gauges.set_cached(self.core.cache.free_count());
            self.gauges.asleep.store(true, Ordering::Relaxed);
            // An interrupted or failed wait is a short one: the next turn polls everything.
            let wait = self.core.alarm.saturating_sub(self.core.clock.now()).min(SECOND);
            let timeout =
                Timespec { tv_sec: (wait / SECOND) as i64, tv_nsec: (wait % SECOND) as i64 };
            let _ = epoll::wait(&self.poller, &mut events[..], Some(&timeout));
            self.gauges.asleep.store(false, Ordering::Relaxed);
        }
        self.waker.awake();
    }

    /// Wakes this thread when `fd` is readable.
    ///
    /// # Errors
    /// The system's, such as a descriptor that can't be waited for.
    pub fn watch(&mut self, fd: impl std::os::fd::AsFd) -> std::io::Result<()> {
        epoll::add(&self.poller, fd, epoll::EventData::new_u64(1), epoll::EventFlags::IN)?;
        Ok(())
    }

    /// Ends [`Self::watch`].
    pub fn unwatch(&mut self, fd: impl std::os::fd::AsFd) {
        // One that isn't watched is as good as one that no longer is.
        let _ = epoll::delete(&self.poller, fd);
    }
}

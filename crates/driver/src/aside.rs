// SPDX-License-Identifier: Apache-2.0
//! Work that the kernel takes milliseconds for, such as opening and closing of sockets and queues.
//! Helper threads do it: neither the packet path nor control waits, and openings don't wait for
//! each other.

use graph::{Shared, Signal, World};
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

type Thing = Box<dyn Any + Send>;
type Job = Box<dyn FnOnce() + Send>;
/// The part of a job that is control's.
type Rest = Box<dyn FnOnce(&World) + Send>;

/// The work, and the objects that threads no longer use.
pub(crate) struct Aside {
    closing: Closing,
    opening: Arc<Helpers>,
    /// Jobs that are done but for control's part.
    done: Arc<Mutex<Vec<Rest>>>,
    pub signal: Signal,
}

impl Shared for Aside {
    fn make(world: &World) -> Self {
        Self {
            closing: Closing { things: Arc::default(), helpers: Helpers::new(4) },
            opening: Helpers::new(8),
            done: Arc::default(),
            signal: world.processes.signal(),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic inside")
}

impl Aside {
    /// Hands over an object to be dropped.
    pub fn put(&self, thing: impl Any + Send) {
        locked(&self.closing.things).push(Box::new(thing));
        self.signal.raise();
    }

    /// Control: passes on the objects handed over so far, and ends the jobs that are done.
    pub fn run(&self, world: &World) {
        self.closing.start();
        let done = std::mem::take(&mut *locked(&self.done));
        done.into_iter().for_each(|rest| rest(world));
    }
}

/// The objects end before the instance does.
impl Drop for Aside {
    fn drop(&mut self) {
        self.opening.wait(Duration::MAX);
        self.closing.start();
        self.closing.helpers.wait(Duration::MAX);
    }
}

/// Limit of a wait for descriptors to be closed: nothing depends on the end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Objects on their way to be closed, for whoever opens their device again.
#[derive(Clone)]
pub struct Closing {
    things: Arc<Mutex<Vec<Thing>>>,
    helpers: Arc<Helpers>,
}

impl Closing {
    fn start(&self) {
        for thing in std::mem::take(&mut *locked(&self.things)) {
            self.helpers.start(Box::new(move || drop(thing)));
        }
    }

    /// Waits until what threads have given back until now is closed, at most a second.
    pub fn wait(&self) {
        self.start();
        self.helpers.wait(PATIENCE);
    }
}

/// Threads for jobs, which start in the order in which they came. A thread lasts as long as there
/// are jobs.
struct Helpers {
    jobs: Mutex<Jobs>,
    /// The last thread has ended.
    over: Condvar,
    limit: usize,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    threads: usize,
}

impl Helpers {
    fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { jobs: Mutex::default(), over: Condvar::new(), limit })
    }

    fn start(self: &Arc<Self>, job: Job) {
        {
            let mut jobs = locked(&self.jobs);
            jobs.waiting.push_back(job);
            if jobs.threads == self.limit {
                return;
            }
            jobs.threads += 1;
        }
        let helpers = self.clone();
        let started =
            thread::Builder::new().name("ferrovia_aside".into()).spawn(move || helpers.work());
        if let Err(error) = started {
            log::warn!(target: "driver", "no thread that opens and closes devices: {error}");
            self.work();
        }
    }

    fn work(&self) {
        loop {
            let job = {
                let mut jobs = locked(&self.jobs);
                let Some(job) = jobs.waiting.pop_front() else {
                    jobs.threads -= 1;
                    return self.over.notify_all();
                };
                job
            };
            // A panic has been printed; the other jobs are done all the same.
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    }

    /// Waits until there is nothing to do.
    fn wait(&self, limit: Duration) {
        let jobs = locked(&self.jobs);
        let _ = self.over.wait_timeout_while(jobs, limit, |jobs| jobs.threads > 0);
    }
}

/// Does `work` on a helper thread, beside other openings, and passes its result to `rest` on the
/// control thread.
pub fn aside<T: Send + 'static>(
    world: &World,
    work: impl FnOnce() -> T + Send + 'static,
    rest: impl FnOnce(&World, T) + Send + 'static,
) {
    let aside = world.get::<Aside>();
    // No reference on the instance's state, which waits for the helper threads in the end.
    let (done, signal) = (aside.done.clone(), aside.signal.clone());
    aside.opening.start(Box::new(move || {
        let result = work();
        locked(&done).push(Box::new(move |world: &World| rest(world, result)));
        signal.raise();
    }));
}

/// Objects that threads have given back: a driver that opens a device again waits for them.
pub fn closing(world: &World) -> Closing {
    world.get::<Aside>().closing.clone()
}

/// Closes descriptors of control as those that threads have given back.
pub fn close(world: &World, descriptors: impl Any + Send) {
    world.get::<Aside>().put(descriptors);
}

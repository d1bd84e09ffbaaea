// SPDX-License-Identifier: Apache-2.0
//! Work that the kernel takes milliseconds for, such as opening and closing of sockets and queues.
//! A helper thread does it, one job after the other: neither the packet path nor control waits.

use graph::{Shared, Signal, World};
use std::any::Any;
use std::sync::mpsc::{SendError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

type Thing = Box<dyn Any + Send>;
type Job = Box<dyn FnOnce() + Send>;
/// The part of a job that is control's.
type Rest = Box<dyn FnOnce(&World) + Send>;

/// The work, and the objects that threads no longer use.
pub(crate) struct Aside {
    /// Objects to be dropped.
    things: Mutex<Vec<Thing>>,
    /// Jobs that are done but for control's part.
    done: Arc<Mutex<Vec<Rest>>>,
    /// Once there was something to do.
    helper: Mutex<Option<Helper>>,
    pub signal: Signal,
}

impl Shared for Aside {
    fn make(world: &World) -> Self {
        let signal = world.processes.signal();
        Self { things: Mutex::default(), done: Arc::default(), helper: Mutex::default(), signal }
    }
}

/// Limit of a wait for descriptors to be closed: nothing depends on the end.
const PATIENCE: Duration = Duration::from_secs(1);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic inside")
}

impl Aside {
    /// Hands over an object to be dropped.
    pub fn put(&self, thing: impl Any + Send) {
        locked(&self.things).push(Box::new(thing));
        self.signal.raise();
    }

    fn start(&self, jobs: impl IntoIterator<Item = Job>) {
        let mut helper = locked(&self.helper);
        let helper = helper.get_or_insert_with(Helper::start);
        for job in jobs {
            // Without a thread the job comes back, and is done here.
            if let Err(SendError(job)) = helper.jobs.send(job) {
                job();
            }
        }
    }

    /// Control: passes on the objects handed over so far.
    fn drop_things(&self) {
        let things = std::mem::take(&mut *locked(&self.things));
        if !things.is_empty() {
            self.start(things.into_iter().map(|thing| Box::new(move || drop(thing)) as Job));
        }
    }

    /// Control: passes on the objects handed over so far, and ends the jobs that are done.
    pub fn run(&self, world: &World) {
        self.drop_things();
        let done = std::mem::take(&mut *locked(&self.done));
        done.into_iter().for_each(|rest| rest(world));
    }

    /// Control: waits until the objects handed over so far are dropped.
    fn drain(&self) {
        self.drop_things();
        if locked(&self.helper).is_none() {
            return;
        }
        let (behind, done) = channel::<()>();
        self.start([Box::new(move || drop(behind)) as Job]);
        let _ = done.recv_timeout(PATIENCE);
    }
}

/// The objects end before the instance does.
impl Drop for Aside {
    fn drop(&mut self) {
        self.drop_things();
        let helper = self.helper.get_mut().ok().and_then(Option::take);
        if let Some(Helper { jobs, thread: Some(thread) }) = helper {
            drop(jobs);
            let _ = thread.join();
        }
    }
}

struct Helper {
    jobs: Sender<Job>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    fn start() -> Self {
        let (jobs, all) = channel::<Job>();
        let work = move || all.into_iter().for_each(|job| job());
        let started = thread::Builder::new().name("ferrovia_aside".into()).spawn(work);
        let thread = started
            .inspect_err(
                |error| log::warn!(target: "driver", "no thread that opens and closes devices: {error}"),
            )
            .ok();
        Self { jobs, thread }
    }
}

/// Does `work` on the helper thread, behind what is to be closed, and passes its result to `rest`
/// on the control thread.
pub fn aside<T: Send + 'static>(
    world: &World,
    work: impl FnOnce() -> T + Send + 'static,
    rest: impl FnOnce(&World, T) + Send + 'static,
) {
    let aside = world.get::<Aside>();
    aside.drop_things();
    // No reference on the instance's state, which waits for the helper thread in the end.
    let (done, signal) = (aside.done.clone(), aside.signal.clone());
    aside.start([Box::new(move || {
        let result = work();
        locked(&done).push(Box::new(move |world: &World| rest(world, result)));
        signal.raise();
    }) as Job]);
}

/// Waits until what threads have given back until now is closed, at most a second: a driver that
/// opens a device again calls it while that is busy.
pub fn collect(world: &World) {
    world.get::<Aside>().drain();
}

/// Closes descriptors of control as those that threads have given back.
pub fn close(world: &World, descriptors: impl Any + Send) {
    world.get::<Aside>().put(descriptors);
}

// SPDX-License-Identifier: Apache-2.0
//! The transfer of all sessions to the other router. It ends when each of its batches was
//! acknowledged or missed.

use super::Ha;
use crate::flows::Flows;
use cli::{Result, retval};
use graph::{PerThread, Process, Shared, Signal, Sleep, Wake, World};
use nat::error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Nanoseconds between two looks at a transfer.
const LOOK: u64 = 100_000_000;
/// Sessions that are queued in one turn of a thread.
const PART: usize = 256;
/// Batches that are left for the events of packets meanwhile.
const RESERVE: usize = 32;

/// The call at the end of a transfer, with the number of batches that weren't acknowledged.
pub type Finished = Box<dyn FnOnce(&World, u32) + Send>;

/// The state of transfers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// One is under way.
    Running,
    /// None is; batches of the last one that weren't acknowledged.
    Completed(u32),
}

/// Transfers, one at a time.
pub struct Resync {
    job: Mutex<Option<Finished>>,
    /// Threads that still queue sessions.
    walking: AtomicU32,
    ha: Arc<Ha>,
    signal: Signal,
}

impl Shared for Resync {
    fn make(world: &World) -> Self {
        Self {
            job: Mutex::default(),
            walking: AtomicU32::new(0),
            ha: world.get(),
            signal: world.processes.signal(),
        }
    }
}

impl Resync {
    /// Starts the process that ends transfers.
    pub fn start(world: &World) {
        let this: Arc<Self> = world.get();
        world.processes.spawn(Box::new(Watch(this.clone())), &this.signal);
    }

    /// The state.
    pub fn status(&self) -> Status {
        match self.job.lock().expect("no panic inside").is_some() {
            true => Status::Running,
            false => Status::Completed(self.ha.missed.load(Ordering::Acquire)),
        }
    }

    /// Begins a transfer; `finished` is called at its end.
    ///
    /// # Errors
    /// One is under way (−155).
    pub fn begin(&self, world: &World, finished: Finished) -> Result<()> {
        let mut job = self.job.lock().expect("no panic inside");
        if job.is_some() {
            let why = "the sessions are being transferred already: wait for the end";
            return Err(error(retval::RSRC_IN_USE, why));
        }
        *job = Some(finished);
        self.ha.missed.store(0, Ordering::Release);
        self.walking.store(world.threads() as u32, Ordering::Release);
        let (all, this) = (world.get::<PerThread<Flows>>(), world.get::<Self>());
        let _ = world.query_in_parts(move |rt, place: &mut u32| {
            let (thread, turn) = (rt.thread(), rt.reading());
            let more = all.of(thread, &turn).is_some_and(|mut flows| part(&mut flows, place));
            if !more {
                this.walking.fetch_sub(1, Ordering::AcqRel);
            }
            more
        });
        self.signal.raise();
        Ok(())
    }

    /// Ends the transfer, if all of its batches are done with.
    fn look(&self, world: &World) -> Sleep {
        let mut job = self.job.lock().expect("no panic inside");
        if job.is_none() {
            return Sleep::Event;
        }
        let busy = |of: &AtomicU32| of.load(Ordering::Acquire) != 0;
        if busy(&self.walking) || busy(&self.ha.pending) {
            return Sleep::Until(world.clock.now() + LOOK);
        }
        let finished = job.take();
        drop(job);
        if let Some(finished) = finished {
            finished(world, self.ha.missed.load(Ordering::Acquire));
        }
        Sleep::Event
    }
}

/// Queues some sessions of a thread; returns true if there are more.
fn part(flows: &mut Flows, place: &mut u32) -> bool {
    if !flows.outbox.is_on() {
        return false;
    }
    flows.outbox.resync = true;
    let mut budget = PART;
    while *place != u32::MAX && flows.outbox.room() > RESERVE && budget > 0 {
        if let Some(at) = flows.next(place, &mut budget) {
            flows.publish_again(at);
        }
    }
    flows.outbox.resync = false;
    if *place == u32::MAX {
        flows.outbox.flush();
    }
    *place != u32::MAX
}

struct Watch(Arc<Resync>);

impl Process for Watch {
    fn name(&self) -> &'static str {
        "nat44-ei-ha-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.look(world)
    }
}

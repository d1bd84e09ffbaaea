// SPDX-License-Identifier: Apache-2.0
//! Background pings: no prompt waits for them, a process runs them.

use crate::ping::Ping;
use cli::{Error, Result, Task, TaskState};
use graph::{Process, Shared, Signal, Sleep, Wake, World};
use msg::retval;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Pings at a time.
const MOST: usize = 256;

/// Notes the end of a client's ping.
pub type Finished = fn(&World, u32, &Ping);

struct Job {
    client: u32,
    ping: Ping,
    finished: Finished,
}

/// The pings.
pub struct Background {
    jobs: Mutex<Vec<Job>>,
    signal: Signal,
}

impl Shared for Background {
    fn make(world: &World) -> Self {
        Self { jobs: Mutex::default(), signal: world.processes.signal() }
    }
}

impl Background {
    /// Starts the process.
    pub fn start(world: &World) {
        let background: Arc<Self> = world.get();
        world.processes.spawn(Box::new(Carrier(background.clone())), &background.signal);
    }

    /// Carries a client's ping on, and calls `finished` at its end.
    ///
    /// # Errors
    /// There are as many as may be (−162).
    pub fn add(&self, client: u32, ping: Ping, finished: Finished) -> Result<()> {
        let mut jobs = self.jobs.lock().expect("no panic inside");
        if jobs.len() >= MOST {
            let why = format!("{MOST} pings are under way");
            return Err(Error::limit(why).retval(retval::LIMIT_EXCEEDED));
        }
        jobs.push(Job { client, ping, finished });
        self.signal.raise();
        Ok(())
    }
}

struct Carrier(Arc<Background>);

impl Process for Carrier {
    fn name(&self) -> &'static str {
        "ping-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let now = Duration::from_nanos(world.clock.now());
        let mut jobs = self.0.jobs.lock().expect("no panic inside");
        jobs.retain_mut(|job| {
            let goes_on = world.api.is_connected(job.client) && goes_on(&mut job.ping, now);
            if !goes_on {
                (job.finished)(world, job.client, &job.ping);
            }
            goes_on
        });
        let due = jobs.iter().filter_map(|job| job.ping.wake_at()).min();
        due.map_or(Sleep::Event, |due| Sleep::Until(due.as_nanos() as u64))
    }
}

/// Polls a ping and discards its text. Returns true until it is done.
fn goes_on(ping: &mut Ping, now: Duration) -> bool {
    loop {
        match ping.poll(now) {
            TaskState::Chunk(_) => {}
            TaskState::Pending => return true,
            TaskState::Done(_) | TaskState::Failed(_) => return false,
        }
    }
}

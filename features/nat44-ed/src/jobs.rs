// SPDX-License-Identifier: Apache-2.0
//! Walks over the sessions of all threads, for control: in slices, between the packets.

use crate::flows::{AllFlows, Flows, Job};
use cli::{Error, Output, Task, TaskState};
use graph::{ThreadIndex, World};
use msg::Pending;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A thread that has not answered by then is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval between two looks for the answers.
const SOON: Duration = Duration::from_millis(1);
/// The node on whose ticks the slices run.
pub const NODE: &str = "nat44-ed-in2out";

/// The results of a walk, by thread: the walk is over when it holds them no longer.
pub struct Walk<T> {
    results: Vec<Arc<Mutex<T>>>,
    since: Instant,
}

/// Walks over all sessions: `each` is called for each of them, on its thread, with the thread's
/// result.
pub fn walk<T: Default + Send + 'static>(
    world: &World,
    each: impl Fn(&mut Flows, u32, &mut T) + Send + Sync + 'static,
) -> Walk<T> {
    let (all, node) = (world.get::<AllFlows>(), world.node(NODE));
    let each = Arc::new(each);
    let start = |thread: usize| {
        let result = Arc::new(Mutex::new(T::default()));
        let (mine, all, each) = (result.clone(), all.clone(), each.clone());
        let thread = ThreadIndex(thread as u16);
        world.on_thread(thread, move |rt| {
            let job = Job::new(move |flows, at| {
                each(flows, at, &mut mine.lock().expect("no panic inside"));
            });
            match all.of(thread, &rt.reading()) {
                Some(mut flows) => flows.push_job(job),
                None => return,
            }
            if let Some(node) = node {
                rt.tick_soon(node);
            }
        });
        result
    };
    Walk { results: (0..world.threads()).map(start).collect(), since: Instant::now() }
}

impl<T: Default + Send + 'static> Walk<T> {
    fn poll(&mut self) -> Option<Vec<T>> {
        let is_over = self.results.iter().all(|result| Arc::strong_count(result) == 1);
        if !is_over && self.since.elapsed() < PATIENCE {
            return None;
        }
        let results = std::mem::take(&mut self.results);
        let take = |result: Arc<Mutex<T>>| std::mem::take(&mut *result.lock().expect("no panic"));
        Some(results.into_iter().map(take).collect())
    }

    /// The output of a command that needs the results.
    pub fn then(self, f: impl FnOnce(Vec<T>) -> Result<Output, Error> + 'static) -> Output {
        Output::task(Await { walk: self, f: Some(f) })
    }

    /// The answer to a message that needs the results.
    pub fn reply<R: 'static>(
        self,
        f: impl FnOnce(Vec<T>) -> Result<R, Error> + 'static,
    ) -> Box<dyn Pending<World, R>> {
        Box::new(Await { walk: self, f: Some(f) })
    }
}

struct Await<T, F> {
    walk: Walk<T>,
    f: Option<F>,
}

impl<T: Default + Send + 'static, F> Await<T, F> {
    fn look<R>(&mut self) -> Option<Result<R, Error>>
    where
        F: FnOnce(Vec<T>) -> Result<R, Error>,
    {
        let results = self.walk.poll()?;
        self.f.take().map(|f| f(results))
    }

    fn next(&self, now: Option<Duration>) -> Option<Duration> {
        now.map(|now| now + SOON)
    }
}

impl<T, F> Task for Await<T, F>
where
    T: Default + Send + 'static,
    F: FnOnce(Vec<T>) -> Result<Output, Error>,
{
    fn poll(&mut self, _: Duration) -> TaskState {
        match self.look() {
            None => TaskState::Pending,
            Some(output) => output.map_or_else(TaskState::Failed, TaskState::Done),
        }
    }

    fn wake_at(&self) -> Option<Duration> {
        self.next(Some(Duration::ZERO))
    }
}

impl<T, R, F> Pending<World, R> for Await<T, F>
where
    T: Default + Send + 'static,
    F: FnOnce(Vec<T>) -> Result<R, Error>,
{
    fn poll(&mut self, _: &World, _: Duration) -> Option<Result<R, Error>> {
        self.look()
    }

    fn wake_at(&self) -> Option<Duration> {
        self.next(Some(Duration::ZERO))
    }
}

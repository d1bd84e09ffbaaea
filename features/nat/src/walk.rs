// SPDX-License-Identifier: Apache-2.0
//! Walks of control over the sessions of all threads: in slices, between the packets.

use cli::{Error, Output, Task, TaskState};
use graph::{PerThread, Runtime, ThreadIndex, ThreadState, World};
use msg::Pending;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A thread that has not answered by then is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval between two looks for the answers.
const SOON: Duration = Duration::from_millis(1);
/// Entries of the table that are looked at in one slice of a walk.
const SLICE: usize = 2048;

/// Sessions of one thread that control may walk over.
pub trait Walked: ThreadState + Sized {
    /// The node that runs the slices in its ticks ([`run`]).
    const NODE: &'static str;

    /// As [`tables::Sessions::next_at`].
    ///
    /// # Errors
    /// The budget is spent: the index from which on to go on.
    fn next_at(&self, from: u32, budget: &mut usize) -> Result<Option<u32>, u32>;

    /// The walks that wait.
    fn jobs(&mut self) -> &mut Jobs<Self>;
}

type Each<T> = Box<dyn FnMut(&mut T, u32) + Send>;

/// A walk over the sessions of a thread.
struct Job<T> {
    from: u32,
    each: Each<T>,
}

/// Walks that control wants, in order.
pub struct Jobs<T>(VecDeque<Job<T>>);

impl<T> Default for Jobs<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

/// Does a slice of the first walks. Returns true if there is more to do.
pub fn run<T: Walked>(sessions: &mut T) -> bool {
    let mut budget = SLICE;
    while let Some(mut job) = sessions.jobs().0.pop_front() {
        loop {
            match sessions.next_at(job.from, &mut budget) {
                Ok(Some(at)) => {
                    job.from = at + 1;
                    (job.each)(sessions, at);
                }
                Ok(None) => break,
                Err(from) => {
                    job.from = from;
                    sessions.jobs().0.push_front(job);
                    return true;
                }
            }
        }
    }
    false
}

/// The results of a walk, by thread: the walk is over when it holds them no longer.
pub struct Walk<R> {
    results: Vec<Arc<Mutex<R>>>,
    since: Instant,
}

/// Walks over all sessions: `each` is called for each of them, on its thread, with the thread's
/// result.
pub fn walk<T: Walked, R: Default + Send + 'static>(
    world: &World,
    each: impl Fn(&mut T, u32, &mut R) + Send + Sync + 'static,
) -> Walk<R> {
    let (all, node) = (world.get::<PerThread<T>>(), world.node(T::NODE));
    let each = Arc::new(each);
    Walk::start(world, move |rt, thread, mine| {
        let each = each.clone();
        let each = Box::new(move |sessions: &mut T, at: u32| {
            each(sessions, at, &mut mine.lock().expect("no panic inside"));
        });
        match all.of(thread, &rt.reading()) {
            Some(mut sessions) => sessions.jobs().0.push_back(Job { from: 0, each }),
            None => return,
        }
        if let Some(node) = node {
            rt.tick_soon(node);
        }
    })
}

impl<R: Default + Send + 'static> Walk<R> {
    /// Starts a walk: `start` is called on each thread with that thread's result, and keeps it as
    /// long as the thread has something to do.
    pub fn start(
        world: &World,
        start: impl Fn(&mut Runtime, ThreadIndex, Arc<Mutex<R>>) + Clone + Send + Sync + 'static,
    ) -> Self {
        let of = |thread: usize| {
            let result = Arc::new(Mutex::new(R::default()));
            let (mine, start, thread) = (result.clone(), start.clone(), ThreadIndex(thread as u16));
            world.on_thread(thread, move |rt| start(rt, thread, mine));
            result
        };
        Self { results: (0..world.threads()).map(of).collect(), since: Instant::now() }
    }

    fn poll(&mut self) -> Option<Vec<R>> {
        let is_over = self.results.iter().all(|result| Arc::strong_count(result) == 1);
        if !is_over && self.since.elapsed() < PATIENCE {
            return None;
        }
        let results = std::mem::take(&mut self.results);
        let take = |result: Arc<Mutex<R>>| std::mem::take(&mut *result.lock().expect("no panic"));
        Some(results.into_iter().map(take).collect())
    }

    /// The output of a command that needs the results.
    pub fn then(self, f: impl FnOnce(Vec<R>) -> Result<Output, Error> + 'static) -> Output {
        Output::task(Await { walk: self, f: Some(f) })
    }

    /// The answer to a message that needs the results.
    pub fn reply<A: 'static>(
        self,
        f: impl FnOnce(Vec<R>) -> Result<A, Error> + 'static,
    ) -> Box<dyn Pending<World, A>> {
        Box::new(Await { walk: self, f: Some(f) })
    }
}

struct Await<R, F> {
    walk: Walk<R>,
    f: Option<F>,
}

impl<R: Default + Send + 'static, F> Await<R, F> {
    fn look<A>(&mut self) -> Option<Result<A, Error>>
    where
        F: FnOnce(Vec<R>) -> Result<A, Error>,
    {
        let results = self.walk.poll()?;
        self.f.take().map(|f| f(results))
    }
}

impl<R, F> Task for Await<R, F>
where
    R: Default + Send + 'static,
    F: FnOnce(Vec<R>) -> Result<Output, Error>,
{
    fn poll(&mut self, _: Duration) -> TaskState {
        match self.look() {
            None => TaskState::Pending,
            Some(output) => output.map_or_else(TaskState::Failed, TaskState::Done),
        }
    }

    fn wake_at(&self) -> Option<Duration> {
        Some(SOON)
    }
}

impl<R, A, F> Pending<World, A> for Await<R, F>
where
    R: Default + Send + 'static,
    F: FnOnce(Vec<R>) -> Result<A, Error>,
{
    fn poll(&mut self, _: &World, _: Duration) -> Option<Result<A, Error>> {
        self.look()
    }

    fn wake_at(&self) -> Option<Duration> {
        Some(SOON)
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Queries of the threads: control sends each a query, and goes on until the replies are there.

use crate::slot::Message;
use crate::{Runtime, ThreadIndex, World};
use cli::{Error, Output, Task, TaskState};
use msg::Pending;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A thread that has not answered by then is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// The same for an answer that takes a thread many turns.
const PATIENCE_FOR_PARTS: Duration = Duration::from_secs(10);
/// Threads answer within a turn. A command looks for the answers again and again that long, and
/// then as often.
const SOON: Duration = Duration::from_millis(1);

/// Pending replies: one for each thread.
pub struct Replies<T> {
    slots: Vec<Slot<T>>,
    since: Instant,
    patience: Duration,
}

/// The thread's until it has answered, then control's: no thread ever waits for the lock.
type Slot<T> = Arc<Mutex<Option<T>>>;

impl World {
    /// Runs a query on every thread, at its next turn; a thread that sleeps is woken. Control
    /// doesn't wait: a command goes on with [`Replies::then`].
    pub fn query<T: Send + 'static>(
        &self,
        query: impl Fn(&mut Runtime) -> T + Send + Sync + 'static,
    ) -> Replies<T> {
        let query = Arc::new(query);
        let query = |thread| {
            let slot: Slot<T> = Arc::new(Mutex::new(None));
            let (answer, query) = (slot.clone(), query.clone());
            self.on_thread(ThreadIndex(thread as u16), move |rt| {
                *answer.lock().expect("no panic inside") = Some(query(rt));
            });
            slot
        };
        Replies {
            slots: (0..self.threads()).map(query).collect(),
            since: Instant::now(),
            patience: PATIENCE,
        }
    }

    /// As [`Self::query`], for work that would keep packets waiting: `part` does some of it, and is
    /// called again at the thread's next turn as long as it returns true. The answer has also what
    /// it needs to know about the parts before. The work is done to the end, whether or not
    /// anybody waits for the answers.
    pub fn query_in_parts<T: Default + Send + 'static>(
        &self,
        part: impl Fn(&mut Runtime, &mut T) -> bool + Send + Sync + 'static,
    ) -> Replies<T> {
        let part = Arc::new(part);
        let query = |thread| {
            let slot: Slot<T> = Arc::new(Mutex::new(None));
            let (answer, part) = (slot.clone(), part.clone());
            let mut so_far = T::default();
            let call = move |rt: &mut Runtime| {
                let more = part(rt, &mut so_far);
                if !more {
                    *answer.lock().expect("no panic inside") = Some(std::mem::take(&mut so_far));
                }
                more
            };
            self.post(ThreadIndex(thread as u16), Message::CallAgain(Box::new(call)));
            slot
        };
        Replies {
            slots: (0..self.threads()).map(query).collect(),
            since: Instant::now(),
            patience: PATIENCE_FOR_PARTS,
        }
    }
}

impl<T: Send + 'static> Replies<T> {
    /// The answers, by thread, once all are there or it has taken too long: `None` for a thread
    /// that hasn't answered.
    pub fn poll(&mut self) -> Option<Vec<Option<T>>> {
        // A thread that has answered has dropped its reference to the slot.
        let there = self.slots.iter().all(|slot| Arc::strong_count(slot) == 1);
        if !there && self.since.elapsed() < self.patience {
            return None;
        }
        let slots = std::mem::take(&mut self.slots);
        let answer = |slot: Slot<T>| Arc::into_inner(slot)?.into_inner().ok()?;
        Some(slots.into_iter().map(answer).collect())
    }

    /// Waits for the answers: for callers that are no commands.
    pub fn wait(mut self) -> Vec<Option<T>> {
        loop {
            match self.poll() {
                Some(answers) => return answers,
                None => std::thread::sleep(Duration::from_micros(100)),
            }
        }
    }

    /// The output of a command that needs the answers: `f` is called on the control thread when
    /// they are there.
    pub fn then(self, f: impl FnOnce(Vec<Option<T>>) -> Result<Output, Error> + 'static) -> Output {
        Output::task(AwaitReplies { replies: self, f: Some(f), wake: None })
    }

    /// The answer to a message that needs the answers, in the same way.
    pub fn reply<R: 'static>(
        self,
        f: impl FnOnce(Vec<Option<T>>) -> Result<R, Error> + 'static,
    ) -> Box<dyn Pending<World, R>> {
        Box::new(AwaitReplies { replies: self, f: Some(f), wake: None })
    }
}

struct AwaitReplies<T, F> {
    replies: Replies<T>,
    f: Option<F>,
    wake: Option<Duration>,
}

impl<T: Send + 'static, F> AwaitReplies<T, F> {
    fn look<R>(&mut self, now: Duration) -> Option<Result<R, Error>>
    where
        F: FnOnce(Vec<Option<T>>) -> Result<R, Error>,
    {
        self.wake = Some(if self.replies.since.elapsed() < SOON { now } else { now + SOON });
        let answers = self.replies.poll()?;
        self.f.take().map(|f| f(answers))
    }
}

impl<T, F> Task for AwaitReplies<T, F>
where
    T: Send + 'static,
    F: FnOnce(Vec<Option<T>>) -> Result<Output, Error>,
{
    fn poll(&mut self, now: Duration) -> TaskState {
        match self.look(now) {
            None => TaskState::Pending,
            Some(output) => output.map_or_else(TaskState::Failed, TaskState::Done),
        }
    }

    fn cancel(&mut self) {
        self.replies.patience = Duration::ZERO;
    }

    fn wake_at(&self) -> Option<Duration> {
        self.wake
    }
}

impl<T, R, F> Pending<World, R> for AwaitReplies<T, F>
where
    T: Send + 'static,
    F: FnOnce(Vec<Option<T>>) -> Result<R, Error>,
{
    fn poll(&mut self, _: &World, now: Duration) -> Option<Result<R, Error>> {
        self.look(now)
    }

    fn wake_at(&self) -> Option<Duration> {
        self.wake
    }
}

#[cfg(feature = "tests")]
mod tests {
    use crate::drive::Bench;
    use crate::{InputMode, Plugin, ThreadPlan, Threads, World, WorldConfig};
    use cli::{Command, Output};

    static CLI: &[Command<World>] = &[Command {
        path: "show buffers cached",
        usage: "",
        help: "Free buffers of each thread",
        run: |world, _| {
            Ok(world
                .query(|rt| rt.cache().free_count())
                .then(|counts| Ok(Output::text(format!("{counts:?}")))))
        },
    }];
    static PLUGINS: &[&Plugin] = &[&Plugin { name: "test", cli: CLI, ..Plugin::EMPTY }];

    #[suite::test]
    fn a_command_waits_for_the_threads_of_a_bench() {
        let mut bench = Bench::new(PLUGINS);
        assert_eq!(bench.cli("show buffers cached").expect("an answer"), "[Some(0)]\n");
        assert!(
            bench.cli("show buffers").expect_err("no such command").to_string().contains("cached")
        );
    }

    /// A part is done in each turn, and other messages come in between.
    #[suite::test]
    fn an_answer_in_parts_takes_a_turn_for_each() {
        let config = WorldConfig { threads: 2, buffers: 63, ..WorldConfig::default() };
        let (world, mut runtimes) = World::new(&config, PLUGINS).expect("an instance");
        let mut replies = world.query_in_parts(|rt, parts: &mut Vec<u16>| {
            parts.push(rt.thread().0);
            parts.len() < 3
        });
        for _ in 0..3 {
            assert_eq!(replies.poll(), None);
            let mut between = world.query(|_| ());
            runtimes.iter_mut().for_each(|rt| _ = rt.turn(false));
            assert_eq!(between.poll(), Some(vec![Some(()); 2]));
        }
        assert_eq!(replies.poll(), Some(vec![Some(vec![0; 3]), Some(vec![1; 3])]));
    }

    #[suite::test]
    fn threads_that_sleep_answer_and_threads_that_are_gone_are_not_waited_for() {
        let config = WorldConfig { threads: 3, buffers: 63, ..WorldConfig::default() };
        let (world, runtimes) = World::new(&config, PLUGINS).expect("an instance");
        let threads = Threads::start(runtimes, &ThreadPlan::default()).expect("threads");
        let answers = world.query(|rt| rt.thread().0).wait();
        assert_eq!(answers, [Some(0), Some(1), Some(2)]);
        let list = world.thread_list();
        assert_eq!(
            list.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(),
            ["vpp_main", "vpp_wk_0", "vpp_wk_1"]
        );
        assert!(list.iter().all(|t| t.tid != 0 && t.core.is_none() && t.turns > 0), "{list:?}");
        drop(threads.stop(&world));
        let mut replies =
            world.query(|rt| rt.input_modes().any(|(_, mode)| mode == InputMode::Polling));
        assert_eq!(replies.poll(), None);
        replies.patience = std::time::Duration::ZERO;
        assert_eq!(replies.poll(), Some(vec![None, None, None]));
    }
}

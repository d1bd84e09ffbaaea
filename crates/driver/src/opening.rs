// SPDX-License-Identifier: Apache-2.0
//! Interfaces of the host that a helper thread opens. One that isn't open yet is as one whose
//! interface in the kernel isn't there.

use crate::aside::{aside, close};
use cli::{Error, Output, Task, TaskState};
use graph::{SwIfIndex, World};
use msg::Pending;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Progress of opening an interface of the host, of which its device and its creator know.
#[derive(Clone)]
pub struct Opening(Arc<Mutex<Progress>>);

struct Progress {
    state: State,
    delete: fn(&World, SwIfIndex),
    /// Number of times that it was opened or released: what is opened for an earlier one is of no
    /// use.
    attempt: u64,
}

enum State {
    /// It was just made.
    New,
    /// It is open, or not there.
    Idle,
    /// It is being opened: for the first time, it is deleted again where that fails.
    Runs { first: bool },
    /// That has failed, and it was deleted.
    Failed(Error),
}

impl Opening {
    /// `is_there` is true if the kernel's interface can be opened at once. `delete` deletes the
    /// interface if that fails, unless others lie on it already: then it stays.
    pub fn new(is_there: bool, delete: fn(&World, SwIfIndex)) -> Self {
        let state = if is_there { State::New } else { State::Idle };
        Self(Arc::new(Mutex::new(Progress { state, delete, attempt: 0 })))
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().expect("no panic inside")
    }

    /// True if it was just made, and nothing opens it yet.
    pub fn is_new(&self) -> bool {
        matches!(self.progress().state, State::New)
    }

    /// True until it is open for the first time, and while it is opened again.
    pub fn is_pending(&self) -> bool {
        matches!(self.progress().state, State::New | State::Runs { .. })
    }

    /// Opens it by `work`, which a helper thread does. Control passes the result to `rest`, with
    /// true at the first time, unless the interface was released meanwhile.
    pub fn start<T: Send + 'static>(
        &self,
        world: &World,
        work: impl FnOnce() -> T + Send + 'static,
        rest: impl FnOnce(&World, bool, T) + Send + 'static,
    ) {
        let number = {
            let mut progress = self.progress();
            let first = matches!(progress.state, State::New);
            progress.state = State::Runs { first };
            progress.attempt += 1;
            progress.attempt
        };
        let this = self.clone();
        aside(world, work, move |world, open| {
            let mut progress = this.progress();
            let State::Runs { first } = progress.state else { return close(world, open) };
            if progress.attempt != number {
                return close(world, open);
            }
            progress.state = State::Idle;
            drop(progress);
            rest(world, first, open);
        });
    }

    /// The kernel's interface is closed, or is gone.
    pub fn release(&self) {
        let mut progress = self.progress();
        (progress.state, progress.attempt) = (State::Idle, progress.attempt + 1);
    }

    /// The interface is deleted.
    pub fn delete(&self) {
        let was_pending = self.is_pending();
        self.release();
        if was_pending {
            let error = Error::failed("it was deleted while it was being opened");
            self.progress().state = State::Failed(error);
        }
    }

    /// A new interface can't be opened: it is deleted again.
    pub fn fail(&self, world: &World, sw_if: SwIfIndex, error: Error) {
        let delete = self.progress().delete;
        delete(world, sw_if);
        self.progress().state = State::Failed(error);
    }
}

/// A new interface that is being opened: a task that ends when it is open, or with the reason why
/// it was deleted again.
pub struct NewPort {
    opening: Opening,
    sw_if: SwIfIndex,
    output: Output,
    at: Option<Range<usize>>,
    wake: Option<Duration>,
}

/// Interval of polls: the helper thread ends without a notification of whoever waits.
const SOON: Duration = Duration::from_millis(1);

impl NewPort {
    /// `output` is the command's.
    pub fn new(opening: Opening, sw_if: SwIfIndex, output: Output) -> Self {
        Self { opening, sw_if, output, at: None, wake: None }
    }

    /// Has errors point at the kernel's name in the command.
    pub fn at(self, at: Option<Range<usize>>) -> Self {
        Self { at, ..self }
    }

    /// The result, once it is there.
    fn look(&mut self, now: Duration) -> Option<Result<(), Error>> {
        self.wake = Some(now + SOON);
        match &self.opening.progress().state {
            State::New | State::Runs { .. } => None,
            State::Idle => Some(Ok(())),
            State::Failed(error) => Some(Err(error.clone().at(self.at.clone()))),
        }
    }
}

impl Task for NewPort {
    fn poll(&mut self, now: Duration) -> TaskState {
        match self.look(now) {
            None => TaskState::Pending,
            Some(Ok(())) => TaskState::Done(std::mem::replace(&mut self.output, Output::empty())),
            Some(Err(error)) => TaskState::Failed(error),
        }
    }

    fn wake_at(&self) -> Option<Duration> {
        self.wake
    }
}

impl<R: From<SwIfIndex>> Pending<World, R> for NewPort {
    fn poll(&mut self, _: &World, now: Duration) -> Option<Result<R, Error>> {
        Some(self.look(now)?.map(|()| self.sw_if.into()))
    }

    fn wake_at(&self) -> Option<Duration> {
        self.wake
    }
}

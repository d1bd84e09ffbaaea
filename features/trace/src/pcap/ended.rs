// SPDX-License-Identifier: Apache-2.0
//! The end of a capture: commands and messages wait until the file is complete.

use super::{Captures, Summary};
use cli::{Error, Output, Task, TaskState};
use graph::World;
use msg::{Pending, retval};
use std::sync::Arc;
use std::time::Duration;

/// Waits for the process that completes the file.
pub struct FileCompletion {
    pub(super) captures: Arc<Captures>,
    pub(super) wake: Option<Duration>,
}

impl FileCompletion {
    fn look(&mut self, now: Duration) -> Option<Result<Summary, Error>> {
        self.wake = Some(now + Duration::from_millis(2));
        let inner = self.captures.inner();
        match (&inner.running, &inner.last) {
            (None, Some(last)) => Some(match &last.error {
                Some(error) => Err(Error::failed(format!("{}: {error}", last.path.display()))
                    .retval(retval::SYSCALL_ERROR_1)),
                // A caller that ends a capture waits for its file.
                None if last.is_empty() => {
                    Err(Error::not_found(last.to_string()).retval(retval::NO_SUCH_ENTRY))
                }
                None => Ok(last.clone()),
            }),
            _ => None,
        }
    }
}

impl Task for FileCompletion {
    fn poll(&mut self, now: Duration) -> TaskState {
        match self.look(now) {
            None => TaskState::Pending,
            Some(Ok(last)) => TaskState::Done(Output::both(last.to_string() + "\n", last.json())),
            Some(Err(error)) => TaskState::Failed(error),
        }
    }

    fn wake_at(&self) -> Option<Duration> {
        self.wake
    }
}

impl Pending<World, ()> for FileCompletion {
    fn poll(&mut self, _: &World, now: Duration) -> Option<Result<(), Error>> {
        self.look(now).map(|last| last.map(drop))
    }

    fn wake_at(&self) -> Option<Duration> {
        self.wake
    }
}

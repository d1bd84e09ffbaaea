// SPDX-License-Identifier: Apache-2.0
//! The end of captures: commands and messages wait until the files are complete.

use super::Captures;
use super::status::Summary;
use cli::{Error, Output, Task, TaskState};
use graph::World;
use msg::{Pending, retval};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Waits for the process that completes the files.
pub struct FileCompletion {
    pub(super) captures: Arc<Captures>,
    /// The captures that end.
    pub(super) ids: Vec<u64>,
    pub(super) wake: Option<Duration>,
}

impl FileCompletion {
    /// The captures' summaries, when all files are complete.
    fn look(&mut self, now: Duration) -> Option<Result<Vec<Summary>, Error>> {
        self.wake = Some(now + Duration::from_millis(2));
        let inner = self.captures.inner();
        if inner.running.iter().any(|running| self.ids.contains(&running.id)) {
            return None;
        }
        let ended = inner.ended.iter().filter(|(id, _)| self.ids.contains(id));
        let ended: Vec<_> = ended.map(|(_, summary)| summary.clone()).collect();
        if let Some((last, error)) =
            ended.iter().find_map(|last| last.error.as_ref().map(|error| (last, error)))
        {
            let why = format!("{}: {error}", last.path.display());
            return Some(Err(Error::failed(why).retval(retval::SYSCALL_ERROR_1)));
        }
        if ended.iter().all(Summary::is_empty) {
            // A caller that ends a capture waits for its file.
            let why = ended.first().map_or_else(String::new, Summary::to_string);
            return Some(Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY)));
        }
        Some(Ok(ended))
    }
}

impl Task for FileCompletion {
    fn poll(&mut self, now: Duration) -> TaskState {
        match self.look(now) {
            None => TaskState::Pending,
            Some(Ok(ended)) => {
                let text: String = ended.iter().map(|summary| format!("{summary}\n")).collect();
                let all: Vec<_> = ended.iter().map(Summary::json).collect();
                let json = match &all[..] {
                    [one] => one.clone(),
                    _ => Value::from(all),
                };
                TaskState::Done(Output::both(text, json))
            }
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

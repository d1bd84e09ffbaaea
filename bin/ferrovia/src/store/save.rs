// SPDX-License-Identifier: Apache-2.0
//! `save` and `commit`: gathers the configuration in slices, and writes it on a thread of its own.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use cli::{Error, Matches, Output, OutputPiece, Result, Sequence, Step, Task, TaskState, Tree};
use graph::{ConfigLine, ConfigLines};
use serde_json::json;

use super::{Body, file, operator_path, pending, store, until};
use crate::origin;
use crate::world::World;

/// Suspends the return to the last saved configuration while that is being written. Resumes it when
/// dropped, unless the write succeeded.
pub struct Unconfirmed(Option<Duration>);

impl Unconfirmed {
    /// Suspends it, if it is pending.
    pub fn suspend() -> Self {
        Self(until().take())
    }

    fn confirm(&mut self) {
        self.0 = None;
    }
}

impl Drop for Unconfirmed {
    fn drop(&mut self) {
        if let Some(at) = self.0.take() {
            *until() = Some(at);
        }
    }
}

/// Starts to save. `commit` passes what it confirms.
///
/// # Errors
/// A bad file name; no place for saved configurations.
pub fn start<W: World>(world: &W, m: &Matches, unconfirmed: Option<Unconfirmed>) -> Result<Output> {
    let file = match m.has("file") {
        true => Some(operator_path(m)?),
        false => {
            store()?;
            None
        }
    };
    let (lines, place) = (world.config_lines(), m.span("file"));
    Ok(Output::sequence::<W>(Save {
        lines,
        changes: world.config_changes(),
        again: AGAIN,
        file,
        place,
        by: asker(),
        body: Body::default(),
        pieces: Vec::new(),
        n: 0,
        unconfirmed,
    }))
}

/// Bytes after which a piece of the text ends.
const PIECE: usize = 256 << 10;

/// Number of times that the configuration is read again in slices because it changed meanwhile.
const AGAIN: usize = 3;

/// The configuration while it is written to a file.
///
/// It is read in slices, and commands are run in between. A text of two states might have a route
/// by an interface that it doesn't make, and couldn't be loaded. So if what lines depend on has
/// changed when all is read ([`World::config_changes`]), it is read anew; if it changes each time,
/// the last time it is read in one go. Routes and neighbours may come and go meanwhile: no other
/// line depends on theirs.
struct Save {
    lines: ConfigLines,
    /// Value of [`World::config_changes`] when reading began.
    changes: u64,
    /// Number of times that it may still be read again in slices.
    again: usize,
    file: Option<PathBuf>,
    /// Position of the file name in the command.
    place: Option<Range<usize>>,
    by: String,
    /// The text after `pieces`.
    body: Body,
    /// Completed pieces of the text. A single string of a hundred megabytes would be copied each
    /// time it grows.
    pieces: Vec<String>,
    /// Number of lines.
    n: usize,
    unconfirmed: Option<Unconfirmed>,
}

impl Save {
    fn add(&mut self, lines: Vec<ConfigLine>) {
        self.n += lines.len();
        pending::all().forget_running(&lines);
        for line in &lines {
            self.body.add(line);
            if self.body.text.len() >= PIECE {
                self.pieces.push(std::mem::take(&mut self.body.text));
            }
        }
    }

    /// Starts the thread that writes.
    fn write(&mut self) -> Result<Writing> {
        let pending = pending::all().saved();
        self.body.pending(&pending);
        self.pieces.push(std::mem::take(&mut self.body.text));
        let (pieces, by) = (std::mem::take(&mut self.pieces), self.by.clone());
        let (file, place, store) = (self.file.take(), self.place.take(), store());
        let write = move || {
            let text = pieces.concat();
            drop(pieces);
            match file {
                Some(path) => {
                    file::export(&path, &file::with_header(&text, &by)).map_err(|e| e.at(place))?;
                    Ok((path, true))
                }
                None => {
                    let store = store?;
                    let saved = store.save(&text, &by)?;
                    Ok((store.file().to_path_buf(), saved))
                }
            }
        };
        let thread = std::thread::Builder::new().name("ferrovia_save".into()).spawn(write);
        let thread = thread.map_err(|e| Error::failed(format!("no thread to save by: {e}")))?;
        Ok(Writing {
            thread: Some(thread),
            n: self.n + pending.len(),
            pending: pending.len(),
            unconfirmed: self.unconfirmed.take(),
            cancelled: false,
        })
    }
}

impl<W: World> Sequence<W> for Save {
    fn next(&mut self, _: &Tree<W>, world: &W, _: Option<Result<Vec<OutputPiece>>>) -> Step {
        let mut lines = Vec::new();
        let more = cli::slice(|| world.config_step(&mut self.lines, &mut lines));
        self.add(lines);
        if more {
            return Step::More(String::new());
        }
        let changes = world.config_changes();
        if self.changes != changes {
            (self.body, self.n, self.changes) = (Body::default(), 0, changes);
            self.pieces.clear();
            if self.again > 0 {
                self.again -= 1;
                self.lines = world.config_lines();
                return Step::More(String::new());
            }
            self.add(world.running_config());
        }
        self.write().map_or_else(Step::Failed, |writing| Step::Done(Output::task(writing)))
    }

    fn cancel(&mut self) -> Error {
        Error::failed("cancelled: nothing was saved")
    }
}

/// Waits for the thread that writes. It is never joined before it has ended: disks are slow.
struct Writing {
    /// Returns the file, and whether it was written, or was the same already.
    thread: Option<JoinHandle<Result<(PathBuf, bool)>>>,
    /// Number of lines.
    n: usize,
    /// Number of these that aren't in force.
    pending: usize,
    unconfirmed: Option<Unconfirmed>,
    cancelled: bool,
}

impl Writing {
    fn report(&mut self, path: &Path, saved: bool) -> Output {
        if let Some(unconfirmed) = &mut self.unconfirmed {
            unconfirmed.confirm();
        }
        let (path, n, pending) = (path.display().to_string(), self.n, self.pending);
        let mut text = match saved {
            true => format!("{n} lines saved in {path}\n"),
            false => format!("nothing has changed since the last version in {path}\n"),
        };
        if pending > 0 {
            text += &format!("{pending} of them are not in force: see `show config pending'\n");
        }
        Output::both(text, json!({ "file": path, "lines": n, "pending": pending, "saved": saved }))
    }
}

impl Task for Writing {
    fn poll(&mut self, _: Duration) -> TaskState {
        match self.thread.take_if(|thread| thread.is_finished()) {
            Some(thread) => match thread.join() {
                Ok(Ok((path, saved))) => TaskState::Done(self.report(&path, saved)),
                Ok(Err(error)) => TaskState::Failed(error),
                Err(_) => TaskState::Failed(Error::failed("saving has failed")),
            },
            None if self.cancelled => TaskState::Failed(Error::failed(
                "too late to be cancelled: the file is still being written",
            )),
            None => TaskState::Pending,
        }
    }

    fn cancel(&mut self) {
        self.cancelled = true;
    }
}

/// The user and program that run the command.
pub(super) fn asker() -> String {
    origin::current().map_or_else(|| "ferrovia itself".into(), |origin| origin.author())
}

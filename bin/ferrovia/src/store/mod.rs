// SPDX-License-Identifier: Apache-2.0
//! The configuration in force, and the saved ones: `show running-config`, `save`, `rollback`,
//! `commit confirmed`, `replace`.
//!
//! Plugins write the lines in force ([`graph::RunningConfig`]); [`mod@file`] keeps versions,
//! [`load`] runs one at the start, [`pending`] has its lines that aren't in force, `protect`
//! keeps interfaces down whose filters are missing, [`change`] goes from one to another,
//! `replace` makes an operator's file the one in force, [`tech`] gathers facts for support.

mod archive;
mod by_line;
pub mod change;
pub mod commands;
mod confirm;
mod diff;
pub mod disk;
pub mod file;
pub mod load;
pub mod pending;
mod protect;
mod replace;
mod save;
mod stream;
pub mod tech;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use cli::{Error, Matches, OutputPiece, Runner, Tree};
use graph::{ConfigLine, Phase};

use crate::config::Config;
use crate::process::paths::Paths;
use crate::world::World;
pub use file::Store;

static STORE: OnceLock<Store> = OnceLock::new();

/// Time, by the daemon's clock, at which the configuration goes back to the last saved one.
static UNTIL: Mutex<Option<Duration>> = Mutex::new(None);

/// Sets the file in which configurations are saved; only the first call counts.
pub fn open(config: &Config, paths: &Paths) {
    protect::set_lax(config.saved.lax || config.compat.vpp);
    if let Some(file) = &paths.saved {
        let history = config.saved.history.unwrap_or(file::HISTORY);
        let store = Store::new(file.clone(), history);
        if let Err(e) = store.tidy() {
            log::warn!(target: "config", "what an interrupted save left can't be put in order: {}", e.brief());
        }
        let _ = STORE.set(store);
    }
}

/// Returns the store of saved configurations.
///
/// # Errors
/// There is no place for them.
pub fn store() -> Result<&'static Store, Error> {
    STORE.get().ok_or_else(|| {
        Error::failed("there is no place for saved configurations: this user has no home directory")
            .hint("say one in startup.conf: config { file FILE }")
    })
}

/// The absolute path of the file that a command names as `file`.
///
/// # Errors
/// The working directory is gone.
fn operator_path(m: &Matches) -> Result<PathBuf, Error> {
    let path = std::path::absolute(m.str("file"));
    path.map_err(|e| Error::failed(e.to_string()).at(m.span("file")))
}

fn until() -> MutexGuard<'static, Option<Duration>> {
    UNTIL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The configuration as a script, with a comment before each section.
pub fn script(lines: &[ConfigLine]) -> String {
    let mut body = Body::default();
    lines.iter().for_each(|line| body.add(line));
    body.text
}

/// A script that comes line by line.
#[derive(Default)]
pub struct Body {
    /// The script so far.
    pub text: String,
    phase: Option<Phase>,
}

impl Body {
    /// Adds a line, and a comment before it where a section begins.
    pub fn add(&mut self, line: &ConfigLine) {
        if self.phase.replace(line.phase) != Some(line.phase) {
            self.text += &format!("# {}\n", line.phase.name);
        }
        self.text += &line.text;
        self.text.push('\n');
    }

    /// Adds lines that aren't in force, but belong to the configuration.
    pub fn pending(&mut self, lines: &[String]) {
        if !lines.is_empty() {
            self.text += "# pending\n";
            lines.iter().for_each(|line| self.text += &format!("{line}\n"));
        }
    }
}

/// Goes back to the last saved configuration if the one in force wasn't confirmed in time. Returns
/// the time until there is something to do.
pub fn poll<W: World>(world: &W, tree: &Tree<W>, background: &mut Runner) -> Option<Duration> {
    let now = world.now();
    let due = *until();
    let mut said = Vec::new();
    if due.is_some_and(|due| due <= now) && !background.is_busy() && load::idle().is_ok() {
        *until() = None;
        log::warn!(target: "config", "nobody confirmed the configuration: back to the last saved one");
        background.line(tree, world, "rollback 0", false, &mut said);
    }
    if background.is_busy() {
        match background.poll(tree, world, now, &mut said) {
            Some(Ok(())) => {}
            Some(Err(error)) => log::error!(target: "config", "{error}"),
            None => {}
        }
        for OutputPiece::Answer(text) | OutputPiece::Chunk(text) in said {
            text.lines().for_each(|line| log::info!(target: "config", "{line}"));
        }
    }
    let next = background.wake_at(now);
    let due = *until();
    [next, due].into_iter().flatten().min().map(|at| at.saturating_sub(now))
}

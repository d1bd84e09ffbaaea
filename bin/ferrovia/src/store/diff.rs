// SPDX-License-Identifier: Apache-2.0
//! `show config diff`.

use std::path::PathBuf;

use cli::{Result, Writer};
use graph::{ConfigLine, ConfigLines};

use super::by_line::ByLine;
use super::file::{self, Store};
use super::stream::Commands;
use crate::world::World;

/// Difference between a configuration in a file and the running one. Either may have a million
/// lines, so nothing is kept but hashes.
pub struct Diff {
    other: Other,
    commands: Commands,
    /// Running lines; from [`ReadPhase::Added`] on, only the lines that the file lacks.
    running: ByLine<()>,
    lines: ConfigLines,
    at: ReadPhase,
    /// There is a difference.
    any: bool,
}

/// The other side of the comparison.
enum Other {
    Version { number: u32, date: String },
    File(String),
}

enum ReadPhase {
    /// Reads the running lines.
    Running,
    /// Reads the file and writes lines that aren't running.
    Removed,
    /// Reads the running lines once more and writes the ones that the file lacks.
    Added,
}

impl Diff {
    /// The difference from a saved version.
    ///
    /// # Errors
    /// It can't be read.
    pub fn version<W: World>(world: &W, store: &Store, number: u32) -> Result<Self> {
        let date = store.head(number, file::DATE)?;
        Ok(Self::new(world, Other::Version { number, date }, store.commands(number)?))
    }

    /// The difference from an operator's file.
    ///
    /// # Errors
    /// As for [`file::import`].
    pub fn file<W: World>(world: &W, path: PathBuf) -> Result<Self> {
        let (name, file) = (path.display().to_string(), file::import(&path)?);
        Ok(Self::new(world, Other::File(name), Commands::new(file, path)))
    }

    fn new<W: World>(world: &W, other: Other, commands: Commands) -> Self {
        Self {
            other,
            commands,
            running: ByLine::default(),
            lines: world.config_lines(),
            at: ReadPhase::Running,
            any: false,
        }
    }

    /// Writes one line; returns true if there may be more.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn step<W: World>(&mut self, world: &W, out: &mut Writer) -> Result<bool> {
        let mut next = Vec::new();
        match self.at {
            ReadPhase::Running => {
                let more = world.config_step(&mut self.lines, &mut next);
                next.iter().for_each(|line| self.running.insert(&line.text, ()));
                if !more {
                    self.at = ReadPhase::Removed;
                    match &self.other {
                        Other::Version { number, date } => {
                            out.field("version", *number);
                            out.field("date", date.as_str());
                        }
                        Other::File(name) => out.field("file", name.as_str()),
                    }
                    out.array("removed");
                }
            }
            ReadPhase::Removed => match self.commands.next()? {
                Some(line) => {
                    if !self.running.remove(line) {
                        let line = line.to_string();
                        self.differs('-', line, out);
                    }
                }
                None => {
                    (self.lines, self.at) = (world.config_lines(), ReadPhase::Added);
                    out.end();
                    out.array("added");
                }
            },
            ReadPhase::Added => {
                let more = world.config_step(&mut self.lines, &mut next);
                for ConfigLine { text, .. } in next {
                    if self.running.contains(&text) {
                        self.differs('+', text, out);
                    }
                }
                if !more && !self.any {
                    out.text(|text| text.push_str("no difference\n"));
                }
                return Ok(more);
            }
        }
        Ok(true)
    }

    fn differs(&mut self, sign: char, line: String, out: &mut Writer) {
        let first = !std::mem::replace(&mut self.any, true);
        out.text(|text| {
            if first {
                let other = match &self.other {
                    Other::Version { number, date } => format!("version {number}, {date}"),
                    Other::File(name) => name.clone(),
                };
                *text += &format!("--- {other}\n+++ in force\n");
            }
            *text += &format!("{sign}{line}\n");
        });
        out.value(|| line);
    }
}

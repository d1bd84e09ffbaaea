// SPDX-License-Identifier: Apache-2.0
//! `show config diff`.

use cli::{Result, Writer};
use graph::{ConfigLine, ConfigLines};

use super::by_line::ByLine;
use super::file::{self, Store};
use super::stream::Commands;
use crate::world::World;

/// Difference between a saved version and the running configuration. Either may have a million
/// lines, so nothing is kept but hashes.
pub struct Diff {
    number: u32,
    date: String,
    saved: Commands,
    /// Running lines; from [`ReadPhase::Added`] on, only the lines that aren't saved.
    running: ByLine<()>,
    lines: ConfigLines,
    at: ReadPhase,
    /// There is a difference.
    any: bool,
}

enum ReadPhase {
    /// Reads the running lines.
    Running,
    /// Reads the saved version and writes lines that aren't running.
    Removed,
    /// Reads the running lines once more and writes the ones that aren't saved.
    Added,
}

impl Diff {
    /// The difference from a saved version.
    ///
    /// # Errors
    /// It can't be read.
    pub fn new<W: World>(world: &W, store: &Store, number: u32) -> Result<Self> {
        Ok(Self {
            number,
            date: store.head(number, file::DATE)?,
            saved: store.commands(number)?,
            running: ByLine::default(),
            lines: world.config_lines(),
            at: ReadPhase::Running,
            any: false,
        })
    }

    /// Writes one line; returns true if there may be more.
    ///
    /// # Errors
    /// The saved version can't be read.
    pub fn step<W: World>(&mut self, world: &W, out: &mut Writer) -> Result<bool> {
        let mut next = Vec::new();
        match self.at {
            ReadPhase::Running => {
                let more = world.config_step(&mut self.lines, &mut next);
                next.iter().for_each(|line| self.running.insert(&line.text, ()));
                if !more {
                    self.at = ReadPhase::Removed;
                    out.field("version", self.number);
                    out.field("date", self.date.as_str());
                    out.array("removed");
                }
            }
            ReadPhase::Removed => match self.saved.next()? {
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
        let (number, date) = (self.number, &self.date);
        out.text(|text| {
            if first {
                *text += &format!("--- version {number}, {date}\n+++ in force\n");
            }
            *text += &format!("{sign}{line}\n");
        });
        out.value(|| line);
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The configuration in force, as commands that make it again.
//!
//! Each plugin writes its part: for each setting that isn't the default, a line that sets it and a
//! line that takes it back. State that is learned, or follows from other lines (routes of
//! addresses), isn't written. [Phases](Phase) order the lines of all plugins, so that a line finds
//! there what it needs; taken back they are in the opposite order.

use crate::{Phase, SwIfIndex, World};
use std::collections::VecDeque;
use std::fmt::Display;
use std::iter::Peekable;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A line of the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigLine {
    /// When its turn is.
    pub phase: Phase,
    /// The command that sets it, one line.
    pub text: String,
    /// The command that takes it back.
    pub undo: String,
    /// The condition that it waits for before it takes effect.
    pub waits: Option<String>,
}

/// Lines of a table that grows: adds the lines of its next entry, and returns whether there was
/// one.
type Lines = Box<dyn FnMut(&World, &mut VecDeque<ConfigLine>) -> bool>;

/// Adds the lines of an interface to the configuration.
type WriteInterface = Box<dyn FnMut(&World, SwIfIndex, &mut Section<'_>)>;

enum Part {
    Line(ConfigLine),
    List(Phase, Lines),
    Interfaces(Vec<DriverInterfaces>),
}

impl Part {
    fn phase(&self) -> Phase {
        match self {
            Self::Line(line) => line.phase,
            Self::List(phase, _) => *phase,
            Self::Interfaces(_) => Phase::INTERFACES,
        }
    }
}

/// The interfaces of a driver that are still to be written, by index, and the function that writes
/// the lines of one.
struct DriverInterfaces {
    left: Peekable<Box<dyn Iterator<Item = SwIfIndex>>>,
    write: WriteInterface,
}

impl DriverInterfaces {
    /// Adds the lines of the interface with the lowest index of all, and returns whether there was
    /// one.
    fn next(all: &mut [Self], world: &World, lines: &mut VecDeque<ConfigLine>) -> bool {
        let first = all
            .iter_mut()
            .filter_map(|m| Some((*m.left.peek()?, m)))
            .min_by_key(|(sw_if, _)| *sw_if);
        let Some((sw_if, interfaces)) = first else { return false };
        interfaces.left.next();
        (interfaces.write)(world, sw_if, &mut Section { phase: Phase::INTERFACES, lines });
        true
    }
}

/// The configuration in force.
///
/// ```
/// use graph::{Phase, RunningConfig};
/// let mut config = RunningConfig::default();
/// config.push(Phase::ADDRESSES, "set interface ip address t0 10.0.0.1/24", "set interface ip address del t0 10.0.0.1/24");
/// config.push(Phase::TABLES, "ip table add 7", "ip table del 7");
/// # let (world, _) = graph::World::new(&graph::WorldConfig { buffers: 63, ..Default::default() }, &[]).unwrap();
/// let lines: Vec<_> = config.lines(&world).all(&world).into_iter().map(|l| l.text).collect();
/// assert_eq!(lines, ["ip table add 7", "set interface ip address t0 10.0.0.1/24"]);
/// ```
#[derive(Default)]
pub struct RunningConfig(Vec<Part>);

/// The lines of a phase, for one entry of a table.
pub struct Section<'l> {
    phase: Phase,
    lines: &'l mut VecDeque<ConfigLine>,
}

impl Section<'_> {
    /// Adds a line and the one that takes it back, as [`RunningConfig::push`] does.
    pub fn push(&mut self, text: impl Into<String>, undo: impl Into<String>) {
        let (text, undo) = (text.into(), undo.into());
        self.lines.push_back(ConfigLine { phase: self.phase, text, undo, waits: None });
    }

    /// Adds a line that ends with a value, and the one with the value that is usual.
    pub fn value(&mut self, line: &str, now: impl Display, usual: impl Display) {
        self.push(format!("{line} {now}"), format!("{line} {usual}"));
    }

    /// Adds a line that itself takes back with these words behind it.
    pub fn until(&mut self, line: impl Into<String>, words: &str) {
        let line = line.into();
        let undo = format!("{line} {words}");
        self.push(line, undo);
    }

    /// Sets the condition that the line that was added last waits for before it takes effect.
    pub fn waits(&mut self, what: impl Into<String>) {
        if let Some(line) = self.lines.back_mut() {
            line.waits = Some(what.into());
        }
    }
}

impl RunningConfig {
    /// Adds a line and the one that takes it back. Values that may hold blanks are put through
    /// [`cli::quote`].
    pub fn push(&mut self, phase: Phase, text: impl Into<String>, undo: impl Into<String>) {
        self.0.push(Part::Line(ConfigLine {
            phase,
            text: text.into(),
            undo: undo.into(),
            waits: None,
        }));
    }

    /// Adds a line that ends with a value, and the one with the value that is usual.
    pub fn value(&mut self, phase: Phase, line: &str, now: impl Display, usual: impl Display) {
        self.push(phase, format!("{line} {now}"), format!("{line} {usual}"));
    }

    /// Adds the lines of a table that grows: `write` is called for an item when its turn comes, and
    /// everything else goes on in between. Items are as those of [`cli::Output::list`].
    pub fn list<T>(
        &mut self,
        phase: Phase,
        items: impl IntoIterator<Item = T, IntoIter: 'static>,
        mut write: impl FnMut(&World, T, &mut Section<'_>) + 'static,
    ) {
        let mut items = items.into_iter();
        let next = move |world: &World, lines: &mut VecDeque<ConfigLine>| {
            let item = items.next();
            item.map(|item| write(world, item, &mut Section { phase, lines })).is_some()
        };
        self.0.push(Part::List(phase, Box::new(next)));
    }

    /// Adds the lines that make a driver's interfaces, given by ascending index: `write` is called
    /// for one when its turn comes. Interfaces are made in the order of their indices, whatever
    /// their drivers.
    pub fn interfaces(
        &mut self,
        all: impl IntoIterator<Item = SwIfIndex, IntoIter: 'static>,
        write: impl FnMut(&World, SwIfIndex, &mut Section<'_>) + 'static,
    ) {
        let all: Box<dyn Iterator<Item = SwIfIndex>> = Box::new(all.into_iter());
        let interfaces = DriverInterfaces { left: all.peekable(), write: Box::new(write) };
        let part = self.0.iter_mut().find_map(|part| match part {
            Part::Interfaces(interfaces) => Some(interfaces),
            _ => None,
        });
        match part {
            Some(others) => others.push(interfaces),
            None => self.0.push(Part::Interfaces(vec![interfaces])),
        }
    }

    /// All lines in their order.
    pub fn lines(mut self, world: &World) -> ConfigLines {
        self.0.sort_by_key(|part| world.phase_rank(part.phase()));
        ConfigLines { parts: self.0.into(), ..ConfigLines::default() }
    }
}

/// The lines of a configuration, made as they are read.
#[derive(Default)]
pub struct ConfigLines {
    /// Index of the plugin to ask next, and the configuration of the plugins before it; `None`
    /// once all were asked.
    asked: Option<(usize, RunningConfig)>,
    parts: VecDeque<Part>,
    ready: VecDeque<ConfigLine>,
}

impl ConfigLines {
    /// All that are left, at once.
    pub fn all(mut self, world: &World) -> Vec<ConfigLine> {
        let mut all = Vec::new();
        while self.step(world, &mut all) {}
        all
    }

    /// Adds the next line, or looks at an entry of a table that has none. False if there is nothing
    /// more.
    pub fn step(&mut self, world: &World, lines: &mut Vec<ConfigLine>) -> bool {
        if let Some((next, mut config)) = self.asked.take() {
            match world.plugins().get(next) {
                Some(plugin) => {
                    (plugin.config)(world, &mut config);
                    self.asked = Some((next + 1, config));
                }
                None => *self = config.lines(world),
            }
            return true;
        }
        if self.ready.is_empty() {
            match self.parts.pop_front() {
                None => return false,
                Some(Part::Line(line)) => self.ready.push_back(line),
                Some(Part::List(phase, mut next)) => {
                    if next(world, &mut self.ready) {
                        self.parts.push_front(Part::List(phase, next));
                    }
                }
                Some(Part::Interfaces(mut all)) => {
                    if DriverInterfaces::next(&mut all, world, &mut self.ready) {
                        self.parts.push_front(Part::Interfaces(all));
                    }
                }
            }
        }
        lines.extend(self.ready.pop_front());
        true
    }
}

impl World {
    /// The configuration in force: what all plugins say of theirs, line by line.
    pub fn config_lines(&self) -> ConfigLines {
        ConfigLines { asked: Some((0, RunningConfig::default())), ..ConfigLines::default() }
    }

    /// Number of changes so far to objects that configuration lines refer to: interfaces and their
    /// names, addresses, tables. If the number is the same before and after a configuration is
    /// read in slices, every line finds what it needs in the lines before it; otherwise the
    /// text may mix two states.
    pub fn config_changes(&self) -> u64 {
        self.config.changes.load(Ordering::Relaxed)
    }

    /// Counts such a change.
    pub fn note_config_change(&self) {
        self.config.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// The whole configuration in force, at once: with a large one everything else waits.
    pub fn running_config(&self) -> Vec<ConfigLine> {
        self.config_lines().all(self)
    }

    /// Runs a line of a saved configuration: what it needs of the host and isn't there is waited
    /// for, where that is possible.
    pub fn restore<T>(&self, line: impl FnOnce() -> T) -> T {
        self.config.restoring.store(true, Ordering::Relaxed);
        let result = line();
        self.config.restoring.store(false, Ordering::Relaxed);
        result
    }

    /// Returns true if the current command is a line of a saved configuration.
    pub fn is_restoring(&self) -> bool {
        self.config.restoring.load(Ordering::Relaxed)
    }
}

/// State of an instance concerning its configuration. Only the control thread reads and writes it.
#[derive(Default)]
pub(crate) struct ConfigState {
    /// The current command is a line of a saved configuration.
    restoring: AtomicBool,
    /// See [`World::config_changes`].
    changes: AtomicU64,
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::WorldConfig;

    #[suite::test]
    fn interfaces_of_all_drivers_are_made_by_index_and_come_after_what_needs_nothing() {
        let (world, _) =
            World::new(&WorldConfig { buffers: 63, ..Default::default() }, &[]).expect("a world");
        let mut config = RunningConfig::default();
        for (driver, indices) in [("a", vec![1, 4]), ("b", vec![0, 2, 3])] {
            config.interfaces(indices.into_iter().map(SwIfIndex), move |_, sw_if, lines| {
                // One is gone when its turn comes.
                if sw_if.0 != 2 {
                    lines.push(format!("{driver}{sw_if}"), "");
                    lines.waits(driver);
                }
            });
            config.push(Phase::SETTINGS, driver, "");
        }
        let lines = config.lines(&world).all(&world);
        assert_eq!(
            lines.iter().map(|l| l.text.as_str()).collect::<Vec<_>>(),
            ["a", "b", "b0", "a1", "b3", "a4"]
        );
        assert_eq!(lines[3].waits.as_deref(), Some("a"));
        assert_eq!(lines[0].waits, None);
    }
}

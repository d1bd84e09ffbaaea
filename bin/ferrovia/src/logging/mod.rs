// SPDX-License-Identifier: Apache-2.0
//! The log: records of the [`log`] crate go to a ring that `show log` prints, and to one of
//! standard error, a file or syslog.
//!
//! The target of a record is its class (`log::info!(target: "af_packet", …)`; without one, the
//! crate's name without `ferrovia_`). Levels are set per class. A class that writes too much is
//! silenced for a while, and the number of dropped records is logged afterwards. Workers don't log:
//! every call takes a lock.

mod examples;
mod ring;
mod sink;
#[cfg(feature = "tests")]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use graph::{Phase, Plugin, RunningConfig};
use log::{LevelFilter, Log, Metadata, Record};

pub use ring::Entry;
use ring::Ring;
use sink::Sink;

use crate::config::logging::Logging;
use startup::value::Level;

/// Messages a second of one class before it is silenced, by default.
const RATE: u32 = 100;

/// Lines kept, and seconds of silence, by default.
const SIZE: u32 = 512;
const UNTHROTTLE: u32 = 3;

/// The state behind the log.
struct State {
    ring: Ring,
    sink: Sink,
    level: LevelFilter,
    syslog_level: LevelFilter,
    unthrottle: Duration,
    classes: HashMap<String, Class>,
    /// Settings of the startup configuration.
    base: Logging,
    /// Settings changed since.
    set: Set,
}

/// The settings made by commands.
#[derive(Default)]
struct Set {
    size: Option<usize>,
    unthrottle: Option<Duration>,
    classes: BTreeSet<String>,
}

#[derive(Default)]
struct Class {
    level: Option<LevelFilter>,
    syslog_level: Option<LevelFilter>,
    rate: Option<u32>,
    /// The current second, and the messages in it.
    window: Option<(Instant, u32)>,
    /// Time until which the class is silenced.
    silent: Option<Instant>,
    dropped: u64,
}

struct Logger;

static STATE: Mutex<Option<State>> = Mutex::new(None);

fn state() -> MutexGuard<'static, Option<State>> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn filter(level: Level) -> LevelFilter {
    match level {
        Level::Disabled => LevelFilter::Off,
        Level::Error => LevelFilter::Error,
        Level::Warn => LevelFilter::Warn,
        Level::Notice | Level::Info => LevelFilter::Info,
        Level::Debug => LevelFilter::Debug,
    }
}

/// The name of a level in VPP's words.
pub fn level_name(level: LevelFilter) -> &'static str {
    match level {
        LevelFilter::Off => "disabled",
        LevelFilter::Error => "error",
        LevelFilter::Warn => "warn",
        LevelFilter::Info => "notice",
        LevelFilter::Debug => "debug",
        LevelFilter::Trace => "trace",
    }
}

impl State {
    fn new(config: &Logging, sink: Sink) -> State {
        let mut classes: HashMap<String, Class> = HashMap::new();
        for (name, given) in &config.classes.0 {
            let (level, syslog_level) = (given.level.map(filter), given.syslog_level.map(filter));
            classes.insert(
                name.clone(),
                Class { level, syslog_level, rate: given.rate_limit, ..Class::default() },
            );
        }
        State {
            ring: Ring::new(config.size.unwrap_or(SIZE) as usize),
            sink,
            level: config.default_log_level.map_or(LevelFilter::Info, filter),
            syslog_level: config.default_syslog_log_level.map_or(LevelFilter::Warn, filter),
            unthrottle: Duration::from_secs(config.unthrottle_time.unwrap_or(UNTHROTTLE).into()),
            classes,
            base: config.clone(),
            set: Set::default(),
        }
    }

    /// The most verbose level that any class lets through.
    fn max_level(&self) -> LevelFilter {
        self.classes.values().filter_map(|c| c.level).fold(self.level, Ord::max)
    }

    fn write(&mut self, now: Instant, level: log::Level, class: &str, text: &str) {
        if !self.classes.contains_key(class) {
            self.classes.insert(class.to_string(), Class::default());
        }
        let Some(state) = self.classes.get_mut(class) else { return };
        if level > state.level.unwrap_or(self.level) {
            return;
        }
        if let Some(until) = state.silent {
            if now < until {
                state.dropped += 1;
                return;
            }
            let dropped = std::mem::take(&mut state.dropped);
            (state.silent, state.window) = (None, None);
            if dropped > 0 {
                self.emit(
                    log::Level::Warn,
                    class,
                    &format!("{dropped} messages were dropped: too many at once"),
                );
            }
        }
        let Some(state) = self.classes.get_mut(class) else { return };
        let (start, count) = state.window.get_or_insert((now, 0));
        if now.duration_since(*start) >= Duration::from_secs(1) {
            (*start, *count) = (now, 0);
        }
        *count += 1;
        if *count > state.rate.unwrap_or(RATE) {
            state.silent = Some(now + self.unthrottle);
            state.dropped += 1;
            return;
        }
        self.emit(level, class, text);
    }

    fn emit(&mut self, level: log::Level, class: &str, text: &str) {
        // One record is one line, even if a client's words hold newlines.
        let text = text.trim_end().replace(char::is_control, " ");
        let entry = Entry { time: SystemTime::now(), level, class: class.into(), text };
        let syslog_level =
            self.classes.get(class).and_then(|c| c.syslog_level).unwrap_or(self.syslog_level);
        self.sink.write(&entry, level <= syslog_level);
        self.ring.push(entry);
    }
}

/// A record's class: its target, or for a module path the crate's short name.
fn class(target: &str) -> &str {
    match target.split_once("::") {
        Some((name, _)) => name,
        None => target,
    }
    .trim_start_matches("ferrovia_")
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record) {
        let text = record.args().to_string();
        if let Some(state) = state().as_mut() {
            state.write(Instant::now(), record.level(), class(record.target()), &text);
        }
    }

    fn flush(&self) {}
}

/// Destination of the log without a file.
#[derive(Clone, Copy, Debug)]
pub enum Usual {
    /// Standard error, which is a terminal or a supervisor's pipe.
    Stderr,
    /// The system's log.
    Syslog,
    /// None.
    None,
}

/// Starts the log as configured.
///
/// Destination: the file of `unix { log FILE }`; without one, standard error in the foreground and
/// syslog in the background, unless `nosyslog`. A file that can't be opened is warned of, and the
/// log goes where it would without one.
pub fn start(config: &Logging, file: Option<&Path>, without_file: Usual) {
    let usual = || match without_file {
        Usual::Stderr => Sink::stderr(),
        Usual::Syslog => Sink::syslog(),
        Usual::None => Sink::None,
    };
    let file = file.map(|path| Sink::file(path).map_err(|e| (path, e)));
    let (sink, failed) = match file {
        Some(Ok(file)) => (file, None),
        Some(Err(failed)) => (usual(), Some(failed)),
        None => (usual(), None),
    };
    let new = State::new(config, sink);
    log::set_max_level(new.max_level());
    *state() = Some(new);
    // It fails only when it has been set before, and then it is the same one.
    let _ = log::set_logger(&Logger);
    if let Some((path, e)) = failed {
        log::warn!(target: "logging", "log file {}: {e}: the log goes to {} instead", path.display(), destination());
    }
}

/// Destination of the log, in words.
fn destination() -> String {
    state().as_ref().map_or_else(String::new, |s| s.sink.describe())
}

/// Opens the log file anew, after log rotation has moved it away.
pub fn reopen() -> io::Result<()> {
    state().as_mut().map_or(Ok(()), |s| s.sink.reopen())
}

/// Writes to the log file past lock and ring, if that is possible at once. For the last words of a
/// process.
pub fn emergency(text: &[u8]) {
    if let Ok(mut guard) = STATE.try_lock()
        && let Some(state) = guard.as_mut()
    {
        state.sink.raw(text);
    }
}

/// The last `limit` entries, oldest first.
pub fn entries(limit: usize) -> Vec<Entry> {
    state().as_ref().map_or(Vec::new(), |s| s.ring.last(limit))
}

/// Empties the ring.
pub fn clear() {
    if let Some(state) = state().as_mut() {
        state.ring.clear();
    }
}

/// Changes the settings of one class; `None` leaves a setting as it is.
pub fn set_class(
    class: &str,
    level: Option<Level>,
    syslog_level: Option<Level>,
    rate: Option<u32>,
) {
    if let Some(state) = state().as_mut() {
        state.set.classes.insert(class.to_string());
        let class = state.classes.entry(class.to_string()).or_default();
        class.level = level.map(filter).or(class.level);
        class.syslog_level = syslog_level.map(filter).or(class.syslog_level);
        class.rate = rate.or(class.rate);
        log::set_max_level(state.max_level());
    }
}

/// Resets one class to the settings of the startup configuration.
pub fn reset_class(name: &str) {
    if let Some(state) = state().as_mut() {
        let given = state.base.classes.0.get(name).cloned().unwrap_or_default();
        let class = state.classes.entry(name.to_string()).or_default();
        class.level = given.level.map(filter);
        class.syslog_level = given.syslog_level.map(filter);
        class.rate = given.rate_limit;
        state.set.classes.remove(name);
        log::set_max_level(state.max_level());
    }
}

/// Writes the settings made by commands.
pub fn write_config(config: &mut RunningConfig) {
    let guard = state();
    let Some(state) = guard.as_ref() else { return };
    let (size, time) =
        (state.base.size.unwrap_or(SIZE), state.base.unthrottle_time.unwrap_or(UNTHROTTLE));
    let mut number = |what: &str, now: Option<u64>, usual: u32| {
        if let Some(now) = now.filter(|now| *now != u64::from(usual)) {
            let line = format!("set logging {what}");
            config.push(Phase::SETTINGS, format!("{line} {now}"), format!("{line} {usual}"));
        }
    };
    number("size", state.set.size.map(|n| n as u64), size);
    number("unthrottle-time", state.set.unthrottle.map(|t| t.as_secs()), time);
    for name in &state.set.classes {
        let Some(class) = state.classes.get(name) else { continue };
        let line = format!("set logging class {}", cli::quote(name));
        let mut text = line.clone();
        // Writing to a String doesn't fail.
        let _ = class.level.map(|l| write!(text, " level {}", level_name(l)));
        let _ = class.syslog_level.map(|l| write!(text, " syslog-level {}", level_name(l)));
        let _ = class.rate.map(|n| write!(text, " rate-limit {n}"));
        // A class that was named without a setting has none.
        if text != line {
            config.push(Phase::SETTINGS, text, format!("{line} default"));
        }
    }
}

/// The log's part of the configuration.
pub static PLUGIN: Plugin = Plugin {
    name: "logging",
    about: "What is logged",
    area: "management",
    does: &["Log classes with levels of their own, to standard error, syslog or a file"],
    config: |_, config| write_config(config),
    examples: examples::EXAMPLES,
    ..Plugin::EMPTY
};

/// Sets the number of lines kept.
pub fn set_size(lines: usize) {
    if let Some(state) = state().as_mut() {
        state.ring.resize(lines);
        state.set.size = Some(lines);
    }
}

/// Sets the time for which a class that logged too much is silenced.
pub fn set_unthrottle_time(time: Duration) {
    if let Some(state) = state().as_mut() {
        state.unthrottle = time;
        state.set.unthrottle = Some(time);
    }
}

/// Settings and classes, as `show logging` prints them.
pub fn settings() -> String {
    let mut out = String::new();
    if let Some(state) = state().as_ref() {
        // Write to a String doesn't fail.
        let _ = writeln!(out, "Log goes to {}", state.sink.describe());
        let _ = writeln!(out, "{:30} {}", "Lines kept", state.ring.capacity());
        let _ = writeln!(out, "{:30} {}", "Default level", level_name(state.level));
        let _ = writeln!(out, "{:30} {}", "Default syslog level", level_name(state.syslog_level));
        let _ = writeln!(out, "{:30} {} s", "Unthrottle time", state.unthrottle.as_secs());
        let _ =
            writeln!(out, "\n{:24} {:10} {:12} {:10}", "Class", "Level", "Syslog", "Rate limit");
        let mut names: Vec<_> = state.classes.iter().collect();
        names.sort_by_key(|(name, _)| name.as_str());
        for (name, class) in names {
            let level = level_name(class.level.unwrap_or(state.level));
            let syslog = level_name(class.syslog_level.unwrap_or(state.syslog_level));
            let _ = writeln!(
                out,
                "{name:24} {level:10} {syslog:12} {:<10}",
                class.rate.unwrap_or(RATE)
            );
        }
    }
    out
}

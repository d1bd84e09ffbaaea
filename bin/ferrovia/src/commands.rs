// SPDX-License-Identifier: Apache-2.0
//! The daemon's own commands: version, clock, log, configuration, scripts.

use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use cli::{Command, Error, Matches, Output, Result, Table, Task, TaskState, Writer};

use crate::build;
use crate::config::Config;
use crate::connection_slots::Peer;
use crate::logging;
use crate::macros;
use crate::origin;
use crate::process::paths::Paths;
use crate::server;
use crate::world::World;
use cli::Date;
use startup::value::{Level, Value as _};

/// Facts about this process that the commands show.
#[derive(Clone, Debug)]
pub struct ProcessInfo {
    /// The startup configuration.
    pub config: String,
    /// Secret values in it, which must not be shown.
    pub secrets: Vec<String>,
    notes: Vec<String>,
    /// The directory of sockets.
    pub runtime_dir: PathBuf,
    started: SystemTime,
}

impl ProcessInfo {
    /// Facts about a process that starts now.
    pub fn new(config: &Config, paths: &Paths) -> ProcessInfo {
        ProcessInfo {
            config: config.to_string(),
            secrets: config.secrets(),
            notes: config.notes.clone(),
            runtime_dir: paths.runtime_dir.clone(),
            started: SystemTime::now(),
        }
    }
}

static ABOUT: OnceLock<ProcessInfo> = OnceLock::new();

/// Sets the facts that the commands show; only the first call counts.
pub fn about(about: ProcessInfo) {
    let _ = ABOUT.set(about);
}

/// Returns the facts set by [`about`]; empty ones if it wasn't called.
pub fn startup() -> &'static ProcessInfo {
    ABOUT.get_or_init(|| ProcessInfo {
        config: String::new(),
        secrets: Vec::new(),
        notes: Vec::new(),
        runtime_dir: std::env::temp_dir(),
        started: SystemTime::now(),
    })
}

/// The daemon's own commands.
pub fn own<W: World>() -> &'static [Command<W>] {
    CommandTable::<W>::COMMANDS
}

struct CommandTable<W>(PhantomData<W>);

impl<W: World> CommandTable<W> {
    const COMMANDS: &'static [Command<W>] = cli::commands! {
        /// The version of the program
        "show version", "[verbose] [cmdline]" => show_version;
        /// The startup configuration in force
        "show config" => show_config;
        /// Time since the start, and the date
        "show clock", "[verbose]" => show_clock;
        /// Move the clock that all timers follow forward
        "set clock adjust", "<seconds:f64>" => set_clock_adjust;
        /// The last lines of the log
        "show logging", "[max <lines:1-1000000>]" => show_logging;
        /// Where the log goes, and the level of each class
        "show logging configuration" => |_, _| Ok(Output::text(logging::settings()));
        /// Forget the lines that `show logging` prints
        "clear logging" => |_, _| {
                logging::clear();
                Ok(Output::empty())
            };
        /// Set the log level of a class; default: as in the startup configuration
        "set logging class",
        "<class> [default] [level <level:error|warn|notice|info|debug|disabled>] \
         [syslog-level <syslog:error|warn|notice|info|debug|disabled>] [rate-limit <rate:u32>]"
            => set_logging_class;
        /// Set the number of lines that `show logging` keeps
        "set logging size", "<lines:1-1000000>" => |_, m| {
                logging::set_size(m.req("lines")?);
                Ok(Output::empty())
            };
        /// Set the time for which a class that logged too much is silent
        "set logging unthrottle-time", "<seconds:u32>" => |_, m| {
                logging::set_unthrottle_time(Duration::from_secs(m.req::<u32>("seconds")?.into()));
                Ok(Output::empty())
            };
        /// Sessions of the CLI, and when they began
        "show cli-sessions" => show_cli_sessions;
        /// Run the commands of a file, with its macros replaced (`define')
        "exec", "<file:string>" => exec;
        /// Run the lines of the block, as if they stood alone; `comment { … }' leaves them out
        "uncomment", "<lines:block>" => |_, m| Ok(Output::script(UNCOMMENT, m.str("lines")));
        /// Print the rest of the line
        "echo", "[<text:rest>]" => |_, m| Ok(Output::text(format!("{}\n", m.str("text"))));
        /// Give a text a name: `$(name)' and `$name' stand for it in lines and scripts
        "define", "<name> <value:rest>" => |_, m| {
                macros::define(m.str("name"), m.str("value"));
                Ok(Output::empty())
            };
        /// Forget a name that `define' gave
        "undefine", "<name>" => |_, m| match macros::undefine(m.str("name")) {
                true => Ok(Output::empty()),
                false => Err(Error::not_found("no macro has this name").at(m.span("name"))),
            };
        /// Names that `define' gave, and what they stand for
        "show macro", "[noevaluate]" => |_, m| {
                let mut table = Table::new().left("Name").min_width(24).left("Value");
                for (name, value) in macros::all(!m.flag("noevaluate")) {
                    table.row([name.into(), value.into()]);
                }
                Ok(table)
            };
        /// Settings of this session
        "show terminal" => |_, _| {
                let json =
                    serde_json::json!({ "interactive": false, "pager": false, "history": 0 });
                Ok(Output::both("Interactive: no\nPager: off\nHistory: off\n".to_string(), json))
            };
        // Interactive sessions have their own commands of these names; other sessions have no
        // pager and no history.
        { unneeded("set terminal pager", "[on|off] [limit <lines:u32>]",
            "Show long answers page by page, and limit the lines that a page keeps") };
        { unneeded("set terminal history", "[on|off] [limit <lines:u32>]",
            "Keep the lines that were typed, for the arrow keys, and limit their number") };
        { unneeded("set terminal ansi", "{on|off}", "Use colours and cursor movements") };
        { unneeded("history", "", "The lines that were typed in this session") };
        /// Go on after so many seconds
        "wait", "<seconds:f64>" => wait;
    };
}

/// Name of the script that `uncomment { … }` runs.
pub const UNCOMMENT: &str = "uncomment";

/// A command that concerns a person's terminal, for sessions that have none.
const fn unneeded<W>(path: &'static str, usage: &'static str, help: &'static str) -> Command<W> {
    Command { path, usage, help, run: |_, _| Ok(Output::empty()) }
}

fn show_version<W: World>(_: &W, m: &Matches) -> Result<Output> {
    let mut rows = vec![("Version", build::line())];
    if m.flag("verbose") {
        rows.push(("Compile location", build::directory().into()));
        rows.push(("Compiler", build::COMPILER.into()));
        rows.push(("Current PID", std::process::id().to_string()));
        if let Some(about) = ABOUT.get() {
            rows.push(("Started", Date::from(about.started).long().to_string()));
            rows.push(("Runtime directory", about.runtime_dir.display().to_string()));
        }
    }
    if m.flag("cmdline") {
        let words: Vec<_> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
        rows.push(("Command line", words.join(" ")));
    }
    let value = |text: &String| {
        text.parse::<u64>()
            .map_or_else(|_| serde_json::Value::from(text.clone()), serde_json::Value::from)
    };
    let mut json: serde_json::Map<_, _> =
        rows.iter().map(|(k, v)| (k.to_lowercase().replace(' ', "_"), value(v))).collect();
    json.extend([("commit".into(), build::COMMIT.into()), ("date".into(), build::DATE.into())]);
    let text = match &rows[..] {
        [(_, version)] => version.clone(),
        rows => rows.iter().map(|(name, value)| format!("{name:24} {value}\n")).collect(),
    };
    Ok(Output::both(text, json))
}

fn show_config<W: World>(_: &W, _: &Matches) -> Result<Output> {
    let Some(about) = ABOUT.get() else { return Ok(Output::empty()) };
    let notes: String = about.notes.iter().map(|n| format!("# {n}\n")).collect();
    Ok(Output::both(
        format!("{}{notes}", about.config),
        serde_json::json!({ "config": about.config, "notes": about.notes }),
    ))
}

fn show_clock<W: World>(world: &W, _: &Matches) -> Result<Output> {
    let now = world.now().as_secs_f64();
    let date = Date::now().long();
    Ok(Output::both(
        format!("Time now {now:.6}, {date}"),
        serde_json::json!({ "now": now, "date": date.to_string() }),
    ))
}

fn set_clock_adjust<W: World>(world: &W, m: &Matches) -> Result<Output> {
    let seconds: f64 = m.req("seconds")?;
    let by = Duration::try_from_secs_f64(seconds).map_err(|_| {
        Error::failed("the clock moves forward only: timers rely on it").at(m.span("seconds"))
    })?;
    Ok(world.advance(by))
}

fn show_logging<W: World>(_: &W, m: &Matches) -> Result<Output> {
    let entries = logging::entries(m.get("lines").unwrap_or(usize::MAX));
    Ok(Output::list(entries, |_: &W, e: logging::Entry, out: &mut Writer| {
        out.text(|text| *text += &format!("{e}\n"));
        out.value(|| {
            let level = logging::level_name(e.level.to_level_filter());
            let time = Date::from(e.time).stamp().to_string();
            serde_json::json!({ "time": time, "level": level, "class": e.class, "text": e.text })
        });
        Ok(())
    }))
}

fn set_logging_class<W: World>(_: &W, m: &Matches) -> Result<()> {
    let level = |name| match m.str(name) {
        "" => Ok(None),
        word => Level::parse(word).map(Some).map_err(|e| Error::failed(e).at(m.span(name))),
    };
    let (class, level, syslog) = (m.str("class"), level("level")?, level("syslog")?);
    if m.flag("default") {
        logging::reset_class(class);
    }
    logging::set_class(class, level, syslog, m.get("rate"));
    Ok(())
}

fn show_cli_sessions<W: World>(_: &W, _: &Matches) -> Result<Output> {
    let mut table = Table::new().right("Session").left("Name").left("Since");
    for (id, name, since) in server::sessions() {
        table.row([id.into(), name.into(), Date::from(since).stamp().to_string().into()]);
    }
    Ok(table.into())
}

fn exec<W: World>(_: &W, m: &Matches) -> Result<Output> {
    let name = m.str("file");
    let failed = |e: std::io::Error| Error::failed(format!("{name}: {e}")).at(m.span("file"));
    let (bytes, owner) = read_bytes(name).map_err(failed)?;
    if server::is_lenient_start() {
        // Each line stands for itself: only a line with other bytes fails, and one with a macro
        // that isn't defined when its turn comes.
        return Ok(Output::script(name, String::from_utf8_lossy(&bytes)));
    }
    let text = as_text(bytes).map_err(failed)?;
    // The daemon may read files that its caller may not: messages don't quote their content.
    let may_read = may_quote(owner);
    let expanded = macros::expand(&text).map_err(|(line, why)| {
        Error::failed(if may_read {
            format!("{name}:{line}: {why}")
        } else {
            format!("{name}: a macro can't be replaced")
        })
    })?;
    Ok(if may_read {
        Output::script(name, expanded)
    } else {
        Output::discreet_script(name, expanded)
    })
}

/// True if a user's files may be quoted in messages to whoever runs the command.
pub fn may_quote(owner: u32) -> bool {
    match origin::current().map(|origin| origin.peer) {
        Some(Peer::User(uid)) => uid == owner || Peer::User(uid).is_owner(),
        Some(Peer::Host(_) | Peer::Unknown) => false,
        // The daemon itself, at its start.
        None => server::is_starting(),
    }
}

/// The text of a regular file.
///
/// # Errors
/// The system's; a file of another kind; one that isn't text.
pub fn read_regular(name: &str) -> std::io::Result<String> {
    as_text(read_bytes(name)?.0)
}

fn as_text(bytes: Vec<u8>) -> std::io::Result<String> {
    String::from_utf8(bytes).map_err(std::io::Error::other)
}

/// The bytes of a regular file, and its owner.
fn read_bytes(name: &str) -> std::io::Result<(Vec<u8>, u32)> {
    use std::io::Read as _;
    use std::os::unix::fs::MetadataExt as _;
    let mut file = cli::open_regular(name)?;
    let owner = file.metadata()?.uid();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok((bytes, owner))
}

/// Ends at a time of the clock, or at ^C.
struct Wait {
    length: Duration,
    until: Option<Duration>,
}

fn wait<W: World>(_: &W, m: &Matches) -> Result<Output> {
    let length = Duration::try_from_secs_f64(m.req("seconds")?)
        .map_err(|_| Error::failed("this time can't be waited for").at(m.span("seconds")))?;
    Ok(Output::task(Wait { length, until: None }))
}

impl Task for Wait {
    fn poll(&mut self, now: Duration) -> TaskState {
        let until = *self.until.get_or_insert(now.saturating_add(self.length));
        if now >= until { TaskState::Done(Output::empty()) } else { TaskState::Pending }
    }

    fn cancel(&mut self) {
        self.until = Some(Duration::ZERO);
    }

    fn wake_at(&self) -> Option<Duration> {
        self.until
    }
}

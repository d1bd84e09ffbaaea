// SPDX-License-Identifier: Apache-2.0
//! From a configuration to a running daemon and back.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cli::{Error, OutputPiece, Runner, Tree};
use rustix::net::SocketType;

use crate::api;
use crate::build;
use crate::commands::{self, ProcessInfo};
use crate::config::Config;
use crate::control::Control;
use crate::event::EventLoop;
use crate::origin;
use crate::process::paths::Paths;
use crate::process::pidfile::PidFile;
use crate::process::platform::Starter;
use crate::process::service::Service;
use crate::process::signals::Signals;
use crate::process::{account, crash, limits, platform, rights};
use crate::prometheus::{self, Exporter};
use crate::server::sessions::Server;
use crate::server::{Listener, Start};
use crate::socket::{self, UnixSocket};
use crate::store::load::Load;
use crate::world::{Instance, World};
use crate::{logging, macros, reference, server, stats_socket, store};
use startup::value::{Listen, Value as _};

/// Runs a daemon until a signal or a client ends it. `open` makes the world; it is called in the
/// process that goes on, once the sockets are this daemon's, and its error is one sentence for the
/// operator.
pub fn run<W: World>(
    config: Config,
    open: impl FnOnce(&Config, &Paths) -> Result<Instance<W>, String>,
) -> ExitCode {
    let mut starter = None;
    match run_until_end(&config, open, &mut starter) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Before the starter goes: the shell gets back then.
            eprintln!("ferrovia: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_until_end<W: World>(
    config: &Config,
    open: impl FnOnce(&Config, &Paths) -> Result<Instance<W>, String>,
    starter: &mut Option<Starter>,
) -> Result<(), String> {
    let said = |e: io::Error| e.to_string();
    let foreground = config.unix.nodaemon || config.unix.interactive;
    let paths = Paths::new(config);
    let limited = limits::apply(&config.unix).map_err(said)?;
    if !foreground {
        *starter = Some(platform::daemonize().map_err(said)?);
    }

    rights::reduce().map_err(|e| format!("capabilities: {e}"))?;
    let usual = match (foreground, config.unix.nosyslog) {
        (true, _) => logging::Usual::Stderr,
        (false, true) => logging::Usual::None,
        (false, false) => logging::Usual::Syslog,
    };
    logging::start(&config.logging, config.unix.log.as_deref(), usual);
    let gid = account::group(config.unix.gid.as_ref());
    crash::install();
    let signals = Signals::start().map_err(|e| format!("signals: {e}"))?;
    paths.create(gid).map_err(said)?;
    let _pidfile = config.unix.pidfile.as_deref().map(PidFile::create).transpose().map_err(said)?;
    let listeners = paths.cli.iter().map(|at| listen(at, gid)).collect::<Result<Vec<_>, _>>()?;
    let api =
        paths.api.iter().map(|at| listen_api(at, config, gid)).collect::<Result<Vec<_>, _>>()?;
    let stats = paths.stats.iter().map(|path| UnixSocket::listen(path, SocketType::SEQPACKET, gid));
    let stats = stats.collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
    let metrics = paths.metrics.iter().map(|at| prometheus::listen(at, gid));
    let metrics = metrics.collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;

    log::info!(target: "main", "{} starts, process {}", build::line(), std::process::id());
    config.notes.iter().chain(&limited).for_each(|note| log::info!(target: "config", "{note}"));
    commands::about(ProcessInfo::new(config, &paths));
    store::open(config, &paths);

    let Instance { world, stop } = open(config, &paths)?;
    let listening = listening(&paths);
    let ready = |service: &Service| {
        log::info!(target: "main", "ready: {listening}");
        service.ready(&listening);
        let Some(starter) = starter.take() else { return Ok(()) };
        if io::stdout().is_terminal() {
            // The terminal may be gone already.
            let pid = std::process::id();
            let _ = writeln!(
                io::stdout(),
                "ferrovia runs in the background, process {pid}: {listening}"
            );
        }
        starter.ready()
    };
    let result =
        control(config, world, Sockets { listeners, api, stats, metrics }, &signals, ready);
    stop();
    match &result {
        Ok(()) => log::info!(target: "main", "ended"),
        Err(e) => log::error!(target: "main", "{e}"),
    }
    result
}

/// Addresses at which clients are served, in one line.
fn listening(paths: &Paths) -> String {
    let listeners =
        |listeners: &[Listen]| listeners.iter().map(Listen::show).collect::<Vec<_>>().join(", ");
    let files = |files: &[PathBuf]| {
        files.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", ")
    };
    let parts = [
        ("CLI", listeners(&paths.cli)),
        ("API", files(&paths.api)),
        ("statistics", files(&paths.stats)),
        ("metrics", listeners(&paths.metrics)),
    ];
    let parts =
        parts.iter().filter(|(_, at)| !at.is_empty()).map(|(what, at)| format!("{what} at {at}"));
    parts.collect::<Vec<_>>().join("; ")
}

/// Logs a command and its origin, and once more with the reason if it failed. Commands that only
/// show go to the debug level; commands of the startup configuration aren't logged one by one.
fn log_command(path: &'static str, line: &str, failed: Option<&Error>) {
    let looks = ["show", "ping", "traceroute", "echo", "wait"]
        .contains(&path.split(' ').next().unwrap_or(path));
    let level = if looks { log::Level::Debug } else { log::Level::Info };
    if server::is_starting() || !log::log_enabled!(target: "command", level) {
        return;
    }
    let by =
        origin::current().map_or_else(|| "ferrovia itself".into(), |origin| origin.to_string());
    // The value of a macro may be used as a secret later.
    let line = if path == "define" {
        line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
    } else {
        line.into()
    };
    match failed {
        None => log::log!(target: "command", level, "{by}: {line}"),
        Some(e) => log::log!(target: "command", level, "{by}: {line}: failed: {}", e.brief()),
    }
}

/// Logs changes that a client of the binary API makes.
fn log_change(client: &str, line: &str) {
    let by =
        origin::current().map_or_else(|| "ferrovia itself".into(), |origin| origin.to_string());
    // A client chooses its own name.
    log::info!(target: "api-change", "{by}, client {client:?}: {line}");
}

fn listen(at: &Listen, gid: Option<u32>) -> Result<Listener, String> {
    match at {
        Listen::Unix(path) => UnixSocket::listen(path, SocketType::STREAM, gid).map(Listener::unix),
        Listen::Tcp(host, port) => socket::listen_tcp(host, *port).map(|listener| {
            if let Some(address) = socket::open_to_network(&listener) {
                log::warn!(target: "cli", "{address} is open to the network: whoever can connect may change everything");
            }
            Listener::tcp(listener)
        }),
    }
    .map_err(|e| e.to_string())
}

/// The binary API's socket; its group may be another one than the CLI's.
fn listen_api(at: &Path, config: &Config, gid: Option<u32>) -> Result<UnixSocket, String> {
    // If the API's own group doesn't exist, the CLI's group gets no access instead.
    let gid = config.api_segment.gid.as_ref().map_or(gid, |own| account::group(Some(own)));
    let socket = UnixSocket::listen(at, SocketType::STREAM, gid).map_err(|e| e.to_string())?;
    if let Some(user) = &config.api_segment.uid {
        let uid = account::uid(user)?;
        std::os::unix::fs::chown(at, Some(uid), None)
            .map_err(|e| format!("{}: {e}", at.display()))?;
    }
    Ok(socket)
}

/// Applies the `api-trace` section: writes the table of messages, sets the trace's size, starts the
/// trace.
fn trace<W>(config: &Config, hub: &msg::Hub<W>) {
    if let Some(name) = &config.api_trace.save_api_table {
        let table: String =
            hub.table().entries().map(|(id, e)| format!("{id} {}\n", e.name_crc())).collect();
        let path = Path::new("/tmp").join(Path::new(name).file_name().unwrap_or_default());
        // Any user may create the file first: links are replaced, not followed, and a failure
        // doesn't stop the daemon's start.
        if let Err(e) = store::file::write(&path, table.as_bytes(), 0o644) {
            log::warn!(target: "api", "save-api-table {}", e.brief());
        }
    }
    if let Some(requests) = config.api_trace.nitems {
        hub.set_traced(requests as usize);
    }
    hub.set_tracing(config.api_trace.on);
}

/// The sockets on which the daemon listens.
struct Sockets {
    listeners: Vec<Listener>,
    api: Vec<UnixSocket>,
    stats: Vec<UnixSocket>,
    metrics: Vec<prometheus::Listener>,
}

/// The control thread's work between start and end.
fn control<W: World>(
    config: &Config,
    world: Arc<W>,
    sockets: Sockets,
    signals: &Signals,
    ready: impl FnOnce(&Service) -> io::Result<()>,
) -> Result<(), String> {
    let said = |e: io::Error| e.to_string();
    let mut tree = Tree::new(commands::own::<W>()).map_err(|e| e.to_string())?;
    tree.add(store::commands::all::<W>()).map_err(|e| e.to_string())?;
    tree.add(world.commands()).map_err(|e| e.to_string())?;
    tree.refer(reference::commands());
    tree.set_foreign(reference::FOREIGN);
    tree.set_meaning(reference::meaning);
    tree.watch(log_command);
    tree.set_expand(macros::expand);
    let clock = Arc::clone(&world);
    let mut events = EventLoop::new(world.waker(), move || clock.now()).map_err(said)?;
    signals.wake(world.waker());
    let tree = Arc::new(tree);
    world.adopt(&tree);
    trace(config, world.api());
    world.api().watch_changes(log_change);
    let (server, api, background) =
        (Server::new(config), api::clients::Server::new(config), Runner::default());
    let mut control = Control { world, tree, server, api, background };

    // The CLI is served first, so that operators can connect even if the configuration fails.
    for listener in sockets.listeners {
        server::open(listener, &mut events).map_err(said)?;
    }
    startup(config, &mut control, &mut events, signals)?;
    control.world.loaded();
    for listener in sockets.api {
        api::open(listener, &mut events).map_err(said)?;
    }
    for socket in sockets.stats {
        stats_socket::open(socket, &mut events, |control: &Control<W>| control.world.stats())
            .map_err(said)?;
    }
    // The exporter ends when this function does: before the world.
    let _exporter = match (sockets.metrics, control.world.stats()) {
        (listeners, Some(segment)) if !listeners.is_empty() => {
            Some(Exporter::start(listeners, segment).map_err(|e| format!("prometheus: {e}"))?)
        }
        _ => None,
    };
    if config.unix.interactive {
        server::interactive(&mut control, &mut events, config.unix.cli_line_mode).map_err(said)?;
    }
    let mut service = Service::from_env();
    ready(&service).map_err(said)?;
    while !events.stopped() && !signals.end() {
        turn(&mut control, &mut events, signals, &mut service)?;
    }
    service.stopping();
    server::close(&mut control, &mut events);
    api::close(&mut control, &mut events);
    log::info!(target: "main", "ending: {}", if signals.end() { "signalled" } else { "asked to" });
    Ok(())
}

fn turn<W: World>(
    control: &mut Control<W>,
    events: &mut EventLoop<Control<W>>,
    signals: &Signals,
    service: &mut Service,
) -> Result<(), String> {
    let look = |control: &mut Control<W>, events: &mut EventLoop<_>| {
        let beat = service.beat(Instant::now());
        [look(control, events, signals), beat].into_iter().flatten().min()
    };
    events.turn(control, look).map(drop).map_err(|e| format!("epoll: {e}"))
}

/// Does the work of each turn that no descriptor reports; returns how long the next turn may wait.
fn look<W: World>(
    control: &mut Control<W>,
    events: &mut EventLoop<Control<W>>,
    signals: &Signals,
) -> Option<Duration> {
    if signals.take_hang_up() {
        match logging::reopen() {
            Ok(()) => log::info!(target: "main", "log file opened anew"),
            Err(e) => log::error!(target: "main", "the log file can't be opened anew: {e}"),
        }
    }
    if signals.take_resize() {
        server::resize(control);
    }
    let sessions = server::poll(control, events);
    let background = store::poll(&*control.world, &control.tree, &mut control.background);
    let processes = control.world.poll();
    // Last: the work above may have produced events for a client.
    let api = api::poll(control, events);
    if signals.end() || events.stopped() {
        return Some(Duration::ZERO);
    }
    [sessions, background, processes, api].into_iter().flatten().min()
}

/// Loads the saved configuration and runs the scripts of startup.conf: all lines that can be run.
/// In strict mode, the first line that fails ends the start.
fn startup<W: World>(
    config: &Config,
    control: &mut Control<W>,
    events: &mut EventLoop<Control<W>>,
    signals: &Signals,
) -> Result<(), String> {
    let saved = config.saved.load.then(|| store::store().map(|s| s.file())).transpose();
    // Without a saved configuration there is nothing to load.
    let saved = saved.map_err(|e| e.to_string())?.filter(|file| {
        let there = file.symlink_metadata().is_ok();
        if !there {
            log::info!(target: "config", "no configuration was saved in {} yet", file.display());
        }
        there
    });
    let unix = config.unix.startup_config.iter().chain(&config.unix.exec).map(PathBuf::as_path);
    let strict = config.saved.strict;
    for path in saved.into_iter().chain(unix) {
        let name = path.display().to_string();
        let (text, lossy) = match std::fs::read(path).map(String::from_utf8) {
            Ok(Ok(text)) => (text, false),
            Ok(Err(e)) if strict => return Err(format!("{name}: {e}")),
            // The lines that aren't UTF-8 fail.
            Ok(Err(e)) => (String::from_utf8_lossy(e.as_bytes()).into_owned(), true),
            Err(e) if strict => return Err(format!("{name}: {e}")),
            Err(e) => {
                log::error!(target: "config", "{name}: {e}");
                continue;
            }
        };
        // Saved configurations contain no macros.
        let text = if strict && Some(path) != saved {
            let expanded = macros::expand(&text);
            expanded.map_err(|(line, why)| format!("{name}:{line}: {why}"))?.into_owned()
        } else {
            text
        };
        let mut runner = Runner::default();
        match strict {
            true => runner.script(&name, text, false),
            false => runner.sequence(Load::<W>::file(&name, text, Some(path) == saved, lossy)),
        }
        let mut said = Vec::new();
        loop {
            server::set_starting(Some(if strict { Start::Strict } else { Start::Lenient }));
            let done = runner.poll(&control.tree, &control.world, control.world.now(), &mut said);
            server::set_starting(None);
            for OutputPiece::Answer(text) | OutputPiece::Chunk(text) in said.drain(..) {
                text.lines().for_each(|line| log::info!(target: "cli", "{name}: {line}"));
            }
            match done {
                Some(Ok(())) => break,
                Some(Err(e)) if strict => return Err(e.to_string()),
                Some(Err(e)) => {
                    log::error!(target: "config", "{name}: {e}");
                    break;
                }
                None if signals.end() => return Err("told to end during the start".into()),
                None => {}
            }
            let now = control.world.now();
            let pause = runner.wake_at(now).map_or(Duration::ZERO, |at| at.saturating_sub(now));
            let look = |c: &mut Control<W>, events: &mut EventLoop<_>| {
                Some(look(c, events, signals).map_or(pause, |p| p.min(pause)))
            };
            events.turn(control, look).map_err(|e| format!("epoll: {e}"))?;
        }
    }
    Ok(())
}

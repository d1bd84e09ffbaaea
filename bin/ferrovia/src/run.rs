// SPDX-License-Identifier: Apache-2.0
//! From a configuration to a running daemon and back.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use cli::{Command, Runner, Said, Tree};
use rustix::net::SocketType;

use crate::commands::{self, About};
use crate::config::Config;
use crate::config::values::Listen;
use crate::event::EventLoop;
use crate::process::paths::Paths;
use crate::process::pidfile::PidFile;
use crate::process::platform::Starter;
use crate::process::signals::Signals;
use crate::process::{account, arguments, crash, limits, platform};
use crate::server::{Door, Server};
use crate::socket::{self, UnixSocket};
use crate::{logging, server};

/// What the daemon is built around: the packet world, as far as the control thread has to know it.
pub trait World: cli::Live + 'static {
    /// The commands of the world and its plugins.
    fn commands(&self) -> Vec<&'static Command<Self>>
    where
        Self: Sized;

    /// The clock that every timer follows.
    fn now(&self) -> Duration;

    /// Moves that clock on.
    fn advance(&self, by: Duration);

    /// What ends the control thread's sleep.
    fn waker(&self) -> Arc<sync::Waker>;

    /// Runs the processes that are due, and says how long it is until the next one is.
    fn poll(&self) -> Option<Duration>;
}

/// A started world.
pub struct Instance<W> {
    /// What commands act on.
    pub world: Arc<W>,
    /// Ends its threads and gives back what it holds outside of the process. Called once, at a clean end.
    pub stop: Box<dyn FnOnce()>,
}

/// What handlers on the control thread work with.
pub struct Control<W: 'static> {
    /// What commands act on.
    pub world: Arc<W>,
    /// Every command.
    pub tree: Tree<W>,
    /// CLI sessions.
    pub server: Server,
}

/// Runs a daemon until it is told to end. `open` makes the world; it is called in the process that goes on, once the
/// sockets are this daemon's, and its error is one sentence for the operator.
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
    let gid = config.unix.gid.as_ref().map(account::gid).transpose()?;
    let limited = limits::apply(&config.unix).map_err(said)?;
    if !foreground {
        *starter = Some(platform::daemonize().map_err(said)?);
    }

    logging::start(config, foreground).map_err(said)?;
    crash::install();
    let signals = Signals::start().map_err(|e| format!("signals: {e}"))?;
    paths.create(gid).map_err(said)?;
    let _pidfile = config.unix.pidfile.as_deref().map(PidFile::create).transpose().map_err(said)?;
    let doors = paths.cli.iter().map(|at| listen(at, gid)).collect::<Result<Vec<_>, _>>()?;

    log::info!(target: "main", "{} starts, process {}", arguments::version(), std::process::id());
    config.notes.iter().chain(&limited).for_each(|note| log::info!(target: "config", "{note}"));
    commands::about(About::new(config, &paths));

    let Instance { world, stop } = open(config, &paths)?;
    let ready = || starter.take().map_or(Ok(()), Starter::ready);
    let result = control(config, world, doors, &signals, ready);
    stop();
    match &result {
        Ok(()) => log::info!(target: "main", "ended"),
        Err(e) => log::error!(target: "main", "{e}"),
    }
    result
}

fn listen(at: &Listen, gid: Option<u32>) -> Result<Door, String> {
    match at {
        Listen::Unix(path) => UnixSocket::listen(path, SocketType::STREAM, gid).map(Door::unix),
        Listen::Tcp(host, port) => socket::listen_tcp(host, *port).map(Door::tcp),
    }
    .map_err(|e| e.to_string())
}

/// The control thread's work between start and end.
fn control<W: World>(
    config: &Config,
    world: Arc<W>,
    doors: Vec<Door>,
    signals: &Signals,
    ready: impl FnOnce() -> io::Result<()>,
) -> Result<(), String> {
    let said = |e: io::Error| e.to_string();
    let mut tree = Tree::new(commands::own::<W>()).map_err(|e| e.to_string())?;
    tree.add(world.commands()).map_err(|e| e.to_string())?;
    let clock = Arc::clone(&world);
    let mut events = EventLoop::new(world.waker(), move || clock.now()).map_err(said)?;
    signals.wake(world.waker());
    let mut control = Control { world, tree, server: Server::new(config) };

    startup(config, &mut control, &mut events, signals)?;
    for door in doors {
        server::open(door, &mut events).map_err(said)?;
    }
    if config.unix.interactive {
        server::interactive(&mut control, &mut events, config.unix.cli_line_mode).map_err(said)?;
    }
    ready().map_err(said)?;
    while !events.stopped() && !signals.end() {
        turn(&mut control, &mut events, signals)?;
    }
    server::close(&mut control, &mut events);
    log::info!(target: "main", "ending: {}", if signals.end() { "signalled" } else { "asked to" });
    Ok(())
}

fn turn<W: World>(
    control: &mut Control<W>,
    events: &mut EventLoop<Control<W>>,
    signals: &Signals,
) -> Result<(), String> {
    let look = |control: &mut Control<W>, events: &mut EventLoop<Control<W>>| {
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
        let processes = control.world.poll();
        if signals.end() || events.stopped() {
            return Some(Duration::ZERO);
        }
        [sessions, processes].into_iter().flatten().min()
    };
    events.turn(control, look).map(drop).map_err(|e| format!("epoll: {e}"))
}

/// Runs the scripts of the configuration. A script that fails ends the start: half a configuration is none.
fn startup<W: World>(
    config: &Config,
    control: &mut Control<W>,
    events: &mut EventLoop<Control<W>>,
    signals: &Signals,
) -> Result<(), String> {
    for path in config.unix.startup_config.iter().chain(&config.unix.exec) {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|e| format!("{name}: {e}"))?;
        let mut runner = Runner::default();
        runner.script(&name, text, false);
        let mut said = Vec::new();
        loop {
            let done = runner.poll(&control.tree, &control.world, control.world.now(), &mut said);
            for Said::Answer(text) | Said::Chunk(text) in said.drain(..) {
                text.lines().for_each(|line| log::info!(target: "cli", "{name}: {line}"));
            }
            match done {
                Some(Ok(())) => break,
                Some(Err(e)) => return Err(e.to_string()),
                None if signals.end() => return Err("told to end during the start".into()),
                None => {}
            }
            let now = control.world.now();
            let pause = runner.wake_at(now).map_or(Duration::ZERO, |at| at.saturating_sub(now));
            let look = |c: &mut Control<W>, _: &mut EventLoop<_>| {
                Some(c.world.poll().map_or(pause, |p| p.min(pause)))
            };
            events.turn(control, look).map_err(|e| format!("epoll: {e}"))?;
        }
    }
    Ok(())
}

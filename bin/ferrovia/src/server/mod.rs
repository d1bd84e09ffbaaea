// SPDX-License-Identifier: Apache-2.0
//! CLI sessions on sockets and on the daemon's own terminal.
//!
//! Nothing here waits for a client: sockets are non-blocking, a client that doesn't read is not
//! read from and its commands rest, and a client that is gone is removed together with its running
//! commands.

pub mod sessions;
mod terminal;
#[cfg(feature = "tests")]
mod tests;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use cli::Console;
use cli::session::SessionKind;
use rustix::io::Errno;
use rustix::net::{self, SocketFlags};

use self::sessions::Client;
use crate::connection_slots::{ConnectionLimits, ConnectionSlot, Entry};
use crate::control::Control;
use crate::event::{EventLoop, Interest, Ready};
use crate::origin::{self, Origin};
use crate::socket::UnixSocket;
use crate::world::World;

pub use terminal::{interactive, resize, restore};

/// Number of sessions at once. More are a fault of some script, and shouldn't use up the
/// descriptors.
const LIMITS: ConnectionLimits = ConnectionLimits { all: 256, kept: 16 };
/// Bytes read from one client before the next client's turn.
const READ: usize = 64 << 10;
/// Time that a client has to close its side after the session ends.
const LEAVE: Duration = Duration::from_secs(10);
/// Pause in accepting clients when the system gives no descriptor for a new one.
const PAUSE: Duration = Duration::from_secs(1);

/// A listening socket.
pub struct Listener(ListenerKind);

enum ListenerKind {
    Unix(UnixSocket),
    Tcp(TcpListener),
}

impl Listener {
    /// On a Unix socket; its path goes when the listener is dropped.
    pub fn unix(socket: UnixSocket) -> Listener {
        Listener(ListenerKind::Unix(socket))
    }

    /// On a TCP port; the listener is non-blocking.
    pub fn tcp(listener: TcpListener) -> Listener {
        Listener(ListenerKind::Tcp(listener))
    }

    /// Accepts the next client; returns its descriptor and origin.
    fn accept(&self) -> Result<(OwnedFd, Origin), Errno> {
        let fd = net::accept_with(self, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
        let origin = match &self.0 {
            ListenerKind::Unix(_) => Origin::of_unix(&fd),
            ListenerKind::Tcp(_) => {
                // Small answers must not wait for more.
                net::sockopt::set_tcp_nodelay(&fd, true)?;
                let peer = net::getpeername(&fd)?;
                let address = std::net::SocketAddr::try_from(peer.ok_or(Errno::NOTCONN)?)?;
                Origin::of_tcp(&fd, address)
            }
        };
        Ok((fd, origin))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.0 {
            ListenerKind::Unix(socket) => socket.fd.as_fd(),
            ListenerKind::Tcp(listener) => listener.as_fd(),
        }
    }
}

/// Name and start of every session, by number; for `show cli-sessions`.
static SESSIONS: Mutex<BTreeMap<u64, (String, SystemTime)>> = Mutex::new(BTreeMap::new());

/// Number, name and start of every session.
pub fn sessions() -> Vec<(u64, String, SystemTime)> {
    let sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    sessions.iter().map(|(id, (name, since))| (*id, name.clone(), *since)).collect()
}

thread_local! {
    /// Set while a command of the startup configuration runs.
    static STARTING: Cell<Option<Start>> = const { Cell::new(None) };
}

/// Treatment of the lines of a start that can't be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// They are pending; all other lines are run.
    Lenient,
    /// The first one ends the start.
    Strict,
}

/// Returns true while a command of the startup configuration or its scripts runs: no client has
/// asked for it.
pub fn is_starting() -> bool {
    STARTING.get().is_some()
}

/// Returns true while such a command runs and lines that can't be run are left out.
pub fn is_lenient_start() -> bool {
    STARTING.get() == Some(Start::Lenient)
}

/// Sets the result of [`is_starting`].
pub fn set_starting(start: Option<Start>) {
    STARTING.set(start);
}

type Loop<W> = EventLoop<Control<W>>;

/// Accepts clients on `listener`.
pub fn open<W: World>(listener: Listener, events: &mut Loop<W>) -> io::Result<()> {
    let listener = Rc::new(listener);
    let own = Rc::new(std::cell::Cell::new(None));
    let (accepting, token) = (Rc::clone(&listener), Rc::clone(&own));
    own.set(Some(events.add(
        listener,
        Interest::READ,
        move |control: &mut Control<W>, events, _| {
            if let Err(e) = enter(&accepting, control, events) {
                log::warn!(target: "cli", "no new sessions for a second: {}", io::Error::from(e));
                events.pause(token.get(), PAUSE);
            }
        },
    )?));
    Ok(())
}

/// Accepts every waiting client.
fn enter<W: World>(
    listener: &Listener,
    control: &mut Control<W>,
    events: &mut Loop<W>,
) -> Result<(), Errno> {
    loop {
        match listener.accept() {
            Ok((fd, origin)) => {
                let now = control.world.now();
                let slot = |(id, c): (&u64, &Client)| ConnectionSlot {
                    id: *id,
                    peer: c.origin.peer,
                    state: c.state(),
                    last: c.last,
                };
                let sessions = control.server.clients.iter().filter(|(_, c)| !c.own_terminal);
                match LIMITS.enter(origin.peer, now, sessions.map(slot)) {
                    Entry::Free => {}
                    Entry::Instead(id)
                        if control.server.clients.get(&id).is_some_and(|c| c.leaving.is_some()) =>
                    {
                        remove(control, events, id);
                    }
                    Entry::Instead(id) => {
                        log::info!(target: "cli", "session {id} makes room for {origin}: it was idle for longest");
                        dismiss(
                            control,
                            events,
                            id,
                            "this session was idle for longest, and others wait",
                        );
                    }
                    Entry::Full => {
                        log::warn!(target: "cli", "{origin} turned away: there are too many sessions already");
                        // It may not fit; then the client just sees the end.
                        let _ = rustix::io::write(&fd, b"there are too many sessions already\n");
                        continue;
                    }
                }
                let fd = Rc::new(fd);
                let added = add(control, events, SessionKind::Socket, Rc::clone(&fd), fd, origin);
                added.map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
            }
            Err(Errno::AGAIN) => return Ok(()),
            // The client has gone meanwhile.
            Err(
                Errno::CONNABORTED | Errno::INTR | Errno::NOTCONN | Errno::CONNRESET | Errno::INVAL,
            ) => {}
            Err(e) => return Err(e),
        }
    }
}

/// Adds a session.
fn add<W: World>(
    control: &mut Control<W>,
    events: &mut Loop<W>,
    kind: SessionKind,
    input: Rc<OwnedFd>,
    output: Rc<OwnedFd>,
    origin: Origin,
) -> io::Result<()> {
    let last = control.world.now();
    let server = &mut control.server;
    let id = server.next;
    server.next += 1;
    let mut watch = |fd: &Rc<OwnedFd>, interest| {
        let fd = Rc::<OwnedFd>::clone(fd);
        match events.add(fd, interest, move |control: &mut Control<W>, events, ready| {
            on_ready(control, events, id, ready);
        }) {
            Ok(token) => Ok(Some(token)),
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(None), // a file
            Err(e) => Err(e),
        }
    };
    let watched = watch(&input, Interest::READ)?;
    let writer = if Rc::ptr_eq(&input, &output) { None } else { watch(&output, Interest::NONE)? };
    let mut console = Console::new(kind, &server.look);
    if origin.program() == Some("vppctl") {
        console.remind_idle_scripts();
    }
    let own_terminal = kind != SessionKind::Socket;
    let (file, name) = (watched.is_none(), origin.to_string());
    server.clients.insert(
        id,
        Client {
            console,
            input,
            output,
            watched,
            writer,
            wake: None,
            file,
            own_terminal,
            origin,
            spoke: false,
            last,
            leaving: None,
        },
    );
    log::debug!(target: "cli", "session {id}: {name}");
    let mut sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    sessions.insert(id, (name, SystemTime::now()));
    drop(sessions);
    // Sends the greeting, or banner and prompt.
    serve(control, events, id);
    Ok(())
}

/// Handles input from a client, and room for output to it.
fn on_ready<W: World>(control: &mut Control<W>, events: &mut Loop<W>, id: u64, ready: Ready) {
    let now = control.world.now();
    let Some(client) = control.server.clients.get_mut(&id) else { return };
    if client.leaving.is_some() {
        if ready.closed || drain(client) {
            remove(control, events, id);
        }
        return;
    }
    if ready.read || ready.write {
        client.last = now;
    }
    let open = !ready.read || read(client);
    if !open || (ready.closed && !client.console.wants_input()) {
        // From now on it would be ready all the time. Input received before is still processed.
        client
            .watched
            .take()
            .into_iter()
            .chain(client.writer.take())
            .for_each(|token| events.remove(token));
        client.console.eof();
    }
    serve(control, events, id);
}

/// Reads the available bytes; returns false if the connection is broken.
fn read(client: &mut Client) -> bool {
    let mut buffer = [0; 16 << 10];
    let mut left = READ;
    while left > 0 && client.console.wants_input() {
        match rustix::io::read(&client.input, &mut buffer[..]) {
            Ok(0) => {
                client.console.eof();
                return true;
            }
            Ok(n) => {
                client.spoke = true;
                client.console.input(&buffer[..n]);
                left = left.saturating_sub(n);
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return true,
            Err(_) => return false,
        }
    }
    true
}

/// Discards input behind the end of a session; returns true if the client has closed too.
fn drain(client: &Client) -> bool {
    let mut buffer = [0; 16 << 10];
    match rustix::io::read(&client.input, &mut buffer[..]) {
        Ok(n) => n == 0,
        Err(e) => !matches!(e, Errno::AGAIN | Errno::INTR),
    }
}

/// Writes as much as the descriptor takes; returns false if the other end is closed.
fn write(client: &mut Client) -> bool {
    while !client.console.output().is_empty() {
        match rustix::io::write(&client.output, client.console.output()) {
            Ok(n) => client.console.sent(n),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return true,
            Err(_) => return false,
        }
    }
    true
}

/// Runs one turn of a session: new input, running commands, unsent output.
fn serve<W: World>(control: &mut Control<W>, events: &mut Loop<W>, id: u64) {
    let Control { world, tree, server, .. } = control;
    let Some(client) = server.clients.get_mut(&id).filter(|c| c.leaving.is_none()) else { return };
    if client.file && !read(client) {
        client.console.eof();
    }
    let Client { console, origin, .. } = &mut *client;
    origin::during(origin, || console.poll(tree, &**world, world.now()));
    let heard = write(client);
    client.wake = client.console.wake_at(world.now());
    let pending = !client.console.output().is_empty();
    if !heard {
        return remove(control, events, id);
    }
    if client.console.is_closed() && !pending {
        return leave(control, events, id);
    }
    let interest = Interest { read: client.console.wants_input(), write: pending };
    let one = client.writer.is_none();
    let reads = client.watched.map(|t| (t, Interest { write: interest.write && one, ..interest }));
    let writes = client.writer.map(|t| (t, Interest { read: false, ..interest }));
    let mut set = reads
        .into_iter()
        .chain(writes)
        .map(|(token, interest)| events.set_interest(token, interest));
    if let Some(e) = set.find_map(Result::err) {
        log::error!(target: "cli", "session {id}: {e}");
        remove(control, events, id);
    }
}

/// Ends a session: shuts the sending side, and waits until the client has read everything and
/// closed. `vppctl` sends `quit` more than once behind a script; it would be killed by a closed
/// socket (SIGPIPE), and lose what it hasn't read yet.
fn leave<W: World>(control: &mut Control<W>, events: &mut Loop<W>, id: u64) {
    let until = control.world.now() + LEAVE;
    let Some(client) = control.server.clients.get_mut(&id) else { return };
    let stays = match client.watched.filter(|_| !client.own_terminal) {
        Some(token) => {
            net::shutdown(&client.output, net::Shutdown::Write).is_ok()
                && !drain(client)
                && events.set_interest(token, Interest::READ).is_ok()
        }
        None => false,
    };
    if !stays {
        return remove(control, events, id);
    }
    (client.leaving, client.wake) = (Some(until), None);
}

fn remove<W: World>(control: &mut Control<W>, events: &mut Loop<W>, id: u64) {
    let Some(client) = control.server.clients.remove(&id) else { return };
    client.watched.into_iter().chain(client.writer).for_each(|token| events.remove(token));
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    log::debug!(target: "cli", "session {id} ended");
    if client.own_terminal {
        terminal::restore();
        events.stop();
    }
}

/// Ends a session, and sends it the reason if it still reads.
fn dismiss<W: World>(control: &mut Control<W>, events: &mut Loop<W>, id: u64, why: &str) {
    if let Some(client) = control.server.clients.get_mut(&id)
        && write(client)
    {
        // It may not fit; then the client just sees the end.
        let _ = rustix::io::write(&client.output, format!("\r\n{why}\r\n").as_bytes());
    }
    remove(control, events, id);
}

/// Serves every session that is due; returns the time until the next one is.
pub fn poll<W: World>(control: &mut Control<W>, events: &mut Loop<W>) -> Option<Duration> {
    let now = control.world.now();
    let clients = &control.server.clients;
    let due: Vec<u64> = clients
        .iter()
        .filter(|(_, c)| c.wake.is_some_and(|at| at <= now))
        .map(|(id, _)| *id)
        .collect();
    for id in due {
        serve(control, events, id);
    }
    let timeout = control.server.timeout;
    let late = |c: &Client| c.ends_at(timeout).is_some_and(|at| at <= now);
    let late: Vec<u64> =
        control.server.clients.iter().filter(|(_, c)| late(c)).map(|(id, _)| *id).collect();
    for id in late {
        if control.server.clients.get(&id).is_some_and(|c| c.leaving.is_some()) {
            remove(control, events, id);
            continue;
        }
        log::info!(target: "cli", "session {id} ended: it was idle for too long");
        dismiss(control, events, id, "this session was idle for too long");
    }
    let ends = |c: &Client| c.wake.into_iter().chain(c.ends_at(timeout)).min();
    let next = control.server.clients.values().filter_map(ends).min()?;
    Some(next.saturating_sub(control.world.now()))
}

/// Sends the output that is ready, and ends all sessions.
pub fn close<W: World>(control: &mut Control<W>, events: &mut Loop<W>) {
    let ids: Vec<u64> = control.server.clients.keys().copied().collect();
    for id in ids {
        if let Some(client) = control.server.clients.get_mut(&id) {
            write(client);
        }
        remove(control, events, id);
    }
}

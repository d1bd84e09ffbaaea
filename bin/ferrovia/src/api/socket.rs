// SPDX-License-Identifier: Apache-2.0
//! Clients of the binary API on Unix sockets.
//!
//! Nothing here waits for a client: a client that doesn't read gets no further answer, and its
//! requests rest; a client that lets its events pile up is disconnected; each client has a limited
//! share of every turn.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use msg::Session;
use rustix::io::Errno;
use rustix::net::{self, SocketFlags};

use super::clients::Client;
use crate::connection_slots::{ConnectionLimits, ConnectionSlot, Entry};
use crate::control::Control;
use crate::event::{EventLoop, Interest, Ready};
use crate::origin::{self, Origin};
use crate::socket::UnixSocket;
use crate::world::World;

/// Clients at once.
const LIMITS: ConnectionLimits = ConnectionLimits { all: 512, kept: 16 };
/// Bytes read from one client, and steps done for it, before the next client's turn.
const READ: usize = 64 << 10;
const STEPS: usize = 256;
/// Turns for what is left of a client that is gone.
const MAX_FINISH: usize = 64;
/// Pause in accepting clients when the system gives no descriptor for a new one.
const PAUSE: Duration = Duration::from_secs(1);

type Loop<W> = EventLoop<Control<W>>;

/// Accepts clients on `listener`.
pub fn open<W: World>(listener: UnixSocket, events: &mut Loop<W>) -> io::Result<()> {
    let listener = Rc::new(listener);
    let accepting = Rc::clone(&listener);
    let own = Rc::new(std::cell::Cell::new(None));
    let token = Rc::clone(&own);
    let fd: Rc<dyn AsFd> = listener;
    own.set(Some(events.add(fd, Interest::READ, move |control: &mut Control<W>, events, _| {
        if let Err(e) = enter(&accepting, control, events) {
            log::warn!(target: "api", "no new clients for a second: {}", io::Error::from(e));
            events.pause(token.get(), PAUSE);
        }
    })?));
    Ok(())
}

/// Accepts every waiting client.
fn enter<W: World>(
    listener: &UnixSocket,
    control: &mut Control<W>,
    events: &mut Loop<W>,
) -> Result<(), Errno> {
    loop {
        match net::accept_with(&listener.fd, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(fd) => {
                let origin = Origin::of_unix(&fd);
                let (world, now) = (&control.world, control.world.now());
                let slot = |(id, c): (&u64, &Client<W>)| ConnectionSlot {
                    id: *id,
                    peer: c.origin.peer,
                    state: c.state(world),
                    last: c.last,
                };
                match LIMITS.enter(origin.peer, now, control.api.clients.iter().map(slot)) {
                    Entry::Free => {}
                    Entry::Instead(id) => {
                        remove(control, events, id, "it was idle for longest, and others wait")
                    }
                    Entry::Full => {
                        log::warn!(target: "api", "{origin} turned away: there are too many clients already");
                        continue;
                    }
                }
                let fd = Rc::new(fd);
                let id = control.api.next;
                control.api.next += 1;
                let token = events
                    .add(
                        Rc::<OwnedFd>::clone(&fd),
                        Interest::READ,
                        move |control: &mut Control<W>, events, ready| {
                            on_ready(control, events, id, ready);
                        },
                    )
                    .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
                log::debug!(target: "api", "{origin} connected");
                let session = Session::default();
                let (token, finish) = (Some(token), MAX_FINISH);
                let client = Client {
                    session,
                    fd,
                    token,
                    finish,
                    origin,
                    wake: None,
                    ended: false,
                    last: now,
                };
                control.api.clients.insert(id, client);
            }
            Err(Errno::AGAIN) => return Ok(()),
            // The client has gone meanwhile.
            Err(Errno::CONNABORTED | Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
}

fn on_ready<W: World>(control: &mut Control<W>, events: &mut Loop<W>, id: u64, ready: Ready) {
    let now = control.world.now();
    let Some(client) = control.api.clients.get_mut(&id) else { return };
    if ready.read || ready.write {
        client.last = now;
    }
    if ready.read
        && let Err(why) = read(client)
    {
        return remove(control, events, id, &why);
    }
    if ready.closed {
        // The requests it sent before are still processed, in turns like any other client's.
        if let Some(token) = client.token.take() {
            events.remove(token);
        }
        client.wake = Some(control.world.now());
        return;
    }
    serve(control, events, id);
}

/// Runs one turn of a client that has closed: its remaining requests are processed, their answers
/// discarded.
fn finish<W: World>(control: &mut Control<W>, events: &mut Loop<W>, id: u64) {
    let Control { world, api, .. } = control;
    let Some(client) = api.clients.get_mut(&id) else { return };
    let now = world.now();
    let Client { session, origin, .. } = &mut *client;
    let turn = origin::during(origin, || session.run(world, world.api(), now, STEPS));
    client.session.sent(client.session.output().len());
    let more = turn.is_ok_and(|turn| turn.more || turn.full);
    client.finish -= 1;
    if client.finish == 0 || read(client).is_err() || client.ended && !more {
        return remove(control, events, id, "ended");
    }
    client.wake = Some(now);
}

/// Reads the available bytes. The error is the reason why the connection ends.
fn read<W>(client: &mut Client<W>) -> Result<(), String> {
    let mut buffer = [0; 16 << 10];
    let mut left = READ;
    while left > 0 && !client.ended && client.session.wants_input() {
        let room = client.session.takes().min(buffer.len());
        match rustix::io::read(&client.fd, &mut buffer[..room]) {
            Ok(0) => client.ended = true,
            Ok(n) => {
                client.session.receive(&buffer[..n]).map_err(|e| e.to_string())?;
                left = left.saturating_sub(n);
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => break,
            Err(e) => return Err(io::Error::from(e).to_string()),
        }
    }
    Ok(())
}

/// Writes as much as the socket takes.
fn write<W>(client: &mut Client<W>) -> Result<(), String> {
    while !client.session.output().is_empty() {
        // A client that is gone must not end us by a signal.
        match net::send(&client.fd, client.session.output(), net::SendFlags::NOSIGNAL) {
            Ok(n) => client.session.sent(n),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => break,
            Err(e) => return Err(io::Error::from(e).to_string()),
        }
    }
    Ok(())
}

/// Runs one turn of a client: new requests, pending requests, unsent answers.
fn serve<W: World>(control: &mut Control<W>, events: &mut Loop<W>, id: u64) {
    let Control { world, api, .. } = control;
    let Some(client) = api.clients.get_mut(&id) else { return };
    let Some(token) = client.token else { return finish(control, events, id) };
    let now = world.now();
    let Client { session, origin, .. } = &mut *client;
    let turn = match origin::during(origin, || session.run(world, world.api(), now, STEPS)) {
        Ok(turn) => turn,
        Err(fault) => return remove(control, events, id, &fault.to_string()),
    };
    if let Err(why) = write(client) {
        return remove(control, events, id, &why);
    }
    let unsent = !client.session.output().is_empty();
    let more = turn.more || turn.full;
    let idle = !more && turn.wake_at.is_none() && client.session.wants_input();
    if !unsent && (turn.close || client.ended && idle) {
        return remove(control, events, id, "ended");
    }
    // With an empty output there may be more to do at once.
    let later = turn.wake_at.into_iter().chain(client.session.report_at()).min();
    client.wake = if more && !unsent { Some(now) } else { later };
    let read = !client.ended && client.session.wants_input() && !unsent;
    if let Err(e) = events.set_interest(token, Interest { read, write: unsent }) {
        remove(control, events, id, &e.to_string());
    }
}

fn remove<W: World>(control: &mut Control<W>, events: &mut Loop<W>, id: u64, why: &str) {
    let Some(mut client) = control.api.clients.remove(&id) else { return };
    if let Some(token) = client.token {
        events.remove(token);
    }
    let Client { session, origin, .. } = &mut client;
    origin::during(origin, || session.end(control.world.api()));
    log::debug!(target: "api", "{} is gone: {why}", client.origin);
}

/// Serves every client that is due, or all if there are new events; returns the time until the next
/// one is due.
pub fn poll<W: World>(control: &mut Control<W>, events: &mut Loop<W>) -> Option<Duration> {
    let (now, news) = (control.world.now(), control.world.api().take_news());
    let due = |c: &Client<W>| news || c.wake.is_some_and(|at| at <= now);
    let ids: Vec<u64> =
        control.api.clients.iter().filter(|(_, c)| due(c)).map(|(id, _)| *id).collect();
    for id in ids {
        serve(control, events, id);
    }
    let (world, timeout) = (Arc::clone(&control.world), control.api.timeout);
    let late = |c: &Client<W>| c.ends_at(&world, timeout).is_some_and(|at| at <= now);
    let late: Vec<u64> =
        control.api.clients.iter().filter(|(_, c)| late(c)).map(|(id, _)| *id).collect();
    for id in late {
        remove(control, events, id, "it was idle for too long");
    }
    let ends = |c: &Client<W>| c.wake.into_iter().chain(c.ends_at(&world, timeout)).min();
    let next = control.api.clients.values().filter_map(ends).min()?;
    Some(next.saturating_sub(control.world.now()))
}

/// Sends the answers that are ready, and disconnects all clients.
pub fn close<W: World>(control: &mut Control<W>, events: &mut Loop<W>) {
    let ids: Vec<u64> = control.api.clients.keys().copied().collect();
    for id in ids {
        if let Some(client) = control.api.clients.get_mut(&id) {
            // It may be gone already.
            let _ = write(client);
        }
        remove(control, events, id, "the daemon ends");
    }
}

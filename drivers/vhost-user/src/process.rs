// SPDX-License-Identifier: Apache-2.0
//! `vhost-user-process`: the control protocol. It never waits for a front-end: sockets don't block,
//! and a message that comes in parts is kept until it is whole.

use crate::control::Vhosts;
use crate::device::VhostDevice;
use crate::proto::{End, Received, Step};
use crate::socket;
use graph::{Process, Sleep, Wake, World};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// A client tries again after so many nanoseconds.
const RETRY: u64 = 3_000_000_000;
/// A listener that fails, because no descriptor is left, is left alone for so many nanoseconds.
const PAUSE: u64 = 1_000_000_000;
/// Messages that are read from one connection in a turn.
const MESSAGES: usize = 64;
/// Connections that are accepted at one socket in a turn. The last one stays.
const ACCEPTS: usize = 16;

pub fn start(world: &World) -> Result<(), String> {
    let vhosts = world.get::<Vhosts>();
    let signal = vhosts.waits.signal.clone();
    vhosts.waits.start(world).map_err(|error| format!("vhost-user: {error}"))?;
    world.processes.spawn(Box::new(VhostProcess(vhosts)), &signal);
    Ok(())
}

struct VhostProcess(Arc<Vhosts>);

impl Process for VhostProcess {
    fn name(&self) -> &'static str {
        "vhost-user-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let vhosts = &self.0;
        for device in vhosts.ready() {
            // Messages that a front-end has sent before another one took its place are read first.
            serve(world, vhosts, &device);
            accept(world, vhosts, &device);
        }
        for device in vhosts.broken() {
            lose_memory(world, vhosts, &device);
        }
        let now = world.clock.now();
        let mut next = None;
        for device in vhosts.devices() {
            if due(&device).is_some_and(|due| due <= now) {
                connect(world, vhosts, &device, now);
            }
            let resumes = vhosts.resume(&device, now);
            next = due(&device).into_iter().chain(resumes).chain(next).min();
        }
        next.map_or(Sleep::Event, Sleep::Until)
    }
}

/// When a client has to connect.
fn due(device: &VhostDevice) -> Option<u64> {
    let is_client = !device.config().is_server;
    let state = device.state();
    (is_client && state.conn.is_none()).then_some(state.retry)
}

fn connect(world: &World, vhosts: &Vhosts, device: &VhostDevice, now: u64) {
    device.state().retry = now + RETRY;
    match socket::connect_to(&device.config().socket) {
        Ok(fd) => vhosts.connected(world, device, fd),
        // Nobody listens yet: it is tried again.
        Err(error) => device.state().errno = error.raw_os_error(),
    }
}

fn accept(world: &World, vhosts: &Vhosts, device: &VhostDevice) {
    for _ in 0..ACCEPTS {
        let accepted = match &device.state().listener {
            Some(listener) => accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK),
            None => return,
        };
        match accepted {
            Ok(fd) => vhosts.connected(world, device, fd),
            Err(Errno::AGAIN) => return,
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(error) => {
                log::error!(target: "vhost-user", "{}: accept: {error}", device.config().socket);
                device.state().errno = error.raw_os_error();
                return vhosts.pause(device, world.clock.now() + PAUSE);
            }
        }
    }
}

/// Reads what a front-end has sent, and answers.
fn serve(world: &World, vhosts: &Vhosts, device: &VhostDevice) {
    for _ in 0..MESSAGES {
        let result = match step(device) {
            Ok(None) => return,
            Ok(Some(Step { changed: true, .. })) => {
                device.update(world).map_err(|error| End::new(error.to_string()))
            }
            Ok(Some(_)) => Ok(()),
            Err(end) => Err(end),
        };
        if let Err(End(reason)) = result {
            return end(world, vhosts, device, &reason);
        }
    }
}

/// Carries out the next message of a front-end. `None` if there is none.
fn step(device: &VhostDevice) -> Result<Option<Step>, End> {
    let mut state = device.state();
    let Some(conn) = &mut state.conn else { return Ok(None) };
    let (message, fds): (_, Vec<OwnedFd>) = match conn.channel.receive() {
        Received::Nothing => return Ok(None),
        Received::Closed => return Err(End::new("closed by the other end")),
        Received::Malformed(text) => return Err(End(text)),
        Received::Message(message, fds) => (message, fds),
    };
    log::debug!(target: "vhost-user", "{:?}", message.request);
    let step = conn.session.step(&message, fds)?;
    if let Some(reply) = step.reply {
        let fd = step.fd.as_ref().map(AsFd::as_fd);
        let sent = conn.channel.send(&reply.encode(message.kind), fd);
        sent.map_err(|error| End(format!("{}: {error}", message.kind.name())))?;
    }
    Ok(Some(step))
}

/// Ends the connection of a front-end that has made a file shorter which is mapped here, or whose
/// file system had no page for it (a full tmpfs, no huge page). Zeros took the place of its
/// packets, maybe of its rings: nothing can go on.
fn lose_memory(world: &World, vhosts: &Vhosts, device: &VhostDevice) {
    let Some(what) = device.lost_memory() else { return };
    let reason =
        format!("{what} is gone: the front-end has shrunk its file, or no memory is left for it");
    log::warn!(target: "vhost-user", "{}: {reason}", device.config().socket);
    device.state().memory_lost += 1;
    end(world, vhosts, device, &reason);
}

/// Ends a connection, and notes why.
fn end(world: &World, vhosts: &Vhosts, device: &VhostDevice, reason: &str) {
    log::info!(target: "vhost-user", "{}: disconnected: {reason}", device.config().socket);
    device.disconnect(world, reason);
    device.state().retry = world.clock.now() + RETRY;
    vhosts.waits.signal.raise();
}

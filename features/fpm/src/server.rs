// SPDX-License-Identifier: Apache-2.0
//! One peer whose messages count, and a few that wait for it to end.

use crate::engine::Engine;
use crate::frame::{BadFrame, Frames};
use crate::settings::Settings;
use crate::socket::{Active, Connection, Events, Listener};
use graph::World;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};

/// Connections that wait: their messages are read once they are first.
pub const WAITING: usize = 4;
/// Connections that are accepted in one turn of the control thread.
const ACCEPTS: usize = 64;
/// Messages that are read in one turn, with the next hops of their routes.
const AT_ONCE: usize = 4096;
/// Bytes of answers that wait for the peer before no more of its messages are read.
const ANSWERS: usize = 1 << 20;
/// Nanoseconds for which a peer may send nothing at all while others wait.
const SILENCE: u64 = 5_000_000_000;

/// Numbers of connections.
#[derive(Clone, Copy, Default, Debug)]
pub struct Connections {
    /// Connections whose messages were read.
    pub accepted: u64,
    /// Connections that were closed at once, since others wait.
    pub refused: u64,
    /// Connections that were closed for bytes that are no frames.
    pub broken: u64,
    /// Connections that were closed since their peer sent nothing while others waited.
    pub silent: u64,
    /// Connections that couldn't be accepted.
    pub failed: u64,
    /// Frames that were read.
    pub frames: u64,
    /// Bytes that were read.
    pub bytes: u64,
}

/// The end of a connection.
#[derive(Debug)]
pub enum End {
    /// The peer has closed it.
    Closed,
    /// It has sent no frame, and others wait.
    Silent,
    /// It has sent something else than frames.
    Broken(BadFrame),
    /// The system's error.
    Failed(io::Error),
}

/// The state of a read.
pub enum Progress {
    /// There may be more.
    More,
    /// All that has come was read, or the peer doesn't take its answers.
    Drained,
    /// The connection has ended.
    Ended(End),
}

/// A listener and its connections.
pub struct Server {
    pub listener: Listener,
    pub active: Option<Active>,
    pub waiting: VecDeque<Connection>,
    pub counts: Connections,
    /// The system has no descriptors left: the listener doesn't wake.
    pub is_paused: bool,
    /// The active connection wakes when it can be read, and when it can be written to.
    wakes: (bool, bool),
}

impl Server {
    /// Listens as these settings say.
    ///
    /// # Errors
    /// Those of [`Listener::open`].
    pub fn open(settings: &Settings, events: &Events) -> io::Result<Self> {
        let listener = Listener::open(settings)?;
        events.read(&listener)?;
        Ok(Self {
            listener,
            active: None,
            waiting: VecDeque::new(),
            counts: Connections::default(),
            is_paused: false,
            wakes: (true, false),
        })
    }

    /// Takes connections that have come, some at a time. Returns false if the system has no
    /// descriptors for more: then the listener is paused.
    pub fn accept(&mut self, world: &World, events: &Events) -> bool {
        for _ in 0..ACCEPTS {
            let (stream, peer) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) => {
                    self.counts.failed += 1;
                    // The peer may be gone already; anything else lasts.
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted)
                    {
                        continue;
                    }
                    events.end(&self.listener);
                    self.is_paused = true;
                    return false;
                }
            };
            if self.waiting.len() >= WAITING {
                self.counts.refused += 1;
                continue;
            }
            if events.wait(&stream).is_err() {
                self.counts.failed += 1;
                continue;
            }
            self.waiting.push_back(Connection { stream, peer, since: world.clock.now() });
        }
        true
    }

    /// Listens again after a pause.
    pub fn resume(&mut self, events: &Events) {
        if self.is_paused {
            self.is_paused = events.read(&self.listener).is_err();
        }
    }

    /// Gives up waiting connections whose peer is gone, and makes the first of them active if there
    /// is none.
    pub fn promote(&mut self, world: &World, events: &Events) {
        if self.active.is_some() {
            self.waiting.retain(|connection| !is_gone(connection));
            return;
        }
        // One that is gone already may have sent something whole before.
        while let Some(connection) = self.waiting.pop_front() {
            if events.change(&connection.stream, true, false).is_err() {
                self.counts.failed += 1;
                continue;
            }
            let connection = Connection { since: world.clock.now(), ..connection };
            self.counts.accepted += 1;
            self.wakes = (true, false);
            self.active = Some(Active {
                connection,
                frames: Frames::default(),
                has_sent: false,
                out: Vec::new(),
            });
            return;
        }
    }

    /// The time at which the active connection is closed, if its peer sends no frame until then:
    /// one that says nothing must not keep others from their turn.
    pub fn silent_at(&self) -> Option<u64> {
        let active = self.active.as_ref().filter(|active| !active.has_sent)?;
        (!self.waiting.is_empty()).then_some(active.connection.since + SILENCE)
    }

    /// Reads messages of the active connection, a slice of what there is.
    pub fn read(&mut self, world: &World, engine: &mut Engine, events: &Events) -> Progress {
        let Some(active) = &mut self.active else { return Progress::Drained };
        let progress = read(active, world, engine, &mut self.counts);
        engine.flush(world, &mut active.out);
        if let Err(error) = active.write() {
            return Progress::Ended(End::Failed(error));
        }
        // The rest after a short write goes out when there is room, not when the peer sends next.
        let wakes = (active.out.len() <= ANSWERS, !active.out.is_empty());
        if wakes != self.wakes {
            // A socket that has been watched may be changed.
            let _ = events.change(&active.connection.stream, wakes.0, wakes.1);
            self.wakes = wakes;
        }
        if matches!(progress, Progress::Drained)
            && self.silent_at().is_some_and(|at| at <= world.clock.now())
        {
            return Progress::Ended(End::Silent);
        }
        progress
    }
}

/// Returns true if the peer of a connection has closed it: what it has sent is given up.
fn is_gone(connection: &Connection) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(&connection.stream, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    poll(&mut fds, Some(&now)).is_ok_and(|n| n > 0 && fds[0].revents().intersects(gone))
}

fn read(
    active: &mut Active,
    world: &World,
    engine: &mut Engine,
    counts: &mut Connections,
) -> Progress {
    let Active { connection, frames, has_sent, out } = active;
    let mut n = 0;
    loop {
        loop {
            // Neither the control thread's time nor memory for answers is the peer's alone.
            if n >= AT_ONCE {
                return Progress::More;
            }
            if out.len() > ANSWERS {
                return Progress::Drained;
            }
            match frames.take() {
                Ok(Some(frame)) => {
                    counts.frames += 1;
                    *has_sent = true;
                    n += 1;
                    for message in netlink::split(frame) {
                        let Ok(message) = message else {
                            return Progress::Ended(End::Broken(BadFrame::Message));
                        };
                        n += engine.apply(world, &message, out);
                    }
                }
                Ok(None) => break,
                Err(bad) => return Progress::Ended(End::Broken(bad)),
            }
        }
        match frames.fill(|bytes| connection.stream.read(bytes)) {
            Ok(0) if frames.is_cut() => return Progress::Ended(End::Broken(BadFrame::Cut)),
            Ok(0) => return Progress::Ended(End::Closed),
            Ok(n) => counts.bytes += n as u64,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Progress::Drained,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Progress::Ended(End::Failed(error)),
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
//! Sockets by which peers share memory with a driver, as its control process serves them.

use crate::event::Event;
use graph::{Signal, World};
use rustix::event::{Timespec, epoll};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, OnceLock};

/// Descriptors that are looked at in one turn.
const EVENTS: usize = 64;
/// The token of the event that is raised when a peer has taken memory away.
const SHRUNK: u64 = u64::MAX;

/// The sockets of a driver.
pub struct Sockets {
    /// Wakes the process that serves them.
    pub signal: Signal,
    waits: OnceLock<Waits>,
}

/// An epoll of all sockets and of the event.
struct Waits {
    epoll: OwnedFd,
    shrunk: Arc<Event>,
}

impl Sockets {
    /// None, of a plugin that isn't started.
    pub fn new(world: &World) -> Self {
        Self { signal: world.processes.signal(), waits: OnceLock::new() }
    }

    /// Prepares to wait for sockets, when the plugin starts.
    ///
    /// # Errors
    /// Of epoll or eventfd.
    pub fn start(&self, world: &World) -> io::Result<()> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        world.processes.watch(&epoll, &self.signal)?;
        let shrunk = Arc::new(Event::new()?);
        epoll::add(&epoll, &shrunk, epoll::EventData::new_u64(SHRUNK), epoll::EventFlags::IN)?;
        // It is called once.
        let _ = self.waits.set(Waits { epoll, shrunk });
        Ok(())
    }

    fn waits(&self) -> io::Result<&Waits> {
        self.waits.get().ok_or_else(|| io::Error::other("the plugin isn't started"))
    }

    /// Waits for a socket, which doesn't block. Its descriptor leaves when it is closed.
    ///
    /// # Errors
    /// Of epoll.
    pub fn watch(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.waits()?.epoll, fd, data, epoll::EventFlags::IN)?)
    }

    /// Ends [`Self::watch`].
    pub fn unwatch(&self, fd: impl AsFd) {
        if let Ok(waits) = self.waits() {
            // It may not be watched.
            let _ = epoll::delete(&waits.epoll, fd);
        }
    }

    /// Tokens of sockets that are readable, each once.
    pub fn ready(&self) -> Vec<u64> {
        let Ok(waits) = self.waits() else { return Vec::new() };
        let none =
            epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let mut events = [none; EVENTS];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        // An interrupted call finds nothing, and what is ready stays so.
        let count = epoll::wait(&waits.epoll, &mut events[..], Some(&now)).unwrap_or(0);
        let mut ready: Vec<_> = events[..count].iter().map(|event| event.data.u64()).collect();
        ready.retain(|token| *token != SHRUNK);
        ready.sort_unstable();
        ready.dedup();
        ready
    }

    /// The event that a thread raises when a peer has taken memory away.
    pub fn wake(&self) -> Option<Arc<Event>> {
        self.waits().ok().map(|waits| waits.shrunk.clone())
    }

    /// Returns true if a peer has taken memory away since the last call.
    pub fn have_shrunk(&self) -> bool {
        self.waits().is_ok_and(|waits| waits.shrunk.clear())
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use graph::drive::Bench;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    #[suite::test]
    fn readable_sockets_wake_their_process() {
        let bench = Bench::new(&[]);
        let sockets = Sockets::new(&bench.world);
        let pair = || {
            let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
            socketpair(family, kind, SocketFlags::NONBLOCK, None).expect("a pair")
        };
        let [(ours, theirs), (other, _end)] = [pair(), pair()];
        assert!(sockets.watch(&ours, 1).is_err(), "it isn't started");
        assert_eq!((sockets.ready(), sockets.have_shrunk()), (vec![], false));
        sockets.start(&bench.world).expect("started");
        sockets.watch(&ours, 7).expect("watched");
        sockets.watch(&other, 8).expect("watched");
        assert_eq!(sockets.ready(), [0; 0]);
        rustix::io::write(&theirs, b"x").expect("written");
        sockets.wake().expect("started").raise();
        assert_eq!(sockets.ready(), [7]);
        assert!(sockets.have_shrunk() && !sockets.have_shrunk());
        assert_eq!(sockets.ready(), [7], "it is readable as long as nobody reads");
        sockets.unwatch(&ours);
        assert_eq!(sockets.ready(), [0; 0]);
        // The end of a peer is something to read.
        drop(_end);
        assert_eq!(sockets.ready(), [8]);
        drop(other);
        assert_eq!(sockets.ready(), [0; 0]);
    }
}

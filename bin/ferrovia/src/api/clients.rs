// SPDX-License-Identifier: Apache-2.0
//! Clients of the binary API.

use crate::config::Config;
use crate::connection_slots::State;
use crate::event::Token;
use crate::origin::Origin;
use crate::world::World;
use msg::Session;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

/// A client and its descriptor.
pub(super) struct Client<W: 'static> {
    pub session: Session<W>,
    pub fd: Rc<OwnedFd>,
    /// None once it has closed: then `finish` turns are left for its remaining requests.
    pub token: Option<Token>,
    pub finish: usize,
    /// Time of the last byte from the client or to it.
    pub last: Duration,
    /// The client as the system knows it.
    pub origin: Origin,
    /// Time at which to serve it next if nothing comes from it.
    pub wake: Option<Duration>,
    /// End of file: the client sends no more.
    pub ended: bool,
}

/// All clients.
pub struct Server<W: 'static> {
    pub(super) clients: BTreeMap<u64, Client<W>>,
    pub(super) next: u64,
    /// Idle time after which a client is disconnected.
    pub(super) timeout: Option<Duration>,
}

impl<W: World> Client<W> {
    pub fn state(&self, world: &W) -> State {
        match self.session.client() {
            _ if self.session.is_busy() => State::Busy,
            Some(client) if world.api().wants_events(client) => State::Busy,
            Some(_) => State::Idle,
            None => State::Silent,
        }
    }

    /// Time at which the client has been idle for too long.
    pub fn ends_at(&self, world: &W, timeout: Option<Duration>) -> Option<Duration> {
        timeout.filter(|_| self.state(world) != State::Busy).map(|timeout| self.last + timeout)
    }
}

impl<W: 'static> Server<W> {
    /// A server without clients; `config` sets the idle timeout.
    pub fn new(config: &Config) -> Self {
        let timeout = config.socksvr.idle_timeout.filter(|s| *s > 0);
        Server { timeout: timeout.map(|s| Duration::from_secs(s.into())), ..Server::default() }
    }
}

impl<W: 'static> Default for Server<W> {
    fn default() -> Self {
        Server { clients: BTreeMap::new(), next: 0, timeout: None }
    }
}

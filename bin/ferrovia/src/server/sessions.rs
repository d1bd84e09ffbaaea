// SPDX-License-Identifier: Apache-2.0
//! CLI sessions and their descriptors.

use crate::config::Config;
use crate::connection_slots::State;
use crate::event::Token;
use crate::origin::Origin;
use cli::Console;
use cli::session::Config as Look;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

/// One session and its descriptors.
pub(super) struct Client {
    pub console: Console,
    pub input: Rc<OwnedFd>,
    pub output: Rc<OwnedFd>,
    /// Tokens in the loop: input, and output if it is another descriptor. None once the other end
    /// has closed.
    pub watched: Option<Token>,
    pub writer: Option<Token>,
    /// Time at which to serve it next if nothing comes from the client.
    pub wake: Option<Duration>,
    /// Input is a file: it is there at once, and the loop can't watch it.
    pub file: bool,
    /// The daemon ends with this session.
    pub own_terminal: bool,
    pub origin: Origin,
    /// True if the client has sent something.
    pub spoke: bool,
    /// Time of the last byte from the client or to it.
    pub last: Duration,
    /// Once the session is over and the sending side is shut: time at which the wait for the
    /// client's close ends.
    pub leaving: Option<Duration>,
}

impl Client {
    pub fn state(&self) -> State {
        // The session is over: it is the first to lose its slot.
        if self.leaving.is_some() {
            return State::Silent;
        }
        match (self.console.is_busy(), self.spoke) {
            (true, _) => State::Busy,
            (false, true) => State::Idle,
            (false, false) => State::Silent,
        }
    }

    /// Time at which it has been idle for too long.
    pub fn ends_at(&self, timeout: Option<Duration>) -> Option<Duration> {
        if self.leaving.is_some() {
            return self.leaving;
        }
        let idle = !self.own_terminal && !self.file && !self.console.is_busy();
        timeout.filter(|_| idle).map(|timeout| self.last + timeout)
    }
}

/// All sessions.
pub struct Server {
    pub(super) look: Look,
    /// Idle time after which a session ends.
    pub(super) timeout: Option<Duration>,
    pub(super) clients: BTreeMap<u64, Client>,
    pub(super) next: u64,
}

impl Server {
    /// A server without sessions; `config` sets their look and the idle timeout.
    pub fn new(config: &Config) -> Server {
        let unix = &config.unix;
        let mut look = Look::default();
        if let Some(prompt) = &unix.cli_prompt {
            let space = if prompt.ends_with(' ') { "" } else { " " };
            look.prompt = format!("{prompt}{space}");
        }
        if let Some(lines) = unix.cli_history_limit {
            look.history = lines as usize;
        }
        look.pager = !unix.cli_no_pager && unix.cli_pager_buffer_limit != Some(0);
        // VPP notes nothing.
        look.notes = !config.compat.vpp;
        if unix.no_banner {
            look.banner.clear();
        }
        let timeout =
            unix.cli_idle_timeout.filter(|s| *s > 0).map(|s| Duration::from_secs(s.into()));
        Server { look, timeout, clients: BTreeMap::new(), next: 0 }
    }
}

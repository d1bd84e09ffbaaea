// SPDX-License-Identifier: Apache-2.0
//! Configuration and state of a client, as commands and API clients see them.

use super::machine::{Lease, State};
use cli::{Error, Result, retval};
use graph::SwIfIndex;
use wire::MacAddr;

/// Bytes of a name or identifier at most, as the API has them.
const LONGEST: usize = 63;

/// A client's configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The name that servers are told; empty for none.
    pub hostname: String,
    /// The identifier that servers are told; empty for none.
    pub client_id: Vec<u8>,
    /// True if answers are to come by broadcast.
    pub broadcast: bool,
    /// The second byte of the IP headers that the client sends.
    pub tos: u8,
}

impl Default for Config {
    fn default() -> Self {
        Self { hostname: String::new(), client_id: Vec::new(), broadcast: true, tos: 0 }
    }
}

impl Config {
    /// Checks that messages and the API can carry name and identifier.
    ///
    /// # Errors
    /// A name or identifier that is too long (−7).
    pub fn check(&self) -> Result<()> {
        let lengths = [("name", self.hostname.len()), ("identifier", self.client_id.len())];
        if let Some((what, len)) = lengths.into_iter().find(|(_, len)| *len > LONGEST) {
            let why = format!("a {what} of {len} bytes: {LONGEST} are possible");
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        Ok(())
    }
}

/// A client, for `show` and dumps.
#[derive(Clone, Debug)]
pub struct Status {
    /// The client's interface.
    pub sw_if: SwIfIndex,
    /// The client's configuration.
    pub config: Config,
    /// The client's state.
    pub state: State,
    /// The client's hardware address.
    pub mac: MacAddr,
    /// The API client that gets its events, and the number that it gave.
    pub subscriber: Option<(u32, u32)>,
    /// When the client sends its next message, or its lease ends.
    pub due: Option<u64>,
}

impl Status {
    /// The lease, if there is one.
    pub fn lease(&self) -> Option<&Lease> {
        match &self.state {
            State::Bound(lease) => Some(lease),
            _ => None,
        }
    }
}

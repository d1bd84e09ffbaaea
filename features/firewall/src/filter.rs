// SPDX-License-Identifier: Apache-2.0
//! Filters of sessions, for `show` and `clear`.

use crate::session::{Key, Session};
use crate::sets::contains;
use crate::state::Config;
use crate::values::{Protocol, network};
use cli::{Error, Matches, Result};
use std::net::IpAddr;
use wire::Address;

/// The words of a filter.
pub const FILTER: &str = "[src <source:word>] [dst <destination:word>] [host <host:word>] \
                          [proto <protocol:word>] [port <port:u16>] [from <from:word>] [to <to:word>] \
                          [zone <zone:word>] [state <state:word>]";

/// States that sessions have.
const STATES: [&str; 10] = [
    "syn-sent",
    "syn-received",
    "established",
    "fin-wait",
    "close-wait",
    "last-ack",
    "time-wait",
    "closed",
    "unanswered",
    "answered",
];

/// A filter.
#[derive(Clone, Default, Debug)]
pub struct Filter {
    source: Option<(IpAddr, u8)>,
    destination: Option<(IpAddr, u8)>,
    host: Option<(IpAddr, u8)>,
    protocol: Option<u8>,
    port: Option<u16>,
    from: Option<u16>,
    to: Option<u16>,
    zone: Option<u16>,
    state: Option<&'static str>,
}

impl Filter {
    /// Reads the words of [`FILTER`].
    ///
    /// # Errors
    /// Words that aren't of a filter, marked in the line.
    pub fn read(m: &Matches, config: &Config) -> Result<Self> {
        let given = |name: &str| m.has(name).then(|| m.str(name).to_string());
        let place = |name: &str| -> Result<_> {
            given(name).map(|word| network(&word)).transpose().map_err(m.at(name))
        };
        let zone = |name: &str| -> Result<_> {
            given(name).map(|word| config.zone(&word)).transpose().map_err(m.at(name))
        };
        let state = |word: String| {
            STATES.into_iter().find(|state| *state == word).ok_or_else(|| {
                let known = STATES.join(", ");
                Error::parse(format!("expected one of {known}, not {word}")).near(&word, STATES)
            })
        };
        let protocol = given("protocol").map(|word| word.parse::<Protocol>()).transpose();
        Ok(Self {
            source: place("source")?,
            destination: place("destination")?,
            host: place("host")?,
            protocol: protocol.map_err(m.at("protocol"))?.map(|protocol| protocol.0),
            port: m.opt("port")?,
            from: zone("from")?,
            to: zone("to")?,
            zone: zone("zone")?,
            state: given("state").map(state).transpose().map_err(m.at("state"))?,
        })
    }

    /// True if it takes a session.
    pub fn takes<A: Address>(&self, key: &Key<A>, session: &Session) -> bool {
        let origin = usize::from(session.origin & 1);
        let address = |side| -> IpAddr { key.end(side).0.into() };
        let (source, destination) = (address(origin), address(1 - origin));
        let in_place = |place: Option<(IpAddr, u8)>, addresses: &[IpAddr]| {
            place.is_none_or(|network| addresses.iter().any(|at| contains(network, *at)))
        };
        let zones = session.first.zones;
        in_place(self.source, &[source])
            && in_place(self.destination, &[destination])
            && in_place(self.host, &[source, destination])
            && self.protocol.is_none_or(|protocol| protocol == key.protocol)
            && self.port.is_none_or(|port| key.ports.contains(&port))
            && self.from.is_none_or(|zone| zone == zones[0])
            && self.to.is_none_or(|zone| zone == zones[1])
            && self.zone.is_none_or(|zone| zones.contains(&zone))
            && self.state.is_none_or(|state| state == session.word())
    }
}

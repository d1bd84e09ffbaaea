// SPDX-License-Identifier: Apache-2.0
//! The state of the DHCPv6 clients: exchanges of messages and associations, by interface and kind.

use super::association::{Kind, Lease};
use super::machine::{Machine, Start};
use super::message::MOST;
use super::transmission::{Pace, Transmission};
use graph::SwIfIndex;
use std::collections::BTreeMap;
use std::sync::Arc;
use sync::Mailbox;
use wire::{Ip6Prefix, Prefix};

/// Servers of one link that are remembered at most.
const MOST_SERVERS: usize = 32;

/// A message that a worker received.
pub type Received = crate::received::Received<MOST>;

/// The messages of one interface that wait for control.
pub type Inbox = Arc<Mailbox<Received>>;

/// A message that a client of the API or our own client sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Its type.
    pub kind: u8,
    /// Its times.
    pub pace: Pace,
    /// The server that is meant, by its identifier.
    pub server: Option<Vec<u8>>,
    /// T1 and T2 that the client would like.
    pub times: (u32, u32),
    /// The leases in it.
    pub leases: Vec<Lease>,
}

impl From<Start> for Request {
    fn from(start: Start) -> Self {
        let Start { kind, pace, server, leases } = start;
        Self { kind, pace, server, times: (0, 0), leases }
    }
}

/// An exchange of messages.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The message.
    pub request: Request,
    /// Its transaction's number, 24 bits.
    pub xid: u32,
    /// Its times.
    pub transmission: Transmission,
}

/// The client of an association on an interface.
#[derive(Clone, Debug, Default)]
pub struct Port {
    /// The exchange in progress, or the last one.
    pub exchange: Option<Exchange>,
    /// Our own client, if it is enabled there.
    pub machine: Option<Machine>,
    /// The group of the prefixes.
    pub group: String,
}

/// The group, the interface and the bits of an address that is made of a delegated prefix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Consumer {
    /// The interface.
    pub sw_if: SwIfIndex,
    /// The group; `None` for an address that is used as it is.
    pub group: Option<String>,
    /// The bits behind the delegated prefix, and the prefix length of the address.
    pub address: Ip6Prefix,
    /// The address that is in use.
    pub applied: Option<Ip6Prefix>,
}

impl Consumer {
    /// The address by a delegated prefix: bits behind it are the consumer's.
    pub fn address_by(&self, prefix: Ip6Prefix) -> Option<Ip6Prefix> {
        let (network, own) = (prefix.network().addr().to_bits(), self.address.addr().to_bits());
        let mask = prefix.mask().to_bits();
        Prefix::new((network | own & !mask).into(), self.address.len())
    }
}

/// Identifiers of the servers of a link.
#[derive(Debug, Default)]
pub struct Servers {
    ids: Vec<Vec<u8>>,
    /// The index that the next new server gets once all are in use.
    oldest: usize,
}

impl Servers {
    /// The identifier of the server with this index.
    pub fn get(&self, index: u32) -> Option<&[u8]> {
        self.ids.get(index as usize).map(Vec::as_slice)
    }

    /// The index of a server. A new one takes the oldest one's place when there are too many: no
    /// host keeps servers out by answering under many identifiers.
    pub fn index(&mut self, id: &[u8]) -> u32 {
        if let Some(at) = self.ids.iter().position(|known| known == id) {
            return at as u32;
        }
        if self.ids.len() < MOST_SERVERS {
            self.ids.push(id.to_vec());
            return self.ids.len() as u32 - 1;
        }
        let at = self.oldest;
        self.ids[at] = id.to_vec();
        self.oldest = (at + 1) % MOST_SERVERS;
        at as u32
    }
}

/// All state.
#[derive(Default)]
pub struct State {
    /// Our identifier, if one is set.
    pub duid: Option<[u8; 10]>,
    /// The default identifier, once it was used: it stays when its device goes (RFC 8415 11).
    pub default_duid: Option<[u8; 10]>,
    /// Clients of the API may send messages.
    pub enabled: bool,
    /// Identifiers of servers, by interface: events name them by their index.
    pub servers: BTreeMap<SwIfIndex, Servers>,
    /// The clients.
    pub ports: BTreeMap<(SwIfIndex, Kind), Port>,
    /// Addresses of delegated prefixes, in the order of adding.
    pub consumers: Vec<Consumer>,
    /// Messages from workers, by interface.
    pub inboxes: BTreeMap<SwIfIndex, Inbox>,
}

impl State {
    /// The delegated prefixes of a group, with the interface that each came by.
    pub fn prefixes(&self, group: &str) -> Vec<(SwIfIndex, Ip6Prefix)> {
        let ports = self.ports.iter().filter(|((_, kind), port)| {
            *kind == Kind::Prefixes && port.machine.is_some() && port.group == group
        });
        ports
            .flat_map(|((sw_if, _), port)| {
                let leases = port.machine.iter().flat_map(|machine| machine.leases().keys());
                leases.map(|prefix| (*sw_if, *prefix)).collect::<Vec<_>>()
            })
            .collect()
    }

    /// The ports of an interface whose exchange a message belongs to, by its transaction's number.
    pub fn waiting(&self, sw_if: SwIfIndex, message: &[u8]) -> impl Iterator<Item = Kind> {
        let xid = super::association::xid(message);
        [Kind::Addresses, Kind::Prefixes].into_iter().filter(move |kind| {
            let exchange = self.ports.get(&(sw_if, *kind)).and_then(|port| port.exchange.as_ref());
            exchange.is_some_and(|exchange| Some(exchange.xid) == xid)
        })
    }
}

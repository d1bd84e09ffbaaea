// SPDX-License-Identifier: Apache-2.0
//! The state of the DHCPv6 clients: exchanges of messages and associations, by interface and kind.

use super::association::{Answer, Kind, Lease};
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
#[derive(Clone, Copy)]
pub struct Received {
    len: u16,
    bytes: [u8; MOST],
}

impl Received {
    /// Takes a copy; `None` if it is too long.
    #[inline(always)]
    pub fn new(message: &[u8]) -> Option<Self> {
        let mut bytes = [0; MOST];
        bytes.get_mut(..message.len())?.copy_from_slice(message);
        Some(Self { len: message.len() as u16, bytes })
    }

    /// The message, from its type on.
    pub fn message(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

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

/// All state.
#[derive(Default)]
pub struct State {
    /// Our identifier, if one is set.
    pub duid: Option<[u8; 10]>,
    /// Clients of the API may send messages.
    pub enabled: bool,
    /// Identifiers of servers, by interface: events name them by their index.
    pub servers: BTreeMap<SwIfIndex, Vec<Vec<u8>>>,
    /// The clients.
    pub ports: BTreeMap<(SwIfIndex, Kind), Port>,
    /// Addresses of delegated prefixes, in the order of adding.
    pub consumers: Vec<Consumer>,
    /// Messages from workers, by interface.
    pub inboxes: BTreeMap<SwIfIndex, Inbox>,
}

impl State {
    /// The index of a server; `None` if too many are known.
    pub fn server_index(&mut self, sw_if: SwIfIndex, id: &[u8]) -> Option<u32> {
        let servers = self.servers.entry(sw_if).or_default();
        if let Some(at) = servers.iter().position(|known| known == id) {
            return Some(at as u32);
        }
        (servers.len() < MOST_SERVERS).then(|| {
            servers.push(id.to_vec());
            servers.len() as u32 - 1
        })
    }

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

    /// The port whose exchange has this number on an interface, and the answer to it.
    pub fn answered(
        &self,
        sw_if: SwIfIndex,
        duid: &[u8],
        message: &[u8],
    ) -> Option<(Kind, Answer)> {
        let xid = super::association::xid(message)?;
        [Kind::Addresses, Kind::Prefixes].into_iter().find_map(|kind| {
            let exchange = self.ports.get(&(sw_if, kind))?.exchange.as_ref()?;
            let answer = Answer::read(message, duid, kind).filter(|_| exchange.xid == xid)?;
            Some((kind, answer))
        })
    }
}

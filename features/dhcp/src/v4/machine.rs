// SPDX-License-Identifier: Apache-2.0
//! The states of a DHCPv4 client (RFC 2131 4.4, figure 5), without side effects. Times are on the
//! instance's clock, in nanoseconds.
//!
//! The first messages of a state are sent at VPP's times: a discovery each second, after ten of
//! them each 5 seconds; eight requests; renewals each second. After ten renewals half of the rest
//! of the state passes between two, a minute at least (RFC 2131 4.4.5).

use super::message::{Message, MessageType, code};
use super::routes::{Grant, is_host};
use crate::lifetime::{SECOND, end};
use std::net::Ipv4Addr;

/// Messages that are sent each second; later ones are rarer.
const QUICK: u32 = 10;
/// Between later discoveries.
const DISCOVER: u64 = 5 * SECOND;
/// Between later renewals at least.
const RENEW: u64 = 60 * SECOND;
/// Requests for one offer.
const REQUESTS: u32 = 8;
/// Until the next discovery after an address that can't be used (RFC 2131 3.1.5).
const DECLINED: u64 = 10 * SECOND;

/// A lease that the client has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    /// The address and settings that the server granted.
    pub grant: Grant,
    /// When any server may renew it; `None` for never.
    pub rebind: Option<u64>,
    /// When it ends; `None` for never.
    pub expires: Option<u64>,
}

impl Lease {
    /// True once any server may renew it.
    fn is_rebinding(&self, now: u64) -> bool {
        self.rebind.is_some_and(|rebind| rebind <= now)
    }
}

/// The state of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// It looks for servers.
    Discover,
    /// It wants an address that a server has offered.
    Request {
        /// The address.
        address: Ipv4Addr,
        /// The server.
        server: Option<Ipv4Addr>,
    },
    /// It has a lease.
    Bound(Lease),
}

/// A message that is to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// Its kind.
    pub kind: MessageType,
    /// The transaction's number.
    pub xid: u32,
    /// Seconds since the client has begun.
    pub secs: u16,
    /// The client's address, if it is in use.
    pub ciaddr: Ipv4Addr,
    /// The server that is meant.
    pub server: Option<Ipv4Addr>,
    /// The address that is wanted.
    pub requested: Option<Ipv4Addr>,
    /// The server that it goes to by unicast; by broadcast without one.
    pub unicast: Option<Ipv4Addr>,
}

/// An effect of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// A message is sent.
    Send(Outgoing),
    /// An address and its settings are used, in place of former ones.
    Bind(Grant),
    /// The address is used no longer.
    Unbind,
}

/// Reason why a message changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ignored {
    /// The message is of another transaction.
    Transaction,
    /// The state waits for no such message.
    State,
    /// The message has no usable address, or no lease time.
    Incomplete,
}

/// A client's state, and the time of its next message.
#[derive(Clone, Debug)]
pub struct Machine {
    state: State,
    xid: u32,
    /// Messages sent in this state; of a lease, since its renewal has begun.
    sent: u32,
    due: Option<u64>,
    /// When the client began to look for a lease, or to renew it.
    begun: u64,
    /// When the last message was sent.
    last: u64,
}

impl Machine {
    /// A client that sends its first discovery at `now`.
    pub fn new(now: u64, random: u64) -> Self {
        let xid = (random >> 32) as u32;
        Self { state: State::Discover, xid, sent: 0, due: Some(now), begun: now, last: now }
    }

    /// The state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The lease, if there is one.
    pub fn lease(&self) -> Option<&Lease> {
        match &self.state {
            State::Bound(lease) => Some(lease),
            _ => None,
        }
    }

    /// When [`Self::run`] has something to do; `None` for never.
    pub fn due(&self) -> Option<u64> {
        let expires = self.lease().and_then(|lease| lease.expires);
        self.due.into_iter().chain(expires).min()
    }

    fn discover(&mut self, at: u64, random: u64) {
        *self = Self::new(at, random);
    }

    /// Does what is due.
    pub fn run(&mut self, now: u64, random: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        if let State::Bound(lease) = &self.state
            && lease.expires.is_some_and(|end| end <= now)
        {
            actions.push(Action::Unbind);
            self.discover(now, random);
        }
        if matches!(self.state, State::Request { .. })
            && self.sent >= REQUESTS
            && self.due.is_some_and(|due| due <= now)
        {
            self.discover(now, random);
        }
        if self.due.is_none_or(|due| due > now) {
            return actions;
        }
        if self.lease().is_some() && self.sent == 0 {
            (self.xid, self.begun) = ((random >> 32) as u32, now);
        }
        let mut message = Outgoing {
            kind: MessageType::Request,
            xid: self.xid,
            secs: u16::try_from(now.saturating_sub(self.begun) / SECOND).unwrap_or(u16::MAX),
            ciaddr: Ipv4Addr::UNSPECIFIED,
            server: None,
            requested: None,
            unicast: None,
        };
        match &self.state {
            State::Discover => message.kind = MessageType::Discover,
            State::Request { address, server } => {
                (message.server, message.requested) = (*server, Some(*address));
            }
            // Without the server's identifier (RFC 2131 4.3.2). The requested address, which
            // doesn't belong there either, is in VPP's messages.
            State::Bound(lease) => {
                let address = lease.grant.address.addr();
                (message.ciaddr, message.requested) = (address, Some(address));
                message.unicast = lease.grant.server.filter(|_| !lease.is_rebinding(now));
            }
        }
        self.sent += 1;
        self.last = now;
        self.due = Some(now + self.pause(now));
        if let State::Bound(Lease { rebind: Some(rebind), .. }) = &self.state
            && *rebind > now
            && self.due.is_some_and(|due| due >= *rebind)
        {
            // Rebinding begins on time, and with messages each second again.
            (self.due, self.sent) = (Some(*rebind), 1);
        }
        actions.push(Action::Send(message));
        actions
    }

    /// Nanoseconds from a message of the state at `now` to the next one.
    fn pause(&self, now: u64) -> u64 {
        match &self.state {
            _ if self.sent < QUICK => SECOND,
            State::Discover => DISCOVER,
            State::Request { .. } => SECOND,
            State::Bound(lease) => {
                let end = if lease.is_rebinding(now) { lease.expires } else { lease.rebind };
                end.map_or(RENEW, |end| (end.saturating_sub(now) / 2).max(RENEW))
            }
        }
    }

    /// Handles a server's message to the client. One of transaction 0 counts as the client's: VPP
    /// doesn't compare transactions, and servers that are tested with it leave the number out.
    ///
    /// # Errors
    /// A message that changes nothing.
    pub fn receive(
        &mut self,
        message: Message<'_>,
        kind: MessageType,
        now: u64,
        random: u64,
    ) -> Result<Vec<Action>, Ignored> {
        if message.xid() != self.xid && message.xid() != 0 {
            return Err(Ignored::Transaction);
        }
        let is_renewing = self.lease().is_some() && self.sent > 0;
        let waits = matches!(self.state, State::Request { .. }) || is_renewing;
        match kind {
            MessageType::Offer if self.state == State::Discover && self.sent > 0 => {
                let address = message.yiaddr();
                if !is_host(address) {
                    return Err(Ignored::Incomplete);
                }
                let server = message.option_address(code::SERVER_ID).filter(|s| is_host(*s));
                self.state = State::Request { address, server };
                (self.sent, self.due) = (0, Some(now));
                Ok(self.run(now, random))
            }
            MessageType::Ack if waits => {
                let grant = Grant::read(message).ok_or(Ignored::Incomplete)?;
                let since = self.last;
                let lease = Lease {
                    rebind: end(since, grant.rebind),
                    expires: end(since, grant.lease),
                    grant: grant.clone(),
                };
                self.due = end(since, grant.renew);
                self.sent = 0;
                self.state = State::Bound(lease);
                Ok(vec![Action::Bind(grant)])
            }
            MessageType::Nak if waits => {
                let unbind = self.lease().map(|_| Action::Unbind);
                self.discover(now + SECOND, random);
                Ok(unbind.into_iter().collect())
            }
            _ => Err(Ignored::State),
        }
    }

    /// The address of a lease can't be used: it is declined, and another one is looked for later.
    pub fn decline(&mut self, now: u64, random: u64) -> Option<Outgoing> {
        let lease = self.lease()?;
        let message = Outgoing {
            kind: MessageType::Decline,
            xid: self.xid,
            secs: 0,
            ciaddr: Ipv4Addr::UNSPECIFIED,
            server: lease.grant.server,
            requested: Some(lease.grant.address.addr()),
            unicast: None,
        };
        self.discover(now + DECLINED, random);
        Some(message)
    }

    /// The link is up again, and may be another one: a lease is verified with any server, a
    /// discovery begins at once.
    pub fn link_up(&mut self, now: u64) {
        if let State::Bound(lease) = &mut self.state {
            lease.rebind = Some(lease.rebind.unwrap_or(now).min(now));
        }
        (self.sent, self.due) = (0, Some(now));
    }
}

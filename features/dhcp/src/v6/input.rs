// SPDX-License-Identifier: Apache-2.0
//! `dhcpv6-client`: messages to the port of DHCPv6 clients go to the clients of the interface;
//! relays' answers that a server sends there go on to the relay.

use super::client::Clients6;
use super::message::kind;
use super::ports::Received;
use crate::relay::packet;
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Head, Next, Node, ThreadIndex, Trace, World};
use std::fmt;
use std::sync::Arc;
use wire::Ip6;

/// `dhcpv6-client`.
pub struct Client6Input {
    clients: Arc<Clients6>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// A relay's answer.
    #[next("dhcpv6-proxy-to-client")]
    Proxy,
    /// Control reads the message.
    #[free]
    Taken,
    /// DHCPv6 messages for clients
    #[count]
    ForClient,
    /// no DHCPv6 client on the interface
    #[drop]
    NoClient,
    /// message is none that servers send to clients
    #[drop]
    WrongMessageType,
    /// message isn't addressed to the link-local address that clients send from (RFC 8415 18.3.10)
    #[drop]
    NotOfLink,
    /// DHCPv6 message is too long for a client
    #[drop]
    PktTooBig,
    /// control is too far behind to read messages of the interface's clients
    #[drop]
    Busy,
}

#[derive(Clone, Copy)]
pub struct ClientTrace(Head);

impl Trace for ClientTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.0.bytes().first().copied().unwrap_or(0);
        write!(f, "DHCPv6 client: message type {kind}")
    }
}

impl Build for Client6Input {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { clients: world.get() }
    }
}

/// True for a datagram to a link-local address, which no host beyond the link can send. The packet
/// begins with its payload.
#[inline(always)]
fn is_of_link(b: &mut Buffer) -> bool {
    packet::received::<Ip6>(b).is_some_and(|from| from.dst.is_unicast_link_local())
}

impl Node for Client6Input {
    const NAME: &'static str = "dhcpv6-client";
    type Next = To;
    type Trace = ClientTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, ClientTrace(Head::of(b)));
        }
        match b.data().first() {
            Some(&kind::RELAY_REPL) => return To::Proxy,
            Some(&(kind::ADVERTISE | kind::REPLY)) => {}
            _ => return To::WrongMessageType,
        }
        let Some(inbox) = self.clients.inbox(b.rx_if, cx.turn) else { return To::NoClient };
        if !is_of_link(b) {
            return To::NotOfLink;
        }
        if b.is_chained() || b.flags.contains(Flags::GSO) {
            return To::PktTooBig;
        }
        let Some(received) = Received::new(b.data()) else { return To::PktTooBig };
        if inbox.post(received).is_err() {
            return To::Busy;
        }
        self.clients.notify();
        cx.count(To::ForClient, 1);
        To::Taken
    }
}

// SPDX-License-Identifier: Apache-2.0
//! `dhcp-proxy-to-server`: messages of clients go to the servers of their table (RFC 2131 4.1, RFC
//! 1542 4.1, RFC 3046 2.1).

use super::config::Relay;
use super::option82::Written;
use super::packet::{self, Ends};
use super::trace::RelayTrace;
use crate::v4::message::{GIADDR, HOPS, Message, MessageType, SERVER_PORT, code};
use buffer::{Buffer, Field, Flags};
use graph::{Build, Cx, Next, Node, ThreadIndex, World};
use net::{Addresses, Interfaces, L4, Net};
use std::sync::Arc;
use wire::Ip4;

/// Relays that a message may have passed (RFC 1542 4.1.1).
const MOST_HOPS: u8 = 16;

/// `dhcp-proxy-to-server`.
pub struct ToServer4 {
    relay: Arc<Relay<Ip4>>,
    addresses: Arc<Addresses<Ip4>>,
    interfaces: Arc<Interfaces>,
    l4: Field<L4>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("ip4-lookup")]
    Lookup,
    /// A server's answer, sent to the port of servers.
    #[next("dhcp-proxy-to-client")]
    Client,
    /// DHCP packets relayed to the server
    #[count]
    RelayToServer,
    /// no dhcp server configured
    #[drop]
    NoServer,
    /// DHCP no interface address
    #[drop]
    NoInterfaceAddress,
    /// DHCP packets which are too big.
    #[drop]
    PktTooBig,
    /// DHCP buffer allocation failures.
    #[count]
    AllocFail,
    /// packet is no DHCP message with options
    #[drop]
    Malformed,
    /// DHCP message has passed too many relays (RFC 1542 4.1.1)
    #[drop]
    TooManyHops,
    /// relay information from a client, which only relays may add (RFC 3046 2.1)
    #[drop]
    Untrusted,
}

impl Build for ToServer4 {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            relay: world.get(),
            addresses: world.get(),
            interfaces: world.get(),
            l4: world.field(),
        }
    }
}

/// True for a message that a server sent: by its operation, or by its kind.
#[inline(always)]
pub fn is_of_server(message: Message<'_>) -> bool {
    message.is_reply() || message.message_type().is_some_and(MessageType::is_of_server)
}

impl ToServer4 {
    #[inline(always)]
    fn relay<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        trace: &mut RelayTrace,
        cx: &mut Cx<'_, TRACED>,
    ) -> To {
        let Some(message) = Message::read(b.data()) else { return To::Malformed };
        let kind = message.message_type();
        trace.kind = kind.map_or(0, |kind| kind as u8);
        if is_of_server(message) {
            return To::Client;
        }
        let view = self.interfaces.views(cx.turn).get(b.rx_if as usize).unwrap_or_default();
        let Some(proxy) = self.relay.view(Ip4::table_of(&view), cx.turn) else {
            return To::NoServer;
        };
        let Some(first) = proxy.servers.first() else { return To::NoServer };
        let Some(link) = self.addresses.of(b.rx_if, cx.turn).first() else {
            return To::NoInterfaceAddress;
        };
        if message.hops() >= MOST_HOPS {
            return To::TooManyHops;
        }
        if b.is_chained() || b.flags.contains(Flags::GSO) {
            return To::PktTooBig;
        }
        let relayed = message.giaddr();
        let mut options = message.options();
        let told = options.by_ref().any(|option| option.code == code::RELAY_AGENT);
        options.by_ref().for_each(drop);
        let end = options.offset();
        let (hops, sw_if) = (message.hops() + 1, b.rx_if);
        // The information is that of the relay that is next to the client; no client can have it,
        // nor pretend that this relay has seen its message (RFC 3046 2.1.1).
        if relayed.is_unspecified() && told || relayed == proxy.source {
            return To::Untrusted;
        }
        let Some(from) = packet::received::<Ip4>(b) else { return To::Malformed };
        if relayed.is_unspecified() {
            let option = Written::new(sw_if, link.addr(), proxy.vss.as_deref());
            b.truncate(end);
            let Some(room) = b.put(option.bytes().len()) else { return To::PktTooBig };
            room.copy_from_slice(option.bytes());
            if let Some(giaddr) = b.bytes_mut::<4>(GIADDR) {
                *giaddr = proxy.source.octets();
            }
        }
        if let Some(slot) = b.bytes_mut::<1>(HOPS) {
            *slot = [hops];
        }
        let ends = Ends { src: proxy.source, dst: first.addr, ports: (from.port, SERVER_PORT) };
        if !packet::put_headers::<Ip4>(b, ends) {
            return To::PktTooBig;
        }
        if kind == Some(MessageType::Discover) {
            for server in proxy.servers[1..].iter().rev() {
                let Some(copy) = packet::copy::<Ip4, TRACED>(b, server, self.l4, cx) else {
                    cx.count(To::AllocFail, 1);
                    continue;
                };
                cx.count(To::RelayToServer, 1);
                cx.emit(To::Lookup, copy);
            }
        }
        packet::send_to(b, first, self.l4);
        trace.server = Some(first.addr.into());
        cx.count(To::RelayToServer, 1);
        To::Lookup
    }
}

impl Node for ToServer4 {
    const NAME: &'static str = "dhcp-proxy-to-server";
    type Next = To;
    type Trace = RelayTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let sw_if = Some(b.rx_if);
        let mut trace = RelayTrace { to_client: false, kind: 0, server: None, sw_if };
        let to = self.relay(b, &mut trace, cx);
        trace.to_client = to == To::Client;
        cx.trace(b, trace);
        to
    }
}

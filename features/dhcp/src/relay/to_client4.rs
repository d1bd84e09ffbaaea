// SPDX-License-Identifier: Apache-2.0
//! `dhcp-proxy-to-client`: answers of servers go to the client of the interface that they arrive
//! at, or to the client that they were relayed for (RFC 2131 4.1, RFC 3046 2.2).

use super::config::Relay;
use super::option82::Information;
use super::packet::{self, Ends, Received};
use super::to_server4::is_of_server;
use super::trace::RelayTrace;
use crate::v4::client::{self, Clients};
use crate::v4::message::{CLIENT_PORT, Message, SERVER_PORT, code};
use buffer::{Buffer, Field, Flags};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use net::{Addresses, Interfaces, L4, Net};
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::Ip4;

/// `dhcp-proxy-to-client`.
pub struct ToClient4 {
    relay: Arc<Relay<Ip4>>,
    clients: Arc<Clients>,
    addresses: Arc<Addresses<Ip4>>,
    interfaces: Arc<Interfaces>,
    l4: Field<L4>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The output of the client's interface.
    #[dynamic]
    Output(NodeIndex),
    /// The client of the interface has the message.
    #[free]
    Taken,
    /// DHCP packets for local client.
    #[count]
    ForUs,
    /// DHCP packets relayed to clients
    #[count]
    RelayToClient,
    /// DHCP VSS not processed by DHCP server
    #[count]
    VssNotProcessed,
    /// DHCP option 82 missing
    #[drop]
    #[counter("option_82_missing")]
    Option82Missing,
    /// Bad DHCP option 82 interface value
    #[drop]
    #[counter("bad_option_82_itf")]
    BadOption82Itf,
    /// Bad DHCP option 82 address value
    #[drop]
    #[counter("bad_option_82_addr")]
    BadOption82Addr,
    /// DHCP no interface address
    #[drop]
    NoInterfaceAddress,
    /// DHCP packets not from DHCP server or server FIB.
    #[drop]
    BadSvrFibOrAddress,
    /// DHCP packets which are too big.
    #[drop]
    PktTooBig,
    /// packet is no DHCP message with options
    #[drop]
    Malformed,
    /// message of a client to the port of clients
    #[drop]
    NotOfServer,
    /// control is too far behind to read messages of the interface's client
    #[drop]
    Busy,
}

impl Build for ToClient4 {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            relay: world.get(),
            clients: world.get(),
            addresses: world.get(),
            interfaces: world.get(),
            l4: world.field(),
        }
    }
}

impl ToClient4 {
    /// Passes a message to the client of the interface, if it is for that; `None` if it isn't.
    #[inline(always)]
    fn take<const TRACED: bool>(&self, b: &Buffer, cx: &mut Cx<'_, TRACED>) -> Option<To> {
        let inbox = self.clients.inbox(b.rx_if, cx.turn)?;
        let message = Message::read(b.data())?;
        if message.chaddr() != inbox.mac {
            return None;
        }
        cx.count(To::ForUs, 1);
        if b.is_chained() {
            return Some(To::PktTooBig);
        }
        let Some(received) = client::Received::new(b.data()) else { return Some(To::PktTooBig) };
        if inbox.received.post(received).is_err() {
            return Some(To::Busy);
        }
        self.clients.notify();
        Some(To::Taken)
    }

    #[inline(always)]
    fn relay<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        trace: &mut RelayTrace,
        cx: &mut Cx<'_, TRACED>,
    ) -> To {
        let Some(message) = Message::read(b.data()) else { return To::Malformed };
        trace.kind = message.message_type().map_or(0, |kind| kind as u8);
        if !is_of_server(message) {
            return To::NotOfServer;
        }
        let Some(option) = message.option(code::RELAY_AGENT) else { return To::Option82Missing };
        let told = Information::read(option);
        let views = self.interfaces.views(cx.turn);
        let to = told.sw_if.filter(|sw_if| *sw_if != 0);
        let to = to.and_then(|sw_if| Some((sw_if, views.get(sw_if as usize)?)));
        let Some((sw_if, view)) = to else { return To::BadOption82Itf };
        trace.sw_if = Some(sw_if);
        let own = self.addresses.of(sw_if, cx.turn);
        if own.is_empty() {
            return To::NoInterfaceAddress;
        }
        let link = told.link.filter(|link| own.iter().any(|p| p.addr() == *link));
        let Some(link) = link else { return To::BadOption82Addr };
        let Some(Received { src: server, .. }) = packet::received::<Ip4>(b) else {
            return To::Malformed;
        };
        let from = views.get(b.rx_if as usize).unwrap_or_default();
        let proxy = self.relay.view(Ip4::table_of(&view), cx.turn);
        if !proxy.is_some_and(|proxy| proxy.has_server(server, Ip4::table_of(&from))) {
            return To::BadSvrFibOrAddress;
        }
        if b.is_chained() || b.flags.contains(Flags::GSO) {
            return To::PktTooBig;
        }
        if told.vss_unused {
            cx.count(To::VssNotProcessed, 1);
        }
        let ends = Ends { src: link, dst: Ipv4Addr::BROADCAST, ports: (SERVER_PORT, CLIENT_PORT) };
        let done = packet::put_headers::<Ip4>(b, ends)
            && packet::broadcast::<Ip4>(b, sw_if, view.mac, self.l4);
        if !done {
            return To::PktTooBig;
        }
        trace.server = Some(server.into());
        cx.count(To::RelayToClient, 1);
        To::Output(view.output)
    }
}

impl Node for ToClient4 {
    const NAME: &'static str = "dhcp-proxy-to-client";
    type Next = To;
    type Trace = RelayTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let mut trace = RelayTrace { to_client: true, kind: 0, server: None, sw_if: None };
        let to = match self.take(b, cx) {
            Some(to) => {
                trace.sw_if = Some(b.rx_if);
                to
            }
            None => self.relay(b, &mut trace, cx),
        };
        cx.trace(b, trace);
        to
    }
}

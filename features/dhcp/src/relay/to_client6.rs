// SPDX-License-Identifier: Apache-2.0
//! `dhcpv6-proxy-to-client`: servers' answers go back to the client or relay that they are for (RFC
//! 8415 19.2).

use super::config::Relay;
use super::packet::{self, Ends};
use super::trace::RelayTrace;
use crate::v6::message::{CLIENT_PORT, RELAY_FIXED, RelayMessage, SERVER_PORT, code, kind};
use buffer::{Buffer, Field, Flags};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use net::{Addresses, Interfaces, L4, Net};
use std::sync::Arc;
use wire::Ip6;

/// `dhcpv6-proxy-to-client`.
pub struct ToClient6 {
    relay: Arc<Relay<Ip6>>,
    addresses: Arc<Addresses<Ip6>>,
    interfaces: Arc<Interfaces>,
    l4: Field<L4>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The output of the client's interface.
    #[dynamic]
    Output(NodeIndex),
    /// DHCPV6 packets relayed to clients
    #[count]
    RelayToClient,
    /// DHCPV6 wrong message type.
    #[drop]
    WrongMessageType,
    /// DHCPv6 reply packets without relay message option
    #[drop]
    NoRelayMessageOption,
    /// DHCPv6 reply packets without circuit ID option
    #[drop]
    NoCircuitIdOption,
    /// DHCPv6 reply to invalid interface.
    #[drop]
    WrongInterfaceIdOption,
    /// DHCPV6 no interface address
    #[drop]
    NoInterfaceAddress,
    /// DHCPv6 packets not from DHCPv6 server or server FIB.
    #[drop]
    BadSvrFibOrAddress,
    /// DHCPv6 packets which are too big.
    #[drop]
    PktTooBig,
    /// DHCPv6 message is shorter than its fixed part
    #[drop]
    Malformed,
}

impl Build for ToClient6 {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            relay: world.get(),
            addresses: world.get(),
            interfaces: world.get(),
            l4: world.field(),
        }
    }
}

impl ToClient6 {
    #[inline(always)]
    fn relay<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        trace: &mut RelayTrace,
        cx: &mut Cx<'_, TRACED>,
    ) -> To {
        trace.kind = b.data().first().copied().unwrap_or(0);
        if trace.kind != kind::RELAY_REPL {
            return To::WrongMessageType;
        }
        if b.is_chained() || b.flags.contains(Flags::GSO) {
            return To::PktTooBig;
        }
        let Some(message) = RelayMessage::read(b.data()) else { return To::Malformed };
        let peer = message.peer;
        let all = message.options;
        let Some(inner) = all.get(code::RELAY_MESSAGE) else { return To::NoRelayMessageOption };
        let Some(id) = all.get(code::INTERFACE_ID) else { return To::NoCircuitIdOption };
        let (len, is_for_relay) = (inner.len(), inner.first() == Some(&kind::RELAY_REPL));
        let behind = b.len() - RELAY_FIXED;
        let at = position(all, code::RELAY_MESSAGE).filter(|at| at + len <= behind);
        let Some(at) = at else { return To::NoRelayMessageOption };
        let sw_if: Option<[u8; 4]> = id.try_into().ok();
        let sw_if = sw_if.map(u32::from_be_bytes).filter(|sw_if| *sw_if != 0);
        let views = self.interfaces.views(cx.turn);
        let to = sw_if.and_then(|sw_if| Some((sw_if, views.get(sw_if as usize)?)));
        let Some((sw_if, view)) = to else { return To::WrongInterfaceIdOption };
        trace.sw_if = Some(sw_if);
        let own = self.addresses.of(sw_if, cx.turn).iter().map(|prefix| prefix.addr());
        let own = own.into_iter().find(|addr| !addr.is_unicast_link_local());
        let proxy = self.relay.view(Ip6::table_of(&view), cx.turn);
        let Some(from) = packet::received::<Ip6>(b) else { return To::Malformed };
        let table = Ip6::table_of(&views.get(b.rx_if as usize).unwrap_or_default());
        if !proxy.is_some_and(|proxy| proxy.has_server(from.src, table)) {
            return To::BadSvrFibOrAddress;
        }
        let Some(src) = own else { return To::NoInterfaceAddress };
        if !b.pull(RELAY_FIXED + at) {
            return To::Malformed;
        }
        b.truncate(len);
        let port = if is_for_relay { SERVER_PORT } else { CLIENT_PORT };
        let ends = Ends { src, dst: peer, ports: (SERVER_PORT, port) };
        let done = packet::put_headers::<Ip6>(b, ends)
            && packet::broadcast::<Ip6>(b, sw_if, view.mac, self.l4);
        if !done {
            return To::PktTooBig;
        }
        trace.server = Some(from.src.into());
        cx.count(To::RelayToClient, 1);
        To::Output(view.output)
    }
}

/// Offset of the data of the first option of a code, from the first option on.
#[inline(always)]
fn position(options: crate::v6::message::Options<'_>, wanted: u16) -> Option<usize> {
    let mut at = 0;
    for (code, data) in options {
        if code == wanted {
            return Some(at + 4);
        }
        at += 4 + data.len();
    }
    None
}

impl Node for ToClient6 {
    const NAME: &'static str = "dhcpv6-proxy-to-client";
    type Next = To;
    type Trace = RelayTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let mut trace = RelayTrace { to_client: true, kind: 0, server: None, sw_if: None };
        let to = self.relay(b, &mut trace, cx);
        cx.trace(b, trace);
        to
    }
}

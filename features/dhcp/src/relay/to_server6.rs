// SPDX-License-Identifier: Apache-2.0
//! `dhcpv6-proxy-to-server`: messages of clients and of other relays go to the servers of their
//! table (RFC 8415 19.1).

use super::config::Relay;
use super::packet::{self, Ends, Received};
use super::trace::RelayTrace;
use super::vss;
use crate::v6::message::{RELAY_FIXED, SERVER_PORT, code, kind};
use buffer::{Buffer, Field, Flags};
use graph::{Build, Cx, Next, Node, ThreadIndex, World};
use net::{Addresses, Interfaces, L4, Net};
use std::net::Ipv6Addr;
use std::sync::Arc;
use wire::Ip6;

/// Relays that a message may have passed (RFC 8415 7.6, HOP_COUNT_LIMIT).
const MOST_HOPS: u8 = 8;
/// Bytes in front of the relayed message at most.
const ADDED: usize = RELAY_FIXED + (4 + 4) + (4 + 8) + 4;

/// `dhcpv6-proxy-to-server`.
pub struct ToServer6 {
    relay: Arc<Relay<Ip6>>,
    addresses: Arc<Addresses<Ip6>>,
    interfaces: Arc<Interfaces>,
    l4: Field<L4>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("ip6-lookup")]
    Lookup,
    /// A server's answer.
    #[next("dhcpv6-proxy-to-client")]
    Client,
    /// DHCPV6 packets relayed to the server
    #[count]
    RelayToServer,
    /// no dhcpv6 server configured
    #[drop]
    NoServer,
    /// DHCPV6 no interface address
    #[drop]
    NoInterfaceAddress,
    /// DHCPV6 wrong message type.
    #[drop]
    WrongMessageType,
    /// DHCPv6 packets which are too big.
    #[drop]
    PktTooBig,
    /// DHCPv6 buffer allocation failures.
    #[count]
    AllocFail,
    /// DHCPv6 message is shorter than its fixed part
    #[drop]
    Malformed,
    /// DHCPv6 message has passed too many relays (RFC 8415 19.1.2)
    #[drop]
    TooManyHops,
}

impl Build for ToServer6 {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            relay: world.get(),
            addresses: world.get(),
            interfaces: world.get(),
            l4: world.field(),
        }
    }
}

/// The head of a relay's message: its fixed part and options, up to the relayed message.
struct Head {
    bytes: [u8; ADDED],
    len: usize,
}

impl Head {
    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    #[inline(always)]
    fn option(&mut self, code: u16, data: &[u8]) {
        self.put(&code.to_be_bytes());
        self.put(&(data.len() as u16).to_be_bytes());
        self.put(data);
    }

    /// For a message of so many bytes.
    #[inline(always)]
    fn new(hops: u8, link: Ipv6Addr, from: &Received<Ipv6Addr>, sw_if: u32, len: u16) -> Self {
        let mut head = Self { bytes: [0; ADDED], len: 0 };
        head.put(&[kind::RELAY_FORW, hops]);
        head.put(&link.octets());
        head.put(&from.src.octets());
        head.option(code::INTERFACE_ID, &sw_if.to_be_bytes());
        // The relay that is next to the client knows its link-layer address (RFC 6939 4).
        if let (Some([a, b, c, d, e, f]), 0) = (from.mac, hops) {
            // Hardware type 1: Ethernet.
            head.option(code::CLIENT_LINK_ADDRESS, &[0, 1, a, b, c, d, e, f]);
        }
        head.put(&code::RELAY_MESSAGE.to_be_bytes());
        head.put(&len.to_be_bytes());
        head
    }
}

/// Puts the option of a VPN behind the relayed message: the last of all options, as receivers of
/// VPP's messages know it. False without room.
#[inline(always)]
#[must_use]
fn append_vss(b: &mut Buffer, vss: &[u8]) -> bool {
    let vss = &vss[..vss.len().min(vss::MOST)];
    let Some(slot) = b.put(4 + vss.len()) else { return false };
    slot[..2].copy_from_slice(&code::VSS.to_be_bytes());
    slot[2..4].copy_from_slice(&(vss.len() as u16).to_be_bytes());
    slot[4..].copy_from_slice(vss);
    true
}

impl ToServer6 {
    #[inline(always)]
    fn relay<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        trace: &mut RelayTrace,
        cx: &mut Cx<'_, TRACED>,
    ) -> To {
        let Some(&[kind, hops, ..]) = b.bytes::<4>(0) else { return To::Malformed };
        trace.kind = kind;
        if kind == kind::RELAY_REPL {
            return To::Client;
        }
        if !kind::is_to_server(kind) {
            return To::WrongMessageType;
        }
        let view = self.interfaces.views(cx.turn).get(b.rx_if as usize).unwrap_or_default();
        let Some(proxy) = self.relay.view(Ip6::table_of(&view), cx.turn) else {
            return To::NoServer;
        };
        // Copies go to the other servers first, so that all get it in the order of adding. A
        // relayed message may hold a solicitation.
        let is_for_all = matches!(kind, kind::SOLICIT | kind::RELAY_FORW);
        let (own, others) = match (is_for_all, &*proxy.servers) {
            (true, [others @ .., last]) => (last, others),
            (false, [first, ..]) => (first, &[][..]),
            (_, []) => return To::NoServer,
        };
        let link = self.addresses.of(b.rx_if, cx.turn).iter().map(|p| p.addr());
        let Some(link) = link.into_iter().find(|addr| !addr.is_unicast_link_local()) else {
            return To::NoInterfaceAddress;
        };
        let is_relayed = kind == kind::RELAY_FORW;
        if is_relayed && (b.len() < RELAY_FIXED || hops >= MOST_HOPS) {
            return if b.len() < RELAY_FIXED { To::Malformed } else { To::TooManyHops };
        }
        if b.is_chained() || b.flags.contains(Flags::GSO) {
            return To::PktTooBig;
        }
        let Some(from) = packet::received::<Ip6>(b) else { return To::Malformed };
        // The link of a message that a relay has sent from a global address is known to the relay
        // (RFC 8415 19.1.2).
        let hops = if is_relayed { hops + 1 } else { 0 };
        let link = match is_relayed && !from.src.is_unicast_link_local() {
            true => Ipv6Addr::UNSPECIFIED,
            false => link,
        };
        let sw_if = b.rx_if;
        let head = Head::new(hops, link, &from, sw_if, b.len() as u16);
        if !proxy.vss.as_deref().is_none_or(|vss| append_vss(b, vss)) {
            return To::PktTooBig;
        }
        let Some(slot) = b.push_slice(head.len) else { return To::PktTooBig };
        slot.copy_from_slice(&head.bytes[..head.len]);
        let ends = Ends { src: proxy.source, dst: own.addr, ports: (from.port, SERVER_PORT) };
        if !packet::put_headers::<Ip6>(b, ends) {
            return To::PktTooBig;
        }
        for server in others {
            let Some(copy) = packet::copy::<Ip6, TRACED>(b, server, self.l4, cx) else {
                cx.count(To::AllocFail, 1);
                continue;
            };
            cx.count(To::RelayToServer, 1);
            cx.emit(To::Lookup, copy);
        }
        packet::send_to(b, own, self.l4);
        trace.server = Some(own.addr.into());
        cx.count(To::RelayToServer, 1);
        To::Lookup
    }
}

impl Node for ToServer6 {
    const NAME: &'static str = "dhcpv6-proxy-to-server";
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

// SPDX-License-Identifier: Apache-2.0
//! `dns4-request`, `dns6-request`: queries of clients go to control.

use crate::control::Dns;
use crate::received::{Bytes, Query, ends};
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, SwIfIndex, ThreadIndex, Trace, World};
use ip::Ip;
use net::{Addresses, Interfaces};
use std::fmt;
use std::sync::Arc;
use wire::Header;
use wire::dns::{DnsHeader, HEADER, Name};

/// `dns4-request` or `dns6-request`.
pub struct RequestInput<F: Ip> {
    dns: Arc<Dns>,
    interfaces: Arc<Interfaces>,
    addresses: Arc<Addresses<F>>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// Control answers the query.
    #[free]
    Taken,
    /// DNS queries taken
    #[count]
    #[counter("DNS request pkts processed")]
    Processed,
    /// message is no query, is too long for one, or was sent to a group
    #[drop]
    #[counter("DNS pkts with serious discrepancies (dropped)")]
    BadRequest,
    /// query with more than one question
    #[drop]
    #[counter("DNS pkts asking too many questions")]
    TooManyRequests,
    /// query in a packet with IP options or extension headers
    #[drop]
    #[counter("DNS pkts with ip options (dropped)")]
    IpOptions,
    /// control is too far behind to read queries of this client
    #[drop]
    Busy,
}

/// The first bytes of a message.
#[derive(Clone, Copy)]
pub struct DnsTrace(pub Head);

impl Trace for DnsTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.bytes();
        let Some(header) = DnsHeader::view(bytes) else { return f.write_str("DNS: too short") };
        let kind = if header.has(DnsHeader::RESPONSE) { "response" } else { "query" };
        write!(f, "DNS {kind}: id 0x{:04x}", header.id.get())?;
        match Name::read(bytes, HEADER) {
            Ok((name, _)) => write!(f, " for {name}"),
            Err(_) => Ok(()),
        }
    }
}

impl<F: Ip> Build for RequestInput<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { dns: world.get(), interfaces: world.get(), addresses: world.get() }
    }
}

impl<F: Ip> Node for RequestInput<F> {
    const NAME: &'static str = "{dns4|dns6}-request";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = DnsTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, DnsTrace(Head::of(b)));
        }
        let Some(ends) = ends::<F>(b) else { return To::BadRequest };
        if ends.has_options {
            return To::IpOptions;
        }
        let Some(header) = DnsHeader::view(b.data()) else { return To::BadRequest };
        // Two servers that answer each other's responses would never end.
        if header.has(DnsHeader::RESPONSE) || ends.from.port() == 0 {
            return To::BadRequest;
        }
        // A response has the address that was asked as its source, and no group is one (RFC 1122
        // 3.2.1.3, RFC 4291 2.7). Packets to other stations don't come here.
        let own = self.addresses.of(b.rx_if, cx.turn);
        if F::of_ip(ends.to.ip()).is_none_or(|to| F::is_group(to, own)) {
            return To::BadRequest;
        }
        match header.questions.get() {
            0 => return To::BadRequest,
            1 => {}
            _ => return To::TooManyRequests,
        }
        let Some(bytes) = Bytes::of(b) else { return To::BadRequest };
        let view = self.interfaces.views(cx.turn).get(b.rx_if as usize).unwrap_or_default();
        let table = F::table_of(&view);
        let sw_if = SwIfIndex(b.rx_if);
        let query = Query { client: ends.from, own: ends.to.ip(), sw_if, table, bytes };
        if !self.dns.post_query(query) {
            return To::Busy;
        }
        cx.count(To::Processed, 1);
        To::Taken
    }
}

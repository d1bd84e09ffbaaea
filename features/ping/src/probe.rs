// SPDX-License-Identifier: Apache-2.0
//! Echo requests: where from, how they look, how they get into the graph.

use crate::sessions::{Opened, Session};
use buffer::Flags;
use cli::{Error, Matches};
use graph::{SwIfIndex, ThreadIndex, World};
use msg::retval;
use net::{Addresses, AdjIndex, AdjKind, Adjacencies, Fib, Interfaces, TableIndex};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::checksum::Sum;
use wire::{Header, Icmp4Type, IcmpHeader, Ip4, IpProtocol, Ipv4Header, U16};

/// Bytes in front of the data: IP header, ICMP header, the time of sending.
const HEADERS: usize = 20 + 8 + 8;
/// The most data that an IP packet can hold.
pub const MAX_SIZE: usize = 65_535 - HEADERS;

/// How requests go out.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// From our address on this interface, in its table.
    From(SwIfIndex),
    /// In this table, from our address on the interface by which they leave.
    In(TableIndex),
}

/// What all requests of a command have in common.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The other end.
    pub to: Ipv4Addr,
    /// Our end.
    pub from: Ipv4Addr,
    /// Where routes are looked up.
    pub table: TableIndex,
    /// Bytes of data behind the time.
    pub size: usize,
}

impl Target {
    /// From the words `ip`, `ip4`, `source`, `table`, `size`.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn of(w: &World, m: &Matches, size: usize) -> Result<Self, Error> {
        let to = m.opt::<IpAddr>("ip")?.map_or_else(|| m.req("ip4").map(IpAddr::V4), Ok)?;
        let way = if m.has("source") {
            let sw_if = w.get::<Interfaces>().find(m.str("source"));
            Way::From(sw_if.map_err(|e| e.at(m.span("source")))?)
        } else {
            let table = w.get::<Fib<Ip4>>().find_table(m.get("table").unwrap_or(0));
            Way::In(table.map_err(|e| e.at(m.span("table")))?)
        };
        let size = m.opt("size")?.unwrap_or(size);
        Self::new(w, to, way, size)
            .map_err(|e| if e.code() == retval::INVALID_DST_ADDRESS { e.at(m.span("ip")) } else { e })
    }

    /// Finds our end for another one.
    ///
    /// # Errors
    /// What is no address of one host (−58), what isn't built (−9); no way to the other end (−51), or no address of ours there
    /// (−57).
    pub fn new(w: &World, to: IpAddr, way: Way, size: usize) -> Result<Self, Error> {
        let IpAddr::V4(to) = to else {
            return Err(Error::unsupported("IPv6 is not there yet").retval(retval::UNIMPLEMENTED));
        };
        if to.is_multicast() || to.is_broadcast() || to.is_unspecified() {
            let why = format!("{to} is no address of one host");
            return Err(Error::unsupported(why).retval(retval::INVALID_DST_ADDRESS));
        }
        let (table, from) = match way {
            Way::From(sw_if) => (w.get::<Addresses<Ip4>>().table_of(sw_if)?, source_on(w, sw_if, to)),
            Way::In(table) => (table, source_to(w, table, to)?),
        };
        let from = from.ok_or_else(|| {
            let name = match way {
                Way::From(sw_if) => w.get::<Interfaces>().name(sw_if),
                Way::In(_) => "the interface it leaves by".into(),
            };
            Error::failed(format!("no source address: {name} has none")).retval(retval::INVALID_SRC_ADDRESS)
        })?;
        Ok(Self { to, from, table, size })
    }

    /// A request from its IP header on. `sent` is only carried, for who reads captures.
    pub fn request(&self, id: u16, seq: u16, ttl: u8, sent: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADERS + self.size);
        bytes.resize(28, 0);
        bytes.extend(sent.to_be_bytes());
        bytes.extend((0..self.size).map(|i| i as u8));
        let mut header = Ipv4Header::new(self.from, self.to, IpProtocol::ICMP, (bytes.len() - 20) as u16);
        header.ttl = ttl;
        // Long ones may be fragmented: no two in flight may have the same (RFC 6864 4.2).
        header.id = U16::new(seq.wrapping_add(id));
        header.set_checksum();
        if let Some(slot) = Ipv4Header::view_mut(&mut bytes) {
            *slot = header;
        }
        let rest = u32::from(id) << 16 | u32::from(seq);
        if let Some(slot) = IcmpHeader::view_at_mut(&mut bytes, 20) {
            *slot = IcmpHeader::new(Icmp4Type::ECHO_REQUEST.0, 0, rest);
        }
        let checksum = Sum::of(&bytes[20..]).finish();
        if let Some(slot) = IcmpHeader::view_at_mut(&mut bytes, 20) {
            slot.checksum = U16::new(checksum);
        }
        bytes
    }

    /// Sends requests of a session, on the main thread.
    pub fn send(&self, w: &World, opened: &Opened, requests: Vec<Vec<u8>>) {
        let Some(lookup) = w.node("ip4-lookup") else { return };
        let (table, session): (u32, Arc<Session>) = (self.table.0, opened.session.clone());
        w.on_thread(ThreadIndex(0), move |rt| {
            for request in requests {
                let mut b = match rt.cache().alloc() {
                    Some(b) => b,
                    None => {
                        session.unsent.fetch_add(1, Ordering::Relaxed);
                        continue;
                    }
                };
                if !b.append_bytes(&request, rt.cache()) {
                    session.unsent.fetch_add(1, Ordering::Relaxed);
                    rt.cache().free(b);
                    continue;
                }
                b.mark_l3();
                (b.rx_if, b.tx_if, b.flow_hash) = (0, table, 0);
                b.flags.set(Flags::LOCAL.with(Flags::TABLE).with(Flags::IP4_CSUM_OK).with(Flags::L4_CSUM_OK));
                rt.inject(lookup, b);
            }
        });
    }
}

/// Our address on an interface, for a peer.
fn source_on(w: &World, sw_if: SwIfIndex, peer: Ipv4Addr) -> Option<Ipv4Addr> {
    icmp::source(&w.get::<Addresses<Ip4>>().list(sw_if), peer)
}

/// Our address on the interface that packets to `to` leave by.
fn source_to(w: &World, mut table: TableIndex, to: Ipv4Addr) -> Result<Option<Ipv4Addr>, Error> {
    let (fib, adjacencies) = (w.get::<Fib<Ip4>>(), w.get::<Adjacencies>());
    let none = || Error::not_found(format!("no route to {to}")).retval(retval::UNKNOWN_DESTINATION);
    // A route may lead to another table, and that to a third; not for ever.
    for _ in 0..8 {
        let route = fib.covering(table, to).ok_or_else(none)?;
        let mut index = route.sources.first().map_or(AdjIndex::NO_ROUTE, |s| s.adj);
        let mut info = adjacencies.info(index).ok_or_else(none)?;
        while info.adj.kind == AdjKind::LoadBalance {
            // Buckets of one choice leave by several interfaces: the first one's address is as good as another's.
            index = *adjacencies.buckets_of(AdjIndex(info.adj.counter)).first().ok_or_else(none)?;
            info = adjacencies.info(index).ok_or_else(none)?;
        }
        match (info.adj.kind, info.sw_if()) {
            (AdjKind::Lookup, _) => table = TableIndex(info.adj.table),
            (AdjKind::Receive, _) => return Ok(Some(to)),
            (AdjKind::Glean, Some(sw_if)) => return Ok(source_on(w, sw_if, to)),
            (_, Some(sw_if)) => {
                let IpAddr::V4(nexthop) = info.adj.nexthop() else { return Err(none()) };
                return Ok(source_on(w, sw_if, nexthop));
            }
            _ => return Err(none()),
        }
    }
    Err(none())
}

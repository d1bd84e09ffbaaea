// SPDX-License-Identifier: Apache-2.0
//! Echo requests: their source, their format, their start in the graph.

use crate::sessions::Opened;
use buffer::Cache;
use cli::{Error, Matches};
use graph::{SwIfIndex, World};
use icmp::Icmp;
use msg::retval;
use net::{Addresses, AdjKind, Fib, Interfaces, LinkLocals, TableIndex};
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use udp::origin;
use wire::checksum::Sum;
use wire::{Address, Header, IcmpHeader, Ip4, Ip6, IpProtocol, Ipv4Header, Ipv6Header, U16};

/// Bytes in front of the data: IPv4 header, ICMP header, the time of sending. (IPv6 doesn't count
/// its header.)
const HEADERS: usize = 20 + 8 + 8;
/// The most data that an IP packet can hold.
pub const MAX_SIZE: usize = 65_535 - HEADERS;

/// The source address and the table of requests.
#[derive(Clone, Copy, Debug)]
pub enum SourceSelection {
    /// From our address on this interface, in its table.
    From(SwIfIndex),
    /// In this table, from our address on the interface by which they leave.
    In(TableIndex),
}

/// Settings that all requests of a command share.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The other end.
    pub to: IpAddr,
    /// Our end, of the same version.
    pub from: IpAddr,
    /// Where routes are looked up.
    pub table: TableIndex,
    /// Bytes of data behind the time.
    pub size: usize,
    /// No router may cut requests up. Those of IPv6 never do.
    pub whole: bool,
}

impl Target {
    /// Parses the words `ip`, `ip4`, `ip6`, `source`, `table`, `size`, `df`.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn of(w: &World, m: &Matches, size: usize) -> Result<Self, Error> {
        let to = match (m.opt::<IpAddr>("ip")?, m.has("ip6")) {
            (Some(to), _) => to,
            (None, true) => IpAddr::V6(m.req("ip6")?),
            (None, false) => IpAddr::V4(m.req("ip4")?),
        };
        let selection = if m.has("source") {
            let sw_if = w.get::<Interfaces>().find(m.str("source"));
            SourceSelection::From(sw_if.map_err(m.at("source"))?)
        } else {
            let id = m.get("table").unwrap_or(0);
            let table = if to.is_ipv6() {
                w.get::<Fib<Ip6>>().find_table(id)
            } else {
                w.get::<Fib<Ip4>>().find_table(id)
            };
            SourceSelection::In(table.map_err(m.at("table"))?)
        };
        let size = m.opt("size")?.unwrap_or(size);
        Self::new(w, to, selection, size)
            .map(|target| Self { whole: m.flag("df"), ..target })
            .map_err(|e| if e.is(retval::INVALID_DST_ADDRESS) { e.at(m.span("ip")) } else { e })
    }

    /// Selects our address for the other end.
    ///
    /// # Errors
    /// A destination that is no address of one host (−58), or means nothing without an interface;
    /// no route to the other end (−51), or no address of ours there (−57).
    pub fn new(
        w: &World,
        to: IpAddr,
        selection: SourceSelection,
        size: usize,
    ) -> Result<Self, Error> {
        let (table, from) = match to {
            IpAddr::V4(to) => {
                ends::<Ip4>(w, to, selection).map(|(table, from)| (table, from.into()))?
            }
            IpAddr::V6(to) => {
                ends::<Ip6>(w, to, selection).map(|(table, from)| (table, from.into()))?
            }
        };
        Ok(Self { to, from, table, size, whole: false })
    }

    /// A request from its IP header on. `sent` is not evaluated, only shown in captures.
    pub fn request(&self, id: u16, seq: u16, ttl: u8, sent: u64) -> Vec<u8> {
        let mut message = vec![0; IcmpHeader::LEN];
        message.extend(sent.to_be_bytes());
        message.extend((0..self.size).map(|i| i as u8));
        let len = message.len() as u16;
        let rest = u32::from(id) << 16 | u32::from(seq);
        match (self.from, self.to) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let mut header = Ipv4Header::new(from, to, IpProtocol::ICMP, len);
                header.ttl = ttl;
                // Long ones may be fragmented: no two in flight may have the same (RFC 6864 4.2).
                header.id = U16::new(seq.wrapping_add(id));
                if self.whole {
                    header.flags_fragment = U16::new(Ipv4Header::DF);
                }
                header.set_checksum();
                finish::<Ip4>(header, message, rest)
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let mut header = Ipv6Header::new(from, to, IpProtocol::ICMP6, len);
                header.hop_limit = ttl;
                finish::<Ip6>(header, message, rest)
            }
            _ => unreachable!("both ends are of one version"),
        }
    }

    /// Sends requests of a session, on the main thread.
    pub fn send(&self, w: &World, opened: &Opened, requests: Vec<Vec<u8>>) {
        let session = opened.session.clone();
        origin::route(w, (self.to, self.table), requests, Cache::alloc_own, move |is_sent| {
            session.unsent.fetch_add((!is_sent).into(), Ordering::Relaxed);
        });
    }
}

/// An echo request behind its IP header.
fn finish<F: Icmp>(header: F::Header, mut message: Vec<u8>, rest: u32) -> Vec<u8> {
    if let Some(slot) = IcmpHeader::view_mut(&mut message) {
        *slot = IcmpHeader::new(F::ECHO_REQUEST, 0, rest);
    }
    let checksum = (F::pseudo(&header, message.len()) + Sum::of(&message)).finish();
    if let Some(slot) = IcmpHeader::view_mut(&mut message) {
        slot.checksum = U16::new(checksum);
    }
    let mut bytes = vec![0; F::HEADER_LEN];
    if let Some(slot) = F::Header::view_mut(&mut bytes) {
        *slot = header;
    }
    bytes.extend(message);
    bytes
}

/// The table that `to` is looked up in, and our address.
fn ends<F: Icmp>(
    w: &World,
    to: F::Addr,
    selection: SourceSelection,
) -> Result<(TableIndex, F::Addr), Error> {
    if !F::is_host(to, &[]) {
        let why = wire::not_one_host(to);
        return Err(Error::unsupported(why).retval(retval::INVALID_DST_ADDRESS));
    }
    let on_link = F::IS_V6 && to.link_local();
    let (table, from) = match selection {
        SourceSelection::From(sw_if) if on_link => {
            (link(w, sw_if)?, source_on::<F>(w, sw_if, to, to))
        }
        SourceSelection::From(sw_if) => {
            (w.get::<Addresses<F>>().table_of(sw_if)?, source_on::<F>(w, sw_if, to, to))
        }
        SourceSelection::In(_) if on_link => {
            let why = format!("{to} is on which link? `source' names the interface");
            return Err(Error::usage(why).retval(retval::INVALID_DST_ADDRESS));
        }
        SourceSelection::In(table) => (table, source_to::<F>(w, table, to)?),
    };
    let from = from.ok_or_else(|| {
        let name = match selection {
            SourceSelection::From(sw_if) => w.get::<Interfaces>().name(sw_if),
            SourceSelection::In(_) => "the interface it leaves by".into(),
        };
        Error::failed(format!("no source address: {name} has none"))
            .retval(retval::INVALID_SRC_ADDRESS)
    })?;
    Ok((table, from))
}

/// The table of an interface's link.
fn link(w: &World, sw_if: SwIfIndex) -> Result<TableIndex, Error> {
    w.get::<LinkLocals>().table(sw_if).ok_or_else(|| {
        let name = w.get::<Interfaces>().name(sw_if);
        Error::failed(format!("{name} has no IPv6")).retval(retval::INVALID_SRC_ADDRESS)
    })
}

/// Our address on an interface, for `to` behind the neighbour `nexthop`.
fn source_on<F: Icmp>(
    w: &World,
    sw_if: SwIfIndex,
    to: F::Addr,
    nexthop: F::Addr,
) -> Option<F::Addr> {
    let addresses = w.get::<Addresses<F>>();
    let own = addresses.usable(sw_if);
    if !F::IS_V6 {
        return icmp::source(&own, None, nexthop);
    }
    let link = w.get::<LinkLocals>().usable(sw_if).and_then(|link| F::of_ip(link.into()));
    if own.is_empty() && !to.link_local() {
        // The link has no address that is known further away: use another link's (RFC 6724 5).
        let table = addresses.table_of(sw_if).ok();
        let others = w
            .get::<Interfaces>()
            .list()
            .into_iter()
            .filter(|i| addresses.table_of(i.sw_if).ok() == table);
        return others.flat_map(|i| addresses.usable(i.sw_if)).map(|p| p.addr()).next().or(link);
    }
    icmp::source(&own, link, if to.link_local() { to } else { nexthop_or(to, nexthop) })
}

/// The address that selects our network: the neighbour's, unless it is link-local.
fn nexthop_or<A: Address>(to: A, nexthop: A) -> A {
    if nexthop.link_local() { to } else { nexthop }
}

/// Our address on the interface that packets to `to` leave by.
fn source_to<F: Icmp>(w: &World, table: TableIndex, to: F::Addr) -> Result<Option<F::Addr>, Error> {
    let none = || Error::not_found(format!("no route to {to}")).retval(retval::UNKNOWN_DESTINATION);
    // Of several outputs, the first one's address is as good as another's.
    let info = origin::first_adjacency::<F>(w, table, to).ok_or_else(none)?;
    match (info.adj.kind, info.sw_if()) {
        (AdjKind::Receive, _) => Ok(Some(to)),
        (AdjKind::Glean, Some(sw_if)) => Ok(source_on::<F>(w, sw_if, to, to)),
        (_, Some(sw_if)) => {
            // A next hop of the other IP version selects none of our networks.
            let nexthop = F::of_ip(info.adj.nexthop()).unwrap_or(to);
            Ok(source_on::<F>(w, sw_if, to, nexthop))
        }
        _ => Err(none()),
    }
}

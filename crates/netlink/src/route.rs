// SPDX-License-Identifier: Apache-2.0
//! Routes and addresses of the host, read only.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{DecodeError, NLM_F_ACK, NLM_F_DUMP, NlasIterator, parse_u32};
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage, address::AddressMessage, route::RouteAttribute,
    route::RouteMessage,
};

use crate::{Rtnl, rtnl::family, socket::malformed};

/// An address of an interface of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// Index of the interface.
    pub index: u32,
    /// The address.
    pub address: IpAddr,
    /// Length of its network's prefix.
    pub prefix_len: u8,
    /// False for an address that is valid on the link or in the host only.
    pub global: bool,
}

/// A next hop of a default route of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DefaultRoute {
    /// Index of the interface by which packets leave.
    pub index: u32,
    /// True for IPv6.
    pub ip6: bool,
    /// The next hop's address, if there is one.
    pub gateway: Option<IpAddr>,
    /// The table; 254 is the main one.
    pub table: u32,
}

/// `rtmsg`: family, two lengths, TOS, table, protocol, scope, type, flags.
const RTMSG: usize = 12;
/// `ifaddrmsg`: family, length, flags, scope, index.
const IFADDRMSG: usize = 8;
/// `rtnexthop`: length, flags, hops, index.
const RTNEXTHOP: usize = 8;
/// `nlattr`: length, type.
const NLA_HEADER: usize = 4;
/// `RT_TABLE_LOCAL`
const LOCAL: u32 = 255;

impl Rtnl {
    /// The default routes of all tables, one entry for each next hop.
    pub fn default_routes(&mut self) -> io::Result<Vec<DefaultRoute>> {
        let mut routes = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut message = RouteMessage::default();
            message.header.address_family = family;
            self.ask(NLM_F_DUMP, RouteNetlinkMessage::GetRoute(message), |payload| {
                default_routes_in(payload, &mut routes).map_err(malformed)
            })?;
        }
        Ok(routes)
    }

    /// The addresses of all interfaces.
    pub fn addresses(&mut self) -> io::Result<Vec<Address>> {
        let mut addresses = Vec::new();
        let message = AddressMessage::default();
        self.ask(NLM_F_DUMP, RouteNetlinkMessage::GetAddress(message), |payload| {
            addresses.extend(address_in(payload).map_err(malformed)?);
            Ok(())
        })?;
        Ok(addresses)
    }

    /// The interface by which packets to `destination` leave; `None` without a route.
    pub fn link_to(&mut self, destination: IpAddr) -> io::Result<Option<u32>> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(destination);
        message.header.destination_prefix_length = if destination.is_ipv4() { 32 } else { 128 };
        message.attributes = vec![RouteAttribute::Destination(destination.into())];
        let mut found = None;
        let asked = self.ask(NLM_F_ACK, RouteNetlinkMessage::GetRoute(message), |payload| {
            found = attribute(payload, RTMSG, libc::RTA_OIF)
                .and_then(|value| value.map(parse_u32).transpose())
                .map_err(malformed)?;
            Ok(())
        });
        match asked.map_err(|error| (error.raw_os_error(), error)) {
            Err((Some(libc::ENETUNREACH | libc::EHOSTUNREACH), _)) => Ok(None),
            Err((_, error)) => Err(error),
            Ok(()) => Ok(found),
        }
    }
}

/// The attributes behind a header of so many bytes.
fn attributes(
    payload: &[u8],
    header: usize,
) -> impl Iterator<Item = Result<(u16, &[u8]), DecodeError>> {
    let rest = payload.get(header..).unwrap_or_default();
    NlasIterator::new(rest).map(|nla| {
        let nla = nla?;
        let (kind, len) = (nla.kind(), nla.value().len());
        // The value as a part of the payload: it outlives the attribute.
        Ok((kind, nla.into_inner().get(NLA_HEADER..NLA_HEADER + len).unwrap_or_default()))
    })
}

fn attribute(payload: &[u8], header: usize, kind: u16) -> Result<Option<&[u8]>, DecodeError> {
    for attribute in attributes(payload, header) {
        let (found, value) = attribute?;
        if found == kind {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

fn ip(value: &[u8]) -> Option<IpAddr> {
    let four = || <[u8; 4]>::try_from(value).ok().map(|a| Ipv4Addr::from(a).into());
    four().or_else(|| <[u8; 16]>::try_from(value).ok().map(|a| Ipv6Addr::from(a).into()))
}

/// Adds the next hops of a route, if it is a default route that packets can take.
fn default_routes_in(payload: &[u8], routes: &mut Vec<DefaultRoute>) -> Result<(), DecodeError> {
    let Some(header) = payload.first_chunk::<RTMSG>() else {
        return Err("a route without header".into());
    };
    // One for some sources only is a default route for these.
    let [family, prefix_len, _, _, table, _, _, kind, ..] = *header;
    let ip6 = i32::from(family) == libc::AF_INET6;
    if prefix_len != 0 || kind != libc::RTN_UNICAST || !(ip6 || i32::from(family) == libc::AF_INET)
    {
        return Ok(());
    }
    let mut route = DefaultRoute { index: 0, ip6, gateway: None, table: table.into() };
    let mut hops: &[u8] = &[];
    for attribute in attributes(payload, RTMSG) {
        let (kind, value) = attribute?;
        match kind {
            libc::RTA_OIF => route.index = parse_u32(value)?,
            libc::RTA_GATEWAY => route.gateway = ip(value),
            // `struct rtvia`: a family, then an address.
            libc::RTA_VIA => route.gateway = value.get(2..).and_then(ip),
            libc::RTA_TABLE => route.table = parse_u32(value)?,
            libc::RTA_MULTIPATH => hops = value,
            _ => {}
        }
    }
    if route.table == LOCAL {
        return Ok(());
    }
    if route.index != 0 {
        routes.push(route);
    }
    while let Some(hop) = hops.first_chunk::<RTNEXTHOP>() {
        let len = usize::from(u16::from_ne_bytes([hop[0], hop[1]]));
        let index = u32::from_ne_bytes([hop[4], hop[5], hop[6], hop[7]]);
        let Some(whole) = hops.get(..len).filter(|_| len >= RTNEXTHOP) else {
            return Err("a next hop that isn't whole".into());
        };
        let gateway = attribute(whole, RTNEXTHOP, libc::RTA_GATEWAY)?.and_then(ip);
        let via = attribute(whole, RTNEXTHOP, libc::RTA_VIA)?;
        let gateway = gateway.or_else(|| via.and_then(|via| via.get(2..)).and_then(ip));
        routes.push(DefaultRoute { index, gateway, ..route });
        hops = hops.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(())
}

/// The address in an answer; none of another family.
pub(crate) fn address_in(payload: &[u8]) -> Result<Option<Address>, DecodeError> {
    let Some(header) = payload.first_chunk::<IFADDRMSG>() else {
        return Err("an address without header".into());
    };
    let [_, prefix_len, _, scope, index @ ..] = *header;
    // Of a point-to-point link the other attribute is the peer's address.
    let own = attribute(payload, IFADDRMSG, libc::IFA_LOCAL)?;
    let value = match own {
        Some(own) => Some(own),
        None => attribute(payload, IFADDRMSG, libc::IFA_ADDRESS)?,
    };
    let global = scope == libc::RT_SCOPE_UNIVERSE;
    let index = u32::from_ne_bytes(index);
    Ok(value.and_then(ip).map(|address| Address { index, address, prefix_len, global }))
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn nla(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = [(4 + value.len()) as u16, kind].map(u16::to_ne_bytes).concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// An IPv4 route of the main table with these attributes.
    fn route(prefix_len: u8, kind: u8, attributes: &[Vec<u8>]) -> Vec<u8> {
        let family = libc::AF_INET as u8;
        let mut bytes = vec![family, prefix_len, 0, 0, 254, 4, 0, kind, 0, 0, 0, 0];
        bytes.extend(attributes.concat());
        bytes
    }

    fn read(payload: &[u8]) -> Vec<DefaultRoute> {
        let mut routes = Vec::new();
        default_routes_in(payload, &mut routes).expect("well formed");
        routes
    }

    #[suite::test]
    fn default_routes_and_their_next_hops() {
        let (oif, gateway) = (nla(libc::RTA_OIF, &7u32.to_ne_bytes()), [10, 0, 0, 1]);
        let via = nla(libc::RTA_GATEWAY, &gateway);
        let one = DefaultRoute { index: 7, ip6: false, gateway: ip(&gateway), table: 254 };
        assert_eq!(read(&route(0, 1, &[oif.clone(), via.clone()])), [one]);
        // A network's route; a route that refuses; the kernel's own addresses.
        assert_eq!(read(&route(24, 1, &[oif.clone(), via.clone()])), []);
        assert_eq!(read(&route(0, 7, std::slice::from_ref(&oif))), []);
        let local = nla(libc::RTA_TABLE, &LOCAL.to_ne_bytes());
        assert_eq!(read(&route(0, 1, &[oif, local])), []);
        // Two next hops: the second one has no gateway.
        let hop = |index: u32, inner: &[u8]| {
            let mut bytes = ((8 + inner.len()) as u16).to_ne_bytes().to_vec();
            bytes.extend([0, 0]);
            bytes.extend(index.to_ne_bytes());
            bytes.extend(inner);
            bytes
        };
        let hops = [hop(3, &via), hop(4, &[])].concat();
        let both = read(&route(0, 1, &[nla(libc::RTA_MULTIPATH, &hops)]));
        let want = [(3, ip(&gateway)), (4, None)];
        assert_eq!(both.iter().map(|r| (r.index, r.gateway)).collect::<Vec<_>>(), want);
    }

    #[suite::test]
    fn a_malformed_answer_is_an_error() {
        let oif = nla(libc::RTA_OIF, &7u32.to_ne_bytes());
        let whole = route(0, 1, &[oif, nla(libc::RTA_MULTIPATH, &[8, 0, 0, 0, 1, 0, 0, 0])]);
        assert_eq!(read(&whole).len(), 2);
        for len in 0..whole.len() {
            let mut routes = Vec::new();
            // It may end behind an attribute.
            let _ = default_routes_in(&whole[..len], &mut routes);
            assert!(len >= RTMSG || routes.is_empty());
        }
        for len in [0u16, 7, 9, 200] {
            let hop = [&len.to_ne_bytes()[..], &[0; 6]].concat();
            let payload = route(0, 1, &[nla(libc::RTA_MULTIPATH, &hop)]);
            assert!(default_routes_in(&payload, &mut Vec::new()).is_err(), "{len}");
        }
        for len in 0..IFADDRMSG {
            assert!(address_in(&[2; IFADDRMSG][..len]).is_err());
        }
    }
}

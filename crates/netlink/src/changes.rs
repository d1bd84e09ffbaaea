// SPDX-License-Identifier: Apache-2.0
//! Changes of the host's links, addresses, neighbours and routes, as notifications and as dumps.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{DecodeError, NetlinkBuffer, NlasIterator, parse_u16, parse_u32};
use wire::MacAddr;

use crate::{Address, Link, route::address_in};

/// A change, or an object of a dump.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// A link is new or has changed.
    Link(Link),
    /// A link is gone.
    LinkGone(Link),
    /// An address was added or has changed.
    Address(Address),
    /// An address was removed.
    AddressGone(Address),
    /// A neighbour was added or has changed.
    Neighbor(NeighborEntry),
    /// A neighbour was removed.
    NeighborGone(NeighborEntry),
    /// A route was added.
    Route(KernelRoute),
    /// A route was removed.
    RouteGone(KernelRoute),
    /// A next-hop object was added or has changed.
    NextHop(NextHopObject),
    /// The next-hop object of this id was removed.
    NextHopGone(u32),
}

/// An object that routes name as their next hop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NextHopObject {
    /// Its id.
    pub id: u32,
    /// Its target.
    pub target: NextHopTarget,
}

/// The target of a next-hop object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NextHopTarget {
    /// A next hop.
    Hop(Hop),
    /// Packets are dropped without a word.
    Blackhole,
    /// Other objects: the id and the share of the flows of each, 1 at least.
    Group(Vec<(u32, u16)>),
}

/// A neighbour of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NeighborEntry {
    /// Index of the interface.
    pub index: u32,
    /// Its address.
    pub address: IpAddr,
    /// Its MAC address, if it is known.
    pub mac: Option<MacAddr>,
    /// Its state: one of `NUD_*` (rtnetlink(7)).
    pub state: u16,
}

impl NeighborEntry {
    const REACHABLE: u16 = 0x02;
    const STALE: u16 = 0x04;
    const DELAY: u16 = 0x08;
    const PROBE: u16 = 0x10;
    const FAILED: u16 = 0x20;
    const NOARP: u16 = 0x40;
    const PERMANENT: u16 = 0x80;

    /// It didn't answer.
    pub fn has_failed(&self) -> bool {
        self.state & Self::FAILED != 0
    }

    /// It was set, not learned.
    pub fn is_static(&self) -> bool {
        self.state & (Self::NOARP | Self::PERMANENT) != 0
    }

    /// Its MAC address may be used.
    pub fn is_usable(&self) -> bool {
        let learned = Self::REACHABLE | Self::STALE | Self::DELAY | Self::PROBE;
        self.is_static() || self.state & learned != 0
    }
}

/// The kind of a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RouteKind {
    /// By next hops.
    Unicast,
    /// Packets are dropped without a word.
    Blackhole,
    /// Senders learn that the destination is unreachable.
    Unreachable,
    /// Senders learn that this is prohibited.
    Prohibit,
    /// Another kind (`RTN_*`): of the host's own addresses, of groups …
    Other(u8),
}

/// A next hop of a route.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Hop {
    /// Index of the interface by which packets leave; 0 if the message has none.
    pub index: u32,
    /// The next hop's address, which may be of the other protocol; `None`: destinations are on the
    /// link.
    pub gateway: Option<IpAddr>,
    /// Its share of the flows, 1 at least.
    pub weight: u16,
    /// True if the kernel encapsulates packets (`RTA_ENCAP`).
    pub is_encapsulated: bool,
}

/// A route of the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelRoute {
    /// The destination's network.
    pub prefix: IpAddr,
    /// Length of its prefix.
    pub len: u8,
    /// The table; 254 is the main one, 255 that of the host's own addresses.
    pub table: u32,
    /// The program that has set it (`RTPROT_*`): 2 is the kernel, up to 4 are operators.
    pub protocol: u8,
    /// Its kind.
    pub kind: RouteKind,
    /// The metric: of several routes to a network the one with the lowest is in force.
    pub metric: u32,
    /// Its next hops.
    pub hops: Vec<Hop>,
    /// The next-hop object that it names; the kernel lists its hops too, unless it is told not to.
    pub nexthop_object: Option<u32>,
    /// It replaces the route with the same metric (`NLM_F_REPLACE`).
    pub replaces: bool,
    /// It is an exception that the kernel has cached for a destination, no route of a table.
    pub is_cached: bool,
    /// It is for packets from some sources only.
    pub has_source: bool,
}

/// `RTM_F_OFFLOAD`: a route is in force in the data plane. The flags are the last word of `rtmsg`.
pub const OFFLOAD: u32 = 0x4000;
/// Offset of the flags of a route in its message, in bytes.
pub const ROUTE_FLAGS: usize = 16 + 8;

/// `ndmsg`: family, padding, index, state, flags, type.
const NDMSG: usize = 12;
/// `rtmsg`: family, two lengths, TOS, table, protocol, scope, type, flags.
const RTMSG: usize = 12;
/// `rtnexthop`: length, flags, hops, index.
const RTNEXTHOP: usize = 8;
const NLM_F_REPLACE: u16 = 0x100;
/// `RTNH_F_DEAD`: the link of a next hop is down.
const DEAD: u8 = 1;
/// `RTM_F_CLONED`
const CLONED: u32 = 0x200;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const RTA_VIA: u16 = 18;
const RTA_ENCAP_TYPE: u16 = 21;
const RTA_NH_ID: u16 = 30;
/// `nhmsg`: family, scope, protocol, reserved, flags.
const NHMSG: usize = 8;
/// `nexthop_grp`: id, weight minus 1, its high byte, reserved.
const NEXTHOP_GRP: usize = 8;
pub(crate) const NEWNEXTHOP: u16 = 104;
pub(crate) const DELNEXTHOP: u16 = 105;
const NHA_ID: u16 = 1;
const NHA_GROUP: u16 = 2;
const NHA_GROUP_TYPE: u16 = 3;
const NHA_BLACKHOLE: u16 = 4;
const NHA_OIF: u16 = 5;
const NHA_GATEWAY: u16 = 6;
const NHA_ENCAP_TYPE: u16 = 7;
const NHA_FDB: u16 = 11;

/// The change in a message; `None` for one about something else.
///
/// # Errors
/// A message that the kernel wouldn't send.
pub(crate) fn parse(message: &NetlinkBuffer<&[u8]>) -> Result<Option<Change>, DecodeError> {
    let payload = message.payload();
    // Families other than these have messages of the same types: bridges, MPLS.
    let family = i32::from(payload.first().copied().unwrap_or_default());
    let is_ip = [libc::AF_INET, libc::AF_INET6].contains(&family);
    let is_link = family == libc::AF_UNSPEC;
    Ok(match message.message_type() {
        libc::RTM_NEWLINK if is_link => Some(Change::Link(Link::parse(payload)?)),
        libc::RTM_DELLINK if is_link => Some(Change::LinkGone(Link::parse(payload)?)),
        libc::RTM_NEWADDR if is_ip => address_in(payload)?.map(Change::Address),
        libc::RTM_DELADDR if is_ip => address_in(payload)?.map(Change::AddressGone),
        libc::RTM_NEWNEIGH if is_ip => neighbor(payload, family)?.map(Change::Neighbor),
        libc::RTM_DELNEIGH if is_ip => neighbor(payload, family)?.map(Change::NeighborGone),
        libc::RTM_NEWROUTE if is_ip => {
            Some(Change::Route(route(payload, family, message.flags())?))
        }
        libc::RTM_DELROUTE if is_ip => {
            Some(Change::RouteGone(route(payload, family, message.flags())?))
        }
        NEWNEXTHOP if is_ip || is_link => nexthop(payload, family)?.map(Change::NextHop),
        DELNEXTHOP if is_ip || is_link => nexthop_id(payload)?.map(Change::NextHopGone),
        _ => None,
    })
}

fn cut() -> DecodeError {
    DecodeError::from("a message that ends too early")
}

fn word(payload: &[u8], at: usize) -> Result<u32, DecodeError> {
    parse_u32(payload.get(at..at + 4).ok_or_else(cut)?)
}

/// An address of a protocol.
fn ip(value: &[u8], family: i32) -> Result<IpAddr, DecodeError> {
    let bad = || DecodeError::from("an address of another length");
    Ok(match family == libc::AF_INET6 {
        true => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(value).map_err(|_| bad())?)),
        false => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(value).map_err(|_| bad())?)),
    })
}

fn neighbor(payload: &[u8], family: i32) -> Result<Option<NeighborEntry>, DecodeError> {
    let index = word(payload, 4)?;
    let state = parse_u16(payload.get(8..10).ok_or_else(cut)?)?;
    let (mut address, mut mac) = (None, None);
    for attribute in NlasIterator::new(payload.get(NDMSG..).ok_or_else(cut)?) {
        let attribute = attribute?;
        match attribute.kind() {
            NDA_DST => address = Some(ip(attribute.value(), family)?),
            NDA_LLADDR => mac = <[u8; 6]>::try_from(attribute.value()).ok().map(MacAddr),
            _ => {}
        }
    }
    Ok(address.map(|address| NeighborEntry { index, address, mac, state }))
}

pub(crate) fn nexthop_id(payload: &[u8]) -> Result<Option<u32>, DecodeError> {
    for attribute in NlasIterator::new(payload.get(NHMSG..).ok_or_else(cut)?) {
        let attribute = attribute?;
        if attribute.kind() == NHA_ID {
            return Ok(Some(parse_u32(attribute.value())?));
        }
    }
    Ok(None)
}

/// A next-hop object; `None` for one of another kind: of bridges, or with hashes of the kernel.
fn nexthop(payload: &[u8], family: i32) -> Result<Option<NextHopObject>, DecodeError> {
    let (mut id, mut members, mut index, mut is_blackhole) = (None, None, None, false);
    let mut hop = HopAttributes::default();
    for attribute in NlasIterator::new(payload.get(NHMSG..).ok_or_else(cut)?) {
        let attribute = attribute?;
        let value = attribute.value();
        match attribute.kind() {
            NHA_ID => id = Some(parse_u32(value)?),
            NHA_GROUP => members = Some(group(value)?),
            // 0: by a hash threshold, as all objects here.
            NHA_GROUP_TYPE if parse_u16(value)? != 0 => return Ok(None),
            NHA_BLACKHOLE => is_blackhole = true,
            NHA_OIF => index = Some(parse_u32(value)?),
            NHA_GATEWAY => hop.gateway = Some(ip(value, family)?),
            NHA_ENCAP_TYPE => hop.is_encapsulated = true,
            NHA_FDB => return Ok(None),
            _ => {}
        }
    }
    let id = id.ok_or_else(|| DecodeError::from("a next-hop object without an id"))?;
    let target = match members {
        Some(members) => NextHopTarget::Group(members),
        None if is_blackhole => NextHopTarget::Blackhole,
        None => NextHopTarget::Hop(hop.hop(index.unwrap_or_default(), 0)),
    };
    Ok(Some(NextHopObject { id, target }))
}

fn group(value: &[u8]) -> Result<Vec<(u32, u16)>, DecodeError> {
    if !value.len().is_multiple_of(NEXTHOP_GRP) {
        return Err(cut());
    }
    let member = |one: &[u8]| {
        // Weights above 255 need the kernel's high byte (Linux 6.12).
        let weight = u16::from_le_bytes([one[4], one[5]]).saturating_add(1);
        Ok((parse_u32(&one[..4])?, weight))
    };
    value.chunks_exact(NEXTHOP_GRP).map(member).collect()
}

/// Attributes of one next hop: of a route, or behind an `rtnexthop`.
#[derive(Default)]
struct HopAttributes {
    gateway: Option<IpAddr>,
    is_encapsulated: bool,
}

impl HopAttributes {
    fn read(&mut self, kind: u16, value: &[u8], family: i32) -> Result<(), DecodeError> {
        match kind {
            libc::RTA_GATEWAY => self.gateway = Some(ip(value, family)?),
            // A family and an address of it.
            RTA_VIA => {
                let of = parse_u16(value.get(..2).ok_or_else(cut)?)?;
                self.gateway = Some(ip(&value[2..], i32::from(of))?);
            }
            RTA_ENCAP_TYPE => self.is_encapsulated = true,
            _ => {}
        }
        Ok(())
    }

    fn hop(self, index: u32, hops: u8) -> Hop {
        let gateway = self.gateway.filter(|gateway| !gateway.is_unspecified());
        let weight = u16::from(hops) + 1;
        Hop { index, gateway, weight, is_encapsulated: self.is_encapsulated }
    }
}

fn route(payload: &[u8], family: i32, flags: u16) -> Result<KernelRoute, DecodeError> {
    let &[_, len, source_len, _, table, protocol, _, kind, ..] = payload else { return Err(cut()) };
    let any = match family == libc::AF_INET6 {
        true => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        false => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    };
    let mut route = KernelRoute {
        prefix: any,
        len,
        table: table.into(),
        protocol,
        kind: match kind {
            libc::RTN_UNICAST => RouteKind::Unicast,
            libc::RTN_BLACKHOLE => RouteKind::Blackhole,
            libc::RTN_UNREACHABLE => RouteKind::Unreachable,
            libc::RTN_PROHIBIT => RouteKind::Prohibit,
            other => RouteKind::Other(other),
        },
        metric: 0,
        hops: Vec::new(),
        nexthop_object: None,
        replaces: flags & NLM_F_REPLACE != 0,
        is_cached: word(payload, 8)? & CLONED != 0,
        has_source: source_len > 0,
    };
    if len > if any.is_ipv6() { 128 } else { 32 } {
        return Err(DecodeError::from("a prefix that is too long"));
    }
    let (mut index, mut single) = (None, HopAttributes::default());
    for attribute in NlasIterator::new(&payload[RTMSG..]) {
        let attribute = attribute?;
        let value = attribute.value();
        match attribute.kind() {
            libc::RTA_DST => route.prefix = ip(value, family)?,
            libc::RTA_TABLE => route.table = parse_u32(value)?,
            libc::RTA_PRIORITY => route.metric = parse_u32(value)?,
            libc::RTA_OIF => index = Some(parse_u32(value)?),
            libc::RTA_MULTIPATH => multipath(value, family, &mut route.hops)?,
            RTA_NH_ID => route.nexthop_object = Some(parse_u32(value)?),
            kind => single.read(kind, value, family)?,
        }
    }
    // A routing daemon, not the kernel, may leave the interface of a next hop out.
    if route.hops.is_empty() && (index.is_some() || single.gateway.is_some()) {
        route.hops.push(single.hop(index.unwrap_or_default(), 0));
    }
    Ok(route)
}

fn multipath(mut value: &[u8], family: i32, hops: &mut Vec<Hop>) -> Result<(), DecodeError> {
    while value.len() >= RTNEXTHOP {
        let len = usize::from(parse_u16(&value[..2])?);
        let index = word(value, 4)?;
        let one = value.get(RTNEXTHOP..len).ok_or_else(cut)?;
        let mut of = HopAttributes::default();
        for attribute in NlasIterator::new(one) {
            let attribute = attribute?;
            of.read(attribute.kind(), attribute.value(), family)?;
        }
        if value[2] & DEAD == 0 {
            hops.push(of.hop(index, value[3]));
        }
        value = value.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(())
}

#[cfg(feature = "tests")]
mod tests;

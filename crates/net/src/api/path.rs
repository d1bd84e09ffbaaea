// SPDX-License-Identifier: Apache-2.0
//! Paths of routes on the wire.

use super::{AddressFamily, AddressUnion};
use crate::fib::{ResolveVia, RouteTables, TableRef};
use crate::{AdjIndex, Fib, Link, Net, Objects, Path, PathKind, by_version};
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::retval;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// No interface, no table, no object.
pub const NO_INDEX: u32 = u32::MAX;

msg::messages! {
    /// The type of a path.
    FibPathType,
    /// Conditions of a path.
    flags FibPathFlags,
    /// The next hop's protocol.
    FibPathNhProto,
    /// The next hop.
    FibPathNh,
    /// A label that is pushed.
    FibMplsLabel,
    /// A path of a route.
    FibPath,
}

/// Converts a path of a route for packets of this link type from the wire.
///
/// # Errors
/// No such table (−3); a path that isn't implemented (−9); an invalid path (−7).
pub fn path_of(world: &World, link: Link, path: &FibPath) -> Result<Path> {
    let unsupported = |what: &str| {
        Err(Error::unsupported(format!("{what} in routes")).retval(retval::UNIMPLEMENTED))
    };
    if usize::from(path.n_labels) > path.label_stack.len() {
        let why = "more labels than a path has";
        return Err(Error::parse(why).retval(retval::INVALID_VALUE));
    }
    let object = |number| -> Result<PathKind> {
        let name =
            OBJECTS.iter().find(|(kind, _)| *kind == path.r#type).map_or("", |(_, name)| name);
        Ok(PathKind::Object(world.get::<Objects>().get(name)?, number))
    };
    let sw_if = (path.sw_if_index != NO_INDEX).then_some(SwIfIndex(path.sw_if_index));
    let own = path.nh.address.of(family(link));
    let table = |link| by_version!(link == Link::IP6, find_table(world, path.table_id));
    let kind = match path.r#type {
        FibPathType::Normal => {
            // RFC 8950: the next hop may be of the other protocol.
            let nexthop_link = match path.proto {
                FibPathNhProto::Ip4 => Link::IP4,
                FibPathNhProto::Ip6 => Link::IP6,
                _ => return unsupported("next hops of this protocol"),
            };
            let nexthop = path.nh.address.of(family(nexthop_link));
            match sw_if {
                // Without a next hop its protocol doesn't matter.
                Some(sw_if) if nexthop.is_unspecified() => {
                    PathKind::Attached { sw_if, address: unspecified(link) }
                }
                Some(sw_if) => PathKind::Neighbor { sw_if, nexthop },
                None if !nexthop.is_unspecified() => {
                    PathKind::Recursive { table: table(nexthop_link)?.index, nexthop }
                }
                None if nexthop_link == link => PathKind::Lookup(table(link)?),
                None => return unsupported("lookups of the other protocol"),
            }
        }
        FibPathType::Local => match sw_if {
            Some(sw_if) => PathKind::Receive { sw_if, address: own },
            None => PathKind::Fixed(AdjIndex::RECEIVE),
        },
        FibPathType::Drop => PathKind::Fixed(AdjIndex::DROP),
        FibPathType::IcmpUnreach => PathKind::Fixed(AdjIndex::UNREACH),
        FibPathType::IcmpProhibit => PathKind::Fixed(AdjIndex::PROHIBIT),
        FibPathType::InterfaceRx | FibPathType::Dvr => object(path.sw_if_index)?,
        FibPathType::UdpEncap => object(path.nh.obj_id)?,
        FibPathType::Classify => object(path.nh.classify_table_index)?,
        FibPathType::SourceLookup => PathKind::SourceLookup(table(link)?),
        FibPathType::BierImp => return unsupported("paths of this type"),
    };
    if path.n_labels > 0 {
        return unsupported("MPLS labels");
    }
    let resolve_via = match path.flags {
        flags if flags.has(FibPathFlags::RESOLVE_VIA_HOST) => ResolveVia::Host,
        flags if flags.has(FibPathFlags::RESOLVE_VIA_ATTACHED) => ResolveVia::Attached,
        _ => ResolveVia::Any,
    };
    Ok(Path { kind, weight: path.weight.max(1), preference: path.preference, resolve_via })
}

/// The types of paths that lead to objects, with the names of the objects' types.
const OBJECTS: [(FibPathType, &str); 4] = [
    (FibPathType::InterfaceRx, "interface-rx"),
    (FibPathType::Dvr, "dvr"),
    (FibPathType::UdpEncap, "udp-encap"),
    (FibPathType::Classify, "classify"),
];

const fn family(link: Link) -> AddressFamily {
    match link {
        Link::IP6 => AddressFamily::Ip6,
        _ => AddressFamily::Ip4,
    }
}

const fn unspecified(link: Link) -> IpAddr {
    match link {
        Link::IP6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

fn find_table<F: Net>(world: &World, id: u32) -> Result<TableRef> {
    world.get::<Fib<F>>().find_table(id).map(Fib::<F>::table_ref)
}

const fn proto_of(link: Link) -> FibPathNhProto {
    match link {
        Link::IP6 => FibPathNhProto::Ip6,
        _ => FibPathNhProto::Ip4,
    }
}

/// Converts a path of a route for packets of this link type to the wire.
pub fn path_to(tables: &RouteTables, link: Link, path: &Path) -> FibPath {
    let id = |table: TableRef| tables.table_id(table).unwrap_or(0);
    let mut out = FibPath {
        sw_if_index: NO_INDEX,
        weight: path.weight,
        preference: path.preference,
        proto: proto_of(link),
        flags: match path.resolve_via {
            ResolveVia::Any => FibPathFlags::NONE,
            ResolveVia::Host => FibPathFlags::RESOLVE_VIA_HOST,
            ResolveVia::Attached => FibPathFlags::RESOLVE_VIA_ATTACHED,
        },
        ..FibPath::default()
    };
    match path.kind {
        PathKind::Attached { sw_if, .. } => out.sw_if_index = sw_if.0,
        PathKind::Neighbor { sw_if, nexthop } => {
            out.nh.address = nexthop.into();
            out.proto = proto_of(Link::of(nexthop));
            out.sw_if_index = sw_if.0;
        }
        PathKind::Recursive { table, nexthop } => {
            out.nh.address = nexthop.into();
            out.proto = proto_of(Link::of(nexthop));
            out.table_id = id(TableRef::of_address(table, nexthop));
        }
        PathKind::Receive { sw_if, address } => {
            out.nh.address = address.into();
            out.sw_if_index = sw_if.0;
            out.r#type = FibPathType::Local;
        }
        PathKind::Lookup(table) => out.table_id = id(table),
        PathKind::SourceLookup(table) => {
            out.r#type = FibPathType::SourceLookup;
            out.table_id = id(table);
        }
        PathKind::Fixed(AdjIndex::UNREACH) => out.r#type = FibPathType::IcmpUnreach,
        PathKind::Fixed(AdjIndex::PROHIBIT) => out.r#type = FibPathType::IcmpProhibit,
        PathKind::Fixed(AdjIndex::RECEIVE) => out.r#type = FibPathType::Local,
        PathKind::Fixed(_) => out.r#type = FibPathType::Drop,
        PathKind::Object(of, number) => {
            // An object that VPP doesn't have is no path of the API.
            let known = OBJECTS.iter().find(|(_, name)| *name == of.name);
            out.r#type = known.map_or(FibPathType::Drop, |(kind, _)| *kind);
            match out.r#type {
                FibPathType::UdpEncap => out.nh.obj_id = number,
                FibPathType::Classify => out.nh.classify_table_index = number,
                FibPathType::InterfaceRx | FibPathType::Dvr => out.sw_if_index = number,
                _ => {}
            }
        }
    }
    out
}

// SPDX-License-Identifier: Apache-2.0
//! Paths of routes on the wire.

use super::{AddressFamily, AddressUnion};
use crate::fib::{Labels, ResolveVia};
use crate::{AdjIndex, Extension, Fib, Net, Path, PathKind, TableIndex};
use cli::{Error, Result};
use graph::SwIfIndex;
use msg::{Wire, retval};
use std::net::IpAddr;
use wire::Address;

/// No interface, no table, no object.
pub const NO_INDEX: u32 = u32::MAX;

/// The type of a path.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "FIB_API_PATH_TYPE_")]
#[expect(missing_docs, reason = "the names say it")]
pub enum FibPathType {
    #[default]
    Normal = 0,
    Local = 1,
    Drop = 2,
    UdpEncap = 3,
    BierImp = 4,
    IcmpUnreach = 5,
    IcmpProhibit = 6,
    SourceLookup = 7,
    Dvr = 8,
    InterfaceRx = 9,
    Classify = 10,
}

msg::flags! {
    /// Conditions of a path.
    pub struct FibPathFlags: u32 = enum "fib_path_flags" {
        NONE = 0 => "FIB_API_PATH_FLAG_NONE",
        RESOLVE_VIA_ATTACHED = 1 => "FIB_API_PATH_FLAG_RESOLVE_VIA_ATTACHED",
        RESOLVE_VIA_HOST = 2 => "FIB_API_PATH_FLAG_RESOLVE_VIA_HOST",
        POP_PW_CW = 4 => "FIB_API_PATH_FLAG_POP_PW_CW",
    }
}

/// The next hop's protocol.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "FIB_API_PATH_NH_PROTO_")]
#[expect(missing_docs, reason = "the names say it")]
pub enum FibPathNhProto {
    #[default]
    Ip4 = 0,
    Ip6 = 1,
    Mpls = 2,
    Ethernet = 3,
    Bier = 4,
}

/// The next hop.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FibPathNh {
    /// Its address.
    pub address: AddressUnion,
    /// Or its label.
    pub via_label: u32,
    /// Or an object of another feature.
    pub obj_id: u32,
    /// Or a classify table.
    pub classify_table_index: u32,
}

/// A label that is pushed.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are RFC 3032's")]
pub struct FibMplsLabel {
    pub is_uniform: u8,
    pub label: u32,
    pub ttl: u8,
    pub exp: u8,
}

/// A path of a route.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FibPath {
    /// The interface; all bits set for a recursive path.
    pub sw_if_index: u32,
    /// The table in which the next hop, or without one the destination, is looked up.
    pub table_id: u32,
    /// The RPF id, for multicast.
    pub rpf_id: u32,
    /// The share of the flows.
    pub weight: u8,
    /// Only the usable paths with the lowest preference are taken.
    pub preference: u8,
    /// The type.
    #[wire(name = "type")]
    pub kind: FibPathType,
    /// Conditions.
    pub flags: FibPathFlags,
    /// The next hop's protocol.
    pub proto: FibPathNhProto,
    /// The next hop.
    pub nh: FibPathNh,
    /// Number of labels that are pushed.
    pub n_labels: u8,
    /// The labels.
    pub label_stack: [FibMplsLabel; 16],
}

/// Converts a path from the wire; `other` are the routes of the other protocol.
///
/// # Errors
/// No such table (−3); a path that isn't implemented (−9); an invalid path (−7).
pub fn path_of<F: Net>(
    fib: &Fib<F>,
    other: &Fib<F::Other>,
    path: &FibPath,
) -> Result<Path<F::Addr>> {
    let unsupported = |what: &str| {
        Err(Error::unsupported(format!("{what} in routes")).retval(retval::UNIMPLEMENTED))
    };
    let label = |l: &FibMplsLabel| l.label << 12 | u32::from(l.exp & 7) << 9 | u32::from(l.ttl);
    let labels: Vec<u32> = path.label_stack.iter().take(path.n_labels.into()).map(label).collect();
    let labels =
        Labels::new(&labels).filter(|labels| labels.as_slice().len() == usize::from(path.n_labels));
    let labels = labels
        .ok_or_else(|| Error::parse("more labels than a path has").retval(retval::INVALID_VALUE))?;
    let sw_if = (path.sw_if_index != NO_INDEX).then_some(SwIfIndex(path.sw_if_index));
    let af = if F::IS_V6 { AddressFamily::Ip6 } else { AddressFamily::Ip4 };
    let nexthop = F::of_ip(path.nh.address.of(af)).unwrap_or(F::Addr::ZERO);
    let table = || fib.find_table(path.table_id);
    let kind = match path.kind {
        FibPathType::Normal => match (path.proto, sw_if) {
            // RFC 8950: the neighbour may be of the other protocol.
            (FibPathNhProto::Ip4 | FibPathNhProto::Ip6, sw_if) if path.proto != proto_of::<F>() => {
                let af = if F::IS_V6 { AddressFamily::Ip4 } else { AddressFamily::Ip6 };
                let nexthop = path.nh.address.of(af);
                match sw_if {
                    // Without a next hop its protocol doesn't matter.
                    Some(sw_if) if nexthop.is_unspecified() => {
                        PathKind::Attached { sw_if, address: F::Addr::ZERO }
                    }
                    Some(sw_if) => PathKind::Neighbor { sw_if, nexthop },
                    None if nexthop.is_unspecified() => {
                        return unsupported("lookups of the other protocol");
                    }
                    None => {
                        let table = other.find_table(path.table_id)?;
                        PathKind::RecursiveOther { table, nexthop }
                    }
                }
            }
            (proto, _) if proto != proto_of::<F>() => {
                return unsupported("next hops of this protocol");
            }
            (_, Some(sw_if)) if nexthop == F::Addr::ZERO => {
                PathKind::Attached { sw_if, address: nexthop }
            }
            (_, Some(sw_if)) => PathKind::Neighbor { sw_if, nexthop: nexthop.into() },
            (_, None) if nexthop == F::Addr::ZERO => PathKind::Lookup(table()?),
            (_, None) => PathKind::Recursive { table: table()?, nexthop },
        },
        FibPathType::Local => match sw_if {
            Some(sw_if) => PathKind::Receive { sw_if, address: nexthop },
            None => PathKind::Fixed(AdjIndex::RECEIVE),
        },
        FibPathType::Drop => PathKind::Fixed(AdjIndex::DROP),
        FibPathType::IcmpUnreach => PathKind::Fixed(AdjIndex::UNREACH),
        FibPathType::IcmpProhibit => PathKind::Fixed(AdjIndex::PROHIBIT),
        FibPathType::InterfaceRx => PathKind::Extension(Extension::InterfaceRx, path.sw_if_index),
        FibPathType::UdpEncap => PathKind::Extension(Extension::UdpEncap, path.nh.obj_id),
        FibPathType::Classify => {
            PathKind::Extension(Extension::Classify, path.nh.classify_table_index)
        }
        FibPathType::SourceLookup => PathKind::SourceLookup(table()?),
        FibPathType::Dvr => PathKind::Extension(Extension::Dvr, path.sw_if_index),
        FibPathType::BierImp => return unsupported("paths of this type"),
    };
    let resolve_via = match path.flags {
        flags if flags.has(FibPathFlags::RESOLVE_VIA_HOST) => ResolveVia::Host,
        flags if flags.has(FibPathFlags::RESOLVE_VIA_ATTACHED) => ResolveVia::Attached,
        _ => ResolveVia::Any,
    };
    Ok(Path { kind, weight: path.weight.max(1), preference: path.preference, resolve_via, labels })
}

fn proto_of<F: Net>() -> FibPathNhProto {
    if F::IS_V6 { FibPathNhProto::Ip6 } else { FibPathNhProto::Ip4 }
}

/// Converts a path to the wire; `other` are the routes of the other protocol.
pub fn path_to<F: Net>(fib: &Fib<F>, other: &Fib<F::Other>, path: &Path<F::Addr>) -> FibPath {
    let id = |table: TableIndex| fib.table_id(table).unwrap_or(0);
    let mut out = FibPath {
        sw_if_index: NO_INDEX,
        weight: path.weight,
        preference: path.preference,
        proto: proto_of::<F>(),
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
            out.proto = if nexthop.is_ipv6() { FibPathNhProto::Ip6 } else { FibPathNhProto::Ip4 };
            out.sw_if_index = sw_if.0;
        }
        PathKind::Recursive { table, nexthop: addr } => {
            out.nh.address = Into::<IpAddr>::into(addr).into();
            out.table_id = id(table);
        }
        PathKind::RecursiveOther { table, nexthop } => {
            out.nh.address = nexthop.into();
            out.proto = if nexthop.is_ipv6() { FibPathNhProto::Ip6 } else { FibPathNhProto::Ip4 };
            out.table_id = other.table_id(table).unwrap_or(0);
        }
        PathKind::Receive { sw_if, address } => {
            out.nh.address = Into::<IpAddr>::into(address).into();
            out.sw_if_index = sw_if.0;
            out.kind = FibPathType::Local;
        }
        PathKind::Lookup(table) => out.table_id = id(table),
        PathKind::SourceLookup(table) => {
            out.kind = FibPathType::SourceLookup;
            out.table_id = id(table);
        }
        PathKind::Fixed(AdjIndex::UNREACH) => out.kind = FibPathType::IcmpUnreach,
        PathKind::Fixed(AdjIndex::PROHIBIT) => out.kind = FibPathType::IcmpProhibit,
        PathKind::Fixed(AdjIndex::RECEIVE) => out.kind = FibPathType::Local,
        PathKind::Fixed(_) => out.kind = FibPathType::Drop,
        PathKind::Extension(Extension::InterfaceRx, sw_if) => {
            out.kind = FibPathType::InterfaceRx;
            out.sw_if_index = sw_if;
        }
        PathKind::Extension(Extension::Dvr, sw_if) => {
            out.kind = FibPathType::Dvr;
            out.sw_if_index = sw_if;
        }
        PathKind::Extension(Extension::UdpEncap, object) => {
            out.kind = FibPathType::UdpEncap;
            out.nh.obj_id = object;
        }
        PathKind::Extension(Extension::Classify, table) => {
            out.kind = FibPathType::Classify;
            out.nh.classify_table_index = table;
        }
    }
    out
}

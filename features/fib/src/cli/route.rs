// SPDX-License-Identifier: Apache-2.0
//! `ip route`.

use super::load;
use cli::{Error, Matches, Output};
use graph::World;
use net::args::{interface, is_v6, prefix, table as table_of};
use net::fib::ResolveVia;
use net::{AdjIndex, Extension, Fib, Net, Path, PathKind, Source, TableIndex};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Address, Ip4, Ip6, Prefix};

/// A parsed `ip route` line: the first prefix, their number, the table, and the paths.
pub struct Line<F: Net> {
    pub add: bool,
    pub table: TableIndex,
    pub first: Prefix<F::Addr>,
    pub count: u32,
    pub paths: Vec<Path<F::Addr>>,
}

/// A path that a line names. A next hop without an interface or a table is looked up in `table`.
///
/// # Errors
/// An interface or a table that isn't there; a lookup of the other protocol.
pub fn path<F: Net>(w: &World, m: &Matches, table: TableIndex) -> Result<Path<F::Addr>, Error> {
    let fixed = [
        (&["drop", "blackhole"][..], AdjIndex::DROP),
        (&["punt"], AdjIndex::PUNT),
        (&["local"], AdjIndex::RECEIVE),
        (&["unreach", "icmp-unreach"], AdjIndex::UNREACH),
        (&["prohibit", "icmp-prohibit"], AdjIndex::PROHIBIT),
    ];
    let fixed = fixed.into_iter().find(|(words, _)| words.iter().any(|word| m.flag(word)));
    let kind = if let Some((_, adj)) = fixed {
        PathKind::Fixed(adj)
    } else if m.has("source-lookup") || m.has("source-lookup6") {
        let (here, there) = if F::IS_V6 {
            ("source-lookup6", "source-lookup")
        } else {
            ("source-lookup", "source-lookup6")
        };
        if m.has(there) {
            return Err(
                Error::unsupported("lookup in a table of the other protocol").at(m.span(there))
            );
        }
        PathKind::SourceLookup(table_of::<F>(w, m, here)?)
    } else if m.has("lookup") || m.has("lookup6") {
        let (here, there) = if F::IS_V6 { ("lookup6", "lookup") } else { ("lookup", "lookup6") };
        if m.has(there) {
            return Err(
                Error::unsupported("lookup in a table of the other protocol").at(m.span(there))
            );
        }
        PathKind::Lookup(table_of::<F>(w, m, here)?)
    } else if m.has("rx-interface") {
        if !m.flag(if F::IS_V6 { "rx-ip6" } else { "rx-ip4" }) {
            return Err(Error::unsupported("packets of one protocol as those of the other"));
        }
        PathKind::Extension(Extension::InterfaceRx, interface(w, m, "rx-interface")?.0)
    } else if m.flag("dvr") {
        let of = if m.has("dvr-interface") { "dvr-interface" } else { "interface" };
        PathKind::Extension(Extension::Dvr, interface(w, m, of)?.0)
    } else if m.has("encap") {
        PathKind::Extension(Extension::UdpEncap, m.req("encap")?)
    } else if m.has("nexthop") {
        let nexthop: IpAddr = m.req("nexthop")?;
        let own = F::of_ip(nexthop);
        let table = || {
            if m.has("nexthop-table") { table_of::<F>(w, m, "nexthop-table") } else { Ok(table) }
        };
        match (own, m.has("interface")) {
            (_, true) if nexthop.is_unspecified() => {
                PathKind::Attached { sw_if: interface(w, m, "interface")?, address: F::Addr::ZERO }
            }
            (_, true) => PathKind::Neighbor { sw_if: interface(w, m, "interface")?, nexthop },
            // As in VPP: no next hop, but a table to look up in.
            (Some(_), false) if nexthop.is_unspecified() && m.has("nexthop-table") => {
                PathKind::Lookup(table()?)
            }
            (Some(nexthop), false) => PathKind::Recursive { table: table()?, nexthop },
            (None, false) if m.has("nexthop-table") => {
                let table = table_of::<F::Other>(w, m, "nexthop-table")?;
                PathKind::RecursiveOther { table, nexthop }
            }
            (None, false) => PathKind::RecursiveOther { table: TableIndex::DEFAULT, nexthop },
        }
    } else {
        PathKind::Attached { sw_if: interface(w, m, "interface")?, address: F::Addr::ZERO }
    };
    let (weight, preference) = (m.get("weight").unwrap_or(1), m.get("preference").unwrap_or(0));
    let resolve_via = match (m.flag("resolve-via-host"), m.flag("resolve-via-attached")) {
        (true, _) => ResolveVia::Host,
        (_, true) => ResolveVia::Attached,
        _ => ResolveVia::Any,
    };
    Ok(Path { weight, preference, resolve_via, ..Path::new(kind) })
}

impl<F: Net> Line<F> {
    /// Reads a line that fits the grammar.
    pub fn read(w: &World, m: &Matches) -> Result<Self, Error> {
        let table = table_of::<F>(w, m, "table")?;
        let first = prefix::<F>(m, "prefix")?.network();
        let mut paths =
            m.groups("via").map(|via| path::<F>(w, &via, table)).collect::<Result<Vec<_>, _>>()?;
        // As in VPP, a line without either adds.
        let add = !m.flag("del");
        if paths.is_empty() && m.flag("drop") {
            paths.push(Path::new(PathKind::Fixed(AdjIndex::DROP)));
        }
        if add && paths.is_empty() {
            return Err(Error::usage("a route needs a path: `via …'"));
        }
        let count = m.get("count").unwrap_or(1);
        if count > 0 && nth::<F>(first, count - 1).is_none() {
            return Err(
                Error::parse("there are not so many networks of this length").at(m.span("count"))
            );
        }
        Ok(Self { add, table, first, count, paths })
    }

    /// The prefixes.
    pub fn prefixes(&self) -> impl Iterator<Item = Prefix<F::Addr>> + use<F> {
        let first = self.first;
        (0..self.count).filter_map(move |i| nth::<F>(first, i))
    }

    fn run(self, w: &World) -> Result<Output, Error> {
        let fib = w.get::<Fib<F>>();
        if self.count > load::AT_ONCE {
            return Ok(load::many(self));
        }
        for prefix in self.prefixes() {
            if self.add {
                fib.add(w, self.table, prefix, Source::Cli, &self.paths)?;
            } else {
                fib.remove(w, self.table, prefix, Source::Cli, &self.paths)?;
            }
        }
        Ok(Output::empty())
    }
}

pub fn run(w: &World, m: &Matches) -> Result<Output, Error> {
    if m.has("file") {
        return load::file(m);
    }
    if is_v6(m, "prefix") {
        Line::<Ip6>::read(w, m)?.run(w)
    } else {
        Line::<Ip4>::read(w, m)?.run(w)
    }
}

/// Returns the network `i` networks further; `None` beyond the last address.
fn nth<F: Net>(first: Prefix<F::Addr>, i: u32) -> Option<Prefix<F::Addr>> {
    let shift = u32::from(F::BITS - first.len());
    let ip = match first.addr().into() {
        IpAddr::V4(addr) => {
            let bits = u64::from(addr.to_bits()) + (u64::from(i) << shift);
            Ipv4Addr::from_bits(u32::try_from(bits).ok()?).into()
        }
        IpAddr::V6(addr) => {
            let fits = |step: &u128| step >> shift == u128::from(i);
            let step = if i == 0 { 0 } else { u128::from(i).checked_shl(shift).filter(fits)? };
            Ipv6Addr::from_bits(addr.to_bits().checked_add(step)?).into()
        }
    };
    Prefix::new(F::of_ip(ip)?, first.len())
}

// SPDX-License-Identifier: Apache-2.0
//! `ip route`.

use super::{interface, no_ip6, table as table_of};
use cli::{Error, Matches, Output};
use graph::World;
use net::{AdjIndex, Fib, Path, PathKind, Source, TableIndex};
use std::net::{IpAddr, Ipv4Addr};
use wire::{Ip4, Ip4Prefix, Prefix};

/// An IPv4 prefix of a placeholder.
pub fn prefix(m: &Matches, name: &str) -> Result<Ip4Prefix, Error> {
    let bad = || Error::usage(format!("<{name}> is missing"));
    match m.arg(name).ok_or_else(bad)?.value {
        cli::Value::Prefix(IpAddr::V4(addr), len) => Prefix::new(addr, len).ok_or_else(bad),
        _ => Err(no_ip6(m, name)),
    }
}

fn address(m: &Matches, name: &str) -> Result<Ipv4Addr, Error> {
    match m.req::<IpAddr>(name)? {
        IpAddr::V4(addr) => Ok(addr),
        IpAddr::V6(_) => Err(no_ip6(m, name)),
    }
}

fn path(w: &World, m: &Matches, table: TableIndex) -> Result<Path<Ipv4Addr>, Error> {
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
    } else if m.has("lookup") {
        PathKind::Lookup(table_of(w, m, "lookup")?)
    } else if m.has("nexthop") {
        if m.has("interface") {
            PathKind::Neighbor { sw_if: interface(w, m)?, nexthop: m.req("nexthop")? }
        } else {
            let nexthop = address(m, "nexthop")?;
            let table = if m.has("nexthop-table") { table_of(w, m, "nexthop-table")? } else { table };
            PathKind::Recursive { table, nexthop }
        }
    } else {
        PathKind::Attached { sw_if: interface(w, m)?, address: Ipv4Addr::UNSPECIFIED }
    };
    Ok(Path { kind, weight: m.get("weight").unwrap_or(1), preference: m.get("preference").unwrap_or(0) })
}

pub fn run(w: &World, m: &Matches) -> Result<Output, Error> {
    let fib = w.get::<Fib<Ip4>>();
    let table = table_of(w, m, "table")?;
    let first = prefix(m, "prefix")?.network();
    let mut paths = m.groups("via").map(|via| path(w, &via, table)).collect::<Result<Vec<_>, _>>()?;
    let add = m.flag("add");
    if paths.is_empty() && m.flag("drop") {
        paths.push(Path::new(PathKind::Fixed(AdjIndex::DROP)));
    }
    if add && paths.is_empty() {
        return Err(Error::usage("a route needs a path: `via …'"));
    }
    for i in 0..m.get::<u32>("count").unwrap_or(1) {
        let prefix = nth(first, i).ok_or_else(|| {
            Error::parse("there are not so many networks of this length").at(m.span("count"))
        })?;
        if add {
            fib.add(w, table, prefix, Source::Cli, &paths)?;
        } else {
            fib.remove(w, table, prefix, Source::Cli, &paths)?;
        }
    }
    Ok(Output::empty())
}

/// The network that is `i` further.
fn nth(first: Ip4Prefix, i: u32) -> Option<Ip4Prefix> {
    let step = u64::from(i) << (32 - u32::from(first.len()));
    let bits = u32::try_from(u64::from(first.addr().to_bits()) + step).ok()?;
    Prefix::new(Ipv4Addr::from_bits(bits), first.len())
}

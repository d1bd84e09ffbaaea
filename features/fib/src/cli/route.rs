// SPDX-License-Identifier: Apache-2.0
//! `ip route`.

use super::load;
use crate::host::paths_to;
use cli::{Error, Matches, Output};
use graph::World;
use net::args::{given_interface, interface, is_v6, prefix, table as table_of};
use net::fib::ResolveVia;
use net::{AdjIndex, Fib, Net, Objects, Path, PathKind, Source, TableIndex, TableRef};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Address, Ip4, Ip6, Prefix};

/// A parsed `ip route` line: the first prefix, their number, the table, and the paths.
pub struct Line<F: Net> {
    pub add: bool,
    pub table: TableIndex,
    pub first: Prefix<F::Addr>,
    pub count: u32,
    pub paths: Vec<Path>,
}

/// Words of the paths that every instance has; the first word is the one that is saved.
pub const FIXED: [(&[&str], AdjIndex); 5] = [
    (&["drop", "blackhole", "null"], AdjIndex::DROP),
    (&["punt"], AdjIndex::PUNT),
    (&["local"], AdjIndex::RECEIVE),
    (&["unreach", "icmp-unreach", "null-send-unreach"], AdjIndex::UNREACH),
    (&["prohibit", "icmp-prohibit", "null-send-prohibit"], AdjIndex::PROHIBIT),
];

/// A path that a line names. A next hop without an interface or a table is looked up in `table`.
///
/// # Errors
/// An interface or a table that isn't there; a lookup of the other protocol; words that don't
/// belong together.
pub fn path<F: Net>(w: &World, m: &Matches, table: TableIndex) -> Result<Path, Error> {
    let kind = match target::<F>(w, m)? {
        Some(_) if m.has("interface") => {
            let why = format!("`{}' stands beside a next hop or alone", m.str("interface"));
            let dvr = m.has("dvr-interface");
            return Err(Error::parse(if dvr { "one interface was expected".into() } else { why })
                .at(m.span("interface")));
        }
        Some(kind) => kind,
        None => next_hop::<F>(w, m, table)?,
    };
    let source = m.flag("src-lookup");
    let kind = match kind {
        PathKind::Lookup(table) if source => PathKind::SourceLookup(table),
        _ if source => {
            return Err(Error::parse("`src-lookup' needs `ip4-lookup-in-table', `ip6-lookup-in-table' or `lookup in table'")
                .at(m.span("src-lookup")));
        }
        kind => kind,
    };
    let (weight, preference) = (m.get("weight").unwrap_or(1), m.get("preference").unwrap_or(0));
    let attached = m.flag("resolve-via-attached") || m.flag("resolve-via-connected");
    let resolve_via = match (m.flag("resolve-via-host"), attached) {
        (true, _) => ResolveVia::Host,
        (_, true) => ResolveVia::Attached,
        _ => ResolveVia::Any,
    };
    Ok(Path { weight, preference, resolve_via, ..Path::new(kind) })
}

/// The table of a lookup: `words` names it for IPv4 and for IPv6.
fn looked_up<F: Net>(
    w: &World,
    m: &Matches,
    words: [&'static str; 2],
) -> Result<Option<TableRef>, Error> {
    let (own, other) = (words[usize::from(F::IS_V6)], words[usize::from(!F::IS_V6)]);
    if m.has(other) {
        return Err(Error::unsupported("lookup in a table of the other protocol").at(m.span(other)));
    }
    m.has(own).then(|| table_of::<F>(w, m, own).map(Fib::<F>::table_ref)).transpose()
}

/// The path that a line names by a word; `None` for a next hop or an interface.
fn target<F: Net>(w: &World, m: &Matches) -> Result<Option<PathKind>, Error> {
    if m.has("local-address") {
        let address: IpAddr = m.req("local-address")?;
        let other = || Error::parse("an address of the route's protocol was expected");
        F::of_ip(address).ok_or_else(|| other().at(m.span("local-address")))?;
        let sw_if = interface(w, m, "local-interface")?;
        return Ok(Some(PathKind::Receive { sw_if, address }));
    }
    let fixed = FIXED.iter().find(|(words, _)| words.iter().any(|word| m.flag(word)));
    if let Some((_, adj)) = fixed {
        return Ok(Some(PathKind::Fixed(*adj)));
    }
    if let Some(table) = looked_up::<F>(w, m, ["source-lookup", "source-lookup6"])? {
        return Ok(Some(PathKind::SourceLookup(table)));
    }
    if let Some(table) = looked_up::<F>(w, m, ["lookup4", "lookup6"])? {
        return Ok(Some(PathKind::Lookup(table)));
    }
    Ok(Some(if m.has("lookup-index") {
        // As in VPP, the number is the table's `fib_index`, not its id.
        let index = TableIndex(m.req("lookup-index")?);
        let none = || Error::not_found(format!("there is no table with fib_index {}", index.0));
        let known = w.get::<Fib<F>>().table_id(index);
        known.ok_or_else(|| none().at(m.span("lookup-index")))?;
        PathKind::Lookup(Fib::<F>::table_ref(index))
    } else if m.has("rx-interface") {
        if !m.flag(if F::IS_V6 { "rx-ip6" } else { "rx-ip4" }) {
            return Err(Error::unsupported("packets of one protocol as those of the other"));
        }
        object(w, "interface-rx", interface(w, m, "rx-interface")?.0)?
    } else if m.has("dvr-interface") {
        object(w, "dvr", interface(w, m, "dvr-interface")?.0)?
    } else if m.has("encap") {
        object(w, "udp-encap", m.req("encap")?)?
    } else if m.has("classify") {
        object(w, "classify", m.req("classify")?)?
    } else {
        return Ok(None);
    }))
}

fn object(w: &World, name: &str, number: u32) -> Result<PathKind, Error> {
    Ok(PathKind::Object(w.get::<Objects>().get(name)?, number))
}

/// The path over a next hop, an interface, or both.
fn next_hop<F: Net>(w: &World, m: &Matches, table: TableIndex) -> Result<PathKind, Error> {
    let sw_if = given_interface(w, m, "interface")?;
    let Some(nexthop) = m.opt::<IpAddr>("nexthop")? else {
        let expected = "a path needs a next hop, an interface or a word such as `drop'";
        let sw_if = sw_if.ok_or_else(|| Error::usage(expected).at(m.span("via")))?;
        return Ok(match m.flag("dvr") {
            true => object(w, "dvr", sw_if.0)?,
            false => PathKind::Attached { sw_if, address: F::Addr::ZERO.into() },
        });
    };
    if m.flag("dvr") {
        return Err(
            Error::parse("a path by `dvr' has an interface, no next hop").at(m.span("nexthop"))
        );
    }
    let own = F::of_ip(nexthop);
    let table = || {
        if m.has("nexthop-table") { table_of::<F>(w, m, "nexthop-table") } else { Ok(table) }
    };
    if sw_if.is_some() && m.has("nexthop-table") {
        return Err(Error::parse("a next hop on an interface is looked up in no table")
            .at(m.span("nexthop-table")));
    }
    Ok(match (own, sw_if) {
        (_, Some(sw_if)) if nexthop.is_unspecified() => {
            PathKind::Attached { sw_if, address: F::Addr::ZERO.into() }
        }
        (_, Some(sw_if)) => PathKind::Neighbor { sw_if, nexthop },
        // As in VPP: no next hop, but a table to look up in.
        (Some(_), None) if nexthop.is_unspecified() && m.has("nexthop-table") => {
            PathKind::Lookup(Fib::<F>::table_ref(table()?))
        }
        (Some(_), None) => PathKind::Recursive { table: table()?, nexthop },
        (None, None) if !m.has("nexthop-table") => {
            PathKind::Recursive { table: TableIndex::DEFAULT, nexthop }
        }
        (None, None) => {
            let words = "nexthop-table";
            let table = match nexthop {
                IpAddr::V4(_) => table_of::<Ip4>(w, m, words)?,
                IpAddr::V6(_) => table_of::<Ip6>(w, m, words)?,
            };
            PathKind::Recursive { table, nexthop }
        }
    })
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

    /// Number of the paths that commands gave a prefix, if somebody reads a note on it.
    fn own_paths(&self, w: &World, m: &Matches, prefix: Prefix<F::Addr>) -> usize {
        if !m.takes_notes() {
            return 0;
        }
        let route = w.get::<Fib<F>>().route(self.table, prefix);
        let sources = route.map_or(Vec::new(), |route| route.sources);
        let own = sources.iter().find(|source| source.source == Source::Cli);
        own.map_or(0, |own| own.paths.len())
    }

    fn run(self, w: &World, m: &Matches) -> Result<Output, Error> {
        let fib = w.get::<Fib<F>>();
        if self.add {
            net::notes::own_next_hops(w, m, &self.paths);
        }
        if self.count > load::AT_ONCE {
            return Ok(load::many(self));
        }
        for prefix in self.prefixes() {
            let paths = paths_to::<F>(w, prefix, &self.paths);
            if self.add {
                let before = self.own_paths(w, m, prefix);
                fib.add(w, self.table, prefix, Source::Cli, &paths)?;
                m.note(|| {
                    let now = self.own_paths(w, m, prefix);
                    (before > 0 && now > before).then(|| {
                        format!(
                            "{prefix} has {now} paths now, which share its packets; \
                             `ip route del {prefix} via …' removes one"
                        )
                    })
                });
            } else {
                fib.remove(w, self.table, prefix, Source::Cli, &paths)?;
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
        Line::<Ip6>::read(w, m)?.run(w, m)
    } else {
        Line::<Ip4>::read(w, m)?.run(w, m)
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

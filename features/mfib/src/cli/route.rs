// SPDX-License-Identifier: Apache-2.0
//! `ip mroute`.

use cli::{Matches, Result};
use graph::World;
use net::args::{interface, other_version, table};
use net::mfib::{Change, EntryFlags, Group, ItfFlags, Mpath, MpathKind, from};
use net::{Mfib, Net, Source, TableIndex};
use std::net::IpAddr;
use wire::{Ip4, Ip6, Prefix};

fn address<F: Net>(m: &Matches, name: &str) -> Result<F::Addr> {
    F::of_ip(m.req::<IpAddr>(name)?).ok_or_else(|| other_version::<F>(m, name))
}

/// The groups that a line names, if it does: a prefix, a group, or a sender and a group.
pub fn group<F: Net>(m: &Matches) -> Result<Option<Group<F::Addr>>> {
    if let Some(arg) = m.arg("prefix") {
        let cli::Value::Prefix(addr, len) = arg.value else { return Ok(None) };
        let addr = F::of_ip(addr).ok_or_else(|| other_version::<F>(m, "prefix"))?;
        return Ok(Prefix::new(addr, len).map(Group::any));
    }
    if !m.has("first") {
        return Ok(None);
    }
    let first = address::<F>(m, "first")?;
    Ok(Some(match m.has("second") {
        true => from::<F>(first, address::<F>(m, "second")?),
        false => Group::any(Prefix::host(first)),
    }))
}

fn path(w: &World, whole: &Matches, m: &Matches) -> Result<Mpath> {
    let flags = ItfFlags::NAMES.iter().filter(|(_, word, _)| m.flag(word));
    let flags = flags.map(|(flag, ..)| *flag).collect();
    if m.flag("local") {
        return Ok(Mpath { kind: MpathKind::Local, flags });
    }
    let sw_if = interface(w, m, "interface")?;
    let nexthop = m.opt("nexthop")?;
    if !whole.flag("del") {
        whole.note(|| net::notes::own_next_hop(w, nexthop?, Some(sw_if), TableIndex::DEFAULT));
    }
    Ok(Mpath { kind: MpathKind::Interface { sw_if, nexthop }, flags })
}

pub fn run(w: &World, m: &Matches) -> Result<()> {
    let of = if m.has("prefix") { "prefix" } else { "first" };
    match m.arg(of).map(|arg| arg.value) {
        Some(cli::Value::Prefix(addr, _) | cli::Value::Ip(addr)) if addr.is_ipv6() => {
            run_of::<Ip6>(w, m)
        }
        _ => run_of::<Ip4>(w, m),
    }
}

fn run_of<F: Net>(w: &World, m: &Matches) -> Result<()> {
    let (mfib, table) = (w.get::<Mfib<F>>(), table::<F>(w, m, "table")?);
    let Some(group) = group::<F>(m)? else { return Err(cli::Error::usage("which group?")) };
    let paths = m.groups("via").map(|via| path(w, m, &via)).collect::<Result<Vec<_>>>()?;
    if m.flag("del") {
        let kinds: Vec<_> = paths.iter().map(|path| path.kind).collect();
        return mfib.remove(w, table, group, Source::Cli, &kinds);
    }
    let flags = EntryFlags::NAMES.iter().filter(|(_, word, _)| m.flag(word));
    let flags: EntryFlags = flags.map(|(flag, ..)| *flag).collect();
    // Paths alone leave the flags as they are.
    let flags = (paths.is_empty() || !flags.is_empty()).then_some(flags);
    let change = Change { flags, rpf_id: m.opt("rpf-id")?, paths: &paths };
    mfib.update(w, table, group, Source::Cli, change)?;
    Ok(())
}

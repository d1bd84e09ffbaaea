// SPDX-License-Identifier: Apache-2.0
//! `ip path-mtu`, `show ip pmtu`.

use cli::{Cell, Command, Error, Matches, Output, Table, Writer};
use graph::World;
use net::{LearnedMtu, Net, PathMtus};
use std::net::IpAddr;
use wire::{Ip4, Ip6};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Set the MTU of the path to a host or over a next hop, or forget it
    "ip path-mtu", "<address:ip> {<mtu:68-65535> | del} [table <table:u32>]" => set;
    /// Path MTUs of both versions: those that were set, and those that routers told
    "show ip pmtu" => show;
};

fn set(w: &World, m: &Matches) -> Result<(), Error> {
    let table = m.get("table").unwrap_or(0);
    let mtu = if m.flag("del") { 0 } else { m.req("mtu")? };
    match m.req::<IpAddr>("address")? {
        IpAddr::V4(to) => w.get::<PathMtus<Ip4>>().set(w, table, to, mtu)?,
        IpAddr::V6(to) => w.get::<PathMtus<Ip6>>().set(w, table, to, mtu)?,
    }
    Ok(())
}

fn show(w: &World, _: &Matches) -> Result<Output, Error> {
    let table = Table::new()
        .right("Table")
        .left("Host or next hop")
        .right("Path MTU")
        .left("From")
        .right("Seconds left");
    let items = all::<Ip4>(w).chain(all::<Ip6>(w));
    Ok(table.list(items, |w: &World, PathMtu { table, to, mtu, until }, out: &mut Writer| {
        let left = until.map(|until| until.saturating_sub(w.clock.now()) / 1_000_000_000);
        let from = if until.is_some() { "learned" } else { "set" };
        out.row([table.into(), Cell::show(to), u32::from(mtu).into(), from.into(), left.into()]);
        Ok(())
    }))
}

struct PathMtu {
    table: u32,
    to: IpAddr,
    mtu: u16,
    /// When it is forgotten, if it was learned.
    until: Option<u64>,
}

fn all<F: Net>(w: &World) -> impl Iterator<Item = PathMtu> + use<F> {
    let set = w.get::<PathMtus<F>>().list(w).into_iter();
    let set = set.map(|(table, to, mtu)| PathMtu { table, to: to.into(), mtu, until: None });
    let learned = w.get::<PathMtus<F>>().learned(w).into_iter();
    set.chain(learned.map(|(table, to, LearnedMtu { mtu, until })| PathMtu {
        table,
        to: to.into(),
        mtu,
        until: Some(until),
    }))
}

// SPDX-License-Identifier: Apache-2.0
//! `ip path-mtu`, `show ip pmtu`.

use cli::{Cell, Command, Error, Matches, Output};
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
    Ok(
        cli::columns!(all::<Ip4>(w).chain(all::<Ip6>(w)), |w: &World, PathMtu { table, to, mtu, until }| {
            let left = until.map(|until| until.saturating_sub(w.clock.now()) / 1_000_000_000);
            "Table" right => table,
            "Host or next hop" => Cell::show(to),
            "Path MTU" right => u32::from(mtu),
            "From" => if until.is_some() { "learned" } else { "set" },
            "Seconds left" right => left,
        }),
    )
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

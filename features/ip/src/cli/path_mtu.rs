// SPDX-License-Identifier: Apache-2.0
//! `ip path-mtu`, `show ip pmtu`, `set interface ip directed-broadcast`.

use super::interface;
use crate::broadcast::DirectedBroadcast;
use crate::path_mtu::{Learned, PathMtus};
use cli::{Cell, Error, Matches, Output, Table};
use graph::World;
use net::Net;
use std::net::IpAddr;
use wire::{Ip4, Ip6};

pub fn set(w: &World, m: &Matches) -> Result<Output, Error> {
    let table = m.get("table").unwrap_or(0);
    let mtu = if m.flag("del") { 0 } else { m.req("mtu")? };
    match m.req::<IpAddr>("address")? {
        IpAddr::V4(to) => w.get::<PathMtus<Ip4>>().set(w, table, to, mtu)?,
        IpAddr::V6(to) => w.get::<PathMtus<Ip6>>().set(w, table, to, mtu)?,
    }
    Ok(Output::empty())
}

pub fn show(w: &World, _: &Matches) -> Result<Output, Error> {
    let mut table = Table::new()
        .right("Table")
        .left("Host or next hop")
        .right("Path MTU")
        .left("From")
        .right("Seconds left");
    rows::<Ip4>(w, &mut table);
    rows::<Ip6>(w, &mut table);
    Ok(table.into())
}

fn rows<F: Net>(w: &World, table: &mut Table) {
    let none = || Cell::new("", serde_json::Value::Null);
    for (id, to, mtu) in w.get::<PathMtus<F>>().list(w) {
        table.row([id.into(), to.to_string().into(), u32::from(mtu).into(), "set".into(), none()]);
    }
    for (id, to, Learned { mtu, until }) in w.get::<PathMtus<F>>().learned(w) {
        let left = until.saturating_sub(w.clock.now()) / 1_000_000_000;
        table.row([id.into(), to.to_string().into(), u32::from(mtu).into(), "learned".into(), left.into()]);
    }
}

pub fn directed_broadcast(w: &World, m: &Matches) -> Result<Output, Error> {
    w.get::<DirectedBroadcast>().set(w, interface(w, m)?, m.flag("enable"))?;
    Ok(Output::empty())
}

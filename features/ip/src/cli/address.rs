// SPDX-License-Identifier: Apache-2.0
//! `set interface ip …`.

use super::{interface, no_ip6, route::prefix};
use cli::{Error, Matches, Output};
use graph::World;
use net::Addresses;
use wire::Ip4;

pub fn set(w: &World, m: &Matches) -> Result<Output, Error> {
    let addresses = w.get::<Addresses<Ip4>>();
    let sw_if = interface(w, m)?;
    if m.flag("all") {
        addresses.clear(w, sw_if)?;
        return Ok(Output::empty());
    }
    let prefix = prefix(m, "prefix").map_err(|_| no_ip6(m, "prefix"))?;
    let done =
        if m.flag("del") { addresses.remove(w, sw_if, prefix) } else { addresses.add(w, sw_if, prefix) };
    done.map_err(|e| e.at(m.span("prefix")))?;
    Ok(Output::empty())
}

pub fn table(w: &World, m: &Matches) -> Result<Output, Error> {
    w.get::<Addresses<Ip4>>().set_table(w, interface(w, m)?, m.req("table")?)?;
    Ok(Output::empty())
}

pub fn enable(w: &World, m: &Matches) -> Result<Output, Error> {
    w.get::<Addresses<Ip4>>().enable(w, interface(w, m)?, true)?;
    Ok(Output::empty())
}

pub fn disable(w: &World, m: &Matches) -> Result<Output, Error> {
    w.get::<Addresses<Ip4>>().enable(w, interface(w, m)?, false)?;
    Ok(Output::empty())
}

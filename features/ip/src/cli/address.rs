// SPDX-License-Identifier: Apache-2.0
//! `set interface ip …`, `set interface unnumbered`.

use super::{interface, interface_of, is_v6, route::prefix};
use crate::control;
use cli::{Error, Matches, Output};
use graph::{SwIfIndex, World};
use net::{Addresses, LinkLocals, Net};
use wire::{Ip4, Ip6};

pub fn set(w: &World, m: &Matches) -> Result<Output, Error> {
    let sw_if = interface(w, m)?;
    if m.flag("all") {
        w.get::<Addresses<Ip4>>().clear(w, sw_if)?;
        w.get::<Addresses<Ip6>>().clear(w, sw_if)?;
        return Ok(Output::empty());
    }
    if is_v6(m, "prefix") { change::<Ip6>(w, m, sw_if) } else { change::<Ip4>(w, m, sw_if) }
}

fn change<F: Net>(w: &World, m: &Matches, sw_if: SwIfIndex) -> Result<Output, Error> {
    let prefix = prefix::<F>(m, "prefix")?;
    let done = if m.flag("del") {
        control::remove_address::<F>(w, sw_if, prefix)
    } else {
        control::add_address::<F>(w, sw_if, prefix)
    };
    done.map_err(|e| e.at(m.span("prefix")))?;
    Ok(Output::empty())
}

pub fn link_local(w: &World, m: &Matches) -> Result<Output, Error> {
    let (sw_if, address) = (interface(w, m)?, m.req("address")?);
    let done = if m.flag("del") {
        w.get::<LinkLocals>().set(w, sw_if, None)
    } else {
        control::set_link_local(w, sw_if, address)
    };
    done.map_err(|e| e.at(m.span("address")))?;
    Ok(Output::empty())
}

pub fn table<F: Net>(w: &World, m: &Matches) -> Result<Output, Error> {
    w.get::<Addresses<F>>().set_table(w, interface(w, m)?, m.req("table")?)?;
    Ok(Output::empty())
}

pub fn enable<F: Net>(w: &World, m: &Matches) -> Result<Output, Error> {
    w.get::<Addresses<F>>().enable(w, interface(w, m)?, true)?;
    Ok(Output::empty())
}

pub fn disable<F: Net>(w: &World, m: &Matches) -> Result<Output, Error> {
    w.get::<Addresses<F>>().enable(w, interface(w, m)?, false)?;
    Ok(Output::empty())
}

pub fn unnumbered(w: &World, m: &Matches) -> Result<Output, Error> {
    let lender = if m.flag("del") { None } else { Some(interface_of(w, m, "lender")?) };
    control::set_unnumbered(w, interface(w, m)?, lender)?;
    Ok(Output::empty())
}

// SPDX-License-Identifier: Apache-2.0
//! `set interface ip …`, `set interface unnumbered`.

use crate::control;
use cli::{Error, Matches};
use graph::{SwIfIndex, World};
use net::args::{interface, is_v6, prefix};
use net::{Addresses, LinkLocals, Net};
use wire::{Ip4, Ip6};

pub fn set(w: &World, m: &Matches) -> Result<(), Error> {
    let sw_if = interface(w, m, "interface")?;
    if m.flag("all") {
        w.get::<Addresses<Ip4>>().clear(w, sw_if)?;
        return w.get::<Addresses<Ip6>>().clear(w, sw_if);
    }
    if is_v6(m, "prefix") { change::<Ip6>(w, m, sw_if) } else { change::<Ip4>(w, m, sw_if) }
}

fn change<F: Net>(w: &World, m: &Matches, sw_if: SwIfIndex) -> Result<(), Error> {
    let prefix = prefix::<F>(m, "prefix")?;
    let done = if m.flag("del") {
        control::remove_address::<F>(w, sw_if, prefix)
    } else {
        control::add_address::<F>(w, sw_if, prefix)
    };
    done.map_err(m.at("prefix"))
}

pub fn link_local(w: &World, m: &Matches) -> Result<(), Error> {
    let (sw_if, address) = (interface(w, m, "interface")?, m.req("address")?);
    let done = if m.flag("del") {
        w.get::<LinkLocals>().set(w, sw_if, None)
    } else {
        control::set_link_local(w, sw_if, address)
    };
    done.map_err(m.at("address"))
}

pub fn table<F: Net>(w: &World, m: &Matches) -> Result<(), Error> {
    w.get::<Addresses<F>>().set_table(w, interface(w, m, "interface")?, m.req("table")?)
}

pub fn enable<F: Net>(w: &World, m: &Matches) -> Result<(), Error> {
    w.get::<Addresses<F>>().enable(w, interface(w, m, "interface")?, true)
}

pub fn disable<F: Net>(w: &World, m: &Matches) -> Result<(), Error> {
    w.get::<Addresses<F>>().enable(w, interface(w, m, "interface")?, false)
}

pub fn unnumbered(w: &World, m: &Matches) -> Result<(), Error> {
    let lender = if m.flag("del") { None } else { Some(interface(w, m, "lender")?) };
    control::set_unnumbered(w, interface(w, m, "interface")?, lender)
}

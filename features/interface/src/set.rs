// SPDX-License-Identifier: Apache-2.0
//! `set interface …`.

use cli::{Error, Matches};
use graph::{SwIfIndex, World};
use net::args::interface;
use net::{Column, Gso, Interfaces, MtuKind};

use crate::chosen;
use crate::control;
use std::sync::Arc;

/// The interface that the command names.
pub fn named(w: &World, m: &Matches) -> Result<(Arc<Interfaces>, SwIfIndex), Error> {
    let interfaces: Arc<Interfaces> = w.get();
    let sw_if = interface(w, m, "interface")?;
    Ok((interfaces, sw_if))
}

pub fn state(w: &World, m: &Matches) -> Result<(), Error> {
    let (interfaces, sw_if) = named(w, m)?;
    interfaces.set_admin(w, sw_if, matches!(m.str("state"), "up" | "enable"))
}

pub fn mtu(w: &World, m: &Matches) -> Result<(), Error> {
    let (interfaces, sw_if) = named(w, m)?;
    let kind = match m.str("kind") {
        "packet" => MtuKind::L3,
        "ip4" => MtuKind::Ip4,
        "ip6" => MtuKind::Ip6,
        "mpls" => MtuKind::Mpls,
        _ => MtuKind::Link,
    };
    interfaces.set_mtu(w, sw_if, kind, m.req("mtu")?)
}

pub fn mac(w: &World, m: &Matches) -> Result<(), Error> {
    let (interfaces, sw_if) = named(w, m)?;
    match m.flag("default") {
        true => interfaces.reset_mac(w, sw_if)?,
        false => interfaces.set_mac(w, sw_if, m.req("mac")?)?,
    }
    Ok(())
}

pub fn further_mac(w: &World, m: &Matches) -> Result<(), Error> {
    let (_, sw_if) = named(w, m)?;
    control::set_further_mac(w, sw_if, m.req("mac")?, !m.flag("del")).map_err(m.at("mac"))
}

pub fn name(w: &World, m: &Matches) -> Result<(), Error> {
    let (interfaces, sw_if) = named(w, m)?;
    interfaces.set_name(w, sw_if, m.str("name"))
}

pub fn tag(w: &World, m: &Matches) -> Result<(), Error> {
    let (_, sw_if) = named(w, m)?;
    control::set_tag(w, sw_if, Some(m.str("tag"))).map_err(m.at("tag"))
}

pub fn promiscuous(w: &World, m: &Matches) -> Result<(), Error> {
    let (interfaces, sw_if) = named(w, m)?;
    interfaces.set_promiscuous(w, sw_if, m.str("state") == "on")
}

pub fn gso(w: &World, m: &Matches) -> Result<(), Error> {
    let (_, sw_if) = named(w, m)?;
    let on = !m.has("on") || m.str("on") == "enable";
    w.get::<Column<Gso>>().set(w, sw_if, Gso(on))
}

pub fn feature(w: &World, m: &Matches) -> Result<(), Error> {
    let (_, sw_if) = named(w, m)?;
    chosen::set(w, sw_if, m.str("arc"), m.str("feature"), !m.flag("disable"))
}

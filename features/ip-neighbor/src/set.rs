// SPDX-License-Identifier: Apache-2.0
//! Commands that change neighbours.

use cli::{Error, Matches, Result};
use graph::World;
use net::args::given_interface;
use net::{Neighbor, Neighbors};
use std::net::IpAddr;
use wire::MacAddr;

pub fn neighbor(w: &World, m: &Matches) -> Result<()> {
    if m.flag("flush") {
        return flush(w, m);
    }
    let neighbors = w.get::<Neighbors>();
    let sw_if = given_interface(w, m, "interface")?
        .ok_or_else(|| Error::usage("<interface> is missing"))?;
    let first: IpAddr = m.req("ip")?;
    // Several at once: addresses of both layers count up together.
    for i in 0..m.get::<u32>("count").unwrap_or(1) {
        let ip = add_ip(first, i)
            .ok_or_else(|| Error::parse("there are not so many addresses").at(m.span("count")))?;
        if m.flag("del") || m.flag("delete") {
            neighbors.remove(w, sw_if, ip)?;
            continue;
        }
        let mac = MacAddr::from_bits(m.req::<MacAddr>("mac")?.to_bits().wrapping_add(u64::from(i)));
        let (is_static, no_fib_entry) = (m.flag("static"), m.flag("no-fib-entry"));
        neighbors.set(w, Neighbor { is_static, no_fib_entry, ..Neighbor::new(sw_if, ip, mac) })?;
    }
    Ok(())
}

fn add_ip(ip: IpAddr, n: u32) -> Option<IpAddr> {
    Some(match ip {
        IpAddr::V4(a) => IpAddr::V4(a.to_bits().checked_add(n)?.into()),
        IpAddr::V6(a) => IpAddr::V6(a.to_bits().checked_add(u128::from(n))?.into()),
    })
}

pub fn flush(w: &World, m: &Matches) -> Result<()> {
    let sw_if = given_interface(w, m, "interface")?;
    for ip6 in [false, true] {
        w.get::<Neighbors>().flush(w, ip6, sw_if);
    }
    Ok(())
}

pub fn config(w: &World, m: &Matches) -> Result<()> {
    let neighbors = w.get::<Neighbors>();
    let ip6 = m.flag("ip6");
    let mut config = neighbors.config(ip6);
    config.limit = m.get("limit").unwrap_or(config.limit);
    config.age = m.get("age").unwrap_or(config.age);
    config.confirm = m.get("confirm").unwrap_or(config.confirm);
    config.retry = m.get("retry").unwrap_or(config.retry);
    config.recycle = m.flag("recycle") || config.recycle && !m.flag("norecycle");
    neighbors.configure(ip6, config);
    Ok(())
}

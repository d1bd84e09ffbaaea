// SPDX-License-Identifier: Apache-2.0
//! `set interface ip …`, `set interface unnumbered`, `show interface address`.

use super::{interface, interface_of, no_ip6, route::prefix};
use crate::control;
use cli::{Error, Matches, Output};
use graph::World;
use net::{Addresses, Fib, Interfaces, TableIndex};
use serde_json::{Value, json};
use std::fmt::Write;
use wire::Ip4;

pub fn set(w: &World, m: &Matches) -> Result<Output, Error> {
    let addresses = w.get::<Addresses<Ip4>>();
    let sw_if = interface(w, m)?;
    if m.flag("all") {
        addresses.clear(w, sw_if)?;
        return Ok(Output::empty());
    }
    let prefix = prefix(m, "prefix").map_err(|_| no_ip6(m, "prefix"))?;
    let done = if m.flag("del") {
        addresses.remove(w, sw_if, prefix)
    } else {
        control::add_address(w, sw_if, prefix)
    };
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

pub fn unnumbered(w: &World, m: &Matches) -> Result<Output, Error> {
    let lender = if m.flag("del") { None } else { Some(interface_of(w, m, "lender")?) };
    w.get::<Addresses<Ip4>>().set_unnumbered(w, interface(w, m)?, lender)?;
    Ok(Output::empty())
}

pub fn show(w: &World, m: &Matches) -> Result<Output, Error> {
    let only = if m.has("interface") { Some(interface(w, m)?) } else { None };
    let (interfaces, addresses, fib) =
        (w.get::<Interfaces>(), w.get::<Addresses<Ip4>>(), w.get::<Fib<Ip4>>());
    let (mut text, mut json) = (String::new(), Vec::new());
    for i in interfaces.list().into_iter().filter(|i| only.is_none_or(|only| only == i.sw_if)) {
        // Writing to a String can't fail.
        let _ = writeln!(text, "{} ({}):", i.name, if i.admin_up { "up" } else { "dn" });
        let lender = addresses.unnumbered(i.sw_if).map(|lender| interfaces.name(lender));
        if let Some(lender) = &lender {
            let _ = writeln!(text, "  unnumbered, use {lender}");
        }
        let table = fib.table_id(TableIndex(i.fib4)).unwrap_or(0);
        let all = addresses.list(i.sw_if);
        for prefix in &all {
            let of = if table == 0 { String::new() } else { format!(" ip4 table-id {table}") };
            let _ = writeln!(text, "  L3 {prefix}{of}");
        }
        json.push(json!({
            "name": i.name,
            "sw_if_index": i.sw_if.0,
            "admin_up": i.admin_up,
            "table": table,
            "unnumbered": lender,
            "addresses": all.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }));
    }
    Ok(Output::both(text, Value::Array(json)))
}

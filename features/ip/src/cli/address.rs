// SPDX-License-Identifier: Apache-2.0
//! `set interface ip …`, `set interface unnumbered`, `show interface address`.

use super::{interface, interface_of, is_v6, route::prefix};
use crate::control;
use cli::{Error, Matches, Output, Writer};
use graph::{SwIfIndex, World};
use net::{Addresses, Fib, Interfaces, LinkLocals, Net, TableIndex};
use serde_json::json;
use std::fmt::{Display, Write};
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

pub fn show(w: &World, m: &Matches) -> Result<Output, Error> {
    let only = if m.has("interface") { Some(interface(w, m)?) } else { None };
    let (interfaces, addresses, fib) =
        (w.get::<Interfaces>(), w.get::<Addresses<Ip4>>(), w.get::<Fib<Ip4>>());
    Ok(Output::list(interfaces.indices(), move |w: &World, sw_if, out: &mut Writer| {
        let Some(i) = interfaces.get(sw_if).ok().filter(|_| only.is_none_or(|only| only == sw_if)) else {
            return Ok(());
        };
        let lender = addresses.unnumbered(sw_if).map(|lender| interfaces.name(lender));
        let table = fib.table_id(TableIndex(i.fib4)).unwrap_or(0);
        let table6 = w.get::<Fib<Ip6>>().table_id(TableIndex(i.fib6)).unwrap_or(0);
        let (four, six) = (addresses.list(sw_if), w.get::<Addresses<Ip6>>().list(sw_if));
        out.text(|text| {
            writeln!(text, "{} ({}):", i.name, if i.admin_up { "up" } else { "dn" })?;
            if let Some(lender) = &lender {
                writeln!(text, "  unnumbered, use {lender}")?;
            }
            let line = |prefix: &dyn Display, version: &str, table: u32| {
                let of = if table == 0 { String::new() } else { format!(" {version} table-id {table}") };
                format!("  L3 {prefix}{of}\n")
            };
            text.extend(four.iter().map(|prefix| line(prefix, "ip4", table)));
            text.extend(six.iter().map(|prefix| line(prefix, "ip6", table6)));
            std::fmt::Result::Ok(())
        });
        out.value(|| {
            json!({
                "name": i.name,
                "sw_if_index": sw_if.0,
                "admin_up": i.admin_up,
                "table": table,
                "table6": table6,
                "unnumbered": lender,
                "addresses": four.iter().map(|p| p.to_string()).chain(six.iter().map(|p| p.to_string())).collect::<Vec<_>>(),
            })
        });
        Ok(())
    }))
}

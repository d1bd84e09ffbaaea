// SPDX-License-Identifier: Apache-2.0
//! `show interface address`.

use crate::names::by_name;
use cli::{Error, Output, Writer};
use graph::{SwIfIndex, World};
use net::{Addresses, Fib, Interfaces, IpBinding};
use serde_json::json;
use std::fmt::{Display, Write};
use wire::{Ip4, Ip6};

/// Addresses of these interfaces, or of all by name.
pub fn show(w: &World, only: Vec<SwIfIndex>) -> Result<Output, Error> {
    let listed = if only.is_empty() { by_name(w) } else { only };
    let (interfaces, addresses, fib) =
        (w.get::<Interfaces>(), w.get::<Addresses<Ip4>>(), w.get::<Fib<Ip4>>());
    Ok(Output::list(listed, move |w: &World, sw_if, out: &mut Writer| {
        let Ok(i) = interfaces.get(sw_if) else { return Ok(()) };
        let lender = addresses.unnumbered(sw_if).map(|lender| interfaces.name(lender));
        let table = fib.table_id(IpBinding::of(w, sw_if).table::<Ip4>()).unwrap_or(0);
        let table6 =
            w.get::<Fib<Ip6>>().table_id(IpBinding::of(w, sw_if).table::<Ip6>()).unwrap_or(0);
        let (four, six) = (addresses.list(sw_if), w.get::<Addresses<Ip6>>().list(sw_if));
        out.text(|text| {
            writeln!(text, "{} ({}):", i.name, if i.admin_up { "up" } else { "dn" })?;
            if let Some(lender) = &lender {
                writeln!(text, "  unnumbered, use {lender}")?;
            }
            let line = |prefix: &dyn Display, version: &str, table: u32| {
                let of =
                    if table == 0 { String::new() } else { format!(" {version} table-id {table}") };
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

// SPDX-License-Identifier: Apache-2.0
//! The `show` commands.

mod sessions;

pub use sessions::{sessions, summary};

use crate::control::{Address, Control};
use crate::settings::role;
use crate::state::Counters;
use ::nat::log::Log;
use cli::{Matches, Output, Result, Table, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

fn control(w: &World) -> Arc<Control> {
    w.get()
}

/// `show nat44 addresses`.
pub fn addresses(w: &World, _: &Matches) -> Result<Output> {
    let [pool, twice] = control(w).read(|state| state.pools.clone());
    let head = |title: &str| (title.to_string(), None);
    let rows = [head("NAT44 pool addresses:")]
        .into_iter()
        .chain(pool.into_iter().map(|of| (String::new(), Some((false, of)))))
        .chain([head("NAT44 twice-nat pool addresses:")])
        .chain(twice.into_iter().map(|of| (String::new(), Some((true, of)))))
        .collect::<Vec<_>>();
    Ok(Output::list(
        rows,
        |w: &World, (title, row): (String, Option<(bool, Address)>), out: &mut Writer| {
            let Some((twice, address)) = row else {
                out.text(|text| *text += &format!("{title}\n"));
                return Ok(());
            };
            let address = (address.addr, address.vrf, address.of);
            ::nat::show::pool_address(out, address, w, Some(twice));
            Ok(())
        },
    ))
}

/// `show nat44 interface address`.
pub fn followed(w: &World, _: &Matches) -> Result<Output> {
    let all = control(w).read(|state| state.followed.clone());
    let table = Table::new().left("Interface").left("Twice-NAT");
    Ok(table.list(all, |w: &World, (sw_if, twice): (SwIfIndex, bool), out: &mut Writer| {
        let name = w.get::<Interfaces>().name(sw_if);
        out.row([name.into(), if twice { "yes" } else { "no" }.into()]);
        Ok(())
    }))
}

/// The words of roles.
fn roles_text(bits: u8) -> &'static str {
    match bits {
        role::INSIDE => "in",
        role::OUTSIDE => "out",
        bits if bits & role::OUTPUT != 0 => "output-feature",
        _ => "in out",
    }
}

/// `show nat44 interfaces`.
pub fn interfaces(w: &World, _: &Matches) -> Result<Output> {
    let all = control(w).read(|state| state.roles.clone());
    let rows: Vec<_> = all.into_iter().collect();
    Ok(Output::list(rows, |w: &World, (sw_if, bits): (SwIfIndex, u8), out: &mut Writer| {
        let name = w.get::<Interfaces>().name(sw_if);
        out.text(|text| *text += &format!(" {name} {}\n", roles_text(bits)));
        out.value(|| json!({ "interface": name, "role": roles_text(bits) }));
        Ok(())
    }))
}

/// `show nat44 static mappings`.
pub fn mappings(w: &World, _: &Matches) -> Result<Output> {
    let numbers = control(w).read(|state| state.statics.numbers_of_all());
    Ok(::nat::show::mappings(numbers, |w, number| {
        control(w).read(|state| state.statics.get(number).cloned())
    }))
}

/// `show nat44 hash tables`.
pub fn tables(w: &World, _: &Matches) -> Result<Output> {
    let sessions = |w: &World, thread| w.get::<Counters>().total.of_thread(thread, 0);
    Ok(::nat::show::hash_tables(w, sessions, crate::flows::SESSION_BYTES))
}

/// `show nat44 vrf tables`.
pub fn vrf_tables(w: &World, _: &Matches) -> Result<Output> {
    let all: Vec<_> = control(w).read(|state| state.tables.clone()).into_iter().collect();
    Ok(Output::list(all, |_: &World, (table, to): (u32, BTreeSet<u32>), out: &mut Writer| {
        out.text(|text| {
            let _ = writeln!(text, "VRF table {table}");
            for vrf in &to {
                let _ = writeln!(text, "  route to VRF {vrf}");
            }
        });
        out.value(|| json!({ "table": table, "routes": to }));
        Ok(())
    }))
}

/// `show nat timeouts`.
pub fn timeouts(w: &World, _: &Matches) -> Result<Output> {
    Ok(control(w).read(|state| state.timeouts).show('-'))
}

/// `show nat mss-clamping`.
pub fn mss(w: &World, _: &Matches) -> Result<Output> {
    Ok(::nat::show::mss(control(w).read(|state| state.mss)))
}

/// `show nat workers`.
pub fn workers(w: &World, _: &Matches) -> Result<Output> {
    Ok(::nat::show::workers(w, control(w).workers(w)))
}

/// `show nat logging`.
pub fn logging(w: &World, _: &Matches) -> Result<Output> {
    let log = w.get::<Log>();
    let (stream, is_syslog) = (log.ipfix(), log.is_syslog());
    let (events, lost) = log.counts();
    let ipfix = stream.map_or("off".into(), |stream| {
        format!("domain {} source port {}", stream.domain, stream.source_port)
    });
    let syslog = if is_syslog { "on" } else { "off" };
    let text = format!("IPFIX {ipfix}, syslog {syslog}\nevents {events}, lost {lost}");
    let value = json!({
        "ipfix": stream.is_some(),
        "domain": stream.map(|stream| stream.domain),
        "source_port": stream.map(|stream| stream.source_port),
        "syslog": is_syslog,
        "events": events,
        "lost": lost,
    });
    Ok(Output::both(text, value))
}

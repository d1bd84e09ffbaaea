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
use nat::statics::{mapping_text, mapping_value};
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
            let of = address.of.map(|sw_if| w.get::<Interfaces>().name(sw_if));
            out.text(|text| {
                let _ = writeln!(text, "{}", address.addr);
                let _ = match address.vrf {
                    Some(vrf) => writeln!(text, "  tenant VRF: {vrf}"),
                    None => writeln!(text, "  tenant VRF independent"),
                };
                if let Some(of) = &of {
                    let _ = writeln!(text, "  of interface {of}");
                }
            });
            out.value(|| {
                json!({
                    "address": address.addr.to_string(),
                    "vrf": address.vrf,
                    "twice_nat": twice,
                    "interface": of,
                })
            });
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
    let numbers: Vec<u32> =
        control(w).read(|state| state.statics.iter().map(|(number, _)| number).collect());
    Ok(Output::list(numbers, |w: &World, number: u32, out: &mut Writer| {
        let mapping = control(w).read(|state| state.statics.get(number).cloned());
        if let Some(mapping) = mapping {
            out.text(|text| *text += &mapping_text(w, &mapping));
            out.value(|| mapping_value(w, &mapping));
        }
        Ok(())
    }))
}

/// `show nat44 hash tables`.
pub fn tables(w: &World, _: &Matches) -> Result<Output> {
    let threads: Vec<_> = w.thread_list().into_iter().map(|thread| thread.name).collect();
    let rows: Vec<_> = threads.into_iter().enumerate().collect();
    let table = Table::new().left("Thread").right("Sessions").right("Keys").right("Bytes");
    Ok(table.list(rows, |w: &World, (at, name): (usize, String), out: &mut Writer| {
        let n = w.get::<Counters>().total.of_thread(at, 0);
        // Two keys a session, in lines of eight cells that are filled to three.
        let bytes = n * (crate::flows::SESSION_BYTES + 2 * 64 / 3);
        out.row([name.into(), n.into(), (2 * n).into(), bytes.into()]);
        Ok(())
    }))
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
    let mss = control(w).read(|state| state.mss);
    let text = mss.map_or("mss-clamping disabled\n".into(), |mss| format!("mss-clamping {mss}\n"));
    Ok(Output::both(text, json!({ "mss": mss })))
}

/// `show nat workers`.
pub fn workers(w: &World, _: &Matches) -> Result<Output> {
    let names: Vec<_> = w.thread_list().into_iter().map(|thread| thread.name).collect();
    let chosen = control(w).workers(w).into_iter().filter(|thread| *thread > 0);
    let rows: Vec<_> = chosen
        .map(|thread| (thread, names.get(usize::from(thread)).cloned().unwrap_or_default()))
        .collect();
    Ok(Output::list(rows, |_: &World, (thread, name): (u16, String), out: &mut Writer| {
        out.text(|text| *text += &format!("  {name}\n"));
        out.value(|| json!({ "thread": thread, "name": name }));
        Ok(())
    }))
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

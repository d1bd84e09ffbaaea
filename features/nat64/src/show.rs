// SPDX-License-Identifier: Apache-2.0
//! The `show` commands.

use crate::control::{Address, BindingRow, Control, Prefix, Protocols, SessionRow, role};
use crate::key::protocol_name;
use crate::prefix::Pref64;
use crate::state::Nat;
use cli::{Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use net::{Fib, Interfaces};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use wire::{Ip6, IpProtocol};

fn control(w: &World) -> Arc<Control> {
    w.get()
}

/// `show nat64 pool`.
pub fn pool(w: &World, _: &Matches) -> Result<Output> {
    let all = control(w).read(|state| state.pool.clone());
    Ok(Output::list(all, |w: &World, address: Address, out: &mut Writer| {
        let of = address.of.map(|sw_if| w.get::<Interfaces>().name(sw_if));
        out.text(|text| {
            let _ = write!(text, " {}", address.addr);
            if let Some(vrf) = address.vrf {
                let _ = write!(text, " tenant VRF: {vrf}");
            }
            if let Some(of) = &of {
                let _ = write!(text, " of interface {of}");
            }
            text.push('\n');
        });
        out.value(
            || json!({ "address": address.addr.to_string(), "vrf": address.vrf, "interface": of }),
        );
        Ok(())
    }))
}

/// The words of roles.
fn roles_text(bits: u8) -> &'static str {
    match bits {
        role::INSIDE => "in",
        role::OUTSIDE => "out",
        _ => "in out",
    }
}

/// `show nat64 interfaces`.
pub fn interfaces(w: &World, _: &Matches) -> Result<Output> {
    let rows: Vec<_> = control(w).read(|state| state.roles.clone()).into_iter().collect();
    Ok(Output::list(rows, |w: &World, (sw_if, bits): (SwIfIndex, u8), out: &mut Writer| {
        let name = w.get::<Interfaces>().name(sw_if);
        out.text(|text| *text += &format!(" {name} {}\n", roles_text(bits)));
        out.value(|| json!({ "interface": name, "role": roles_text(bits) }));
        Ok(())
    }))
}

/// `show nat64 prefix`: tables without one have that of table 0, or the well-known one.
pub fn prefixes(w: &World, _: &Matches) -> Result<Output> {
    let rows: Vec<_> = control(w).read(|state| state.prefixes.clone()).into_iter().collect();
    Ok(Output::list(rows, |w: &World, (vrf, of): (u32, Prefix), out: &mut Writer| {
        let via = of.via.map(|sw_if| w.get::<Interfaces>().name(sw_if));
        out.text(|text| {
            let _ = write!(text, " {} tenant-vrf {vrf}", of.prefix);
            if let Some(via) = &via {
                let _ = write!(text, " interface {via}");
            }
            text.push('\n');
        });
        out.value(|| json!({ "prefix": of.prefix.to_string(), "vrf": vrf, "interface": via }));
        Ok(())
    }))
}

/// The protocols that a command names.
fn protocols(m: &Matches) -> Option<Protocols> {
    let one = |protocol| Some(Protocols::One(protocol));
    match () {
        () if m.flag("tcp") => one(IpProtocol::TCP),
        () if m.flag("udp") => one(IpProtocol::UDP),
        () if m.flag("icmp") => one(IpProtocol::ICMP),
        () if m.flag("unknown") => Some(Protocols::Other),
        () => None,
    }
}

/// The ids of users' tables, by index.
pub fn table_ids(w: &World) -> BTreeMap<u32, u32> {
    let tables = w.get::<Fib<Ip6>>().list_tables();
    tables.into_iter().map(|table| (table.index.0, table.id)).collect()
}

/// `show nat64 bib`.
pub fn bindings(w: &World, m: &Matches) -> Result<Output> {
    let ids = table_ids(w);
    Ok(Control::bindings(w, protocols(m)).then(move |rows| {
        let mut rows: Vec<_> = rows.into_iter().flatten().collect();
        rows.sort_by_key(|row| (row.keys[0].protocol().0, row.keys[0].user()));
        Ok(Output::list(rows, move |_: &World, row: BindingRow, out: &mut Writer| {
            let (user, end) = (row.keys[0].user(), row.keys[1].end());
            let protocol = row.keys[0].protocol();
            let vrf = ids.get(&user.fib).copied().unwrap_or(0);
            let kind = if row.binding.fixed { "static" } else { "dynamic" };
            out.text(|text| {
                let _ = writeln!(
                    text,
                    " {} {} {} {} protocol {} vrf {vrf} {kind} {} sessions",
                    user.addr,
                    user.port,
                    end.addr,
                    end.port,
                    protocol_name(protocol),
                    row.binding.sessions,
                );
            });
            out.value(|| {
                json!({
                    "protocol": protocol.0,
                    "vrf": vrf,
                    "user": user.addr.to_string(),
                    "user_port": user.port,
                    "address": end.addr.to_string(),
                    "port": end.port,
                    "static": row.binding.fixed,
                    "sessions": row.binding.sessions,
                })
            });
            Ok(())
        }))
    }))
}

/// The prefixes as workers have them: by the index of the table, and that of the other tables.
pub fn current_prefixes(w: &World) -> impl Fn(u32) -> Pref64 + 'static {
    let settings = w.get::<Nat>().read(Clone::clone);
    move |fib| settings.prefix_of(fib)
}

/// `show nat64 session table`.
pub fn sessions(w: &World, m: &Matches) -> Result<Output> {
    let (ids, prefix_of) = (table_ids(w), current_prefixes(w));
    Ok(Control::sessions(w, protocols(m)).then(move |rows| {
        let mut rows: Vec<_> = rows.into_iter().flatten().collect();
        rows.sort_by_key(|row| {
            (row.keys[0].protocol().0, row.keys[0].user(), row.keys[0].remote())
        });
        Ok(Output::list(rows, move |_: &World, row: SessionRow, out: &mut Writer| {
            let (user, end) = (row.keys[0].user(), row.keys[1].end());
            let (remote, protocol) = (row.keys[0].remote(), row.keys[0].protocol());
            let far = prefix_of(user.fib).compose(remote.addr);
            let vrf = ids.get(&user.fib).copied().unwrap_or(0);
            let state = (protocol == IpProtocol::TCP).then(|| row.session.phase.name());
            let left = row.left / u64::from(nat::timeouts::TICKS);
            out.text(|text| {
                let _ = write!(
                    text,
                    " {} {} {far} {} {end} {remote} protocol {} vrf {vrf}",
                    user.addr,
                    user.port,
                    remote.port,
                    protocol_name(protocol),
                );
                if let Some(state) = state {
                    let _ = write!(text, " {state}");
                }
                let session = &row.session;
                let _ = writeln!(
                    text,
                    " timeout in {left} packets {} bytes {}",
                    session.packets, session.bytes
                );
            });
            out.value(|| {
                json!({
                    "protocol": protocol.0,
                    "vrf": vrf,
                    "user": user.addr.to_string(),
                    "user_port": user.port,
                    "user_remote": far.to_string(),
                    "address": end.addr.to_string(),
                    "port": end.port,
                    "remote": remote.addr.to_string(),
                    "remote_port": remote.port,
                    "state": state,
                    "timeout": left,
                    "packets": row.session.packets,
                    "bytes": row.session.bytes,
                })
            });
            Ok(())
        }))
    }))
}

/// `show nat64 timeouts`.
pub fn timeouts(w: &World, _: &Matches) -> Result<Output> {
    Ok(control(w).read(|state| state.timeouts).show('-'))
}

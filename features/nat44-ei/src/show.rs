// SPDX-License-Identifier: Apache-2.0
//! The `show` commands.

use crate::control::{Address, Algorithm, Control, Row};
use crate::ha::resync::{Resync, Status};
use crate::session::{ends, user_of};
use crate::settings::{OUTPUT_INSIDE, TICKS, role, tick};
use crate::state::Counters;
use cli::{Matches, Output, Result, Table, Writer};
use graph::{SwIfIndex, World};
use nat::key::{User, protocol_name};
use net::Interfaces;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::iter;
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::IpProtocol;

/// Bytes of a session with its keys.
const SESSION_BYTES: u64 = 160;

fn control(w: &World) -> Arc<Control> {
    w.get()
}

/// `show nat44 ei addresses`.
pub fn addresses(w: &World, _: &Matches) -> Result<Output> {
    let pool = control(w).read(|state| state.pool.clone());
    let rows: Vec<_> = [None].into_iter().chain(pool.into_iter().map(Some)).collect();
    Ok(Output::list(rows, |w: &World, row: Option<Address>, out: &mut Writer| {
        let Some(address) = row else {
            out.text(|text| *text += "NAT44 pool addresses:\n");
            return Ok(());
        };
        ::nat::show::pool_address(out, (address.addr, address.vrf, address.of), w, None);
        Ok(())
    }))
}

/// `show nat44 ei interface address`.
pub fn followed(w: &World, _: &Matches) -> Result<Output> {
    let all = control(w).read(|state| state.followed.clone());
    let table = Table::new().left("Interface");
    Ok(table.list(all, |w: &World, sw_if: SwIfIndex, out: &mut Writer| {
        out.row([w.get::<Interfaces>().name(sw_if).into()]);
        Ok(())
    }))
}

/// The words of roles.
fn roles_text(bits: u8) -> &'static str {
    match bits {
        role::INSIDE => "in",
        role::OUTSIDE => "out",
        bits if bits & OUTPUT_INSIDE != 0 => "output-feature in",
        bits if bits & role::OUTPUT != 0 => "output-feature out",
        _ => "in out",
    }
}

/// `show nat44 ei interfaces`.
pub fn interfaces(w: &World, _: &Matches) -> Result<Output> {
    let roles = control(w).read(|state| state.roles.clone());
    let rows: Vec<_> = [None].into_iter().chain(roles.into_iter().map(Some)).collect();
    Ok(Output::list(rows, |w: &World, row: Option<(SwIfIndex, u8)>, out: &mut Writer| {
        let Some((sw_if, bits)) = row else {
            out.text(|text| *text += "NAT44 interfaces:\n");
            return Ok(());
        };
        let name = w.get::<Interfaces>().name(sw_if);
        out.text(|text| *text += &format!(" {name} {}\n", roles_text(bits)));
        out.value(|| json!({ "interface": name, "role": roles_text(bits) }));
        Ok(())
    }))
}

/// `show nat44 ei static mappings`.
pub fn mappings(w: &World, _: &Matches) -> Result<Output> {
    let numbers = control(w).read(|state| state.statics.numbers_of_all());
    Ok(::nat::show::mappings(numbers, |w, number| {
        control(w).read(|state| state.statics.get(number).cloned())
    }))
}

fn session_text(row: &Row, now: u64) -> String {
    let (inside, outside) = ends(&row.keys);
    let protocol = row.keys[0].protocol();
    let name = protocol_name(protocol);
    let word = if protocol == IpProtocol::ICMP { "id" } else { "port" };
    let [out, back] = &row.keys;
    let seconds = |ticks: u64| ticks as f64 / f64::from(TICKS);
    let session = &row.session;
    let kind = if session.is_static() { "static" } else { "dynamic" };
    let mut text = String::new();
    for line in [
        format!("    i2o {} proto {name} {word} {} fib {}", inside.addr, inside.port, out.fib()),
        format!("    o2i {} proto {name} {word} {} fib {}", outside.addr, outside.port, back.fib()),
        format!("       external host {}", session.external),
        format!("       index {}", row.at),
        format!("       last heard {:.2}", seconds(row.last)),
        format!("       time since last heard {:.2}", seconds(now.saturating_sub(row.last))),
        format!("       timeout in {:.2}", seconds(row.left)),
        format!("       total pkts {}, total bytes {}", session.packets, session.bytes),
        format!("       {kind} translation"),
    ] {
        text += &line;
        text.push('\n');
    }
    text
}

fn session_value(row: &Row) -> Value {
    let (inside, outside) = ends(&row.keys);
    let session = &row.session;
    let end = |end: nat::key::End| json!({ "address": end.addr.to_string(), "port": end.port });
    json!({
        "index": row.at,
        "protocol": row.keys[0].protocol().0,
        "inside": end(inside),
        "outside": end(outside),
        "external": end(session.external),
        "inside_fib": row.keys[0].fib(),
        "outside_fib": row.keys[1].fib(),
        "packets": session.packets,
        "bytes": session.bytes,
        "seconds_left": row.left / u64::from(TICKS),
        "static": session.is_static(),
    })
}

/// A part of the list of sessions.
enum Part {
    /// The first line.
    Title,
    /// A thread, with the number of its sessions.
    Thread(usize, usize),
    /// A user of a thread, with the sessions in the order in which they were made.
    User(usize, User, Vec<Row>),
}

/// The parts of a thread.
fn parts((thread, rows): (usize, Vec<Row>)) -> impl Iterator<Item = Part> {
    let n = rows.len();
    let mut users = BTreeMap::<User, Vec<Row>>::new();
    rows.into_iter().for_each(|row| users.entry(user_of(&row.keys)).or_default().push(row));
    let users = users.into_iter().map(move |(user, mut rows)| {
        rows.sort_unstable_by_key(|row| row.session.serial);
        Part::User(thread, user, rows)
    });
    iter::once(Part::Thread(thread, n)).chain(users)
}

fn show_user(out: &mut Writer, (thread, user): (usize, User), rows: &[Row], shown: Option<u64>) {
    let fixed = rows.iter().filter(|row| row.session.is_static()).count();
    let dynamic = rows.len() - fixed;
    out.text(|text| {
        let _ = writeln!(
            text,
            "  {}: {dynamic} dynamic translations, {fixed} static translations",
            user.addr
        );
        if let Some(now) = shown {
            rows.iter().for_each(|row| *text += &session_text(row, now));
        }
    });
    out.value(|| {
        let sessions: Vec<_> = rows.iter().filter(|_| shown.is_some()).map(session_value).collect();
        json!({
            "thread": thread,
            "user": user.addr.to_string(),
            "fib": user.fib,
            "dynamic": dynamic,
            "static": fixed,
            "sessions": sessions,
        })
    });
}

/// `show nat44 ei sessions`.
pub fn sessions(w: &World, m: &Matches) -> Result<Output> {
    let saddr = m.opt::<Ipv4Addr>("saddr")?;
    let names: Vec<_> = w.thread_list().into_iter().map(|thread| thread.name).collect();
    // With details, the tick to which their times refer.
    let shown = m.flag("detail").then(|| u64::from(tick(w.clock.now())));
    let wanted =
        move |keys: &[nat::key::Key; 2]| saddr.is_none_or(|saddr| user_of(keys).addr == saddr);
    Ok(Control::sessions(w, wanted).then(move |threads| {
        let parts = threads.into_iter().enumerate().flat_map(parts);
        let parts = iter::once(Part::Title).chain(parts);
        Ok(Output::list(parts, move |_: &World, part: Part, out: &mut Writer| {
            match part {
                Part::Title => out.text(|text| *text += "NAT44 EI sessions:\n"),
                Part::Thread(thread, n) => out.text(|text| {
                    let name = names.get(thread).map_or("", |name| name);
                    let _ =
                        writeln!(text, "-------- thread {thread} {name}: {n} sessions --------");
                }),
                Part::User(thread, user, rows) => show_user(out, (thread, user), &rows, shown),
            }
            Ok(())
        }))
    }))
}

/// `show nat44 ei hash tables`.
pub fn tables(w: &World, _: &Matches) -> Result<Output> {
    let sessions = |w: &World, thread| w.get::<Counters>().sessions_of(thread);
    Ok(::nat::show::hash_tables(w, sessions, SESSION_BYTES))
}

/// `show nat44 ei addr-port-assignment-alg`.
pub fn algorithm(w: &World, _: &Matches) -> Result<Output> {
    let (text, value) = match control(w).read(|state| state.algorithm) {
        Algorithm::Default => {
            ("NAT address and port: default\n".to_string(), json!({ "algorithm": "default" }))
        }
        Algorithm::MapE { offset, length, psid } => (
            format!(
                "NAT address and port: map-e\n  psid {psid} psid-offset {offset} psid-len {length}\n"
            ),
            json!({
                "algorithm": "map-e",
                "psid": psid,
                "psid_offset": offset,
                "psid_length": length,
            }),
        ),
        Algorithm::Range { first, last } => (
            format!("NAT address and port: port-range\n  start-port {first} end-port {last}\n"),
            json!({ "algorithm": "port-range", "start_port": first, "end_port": last }),
        ),
    };
    Ok(Output::both(text, value))
}

/// `show nat44 ei timeouts`.
pub fn timeouts(w: &World, _: &Matches) -> Result<Output> {
    Ok(control(w).read(|state| state.timeouts).show('-'))
}

/// `show nat44 ei mss-clamping`.
pub fn mss(w: &World, _: &Matches) -> Result<Output> {
    Ok(::nat::show::mss(control(w).read(|state| state.mss)))
}

/// `show nat44 ei workers`.
pub fn workers(w: &World, _: &Matches) -> Result<Output> {
    Ok(::nat::show::workers(w, control(w).workers(w)))
}

/// `show nat44 ei ha`.
pub fn ha(w: &World, _: &Matches) -> Result<Output> {
    let ha = control(w).read(|state| state.ha);
    let status = w.get::<Resync>().status();
    let Some(listener) = ha.listener else {
        return Ok(Output::both("NAT HA disabled\n", json!({ "listener": null })));
    };
    let failover = ha
        .failover
        .map_or("NA".to_string(), |of| format!("{} refresh-interval {}sec", of.end, of.refresh));
    let resync = match status {
        Status::Running => "in progress".to_string(),
        Status::Completed(missed) => format!("completed ({missed} ACK missed)"),
    };
    let text = format!(
        "LISTENER:\n  {} path-mtu {}\nFAILOVER:\n  {failover}\nRESYNC:\n  {resync}\n",
        listener.end, listener.path_mtu
    );
    let missed = if let Status::Completed(missed) = status { Some(missed) } else { None };
    let value = json!({
        "listener": listener.end.to_string(),
        "path_mtu": listener.path_mtu,
        "failover": ha.failover.map(|of| of.end.to_string()),
        "refresh_interval": ha.failover.map(|of| of.refresh),
        "resync_running": status == Status::Running,
        "resync_missed": missed,
    });
    Ok(Output::both(text, value))
}

// SPDX-License-Identifier: Apache-2.0
//! Users and sessions.

use super::*;
use crate::control::Row;
use crate::session::ends;
use crate::settings::{TICKS, tick};
use std::collections::BTreeMap;
use wire::Ip4;

type Later<T> = Box<dyn msg::Pending<World, Vec<T>>>;

pub fn users(w: &World, _: Nat44EiUserDump) -> Result<Later<Nat44EiUserDetails>> {
    let tables = w.get::<net::Fib<Ip4>>().list_tables().into_iter();
    let tables: BTreeMap<u32, u32> = tables.map(|table| (table.index.0, table.id)).collect();
    Ok(Control::users(w).reply(move |all| {
        let mut all: Vec<_> = all.into_iter().flatten().collect();
        all.sort_unstable();
        let details = |(user, [dynamic, fixed]): (User, [u32; 2])| Nat44EiUserDetails {
            vrf_id: tables.get(&user.fib).copied().unwrap_or(0),
            ip_address: wire_ip(user.addr),
            nsessions: dynamic,
            nstaticsessions: fixed,
        };
        Ok(all.into_iter().map(details).collect())
    }))
}

/// The sessions of a user, in the order in which they were made.
pub fn sessions<T: From<Nat44EiUserSessionV2Details> + 'static>(
    w: &World,
    addr: Ip4Address,
    vrf: u32,
) -> Result<Later<T>> {
    let now = u64::from(tick(w.clock.now()));
    Ok(Control::sessions_of(w, ip(addr), vrf).reply(move |all| {
        let mut rows: Vec<_> = all.into_iter().flatten().collect();
        rows.sort_unstable_by_key(|row| row.session.serial);
        Ok(rows.iter().map(|row| T::from(details_of(row, now))).collect())
    }))
}

fn details_of(row: &Row, now: u64) -> Nat44EiUserSessionV2Details {
    let (inside, outside) = ends(&row.keys);
    let session = &row.session;
    Nat44EiUserSessionV2Details {
        outside_ip_address: wire_ip(outside.addr),
        outside_port: outside.port,
        inside_ip_address: wire_ip(inside.addr),
        inside_port: inside.port,
        protocol: row.keys[0].protocol().0.into(),
        flags: Nat44EiConfigFlags::STATIC_MAPPING.when(session.is_static()),
        last_heard: row.last / u64::from(TICKS),
        time_since_last_heard: now.saturating_sub(row.last) / u64::from(TICKS),
        total_bytes: session.bytes,
        total_pkts: session.packets as u32,
        ext_host_address: wire_ip(session.external.addr),
        ext_host_port: session.external.port,
    }
}

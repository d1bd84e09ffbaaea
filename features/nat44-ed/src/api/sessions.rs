// SPDX-License-Identifier: Apache-2.0
//! Users and sessions.

use super::*;
use crate::control::Row;
use crate::key::User;
use crate::session::SessionFlags;
use crate::settings::{TICKS, tick};
use std::collections::BTreeMap;
use wire::Ip4;

type Later<T> = Box<dyn msg::Pending<World, Vec<T>>>;

pub fn users(w: &World, _: Nat44UserDump) -> Result<Later<Nat44UserDetails>> {
    let tables: BTreeMap<u32, u32> = w
        .get::<net::Fib<Ip4>>()
        .list_tables()
        .into_iter()
        .map(|table| (table.index.0, table.id))
        .collect();
    Ok(Control::users(w).reply(move |all| {
        let mut users = BTreeMap::<_, [u32; 2]>::new();
        for (user, [dynamic, fixed]) in all.into_iter().flatten() {
            let sum = users.entry(user).or_default();
            *sum = [sum[0] + dynamic, sum[1] + fixed];
        }
        let details = |(user, [dynamic, fixed]): (User, [u32; 2])| Nat44UserDetails {
            vrf_id: tables.get(&user.fib).copied().unwrap_or(0),
            ip_address: wire_ip(user.addr),
            nsessions: dynamic,
            nstaticsessions: fixed,
        };
        Ok(users.into_iter().map(details).collect())
    }))
}

pub fn sessions<T: From<Nat44UserSessionV3Details> + 'static>(
    w: &World,
    addr: Ip4Address,
    vrf: u32,
) -> Result<Later<T>> {
    let now = u64::from(tick(w.clock.now()));
    Ok(Control::sessions_of(w, ip(addr), vrf).reply(move |all| {
        let rows = all.into_iter().flatten();
        Ok(rows.map(|row| T::from(details_of(&row, now))).collect())
    }))
}

fn details_of(row: &Row, now: u64) -> Nat44UserSessionV3Details {
    let ends = row.ends();
    let flags = row.session.flags;
    let twice = flags.contains(SessionFlags::TWICE);
    let inside = if twice { ends.external_inside } else { End::NONE };
    Nat44UserSessionV3Details {
        outside_ip_address: wire_ip(ends.outside.addr),
        outside_port: ends.outside.port,
        inside_ip_address: wire_ip(ends.inside.addr),
        inside_port: ends.inside.port,
        protocol: row.protocol().0.into(),
        flags: NatConfigFlags::EXT_HOST_VALID
            | NatConfigFlags::STATIC.when(flags.contains(SessionFlags::STATIC))
            | NatConfigFlags::TWICE_NAT.when(twice),
        last_heard: row.last / u64::from(TICKS),
        time_since_last_heard: now.saturating_sub(row.last) / u64::from(TICKS),
        total_bytes: row.session.bytes,
        total_pkts: row.session.packets as u32,
        ext_host_address: wire_ip(ends.external.addr),
        ext_host_port: ends.external.port,
        ext_host_nat_address: wire_ip(inside.addr),
        ext_host_nat_port: inside.port,
        is_timed_out: row.is_timed_out(),
    }
}

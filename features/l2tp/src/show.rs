// SPDX-License-Identifier: Apache-2.0
//! `show l2tpv3`.

use crate::model::L2tp;
use crate::sessions::Sessions;
use cli::{Matches, Output, Result, Writer};
use graph::{SwIfIndex, World};
use net::Interfaces;
use serde_json::json;
use std::fmt::Write;
use tunnel::{Tunnel, TunnelEndpoints, Tunnels};

pub fn sessions(w: &World, m: &Matches) -> Result<Output> {
    let all = w.get::<Tunnels<L2tp>>().interfaces();
    let verbose = m.flag("verbose");
    let rows = [None].into_iter().chain(all.into_iter().map(Some)).collect::<Vec<_>>();
    Ok(Output::list(rows, move |w: &World, row: Option<SwIfIndex>, out: &mut Writer| {
        match row {
            Some(sw_if) => line(w, sw_if, verbose, out),
            None => {
                let tunnels = w.get::<Tunnels<L2tp>>().interfaces().len();
                let word = w.get::<Sessions>().lookup().word();
                out.text(|text| writeln!(text, "{tunnels} L2TPv3 sessions, lookup {word}"));
            }
        }
        Ok(())
    }))
}

/// The cookies that are accepted: the one before, only if it is another.
fn cookies([now, before]: [u64; 2]) -> Vec<String> {
    let before = (before != now).then_some(before);
    [Some(now), before].into_iter().flatten().map(|cookie| format!("0x{cookie:016x}")).collect()
}

fn line(w: &World, sw_if: SwIfIndex, verbose: bool, out: &mut Writer) {
    let tunnels = w.get::<Tunnels<L2tp>>();
    // It may be deleted between two slices of the answer.
    let Some(Tunnel { instance, spec, .. }) = tunnels.get(sw_if) else { return };
    let TunnelEndpoints { local, remote, table } = spec.ends;
    let (name, outlook) = (w.get::<Interfaces>().name(sw_if), tunnels.outlook(w, sw_if));
    let (sessions, local_cookies) = (w.get::<Sessions>(), cookies(spec.local_cookies));
    let remote_cookie = format!("0x{:016x}", spec.remote_cookie);
    let counts = sessions.counts(w, sw_if);
    out.value(|| {
        json!({
            "interface": *name,
            "sw_if_index": sw_if.0,
            "instance": instance,
            "client": remote.to_string(),
            "our": local.to_string(),
            "table": table,
            "local_session": spec.local_session,
            "remote_session": spec.remote_session,
            "local_cookies": local_cookies,
            "remote_cookie": remote_cookie,
            "l2_sublayer": spec.sublayer,
            "lookup": sessions.lookup().word(),
            "flags": tunnel::flags(&spec.marks),
            "dscp": spec.marks.dscp,
            "resolved": outlook.is_resolved,
            "obstacle": outlook.obstacle,
            "counters": {
                "user_to_network": { "packets": counts.rx.0, "bytes": counts.rx.1 },
                "network_to_user": { "packets": counts.tx.0, "bytes": counts.tx.1 },
            },
        })
    });
    out.text(|text| {
        write!(
            text,
            "[{instance}] {name} client {remote} our {local} local-session {} remote-session {}",
            spec.local_session, spec.remote_session
        )?;
        let table = spec.ends.table_index(w).map_or(u32::MAX, |index| index.0);
        write!(text, " fib-idx {table} sw-if-idx {sw_if}")?;
        write!(text, " l2-sublayer {}", u8::from(spec.sublayer))?;
        writeln!(text, "{}", outlook.suffix())?;
        if !verbose {
            return Ok(());
        }
        let local = local_cookies.join(" or ");
        writeln!(text, "    cookies: local {local}, remote {remote_cookie}")?;
        let ((packets, bytes), (tx_packets, tx_bytes)) = (counts.rx, counts.tx);
        writeln!(text, "    user to network: {packets} packets, {bytes} bytes")?;
        writeln!(text, "    network to user: {tx_packets} packets, {tx_bytes} bytes")
    });
}

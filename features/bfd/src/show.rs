// SPDX-License-Identifier: Apache-2.0
//! `show bfd`: in the form of VPP, and in JSON.

use crate::control::{Bfd, Configured};
use crate::echo_source;
use crate::engine::Engine;
use crate::home::{Home, THREAD};
use crate::session::Session;
use cli::{Matches, Output, Result, Writer};
use graph::{PerThread, World};
use net::Interfaces;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::net::IpAddr;
use std::sync::Arc;
use wire::{Ip4, Ip6};

/// `show bfd`.
pub fn show(w: &World, m: &Matches) -> Result<Output> {
    match () {
        () if m.flag("keys") => Ok(keys(w)),
        () if m.flag("sessions") => Ok(sessions(w)),
        () if m.flag("echo-source") => Ok(echo_source(w)),
        () => {
            let (sessions, keys) = {
                let bfd = w.get::<Bfd>();
                let inner = bfd.inner();
                (inner.sessions.len(), inner.keys.0.len())
            };
            let text = format!(
                "Number of configured BFD sessions: {sessions}\nNumber of configured BFD keys: {keys}\n"
            );
            Ok(Output::both(text, json!({ "sessions": sessions, "keys": keys })))
        }
    }
}

/// Secrets aren't shown.
fn keys(w: &World) -> Output {
    let keys: Vec<_> = {
        let bfd = w.get::<Bfd>();
        let inner = bfd.inner();
        inner.keys.0.iter().map(|(id, key)| (*id, key.kind, key.uses)).collect()
    };
    let columns = cli::Table::new().right("Configuration Key ID").left("Type").right("Use Count");
    columns.rows(keys, |_: &World, (id, kind, uses)| {
        Some([cli::Cell::show(id), cli::Cell::from(kind.word()), cli::Cell::show(uses)])
    })
}

fn usable(w: &World) -> (Option<(String, u32)>, [Option<IpAddr>; 2]) {
    let sw_if = w.get::<Bfd>().inner().echo_source;
    let Some(sw_if) = sw_if else { return (None, [None; 2]) };
    let v4 = echo_source::usable::<Ip4>(w, sw_if).map(IpAddr::from);
    let v6 = echo_source::usable::<Ip6>(w, sw_if).map(IpAddr::from);
    (Some((w.get::<Interfaces>().name(sw_if), sw_if.0)), [v4, v6])
}

fn echo_source(w: &World) -> Output {
    let (interface, [v4, v6]) = usable(w);
    let Some((name, number)) = interface else {
        return Output::both("UDP echo source is not set.\n", json!({ "interface": null }));
    };
    let word = |ip: Option<IpAddr>| ip.map_or("none".to_string(), |ip| ip.to_string());
    let text = format!(
        "UDP echo source is: {name}\n\
         IPv4 address usable as echo source: {}\n\
         IPv6 address usable as echo source: {}\n",
        word(v4),
        word(v6)
    );
    let value = json!({ "interface": name, "sw_if_index": number, "ip4": v4, "ip6": v6 });
    Output::both(text, value)
}

/// A session with the variables that only its thread knows.
struct Shown {
    index: u32,
    configured: Configured,
    live: Option<Session>,
}

/// The thread of the sessions is asked for its variables, then rows are written.
fn sessions(w: &World) -> Output {
    let engines: Arc<PerThread<Engine>> = w.get();
    let live = w.query(move |rt| {
        let thread = rt.thread();
        if thread != THREAD {
            return Vec::new();
        }
        let turn = rt.reading();
        let engine = engines.of(thread, &turn);
        let all = |engine: &Engine| -> Vec<(u32, Session)> {
            engine.all().map(|entry| (entry.index, entry.session.clone())).collect()
        };
        engine.map_or_else(Vec::new, |engine| all(&engine))
    });
    let (configured, now) = (w.get::<Bfd>().list(), w.clock.now());
    live.then(move |threads| {
        let live: BTreeMap<u32, Session> = threads.into_iter().flatten().flatten().collect();
        let count = configured.len();
        let shown = configured.into_iter().map(move |(index, configured)| {
            let live = live.get(&index).cloned();
            Some(Shown { index, configured, live })
        });
        let mut first = true;
        Ok(Output::list(
            shown.chain([None]),
            move |w: &World, shown: Option<Shown>, out: &mut Writer| {
                let Some(shown) = shown else {
                    out.text(|text| writeln!(text, "Number of configured BFD sessions: {count}"));
                    return Ok(());
                };
                if std::mem::take(&mut first) {
                    out.text(|text| {
                        row(text, ("Index", "Property", "Local value", "Remote value"))
                    });
                }
                out.text(|text| write_session(text, w, &shown, now));
                out.value(|| value(w, &shown, now));
                Ok(())
            },
        ))
    })
}

fn row(
    text: &mut String,
    (index, property, local, remote): (
        impl fmt::Display,
        &str,
        impl fmt::Display,
        impl fmt::Display,
    ),
) -> fmt::Result {
    let line = format!("{index:<10} {property:<32} {local:>20} {remote:>20}");
    writeln!(text, "{}", line.trim_end())
}

/// Seconds from or to a time.
fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:02}s", nanoseconds / 1_000_000_000, nanoseconds / 10_000_000 % 100)
}

fn ago(now: u64, then: Option<u64>) -> String {
    then.map_or("never".into(), |then| format!("{} ago", seconds(now.saturating_sub(then))))
}

fn write_session(text: &mut String, w: &World, shown: &Shown, now: u64) -> fmt::Result {
    let Shown { index, configured, live } = shown;
    let key = configured.key;
    let version = if key.peer.is_ipv4() { "IPv4 address" } else { "IPv6 address" };
    row(text, (index, version, key.local, key.peer))?;
    let interface = key.sw_if.map_or("multihop".into(), |sw_if| w.get::<Interfaces>().name(sw_if));
    row(text, ("", "Interface", interface, ""))?;
    let Some(live) = live else {
        return row(text, ("", "Session state", configured.state, ""));
    };
    let (config, remote) = (live.config, live.remote);
    row(text, ("", "Session state", live.state, remote.state))?;
    row(text, ("", "Diagnostic code", live.diag, remote.diag))?;
    row(text, ("", "Discriminator", live.disc, remote.disc))?;
    row(text, ("", "Detect multiplier", config.detect_mult, remote.detect_mult))?;
    row(text, ("", "Required Min Rx Interval (usec)", live.required_min_rx(), remote.min_rx))?;
    row(
        text,
        ("", "Desired Min Tx Interval (usec)", live.desired_min_tx(), remote.desired_min_tx),
    )?;
    row(text, ("", "Transmit interval (usec)", live.tx_interval(), ""))?;
    row(text, ("", "Detection time", seconds(live.detection_time()), ""))?;
    row(text, ("", "Last control frame tx", ago(now, live.sent), ""))?;
    row(text, ("", "Last control frame rx", ago(now, live.heard), ""))?;
    row(text, ("", "Min Echo Rx Interval (usec)", u8::from(!live.multihop), remote.min_echo_rx))?;
    if live.echo.active {
        row(text, ("", "Echo transmit interval (usec)", live.echo_interval(), ""))?;
        row(text, ("", "Last echo frame tx", ago(now, live.echo.sent), ""))?;
        row(text, ("", "Last echo frame rx", ago(now, Some(live.echo.heard)), ""))?;
    }
    row(text, ("", "Demand mode", "no", if remote.demand { "yes" } else { "no" }))?;
    row(text, ("", "Poll state", live.poll.text(), ""))?;
    row(text, ("", "In this state for", seconds(now.saturating_sub(configured.since)), ""))?;
    if let Some(auth) = live.auth {
        row(text, ("", "Authentication type", auth.kind.word(), ""))?;
        row(text, ("", "Authentication key id", auth.key_id, ""))?;
    }
    if let Some(next) = live.next_auth {
        let next = next.map_or("none".into(), |auth| auth.key_id.to_string());
        row(text, ("", "Next authentication key id", next, ""))?;
    }
    Ok(())
}

fn value(w: &World, shown: &Shown, now: u64) -> Value {
    let Shown { index, configured, live } = shown;
    let key = configured.key;
    let home = w.get::<Home>();
    let count = |counter: &stats::Combined| counter.sum(*index as usize).0;
    let mut value = json!({
        "index": index,
        "interface": key.sw_if.map(|sw_if| w.get::<Interfaces>().name(sw_if)),
        "multihop": key.is_multihop(),
        "local": key.local,
        "peer": key.peer,
        "admin_up": configured.admin_up,
        "state": configured.state.name(),
        "diagnostic": configured.diag.text(),
        "seconds_in_state": now.saturating_sub(configured.since) as f64 / 1e9,
        "desired_min_tx_us": configured.settings.desired_min_tx,
        "required_min_rx_us": configured.settings.required_min_rx,
        "detect_mult": configured.settings.detect_mult,
        "conf_key_id": configured.auth.map(|auth| auth.conf_key_id),
        "bfd_key_id": configured.auth.map(|auth| auth.bfd_key_id),
        "rx_packets": count(&home.rx),
        "tx_packets": count(&home.tx),
        "rx_echo_packets": count(&home.rx_echo),
        "tx_echo_packets": count(&home.tx_echo),
    });
    if let Some(live) = live {
        let remote = live.remote;
        value["discriminator"] = live.disc.into();
        value["tx_interval_us"] = live.tx_interval().into();
        value["detection_time_us"] = (live.detection_time() / 1000).into();
        value["echo"] = live.echo.active.into();
        value["poll"] = live.poll.text().into();
        value["remote"] = json!({
            "state": remote.state.name(),
            "diagnostic": remote.diag.text(),
            "discriminator": remote.disc,
            "desired_min_tx_us": remote.desired_min_tx,
            "required_min_rx_us": remote.min_rx,
            "required_min_echo_rx_us": remote.min_echo_rx,
            "detect_mult": remote.detect_mult,
            "demand": remote.demand,
        });
    }
    value
}

// SPDX-License-Identifier: Apache-2.0
//! `show dns cache`, `show dns servers`.

use crate::answer::Answer;
use crate::control::{Dns, State};
use cli::Output;
use graph::World;
use serde_json::{Value, json};
use std::fmt::Write as _;
use wire::dns::{Rcode, Record, RecordData};

const SECOND: u64 = 1_000_000_000;

/// `show dns servers`.
pub fn servers(world: &World) -> Output {
    let dns = world.get::<Dns>();
    let servers = dns.state().servers.clone();
    let mut text = String::new();
    for (version, is_ip6) in [("ip4", false), ("ip6", true)] {
        let these: Vec<_> = servers.iter().filter(|ip| ip.is_ipv6() == is_ip6).collect();
        if !these.is_empty() {
            // Writing to a String can't fail.
            let _ = writeln!(text, "{version} name servers:");
        }
        these.iter().for_each(|ip| _ = writeln!(text, "{ip}"));
    }
    if text.is_empty() {
        text.push_str("No name servers configured...\n");
    }
    let json = servers.iter().map(|ip| Value::from(ip.to_string())).collect::<Vec<_>>();
    Output::both(text, Value::from(json))
}

/// The data of a record.
pub fn data(record: &Record) -> String {
    match &record.data {
        RecordData::A(ip) => ip.to_string(),
        RecordData::Aaaa(ip) => ip.to_string(),
        RecordData::Cname(name) | RecordData::Ptr(name) => name.to_string(),
        RecordData::Soa(soa) => format!("minimum {}", soa.minimum),
        RecordData::Other(len) => format!("{len} bytes"),
    }
}

/// Data of an answer's records, on one line.
fn brief(answer: &Answer) -> String {
    if answer.rcode() == Rcode::NAME_ERROR {
        return "no such name".into();
    }
    match &answer.records()[..] {
        [] if answer.rcode() != Rcode::NO_ERROR => "no server answers".into(),
        [] => "no such records".into(),
        records => records.iter().map(data).collect::<Vec<_>>().join(", "),
    }
}

/// `show dns cache`.
pub fn cache(world: &World, verbose: bool) -> Output {
    let dns = world.get::<Dns>();
    let state = dns.state();
    let now = world.clock.now();
    let (mut text, mut json) = (String::new(), Vec::new());
    // Writing to a String can't fail.
    if !state.enabled {
        text.push_str("The DNS cache is disabled...\n");
    }
    for (name, given) in state.cache.statics() {
        let both = [given.ip4.map(|ip| ip.to_string()), given.ip6.map(|ip| ip.to_string())];
        let both: Vec<_> = both.into_iter().flatten().collect();
        let _ = writeln!(text, "[S] {name}: {}", both.join(", "));
        json.push(json!({ "name": name.to_string(), "state": "static", "addresses": both }));
    }
    for (question, answer) in state.cache.answers().filter(|(_, answer)| answer.expires() > now) {
        let (name, kind) = (&question.name, question.kind);
        let left = (answer.expires() - now) as f64 / SECOND as f64;
        let _ = writeln!(text, "    {name}: {kind} {}  TTL left {left:.1}", brief(answer));
        let records = answer.records();
        if verbose {
            for record in &records {
                let Record { name, ttl, kind, .. } = record;
                let _ = writeln!(text, "        {name} {ttl} {kind} {}", data(record));
            }
        }
        let records = records.iter().map(|record| {
            json!({
                "name": record.name.to_string(), "type": record.kind.to_string(),
                "ttl": record.ttl, "data": data(record),
            })
        });
        json.push(json!({
            "name": name.to_string(), "state": "valid", "type": kind.to_string(),
            "rcode": answer.rcode().0, "ttl_left": left, "records": records.collect::<Vec<_>>(),
        }));
    }
    pending(&state, verbose, &mut text, &mut json);
    if json.is_empty() && state.enabled {
        text.push_str("The DNS cache is empty...\n");
    }
    Output::both(text, Value::from(json))
}

fn pending(state: &State, verbose: bool, text: &mut String, json: &mut Vec<Value>) {
    for (question, pending) in &state.table.pending {
        let (name, kind) = (&question.name, question.kind);
        let (server, waiters) = (pending.asked.server, state.table.waiters(question));
        let _ = write!(text, "[P] {name}: {kind}");
        if verbose {
            let from = pending.asked.own.map_or("no route".into(), |own| format!("from {own}"));
            let _ = write!(
                text,
                ", asks {server} {from}, id 0x{:04x}, try {}, {waiters} waiting",
                pending.asked.id, pending.tries
            );
        }
        text.push('\n');
        json.push(json!({
            "name": name.to_string(), "state": "pending", "type": kind.to_string(),
            "server": server.to_string(), "tries": pending.tries, "waiting": waiters,
        }));
    }
}

// SPDX-License-Identifier: Apache-2.0
//! The `show` commands, and `clear`.

use crate::control::Firewall;
use crate::filter::Filter;
use crate::flows::{AllSessions, Flows};
use crate::hits::Hits;
use crate::log::{Entry, Logs, event, message, reason};
use crate::model::{Action, PolicyOptions};
use crate::node::Firewall as FirewallNode;
use crate::record::Record;
use crate::rules::{Policy, SELF};
use crate::session::Session;
use crate::sets::{Members, Set};
use crate::settings::{Limit, Settings, Timer};
use crate::state::{Config, Pair, SELF_NAME};
use crate::values::{Protocol, network_text, range_text};
use cli::{Date, Error, Matches, Output, Result, Table, Writer, retval};
use graph::{SwIfIndex, World, name_of};
use net::Interfaces;
use object::{Arguments, Choice};
use serde_json::{Value, json};
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use wire::{Address, Ip4, Ip6};

pub use crate::filter::FILTER;

/// Sessions of a thread that are shown at most, without another number.
const MOST: usize = 100;
/// Records that are shown, without another number.
const LAST: usize = 50;

/// `show firewall zones`.
pub fn zones(w: &World, _: &Matches) -> Result<Output> {
    let config = w.get::<Firewall>().running();
    let table =
        Table::new().left("Zone").left("Interfaces").right("Sessions").right("Limit").right("Rate");
    let mut all = vec![(SELF_NAME.to_string(), SELF)];
    all.extend(config.zones.iter().map(|(name, zone)| (name.clone(), zone.number)));
    Ok(table.list(all, move |w: &World, (name, number): (String, u16), out: &mut Writer| {
        let interfaces = w.get::<Interfaces>();
        let of = config.interfaces.iter().filter(|(_, zone)| **zone == number);
        let names: Vec<_> = of.map(|(sw_if, _)| interfaces.name(*sw_if)).collect();
        let zone = config.zones.get(&name);
        let limits = zone.map(|zone| zone.limits).unwrap_or_default();
        out.row([
            name.into(),
            names.join(" ").into(),
            zone.map_or(0, |zone| zone.used.sessions()).into(),
            limits.sessions.into(),
            limits.rate.into(),
        ]);
        Ok(())
    }))
}

/// Seconds since the last packet that a rule has decided.
fn ago(w: &World, hits: &Hits) -> Option<u64> {
    hits.last().map(|last| w.clock.now().saturating_sub(last) / 1_000_000_000)
}

/// `show firewall policies`.
pub fn policies(w: &World, m: &Matches) -> Result<Output> {
    let firewall = w.get::<Firewall>();
    let is_draft = m.flag("draft");
    let config = if is_draft { firewall.draft()? } else { firewall.running() };
    let only = match m.has("from") {
        true => {
            let pair = [config.zone(m.str("from"))?, config.zone(m.str("to"))?];
            config.policy(pair).map_err(m.at("from"))?;
            Some(pair)
        }
        false => None,
    };
    let mut all = config.pairs();
    all.retain(|pair| only.is_none_or(|only| only == *pair));
    Ok(Output::list(all, move |w: &World, pair: Pair, out: &mut Writer| {
        let Some(policy) = config.policies.get(&pair) else { return Ok(()) };
        let [from, to] = pair.map(|zone| config.zone_name(zone).to_string());
        out.text(|text| policy_text(w, text, (&from, &to), policy, is_draft));
        out.value(|| policy_value(w, (&from, &to), policy));
        Ok(())
    }))
}

fn policy_text(
    w: &World,
    text: &mut String,
    (from, to): (&str, &str),
    policy: &Policy,
    is_draft: bool,
) {
    let firewall = w.get::<Firewall>();
    let hits = |text: &mut String, hits: &Hits| {
        let (packets, bytes) = firewall.sum(hits);
        let _ = write!(text, "packets {packets} bytes {bytes}");
        ago(w, hits).iter().for_each(|ago| _ = write!(text, ", last {ago} s ago"));
        text.push('\n');
    };
    let draft = if is_draft { " (draft)" } else { "" };
    // Writing to a String can't fail.
    let _ = writeln!(text, "from {from} to {to}{draft}:");
    for (number, counted) in &policy.rules {
        let _ = writeln!(text, "  {number}{}", counted.rule.words(w));
        let _ = write!(text, "    ");
        hits(text, &counted.hits);
    }
    let PolicyOptions { otherwise, log, loose } = policy.options;
    let (log, loose) = (if log { " log" } else { "" }, if loose { ", loose" } else { "" });
    let _ = write!(text, "  default {}{log}{loose}\n    ", otherwise.word());
    hits(text, &policy.hits);
}

fn policy_value(w: &World, (from, to): (&str, &str), policy: &Policy) -> Value {
    let firewall = w.get::<Firewall>();
    let with_hits = |mut members: object::Members, hits: &Hits| {
        let (packets, bytes) = firewall.sum(hits);
        members.insert("packets".into(), packets.into());
        members.insert("bytes".into(), bytes.into());
        members.insert("last_s_ago".into(), json!(ago(w, hits)));
        Value::Object(members)
    };
    let rules = policy.rules.iter().map(|(number, counted)| {
        let mut members = object::Members::new();
        members.insert("number".into(), (*number).into());
        counted.rule.members(w, &mut members);
        with_hits(members, &counted.hits)
    });
    let rules: Vec<_> = rules.collect();
    let mut members = object::Members::new();
    members.insert("from".into(), from.into());
    members.insert("to".into(), to.into());
    policy.options.members(w, &mut members);
    members.insert("rules".into(), rules.into());
    with_hits(members, &policy.hits)
}

/// The words of a set's members.
pub fn member_words(w: &World, members: &Members) -> Vec<String> {
    match members {
        Members::Networks(all) => all.iter().map(|network| network_text(*network)).collect(),
        Members::Ports(all) => all.iter().map(|range| range_text(*range)).collect(),
        Members::Interfaces(all) => {
            let interfaces = w.get::<Interfaces>();
            all.iter().map(|sw_if| interfaces.name(*sw_if)).collect()
        }
    }
}

/// `show firewall sets`.
pub fn sets(w: &World, m: &Matches) -> Result<Output> {
    let firewall = w.get::<Firewall>();
    let config = if m.flag("draft") { firewall.draft()? } else { firewall.running() };
    let only = m.has("name").then(|| m.str("name").to_string());
    if let Some(name) = only.as_ref().filter(|name| !config.sets.contains_key(*name)) {
        let error =
            Error::not_found(format!("there is no set {name}")).near(name, config.sets.keys());
        return Err(error.retval(retval::NO_SUCH_ENTRY).at(m.span("name")));
    }
    let mut all: Vec<(String, Set)> = config.sets.into_iter().collect();
    all.retain(|(name, _)| only.as_ref().is_none_or(|only| only == name));
    Ok(Output::list(all, |w: &World, (name, set): (String, Set), out: &mut Writer| {
        let words = member_words(w, &set.members);
        let kind = set.members.kind();
        out.text(|text| {
            let _ = writeln!(text, "{name} {kind}");
            words.iter().for_each(|word| _ = writeln!(text, "  {word}"));
        });
        out.value(|| json!({ "name": name, "kind": kind, "members": words }));
        Ok(())
    }))
}

/// A session, for people and programs.
struct Row {
    ends: [(IpAddr, u16); 2],
    protocol: u8,
    session: Session,
    /// Side of the end that began it.
    origin: usize,
    left: u64,
    age: u64,
}

/// Entries of tables that a thread looks at in a turn.
const SLICE: usize = 2048;

/// The sessions of a thread, and the places of the walks over its tables.
#[derive(Default)]
struct OfThread {
    sessions: usize,
    half_open: usize,
    rows: Vec<Row>,
    places: [u32; 2],
}

impl OfThread {
    /// Adds sessions of a table as far as the budget goes. Returns true if it is spent.
    fn add<A: Address>(
        &mut self,
        table: usize,
        flows: &Flows<A>,
        (filter, now): (&Filter, u64),
        (most, budget): (usize, &mut usize),
    ) -> bool {
        while self.rows.len() < most
            && let Some(at) = flows.walk(&mut self.places[table], budget)
        {
            let meant = flows.entry(at).filter(|(key, session)| filter.takes(key, session));
            let Some((key, session)) = meant else { continue };
            let record = Record::of_session(crate::record::Happened::Created, key, session, now);
            self.rows.push(Row {
                ends: record.ends,
                protocol: key.protocol,
                session: *session,
                origin: usize::from(session.origin & 1),
                left: flows.seconds_left(at, now),
                age: record.seconds.into(),
            });
        }
        *budget == 0
    }
}

/// `show firewall sessions`.
pub fn sessions(w: &World, m: &Matches) -> Result<Output> {
    let config = w.get::<Firewall>().running();
    let filter = Filter::read(m, &config)?;
    let most = m.opt::<u32>("most")?.map_or(MOST, |most| most as usize);
    let (all, clock) = (w.get::<AllSessions>(), w.clock.clone());
    let replies = w.query_in_parts(move |rt, of_thread: &mut OfThread| {
        let (thread, turn) = (rt.thread(), rt.reading());
        let Some(sessions) = all.of(thread, &turn) else { return false };
        of_thread.sessions = sessions.ip4.count() + sessions.ip6.count();
        of_thread.half_open = sessions.ip4.half_open() + sessions.ip6.half_open();
        let (mut budget, of) = (SLICE, (&filter, clock.now()));
        of_thread.add(0, &sessions.ip4, of, (most, &mut budget))
            || of_thread.add(1, &sessions.ip6, of, (most, &mut budget))
    });
    let interfaces = w.get::<Interfaces>();
    Ok(replies.then(move |threads| {
        let threads: Vec<_> = threads.into_iter().map(Option::unwrap_or_default).collect();
        let total: usize = threads.iter().map(|thread| thread.sessions).sum();
        let half_open: usize = threads.iter().map(|thread| thread.half_open).sum();
        let mut text = format!("{total} sessions, {half_open} half-open TCP\n");
        let mut rows = Vec::new();
        for (at, thread) in threads.iter().enumerate() {
            for row in &thread.rows {
                session_text(&mut text, row, &config);
                rows.push(session_value(row, at, &config, &interfaces));
            }
        }
        let value = json!({ "total": total, "half_open": half_open, "sessions": rows });
        Ok(Output::both(text, value))
    }))
}

fn session_text(text: &mut String, row: &Row, config: &Config) {
    let [(source, from), (destination, to)] = row.ends;
    let [out, back] = row.session.first.zones.map(|zone| config.zone_name(zone));
    let counts = row.session.counts;
    let ((packets, bytes), (answers, answered)) = (counts[row.origin], counts[1 - row.origin]);
    let _ = write!(
        text,
        "{} {source} {from} -> {destination} {to} {out} to {back} {}, {packets} packets {bytes} bytes, \
         {answers} packets {answered} bytes back, age {} s, ends in {} s",
        Protocol(row.protocol),
        row.session.word(),
        row.age,
        row.left
    );
    if let Some((number, _)) = config.rule_of(row.session.rule).and_then(|(_, rule)| rule) {
        let _ = write!(text, ", rule {number}");
    }
    text.push('\n');
}

fn session_value(row: &Row, thread: usize, config: &Config, interfaces: &Interfaces) -> Value {
    let [(source, from), (destination, to)] = row.ends;
    let zones = row.session.first.zones.map(|zone| config.zone_name(zone));
    let rule = config.rule_of(row.session.rule).and_then(|(_, rule)| rule);
    let counts = row.session.counts;
    let ((packets, bytes), (answers, answered)) = (counts[row.origin], counts[1 - row.origin]);
    let name = |at: usize| match zones[at] {
        SELF_NAME => Value::Null,
        _ => interfaces.name(SwIfIndex(row.session.first.interfaces[at])).into(),
    };
    json!({
        "protocol": row.protocol,
        "source": source, "source_port": from,
        "destination": destination, "destination_port": to,
        "from": zones[0], "to": zones[1],
        "in": name(0), "out": name(1),
        "state": row.session.word(),
        "rule": rule.map(|(number, _)| number),
        "rule_name": rule.and_then(|(_, rule)| rule.name.clone()),
        "packets": packets, "bytes": bytes,
        "packets_back": answers, "bytes_back": answered,
        "age_s": row.age, "seconds_left": row.left,
        "thread": thread,
    })
}

/// Sessions of a thread that were ended, and the places of the walks over its tables.
#[derive(Default)]
struct Cleared {
    sessions: usize,
    places: [u32; 2],
}

/// `clear firewall sessions`.
pub fn clear_sessions(w: &World, m: &Matches) -> Result<Output> {
    let filter = Filter::read(m, &w.get::<Firewall>().running())?;
    let node = |name| w.node(name);
    let nodes = node(name_of::<FirewallNode<Ip4, false>>())
        .zip(node(name_of::<FirewallNode<Ip6, false>>()));
    let clock = w.clock.clone();
    let replies = w.query_in_parts(move |rt, cleared: &mut Cleared| {
        let Some((ip4, ip6)) = nodes else { return false };
        let (mut budget, now) = (SLICE, clock.now());
        let [place4, place6] = &mut cleared.places;
        cleared.sessions +=
            FirewallNode::<Ip4, false>::clear(rt, &filter, (ip4, now), (place4, &mut budget));
        cleared.sessions +=
            FirewallNode::<Ip6, false>::clear(rt, &filter, (ip6, now), (place6, &mut budget));
        budget == 0
    });
    Ok(replies.then(|threads| {
        if threads.iter().any(Option::is_none) {
            let why = "a thread hasn't answered: its sessions may still be there";
            return Err(Error::failed(why).retval(retval::UNSPECIFIED));
        }
        let n: usize = threads.into_iter().flatten().map(|cleared| cleared.sessions).sum();
        Ok(Output::both(format!("{n} sessions cleared\n"), json!({ "cleared": n })))
    }))
}

/// `show firewall log`.
pub fn log(w: &World, m: &Matches) -> Result<Output> {
    let logs = w.get::<Logs>();
    logs.take_all(w);
    let last = m.opt::<u32>("last")?.map_or(LAST, |last| last as usize);
    let on = |on: bool| if on { "on" } else { "off" };
    let local = logs.local.load(Ordering::Relaxed);
    let no_policy = logs.records.no_policy.load(Ordering::Relaxed);
    let server = logs.server.get().map(|server| server.to_string());
    let (sent, unsent) =
        (logs.server.sent.load(Ordering::Relaxed), logs.server.unsent.load(Ordering::Relaxed));
    let lost = logs.records.rings.lost();
    let entries = logs.last(last);
    let mut text = format!(
        "server {}, sent {sent}, not sent {unsent}; local {}; no-policy {}; lost {lost}\n",
        server.as_deref().unwrap_or("none"),
        on(local),
        on(no_policy)
    );
    for entry in &entries {
        let _ = writeln!(text, "{} {}", Date::from(entry.at).iso(), message(entry));
    }
    let rows: Vec<_> = entries.iter().map(entry_value).collect();
    let value = json!({
        "server": server, "sent": sent, "not_sent": unsent,
        "local": local, "no_policy": no_policy, "lost": lost, "records": rows,
    });
    Ok(Output::both(text, value))
}

fn entry_value(entry: &Entry) -> Value {
    let record = &entry.record;
    let [(source, from), (destination, to)] = record.ends;
    json!({
        "at": format!("{}Z", Date::from(entry.at).iso()),
        "event": event(record.happened),
        "reason": reason(record.happened),
        "protocol": record.protocol,
        "source": source, "source_port": from,
        "destination": destination, "destination_port": to,
        "from": entry.zones[0], "to": entry.zones[1],
        "rule": entry.rule.as_ref().map(|(number, _)| number),
        "rule_name": entry.rule.as_ref().and_then(|(_, name)| name.clone()),
    })
}

/// `show firewall settings`.
pub fn settings(w: &World, _: &Matches) -> Result<Output> {
    let settings = w.get::<Settings>();
    let mut table = Table::new().left("Setting").right("Value");
    for (word, timer) in Timer::ALL {
        table.row([format!("timeout {word}").into(), settings.seconds(*timer).into()]);
    }
    for (word, limit) in Limit::ALL {
        table.row([format!("limit {word}").into(), settings.limit(*limit).into()]);
    }
    Ok(table.into())
}

/// The word of an action, in the past.
pub const fn done(action: Action) -> &'static str {
    match action {
        Action::Accept => "accepted",
        Action::Drop => "dropped",
        Action::Reject => "rejected",
    }
}

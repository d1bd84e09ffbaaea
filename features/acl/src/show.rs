// SPDX-License-Identifier: Apache-2.0
//! The `show` commands.

use crate::control::{Acl, Acls, Context, Lists};
use crate::list::{Direction, List};
use crate::rule::{Networks, Rule, Upper};
use crate::session::{AllSessions, Flows, Session};
use crate::settings::{Settings, Timeout};
use crate::switched::{Whitelist, Whitelists};
use cli::{Error, Matches, Output, Result, Writer, retval};
use graph::{SwIfIndex, World};
use net::Interfaces;
use net::args::given_interface;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::Address;

/// Sessions of a thread that are shown at most, without another number.
const MOST: usize = 100;

/// Where an ACL is in use.
fn users(w: &World, number: u32) -> [Vec<SwIfIndex>; 2] {
    let all = w.get::<Acls>().interfaces();
    let of = |direction: Direction| {
        let uses = |lists: &Lists| lists[direction as usize].contains(&number);
        all.iter().filter(|(_, lists)| uses(lists)).map(|(sw_if, _)| *sw_if).collect()
    };
    Direction::BOTH.map(of)
}

/// As the saved line has it, behind its IP version.
fn rule_text(rule: &Rule) -> String {
    format!("ipv{} {rule}", if rule.networks.is_v6() { 6 } else { 4 })
}

fn rule_value(rule: &Rule) -> Value {
    let Upper { protocol, source, destination, flags_mask, flags } = rule.upper;
    let (from, to) = match rule.networks {
        Networks::Ip4(from, to) => (from.to_string(), to.to_string()),
        Networks::Ip6(from, to) => (from.to_string(), to.to_string()),
    };
    json!({
        "action": rule.action.name(),
        "source": from,
        "destination": to,
        "protocol": protocol,
        "source_ports": [source.first, source.last],
        "destination_ports": [destination.first, destination.last],
        "tcp_flags": flags,
        "tcp_flags_mask": flags_mask,
    })
}

/// `show acl-plugin acl`.
pub fn acls(w: &World, m: &Matches) -> Result<Output> {
    let acls = w.get::<Acls>();
    let all = match m.opt("index")? {
        Some(one) => {
            let acl = acls.get(one).ok_or_else(|| crate::control::no_acl(one));
            vec![(one, acl.map_err(|e| e.at(m.span("index")))?)]
        }
        None => acls.list(),
    };
    Ok(Output::list(all, |w: &World, (number, acl): (u32, Acl), out: &mut Writer| {
        let users = users(w, number);
        out.text(|text| {
            let count = acl.rules.len();
            let _ = writeln!(text, "acl-index {number} count {count} tag {{{}}}", acl.tag);
            for (at, rule) in acl.rules.iter().enumerate() {
                let _ = writeln!(text, "{at:9}: {}", rule_text(rule));
            }
            for (word, users) in ["inbound", "outbound"].into_iter().zip(&users) {
                if !users.is_empty() {
                    let users: Vec<_> = users.iter().map(ToString::to_string).collect();
                    let _ = writeln!(text, "  applied {word} on sw_if_index: {}", users.join(", "));
                }
            }
        });
        out.value(|| {
            let [input, output] = &users;
            let names = |all: &[SwIfIndex]| -> Vec<String> {
                all.iter().map(|sw_if| w.get::<Interfaces>().name(*sw_if)).collect()
            };
            json!({
                "index": number,
                "tag": acl.tag,
                "rules": acl.rules.iter().map(rule_value).collect::<Vec<_>>(),
                "input": names(input),
                "output": names(output),
            })
        });
        Ok(())
    }))
}

/// `show acl-plugin interface`.
pub fn interfaces(w: &World, m: &Matches) -> Result<Output> {
    let only = m.opt::<u32>("index")?.map(SwIfIndex);
    if let Some(only) = only {
        w.get::<Interfaces>().check(only).map_err(|e| e.at(m.span("index")))?;
    }
    let (rules, detail) = (m.flag("acl"), m.flag("detail"));
    let indices = w.get::<Interfaces>().indices();
    Ok(Output::list(indices, move |w: &World, sw_if: SwIfIndex, out: &mut Writer| {
        let acls = w.get::<Acls>();
        let (lists, whitelist) = (acls.lists_of(sw_if), w.get::<Whitelists>().get(sw_if));
        let is_used = lists != Lists::default() || whitelist != Whitelist::default();
        if only.is_some_and(|only| only != sw_if) || only.is_none() && !is_used {
            return Ok(());
        }
        let name = w.get::<Interfaces>().name(sw_if);
        out.text(|text| {
            let _ = writeln!(text, "sw_if_index {sw_if} ({name}):");
            for direction in Direction::BOTH {
                let at = direction as usize;
                let word = direction.name();
                if !lists[at].is_empty() {
                    let list: Vec<_> = lists[at].iter().map(ToString::to_string).collect();
                    let _ = writeln!(text, "  {word} acl(s): {}", list.join(", "));
                }
                if !whitelist[at].is_empty() {
                    let types: Vec<_> =
                        whitelist[at].iter().map(|kind| format!("{kind:04x}")).collect();
                    let _ = writeln!(text, "  {word} etype whitelist: {}", types.join(" "));
                }
                for number in lists[at].iter().filter(|_| rules || detail) {
                    let rules = acls.get(*number).map(|acl| acl.rules);
                    for (at, rule) in rules.iter().flat_map(|rules| rules.iter()).enumerate() {
                        let _ = writeln!(text, "    acl {number} rule {at}: {}", rule_text(rule));
                    }
                }
            }
        });
        out.value(|| {
            let [input, output] = &lists;
            let [input_types, output_types] = &whitelist;
            json!({
                "interface": name,
                "sw_if_index": sw_if.0,
                "input": input,
                "output": output,
                "input_ethertypes": input_types,
                "output_ethertypes": output_types,
            })
        });
        Ok(())
    }))
}

/// `show acl-plugin tables`, `show acl-plugin memory`.
pub fn tables(w: &World, _: &Matches) -> Result<Output> {
    let table = cli::Table::new().left("ACLs").right("Rules").right("Bytes").right("Sessions");
    let all = w.get::<Acls>().compiled();
    Ok(table.list(all, |_: &World, (acls, list): (Vec<u32>, Arc<List>), out: &mut Writer| {
        let acls: Vec<_> = acls.iter().map(ToString::to_string).collect();
        let makes = if list.reflects() { "yes" } else { "no" };
        out.row([acls.join(",").into(), list.len().into(), list.memory().into(), makes.into()]);
        Ok(())
    }))
}

/// `show acl-plugin lookup context`.
pub fn contexts(w: &World, m: &Matches) -> Result<Output> {
    let only = m.opt::<u32>("index")?;
    let table = cli::Table::new().right("Context").left("User").right("Object").left("ACLs");
    let all = w.get::<Acls>().contexts();
    Ok(table.list(all, move |_: &World, (number, of): (u32, Context), out: &mut Writer| {
        if only.is_none_or(|only| only == number) {
            let acls: Vec<_> = of.acls.iter().map(|(acl, _)| acl.to_string()).collect();
            let object = of.purpose.map(|number| number.to_string()).join(" ");
            out.row([number.into(), of.user.into(), object.into(), acls.join(",").into()]);
        }
        Ok(())
    }))
}

/// `show acl-plugin lookup user`.
pub fn context_users(w: &World, _: &Matches) -> Result<Output> {
    let mut users: BTreeMap<&'static str, usize> = BTreeMap::new();
    for (_, context) in w.get::<Acls>().contexts() {
        *users.entry(context.user).or_default() += 1;
    }
    let table = cli::Table::new().left("User").right("Contexts");
    let write = |_: &World, (user, n): (&'static str, usize), out: &mut Writer| {
        out.row([user.into(), n.into()]);
        Ok(())
    };
    Ok(table.list(users.into_iter().collect::<Vec<_>>(), write))
}

/// A session, for people and programs.
struct Row {
    near: (IpAddr, u16),
    far: (IpAddr, u16),
    sw_if: u32,
    protocol: u8,
    session: Session,
    seconds: u64,
}

/// Entries of tables that a thread looks at in a turn.
const SLICE: usize = 2048;

/// The sessions of a thread, and the places of the walks over its tables.
#[derive(Default)]
struct OfThread {
    added: u64,
    deleted: u64,
    rows: Vec<Row>,
    places: [u32; 2],
}

impl OfThread {
    /// Adds sessions of a table as far as the budget goes. Returns true if it is spent.
    fn add<A: Address>(
        &mut self,
        table: usize,
        flows: &Flows<A>,
        now: u64,
        (most, budget): (usize, &mut usize),
    ) -> bool {
        while self.rows.len() < most
            && let Some(at) = flows.walk(&mut self.places[table], budget)
        {
            let Some((key, session, seconds)) = flows.get(at, now) else { continue };
            self.rows.push(Row {
                near: (key.near().0.into(), key.near().1),
                far: (key.far().0.into(), key.far().1),
                sw_if: key.sw_if,
                protocol: key.protocol,
                session,
                seconds,
            });
        }
        *budget == 0
    }
}

/// `show acl-plugin sessions`.
pub fn sessions(w: &World, m: &Matches) -> Result<Output> {
    let most = m.opt::<u32>("most")?.map_or(MOST, |most| most as usize);
    let (all, clock, settings) = (w.get::<AllSessions>(), w.clock.clone(), w.get::<Settings>());
    let interfaces = w.get::<Interfaces>();
    let replies = w.query_in_parts(move |rt, of_thread: &mut OfThread| {
        let (thread, turn) = (rt.thread(), rt.reading());
        let Some(sessions) = all.of(thread, &turn) else { return false };
        let (mut budget, now) = (SLICE, clock.now());
        let ((added4, deleted4), (added6, deleted6)) =
            (sessions.ip4.totals(), sessions.ip6.totals());
        (of_thread.added, of_thread.deleted) = (added4 + added6, deleted4 + deleted6);
        of_thread.add(0, &sessions.ip4, now, (most, &mut budget))
            || of_thread.add(1, &sessions.ip6, now, (most, &mut budget))
    });
    Ok(replies.then(move |threads| {
        let threads: Vec<_> = threads.into_iter().map(Option::unwrap_or_default).collect();
        let added: u64 = threads.iter().map(|thread| thread.added).sum();
        let deleted: u64 = threads.iter().map(|thread| thread.deleted).sum();
        let mut text = format!("Sessions total: add {added} - del {deleted} = {}\n", added - deleted);
        let timeouts = Timeout::ALL.map(|timeout| (timeout, settings.timeout(timeout)));
        for (timeout, seconds) in timeouts {
            let _ = writeln!(text, "Session timeout {}: {seconds} s", timeout.words());
        }
        let limit = settings.most_sessions.load(Ordering::Relaxed);
        let _ = writeln!(text, "Sessions at most: {limit}");
        let mut rows = Vec::new();
        for (at, thread) in threads.iter().enumerate() {
            let now = thread.added - thread.deleted;
            let _ = writeln!(text, "Thread {at}: {now} sessions");
            for row in &thread.rows {
                let name = interfaces.name(SwIfIndex(row.sw_if));
                let kind = row.session.timeout().map_or("", Timeout::words);
                let by = row.session.made_by().name();
                let ((near, from), (far, to)) = (row.near, row.far);
                let _ = writeln!(
                    text,
                    "  {name} protocol {} {near} {from} <-> {far} {to} made by {by}, acl {}, {kind}, ends in {} s",
                    row.protocol, row.session.acl, row.seconds
                );
                rows.push(json!({
                    "interface": name, "protocol": row.protocol,
                    "near": near, "near_port": from, "far": far, "far_port": to,
                    "made_by": by, "acl": row.session.acl, "timeout": kind, "seconds_left": row.seconds,
                    "thread": at,
                }));
            }
        }
        let value = json!({
            "added": added, "deleted": deleted, "sessions_limit": limit,
            "timeouts_seconds": timeouts.map(|(_, seconds)| seconds), "sessions": rows,
        });
        Ok(Output::both(text, value))
    }))
}

/// `clear acl-plugin sessions`.
pub fn clear_sessions(w: &World, m: &Matches) -> Result<Output> {
    let only = given_interface(w, m, "interface")?.map(|sw_if| sw_if.0);
    let all = w.get::<AllSessions>();
    let replies = w.query_in_parts(move |rt, places: &mut [u32; 2]| {
        let (thread, turn) = (rt.thread(), rt.reading());
        let Some(mut sessions) = all.of(thread, &turn) else { return false };
        let mut budget = SLICE;
        let is_meant = |sw_if| only.is_none_or(|only| only == sw_if);
        sessions.ip4.clear(is_meant, &mut places[0], &mut budget)
            || sessions.ip6.clear(is_meant, &mut places[1], &mut budget)
    });
    Ok(replies.then(|threads| {
        if threads.iter().any(Option::is_none) {
            let why = "a thread hasn't answered: its sessions may still be there";
            return Err(Error::failed(why).retval(retval::UNSPECIFIED));
        }
        Ok(Output::empty())
    }))
}

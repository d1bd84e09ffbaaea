// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{Attachment, Policies, Policy};
use cli::{Command, Matches, Output, Result, Table, Writer};
use fib::paths;
use graph::{SwIfIndex, World};
use net::args::{given_interface, interface};
use net::{Interfaces, Link, Path, TableIndex};
use serde_json::json;
use std::fmt::Write;
use wire::{Ip4, Ip6};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make a policy or add paths to it, or take paths from it: with the last it is deleted
    "abf policy", concat!(
            "[add|del] id <id:u32> acl <acl:u32> [ip4|ip6] [{",
            fib::path_usage!(),
            "}...]"
        ) => policy;
    /// Let packets that an interface receives take the paths of a policy, or end that
    "abf attach",
    "{ip4|ip6} [del] policy <policy:u32> [priority <priority:u32>] <interface:interface>" => attach;
    /// Policies and their paths
    "show abf policy", "[<id:u32>]" => show_policies;
    /// Policies of interfaces
    "show abf attach", "[<interface:interface>]" => show_attached;
};

fn policy(w: &World, m: &Matches) -> Result<()> {
    let (id, acl) = (m.req("id")?, m.req("acl")?);
    let v6 = paths::are_v6(m);
    let paths = paths::read_all(w, m, v6)?;
    let policies = w.get::<Policies>();
    if m.flag("del") {
        // Without a path, the whole policy.
        let all = || {
            let there = policies.list().into_iter().find(|(number, _)| *number == id);
            there.map(|(_, policy)| policy.paths).unwrap_or_default()
        };
        let paths = if paths.is_empty() { all() } else { paths };
        policies.remove(w, id, &paths).map_err(|e| e.at(m.span("id")))?;
    } else {
        net::notes::own_next_hops(w, m, &paths);
        let link = if v6 { Link::IP6 } else { Link::IP4 };
        policies.add(w, id, acl, (link, paths)).map_err(|e| e.at(m.span("acl")))?;
    }
    Ok(())
}

fn attach(w: &World, m: &Matches) -> Result<()> {
    let sw_if = interface(w, m, "interface")?;
    let (v6, number, policies) = (m.flag("ip6"), m.req("policy")?, w.get::<Policies>());
    let done = if m.flag("del") {
        policies.detach(w, sw_if, v6, number)
    } else {
        let priority = m.opt("priority")?.unwrap_or(0);
        policies.attach(w, sw_if, v6, Attachment { priority, policy: number })
    };
    done.map_err(|e| e.at(m.span("policy")))?;
    Ok(())
}

/// A policy's paths, with their state where it is attached.
fn describe(w: &World, number: u32, policy: &Policy) -> Vec<String> {
    let v6 = policy.link == Link::IP6;
    let tracked = w.get::<Policies>().tracked(number, v6);
    if let Some(info) = tracked.and_then(|tracked| tracked.paths(w)) {
        let all = info.paths.iter().zip(&info.states);
        return all
            .map(|((path, _), state)| paths::describe(w, policy.link, path, *state))
            .collect();
    }
    let (interfaces, ids) = (w.get::<Interfaces>(), paths::Ids::new(w));
    let words = |path: &Path| {
        if v6 {
            paths::words::<Ip6>(&interfaces, &ids, TableIndex::DEFAULT, path)
        } else {
            paths::words::<Ip4>(&interfaces, &ids, TableIndex::DEFAULT, path)
        }
    };
    policy.paths.iter().map(words).collect()
}

fn show_policies(w: &World, m: &Matches) -> Result<Output> {
    let only = m.opt::<u32>("id")?;
    let all = w.get::<Policies>().list().into_iter().enumerate();
    let chosen: Vec<_> =
        all.filter(|(_, (number, _))| only.is_none_or(|only| only == *number)).collect();
    Ok(Output::list(chosen, |w: &World, (at, (number, policy)), out: &mut Writer| {
        let paths = describe(w, number, &policy);
        out.text(|text| {
            // Writing to a String can't fail.
            let _ = writeln!(text, "abf:[{at}]: policy:{number} acl:{}", policy.acl);
            paths.iter().for_each(|path| _ = writeln!(text, "  {path}"));
        });
        out.value(|| json!({ "policy": number, "acl": policy.acl, "paths": paths }));
        Ok(())
    }))
}

fn show_attached(w: &World, m: &Matches) -> Result<Output> {
    let only = given_interface(w, m, "interface")?;
    let table = Table::new().left("Interface").left("Protocol").right("Policy").right("Priority");
    let all = w.get::<Policies>().attachments();
    Ok(table.list(all, move |w: &World, item, out: &mut Writer| {
        let (sw_if, v6, at): (SwIfIndex, bool, Attachment) = item;
        if only.is_none_or(|only| only == sw_if) {
            let name = w.get::<Interfaces>().name(sw_if);
            let protocol = if v6 { "ip6" } else { "ip4" };
            out.row([name.into(), protocol.into(), at.policy.into(), at.priority.into()]);
        }
        Ok(())
    }))
}

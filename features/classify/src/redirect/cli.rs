// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use super::control::{Redirect, Redirects};
use crate::words::{self, match_usage, to_hex};
use cli::{Command, Error, Matches, Output, Result, Writer};
use fib::paths;
use graph::{Phase, RunningConfig, Script, World};
use net::{Interfaces, Path, TableIndex};
use serde_json::json;
use std::fmt::Write;
use wire::{Ip4, Ip6};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Send packets of a classifier session by paths of their own, or end that
    "ip session redirect", concat!(
            "[add|del] [punt] [ip4|ip6] table <table:u32> [",
            match_usage!(),
            "] [opaque-index <opaque:u32>] [{",
            fib::path_usage!(),
            "}...]"
        ) => redirect;
    /// Classifier sessions whose packets take paths of their own
    "show ip session redirect", "[all | table <table:u32>]" => show;
};

fn redirect(w: &World, m: &Matches) -> Result<()> {
    let table = m.req("table")?;
    let matched = words::matched(m)?
        .ok_or_else(|| Error::usage("expected the session: `match …' behind the table"))?;
    let redirects = w.get::<Redirects>();
    if m.flag("del") {
        redirects.delete(w, table, &matched).map_err(|e| e.at(m.span("table")))?;
        return Ok(());
    }
    let v6 = paths::are_v6(m);
    let paths = paths::read_all(w, m, v6)?;
    net::notes::own_next_hops(w, m, &paths);
    let opaque = m.opt("opaque")?.unwrap_or(u32::MAX);
    let redirect = Redirect { opaque, is_punt: m.flag("punt"), v6, matched, paths };
    redirects.set(w, table, redirect).map_err(|e| e.at(m.span("table")))?;
    Ok(())
}

/// The paths of a redirect, as commands take them.
pub fn path_words(w: &World, redirect: &Redirect) -> Vec<String> {
    let (interfaces, ids) = (w.get::<Interfaces>(), paths::Ids::new(w));
    let words = |path: &Path| match redirect.v6 {
        true => paths::words::<Ip6>(&interfaces, &ids, TableIndex::DEFAULT, path),
        false => paths::words::<Ip4>(&interfaces, &ids, TableIndex::DEFAULT, path),
    };
    redirect.paths.iter().map(words).collect()
}

fn show(w: &World, m: &Matches) -> Result<Output> {
    let only = m.opt::<u32>("table")?;
    let mut all = w.get::<Redirects>().list();
    all.retain(|(table, _)| only.is_none_or(|only| only == *table));
    let all = all.into_iter().enumerate();
    Ok(Output::list(all, |w: &World, (at, (table, redirect)), out: &mut Writer| {
        let paths = path_words(w, &redirect);
        let kind = if redirect.is_punt { "punt" } else { "acl" };
        let version = if redirect.v6 { "ip6" } else { "ip4" };
        let matched = to_hex(&redirect.matched);
        out.text(|text| {
            let opaque = redirect.opaque as i32;
            // Writing to a String can't fail.
            let _ = writeln!(
                text,
                "[{at}] table {table} {kind} {version} opaque_index {opaque} match {matched}"
            );
            paths.iter().for_each(|path| _ = writeln!(text, "  {path}"));
        });
        out.value(|| {
            json!({
                "table": table, "kind": kind, "protocol": version, "opaque_index": redirect.opaque,
                "match": matched, "paths": paths,
            })
        });
        Ok(())
    }))
}

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "session redirects",
    "create loopback interface
     set interface ip address loop0 10.0.0.1/24
     classify table mask l3 ip4 dst
     classify table mask l3 ip6 dst
     ip session redirect add table 0 match l3 ip4 dst 10.9.9.1 via 10.0.0.2 loop0
     ip session redirect table 0 match l3 ip4 dst 10.9.9.2 opaque-index 7 via 10.0.0.2 weight 2 via 10.0.0.3
     ip session redirect punt table 0 match l3 ip4 dst 10.9.9.3 via drop
     ip session redirect ip6 table 1 match l3 ip6 dst 2001:db8::1 via 2001:db8:1::2 loop0
     ip session redirect add table 0 match l3 ip4 dst 10.9.9.4 via 2001:db8:1::2 loop0
     ip session redirect del table 0 match l3 ip4 dst 10.9.9.1",
)];

/// Writes a line for each redirect.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.list(Phase::FEATURES, world.get::<Redirects>().list(), |world, item, lines| {
        let (table, redirect) = item;
        let kind = if redirect.is_punt { " punt" } else { "" };
        let version = if redirect.v6 { "ip6" } else { "ip4" };
        let of = format!("table {table} match hex {}", to_hex(&redirect.matched));
        let opaque = match redirect.opaque {
            u32::MAX => String::new(),
            opaque => format!(" opaque-index {opaque}"),
        };
        let paths = path_words(world, &redirect).join(" ");
        lines.push(
            format!("ip session redirect add{kind} {version} {of}{opaque} {paths}"),
            format!("ip session redirect del {of}"),
        );
    });
}

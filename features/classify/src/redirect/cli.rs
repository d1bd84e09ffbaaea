// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use super::control::{Redirect, Redirects};
use crate::words::{self, match_usage, to_hex};
use cli::{Command, Error, Matches, Output, Result, Writer};
use fib::paths;
use graph::World;
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

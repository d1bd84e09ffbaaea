// SPDX-License-Identifier: Apache-2.0
//! `show node …`: what is known of a node.

use crate::cli::named;
use cli::{Cell, Error, Matches, Output, Table};
use graph::{NodeInfo, World, counters};
use serde_json::json;
use simd::Level;
use std::fmt::Write;

fn kind(node: &NodeInfo) -> &'static str {
    match (node.missing, node.input) {
        (true, _) => "missing",
        (_, true) => "input",
        _ => "internal",
    }
}

pub fn show(world: &World, m: &Matches) -> Result<Output, Error> {
    match named(world, m, "node")? {
        Some(node) => Ok(one(world, &node)),
        None => Ok(all(world)),
    }
}

fn all(world: &World) -> Output {
    let mut table =
        Table::new().right("Index").left("Node").min_width(32).left("Type").left("Variant").right("Next");
    for node in world.nodes() {
        let variant = node.level.map(Cell::show);
        table.row([
            node.index.0.into(),
            (&*node.name).into(),
            kind(&node).into(),
            variant.into(),
            node.next.len().into(),
        ]);
    }
    table.into()
}

/// What the instruction sets are.
fn about(level: Level) -> &'static str {
    match level {
        Level::V1 => "x86-64-v1, the baseline",
        Level::V3 => "x86-64-v3: AVX2",
        Level::V4 => "x86-64-v4: AVX-512",
    }
}

fn one(world: &World, node: &NodeInfo) -> Output {
    let all = world.nodes();
    let index = |name: &str| all.iter().find(|n| *n.name == *name).map_or(0, |n| n.index.0);
    let previous: Vec<_> =
        all.iter().filter(|n| n.next.contains(&node.name)).map(|n| n.name.clone()).collect();
    let errors = world.stats.simple(counters::ERRORS);
    let counted: Vec<_> = world
        .reasons()
        .into_iter()
        .enumerate()
        .filter(|(_, r)| r.node == node.name)
        .map(|(i, r)| (r, errors.sum(i)))
        .collect();

    let mut text = format!("node {}, type {}, index {}\n", node.name, kind(node), node.index);
    if let Some(active) = node.level {
        text += "  node function variants:\n    Name  Active  Description\n";
        for level in Level::ALL.into_iter().filter(|level| level.is_supported()) {
            let mark = if level == active { "yes" } else { "" };
            // Writing to a String can't fail.
            let _ = writeln!(text, "    {level:<4}  {mark:<6}  {}", about(level));
        }
    }
    if !node.next.is_empty() {
        text += "  next nodes:\n    node-index  Node\n";
        for next in &node.next {
            let _ = writeln!(text, "    {:>10}  {next}", index(next));
        }
    }
    if !previous.is_empty() {
        let list: Vec<_> = previous.iter().map(|name| format!("{name} ({})", index(name))).collect();
        let _ = writeln!(text, "  known previous nodes:\n    {}", list.join(", "));
    }
    if !counted.is_empty() {
        text += "  counters:\n         Count  Reason\n";
        for (reason, count) in &counted {
            let _ = writeln!(text, "    {count:>10}  {} ({})", reason.text, reason.reason);
        }
    }
    let counters = counted
        .iter()
        .map(|(r, n)| json!({ "reason": r.reason, "text": r.text, "drop": r.drop, "count": n }));
    let names = |list: &[std::sync::Arc<str>]| list.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let json = json!({
        "index": node.index.0,
        "name": &*node.name,
        "type": kind(node),
        "variant": node.level.map(Level::name),
        "next": names(&node.next),
        "previous": names(&previous),
        "counters": counters.collect::<Vec<_>>(),
    });
    Output::both(text, json)
}

pub fn variants(world: &World, _: &Matches) -> Result<Output, Error> {
    let supported: Vec<_> = Level::ALL.into_iter().filter(|l| l.is_supported()).map(Level::name).collect();
    let mut table = Table::new().left("Node").min_width(32).left("Variant").left("Available");
    for node in world.nodes() {
        if let Some(level) = node.level {
            let available = Cell::new(supported.join(" "), supported.clone());
            table.row([(&*node.name).into(), Cell::show(level), available]);
        }
    }
    Ok(table.into())
}

// SPDX-License-Identifier: Apache-2.0
//! `show node …`: what is known of a node.

use crate::control;
use cli::{Cell, Error, Matches, Output, Table, Writer};
use graph::{NodeInfo, Reason, World, counters};
use serde_json::json;
use simd::Level;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

fn kind(node: &NodeInfo) -> &'static str {
    match (node.missing, node.input) {
        (true, _) => "missing",
        (_, true) => "input",
        _ => "internal",
    }
}

/// The node that a command names, by name or by index.
pub fn named(world: &World, m: &Matches, what: &str) -> Result<Option<NodeInfo>, Error> {
    if !m.has(what) {
        return Ok(None);
    }
    control::node(world, m.str(what)).map(Some).map_err(m.at(what))
}

pub fn show(world: &World, m: &Matches) -> Result<Output, Error> {
    match named(world, m, "node")? {
        Some(node) => Ok(one(world, node)),
        None => Ok(all(world)),
    }
}

fn all(world: &World) -> Output {
    let table = Table::new()
        .right("Index")
        .left("Node")
        .min_width(32)
        .left("Type")
        .left("Variant")
        .right("Next");
    table.list(world.node_indices(), |world: &World, index, out: &mut Writer| {
        if let Some(node) = world.node_info(index) {
            let variant = node.level.map(Cell::show);
            out.row([
                node.index.0.into(),
                (&*node.name).into(),
                kind(&node).into(),
                variant.into(),
                node.next.len().into(),
            ]);
        }
        Ok(())
    })
}

fn about(level: Level) -> &'static str {
    match level {
        Level::V1 => "x86-64-v1, the baseline",
        Level::V3 => "x86-64-v3: AVX2",
        Level::V4 => "x86-64-v4: AVX-512",
    }
}

fn one(world: &World, node: NodeInfo) -> Output {
    let errors = world.stats.simple(counters::ERRORS);
    let counted: Vec<_> = world
        .reasons()
        .into_iter()
        .enumerate()
        .filter(|(_, r)| r.node == node.name)
        .map(|(i, r)| (r, errors.sum(i)))
        .collect();
    let items = world.node_indices().map(Some).chain([None]);
    let (mut next, mut previous) = (HashMap::new(), Vec::new());
    Output::record(items, move |world: &World, index, out: &mut Writer| {
        match index.map(|index| world.node_info(index)) {
            Some(Some(other)) => {
                if node.next.contains(&other.name) {
                    next.insert(other.name.clone(), other.index.0);
                }
                if other.next.contains(&node.name) {
                    previous.push((other.name, other.index.0));
                }
            }
            Some(None) => {}
            None => write(&node, &next, &previous, &counted, out),
        }
        Ok(())
    })
}

/// A node with what leads to it and where it leads.
fn write(
    node: &NodeInfo,
    index: &HashMap<Arc<str>, u32>,
    previous: &[(Arc<str>, u32)],
    counted: &[(Reason, u64)],
    out: &mut Writer,
) {
    out.text(|text| {
        writeln!(text, "node {}, type {}, index {}", node.name, kind(node), node.index)?;
        if let Some(active) = node.level {
            text.push_str("  node function variants:\n    Name  Active  Description\n");
            for level in Level::ALL.into_iter().filter(|level| level.is_supported()) {
                let mark = if level == active { "yes" } else { "" };
                writeln!(text, "    {level:<4}  {mark:<6}  {}", about(level))?;
            }
        }
        if !node.next.is_empty() {
            text.push_str("  next nodes:\n    node-index  Node\n");
            for next in &node.next {
                writeln!(text, "    {:>10}  {next}", index.get(next).copied().unwrap_or(0))?;
            }
        }
        if !previous.is_empty() {
            let list: Vec<_> =
                previous.iter().map(|(name, index)| format!("{name} ({index})")).collect();
            writeln!(text, "  known previous nodes:\n    {}", list.join(", "))?;
        }
        if !counted.is_empty() {
            text.push_str("  counters:\n         Count  Reason\n");
            for (reason, count) in counted {
                writeln!(text, "    {count:>10}  {} ({})", reason.text, reason.reason)?;
            }
        }
        std::fmt::Result::Ok(())
    });
    let counters = counted
        .iter()
        .map(|(r, n)| json!({ "reason": r.reason, "text": r.text, "drop": r.drop, "count": n }));
    out.field("index", node.index.0);
    out.field("name", &*node.name);
    out.field("type", kind(node));
    out.field("variant", node.level.map(Level::name));
    out.field("next", node.next.iter().map(|name| name.to_string()).collect::<Vec<_>>());
    out.field("previous", previous.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>());
    out.field("counters", counters.collect::<Vec<_>>());
}

pub fn variants(world: &World, _: &Matches) -> Result<Output, Error> {
    let supported: Vec<_> =
        Level::ALL.into_iter().filter(|l| l.is_supported()).map(Level::name).collect();
    let table = Table::new().left("Node").min_width(32).left("Variant").left("Available");
    Ok(table.list(world.node_indices(), move |world: &World, index, out: &mut Writer| {
        if let Some(node) = world.node_info(index)
            && let Some(level) = node.level
        {
            let available = Cell::new(supported.join(" "), supported.clone());
            out.row([(&*node.name).into(), Cell::show(level), available]);
        }
        Ok(())
    }))
}

// SPDX-License-Identifier: Apache-2.0
//! `show vlib graph` and the picture of it.

use crate::cli::named;
use cli::{Error, Matches, Output};
use graph::{NodeInfo, World};
use serde_json::{Value, json};
use std::fmt::Write;

pub fn table(world: &World, m: &Matches) -> Result<Output, Error> {
    let only = named(world, m, "node")?.map(|n| n.index);
    let all = world.nodes();
    let mut text = format!("{:<36}{:<44}{}\n", "Name", "Next", "Previous");
    let mut json = Vec::new();
    for node in all.iter().filter(|n| only.is_none_or(|only| only == n.index)) {
        let label = |n: &NodeInfo| format!("{} [{}]", n.name, n.index);
        let next: Vec<_> = all.iter().filter(|n| node.next.contains(&n.name)).map(label).collect();
        let previous: Vec<_> = all.iter().filter(|n| n.next.contains(&node.name)).map(|n| &*n.name).collect();
        for i in 0..next.len().max(previous.len()).max(1) {
            let name = if i == 0 { label(node) } else { String::new() };
            let cell = |list: Option<&str>| list.unwrap_or_default().to_string();
            let (next, previous) = (cell(next.get(i).map(String::as_str)), cell(previous.get(i).copied()));
            let line = format!("{name:<35} {next:<43} {previous}");
            // Writing to a String can't fail.
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text.push('\n');
        let next: Vec<_> = node.next.iter().map(|name| name.to_string()).collect();
        json.push(json!({ "name": &*node.name, "index": node.index.0, "next": next, "previous": previous }));
    }
    Ok(Output::both(text, Value::Array(json)))
}

pub fn dot(world: &World, _: &Matches) -> Result<Output, Error> {
    let dot = world.dot();
    Ok(Output::both(dot.clone(), json!({ "dot": dot })))
}

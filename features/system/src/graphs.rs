// SPDX-License-Identifier: Apache-2.0
//! `show vlib graph` and the picture of it.

use crate::node::named;
use buffer::Frame;
use cli::{Error, Matches, Output, Table, Writer};
use graph::{NodeIndex, NodeInfo, World};
use serde_json::json;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// Frames of each thread: one that is in use while its command is answered is one that was
/// forgotten.
pub fn frames(world: &World, _: &Matches) -> Result<Output, Error> {
    let asked = world.query(|rt| rt.frames());
    Ok(asked.then(|threads| {
        let mut table = Table::new()
            .right("Thread")
            .right("Size")
            .right("# Alloc")
            .key("alloc")
            .right("# Free")
            .key("free");
        for (thread, frames) in threads.into_iter().enumerate() {
            let (used, free) = frames.unwrap_or_default();
            table.row([thread.into(), size_of::<Frame>().into(), used.into(), free.into()]);
        }
        Ok(table.into())
    }))
}

pub fn table(world: &World, m: &Matches) -> Result<Output, Error> {
    let only = named(world, m, "name")?.map(|n| n.index);
    let wanted: Vec<&'static str> = KINDS.into_iter().filter(|kind| m.flag(kind)).collect();
    enum Part {
        Read(NodeIndex),
        Head,
        Node(NodeIndex),
    }
    let chosen: Vec<NodeIndex> =
        only.map_or_else(|| world.node_indices().collect(), |only| vec![only]);
    let parts = world.node_indices().map(Part::Read).chain([Part::Head]);
    let parts = parts.chain(chosen.into_iter().map(Part::Node));
    // Read in slices first: what a node follows stands with the others.
    let (mut index, mut previous) = (HashMap::new(), HashMap::<Arc<str>, Vec<Arc<str>>>::new());
    Ok(Output::list(parts, move |world: &World, part, out: &mut Writer| {
        match part {
            Part::Read(i) => {
                let Some(node) = world.node_info(i) else { return Ok(()) };
                index.insert(node.name.clone(), node.index);
                for next in node.next {
                    previous.entry(next).or_default().push(node.name.clone());
                }
            }
            Part::Head => {
                out.text(|text| *text += &format!("{:<36}{:<44}{}\n", "Name", "Next", "Previous"))
            }
            Part::Node(i) => {
                let Some(node) = world.node_info(i) else { return Ok(()) };
                if !wanted.is_empty() && !wanted.iter().any(|kind| is(&node, kind)) {
                    return Ok(());
                }
                let none = Vec::new();
                write(&node, &index, previous.get(&node.name).unwrap_or(&none), out);
            }
        }
        Ok(())
    }))
}

/// Kinds that VPP names; a node of any that was asked for is shown. `show graph`'s usage has the
/// same words.
const KINDS: [&str; 9] = [
    "input",
    "trace_supported",
    "drop",
    "output",
    "punt",
    "handoff",
    "no_free",
    "polling",
    "interrupt",
];

/// Returns true if a node is of a kind that VPP names. Traces start at inputs: from there on a
/// packet's trace goes with it. No node keeps its frame, and it isn't known which node is just
/// changing its mode.
fn is(node: &NodeInfo, kind: &str) -> bool {
    match kind {
        "drop" => node.is_drop(),
        "punt" => node.is_punt(),
        "output" => node.transmits(),
        "handoff" => node.is_handoff(),
        "input" | "trace_supported" => node.input,
        _ => false,
    }
}

fn write(
    node: &NodeInfo,
    index: &HashMap<Arc<str>, NodeIndex>,
    previous: &[Arc<str>],
    out: &mut Writer,
) {
    out.text(|text| {
        let mut next: Vec<_> =
            node.next.iter().filter_map(|name| Some((index.get(name)?, name))).collect();
        next.sort_unstable();
        for i in 0..next.len().max(previous.len()).max(1) {
            let name =
                if i == 0 { format!("{} [{}]", node.name, node.index) } else { String::new() };
            let next =
                next.get(i).map_or_else(String::new, |(index, name)| format!("{name} [{index}]"));
            let previous = previous.get(i).map_or("", |name| name);
            let line = format!("{name:<35} {next:<43} {previous}");
            writeln!(text, "{}", line.trim_end())?;
        }
        writeln!(text)
    });
    out.value(|| {
        let next: Vec<_> = node.next.iter().map(|name| name.to_string()).collect();
        let previous: Vec<_> = previous.iter().map(|name| name.to_string()).collect();
        json!({ "name": &*node.name, "index": node.index.0, "next": next, "previous": previous })
    });
}

pub fn dot(world: &World, _: &Matches) -> Result<Output, Error> {
    let (mut picture, mut lines, mut begun) = (world.picture(), String::new(), false);
    Ok(Output::record_while(move |world: &World, out: &mut Writer| {
        if !std::mem::replace(&mut begun, true) {
            out.string("dot");
        }
        let more = picture.step(world, &mut lines);
        out.text(|text| text.push_str(&lines));
        out.piece(&lines);
        lines.clear();
        Ok(more)
    }))
}

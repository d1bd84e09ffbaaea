// SPDX-License-Identifier: Apache-2.0
//! Tables for eyes, JSON for programs.

use crate::rig::Rig;
use cli::Table;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The generator makes the packets: it isn't part of the path.
const LEFT_OUT: &str = "pg-input";

/// Median and the middle half of a series.
fn median(mut all: Vec<f64>) -> (f64, f64, f64) {
    all.sort_by(f64::total_cmp);
    let at = |part: f64| all[((all.len() - 1) as f64 * part).round() as usize];
    (at(0.5), at(0.25), at(0.75))
}

fn total(rig: &Rig) -> (f64, f64, f64) {
    let sum = |b: &std::collections::BTreeMap<String, f64>| {
        b.iter().filter(|(n, _)| *n != LEFT_OUT).map(|(_, c)| c).sum()
    };
    median(rig.blocks.iter().map(sum).collect())
}

fn node(rig: &Rig, name: &str) -> Option<(f64, f64, f64)> {
    let all: Vec<f64> = rig.blocks.iter().filter_map(|b| b.get(name)).copied().collect();
    (!all.is_empty()).then(|| median(all))
}

pub fn print(runs: &[Rig], smoke: bool) {
    if smoke {
        println!("A smoke run: everything ran; the figures mean nothing.");
    }
    let first = &runs[0];
    println!(
        "TSC clocks per packet, medians of {} blocks, instruction set {}",
        first.blocks.len(),
        first.level()
    );
    let mut table = Table::new()
        .left("Scenario")
        .right("Clocks")
        .right("Middle half")
        .right("Target")
        .right("VPP 26.06")
        .right("VPP tuned")
        .right("Ratio to tuned")
        .right("Allocations");
    for rig in runs {
        let (middle, low, high) = total(rig);
        let s = rig.scenario();
        let peer = |f: fn((f64, f64), f64) -> f64| {
            s.peer.map_or("-".to_string(), |peer| format!("{:.2}", f(peer, middle)))
        };
        table.row([
            s.name.clone().into(),
            format!("{middle:.1}").into(),
            format!("{low:.1}-{high:.1}").into(),
            format!("{:.0}", s.target).into(),
            peer(|(vpp, _), _| vpp).into(),
            peer(|(_, tuned), _| tuned).into(),
            peer(|(_, tuned), ours| ours / tuned).into(),
            rig.allocations().into(),
        ]);
    }
    println!("{}", table.render());
    println!(
        "VPP's figures are of another day on the reference machine; ratios to them are for orientation.\n"
    );
    let names: BTreeSet<&String> = runs.iter().flat_map(|r| &r.blocks).flat_map(|b| b.keys()).collect();
    let mut table = Table::new().left("Node");
    for rig in runs {
        table = table.right(rig.scenario().name.trim_start_matches("ip4-").replace("-vector-", "/"));
    }
    for name in names {
        let cell =
            |rig: &Rig| node(rig, name).map_or(String::new(), |(middle, ..)| format!("{middle:.1}")).into();
        let row: Vec<cli::Cell> = std::iter::once(name.clone().into()).chain(runs.iter().map(cell)).collect();
        table.row(row);
    }
    println!("By node and vector size; {LEFT_OUT} is not in the sums above\n{}", table.render());
}

pub fn json(runs: &[Rig]) -> Value {
    let run = |rig: &Rig| {
        let (middle, low, high) = total(rig);
        let names: BTreeSet<&String> = rig.blocks.iter().flat_map(|b| b.keys()).collect();
        let nodes: serde_json::Map<String, Value> =
            names.into_iter().filter_map(|name| Some((name.clone(), json!(node(rig, name)?.0)))).collect();
        let s = rig.scenario();
        json!({
            "name": s.name, "vector": s.vector, "packets": rig.packets(), "blocks": rig.blocks.len(), "level": rig.level().name(),
            "clocks": middle, "quartiles": [low, high], "target": s.target, "peer": s.peer, "allocations": rig.allocations(), "nodes": nodes,
        })
    };
    json!({ "unit": "TSC clocks per packet", "runs": runs.iter().map(run).collect::<Vec<_>>() })
}

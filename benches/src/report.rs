// SPDX-License-Identifier: Apache-2.0
//! Tables for eyes, JSON for programs.

use crate::rig::{Rig, Run};
use crate::scenario::PROMISES;
use crate::site::Site;
use cli::{Cell, Table};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The generator makes the packets: it isn't part of the path.
const LEFT_OUT: &str = "pg-input";

/// Median and the middle half of a series.
fn median(mut all: Vec<f64>) -> (f64, f64, f64) {
    all.sort_by(f64::total_cmp);
    let at = |part: f64| all[((all.len() - 1) as f64 * part).round() as usize];
    (at(0.5), at(0.25), at(0.75))
}

fn sum(block: &BTreeMap<String, f64>) -> f64 {
    block.iter().filter(|(name, _)| *name != LEFT_OUT).map(|(_, clocks)| clocks).sum()
}

fn total(run: &Run) -> (f64, f64, f64) {
    median(run.blocks.iter().map(sum).collect())
}

fn node(run: &Run, name: &str) -> Option<(f64, f64, f64)> {
    let all: Vec<f64> = run.blocks.iter().filter_map(|b| b.get(name)).copied().collect();
    (!all.is_empty()).then(|| median(all))
}

/// The promises whose scenarios both ran, with the median of the blocks' ratios.
fn promises(runs: &[Run]) -> Vec<(String, f64, f64)> {
    let find = |name: &str| runs.iter().find(|r| r.scenario.name == name);
    PROMISES
        .iter()
        .filter_map(|promise| {
            let (large, small) = (find(promise.large)?, find(promise.small)?);
            let ratios =
                large.blocks.iter().zip(&small.blocks).map(|(l, s)| sum(l) / sum(s)).collect();
            Some((
                format!("{} : {}", promise.large, promise.small),
                median(ratios).0,
                promise.at_most,
            ))
        })
        .collect()
}

pub fn print(rig: &Rig, smoke: bool) {
    if smoke {
        println!("A smoke run: everything ran, with small tables; the figures mean nothing.");
    }
    let runs = &rig.runs;
    println!(
        "TSC clocks per packet, medians of {} blocks, instruction set {}",
        runs[0].blocks.len(),
        rig.sites[0].level()
    );
    let mut table = Table::new()
        .left("Scenario")
        .right("Clocks")
        .right("Middle half")
        .right("Target")
        .right("VPP 26.06")
        .right("Ratio to VPP")
        .right("Allocations");
    for run in runs {
        let (middle, low, high) = total(run);
        let s = &run.scenario;
        let or_none = |value: Option<f64>, digits: usize| {
            value.map_or("-".to_string(), |value| format!("{value:.digits$}"))
        };
        table.row([
            s.name.clone().into(),
            format!("{middle:.1}").into(),
            format!("{low:.1}-{high:.1}").into(),
            or_none(s.target, 0).into(),
            or_none(s.peer, 1).into(),
            or_none(s.peer.map(|peer| middle / peer), 2).into(),
            run.allocations.into(),
        ]);
    }
    println!("{}", table.render());
    println!(
        "VPP's figures (the better of as built and tuned for the processor, always counting by route) are of another day on the reference\nmachine; ratios to them are for orientation.\n"
    );
    print_promises(runs);
    print_loads(&rig.sites);
    print_nodes(runs);
}

fn print_promises(runs: &[Run]) {
    let promises = promises(runs);
    if promises.is_empty() {
        return;
    }
    let mut table = Table::new().left("Ratio").right("Measured").right("Target");
    for (name, ratio, at_most) in promises {
        table.row([name.into(), format!("{ratio:.2}").into(), format!("{at_most:.2}").into()]);
    }
    println!("What the size of a table costs, block by block\n{}", table.render());
}

fn print_loads(sites: &[Site]) {
    let mut table = Table::new()
        .left("Table")
        .right("Routes")
        .right("Loaded in")
        .right("Memory")
        .right("Bytes a route");
    for site in sites.iter().filter(|s| s.load.routes >= 1000) {
        let load = site.load;
        table.row([
            site.table.family.name().into(),
            load.routes.into(),
            format!("{:.0} ms", load.time.as_secs_f64() * 1e3).into(),
            format!("{:.1} MiB", load.bytes as f64 / f64::from(1 << 20)).into(),
            (load.bytes / load.routes as u64).into(),
        ]);
    }
    println!("Filling the tables, route by route\n{}", table.render());
}

fn print_nodes(runs: &[Run]) {
    let names: BTreeSet<&String> =
        runs.iter().flat_map(|r| &r.blocks).flat_map(|b| b.keys()).collect();
    let mut table = Table::new().left("Scenario");
    for name in &names {
        table = table.right(name.to_string());
    }
    for run in runs {
        let cell = |name: &&String| -> Cell {
            node(run, name).map_or(String::new(), |(middle, ..)| format!("{middle:.1}")).into()
        };
        table.row(
            std::iter::once(run.scenario.name.clone().into())
                .chain(names.iter().map(cell))
                .collect::<Vec<_>>(),
        );
    }
    println!("By node; {LEFT_OUT} is not in the sums above\n{}", table.render());
}

pub fn json(rig: &Rig) -> Value {
    let run = |run: &Run| {
        let (middle, low, high) = total(run);
        let names: BTreeSet<&String> = run.blocks.iter().flat_map(|b| b.keys()).collect();
        let nodes: serde_json::Map<String, Value> = names
            .into_iter()
            .filter_map(|name| Some((name.clone(), json!(node(run, name)?.0))))
            .collect();
        let s = &run.scenario;
        json!({
            "name": s.name, "routes": s.table.routes, "outputs": s.table.outputs, "paths": s.table.paths, "vector": s.vector, "inputs": s.inputs, "counters": s.counters, "super_path": s.super_path,
            "packets": run.packets(), "blocks": run.blocks.len(), "clocks": middle, "quartiles": [low, high],
            "target": s.target, "peer": s.peer, "allocations": run.allocations, "nodes": nodes,
        })
    };
    let load = |site: &Site| {
        json!({
            "table": site.table.family.name(), "routes": site.load.routes,
            "seconds": site.load.time.as_secs_f64(), "bytes": site.load.bytes,
        })
    };
    let promise = |(name, ratio, at_most): (String, f64, f64)| json!({ "name": name, "ratio": ratio, "target": at_most });
    json!({
        "unit": "TSC clocks per packet",
        "level": rig.sites[0].level().name(),
        "runs": rig.runs.iter().map(run).collect::<Vec<_>>(),
        "ratios": promises(&rig.runs).into_iter().map(promise).collect::<Vec<_>>(),
        "tables": rig.sites.iter().map(load).collect::<Vec<_>>(),
    })
}

// SPDX-License-Identifier: Apache-2.0
//! `show features`, `show plugins`, `show handoff`, `show processes`.

use cli::{Error, Matches, Output, Table};
use graph::{World, counters};
use serde_json::{Map, Value, json};
use std::fmt::Write;

pub fn features(world: &World, m: &Matches) -> Result<Output, Error> {
    let verbose = m.flag("verbose");
    let mut text = String::from("Available feature paths\n");
    let mut json = Map::new();
    for (i, (arc, features)) in world.arc_list().into_iter().enumerate() {
        // Writing to a String can't fail.
        let _ = if verbose { writeln!(text, "[{i:2}] {arc}:") } else { writeln!(text, "{arc}:") };
        for (i, feature) in features.iter().enumerate() {
            let _ = if verbose {
                writeln!(text, "  [{i:2}]: {feature}")
            } else {
                writeln!(text, "  {feature}")
            };
        }
        text.push('\n');
        json.insert(arc.to_string(), features.into());
    }
    Ok(Output::both(text, Value::Object(json)))
}

pub fn plugins(world: &World, _: &Matches) -> Result<Output, Error> {
    let version = env!("CARGO_PKG_VERSION");
    let mut table =
        Table::new().right("").left("Plugin").min_width(32).left("Version").left("Description");
    let mut json = Vec::new();
    for (i, plugin) in world.plugins().iter().enumerate() {
        let file = format!("{}_plugin.so", plugin.name);
        json.push(json!({ "name": plugin.name, "file": file, "version": version, "about": plugin.about, "built_in": true }));
        table.row([format!("{}.", i + 1).into(), file.into(), version.into(), plugin.about.into()]);
    }
    Ok(Output::both(format!("Plugins are built in\n{}", table.render()), Value::Array(json)))
}

pub fn handoff(world: &World, _: &Matches) -> Result<Output, Error> {
    let (handed, lost) =
        (world.stats.simple(counters::HANDED), world.stats.simple(counters::CONGESTION));
    let mut table = Table::new()
        .left("From")
        .min_width(16)
        .left("To")
        .min_width(16)
        .right("Packets")
        .right("Congestion");
    let threads = world.thread_list();
    for (i, from) in threads.iter().enumerate() {
        for (j, to) in threads.iter().enumerate().filter(|(j, _)| *j != i) {
            let (packets, congestion) = (handed.of_thread(i, j), lost.of_thread(i, j));
            table.row([
                from.name.as_str().into(),
                to.name.as_str().into(),
                packets.into(),
                congestion.into(),
            ]);
        }
    }
    Ok(table.into())
}

pub fn processes(world: &World, _: &Matches) -> Result<Output, Error> {
    let mut table = Table::new()
        .left("Name")
        .min_width(32)
        .left("State")
        .min_width(12)
        .right("Suspends")
        .right("Clocks");
    for process in world.processes.list() {
        table.row([
            process.name.into(),
            process.state.into(),
            process.runs.into(),
            process.clocks.into(),
        ]);
    }
    Ok(table.into())
}

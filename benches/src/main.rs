// SPDX-License-Identifier: Apache-2.0
//! Clocks per packet of the forwarding path.
//!
//! The graph of the daemon runs on this thread: packet generator in, packet generator out.
//! Scenarios take turns, block by block, so that a busy neighbour on the machine hurts all of them
//! alike; figures are medians over the blocks, and a claim is a ratio within one run. What a node
//! costs is what the graph itself counts; the generator is left out, freeing the buffer is not.

mod alloc;
mod connections;
mod report;
mod rig;
mod scenario;
mod side;
mod site;
mod switch;
mod tunnels;

use clap::Parser;
use std::process::ExitCode;

/// Clocks per packet of the forwarding path.
#[derive(Parser)]
struct Arguments {
    /// A short run that shows that everything runs; its figures mean nothing.
    #[arg(long)]
    smoke: bool,
    /// Blocks of each scenario.
    #[arg(long, default_value_t = 30)]
    blocks: usize,
    /// Only the scenario of this name, or those whose name contains it.
    #[arg(long)]
    only: Option<String>,
    /// Write the figures as JSON to this file.
    #[arg(long)]
    json: Option<std::path::PathBuf>,
    /// Instruction-set level: v1, v3 or v4; the best unless given.
    #[arg(long)]
    level: Option<simd::Level>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let blocks = if arguments.smoke { 2 } else { arguments.blocks.max(1) };
    let mut scenarios = scenario::all();
    if let Some(part) = &arguments.only {
        let exact = scenarios.iter().any(|s| s.name == *part);
        scenarios.retain(|s| if exact { s.name == *part } else { s.name.contains(part.as_str()) });
    }
    if scenarios.is_empty() {
        return Err("no scenario has such a name".into());
    }
    let mut rig = rig::Rig::new(scenarios, arguments.level, arguments.smoke)?;
    for block in 0..blocks {
        eprint!("\rblock {}/{blocks} ", block + 1);
        rig.block()?;
    }
    eprintln!();
    report::print(&rig, arguments.smoke);
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&report::json(&rig)).map_err(|e| e.to_string())?;
        std::fs::write(path, text + "\n").map_err(|e| format!("{}: {e}", path.display()))?;
    }
    // Not a timing: the packet path doesn't allocate, whatever the machine does meanwhile.
    match rig.runs.iter().find(|r| r.allocations > 0) {
        Some(run) => {
            let (name, n) = (&run.scenario.name, run.allocations);
            Err(format!("{name}: {n} allocations while forwarding, expected none"))
        }
        None => Ok(()),
    }
}

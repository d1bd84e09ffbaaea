// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Effect of changes on packets.
//!
//! The daemon's own graph with one worker on a core of its own; control runs beside it, as in the
//! daemon. The packet generator is the device: packets come at a fixed rate into a queue of fixed
//! length whether the worker is there or not, and what finds it full is lost and counted. Whatever
//! doesn't leave by the right interface is lost as well.

mod failover;
mod learn;
mod load;
mod rig;
mod tables;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Effect of changes on packets.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: Measurement,
    /// A short run with small tables that shows that everything runs; its figures mean nothing.
    #[arg(long, global = true)]
    smoke: bool,
    /// IPv6 instead of IPv4.
    #[arg(long, global = true)]
    ip6: bool,
    /// The worker's core; the last one unless given.
    #[arg(long, global = true)]
    core: Option<usize>,
    /// Real-time priority of the worker (`chrt --fifo`), for machines where others work as well.
    #[arg(long, global = true)]
    priority: Option<u8>,
    /// Packets that wait at most, as in a device's ring.
    #[arg(long, global = true, default_value_t = 4096)]
    queue: u64,
}

#[derive(Subcommand)]
enum Measurement {
    /// Two next hops, one fails: packets lost at a fixed rate, with tables of all sizes.
    Failover(failover::Arguments),
    /// A million routes loaded and withdrawn, single updates and counters read, at 90 % of the rate
    /// without loss.
    Load(load::Arguments),
    /// A bridge domain: stations learned a second, and frames lost while they age out.
    Learn(learn::Arguments),
    /// Print a table of the Internet's shape as `ip route add file` takes it.
    Table {
        /// Routes.
        #[arg(default_value_t = 1_000_000)]
        routes: usize,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Arguments { smoke, ip6, core, priority, queue, .. } = arguments;
    let options = rig::Options { smoke, ip6, core, priority, queue };
    let done = match &arguments.what {
        Measurement::Failover(more) => failover::run(&options, more),
        Measurement::Load(more) => load::run(&options, more),
        Measurement::Learn(more) => learn::run(&options, more),
        Measurement::Table { routes } => {
            let lines = tables::Table::new(ip6, *routes)
                .lines(|n| format!("via {} pg1", tables::hop(ip6, 1, n)));
            print!("{lines}");
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-live: {error}");
            ExitCode::FAILURE
        }
    }
}

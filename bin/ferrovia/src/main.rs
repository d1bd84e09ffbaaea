// SPDX-License-Identifier: Apache-2.0
//! `ferrovia`, the daemon.

use std::process::ExitCode;
use std::sync::Arc;

use daemon::bare::Bare;
use daemon::config::Config;
use daemon::process::arguments::{self, Request};
use daemon::process::paths::Paths;
use daemon::run::{self, Instance};

fn main() -> ExitCode {
    match arguments::parse(std::env::args_os().skip(1)) {
        Ok(Request::Start(config)) => run::run(*config, open),
        Ok(Request::Print(text)) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("ferrovia: {error}");
            ExitCode::FAILURE
        }
    }
}

fn open(_: &Config, _: &Paths) -> Result<Instance<Bare>, String> {
    log::warn!(target: "main", "this build has no packet graph");
    let world = Bare::new(&[]).map_err(|e| e.to_string())?;
    Ok(Instance { world: Arc::new(world), stop: Box::new(|| {}) })
}

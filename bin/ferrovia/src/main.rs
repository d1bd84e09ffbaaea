// SPDX-License-Identifier: Apache-2.0
//! `ferrovia`, the daemon.

use std::process::ExitCode;

use daemon::instance;
use daemon::process::arguments::{self, Request};
use daemon::run;

/// `EX_CONFIG` of sysexits.h: to start again would not help, and systemd doesn't.
const WRONG_CONFIGURATION: u8 = 78;

fn main() -> ExitCode {
    match arguments::parse(std::env::args_os().skip(1)) {
        Ok(Request::Start(config)) => run::run(*config, instance::open),
        Ok(Request::Print(text)) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("ferrovia: {error}");
            WRONG_CONFIGURATION.into()
        }
    }
}

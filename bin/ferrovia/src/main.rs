// SPDX-License-Identifier: Apache-2.0
//! `ferrovia`, the daemon.

use std::process::ExitCode;

use daemon::process::arguments::{self, Request};

fn main() -> ExitCode {
    match arguments::parse(std::env::args_os().skip(1)) {
        Ok(Request::Print(text)) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Ok(Request::Start(_)) => {
            eprintln!("ferrovia: the packet graph is not part of this build");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("ferrovia: {error}");
            ExitCode::FAILURE
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! `ferroctl`, the client.

use std::process::ExitCode;

fn main() -> ExitCode {
    ferroctl::main()
}

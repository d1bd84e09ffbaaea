// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! `ferrovia-soak`: `make soak` runs it.

use std::process::ExitCode;

fn main() -> ExitCode {
    soak::main()
}

// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! The unit tests of programs, and programs as processes.

suite::main!();

#[path = "../../../bin/ferrovia/tests/common/mod.rs"]
mod common;
#[path = "../../../bin/ferroctl/tests/server/mod.rs"]
mod server;

#[path = "../../../bin/ferroctl/tests/client.rs"]
mod ferroctl_client;
#[path = "../../../bin/ferroctl/tests/terminal.rs"]
mod ferroctl_terminal;
#[path = "../../../bin/ferroctl/tests/wire.rs"]
mod ferroctl_wire;
#[path = "../../../bin/ferrotest/tests/lab.rs"]
mod ferrotest_lab;
#[path = "../../../bin/ferrovia/tests/cli.rs"]
mod ferrovia_cli;
#[path = "../../../bin/ferrovia/tests/process.rs"]
mod ferrovia_process;
#[path = "../../../bin/ferrovia/tests/vppctl.rs"]
mod ferrovia_vppctl;
